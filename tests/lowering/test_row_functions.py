"""Functions of numbers of rows on scores and results, and tensors that are read at shifted keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attndsl.spec.errors import ShapeError, SpecError
from attndsl.spec.operator.loader import load_file
from attndsl.spec.operator.operator import Operator
from tests.support.small_specs import assert_computes, halves

SPEC = """
from attndsl.spec import attend, Operator
op = Operator("small_rows", summary="Prompts.")
B, N, K, S, D, M = op.dims("B N K S D M")
op.axes(B=B, N=N, K=K, Q=S, T=S, D=D, E=D)
query = op.input("query", "B N S D", dtype=("float16", "bfloat16"), axes="B N Q D")
key = op.input("key", "B K S D", dtype=query, axes="B K T D")
value = op.input("value", "B K S D", dtype=query, axes="B K T E")
gate = op.input("gate", "B N S", dtype="float32", axes="B N Q")
bias = op.input("bias", "N M", dtype="float32", indexed=True)
op.schedule(tile_k=64)
b, n, i, j = attend.BATCH, attend.HEAD, attend.QUERY, attend.KEY
s = attend.scores(query, key) * 0.2
{scores}
p = attend.softmax(s.where(j <= i))
out = p @ value
{result}
op.output("out", out, like=query)
"""
LOGN = "s = s * (attend.maximum(attend.log(attend.index(i + 1) * 1.0), 1.0) / 2.0)"
FORMS = {
    "a function of a position times scores": (LOGN, ""),
    "a quotient of two numbers of rows": ("s = s / (gate / (gate * gate + 1.0) + 2.0)", ""),
    "a gate's function": ("", "out = out * attend.sigmoid(gate)"),
    "functions of gates and of statistics": (
        "",
        "out = out * attend.tanh(gate) * attend.sigmoid(p.lse - gate)",
    ),
    "a bias by distance": ("s = s + bias.at(n, j - i + S - 1)", ""),
    "a bias by distance of some rows": ("s = s + bias.at(n, j + i // 2)", ""),
}


def operator(folder: Path, scores: str = "", result: str = "") -> Operator:
    file = folder / "small_rows.py"
    file.write_text(SPEC.format(scores=scores, result=result))
    return load_file(file)


def call(s: int = 130, m: int = 259) -> dict[str, Any]:
    rng = np.random.default_rng(2)
    rows = {name: halves(2, heads, s, 32) for name, heads in (("query", 4), ("key", 2), ("value", 2))}
    numbers = {"gate": rng.standard_normal((2, 4, s)), "bias": rng.standard_normal((4, m))}
    return {**rows, **{name: each.astype(np.float32) for name, each in numbers.items()}}


@pytest.mark.sweep(fast=3)
@pytest.mark.parametrize("name", FORMS)
def test_numbers_of_rows_and_keys(tmp_path: Path, name: str) -> None:
    assert_computes(operator(tmp_path, *FORMS[name]), "tile", **call())


@pytest.mark.parametrize("name", ["a quotient of two numbers of rows", "a bias by distance"])
def test_numbers_of_rows_and_keys_on_the_emulator(tmp_path: Path, name: str) -> None:
    assert_computes(operator(tmp_path, *FORMS[name]), "emulator", **call(s=70, m=139))


def test_calls_have_the_elements_that_are_read(tmp_path: Path) -> None:
    op = operator(tmp_path, *FORMS["a bias by distance"])
    with pytest.raises(ShapeError, match=r"bias: is read at j - i \+ S - 1 in dimension 1, as far as"):
        op(**call(m=258))


DECODE = """
from attndsl.spec import attend, Operator
op = Operator("small_latent", summary="One position without an axis.")
B, N, T, D, P, R, W = op.dims("B N T D P R W")
(latent,) = op.ahead("latent")
op.axes(B=B, N=N, K=1, Q={positions}, T=W * R, D=D, E=latent, P=P, R=R, W=W)
query = op.input("query", "B N D", dtype=("float16", "bfloat16"), axes="B N D")
cache = op.input("cache", "{layout}", dtype=query, axes="P R D")
table = op.input("table", "B W", dtype="int32", axes="B W")
rows = op.param("rows", int, default=16, ge=16)
latent = op.param("latent", int, default=32, ge=16)
op.let(R, rows)
keys = attend.paged(cache, table, R)
p = attend.softmax(attend.scores(query, keys) * 0.2)
op.output("out", p @ attend.paged(attend.leading(cache, latent), table, R), like=query)
op.output("lse", p.lse, like=query, layouts="B N", dtype="float32")
"""


def latent(folder: Path, layout: str, positions: str = "1", unused: str = "") -> Operator:
    file, text = folder / "small_latent.py", DECODE.format(layout=layout, positions=positions)
    file.write_text(
        text if unused else text.replace("B, N, T, D, P", "B, N, D, P").replace('"B N T D P', '"B N D P')
    )
    return load_file(file)


@pytest.mark.sweep(fast=3)
@pytest.mark.parametrize("layout", ["P R D", "(P R) D"])
@pytest.mark.parametrize("backend", ["reference", "tile", "emulator"])
def test_caches_need_no_axis_of_heads_and_queries_none_of_positions(
    tmp_path: Path, layout: str, backend: str
) -> None:
    op = latent(tmp_path, layout)
    query, cache = halves(2, 4, 48), halves(6, 16, 48)
    table = np.array([[4, 1, 0], [2, 5, 3]], np.int32)
    stored = cache if layout == "P R D" else cache.reshape(96, 48)
    out, lse = op(query=query, cache=stored, table=table, backend=backend)
    for b in range(2):
        own = cache[table[b]].reshape(48, 48).astype(float)
        scores = 0.2 * query[b].astype(float) @ own.T
        want = np.log(np.exp(scores).sum(axis=1))
        np.testing.assert_allclose(lse[b], want, rtol=0, atol=1e-3)
        weights = np.exp(scores - want[:, None])
        np.testing.assert_allclose(out[b].astype(float), weights @ own[:, :32], rtol=0, atol=4e-3)


def test_several_positions_have_an_axis(tmp_path: Path) -> None:
    with pytest.raises(
        SpecError, match=r"queries without an axis Q have one position.*write op\.axes\(Q=1\)"
    ):
        latent(tmp_path, "P R D", positions="N")


def test_sizes_that_no_call_tells_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"small_latent\.py:4: no layout of an input has the size 'T'"):
        latent(tmp_path, "P R D", unused="T")
