"""Keys in blocks that lists name: a source of keys of its own, walked entry by entry."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attndsl.lowering.errors import NotLowered
from attndsl.spec.errors import GraphError
from attndsl.spec.operator.loader import load_file
from attndsl.spec.operator.operator import Operator
from tests.support.key_loads import key_loads
from tests.support.small_specs import assert_computes, halves

PROMPTS = """
from attndsl.spec import attend, Operator
op = Operator("small_lists", summary="Prompts.")
B, N, K, S, T, D, X = op.dims("B N K S T D X")
op.axes(B=B, N=N, K=K, Q=S, T=T, D=D, E=D, X=X)
query = op.input("query", "B N S D", dtype=("float16", "bfloat16"), axes="B N Q D")
key = op.input("key", "B K T D", dtype=query, axes="B K T D")
value = op.input("value", "B K T D", dtype=query, axes="B K T E")
{lists}
op.require(N % K == 0, "a multiple", argument="query")
op.schedule({schedule})
b, n, i, j = attend.BATCH, attend.HEAD, attend.QUERY, attend.KEY
def of(tensor):
    return attend.selected(attend.rows(tensor), lists, {how})
s = attend.scores(query, of(key)) * 0.2
{change}
op.output("out", attend.softmax(s) @ of(value), like=query)
"""
EACH = 'lists = op.input("lists", "B S K X", dtype="int32", axes="B Q K X")'
SHARED = (
    '(C,) = op.dims("C")\nop.axes(H=C)\nlists = op.input("lists", "K B C X", dtype="int64", axes="K B H X")'
)
OF_ALL = 'lists = op.input("lists", "X", dtype="int32", axes="X")'
COUNTED = EACH + '\ncounts = op.input("counts", "B S K", dtype="int32", axes="B Q K")'
SIZES = {"B": 2, "N": 4, "K": 2, "S": 37, "T": 300, "D": 32, "X": 5, "C": 5}
FORMS = {
    "causal": (EACH, "64", "s = s.where(j <= i + 200)", "tile_k=64"),
    "a window and a bias": (
        EACH,
        "32",
        "s = (s + attend.index(j - i) * 0.01).where((j <= i + 250) & (j > i + 90))",
        "tile_k=64",
    ),
    "blocks of several tiles": (EACH, "150", "s = s.where(j % 3 != 1)", "tile_k=64, split_kv=2"),
    "a list for 8 positions": (SHARED, "64, queries=8", "s = s.where(j <= i + 180)", "tile_k=128"),
    "one list for all": (OF_ALL, "64", "", "tile_k=128, split_kv=1"),
    "counted": (COUNTED, "64, count=counts", "", "tile_k=64"),
}


def operator(folder: Path, lists: str, how: str, change: str = "", schedule: str = "tile_k=64") -> Operator:
    file = folder / "small_lists.py"
    file.write_text(PROMPTS.format(lists=lists, how=how, change=change, schedule=schedule))
    return load_file(file)


def call(lists: str, seed: int = 3) -> dict[str, Any]:
    """Lists in any order, with entries that name no block and some that are there twice."""
    rng = np.random.default_rng(seed)

    def numbers(name: str, low: int, high: int) -> Any:
        layout = lists.split(f'"{name}", "')[1].split('"')
        shape = [SIZES[size] for size in layout[0].split()]
        return rng.integers(low, high, shape).astype(layout[2])

    made = {"lists": numbers("lists", -2, 7)}
    made["lists"].reshape(-1)[::7] = 2**31 - 1
    if "counts" in lists:
        made["counts"] = numbers("counts", -1, 7)
    s, t, d = SIZES["S"], SIZES["T"], SIZES["D"]
    rows = {"key": halves(2, 2, t, d), "value": halves(2, 2, t, d)}
    return {"query": halves(2, 4, s, d), **rows, **made}


@pytest.mark.sweep(fast=3)
@pytest.mark.parametrize("name", FORMS)
def test_each_query_attends_to_the_blocks_of_its_list(tmp_path: Path, name: str) -> None:
    assert_computes(operator(tmp_path, *FORMS[name]), "tile", **call(FORMS[name][0]))


@pytest.mark.parametrize("name", ["blocks of several tiles", "a list for 8 positions"])
def test_lists_on_the_emulator(tmp_path: Path, name: str) -> None:
    assert_computes(operator(tmp_path, *FORMS[name]), "emulator", **call(FORMS[name][0]))


def test_the_reference_selects_by_hand(tmp_path: Path) -> None:
    lists, how, change, schedule = FORMS["a list for 8 positions"]
    made = call(lists)
    found = operator(tmp_path, lists, how, change, schedule)(**made, precision="float64")
    query, key, value = (np.asarray(made[name], np.float64) for name in ("query", "key", "value"))
    for b, n, i in ((0, 0, 0), (1, 3, 36), (0, 2, 17)):
        own, keys = made["lists"][n // 2, b, i // 8], np.arange(SIZES["T"])
        seen = np.isin(keys // 64, own) & (keys <= i + 180)
        weights = np.exp(0.2 * key[b, n // 2] @ query[b, n, i]) * seen
        want = weights @ value[b, n // 2] / max(weights.sum(), 1e-30)
        np.testing.assert_allclose(found[b, n, i].astype(float), want, rtol=0, atol=1e-3)


def test_loads_are_in_proportion_to_the_lists(tmp_path: Path) -> None:
    """Whatever the number of keys; a block that a list names twice is loaded once."""
    op, made = operator(tmp_path, EACH, "64"), call(EACH)
    made["lists"][...] = -1
    made["lists"][0, :, 0, :3] = [4, 1, 4]
    assert key_loads(op, made) == 2 * SIZES["S"]


REFUSED = {
    "keys alone": (
        (("@ of(value)", "@ attend.rows(value)"),),
        "taken from different rows.*as Selected and as",
    ),
    "no entries": ((("X=X", "J=X"), ("B Q K X", "B Q K J")), 'pass axes="B K Q X" to op.input of the lists'),
    "numbers": ((('dtype="int32"', 'dtype="float32"'),), "lists hold integers, not float32"),
    "shared by none": (
        (("lists, 64", "lists, 64, queries=8"),),
        "have an axis H, and queries= says how many",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_wrong_lists_are_refused_at_their_line(tmp_path: Path, name: str) -> None:
    changes, words = REFUSED[name]
    text = PROMPTS.format(lists=EACH, how="64", change="", schedule="tile_k=64")
    for old, new in changes:
        text = text.replace(old, new)
    file = tmp_path / "small_lists.py"
    file.write_text(text)
    with pytest.raises(GraphError, match=rf"small_lists\.py:\d+: .*{words}"):
        load_file(file)


def test_probabilities_in_int8_are_refused(tmp_path: Path) -> None:
    change = "p = attend.requantize(attend.softmax(s), 64)"
    op = operator(tmp_path, EACH, "64", change)
    text = op.file.read_text().replace("attend.softmax(s) @", "p @")  # type: ignore[union-attr]
    op.file.write_text(text)  # type: ignore[union-attr]
    with pytest.raises(NotLowered, match="probabilities in int8 of keys in selected blocks"):
        load_file(op.file)(**call(EACH), backend="tile")  # type: ignore[arg-type]
