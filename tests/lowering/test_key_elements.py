"""Conditions on elements of integer tensors that are read at each key: documents, positions, trees."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attndsl.compiler.compile import compile_operator
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.signature.specialization import Specialization
from attndsl.spec.operator.loader import load_file
from attndsl.spec.operator.operator import Operator
from tests.support.small_specs import assert_computes, halves

SPEC = """
from attndsl.spec import attend, maximum, Operator
op = Operator("small_prompt", summary="Prompts.")
B, N, K, S, D = op.dims("B N K S D")
op.axes(B=B, N=N, K=K, Q=S, T=S, D=D, E=D)
query = op.input("query", "B N S D", dtype=("float16", "bfloat16"), axes="B N Q D")
key = op.input("key", "B K S D", dtype=query, axes="B K T D")
value = op.input("value", "B K S D", dtype=query, axes="B K T E")
{declared}
w = op.param("w", int, default=40)
op.require(N % K == 0, "a multiple", argument="query")
op.schedule(tile_k=64)
b, n, i, j = attend.BATCH, attend.HEAD, attend.QUERY, attend.KEY
s = (attend.scores(query, attend.rows(key)) * 0.2).where({visible})
op.output("out", attend.softmax(s) @ attend.rows(value), like=query)
"""
IDS = 'x = op.input("x", "B S", dtype="int32", indexed=True)'
OF_ALL = 'x = op.input("x", "S", dtype="int32", indexed=True)'
BYTES = 'x = op.input("x", "B S S", dtype="bool", indexed=True)'
CONDITIONS = {
    "one document": (IDS, "x[b, i] == x[b, j]"),
    "one document, causal, in a window": (IDS, "(x[b, i] == x[b, j]) & (j <= i) & (j > i - w)"),
    "another document": (IDS, "x[b, j] != x[b, i]"),
    "positions of their own": (IDS, "(x[b, j] <= x[b, i]) & (x[b, i] - x[b, j] < 3)"),
    "the other side": (IDS, "x[b, i] + 1 >= x[b, j]"),
    "a document or the first keys": (IDS, "(x[b, i] == x[b, j]) | (j < 4)"),
    "one row for all": (OF_ALL, "x[i] == x[j]"),
    "marked keys": (OF_ALL, "x[j] == 2"),
    "bytes of each row": (BYTES, "x[b, i, j]"),
    "bytes that hide, and the diagonal": (BYTES, "(x[b, i, j] == 0) | (j == i)"),
}


def operator(folder: Path, declared: str, visible: str) -> Operator:
    file = folder / "small_prompt.py"
    file.write_text(SPEC.format(declared=declared, visible=visible))
    return load_file(file)


def call(declared: str, n: int = 4, k: int = 2, s: int = 150) -> dict[str, Any]:
    shape = {IDS: (2, s), OF_ALL: (s,), BYTES: (2, s, s)}[declared]
    rng = np.random.default_rng(5)
    x = rng.random(shape) < 0.5 if declared is BYTES else rng.integers(0, 5, shape).astype(np.int32)
    return {"query": halves(2, n, s, 32), "key": halves(2, k, s, 32), "value": halves(2, k, s, 32), "x": x}


@pytest.mark.sweep(fast=4)
@pytest.mark.parametrize("name", CONDITIONS)
def test_elements_at_keys_are_compared(tmp_path: Path, name: str) -> None:
    """Documents lie in any order."""
    declared, visible = CONDITIONS[name]
    assert_computes(operator(tmp_path, declared, visible), "tile", **call(declared))


@pytest.mark.parametrize("name", ["one document, causal, in a window", "bytes of each row"])
def test_elements_on_the_emulator(tmp_path: Path, name: str) -> None:
    declared, visible = CONDITIONS[name]
    assert_computes(operator(tmp_path, declared, visible), "emulator", **call(declared, n=2))


def test_documents_by_hand(tmp_path: Path) -> None:
    made = call(IDS, n=1, k=1, s=70)
    found = operator(tmp_path, IDS, "x[b, i] == x[b, j]")(**made, backend="tile")
    query, key, value = (np.asarray(made[each], np.float64)[1, 0] for each in ("query", "key", "value"))
    weights = np.exp(0.2 * query @ key.T) * (made["x"][1][:, None] == made["x"][1][None])
    want = weights @ value / weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found[1, 0].astype(float), want, rtol=0, atol=4e-3)


def test_large_numbers_are_told_apart(tmp_path: Path) -> None:
    """Neighbours that fp32 does not tell apart: differences are taken of integers."""
    made = call(IDS, n=1, k=1)
    made["x"] = made["x"] + np.int32(2**30)
    op = operator(tmp_path, IDS, "(x[b, i] == x[b, j]) | (x[b, j] < x[b, i] - 2)")
    assert_computes(op, "tile", **made)


ARITHMETIC = {
    "a bias of positions": (IDS, "attend.index(x[b, j] - x[b, i]) * 0.3"),
    "of one side": (OF_ALL, "attend.index(maximum(x[j], 2) * 2 + i)"),
    "of each row": (BYTES, "attend.index(x[b, i, j]) * 2"),
    "within functions": (IDS, "attend.tanh(attend.index(x[b, j] - 1) * 0.2) * 2"),
}


@pytest.mark.sweep(fast=4)
@pytest.mark.parametrize("backend", ["tile", "emulator"])
@pytest.mark.parametrize("name", ARITHMETIC)
def test_elements_at_keys_in_arithmetic(tmp_path: Path, name: str, backend: str) -> None:
    declared, bias = ARITHMETIC[name]
    op = operator(tmp_path, declared, f"j <= i) + ({bias}")
    assert_computes(op, backend, **call(declared))


def test_arithmetic_of_elements_elsewhere_is_refused(tmp_path: Path) -> None:
    op = operator(tmp_path, IDS, "j <= i) + (attend.index(x[b, j // 2])")
    with pytest.raises(
        NotLowered, match=r"read at another place than the key's.*numbers of keys are j, or an"
    ):
        compile_operator(op, Specialization(dtype="float16", padded_head_size=32))


REFUSED = {
    "another place than the key's": (IDS, "x[b, S - 1 - j] == 1", "let the last index be the key itself"),
    "a product": (IDS, "x[b, j] * 2 == 4", "divide both sides of the comparison"),
    "a quotient": (IDS, "x[b, j] // 2 == 1", "pass the quotient or remainder as an input of its own"),
    "two elements": (IDS, "x[b, j] == x[b, j]", "two numbers that differ by key"),
    "a wide integer": (
        IDS.replace("int32", "int64"),
        "x[b, j] == 1",
        "declare it with int32 or uint8 or bool",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_names_what_lowers(tmp_path: Path, case: str) -> None:
    declared, visible, words = REFUSED[case]
    op = operator(tmp_path, declared, visible)
    with pytest.raises(NotLowered, match=rf"small_prompt\.py:\d+: .*{words}"):
        compile_operator(op, Specialization(dtype="float16", padded_head_size=32))
