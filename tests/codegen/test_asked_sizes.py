"""Head sizes that a request names are honoured, by any name; a kernel without a legal call is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from attndsl.codegen.kernel_set.asked_sizes import IllegalHeadSize
from attndsl.codegen.kernel_set.kernel_request import (
    NoLegalCall,
    requested_values,
    wanted_specializations,
)
from attndsl.codegen.kernel_set.request import KernelRequest
from attndsl.expr import Expr
from attndsl.spec import Operator, attend


def made(op: Operator, **request: object) -> set[tuple[int, int | None]]:
    wanted = wanted_specializations(op, KernelRequest(**request))  # type: ignore[arg-type]
    return {(each.special.padded_head_size, each.special.padded_value_size) for each in wanted}


def mla() -> Operator:
    op = Operator("mla", summary="Values are the first channels of the keys.")
    B, N, T, D = op.dims("B N T D")
    (latent,) = op.ahead("latent")
    op.axes(B=B, N=N, K=1, T=T, D=D, E=latent)
    query = op.input("query", "B N D", dtype="float16", axes="B N D")
    cache = op.input("cache", "B T D", dtype=query, axes="B T D")
    latent = op.param("latent", int, default=512, ge=1, le=512)
    op.require(latent <= D, "must be channels of the cache", argument="latent")
    p = attend.softmax(attend.scores(query, attend.rows(cache)))
    op.output("out", p @ attend.rows(attend.leading(cache, latent)), like=query, layouts="B N latent")
    return op


@pytest.mark.parametrize(
    ("request_", "sizes"),
    [
        ({}, (512, 512)),  # the default of latent is kept, and needs 512 channels
        ({"head_sizes": (576,)}, (576, 512)),
        ({"head_sizes": (576,), "value_sizes": (512,)}, (576, 512)),
        ({"head_sizes": (576,), "settings": (("latent", "512"),)}, (576, 512)),
        ({"head_sizes": (128,)}, (128, 128)),
        ({"settings": (("latent", "64"),)}, (128, 64)),
        ({"value_sizes": (64,)}, (128, 64)),
    ],
)
def test_a_parameter_that_is_a_size_is_honoured(request_, sizes):
    assert made(mla(), **request_) == {sizes}


def named(width: str = "width", depth: str = "depth") -> Operator:
    op = Operator("named", summary="Sizes by the author's names.")
    B, N, T, keys, values = op.dims(f"B N T {width} {depth}")
    op.axes(B=B, N=N, K=N, T=T, D=keys, E=values)
    query = op.input("query", f"B N {width}", dtype="float16", axes="B N D")
    key = op.input("key", f"B N T {width}", dtype=query, axes="B K T D")
    value = op.input("value", f"B N T {depth}", dtype=query, axes="B K T E")
    op.require(values <= keys, "must not be more than those of keys", argument="value")
    p = attend.softmax(attend.scores(query, attend.rows(key)))
    op.output("out", p @ attend.rows(value), like=query, layouts=f"B N {depth}")
    return op


def test_a_size_by_its_axis_or_by_its_own_name():
    op = named("D", "E")
    assert made(op) == {(128, 128)}
    assert made(op, head_sizes=(192,)) == {(192, 192)}
    assert made(op, head_sizes=(192,), value_sizes=(128,)) == {(192, 128)}
    assert made(op, value_sizes=(64,)) == {(128, 64)}
    assert made(op, head_sizes=(64, 128), value_sizes=(32,)) == {(64, 32), (128, 32)}


def test_the_authors_names_of_sizes():
    assert made(named(), settings=(("width", "192"), ("depth", "128"))) == {(192, 128)}
    assert made(named(), settings=(("depth", "64"),)) == {(128, 64)}
    assert requested_values(named(), KernelRequest(settings=(("width", "192"),))) == {}
    with pytest.raises(IllegalHeadSize, match=r"D=64 and --set width=192 contradict each other"):
        made(named(), head_sizes=(64,), settings=(("width", "192"),))
    assert made(named(), head_sizes=(192,), settings=(("width", "192"),)) == {(192, 192)}
    with pytest.raises(IllegalHeadSize, match="width=wide: a head size is a whole number"):
        made(named(), settings=(("width", "wide"),))


def test_a_size_that_no_legal_call_has_is_refused():
    with pytest.raises(NoLegalCall, match=r"D=64 and E=128: value must not be more than those of keys"):
        made(named(), head_sizes=(64,), value_sizes=(128,))
    with pytest.raises(NoLegalCall, match=r"latent must be channels of the cache \(latent <= D\)"):
        made(mla(), head_sizes=(128,), settings=(("latent", "512"),))
    with pytest.raises(NoLegalCall, match=r"latent must be in its range \(latent <= 512\)"):
        made(mla(), value_sizes=(528,))
    with pytest.raises(NoLegalCall, match="D=64"):  # one of two
        made(named(), head_sizes=(64, 128), value_sizes=(128,))


def bound(rule: Callable[[Expr], Expr]) -> Operator:
    op = Operator("bound", summary="Sizes in bounds.")
    B, N, T, D = op.dims("B N T D")
    op.axes(B=B, N=N, K=N, T=T, D=D, E=D)
    query = op.input("query", "B N D", dtype="float16", axes="B N D")
    key = op.input("key", "B N T D", dtype=query, axes="B K T D")
    value = op.input("value", "B N T D", dtype=query, axes="B K T E")
    op.require(rule(D), "must be a legal size", argument="query")
    p = attend.softmax(attend.scores(query, attend.rows(key)))
    op.output("out", p @ attend.rows(value), like=query)
    return op


@pytest.mark.parametrize(
    ("rule", "size"),
    [
        (lambda D: D <= 64, 64),
        (lambda D: D >= 256, 256),
        (lambda D: D % 96 == 0, 96),
        (lambda D: D == 100, 112),  # no multiple of 16 is legal; 100 channels are padded
    ],
)
def test_the_default_is_the_nearest_legal_size(rule, size):
    assert made(bound(rule)) == {(size, None)}


def test_a_kernel_is_made_if_one_of_the_sizes_that_it_takes_is_legal():
    op = bound(lambda D: D == 100)
    assert made(op, head_sizes=(112,)) == made(op, head_sizes=(100,)) == {(112, None)}
    with pytest.raises(NoLegalCall, match="D=96: query must be a legal size"):
        made(op, head_sizes=(96,))


def test_one_size_has_two_names():
    op = bound(lambda D: D <= 256)
    assert made(op, value_sizes=(64,)) == {(64, None)}
    with pytest.raises(IllegalHeadSize, match="D=64 and --set E=128 contradict"):
        made(op, head_sizes=(64,), value_sizes=(128,))


def computed() -> Operator:
    op = Operator("computed", summary="Values are half as wide.")
    B, N, T, D, E = op.dims("B N T D E")
    op.let(E, D // 2)
    op.axes(B=B, N=N, K=N, T=T, D=D, E=E)
    query = op.input("query", "B N D", dtype="float16", axes="B N D")
    key = op.input("key", "B N T D", dtype=query, axes="B K T D")
    value = op.input("value", "B N T E", dtype=query, axes="B K T E")
    p = attend.softmax(attend.scores(query, attend.rows(key)))
    op.output("out", p @ attend.rows(value), like=query, layouts="B N E")
    return op


def test_values_that_the_contract_computes():
    assert made(computed()) == {(128, 64)}
    assert made(computed(), head_sizes=(192,)) == {(192, 96)}
    assert made(computed(), head_sizes=(192,), value_sizes=(96,)) == {(192, 96)}
    with pytest.raises(NoLegalCall, match=r"D=192 and E=128: must be the size of values \(D // 2 == 128\)"):
        made(computed(), head_sizes=(192,), value_sizes=(128,))


def defined() -> Operator:
    op = Operator("defined", summary="The size of values is a parameter.")
    B, N, T, D, E = op.dims("B N T D E")
    (depth,) = op.ahead("depth")
    op.let(E, depth)
    op.axes(B=B, N=N, K=N, T=T, D=D, E=E)
    query = op.input("query", "B N D", dtype="float16", axes="B N D")
    key = op.input("key", "B N T D", dtype=query, axes="B K T D")
    value = op.input("value", "B N T E", dtype=query, axes="B K T E")
    op.param("depth", int, ge=1)
    p = attend.softmax(attend.scores(query, attend.rows(key)))
    op.output("out", p @ attend.rows(value), like=query, layouts="B N E")
    return op


def test_a_size_that_a_parameter_defines_has_both_names():
    op = defined()
    assert made(op) == {(128, 128)}
    assert made(op, settings=(("depth", "64"),)) == made(op, value_sizes=(64,)) == {(128, 64)}
    with pytest.raises(IllegalHeadSize, match="E=64 and --set depth=32 contradict"):
        made(op, value_sizes=(64,), settings=(("depth", "32"),))
