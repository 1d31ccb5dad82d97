"""What the oracle reads of a call, and the memory that it may write: each read by a node of its own."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from attndsl.base.errors import OutsideError
from attndsl.base.package_files import specs_dir
from attndsl.expr import Const, Load, Symbol
from attndsl.graph.nodes import (
    Elementwise,
    IndexCondition,
    Input,
    Lookup,
    Node,
    PackedQueries,
    Replace,
    Scalar,
    Scores,
    Softmax,
)
from attndsl.reference import block_selection, cache, rows, scores, selected, whole
from attndsl.reference.element_checks import check_index
from attndsl.reference.run import run
from attndsl.reference.state import Labelled
from attndsl.spec.operator.loader import load
from tests.reference.lone_nodes import block_of, node_of, state_of

J, S = Symbol("j"), Symbol("s")


@pytest.mark.parametrize(
    ("kind", "axes", "uses", "free"),
    [
        (Scores, ("B", "N", "Q", "T"), 1, True),
        (Scores, ("B", "N", "Q", "T"), 2, False),  # read again
        (Scores, ("B", "N", "Q"), 1, False),
        (Input, ("B", "N", "Q", "T"), 1, False),  # memory of the caller
        (Lookup, ("B", "N", "Q", "T"), 1, False),
    ],
)
def test_memory_that_may_be_written(kind: type[Node], axes: tuple[str, ...], uses: int, free: bool) -> None:
    node = node_of(kind, axes=axes)
    over = node_of(Replace, axes=axes, source=node)
    state = state_of(uses={id(node): uses, id(over): 1})
    assert scores._is_free(state, node) is free
    assert scores._is_free(state, over) is free


@pytest.mark.parametrize(("keys", "legal"), [(4, True), (5, False)])
def test_numbers_by_key_are_there(keys: int, legal: bool) -> None:
    node = node_of(Scalar, value=Load("marks", J) * 2, axes=("T",), where="line 3")
    state = state_of(env={"marks": np.arange(4)}, real=np.dtype(np.float64))
    if legal:
        assert scores._scalar(state, node, block_of(keys)).reshape(-1).tolist() == [0, 2, 4, 6]
    else:
        with pytest.raises(OutsideError, match="marks: elements 0 to 4 of 4"):
            scores._scalar(state, node, block_of(keys))


@pytest.mark.parametrize("stored", [np.zeros(0), np.array([3.0, 5.0])])
def test_elements_of_rows_of_a_tensor_that_may_be_empty(stored: np.ndarray[Any, Any]) -> None:
    """Rows beyond have the nearest element, and 0 where there is none."""
    source = node_of(Input, name="marks", axes=("S",))
    node = node_of(Lookup, source=source, index=(Symbol("b"),), axes=("B",), where="line 3")
    call = SimpleNamespace(arrays={"marks": stored}, extents={"B": 3})
    state = state_of(call=call, env={}, real=np.dtype(np.float64))
    assert whole._lookup(state, node).data.tolist() == ([3, 5, 5] if stored.size else [0, 0, 0])


SIZES = {"B": 2, "K": 2, "S": 5, "Q": 3, "H": 2, "X": 4}


@pytest.mark.parametrize(
    ("axes", "found"),
    [
        (("B", "K", "Q", "X"), lambda view: view[1, 0, 1:3]),
        (("B", "Q", "X"), lambda view: view[1, 1:3]),
        (("K", "X"), lambda view: np.stack([view[0]] * 2)),
        (("S", "K", "X"), lambda view: view[2:4, 0]),
        (("S", "X", "K"), lambda view: view[2:4, :, 0]),
        (("B", "X", "H"), lambda view: view[1][:, [0, 1]].T),
    ],
)
def test_lists_of_the_queries_of_a_block(axes: tuple[str, ...], found: Any) -> None:
    """Those of its batch row, its key/value head, its tokens or queries; two queries share one of H."""
    view = np.arange(np.prod([SIZES[axis] for axis in axes])).reshape([SIZES[axis] for axis in axes])
    call = SimpleNamespace(views={"blocks": view})
    rows = SimpleNamespace(queries=SimpleNamespace(evaluate=lambda env: 2))
    part = selected._part(
        state_of(call=call, env={}),
        node_of(Input, name="blocks", axes=axes),
        rows,
        block_of(4),  # type: ignore[arg-type]
    )
    assert np.array_equal(part, found(view))


def test_rows_that_are_looked_up_by_key_are_there() -> None:
    """An index over keys lies within the tensor; one over queries may lie beyond, in no row."""
    source = node_of(Input, name="marks", axes=("S",))
    call = SimpleNamespace(arrays={"marks": np.arange(3.0)}, extents={"T": 4, "Q": 4})
    state = state_of(call=call, env={}, real=np.dtype(np.float64))
    by_query = node_of(Lookup, source=source, index=(Symbol("i"),), axes=("Q",), where="line 3")
    assert whole._lookup(state, by_query).data.tolist() == [0, 1, 2, 2]
    call.arrays["marks"] = np.arange(3, dtype=np.float16)
    assert whole._lookup(state, by_query).data.dtype == np.float64
    call.arrays["marks"] = np.arange(3)
    assert whole._lookup(state, by_query).data.dtype.kind == "i"
    by_key = node_of(Lookup, source=source, index=(J,), axes=("T",), where="line 3")
    with pytest.raises(OutsideError, match="marks: elements 0 to 3 of 3"):
        whole._lookup(state, by_key)


def test_elements_of_a_block_are_a_part_of_their_tensor() -> None:
    """Not copied: by batch row, head, query and key. Rows beyond the end have the nearest elements."""
    array = np.arange(2 * 2 * 5 * 6).reshape(2, 2, 5, 6)
    source = node_of(Input, name="bias", axes=("B", "N", "Q", "T"))
    index = tuple(map(Symbol, "bnij"))
    node = node_of(Lookup, source=source, index=index, axes=("B", "N", "Q", "T"), where="line 3")
    state = state_of(call=SimpleNamespace(arrays={"bias": array}), env={}, real=np.dtype(np.float64))
    found = scores._lookup(state, node, block_of(4))
    assert np.shares_memory(found, array) and np.array_equal(found, array[1, :1, 1:3, :4])
    state.call.arrays["bias"] = array[:, :, :2]
    beyond = scores._lookup(state, node, block_of(4))
    assert np.array_equal(beyond, array[1, :1, [1, 1], :4].reshape(1, 2, 4))
    state.call.arrays["bias"] = array[..., :3]
    by_key = node_of(
        Lookup, source=source, index=(Const(0), Const(0), Const(0), J), axes=("T",), where="line 3"
    )
    with pytest.raises(OutsideError, match="bias: elements 0 to 3 of 3"):
        scores._lookup(state, by_key, block_of(4))


@pytest.mark.parametrize(("columns", "legal"), [(4, True), (1, True), (3, False)])
def test_tensors_have_a_column_for_each_key_or_one_for_all(columns: int, legal: bool) -> None:
    view = np.arange(2.0 * 3 * columns).reshape(2, 3, columns)
    node = node_of(Input, name="bias", axes=("B", "Q", "T"), where="line 3")
    state = state_of(call=SimpleNamespace(views={"bias": view}), real=np.dtype(np.float64))
    if legal:
        assert np.array_equal(scores._input(state, node, block_of(4))[0], view[1, 1:3])
    else:
        with pytest.raises(OutsideError, match="bias: elements 0 to 3 of 3"):
            scores._input(state, node, block_of(4))


@pytest.mark.parametrize(
    ("part", "index", "legal"),
    [
        (J, [0, 2], True),
        (J, [0, 3], False),
        (J - 1, [-1, 2], False),
        (J - 1, [], True),
        (J + Symbol("i"), [0, 3], True),  # rows beyond belong to no query
        (Symbol("b"), [3], True),
    ],
)
def test_only_what_keys_alone_tell_must_be_there(part: Any, index: list[int], legal: bool) -> None:
    with nullcontext() if legal else pytest.raises(OutsideError, match="line 3: marks: elements"):
        check_index(part, np.array(index), 3, "marks", "line 3")  # type: ignore[arg-type]


@pytest.mark.parametrize(("marks", "legal"), [(4, True), (3, False)])
def test_what_a_condition_asks_of_keys_is_there(marks: int, legal: bool) -> None:
    node = node_of(IndexCondition, condition=Load("marks", J) > 1, axes=("T",), where="line 3")
    state = state_of(env={"marks": np.arange(marks)})
    if legal:
        assert scores._index_condition(state, node, block_of(4)).reshape(-1).tolist() == [0, 0, 1, 1]
    else:
        with pytest.raises(OutsideError, match="marks: elements 0 to 3 of 3"):
            scores._index_condition(state, node, block_of(4))


def test_a_sink_is_in_the_sum_of_its_head() -> None:
    """As a key with a logit of its own and no value."""
    rng, shape = np.random.default_rng(2), (1, 2, 3, 16)
    query, key, value = (rng.standard_normal(shape).astype(np.float16) for _ in range(3))
    sink = np.array([0.5, 2.0], np.float32)
    call = load(str(specs_dir() / "variants" / "sinks.py")).bind(
        query, key, value, sink, scale=0.25, window=2
    )
    out, lse = run(call, "float64")
    exact = [each.astype(np.float64) for each in (query, key, value)]
    for head, i in np.ndindex(2, 3):
        seen = slice(max(0, i - 1), i + 1)
        weights = np.exp(0.25 * exact[1][0, head, seen] @ exact[0][0, head, i])
        total = weights.sum() + np.exp(float(sink[head]))
        assert np.allclose(out[0, head, i], weights @ exact[2][0, head, seen] / total, atol=2e-3)
        assert np.isclose(lse[0, head, i], np.log(total), atol=1e-5)


CUT_SIZES = {"B": 2, "K": 3, "N": 3, "Q": 4, "S": 5, "J": 6}


@pytest.mark.parametrize(
    ("axes", "found"),
    [
        ("BNSJ", lambda view: view[1, 1:3, 2:4, :5]),
        ("BJ", lambda view: view[1, None, None, :5]),
        ("KJ", lambda view: view[2, None, None, :5]),
        ("NJ", lambda view: view[1:3, None, :5]),
        ("QJ", lambda view: view[None, 1:3, :5]),
        ("JS", lambda view: view[:5, 2:4].T[None]),
        ("B", lambda view: view[1, None, None, None]),
    ],
)
def test_what_a_block_has_of_a_tensor(axes: str, found: Any) -> None:
    """Of its batch row, its key/value head, its heads, queries or tokens: heads, queries, entries."""
    view = np.arange(np.prod([CUT_SIZES[axis] for axis in axes])).reshape([CUT_SIZES[axis] for axis in axes])
    block = SimpleNamespace(b=1, k=2, heads=slice(1, 3), queries=slice(1, 3), tokens=slice(2, 4))
    part = scores.cut(view, tuple(axes), block, "J", slice(0, 5))  # type: ignore[arg-type]
    assert part.shape == found(view).shape and np.array_equal(part, found(view))
    state = state_of(call=SimpleNamespace(views={"ranks": view}))
    node = node_of(Input, name="ranks", axes=tuple(axes))
    again = block_selection._computed(state, node, [], block, None, 5)  # type: ignore[arg-type]
    assert np.array_equal(again, part)


def test_queries_of_a_block() -> None:
    """Head by head; those of a tensor as it is stored or of a value, packed ones by token."""
    apart, together = np.arange(48.0).reshape(2, 2, 4, 3), np.arange(30.0).reshape(5, 2, 3)
    views = {"apart": apart.astype(np.float16), "together": together, "alike": apart[0]}
    value = Labelled(("B", "N", "Q", "D"), apart + 1)
    state = state_of(call=SimpleNamespace(views=views), whole=lambda node: value, real=np.dtype(np.float64))
    block = SimpleNamespace(b=1, heads=slice(0, 2), queries=slice(1, 3), tokens=slice(2, 4))
    packed = node_of(PackedQueries, tensor=node_of(Input, name="together", axes=tuple("SND")))
    for node, wanted in (
        (node_of(Input, name="apart", axes=tuple("BNQD")), apart[1, :, 1:3]),
        (node_of(Input, name="alike", axes=tuple("NQD")), apart[0, :, 1:3]),
        (node_of(Elementwise), apart[1, :, 1:3] + 1),
        (packed, together[2:4].transpose(1, 0, 2)),
    ):
        found = scores.query_rows(state, node, block)  # type: ignore[arg-type]
        assert found.dtype == np.float64 and np.array_equal(found, wanted.reshape(4, 3))


def test_nodes_that_blocks_of_keys_have_no_rule_for_say_so() -> None:
    node = node_of(Softmax, axes=("N", "Q", "T"), where="line 3")
    with pytest.raises(Exception, match="for blocks of keys"):
        block_selection._computed(state_of(), node, [], block_of(4), None, 1)  # type: ignore[arg-type]


def test_rows_of_a_ring_that_follow_each_other_are_not_copied() -> None:
    """From the end to the beginning they are put together."""
    stored = np.arange(12.0).reshape(4, 3)
    reader = SimpleNamespace(count=4, fetch=lambda start, stop: stored[start:stop])
    state: Any = SimpleNamespace(env={}, reader=lambda source, b, k: reader)
    ring: Any = SimpleNamespace(size=Const(4), length=None, source=None)
    rows = cache.ring_rows(state, ring, 0, 0)
    assert np.shares_memory(rows.fetch(5, 8), stored) and np.array_equal(rows.fetch(5, 8), stored[1:])
    assert np.array_equal(rows.fetch(6, 10), stored[[2, 3, 0, 1]])


def test_tensors_are_read_whole_without_what_costs_memory() -> None:
    """Integers stay integers, and what stands for all keys is not made for each."""
    numbers = np.arange(3, dtype=np.int32)
    alike = np.broadcast_to(np.array([[0.5], [2.0]], np.float16), (2, 1000))
    state = state_of(call=SimpleNamespace(views={"n": numbers, "x": alike}), real=np.dtype(np.float64))
    assert whole._input(state, node_of(Input, name="n", axes=("B",))).data.dtype == np.int32
    found = whole._input(state, node_of(Input, name="x", axes=("B", "T"))).data
    assert found.dtype == np.float64 and found.strides[1] == 0 and found[:, 7].tolist() == [0.5, 2]


def test_stored_rows_that_are_computed_are_computed_part_by_part() -> None:
    """Of two stored tensors; what has no rule says so."""
    views = {"x": np.arange(8.0).reshape(4, 2), "y": np.ones((4, 2))}
    x, y = (node_of(Input, name=name, axes=("T", "D")) for name in views)
    state = state_of(call=SimpleNamespace(views=views, lists={}), real=np.dtype(np.float64), env={})
    total = node_of(Elementwise, op="add", inputs=(x, y), axes=("T", "D"))
    assert np.array_equal(rows._stored_part(state, total, {"T": slice(1, 3)}), views["x"][1:3] + 1)
    with pytest.raises(Exception, match="on stored tensors"):
        rows._stored_part(state, node_of(Softmax, axes=("T", "D"), where="line 3"), {})
