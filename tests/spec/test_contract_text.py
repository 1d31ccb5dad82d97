"""The contract as text: what a size is in attention is said of every axis that there is."""

from __future__ import annotations

import pytest

from attndsl.graph.nodes import AXIS_MEANINGS, AXIS_ORDER
from attndsl.spec import Operator, attend

_USED = "BNKQTDE"


def _sizes_with(axis: str, size: str) -> list[str]:
    """The lines of the contract that are about sizes."""
    op = Operator("small", summary="Attention, and an axis besides.")
    B, N, K, S, D, Z = op.dims("B N K S D Z")
    extra = {} if axis in _USED else {axis: Z if size == "Z" else int(size)}
    op.axes(B=B, N=N, K=K, Q=S, T=S, D=D, E=D, **extra)
    query = op.input("query", "B N S D", dtype="float16", axes="B N Q D")
    key = op.input("key", "B K S D", dtype=query, axes="B K T D")
    value = op.input("value", "B K S D", dtype=query, axes="B K T E")
    op.input("besides", "Z", dtype="int32", indexed=True)
    p = attend.softmax(attend.scores(query, attend.rows(key)))
    op.output("out", p @ attend.rows(value), like=query)
    lines = op.contract_text().splitlines()
    return lines[lines.index("sizes") : lines.index("tensors")]


@pytest.mark.parametrize("axis", AXIS_ORDER)
def test_each_axis_is_told_with_its_meaning(axis: str) -> None:
    lines = _sizes_with(axis, "Z")
    meaning = AXIS_MEANINGS[axis]
    assert sum(meaning in line for line in lines) == 1
    assert axis in _USED or f"  Z: {meaning}" in lines


@pytest.mark.parametrize("axis", sorted({*AXIS_ORDER} - {*_USED}))
def test_an_axis_of_one_size_is_told_with_it(axis: str) -> None:
    lines = _sizes_with(axis, "3")
    assert f"  {AXIS_MEANINGS[axis]}: always 3" in lines and "  Z" in lines
