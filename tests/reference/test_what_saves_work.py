"""What the oracle does to save time or memory: nothing of it shows in results, so that it is counted here."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from attndsl.expr import Const, Load, Symbol
from attndsl.graph.nodes import (
    Cast,
    Elementwise,
    GroupSum,
    IndexCondition,
    Input,
    Node,
    Opposite,
    Quantize,
    Repeat,
    Replace,
    RowMax,
    RowSum,
    Scalar,
    Scores,
    Softmax,
    Take,
    WeightedSum,
)
from attndsl.reference import query_space, ranges, scores, state, streaming, whole
from attndsl.reference.accumulator import Accumulator
from attndsl.reference.arithmetic import LOG2_E, exp_in_place
from attndsl.reference.blocks import Block, Part
from attndsl.reference.row_reader import RowReader
from attndsl.reference.scratch import Scratch
from tests.reference.lone_nodes import node_of, state_of

FLOAT32 = np.dtype(np.float32)
KEYED = ("B", "N", "Q", "T")
BATCH, HEAD, QUERY, KEY = (Symbol(name) for name in "bnij")


def block(part: Part, *, b: int = 0, head: int = 0, query: int = 0, **values: Any) -> Block:
    """Two heads and two queries, from a head and a query on."""
    heads, queries = slice(head, head + 2), slice(query, query + 2)
    return Block(b, 0, heads, queries, part, {}, {}, (b, heads, queries), **values)


# Scores -----------------------------------------------------------------------------------------------------


def test_operands_are_found_before_what_reads_them() -> None:
    """By a loop, as chains are long; no mask that is not needed, no scores whose queries are scaled."""
    shown, hidden = node_of(Input, axes=KEYED), node_of(IndexCondition, axes=KEYED)
    mask = node_of(Input, axes=KEYED)
    of_scores = node_of(Scores, axes=KEYED, query=node_of(Scores), keys=None)
    factor, by_row = node_of(Scalar, axes=(), value=Const(0.5)), node_of(Scalar, axes=("Q",), value=QUERY)

    def read(node: Node) -> tuple[Node, ...]:
        return scores._read_here(state_of(score_dtype=None, env={}), node)

    def times(*inputs: Node, op: str = "multiply") -> Any:
        return node_of(Elementwise, op=op, inputs=inputs)

    assert read(node_of(Replace, source=shown, condition=hidden)) == (shown,)
    assert read(node_of(Replace, source=shown, condition=mask)) == (shown, mask)
    for kind in (Cast, Softmax, Opposite):
        assert read(node_of(kind, operands=lambda: (shown, mask))) == (shown, mask)
    assert read(node_of(Take, operands=lambda: (shown,))) == ()
    assert read(times(of_scores, factor)) == read(times(factor, of_scores)) == ()
    for kept in (times(shown, factor), times(of_scores, by_row), times(of_scores, factor, op="add")):
        assert read(kept) == kept.inputs


@pytest.mark.parametrize(
    ("queries", "score_dtype", "scaled"),
    [("float16", None, True), ("int8", None, False), ("float16", np.dtype(np.float16), False)],
)
def test_scores_are_scaled_with_their_queries_unless_that_changes_them(
    queries: str, score_dtype: Any, scaled: bool
) -> None:
    call = SimpleNamespace(arrays={"query": np.zeros(1, queries)})
    of_scores = node_of(Scores, axes=KEYED, query=node_of(Input, name="query"))
    node = node_of(Elementwise, op="multiply", inputs=(node_of(Scalar, axes=(), value=Const(0.5)), of_scores))
    found = scores._scaled_scores(state_of(call=call, score_dtype=score_dtype, env={}), node)
    assert found == ((of_scores, 0.5) if scaled else None)


@pytest.mark.parametrize("real", [np.float32, np.float64])
@pytest.mark.parametrize("score_dtype", [None, np.dtype(np.float16)])
def test_products_are_rounded_where_that_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, score_dtype: Any, real: Any
) -> None:
    queries, stored = np.array([[1, 0], [0, 1], [1, 1], [2, 0]], real), np.array([[1 + 2.0**-12, 0.5]], real)
    monkeypatch.setattr(scores, "query_rows", lambda run, query, of_block: queries)
    node = node_of(Scores, axes=KEYED, query=None, keys=node_of(Input))
    run = state_of(real=np.dtype(real), scratch=Scratch(), uses=Counter(), score_dtype=score_dtype)
    of_block = block(Part(slice(0, 1)))
    of_block.readers[id(node.keys)] = RowReader(0, 1, lambda start, stop: stored)
    found = scores._scores(run, node, of_block)
    exact = (queries @ stored.T).reshape(2, 2, 1)
    assert found.dtype == real and np.array_equal(found, exact.astype(score_dtype or real))
    assert scores._product(run, node, of_block, node_of(Elementwise), 2.0).tolist() == (2 * exact).tolist()


def test_probabilities_in_scores_are_those_of_statistics_that_were_found() -> None:
    source = node_of(Input, axes=KEYED)
    node = node_of(Softmax, axes=KEYED, scores=source)
    top, total = np.array([[[0.0, 2.0], [1.0, -np.inf]]]), np.array([[[2.0, 4.0], [1.0, 0.0]]])
    run = state_of(real=np.dtype(np.float64), scratch=Scratch(), uses=Counter())
    axes = ("B", "N", "Q")
    run.statistics = {id(node): {RowMax: state.Labelled(axes, top), RowSum: state.Labelled(axes, total)}}
    values = np.array([[[0.0, -1.0], [2.0, 1.0]], [[1.0, 0.0], [-np.inf, -np.inf]]])
    found = scores._softmax(run, node, block(Part(slice(0, 2)), values={id(source): values}))
    small = np.exp(-1)
    wanted = [[[0.5, small / 2], [0.25, small / 4]], [[1, small], [0, 0]]]
    assert np.allclose(found, wanted, rtol=1e-15, atol=0)


def test_a_mask_that_is_passed_hides_what_it_marks() -> None:
    """A mask of one query for all, of one head for all: also of scores that are the same for all heads."""
    source, mask = node_of(Input, axes=KEYED), node_of(Input, axes=("T",))
    node = node_of(Replace, axes=KEYED, source=source, condition=mask, value=9.0)
    run = state_of(real=FLOAT32, scratch=Scratch(), uses=Counter())
    stored = np.zeros((1, 2, 3), FLOAT32)
    marks = np.array([[[0, 1, 0]], [[1, 0, 0]]], np.int8)
    values = {id(source): stored, id(mask): marks}
    found = scores._replace(run, node, block(Part(slice(4, 7)), values=values))
    assert found[:, 1].tolist() == [[0, 9, 0], [9, 0, 0]] and not stored.any()


def test_where_values_of_scores_are_written() -> None:
    """To the memory of an operand that nothing else reads, to memory that is used again, or to new memory."""
    one, other = node_of(Scores, axes=KEYED), node_of(Input, axes=KEYED)
    run = state_of(uses=Counter({id(one): 1, id(other): 1}), scratch=Scratch(), real=FLOAT32)
    first, second = np.zeros((2, 2, 5), FLOAT32), np.zeros((2, 2, 5), FLOAT32)
    keyed, by_row = node_of(Elementwise, axes=KEYED), node_of(Elementwise, axes=("B", "N", "Q"))
    assert scores._place(run, keyed, first.shape, (other, second), (one, first)) is first
    place = scores._place(run, keyed, (2, 2, 6), (one, first))
    assert scores._place(run, keyed, (2, 2, 6)) is place
    assert not np.shares_memory(scores._place(run, by_row, (2, 2, 1)), scores._place(run, by_row, (2, 2, 1)))


@pytest.mark.parametrize(("uses", "copies"), [(1, 1), (2, 2)])
def test_a_mask_is_written_over_scores_that_nothing_else_reads(
    monkeypatch: pytest.MonkeyPatch, uses: int, copies: int
) -> None:
    """Scores that others read are copied first; a condition that holds nowhere is not even looked at."""
    counted, copyto = Counter[str](), np.copyto
    source = node_of(Scores, axes=KEYED)
    node = node_of(
        Replace, axes=KEYED, source=source, value=-1.0, condition=node_of(IndexCondition, condition=KEY > 2)
    )
    run = state_of(uses=Counter({id(source): uses}), scratch=Scratch(), real=FLOAT32, env={})

    def counting(*arguments: Any, **others: Any) -> None:
        counted["copies"] += 1
        copyto(*arguments, **others)

    monkeypatch.setattr(np, "copyto", counting)
    stored = np.zeros((2, 2, 5), FLOAT32)
    part = Part(slice(0, 5), {id(node.condition): None}, slice(0, 5))
    found = scores._replace(run, node, block(part, values={id(source): stored}))
    assert found[0, 0].tolist() == [0, 0, 0, -1, -1] and counted["copies"] == copies
    assert (found is stored) == (uses == 1)
    part.known[id(node.condition)] = False
    assert scores._replace(run, node, block(part, values={id(source): stored})) is stored
    assert counted["copies"] == copies


@pytest.mark.parametrize(("width", "kept"), [(256, True), (257, False)])
def test_narrow_edges_of_masks_are_kept_for_other_heads(width: int, kept: bool) -> None:
    node, run = node_of(IndexCondition, condition=KEY > 100, axes=("T",)), state_of(env={})
    part = Part(slice(0, 1000), {id(node): None}, slice(10, 10 + width))
    keys, mask = scores._edge(run, node, block(part))
    assert keys == part.masked and mask.reshape(-1).tolist() == [key > 100 for key in range(10, 10 + width)]
    assert (scores._edge(run, node, block(part))[1] is mask) == kept
    keys, mask = scores._edge(run, node, block(Part(slice(0, 1000))))
    assert keys == slice(0, 1000) and mask.reshape(-1).tolist() == [key > 100 for key in range(1000)]


def test_a_number_asks_nothing_of_a_block() -> None:
    number = node_of(Scalar, axes=(), value=Symbol("size") * 2)
    assert scores._scalar(state_of(env={"size": 3}, real=FLOAT32), number, None) == 6  # type: ignore[arg-type]
    assert query_space.integer(state_of(env={"size": 3}), number, 1) == 6
    by_row = node_of(Scalar, axes=("B",), value=BATCH + 4)
    assert query_space.integer(state_of(env={}), by_row, 3) == 7
    given, alike = node_of(Input), node_of(Input)
    values = {given: state.Labelled(("B",), np.array([3, 5])), alike: state.Labelled((), np.array(5))}
    run = state_of(env={}, whole=values.get)
    assert [query_space.integer(run, each, 1) for each in (given, alike)] == [5, 5]


@pytest.mark.parametrize("stored", [np.float16, np.float32, np.int8, bool])
def test_integers_and_floats_of_the_run_are_read_without_a_copy(stored: Any) -> None:
    array = np.ones((2, 2, 5), stored)
    found = scores._in_run_dtype(array, state_of(real=FLOAT32))
    assert found.shape == array.shape and np.shares_memory(found, array) == (stored != np.float16)
    assert found.dtype == (FLOAT32 if array.dtype.kind == "f" else array.dtype)


@pytest.mark.parametrize("shared", [False, True])
def test_scores_that_may_be_written_are_not_copied(shared: bool) -> None:
    node = node_of(Scores, axes=KEYED)
    stored = np.zeros((2, 2, 5), FLOAT32)
    values = {id(node): np.broadcast_to(stored[:1], (2, 2, 5)) if shared else stored}
    found = streaming._matrix(state_of(real=FLOAT32), node, block(Part(slice(0, 5)), values=values))
    assert found.shape == (4, 5) and np.shares_memory(found, stored) != shared
    values = {id(node): stored[:1]}
    found = streaming._matrix(state_of(real=FLOAT32), node, block(Part(slice(0, 5)), values=values))
    assert found.shape == (4, 5) and found.flags.writeable and not np.shares_memory(found, stored)


# Keys -------------------------------------------------------------------------------------------------------


class Asked:
    """Conditions with a value for each condition, or one for all; ``count``: how often they were asked."""

    def __init__(self, *values: bool | None) -> None:
        self.values, self.count = values, 0

    def truth(self, condition: int, keys: slice) -> bool | None:
        self.count += 1
        return self.values[condition]


def search(step: int, hides: tuple[bool, ...], *values: bool | None) -> tuple[ranges._Search, Asked]:
    asked, conditions = Asked(*values), range(len(values))
    chain = [ranges.Masking(each, hide) for each, hide in zip(conditions, hides, strict=True)]  # type: ignore[arg-type]
    return ranges._Search(chain, asked, step), asked  # type: ignore[arg-type]


def test_keys_that_nothing_divides_are_not_searched() -> None:
    found, asked = search(128, (True,), False)
    keys = [slice(0, 128), slice(128, 256), slice(256, 300)]
    parts = list(found.parts(slice(0, 300)))
    assert asked.count == 1
    assert [part.keys for part in parts] == [part.masked for part in parts] == keys
    found, asked = search(128, (True,), True)
    assert list(found.parts(slice(0, 300))) == [] and asked.count == 1


def test_ends_of_keys_that_stay_are_asked_for_once() -> None:
    """Both ends of those that may be hidden, then of those that may be masked."""
    found, asked = search(1024, (True,), None)
    (part,) = found.parts(slice(0, 1000))
    assert part.keys == part.masked == slice(0, 1000) and asked.count == 6
    found, asked = search(1024, (True,), None)
    (part,) = found.parts(slice(0, 63))
    assert part.keys == part.masked == slice(0, 63) and asked.count == 2
    found, asked = search(256, (True,), None)
    parts = list(found.parts(slice(0, 600)))
    assert [part.keys for part in parts] == [slice(0, 256), slice(256, 512), slice(512, 600)]


@pytest.mark.parametrize(
    ("hides", "values", "hidden"),
    [
        ((True,), (True,), True),
        ((True,), (None,), False),
        ((True,), (False,), False),
        ((False,), (True,), False),
        ((False, True), (None, True), False),
        ((False, True), (False, True), True),
        ((True, False), (True, True), True),
        ((True, False), (None, True), False),
        ((), (), False),
    ],
)
def test_what_the_last_replacement_leaves_hidden(
    hides: tuple[bool, ...], values: tuple[bool | None, ...], hidden: bool
) -> None:
    found, _ = search(64, hides, *values)
    assert found.hidden(found.known(slice(0, 64))) is hidden
    assert (list(found.parts(slice(0, 64))) == []) is hidden


def test_heads_share_the_parts_that_their_conditions_cannot_tell_apart() -> None:
    run = state_of(env={"ends": np.array([200, 300])})

    def visible(condition: Any) -> ranges.Visibility:
        node = node_of(IndexCondition, condition=condition)
        return ranges.Visibility(run, node_of(Replace, condition=node, value=-np.inf, source=None), 64)

    nothing, keys = Part(slice(0, 0)), slice(0, 400)
    found = visible(Load("ends", BATCH) <= KEY - 64 * QUERY)
    parts = found.parts(block(nothing), keys)
    assert found.parts(block(nothing, head=2), keys) is parts
    for other, other_keys, ends in (
        (block(nothing, b=1), keys, (0, 384)),
        (block(nothing, query=2), keys, (0, 400)),
        (block(nothing), slice(128, 400), (128, 320)),
        (block(nothing), slice(0, 128), (0, 128)),
    ):
        of_other = found.parts(other, other_keys)
        assert (of_other[0].keys.start, of_other[-1].keys.stop) == ends != (0, 320)
    assert found.parts(block(nothing), slice(210, 210)) == []
    by_head = visible(KEY >= 64 * HEAD)
    assert by_head.parts(block(nothing, head=2), keys)[-1].keys.stop == 192
    assert by_head.parts(block(nothing, head=4), keys)[-1].keys.stop == 320


def test_what_is_known_of_a_part_is_not_asked_again() -> None:
    node, run = node_of(IndexCondition, condition=KEY >= 64), state_of(env={})
    for keys, value in ((slice(0, 64), False), (slice(64, 65), True), (slice(0, 65), None)):
        assert ranges.truth(run, node, block(Part(keys))) is value
        assert ranges.truth(run, node, block(Part(keys, {id(node): True}))) is True


# Whole values and rows --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "before"),
    [(kind, True) for kind in (Elementwise, Replace, Opposite, Take, Cast, GroupSum, Quantize, Repeat)]
    + [(WeightedSum, False)],
)
def test_operands_of_whole_values_are_computed_by_a_loop(kind: type[Node], before: bool) -> None:
    """As chains are long; not those of attention, which are read in blocks."""
    leaf = node_of(Input)
    node = node_of(kind, operands=lambda: (leaf,))
    seen: list[bool] = []

    def rule(run: state.State, each: Node) -> state.Labelled:
        seen.append(id(leaf) in run.values)
        return state.Labelled((), np.zeros(()))

    pointwise = whole._POINTWISE
    rules = state.Rules(whole={Input: lambda run, each: leaf, kind: rule}, pointwise=pointwise, rows={})
    run = state.State(None, FLOAT32, rules)  # type: ignore[arg-type]
    run.whole(node)
    assert seen == [before]


def test_numbers_are_in_the_dtype_of_the_run_and_integers_stay() -> None:
    run = state_of(env={}, real=FLOAT32)
    assert whole._scalar(run, node_of(Scalar, axes=(), value=Const(2.5))).data.dtype == FLOAT32
    assert whole._scalar(run, node_of(Scalar, axes=(), value=Const(3))).data.dtype.kind == "i"


@pytest.mark.parametrize("stored", [np.float16, ml_dtypes.bfloat16, np.float32])
def test_arrays_of_the_run_s_dtype_are_not_copied(stored: Any) -> None:
    every = np.arange(12).astype(stored).reshape(3, 4)
    found = state.as_real(every, FLOAT32)
    assert found.dtype == FLOAT32 and np.shares_memory(found, every) == (stored is np.float32)
    found = state.as_real(every[:, ::2], FLOAT32)
    assert found.flags.c_contiguous and found.tolist() == [[0, 2], [4, 6], [8, 10]]


def test_dimensions_of_one_element_stand_for_all() -> None:
    data = np.arange(12).reshape(3, 4, 1)
    assert state.part_of(data, [1, slice(2, 4), 7]).tolist() == [6, 7]
    assert state.part_of(data, [slice(0, 2), 3, slice(5, 9)]).tolist() == [[3], [7]]


def test_mild_exponents_take_the_quick_way_and_others_the_usual_one() -> None:
    mild = np.linspace(-80, 0, 1000, dtype=np.float32)
    assert np.array_equal(exp_in_place(mild.copy()), np.exp2(mild * np.float32(LOG2_E)))
    wild = mild * np.float32(2)
    assert np.array_equal(exp_in_place(wild.copy()), np.exp(wild))
    double = mild.astype(np.float64)
    assert np.array_equal(exp_in_place(double.copy()), np.exp(double))


def test_statistics_alone_take_no_memory_for_results() -> None:
    found = Accumulator(np.full(2, -np.inf), np.zeros(2), None, None)
    for scores_of_block in ([[0.0, 1.0], [-np.inf, -np.inf]], [[2.0, 0.0], [-np.inf, -np.inf]]):
        found.add(np.array(scores_of_block), None)
    assert found.maximum.tolist() == [2, -np.inf]
    assert np.allclose(found.total, [1 + np.exp(-1) + 2 * np.exp(-2), 0], rtol=1e-15, atol=0)
