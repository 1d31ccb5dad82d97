"""Lengths, indices and prefix sums of a case: what each kind of drawing gives, what earlier ones leave."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from attndsl.expr import Load, Symbol
from attndsl.spec import Operator, attend
from attndsl.spec.contract.layout import Array
from attndsl.verify.data.integers import Integers, near_tiles
from attndsl.verify.space.solve import solve
from attndsl.verify.space.space import CaseSpace
from attndsl.verify.space.values import WORKLOAD, fill_of
from tests.support.case_spaces import space_of

MOST = 1030


@cache
def decoding() -> CaseSpace:
    """Decoding with numbers of keys, flags that count nothing, and the number of a group."""
    op = Operator("decoding")
    B, N, T, D = op.dims("B N T D")
    op.axes(B=B, N=N, K=N, Q=1, T=T, D=D, E=D)
    query = op.input("query", "B N D", dtype="float16", axes="B N D")
    key = op.input("key", "B T N D", dtype=query, axes="B T K D")
    value = op.input("value", "B T N D", dtype=query, axes="B T K E")
    length = op.lengths("length", "B", one_for_all=True)
    op.lengths("flags", "B", one_for_all=False)
    s = attend.scores(query, attend.rows(key, length=length))
    op.output("out", attend.softmax(s) @ attend.rows(value, length=length), like=query)
    return CaseSpace(op)


def drawn(kind: str, seed: int = 0, space: CaseSpace | None = None, **pins: Any) -> Integers:
    of = space or decoding()
    rng = np.random.default_rng(seed)
    fills = {fill_of(spec.name): kind for spec in of.integers if fill_of(spec.name) not in pins}
    assignment = solve(of, rng, {WORKLOAD: "any", **fills, **pins})
    assert assignment is not None
    return Integers(of, assignment, rng)


def lengths(kind: str, seeds: int = 8, **pins: Any) -> Iterator[Array]:
    for seed in range(seeds):
        yield drawn(kind, seed, **{"B": 27, "T": MOST, **pins}).rows["length"]


@pytest.mark.parametrize(
    ("kind", "most", "wanted"),
    [("full", MOST, {MOST}), ("zero", MOST, {0}), ("one", MOST, {1}), ("one", 0, {0}), ("full", 0, {0})],
)
def test_rows_that_are_all_alike(kind: str, most: int, wanted: set[int]) -> None:
    for rows in lengths(kind, 2, T=most):
        assert set(rows.tolist()) == wanted and rows.size == 27


@pytest.mark.parametrize("kind", ["mixed", "edges", "gaps"])
def test_one_row_is_as_long_as_it_may_be_and_none_is_longer(kind: str) -> None:
    """Rows are from nothing to all; of the edges, what is about whole tiles; of gaps, a third is nothing."""
    found = [*lengths(kind)]
    assert all(rows.max() == MOST and rows.min() >= 0 for rows in found)
    every = np.concatenate(found)
    assert (np.median(every) > 100) or kind == "gaps"
    if kind == "edges":
        assert set(every.tolist()) <= {0, 1, 511, 512, 513, 1023, 1024, 1025, MOST - 1, MOST}
        assert {0, 511, 512, 513, 1024, MOST - 1} <= set(every.tolist())
    else:
        assert len(set(every.tolist())) > 60
    assert bool(0.15 < np.mean(every == 0) < 0.5) is (kind == "gaps")


def test_one_length_may_be_for_all_rows_where_the_contract_says_so() -> None:
    found = [drawn("single", seed, B=27, T=MOST) for seed in range(8)]
    sizes = [each.rows["length"].size for each in found]
    assert sizes == [1] * 8 and all(0 <= each.rows["length"][0] <= MOST for each in found)
    assert len({int(each.rows["length"][0]) for each in found}) > 4
    assert {each.rows["flags"].size for each in found} == {27}
    arrays = found[0].solve()
    assert arrays is not None and arrays["length"].shape == (1,)


def test_what_counts_no_rows_is_a_small_number() -> None:
    """0 among them, and more than 1."""
    every = np.concatenate([drawn("mixed", seed, B=27).rows["flags"] for seed in range(6)])
    assert set(every.tolist()) == {0, 1, 2} and (every == 1).mean() > 0.4


@pytest.mark.parametrize(
    ("kind", "groups", "wanted"),
    [
        ("full", 3, {0}),
        ("zero", 3, {-1}),
        ("mixed", 3, {-1, 0, 1, 2}),
        ("mixed", 1, {-1, 0}),
        ("full", 0, {-1}),
        ("mixed", 0, {-1}),
        ("gaps", 3, {-1, 0, 1, 2}),
    ],
)
def test_groups_of_rows(kind: str, groups: int, wanted: set[int]) -> None:
    """Any group there is, or none; gaps are more often none."""
    space = space_of("relay_attention")
    every = np.concatenate(
        [drawn(kind, seed, space, B=27, BS=groups).rows["kvShareMap"] for seed in range(6)]
    )
    assert set(every.tolist()) == wanted
    if groups == 3 and kind in ("mixed", "gaps"):
        assert bool((every == -1).mean() > 0.35) is (kind == "gaps")


def test_queries_and_keys_have_a_row_each_where_one_tensor_tells_both() -> None:
    space = space_of("self_attention_pa_encoder")
    (spec,) = (each for each in space.integers if each.name == "seqLen")
    (two,) = (key for key, each in spec.layouts.items() if len(each.shape()) == 2)
    pins = {"longest(seqLen)": 100, "longest keys(seqLen)": 300, "batch": 5, "layout(seqLen)": two}
    found = drawn("full", 0, space, **pins)
    queries, keys = found.rows["seqLen"].reshape(2, -1)
    assert (queries == found.extents["Q"]).all() and (keys == found.extents["T"]).all()
    assert found.longest["seqLen"].tolist() == [found.extents["Q"]] * 5 + [found.extents["T"]] * 5


def test_earlier_elements_stay_as_far_as_they_fit() -> None:
    """No row is longer than the sizes say; rows beyond those that there were are as drawn."""
    for count in (2, 5):
        now = drawn("full", B=3, T=100)
        now.start_from({"length": np.array([7, 900, 0, 9, 9][:count], np.int32)})
        assert now.rows["length"].tolist() == [7, 100, 0 if count == 5 else 100]
        assert now.rows["flags"].size == 3


def test_prefix_sums_are_kept_as_lengths() -> None:
    space = space_of("nsa_compress_attention")
    names = [spec.name for spec in space.integers if spec.name in space.summed]
    now = drawn("full", 1, space, B=3)
    name = next(each for each in names if space.measures[each] == "Q")
    most = int(now.longest[name].min())
    earlier = np.cumsum([1, most, 0])
    now.start_from({name: earlier})
    assert now.rows[name].tolist() == [1, most, 0] and now.arrays()[name].tolist() == earlier.tolist()


@pytest.mark.parametrize(
    ("tiles", "most", "wanted"),
    [
        ((512,), 1100, {0, 1, 511, 512, 513, 1023, 1024, 1025, 1099, 1100}),
        ((512,), 1024, {0, 1, 511, 512, 513, 1023, 1024}),
        ((512,), 300, {0, 1, 299, 300}),
        ((256, 512), 600, {0, 1, 255, 256, 257, 511, 512, 513, 599, 600}),
        ((512,), 0, {0}),
        ((512,), 1, {0, 1}),
    ],
)
def test_numbers_about_whole_tiles(tiles: tuple[int, ...], most: int, wanted: set[int]) -> None:
    assert set(near_tiles(tiles, most)) == wanted


@pytest.mark.parametrize(
    ("counts", "draw", "kept"),
    [([2], 0.9, True), ([3], 0.1, True), ([3] * 99, 0.9, False), ([4] * 99, 0.1, False)],
)
def test_a_repair_stays_where_less_is_broken_and_often_where_as_much_is(
    counts: list[int], draw: float, kept: bool
) -> None:
    """Of three broken rows; half of the changes that leave as many are kept, so that a walk gets on."""
    length = Load("length", Symbol("b"))
    found = object.__new__(Integers)
    rows, told = np.array([5, 5]), iter(counts)
    rng = SimpleNamespace(
        random=lambda: draw, integers=lambda size: 0, permutation=lambda size: np.arange(np.size(size))
    )
    parts = {
        "space": SimpleNamespace(environment=lambda *given: {}), "assignment": {}, "rng": rng,
        "rows": {"length": rows}, "longest": {"length": np.array([9, 9])}, "arrays": dict,
        "_count": lambda before: next(told), "_places": lambda *given: np.array([0, 1]),
        "_changes": lambda *given: [np.array([1, 1])] * 5, "_pooled": lambda *given: np.array([7, 7]),
    }  # fmt: skip
    for name, value in parts.items():
        object.__setattr__(found, name, value)
    rule: Any = SimpleNamespace(condition=length >= 6, over={})
    found._repair(rule, np.array([True, True]), 3)
    assert rows.tolist() == ([6, 6] if kept else [5, 5])
