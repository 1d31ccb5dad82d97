"""Situations that cases are asked for: which there are, whether a call is in one, how cases get into them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from attndsl.spec.operator.loader import load
from attndsl.spec.operator.operator import Operator
from attndsl.verify.cases.cases import Stream
from attndsl.verify.cases.deciding_values import branch_conditions
from attndsl.verify.cases.mode_search import ModeSearch, _may_have
from attndsl.verify.cases.situations import Situation, _is_edge, situations, situations_of_kernels
from attndsl.verify.space.values import GAPS, fill_of
from tests.support.case_spaces import space_of

SPEC = """
from attndsl.spec import Operator, attend, select

op = Operator("windowed", summary="Decoding in a window, or in none.")
B, N, K, T, D = op.dims("B N K T D")
op.axes(B=B, N=N, K=K, Q=1, T=T, D=D, E=D)
query = op.input("query", "B N 1 D", dtype=("float16", "bfloat16"), axes="B N Q D")
key = op.input("key", "B K T D", dtype=query, axes="B K T D")
value = op.input("value", "B K T D", dtype=query, axes="B K T E")
length = op.lengths("length", "B", one_for_all=False)
scale = op.param("scale", float, default=0.125, finite=True)
window = op.param("window", int, default=0, ge=0, le=4096)
kind = op.param("kind", int, default=0, choices=(0, 1))
op.require(N % K == 0, "must be a multiple of the heads of key", argument="query")
op.require(length[attend.BATCH] >= 0, "must not be negative", over={attend.BATCH: B})
s = attend.scores(query, attend.rows(key, length=length)) * scale
seen = s.where(attend.KEY >= length[attend.BATCH] - window)
s = attend.when(window > 0, seen, s)
s = attend.when(kind == 1, attend.tanh(s), s)
op.output("out", attend.softmax(s) @ attend.rows(value, length=length), like=query)
"""
EDGE_OF_ROWS, EMPTY = "a row that ends at the edge of a tile", "a row without keys among others"
NO_WINDOW = "not (window > 0), several key tiles"


def loaded(folders: pytest.TempPathFactory, text: str) -> Operator:
    path: Path = folders.mktemp("situations") / "spec.py"
    path.write_text(text)
    return load(str(path))


def prepared(operator: Operator) -> ModeSearch:
    """The only member of a stream of its own."""
    (found,) = Stream(operator).members
    found.prepare()
    return found


@pytest.fixture(scope="module")
def operator(tmp_path_factory: pytest.TempPathFactory) -> Operator:
    return loaded(tmp_path_factory, SPEC)


@pytest.fixture(scope="module")
def member(operator: Operator) -> ModeSearch:
    return prepared(operator)


def named(member: ModeSearch) -> dict[str, Situation]:
    return {each.name: each for each in situations(member.space)}


def test_branches_of_numbers_defaults_windows_and_rows_are_situations(member: ModeSearch) -> None:
    """Not what choices decide: their values are features."""
    assert set(named(member)) == {
        "window > 0", "not (window > 0)", "scale=0.125 by default", "window=0 by default",
        "window at the edge of a tile", "window=4096 at the edge of its range", EDGE_OF_ROWS, EMPTY,
        "window > 0, several key tiles", NO_WINDOW,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("values", "lengths", "wanted"),
    [
        ({"window": 0}, [5, 7], {"not (window > 0)", "window=0 by default", "scale=0.125 by default"}),
        ({"window": 513, "scale": 1.0}, [5, 7], {"window > 0", "window at the edge of a tile"}),
        ({"window": 509, "scale": 1.0}, [0, 7], {"window > 0", EMPTY}),
        ({"window": 509, "scale": 1.0}, [0, 0], {"window > 0"}),
        ({"window": 509, "scale": 1.0}, [511, 9], {"window > 0", EDGE_OF_ROWS}),
        ({"window": 509, "scale": 1.0}, [1, 1024], {"window > 0", EDGE_OF_ROWS}),
        (
            {"window": 509, "scale": 1.0},
            [1, 1025],
            {"window > 0", "window > 0, several key tiles", EDGE_OF_ROWS},
        ),
        ({"window": 509, "scale": 1.0}, [510, 514], {"window > 0"}),
    ],
)
def test_whether_a_call_is_in_one(
    operator: Operator, member: ModeSearch, values: dict[str, Any], lengths: list[int], wanted: set[str]
) -> None:
    rows = np.zeros((2, 1, 1030, 16), np.float16)
    call = operator.bind(np.zeros((2, 1, 1, 16), np.float16), rows, rows, np.array(lengths), **values)
    assert {name for name, each in named(member).items() if each.holds(call)} == wanted


@pytest.mark.parametrize(
    ("number", "at_edge"),
    [(510, False), (511, True), (512, True), (513, True), (514, False), (1, False), (1023, True), (0, False)],
)
def test_edges_are_those_of_whole_tiles(number: int, at_edge: bool) -> None:
    assert _is_edge(number, (512,)) is at_edge


def test_windows_have_values_at_the_edges_of_tiles(member: ModeSearch) -> None:
    assert {511, 512, 513} <= set(member.space.variables["window"])
    assert not {511, 513} & set(member.space.variables["scale"])


@pytest.mark.parametrize(
    "name", ["window at the edge of a tile", "not (window > 0)", NO_WINDOW, EDGE_OF_ROWS, EMPTY]
)
def test_a_case_is_asked_for_in_a_situation_that_none_has_been_in(operator: Operator, name: str) -> None:
    member = prepared(operator)
    member._kernels[()] = 1
    every = named(member)
    member._met = set(every) - {name}
    case = member._in_a_new_situation(np.random.default_rng(0), operator, 9, 9)
    assert case is not None and every[name].holds(case.outline()) and name in member._met
    assert member._in_a_new_situation(np.random.default_rng(0), operator, 11, 11) is None


def test_a_situation_that_no_call_is_in_is_given_up(operator: Operator) -> None:
    member = prepared(operator)
    member._kernels[()] = 1
    asked = []

    def pins(rng: np.random.Generator) -> dict[str, Any]:
        asked.append(rng)
        return {}

    member._situations = (Situation("never", pins, lambda call: False),)
    found = [
        member._in_a_new_situation(np.random.default_rng(turn), operator, turn, turn) for turn in range(9)
    ]
    assert not any(found) and len(asked) < 2 * 9


def test_what_a_mask_joins_with_its_comparisons_decides(tmp_path: Path) -> None:
    """As an optional window; what differs by key, or is all that a mask asks, is no branch."""
    masked = SPEC.replace("attend.KEY >= length", "(window == 0) | (kind == 1) & (attend.KEY >= length")
    (tmp_path / "joined.py").write_text(masked.replace("- window)", "- window))"))
    found = branch_conditions(load(str(tmp_path / "joined.py")).roots)
    assert {str(each) for each in found} == {"window > 0", "kind == 1", "window == 0"}


def test_a_value_that_a_condition_compares_with_is_drawn_more_often(member: ModeSearch) -> None:
    windows = member.space.variables["window"]
    assert windows.count(0) > 1 and {windows.count(each) for each in windows if each} == {1}


def test_lengths_with_gaps_have_rows_without_keys(member: ModeSearch) -> None:
    assert GAPS in member.space.variables[fill_of("length")]


def test_parameters_at_their_defaults_are_among_the_first_cases(operator: Operator) -> None:
    """All numbers at once; the case before it has others."""
    first, second = (each.outline().params for each in Stream(operator).take(2))
    defaults = {each.name: each.default for each in operator.params if not each.choices}
    assert second.items() >= defaults.items() and not first.items() >= defaults.items()


TWO_SOURCES = """
from attndsl.spec import Operator, attend

op = Operator("two_sources", summary="Keys that all rows share, and some of each.")
B, N, K, T, D = op.dims("B N K T D")
op.axes(B=B, N=N, K=K, Q=1, T=T, D=D, E=D)
query = op.input("query", "B N D", dtype="float16", axes="B N D")
key = op.input("key", "B K T D", dtype=query, axes="B K T D")
value = op.input("value", "B K T D", dtype=query, axes="B K T E")
shared = op.param("shared", int, ge=0)
length = op.lengths("length", "B", one_for_all=False)
op.require(N % K == 0, "must be a multiple of the heads of key", argument="query")


def part(count):
    keys, values = attend.rows(key, length=count), attend.rows(value, length=count)
    return attend.softmax(attend.scores(query, keys)) @ values


op.output("out", attend.merge(part(shared), part(length)), like=query)
"""
NONE_OF_ONE = "a row with keys of one source and none of another"


@pytest.fixture(scope="module")
def two_sources(tmp_path_factory: pytest.TempPathFactory) -> Operator:
    return loaded(tmp_path_factory, TWO_SOURCES)


def test_a_parameter_that_counts_keys_is_asked_for_at_the_edge_of_its_range(two_sources: Operator) -> None:
    """And has values at the edges of tiles, as lengths have."""
    member = prepared(two_sources)
    every, tile = named(member), member.space.tiles[0]
    assert set(every) == {"shared=0 at the edge of its range", EDGE_OF_ROWS, EMPTY, NONE_OF_ONE}
    assert {0, tile - 1, tile + 1} <= set(member.space.variables["shared"])
    pins = every[EMPTY].pins(np.random.default_rng(0))
    assert pins.items() >= {fill_of("length"): GAPS, "shared": 0}.items()


@pytest.mark.parametrize(
    ("shared", "lengths", "wanted"),
    [
        (5, [4, 7], set()),
        (5, [4, 0], {NONE_OF_ONE}),
        (0, [4, 7], {NONE_OF_ONE, "shared=0 at the edge of its range"}),
        (0, [4, 0], {NONE_OF_ONE, "shared=0 at the edge of its range", EMPTY}),
        (0, [0, 0], {"shared=0 at the edge of its range"}),
    ],
)
def test_sources_without_keys(
    two_sources: Operator, shared: int, lengths: list[int], wanted: set[str]
) -> None:
    member = Stream(two_sources).members[0]
    rows = np.zeros((2, 1, 9, 16), np.float16)
    call = two_sources.bind(np.zeros((2, 1, 16), np.float16), rows, rows, shared, np.array(lengths))
    assert {name for name, each in named(member).items() if each.holds(call)} == wanted


def test_sources_with_the_same_numbers_of_keys_are_in_no_situation_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "two_sources.py"
    path.write_text(TWO_SOURCES.replace("part(shared)", "part(length)"))
    member = Stream(load(str(path))).members[0]
    assert set(named(member)) == {EDGE_OF_ROWS, EMPTY}


def test_kernels_are_asked_for_each_layout_that_nothing_else_decides() -> None:
    """Other cases have them as features: their situations are the same."""
    space = space_of("incre_flash_attention")
    found = {each.name: each for each in situations_of_kernels(space)}
    assert {"quant_scale2 as per tensor", "quant_scale2 as per channel"} <= found.keys()
    assert not any(name.startswith(("key as", "query as")) for name in found), "input_layout does"
    assert all(each.first for each in found.values())
    assert not found.keys() & {each.name for each in situations(space)}


@pytest.mark.parametrize(
    ("pins", "may"),
    [
        ({"layout(mask)": "square"}, True),
        ({"layout(mask)": "square", "given(mask)": True}, False),
        ({"kind": 2}, True),
        ({"kind": 1, "given(bias)": True}, True),
        ({"kind": 3, "given(bias)": True}, False),
    ],
)
def test_what_a_kernel_has_not_is_not_asked_for(pins: dict[str, Any], may: bool) -> None:
    """It takes some tensors, and its calls have some values; others are likely alone."""
    kernel: Any = SimpleNamespace(
        pins={"given(bias)": True, "dtype(bias)": "float32"} | ({"kind": 1} if "given(bias)" in pins else {}),
        likely={"given(mask)": False, "kind": 1, "layout(mask)": "row"},
    )
    assert _may_have(kernel, pins) is may
