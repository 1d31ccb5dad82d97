"""Sinks: a logit of each head in the denominator of a softmax, which no key has."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attndsl.compiler.compile import compile_operator
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.signature.specialization import Specialization
from attndsl.spec.errors import GraphError
from attndsl.spec.operator.operator import Operator
from tests.support.small_specs import (
    DECODE_SCORES,
    assert_computes,
    decode_call,
    decode_spec,
    packed_call,
    packed_spec,
)

DECLARED = 'sinks = op.input("sinks", "N", dtype="float32", axes="N", optional=True)'
DECODE = "p = attend.softmax(s, sink=sinks)\nout = p @ attend.rows(value)"
OUT = 'op.output("out", out, like=query)'
LSE = 'op.output("lse", p.lse, like=query, layouts="B N 1", dtype="float32")'
SINKS = np.array([-np.inf, -2, 0.5, 30], np.float32)


def expected(call: dict[str, Any], sinks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """By hand in float64: a further key of that score and of the value zero."""
    query, key, value = (np.asarray(call[name], np.float64) for name in ("query", "key", "value"))
    key, value = (np.repeat(each, 2, axis=1) for each in (key, value))
    scores = np.einsum("bnqd,bntd->bnqt", query, key) * 0.2
    scores = np.concatenate([scores, np.broadcast_to(sinks[:, None, None], (*scores.shape[:3], 1))], axis=-1)
    lse = np.log(np.exp(scores).sum(axis=-1))
    weights = np.exp(scores - lse[..., None])[..., :-1]
    return np.einsum("bnqt,bntd->bnqd", weights, value), lse


@pytest.mark.sweep(fast=3)
@pytest.mark.parametrize("splits", [1, 3])
@pytest.mark.parametrize("backend", ["reference", "tile", "emulator"])
def test_a_sink_is_a_key_without_a_value(tmp_path: Path, backend: str, splits: int) -> None:
    schedule = f"tile_k=128, split_kv={splits}"
    op = decode_spec(tmp_path, DECODE_SCORES, DECODE, OUT, LSE, declared=DECLARED, schedule=schedule)
    call = decode_call(t=500)
    out, lse = op(**call, sinks=SINKS, backend=backend)
    want, want_lse = expected(call, SINKS)
    np.testing.assert_allclose(out.astype(float), want, rtol=0, atol=4e-3)
    np.testing.assert_allclose(lse, want_lse, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("backend", ["reference", "tile", "emulator"])
def test_rows_without_keys_have_their_sink_alone(tmp_path: Path, backend: str) -> None:
    lse = LSE.replace("B N 1", "T1 N")
    body = DECODE.replace("attend.rows(value)", "attend.packed(value, keys)")
    op = packed_spec(tmp_path, body, OUT, lse, declared=DECLARED)
    out, found = op(**packed_call([5, 3], [200, 0]), sinks=SINKS, backend=backend)
    assert (out[5:] == 0).all() and np.isfinite(out.astype(float)).all()
    np.testing.assert_array_equal(found[5:], np.broadcast_to(SINKS, (3, 4)))


def test_a_sink_that_is_left_out_is_none(tmp_path: Path) -> None:
    op, call = decode_spec(tmp_path, DECODE_SCORES, DECODE, OUT, declared=DECLARED), decode_call()
    none = op(**call, sinks=np.full(4, -np.inf, np.float32), backend="tile")
    np.testing.assert_array_equal(op(**call, backend="tile"), none)


@pytest.mark.parametrize("sink", ["0.25", "level", "sinks - 1", "attend.index(n * 2)"])
def test_what_a_sink_may_be(tmp_path: Path, sink: str) -> None:
    """Softmax off by one is the sink 0."""
    declared = f'{DECLARED}\nlevel = op.param("level", float, default=1.5)'
    body = (DECODE_SCORES, DECODE.replace("sink=sinks", f"sink={sink}"), OUT)
    assert_computes(decode_spec(tmp_path, *body, declared=declared), "tile", **decode_call(), sinks=SINKS)


def compiled(op: Operator) -> None:
    compile_operator(op, Specialization(dtype="float16", padded_head_size=32, features=frozenset({"sinks"})))


def test_a_sink_in_half_precision_is_told_to_be_fp32(tmp_path: Path) -> None:
    declared = DECLARED.replace('"float32"', "query")
    with pytest.raises(NotLowered, match=r'a number for each head.*declare it with dtype="float32"'):
        compiled(decode_spec(tmp_path, DECODE_SCORES, DECODE, OUT, declared=declared))


def test_rows_that_may_name_no_tensor_have_no_sink(tmp_path: Path) -> None:
    """They have no item in which it could be counted."""
    declared = f"""{DECLARED}
index = op.lengths("index", "B", one_for_all=False)
op.axes(G=B)
parts = op.input("parts", "B K T D", dtype=query, axes="G K T D")
others = op.input("others", "B K T D", dtype=query, axes="G K T E")
"""
    rows = "attend.listed({}, index=index[b])"
    scores = f"s = attend.scores(query, {rows.format('parts')}) * 0.2"
    body = (scores, DECODE.replace("attend.rows(value)", rows.format("others")), OUT)
    with pytest.raises(NotLowered, match="a sink of rows that may name no tensor of a list"):
        compiled(decode_spec(tmp_path, *body, declared=declared))


def test_a_sink_has_no_keys(tmp_path: Path) -> None:
    declared = 'sinks = op.input("sinks", "N T", dtype="float32", axes="N T")'
    with pytest.raises(GraphError, match=r"small_decode.py:\d+: .*a sink is a number of each head"):
        decode_spec(tmp_path, DECODE_SCORES, DECODE, OUT, declared=declared)
