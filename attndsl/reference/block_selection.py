"""Values a block of keys each (axis J): strided sums of scores or probabilities, and the largest of them.

They are computed for some queries at a time, from whole rows of the score space, so that only the selected
indices are ever held for all queries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from attndsl.graph.nodes import Elementwise, GroupSum, Input, Node, Scalar, Scores, Softmax, TopK, WindowSum
from attndsl.reference.arithmetic import OPERATIONS
from attndsl.reference.blocks import Block, Part
from attndsl.reference.query_space import integer, query_space
from attndsl.reference.scores import cut, evaluate
from attndsl.reference.state import Labelled, State, no_rule
from attndsl.reference.streaming import row_statistics
from attndsl.reference.tasks import Rowset, Rowsets, Task, query_block, query_tasks
from attndsl.reference.threads import for_each
from attndsl.spec.contract.layout import Array

KEYS_IN_BLOCK = 512


def top_k(state: State, node: TopK) -> Labelled:
    """The indices of the largest values; -1 where there are fewer than asked for."""
    count = int(node.count.evaluate(state.env))

    def select(block: Block, rows: Rowset) -> Array:
        entries = state.call.extents["J"] if node.length is None else integer(state, node.length, block.b)
        values = _evaluate(state, node.source, block, rows, entries)
        forced = np.zeros((), bool)
        if node.forced is not None:
            forced = np.broadcast_to(_evaluate(state, node.forced, block, rows, entries), values.shape) != 0
        return largest(values, forced, count)

    return _for_all_queries(state, node, node.source, select, "X", count, np.dtype(np.int64))


def window_sum(state: State, node: WindowSum) -> Labelled:
    """The sums of all rows."""
    entries = state.call.extents["J"]

    def sums(block: Block, rows: Rowset) -> Array:
        return _evaluate(state, node, block, rows, entries)

    return _for_all_queries(state, node, node, sums, "J", entries, state.real)


def largest(values: Array, forced: Array, count: int) -> Array:
    """Indices of the ``count`` largest along the last axis: descending, ties to the lower index.

    ``forced`` entries come before all others, NaN behind them; -1 follows where there are too few.
    """
    entries = values.shape[-1]
    below = np.where(np.isnan(values), -np.inf, np.minimum(values, np.finfo(values.dtype).max))
    keys = np.where(forced, np.inf, below)
    found = min(count, entries)
    picked = np.full((*values.shape[:-1], count), -1, np.int64)
    if found == 0:
        return picked
    least = np.partition(keys, entries - found, axis=-1)[..., entries - found, None]
    above, equal = keys > least, keys == least
    room = found - above.sum(axis=-1, keepdims=True)
    chosen = above | (equal & (np.cumsum(equal, axis=-1) <= room))
    index = np.nonzero(chosen)[-1].reshape(*values.shape[:-1], found)
    order = np.argsort(-np.take_along_axis(keys, index, axis=-1), axis=-1, kind="stable")
    picked[..., :found] = np.take_along_axis(index, order, axis=-1)
    return picked


def _for_all_queries(
    state: State,
    node: Node,
    source: Node,
    compute: Callable[[Block, Rowset], Array],
    axis: str,
    size: int,
    dtype: np.dtype[Any],
) -> Labelled:
    """``compute`` for every block of queries, as one array with the last axis ``axis``."""
    per_head = "N" in getattr(node, "axes", ())
    space = query_space(state, source)
    results = space if per_head else query_space(state, source, heads="K")
    out = np.zeros((*results.shape, size), dtype)
    for below in source.walk():
        if isinstance(below, Softmax):
            row_statistics(state, below)
    sources = [below.keys for below in source.walk() if isinstance(below, Scores)]

    rowsets = Rowsets(state, sources, KEYS_IN_BLOCK)

    def work(task: Task) -> None:
        rows = rowsets.of(task)
        block = query_block(state, space, task, rows.readers)
        heads = block.heads if per_head else slice(task.k, task.k + 1)
        out[results.locate(task.b, heads, task.queries)] = compute(block, rows)

    for_each(work, query_tasks(state, space))
    return Labelled((*results.axes, axis), out)


def _evaluate(state: State, node: Node, block: Block, rows: Rowset, entries: int) -> Array:
    """The value of ``node`` for the first ``entries`` blocks, broadcastable to (heads, queries, entries)."""
    values: dict[Node, Array] = {}
    open_ = [node]
    while node not in values:  # no recursion: chains may be long
        each = open_[-1]
        read = each.operands() if isinstance(each, GroupSum | Elementwise) else ()
        missing = [operand for operand in read if operand not in values]
        if missing:
            open_ += reversed(missing)
            continue
        open_.pop()
        if each not in values:
            operands = [values[operand] for operand in read]
            values[each] = _computed(state, each, operands, block, rows, entries)
    return values[node]


def _computed(
    state: State, node: Node, operands: list[Array], block: Block, rows: Rowset, entries: int
) -> Array:
    """The value of ``node`` from those of its operands."""
    if isinstance(node, WindowSum):
        return _window_sum(state, node, block, rows, entries)
    if isinstance(node, GroupSum):
        return np.asarray(operands[0].sum(axis=0, keepdims=True))
    if isinstance(node, Elementwise):
        return np.asarray(OPERATIONS[node.op](*operands))
    if isinstance(node, Scalar):
        return evaluate(state, node, block)
    if isinstance(node, Input):
        return cut(state.call.views[node.name], node.axes, block, "J", slice(0, entries))
    raise no_rule(node, "for blocks of keys")


def _window_sum(state: State, node: WindowSum, block: Block, rows: Rowset, entries: int) -> Array:
    """Each term of the sum for all blocks at once, so that equal terms make equal sums to the last bit."""
    source = _whole_rows(state, node.source, block, rows)
    step, last = int(node.step.evaluate(state.env)), int(node.last.evaluate(state.env))
    weights = np.ones(1, np.int64)
    for count in node.counts:
        weights = np.convolve(weights, np.ones(int(count.evaluate(state.env)), np.int64))
    out = np.zeros((*source.shape[:-1], entries), state.real)
    for back, weight in enumerate(weights):
        offset = last - back
        start = max(0, -(offset // step))
        stop = min(entries, (source.shape[-1] - 1 - offset) // step + 1)
        if start < stop:
            terms = source[..., step * start + offset : step * (stop - 1) + offset + 1 : step]
            out[..., start:stop] += state.real.type(weight) * terms
    return out


def _whole_rows(state: State, node: Node, block: Block, rows: Rowset) -> Array:
    """The value of ``node`` for all keys, (heads, queries, keys)."""
    heads, queries, _ = block.shape
    end = rows.first + rows.count
    out = np.zeros((heads, queries, end), state.real)
    for start in range(rows.first, end, KEYS_IN_BLOCK):
        keys = slice(start, min(start + KEYS_IN_BLOCK, end))
        out[..., keys] = evaluate(state, node, block.over(Part(keys)))
    return out
