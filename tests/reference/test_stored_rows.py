"""Rows as they are stored: how many there are, which they are, and where results of queries lie."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from attndsl.expr import Const, Symbol
from attndsl.graph.errors import GraphError
from attndsl.graph.nodes import (
    BlockRequantize,
    CacheAppend,
    Cast,
    Dense,
    Elementwise,
    GroupSum,
    IndexCondition,
    Input,
    Leading,
    Listed,
    LogSumExpMerge,
    Lookup,
    Opposite,
    Packed,
    PackedQueries,
    Paged,
    Quantize,
    Repeat,
    Replace,
    Ring,
    RowMax,
    RowSum,
    Scalar,
    Scores,
    Selected,
    Softmax,
    Take,
    TopK,
    WeightedSum,
    Windowed,
    WindowSum,
)
from attndsl.reference import (
    block_selection,
    cache,
    query_space,
    rows,
    scores,
    selected,
    state,
    streaming,
    whole,
)
from attndsl.reference.blocks import Block, Part
from attndsl.reference.requantize import RequantizingAccumulator
from attndsl.reference.row_reader import RowReader
from tests.reference.lone_nodes import block_of, node_of, state_of

FLOAT64 = np.dtype(np.float64)


def number(value: int | None) -> Any:
    return None if value is None else node_of(Scalar, axes=(), value=Const(value))


def stored(name: str, axes: str, **fields: Any) -> Any:
    node = node_of(Input, name=name, axes=tuple(axes), **fields)
    object.__setattr__(node, "walk", lambda: (node,))
    return node


def run_of(*, own: dict[str, Any] | None = None, lists: Any = None, **arrays: Any) -> Any:
    """A state with these tensors; ``own``: the extents that the layout of each has of its own."""
    layouts = dict.fromkeys(arrays, "L")
    tensor = SimpleNamespace(layouts={"L": SimpleNamespace(own_extents=own or {})})
    call = SimpleNamespace(
        views=arrays,
        list_views=lists or {},
        lists=lists or {},
        layouts=layouts,
        operator=SimpleNamespace(tensor=lambda name: tensor),
        extents={"B": 2, "T": 5, "U": 7, "K": 1},
    )
    return state_of(call=call, env={}, real=FLOAT64, boundaries={})


@pytest.mark.parametrize(
    ("start", "length", "found"),
    [
        (None, None, (0, 5)),
        (None, 3, (0, 3)),
        (2, 3, (2, 3)),
        (3, 3, (0, 0)),
        (-1, 3, (0, 0)),
        (None, 6, (0, 0)),
    ],
)
def test_rows_of_a_tensor(start: int | None, length: int | None, found: tuple[int, int]) -> None:
    """From a start on; rows that it has no place for are none."""
    data = np.arange(20.0).reshape(2, 5, 2)
    node = node_of(Dense, tensor=stored("x", "BTD"), start=number(start), length=number(length))
    reader = rows._dense(run_of(x=data), node, 1, 0)
    assert (reader.first, reader.count) == found
    assert np.array_equal(reader.fetch(1, 3), data[1, 1:3])


def test_a_layout_may_have_a_capacity_of_its_own() -> None:
    node = node_of(Dense, tensor=stored("x", "BTD"), start=None, length=None)
    assert rows._dense(run_of(own={"T": Const(4)}, x=None), node, 0, 0).count == 4
    assert rows._dense(run_of(own={"U": Const(4)}, x=None), node, 0, 0).count == 5
    assert rows._dense(run_of(own={"T": Const(4)}), node, 0, 0).count == 5  # a list has no layout


@pytest.mark.parametrize(("length", "count"), [(None, 6), (5, 5)])
def test_rows_of_pages(length: int | None, count: int) -> None:
    data = np.arange(16.0).reshape(4, 1, 2, 2)
    run = run_of(x=data)
    run.whole = lambda node: state.Labelled(("B", "W"), np.array([[0, 0, 0], [3, 1, 2]]))
    node = node_of(Paged, tensor=stored("x", "PKRD"), table=None, block_size=Const(2), length=number(length))
    reader = rows._paged(run, node, 1, 0)
    assert reader.count == count
    assert np.array_equal(reader.fetch(1, 4), data[[3, 1, 1], 0, [1, 0, 1]])


@pytest.mark.parametrize("along", "TU")
@pytest.mark.parametrize(
    ("index", "length", "count"), [(None, 3, 3), (0, None, 7), (-1, 3, 0), (None, None, 7)]
)
def test_rows_of_a_list_of_tensors(along: str, index: int | None, length: int | None, count: int) -> None:
    """Tensor b, or the one that an index names; a negative one names none."""
    of = "B" if index is None else "G"
    entries = tuple(np.arange(10.0).reshape(5, 2) + 100 * entry for entry in range(2))
    run = run_of(lists={"x": entries})
    node = node_of(Listed, tensors=stored("x", f"{of}{along}D"), index=number(index), length=number(length))
    reader = rows._listed(run, node, 1, 0)
    assert reader.count == (5 if (count, along) == (7, "T") else count)
    assert np.array_equal(reader.fetch(1, 3), entries[1 if index is None else index][1:3])
    run.env["rows(x)"] = np.array([4, 2])
    assert rows._listed(run, node, 1, 0).count == (2 if length is None else count)


def test_a_list_is_of_batch_rows_behind_a_component() -> None:
    entries = tuple(np.arange(8.0).reshape(2, 2, 2) + 100 * entry for entry in range(2))
    run, tensor = run_of(lists={"x": entries}), stored("x", "CBTD")
    for index in (1, Const(1)):
        part = node_of(Take, source=tensor, axis="C", index=index, axes=tuple("BTD"))
        assert np.array_equal(rows._stored_part(run, part, {"B": 1, "T": slice(0, 1)}), entries[1][1, :1])


def test_factors_of_stored_rows_belong_to_their_rows() -> None:
    """A factor of rows is not one of channels, where there are as many."""
    data, factor = np.ones((4, 2)), np.array([1.0, 2, 3, 4])
    run = run_of(x=data)
    run.whole = lambda node: state.Labelled(("T",), factor)
    scaled = node_of(
        Elementwise, op="multiply", inputs=(stored("x", "TD"), stored("f", "T")), axes=("T", "D")
    )
    found = rows._stored_part(run, scaled, {"T": slice(1, 3)})
    assert found.tolist() == [[2, 2], [3, 3]]


def test_rows_that_are_packed_end_where_others_begin() -> None:
    data = np.arange(14.0).reshape(7, 2)
    by_row = node_of(Scalar, axes=("B",), value=Symbol("b") + 2)
    for ends, length, begin, end in ((by_row, None, 2, 3), (None, by_row, 2, 5)):
        node = node_of(Packed, tensor=stored("x", "UD"), ends=ends, length=length)
        run = run_of(x=data)
        reader = rows._packed(run, node, 1, 0)
        assert reader.count == end - begin
        assert np.array_equal(reader.fetch(0, 1), data[begin : begin + 1])


@pytest.mark.parametrize(("index", "found"), [(1, [1, 4]), (Const(2), [2, 5])])
def test_an_entry_along_an_axis(index: Any, found: list[int]) -> None:
    run = state_of(env={}, whole=lambda node: state.Labelled(("B", "C"), np.arange(6).reshape(2, 3)))
    assert (
        whole._take(run, node_of(Take, source=None, axis="C", index=index, axes=("B",))).data.tolist()
        == found
    )
    same = node_of(Take, source=None, axis="", index=0, axes=("B", "C"))
    assert whole._take(run, same).data.shape == (2, 3)


# Caches -----------------------------------------------------------------------------------------------------


def source(data: Any) -> RowReader:
    return RowReader(0, len(data), lambda start, stop: data[start:stop])


@pytest.mark.parametrize(("length", "count"), [(None, 4), (9, 9)])
def test_rows_of_a_ring(length: int | None, count: int) -> None:
    data = np.arange(4.0)
    run = state_of(env={}, reader=lambda each, b, k: source(data))
    reader = cache.ring_rows(run, node_of(Ring, size=Const(4), length=number(length), source=None), 0, 0)
    assert reader.count == count and reader.fetch(2, 7).tolist() == [2, 3, 0, 1, 2]


def test_rows_of_a_window_keep_their_numbers() -> None:
    run = state_of(env={}, reader=lambda each, b, k: source(np.arange(9.0)))
    node = node_of(Windowed, source=None, start=number(4), length=number(3))
    reader = cache.windowed_rows(run, node, 0, 0)
    assert (reader.first, reader.count, reader.fetch(5, 7).tolist()) == (4, 3, [5, 6])


@pytest.mark.parametrize(
    ("start", "stop", "found"), [(0, 2, [0, 1]), (1, 5, [1, 2, 10, 11]), (3, 5, [10, 11]), (4, 6, [11, 12])]
)
def test_new_rows_are_read_behind_those_of_a_cache(start: int, stop: int, found: list[int]) -> None:
    data = {"cache": np.arange(9.0), "new": np.arange(10.0, 14)}
    asked = []

    def reader(each: str, b: int, k: int) -> RowReader:
        return RowReader(0, 9, lambda first, last: asked.append(each) or data[each][first:last])  # type: ignore[func-returns-value]

    node = node_of(CacheAppend, cache="cache", rows="new", position=number(3), length=number(7))
    rows_of = cache.appended_rows(state_of(env={}, reader=reader), node, 0, 0)
    assert rows_of.count == 7 and rows_of.fetch(start, stop).tolist() == found
    assert asked == [each for each, there in (("cache", start < 3), ("new", stop > 3)) if there]


# Queries ----------------------------------------------------------------------------------------------------


PACKED = query_space.QuerySpace(("N", "S"), (2, 6), 3, np.array([0, 2, 5]))
"""Two and three queries, and a token of no batch row."""


def test_packed_queries_lie_back_to_back() -> None:
    assert [PACKED.count(b) for b in (0, 1)] == [2, 3]
    assert PACKED.locate(1, slice(0, 2), slice(1, 3)) == (slice(0, 2), slice(3, 5))
    assert not PACKED.results(4, FLOAT64).any()
    apart = query_space.QuerySpace(("B", "N", "Q"), (2, 2, 3), 3)
    assert apart.count(1) == 3 and apart.locate(1, 0, slice(1, 3)) == (1, 0, slice(1, 3))
    assert apart.results(4, FLOAT64).shape == (2, 2, 3, 4)


@pytest.mark.parametrize(
    ("axes", "found"),
    [
        ("B", [0, 0, 1, 1, 1]),
        ("Q", [0, 1, 0, 1, 2]),
        ("BQ", [0, 1, 3, 4, 5]),
        ("QB", [0, 2, 1, 3, 5]),
    ],
)
def test_numbers_of_batch_rows_and_positions_by_token(axes: str, found: list[int]) -> None:
    sizes = [{"B": 2, "Q": 3}[axis] for axis in axes]
    value = state.Labelled(tuple(axes), np.arange(np.prod(sizes)).reshape(sizes))
    of_tokens = query_space.of_tokens(PACKED, value)
    assert of_tokens.axes == ("S",) and of_tokens.data[:5].tolist() == found
    by_head = state.Labelled((*axes, "N"), np.stack([value.data, value.data + 9], axis=-1))
    assert query_space.of_tokens(PACKED, by_head).data[:5, 1].tolist() == [each + 9 for each in found]
    apart = query_space.QuerySpace(("B", "N", "Q"), (2, 2, 3), 3)
    assert query_space.of_tokens(apart, value) is value
    of_heads = state.Labelled(("N",), np.arange(2))
    assert query_space.of_tokens(PACKED, of_heads) is of_heads
    nothing = query_space.of_tokens(PACKED, state.Labelled(("B", "Q"), np.zeros((2, 0))))
    assert nothing.data.tolist() == [0] * 6


@pytest.mark.parametrize(
    ("counts", "found"),
    [(None, [[1, 1, 0, 0, 1], [0, 0, 1, 1, 0]]), ([0, 1, 2], [[1, 1, 0, 0, 0], [0, 0, 1, 1, 0]])],
)
def test_keys_that_a_list_names(counts: list[int] | None, found: list[list[int]]) -> None:
    """Blocks of two keys; -1 names none, and what lies behind the keys none of them."""
    views = {"blocks": np.array([[9, 9, 9], [0, 2, 7], [1, -1, -1]]), "counts": np.array(counts or [0])}
    blocks, count = stored("blocks", "QX"), stored("counts", "Q") if counts else None
    node = node_of(Selected, blocks=blocks, count=count, size=Const(2), queries=None, source=None)
    object.__setattr__(node, "walk", lambda: (node, blocks))
    run = state_of(call=SimpleNamespace(views=views), env={})
    assert selected.named(run, node, block_of(5)).astype(int).tolist() == found
    weights = SimpleNamespace(walk=lambda: (blocks, node_of(Scores, keys=node)))
    assert selected.selections(weights) == (node,)  # type: ignore[arg-type]
    reader = RowReader(0, 9, lambda start, stop: blocks)
    assert selected.selected_rows(state_of(reader=lambda source, b, k: reader), node, 0, 0) is reader


def test_heads_of_a_group_are_added_up() -> None:
    values = state.Labelled(("B", "N", "J"), np.arange(8).reshape(1, 4, 2))
    run = state_of(heads_per_group=2, whole=lambda node: values)
    found = whole._group_sum(run, node_of(GroupSum, source=None))
    assert found.axes == ("B", "K", "J") and found.data.tolist() == [[[2, 4], [10, 12]]]


def test_numbers_of_batch_rows_meet_those_of_tokens() -> None:
    query = node_of(PackedQueries)
    values = {
        "rows": state.Labelled(("B",), np.array([10, 20])),
        "tokens": state.Labelled(("S",), np.arange(5)),
    }
    call = SimpleNamespace(extents={"N": 1, "S": 5, "Q": 3, "B": 2})
    run = state_of(call=call, boundaries={id(query): np.array([0, 2, 5])}, whole=values.get)
    node = node_of(Elementwise, op="add", inputs=("rows", "tokens"), axes=("B", "S"))
    object.__setattr__(node, "walk", lambda: (node_of(Scores, query=query),))
    found = whole._elementwise(run, node)
    assert found.axes == ("S",) and found.data.tolist() == [10, 11, 22, 23, 24]
    apart = node_of(Elementwise, op="add", inputs=("rows", "rows"), axes=("B",))
    assert whole._elementwise(run, apart).data.tolist() == [20, 40]


# Selections -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "forced", "count", "found"),
    [
        ([3, np.nan, 5, 5], None, 3, [2, 3, 0]),
        ([3, np.nan, 5, 5], None, 4, [2, 3, 0, 1]),
        ([3, np.nan, 5, 5], [0, 1, 0, 0], 2, [1, 2]),
        ([3, np.inf, 5, 5], [1, 0, 0, 0], 2, [0, 1]),
        ([3, -np.inf], None, 4, [0, 1, -1, -1]),
        ([], None, 2, [-1, -1]),
        ([3, 5], None, 0, []),
    ],
)
def test_the_largest_come_first(
    values: list[float], forced: list[int] | None, count: int, found: list[int]
) -> None:
    """What is forced before all, NaN last, of equal ones the first; -1 where there are too few."""
    before = np.array([forced or [0] * len(values)], bool)
    chosen = block_selection.largest(np.array([values], np.float32), before, count)
    assert chosen.tolist() == [found]


@pytest.mark.parametrize(
    ("step", "last", "counts", "entries", "found"),
    [
        (2, 1, (2,), 3, [0 + 1, 2 + 3, 4 + 5]),
        (2, 1, (2,), 5, [0 + 1, 2 + 3, 4 + 5, 6, 0]),
        (2, 0, (3,), 2, [0, 0 + 1 + 2]),
        (2, 0, (3,), 1, [0]),
        (3, 3, (2, 2), 2, [1 + 2 * 2 + 3, 4 + 2 * 5 + 6]),
        (1, 0, (), 2, [0, 1]),
    ],
)
def test_sums_of_windows(
    monkeypatch: pytest.MonkeyPatch,
    step: int,
    last: int,
    counts: tuple[int, ...],
    entries: int,
    found: list[int],
) -> None:
    """Of the numbers 0 to 6: as many as are counted up to ``step * block + last``, those within."""
    numbers = np.arange(7.0).reshape(1, 1, 7)
    monkeypatch.setattr(block_selection, "_whole_rows", lambda *arguments: numbers)
    node = node_of(
        WindowSum, source=None, step=Const(step), last=Const(last), counts=tuple(map(Const, counts))
    )
    sums = block_selection._window_sum(state_of(env={}, real=FLOAT64), node, None, None, entries)  # type: ignore[arg-type]
    assert sums.tolist() == [[found]]


# Requantized weights ----------------------------------------------------------------------------------------


def test_steps_of_integers_are_given_by_head_or_found() -> None:
    part = Part(slice(0, 4))
    heads, queries = slice(0, 2), slice(0, 3)
    scale = node_of(Input, axes=("N",))
    given = np.array([0.5, 0.25]).reshape(2, 1, 1)
    block = Block(0, 0, heads, queries, part, {}, {}, (0, heads, queries), values={id(scale): given})
    node = node_of(BlockRequantize, scale=scale)
    steps = streaming._steps(state_of(), node, block)
    assert steps is not None and steps.tolist() == [0.5] * 3 + [0.25] * 3
    assert streaming._steps(state_of(), node_of(BlockRequantize, scale=None), block) is None


@pytest.mark.parametrize(("steps", "found"), [(0.5, [1.0 + 1.0]), (None, [1.0 + 86 / 127 * 2])])
def test_weights_pass_through_integers(steps: float | None, found: list[float]) -> None:
    """0.675 is one step of a half, or 86 steps of a 127th."""
    given = None if steps is None else np.array([steps])
    taken = RequantizingAccumulator(
        np.full(1, -np.inf), np.zeros(1), np.empty((1, 1)), np.empty((1, 1)), steps=given
    )
    values = np.array([[1.0], [2.0]])
    out = taken.weighted(np.array([[1.0, 0.675]]), values, np.empty((1, 1)))
    assert np.allclose(out, found, rtol=1e-12, atol=0)
    assert taken.weighted(np.zeros((1, 2)), values, np.empty((1, 1))).tolist() == [[0]]


def test_what_the_oracle_has_no_rule_for_says_so() -> None:
    node = node_of(Listed, where="line 3", operands=tuple)
    run = state.State(None, FLOAT64, state.Rules({}, frozenset(), {}))  # type: ignore[arg-type]
    with pytest.raises(GraphError, match="no rule for Listed outside of scores"):
        run.whole(node)
    with pytest.raises(GraphError, match="no rule for Listed as a source of rows"):
        run.reader(node, 0, 0)
    with pytest.raises(GraphError, match="no rule for Listed in scores"):
        scores.evaluate(run, node, SimpleNamespace(values={}))  # type: ignore[arg-type]


def test_what_has_a_rule() -> None:
    """Values outside of the score space, values in it, and sources of rows."""
    both = {Input, Scalar, Lookup, IndexCondition, Elementwise, Replace, Opposite, Take, Cast}
    assert set(scores._SCORE_RULES) == both | {Scores, Softmax}
    sums = {GroupSum, WeightedSum, WindowSum, LogSumExpMerge, RowMax, RowSum}
    assert set(whole._WHOLE) == both | sums | {Leading, Quantize, TopK, Repeat}
    assert set(rows.STORED_ROWS) == {Dense, Paged, Listed, Packed}
    assert set(cache.CACHES) == {Selected, Ring, Windowed, CacheAppend}


@pytest.mark.parametrize(
    ("ring", "position", "end", "slots", "rows_written"),
    [
        (None, 3, 5, [3, 4], [0, 1]),
        (None, 3, 3, [], []),
        (4, 3, 5, [3, 0], [0, 1]),
        (4, 3, 9, [1, 2, 3, 0], [2, 3, 4, 5]),  # what a later row overwrites is not written
    ],
)
def test_new_rows_are_written_to_their_places(
    ring: int | None, position: int, end: int, slots: list[int], rows_written: list[int]
) -> None:
    """In the half of the cache that a node takes, of each batch row and head; nothing else changes."""
    stored_rows = np.zeros((2, 2, 2, 6, 1), np.float16)
    tensor = node_of(Take, source=stored("cache", "CBKTD"), axis="C", index=Const(1), axes=tuple("BKTD"))
    into = node_of(Dense, tensor=tensor, source=None)
    if ring is not None:
        into = node_of(Ring, source=into, size=Const(ring))
    node = node_of(CacheAppend, cache=into, rows="new", position=number(position), length=number(end))
    new = np.arange(1.0, 9).reshape(8, 1)
    call = SimpleNamespace(views={"cache": stored_rows}, extents={"B": 2, "K": 2})

    def reader(rows: Any, b: int, k: int) -> RowReader:
        return source(new + 10 * b + 100 * k)

    cache.write_appended(state_of(call=call, env={}, reader=reader), node)
    wanted = np.zeros_like(stored_rows)
    for b, k in np.ndindex(2, 2):
        wanted[1, b, k, slots, 0] = new[rows_written, 0] + 10 * b + 100 * k
    assert np.array_equal(stored_rows, wanted)


def test_dimensions_are_named() -> None:
    """Absent ones have extent 1; those of extent 1 that are not asked for go."""
    data = np.arange(6).reshape(2, 1, 3)
    found = state.Labelled(("B", "Q", "D"), data).aligned(("D", "N", "B"))
    assert np.array_equal(found, data[:, 0].T[:, None])


def test_dtypes_are_named_or_those_of_arguments() -> None:
    run = state_of(call=SimpleNamespace(arrays={"query": np.zeros(1, np.int8)}))
    assert state.stored_dtype(run, "float16") == np.float16 and state.stored_dtype(run, "query") == np.int8
    exact = np.array([0.1, 1 + 2.0**-40])
    assert state.rounded(exact, FLOAT64).tolist() == exact.tolist()


@pytest.mark.parametrize(("offset", "found"), [(None, [2, 127, 0]), (1.0, [3, 127, 0])])
def test_integers_are_rounded_and_saturate(offset: float | None, found: list[int]) -> None:
    values = {"source": np.array([1.2, 300, np.nan]), "scale": np.full(3, 2.0), "offset": np.full(3, offset)}
    run = state_of(whole=lambda name: state.Labelled(("D",), values[name]))
    node = node_of(
        Quantize, source="source", scale="scale", offset=None if offset is None else "offset", dtype="int8"
    )
    quantized = whole._quantize(run, node).data
    assert quantized.dtype == np.int8 and quantized.tolist() == found


def test_a_value_is_repeated_along_another_axis() -> None:
    run = state_of(
        call=SimpleNamespace(extents={"L": 3}), whole=lambda node: state.Labelled(("B",), np.arange(2))
    )
    node = node_of(Repeat, source=node_of(Input, axes=("B",)), axes=("B", "L"))
    assert whole._repeat(run, node).data.tolist() == [[0, 0, 0], [1, 1, 1]]


def test_statistics_that_are_not_computed_say_so() -> None:
    softmax = node_of(Softmax)
    run = state_of(statistics={id(softmax): {RowMax: "found"}})
    assert whole._row_statistic(run, node_of(RowMax, softmax=softmax)) == "found"
    with pytest.raises(GraphError, match="no rule for RowSum among the statistics of rows"):
        whole._row_statistic(run, node_of(RowSum, softmax=softmax, where="line 3"))
