"""Lengths, indices and prefix sums of a case: what each kind of drawing gives, what earlier ones leave."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from attndsl.expr import Load, Symbol
from attndsl.expr.argument_facts import given
from attndsl.spec import Operator, attend, errors
from attndsl.spec.contract.constraint import Constraint
from attndsl.spec.contract.layout import Array
from attndsl.verify.data import integers
from attndsl.verify.data.integers import Integers, near_tiles
from attndsl.verify.space.argument_roles import LIMIT
from attndsl.verify.space.solve import solve
from attndsl.verify.space.space import CaseSpace
from attndsl.verify.space.values import WARNED, WORKLOAD, fill_of
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
    assert found.arrays()["seqLen"].shape == (2, 5)
    assert (queries == found.extents["Q"]).all() and (keys == found.extents["T"]).all()
    assert found.longest["seqLen"].tolist() == [found.extents["Q"]] * 5 + [found.extents["T"]] * 5


@pytest.mark.parametrize(
    ("name", "rows", "most", "wanted"),
    [
        ("ends", [5, 10, 5], 10, [2, 5, 2]),
        ("ends", [5, 10, 5], 20, [5, 10, 5]),
        ("ends", [5, 10, 5], None, [5, 10, 5]),
        ("others", [5, 10, 5], 10, [5, 10, 5]),
        ("ends", [0, 0], 0, [0, 0]),
    ],
)
def test_lengths_fit_into_the_tensor_whose_rows_they_end(
    name: str, rows: list[int], most: int | None, wanted: list[int]
) -> None:
    found: Any = object.__new__(Integers)
    found.space = SimpleNamespace(totals={"ends": "U"})
    found.extents = {} if most is None else {"U": most}
    assert found._within_total(name, np.array(rows)).tolist() == wanted


def test_tensors_that_a_call_passes_have_elements_in_their_shapes() -> None:
    """Prefix sums are sums; what is absent has none."""
    found = drawn("full", B=3, T=100)
    assert found.arrays()["length"].tolist() == [100] * 3 and found.arrays()["flags"].shape == (3,)
    absent = drawn("full", 0, space_of("incre_flash_attention"), **{"given(actual_seq_lengths)": False})
    assert not absent.specs and absent.arrays() == {}


AXES = {"Q": 5, "T": 90, "U": 70, LIMIT: 90}
OF_ONE: Any = SimpleNamespace(name="one", one_for_all=True, kind="lengths")


def stubbed(axis: str = "", shape: tuple[int, ...] = (3,)) -> Any:
    """Integers of a case with one tensor of that measure."""
    found: Any = object.__new__(Integers)
    found.rng = np.random.default_rng(0)
    found.space = SimpleNamespace(tiles=(40,), measures={"one": axis}, totals={}, sizes_of=lambda axis: (7,))
    found.extents = {"Q": 5, "T": 90, "U": 70, "J": 60, "G": 2}
    found.shapes, found.rows = {"one": shape}, {"one": np.zeros(shape, np.int64).reshape(-1)}
    return found


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("kind", ["full", "one", "zero", "mixed", "edges", "gaps", "single"])
def test_each_number_of_rows_goes_up_to_its_axis(axis: str, kind: str) -> None:
    """A limit of keys up to the keys of a row."""
    most = AXES[axis]
    found = np.concatenate([stubbed(axis)._lengths(kind, axis, 30, OF_ONE) for _ in range(3)])
    if kind in ("full", "one", "zero"):
        assert set(found.tolist()) == {{"full": most, "one": 1, "zero": 0}[kind]}
    else:
        assert found.min() >= 0 and found.max() <= most and (kind == "single" or found.max() == most)
    assert found.size == (3 if kind == "single" else 90)


def test_numbers_of_blocks_are_one_and_those_that_count_nothing_are_few() -> None:
    assert set(stubbed()._lengths("full", "J", 30, OF_ONE).tolist()) == {1}
    assert set(stubbed()._lengths("full", "", 30, OF_ONE).tolist()) == {0, 1, 2}


@pytest.mark.parametrize("axis", ["Q", "T", "U", "J", "", LIMIT])
def test_no_row_is_longer_than_sizes_say(axis: str) -> None:
    """Other numbers are free."""
    free = np.iinfo(np.int64).max
    wanted = {"Q": 5, "T": 90, "U": 70}.get(axis, free)
    spec = SimpleNamespace(name="one")
    assert stubbed(axis)._longest(spec).tolist() == [wanted] * 3
    assert stubbed(axis, (2, 3))._longest(spec).tolist() == [5] * 3 + [90] * 3


@pytest.mark.parametrize(("axis", "draw", "pooled"), [
    ("Q", 0.0, True), ("T", 0.2, True), ("U", 0.0, True), ("T", 0.3, False), ("G", 0.0, False),
])  # fmt: skip
def test_some_repairs_draw_from_the_sizes_of_an_axis(axis: str, draw: float, pooled: bool) -> None:
    found = stubbed(axis)
    found.space.operator = SimpleNamespace(tensor=lambda name: OF_ONE)
    own = found.rng
    found.rng = SimpleNamespace(random=lambda *size: draw if not size else own.random(*size),
                                choice=own.choice, integers=own.integers)  # fmt: skip
    drawn = [found._pooled("one", np.array([0, 2])).tolist() for _ in range(9)]
    assert all(each == [7, 7] for each in drawn) is pooled


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


# Rules ------------------------------------------------------------------------------------------------------

LENGTH, ABSENT, BYTE = (Load(name, Symbol("b")) for name in ("length", "absent", "mask"))


@pytest.mark.parametrize(
    ("rule", "warned", "applies"),
    [
        (Constraint(LENGTH >= 1, ""), False, True),
        (Constraint(LENGTH >= 1, "", when=given("mask") == 1), False, True),
        (Constraint(LENGTH + ABSENT >= 1, ""), False, False),
        (Constraint(LENGTH + BYTE >= 1, ""), False, False),
        (Constraint(Symbol("n") >= 1, ""), False, False),
        (Constraint(LENGTH >= 1, "", error=errors.ContractWarning), False, True),
        (Constraint(LENGTH >= 1, "", error=errors.ContractWarning), True, False),
    ],
)
def test_rules_that_lengths_alone_decide_are_kept(rule: Constraint, warned: bool, applies: bool) -> None:
    """Of tensors that are passed; warnings unless they are asked for."""
    found: Any = object.__new__(Integers)
    every = [SimpleNamespace(name=name) for name in ("length", "absent")]
    operator = SimpleNamespace(constraints=[rule])
    found.space, found.specs = SimpleNamespace(operator=operator, integers=every), every[:1]
    found.env = {WARNED: warned, "given(length)": True, "given(absent)": False, "given(mask)": False}
    made = list(found._applicable())
    assert len(made) == applies
    assert not made or (made[0].when is None) is (rule.when is None)


def test_rules_that_read_no_lengths_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """There are many, and a search makes integers often."""
    looked: list[int] = []
    monkeypatch.setattr(integers, "with_presence", lambda expr, env: looked.append(1) or expr)
    found: Any = object.__new__(Integers)
    spec = SimpleNamespace(name="length")
    rules = [Constraint(BYTE >= 1, ""), Constraint(Symbol("n") >= 1, ""), Constraint(LENGTH >= 1, "")]
    found.space = SimpleNamespace(operator=SimpleNamespace(constraints=rules), integers=[spec])
    found.specs, found.env = [spec], {WARNED: False}
    assert list(found._applicable()) == rules[2:] and looked == [1]


@pytest.mark.parametrize(
    ("condition", "rows", "at"),
    [(Symbol("n") >= 1, [5, 5], [0]), (LENGTH >= 1, [5, 5], []), (LENGTH >= 1, [], [0])],
)
def test_where_no_element_is_read_none_is_repaired(condition: Any, rows: list[int], at: list[int]) -> None:
    found: Any = object.__new__(Integers)
    found.rng, found.assignment, found.arrays = np.random.default_rng(0), {}, dict
    found.space = SimpleNamespace(environment=lambda *of: {})
    found.rows = {"length": np.array(rows, np.int64)}
    found._places = lambda *of: np.array(at, np.int64)
    found._count = found._changes = found._pooled = None
    found._repair(SimpleNamespace(condition=condition, over={}), np.array([True]), 1)
    assert found.rows["length"].tolist() == rows


B = Symbol("b")
ROWS = {"length": np.array([3, 8, 1]), "n": 5, "b": np.arange(3)}


@pytest.mark.parametrize(
    ("condition", "wanted"),
    [
        (Symbol("n") >= LENGTH, [[-3, 4], [3, -4]]),
        (Symbol("n") > LENGTH, [[-4, 3], [4, -3]]),
        (Symbol("n") < LENGTH, [[-2, 5], [2, -5]]),
        (Symbol("n") == LENGTH + 1, [[-4, 3], [4, -3]]),
        (LENGTH % Symbol("n") == 0, [[-3, -1], [3, 1], [-3, -1], [2, 4]]),
        (Symbol("unknown") >= LENGTH, []),
        ((Symbol("n") >= LENGTH) & (LENGTH >= 7), [[-3, 4], [3, -4], [-1, 6], [1, -6]]),
    ],
    ids=str,
)
def test_what_closes_a_gap_is_tried(condition: Any, wanted: list[list[int]]) -> None:
    """Of either side of each comparison, and to the multiples below and above; of broken elements alone."""
    found: Any = object.__new__(Integers)
    rule = Constraint(condition, "", over={"b": Symbol("n")})
    changes = found._changes(rule, ROWS, np.array([False, True, True]))
    assert sorted(each.tolist() for each in changes) == sorted(wanted)


@pytest.mark.parametrize(
    ("rule", "wanted"),
    [
        (Constraint(Symbol("n") > 5, ""), True),
        (Constraint(Symbol("n") > 4, ""), False),
        (Constraint(Symbol("n") > 5, "", when=Symbol("m") > 0), True),
        (Constraint(Symbol("n") > 5, "", when=Symbol("m") > 1), False),
        (Constraint(LENGTH > 2, "", over={"b": Symbol("three")}), [False, False, True]),
        (Constraint(LENGTH > 3, "", over={"b": Symbol("three")}, when=B > 0), [False, False, True]),
        (Constraint(LENGTH > 3, "", over={"b": Symbol("three")}, when=Symbol("m") > 1), [False] * 3),
        (Constraint(Symbol("n") > 5, "", over={"b": Symbol("three")}), [True] * 3),
    ],
)
def test_where_a_rule_is_broken(rule: Constraint, wanted: Any) -> None:
    env = {"length": ROWS["length"], "n": 5, "m": 1, "three": 3}
    assert integers._violations(rule, env).tolist() == wanted


def test_indices_are_made_for_rules_over_elements_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(integers, "_indexed", None)
    assert integers._violations(Constraint(Symbol("n") > 5, ""), {"n": 5})


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
