"""Softmax and weighted sums over keys, streamed block by block so that long caches fit in memory."""

from __future__ import annotations

import numpy as np

from attndsl.graph.nodes import (
    BlockRequantize,
    Node,
    RowMax,
    Rows,
    RowSum,
    Scores,
    Selected,
    Softmax,
    WeightedSum,
)
from attndsl.reference.accumulator import Accumulator
from attndsl.reference.blocks import Block
from attndsl.reference.query_space import query_space
from attndsl.reference.ranges import Visibility
from attndsl.reference.requantize import RequantizingAccumulator
from attndsl.reference.scores import evaluate
from attndsl.reference.selected import named, selections
from attndsl.reference.state import Labelled, RowStatistics, State
from attndsl.reference.tasks import Rowset, Rowsets, Task, queries_in_block, query_block, query_tasks, spread
from attndsl.reference.threads import for_each
from attndsl.spec.contract.layout import Array

SCORES_IN_BLOCK = 128 * 1024  # scores held at once: in fp32 half of a usual second-level cache
KEYS_IN_BLOCK = 4096
SCORES_WORTH_THREADS = 50_000


def weighted_sum(state: State, node: WeightedSum) -> Labelled:
    """``weights . values`` for all rows, axes (B, N, Q, E), or (N, S, E) where queries are packed."""
    return _stream(state, node.weights, node.values)


def row_statistics(state: State, softmax: Softmax) -> RowStatistics:
    """The maximum and the sum of exponentials of each score row, by type of their nodes."""
    if id(softmax) not in state.statistics:
        _stream(state, softmax, None)
    return state.statistics[id(softmax)]


def _stream(state: State, weights: Node, values: Rows | None) -> Labelled:
    extents = state.call.extents
    space = query_space(state, weights)
    out = space.results(extents["E"], state.real)
    softmax = weights.source if isinstance(weights, BlockRequantize) else weights
    normalized = isinstance(softmax, Softmax)
    for inner in weights.walk():  # probabilities that are computed with need their statistics first
        if isinstance(inner, Softmax) and inner is not softmax:
            row_statistics(state, inner)
    sources = [node.keys for node in weights.walk() if isinstance(node, Scores)]
    sources += [values] if values is not None else []
    step = _keys_in_block(state, weights)
    rowsets = Rowsets(state, sources, step)
    visibility = Visibility(state, softmax.scores if isinstance(softmax, Softmax) else weights, step)
    top, total = np.full(space.shape, -np.inf, state.real), np.zeros(space.shape, state.real)

    def work(task: Task) -> None:
        rows = rowsets.of(task)
        block = query_block(state, space, task, rows.readers)
        accumulator = _accumulate(state, weights, values, block, rows, visibility)
        location, shape = block.location, block.shape[:2]
        top[location] = accumulator.maximum.reshape(shape)
        total[location] = accumulator.total.reshape(shape)
        if values is not None:
            write = accumulator.write_mean if normalized else accumulator.write_sum
            write(out[location])

    keys = max(extents["T"], extents.get("U", 0))
    scores = extents["B"] * extents["N"] * extents["Q"] * keys
    tasks, left_out = spread(query_tasks(state, space), state.most_tasks)
    for_each(work, tasks, parallel=scores >= SCORES_WORTH_THREADS)
    for b, k, queries in left_out:
        state.left_out.add((b, k, queries.start, queries.stop))
        location = space.locate(b, state.heads_of(k), queries)
        out[location] = top[location] = total[location] = np.nan
    state.statistics[id(softmax)] = {
        RowMax: Labelled(space.axes, top),
        RowSum: Labelled(space.axes, total),
    }
    return Labelled((*space.axes, "E"), out)


def _keys_in_block(state: State, weights: Node) -> int:
    if isinstance(weights, BlockRequantize):
        return int(weights.block.evaluate(state.env))
    queries = min(queries_in_block(state), state.call.extents["Q"])
    return min(KEYS_IN_BLOCK, SCORES_IN_BLOCK // max(1, queries * state.heads_per_group))


def _accumulate(
    state: State, weights: Node, values: Rows | None, block: Block, rows: Rowset, visibility: Visibility
) -> Accumulator:
    heads, queries, _ = block.shape
    count = heads * queries
    channels = state.call.extents["E"]
    running = np.full(count, -np.inf, state.real), np.zeros(count, state.real)
    result = term = None
    if values is not None:
        result = state.scratch.array("result", (count, channels), state.real)
        term = state.scratch.array("term", (count, channels), state.real)
    accumulator = Accumulator(*running, result, term)
    softmax = weights
    if isinstance(weights, BlockRequantize):
        softmax = weights.source
        accumulator = RequantizingAccumulator(*running, result, term, steps=_steps(state, weights, block))
    if isinstance(softmax, Softmax) and softmax.sink is not None:
        sink = evaluate(state, softmax.sink, block)
        accumulator.seed(np.array(np.broadcast_to(sink, (heads, queries, 1)), state.real).reshape(-1))
    lists = selections(weights)
    for part in visibility.parts(block, slice(rows.first, rows.first + rows.count)):
        keys, cut = part.keys, block.over(part)
        table = None if values is None else rows.readers[id(values)].read(keys.start, keys.stop)
        if isinstance(softmax, Softmax):
            accumulator.add(_named_alone(state, softmax.scores, cut, lists, -np.inf), table)
        else:
            assert table is not None  # only statistics do without
            accumulator.add_weighted(_named_alone(state, weights, cut, lists, 0), table)
    return accumulator


def _named_alone(state: State, node: Node, block: Block, lists: tuple[Selected, ...], value: float) -> Array:
    """As :func:`_matrix`, but ``value`` at keys that a list of the query does not name."""
    matrix = _matrix(state, node, block)
    by_head = matrix.reshape(block.shape)
    for each in lists:
        by_head[:, ~named(state, each, block)] = value
    return matrix


def _steps(state: State, node: BlockRequantize, block: Block) -> Array | None:
    """The step of the integers of each row, as the author gives it for each head."""
    if node.scale is None:
        return None
    heads, queries, _ = block.shape
    steps = np.broadcast_to(evaluate(state, node.scale, block), (heads, queries, 1))
    return steps.reshape(-1)


def _matrix(state: State, node: Node, block: Block) -> Array:
    """The value of ``node`` in the block as (heads * queries, keys), free to be overwritten."""
    value = evaluate(state, node, block)
    if value.shape != block.shape or not value.flags.writeable:
        value = np.array(np.broadcast_to(value, block.shape), state.real)
    return value.reshape(-1, block.shape[2])
