"""Counts of lists of selected blocks: from 0 to the entries, by a rule where nothing says so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from attndsl.spec import errors
from attndsl.spec.operator.loader import load
from attndsl.spec.operator.operator import Operator

SPEC = """
from attndsl.spec import Operator, attend, minimum
op = Operator("chosen", summary="One token over listed blocks.")
B, N, K, T, D, X = op.dims("B N K T D X")
op.axes(B=B, N=N, K=K, Q=1, T=T, D=D, E=D, X=X)
query = op.input("query", "B N D", dtype="float16", axes="B N D")
key = op.input("key", "B K T D", dtype=query, axes="B K T D")
value = op.input("value", "B K T D", dtype=query, axes="B K T E")
blocks = op.input("blocks", LISTS, dtype="int32")
DECLARED
b, (k,) = attend.BATCH, op.ahead("k")
STATED
keys, values = (attend.selected(attend.rows(each), blocks, 16, count=COUNT) for each in (key, value))
op.output("out", attend.softmax(attend.scores(query, keys)) @ values, like=query)
"""
EACH = 'counts = op.input("counts", "B K", dtype="int32", axes="B K")'
LEAST, MOST = "counts[b * K + k] >= 0 for all b < B, k < K", "counts[b * K + k] <= X for all b < B, k < K"


def made(tmp_path: Path, declared: str, stated: str, count: str = "counts") -> tuple[Operator, list[str]]:
    lists = '"B K X", axes="B K X"' if "B K" in declared else '"B X", axes="B X"'
    text = SPEC.replace("LISTS", lists).replace("DECLARED", declared).replace("STATED", stated)
    path = tmp_path / "chosen.py"
    path.write_text(text.replace("COUNT", count))
    operator = load(path)
    return operator, [each.describe() for each in operator.constraints if "entries of a list" in each.text]


@pytest.mark.parametrize(
    ("declared", "stated", "count", "rules"),
    [
        (EACH, "", "counts", [LEAST, MOST]),
        (EACH, "", "None", []),
        (EACH, 'op.require(counts[b, k] >= 0, "counts", over={b: B, k: K})', "counts", [MOST]),
        (EACH, 'op.require(counts[b, k] <= X, "counts", over={b: B, k: K})', "counts", [LEAST]),
        (EACH, 'op.require(counts[b, k] <= 2 * X, "counts", over={b: B, k: K})', "counts", [LEAST, MOST]),
        (
            'counts = op.input("counts", "B", dtype="int32", axes="B")',
            "",
            "counts",
            ["counts[b] >= 0 for all b < B", "counts[b] <= X for all b < B"],
        ),
    ],
)
def test_counts_are_those_of_entries(
    tmp_path: Path, declared: str, stated: str, count: str, rules: list[str]
) -> None:
    assert made(tmp_path, declared, stated, count)[1] == rules


@pytest.mark.parametrize(("count", "legal"), [(0, True), (3, True), (4, False), (-1, False)])
def test_a_call_with_another_count_is_refused(tmp_path: Path, count: int, legal: bool) -> None:
    operator, _ = made(tmp_path, EACH, "")
    query, rows = np.zeros((1, 2, 16), np.float16), np.zeros((1, 2, 64, 16), np.float16)
    call = query, rows, rows, np.zeros((1, 2, 3), np.int32), np.array([[1, count]], np.int32)
    if legal:
        operator(*call, backend="reference")
        return
    near = 3 if count > 0 else 0
    message = rf"counts: must be from 0 to X, .*counts\[0, 1\] is {count}; .*nearest legal value is {near}"
    with pytest.raises(errors.LengthRangeError, match=message):
        operator(*call, backend="reference")
