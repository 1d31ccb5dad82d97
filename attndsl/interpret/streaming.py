"""Softmax and weighted sums over keys, streamed block by block so that long caches fit in memory."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from attndsl.graph.nodes import BlockRequantize, Node, Rows, Scores, Softmax, WeightedSum
from attndsl.interpret.accumulator import Accumulator
from attndsl.interpret.blocks import Block, Part
from attndsl.interpret.ranges import Visibility
from attndsl.interpret.requantize import RequantizingAccumulator
from attndsl.interpret.rows import RowReader, reader
from attndsl.interpret.scores import evaluate
from attndsl.interpret.segments import QuerySpace, query_space
from attndsl.interpret.state import Labelled, State
from attndsl.interpret.threads import cores, for_each
from attndsl.spec.layout import Array

SCORES_IN_BLOCK = 128 * 1024  # scores held at once: in fp32 half of a usual second-level cache
KEYS_IN_BLOCK = 4096
SCORES_WORTH_THREADS = 50_000
QUERY_ROWS_IN_BLOCK = 128
TASKS_PER_CORE = 6


@dataclass(frozen=True)
class Task:
    """Every ``shares``-th block of queries of a batch row and key/value head, from number ``share`` on: such
    shares cost the same, whatever a mask hides."""

    b: int
    k: int
    share: int
    shares: int


@dataclass(frozen=True)
class Rowset:
    """The rows of one task: readers by the node that they belong to, and the valid keys."""

    readers: dict[int, RowReader]
    first: int
    count: int


def weighted_sum(state: State, node: WeightedSum) -> Labelled:
    """``weights . values`` for all rows, axes (B, N, Q, E), or (N, S, E) where queries are packed."""
    return _stream(state, node.weights, node.values)


def row_statistics(state: State, softmax: Softmax) -> dict[str, Labelled]:
    """The maximum and the sum of exponentials of each score row, under the names of their nodes."""
    if id(softmax) not in state.statistics:
        _stream(state, softmax, None)
    return state.statistics[id(softmax)]


def _stream(state: State, weights: Node, values: Rows | None) -> Labelled:
    extents = state.call.extents
    space = query_space(state, weights)
    out = np.zeros((*space.shape, extents["E"]), state.real)
    softmax = weights.source if isinstance(weights, BlockRequantize) else weights
    for inner in weights.walk():  # probabilities that are computed with need their statistics first
        if isinstance(inner, Softmax) and inner is not softmax:
            row_statistics(state, inner)
    sources = [node.keys for node in weights.walk() if isinstance(node, Scores)]
    sources += [values] if values is not None else []
    step = _keys_in_block(state, weights)
    visibility = Visibility(state, softmax.scores if isinstance(softmax, Softmax) else weights, step)
    top, total = np.full(space.shape, -np.inf, state.real), np.zeros(space.shape, state.real)

    def work(task: Task) -> None:
        with np.errstate(all="ignore"):
            rows = rowset(state, sources, task.b, task.k, step)
            blocks = query_blocks(state, space, rows.readers, task.b, task.k)
            for block in itertools.islice(blocks, task.share, None, task.shares):
                cells = block.cells
                accumulator = _accumulate(state, weights, values, block, rows, visibility)
                if isinstance(softmax, Softmax):
                    top[cells] = accumulator.maximum.reshape(block.shape[:2])
                    total[cells] = accumulator.total.reshape(block.shape[:2])
                    accumulator.normalise()
                if accumulator.result is not None:
                    out[cells] = accumulator.result.reshape(*block.shape[:2], -1)

    keys = max(extents["T"], extents.get("U", 0))
    scores = extents["B"] * extents["N"] * extents["Q"] * keys
    for_each(work, _tasks(state), parallel=scores >= SCORES_WORTH_THREADS)
    if isinstance(softmax, Softmax):
        state.statistics[id(softmax)] = {
            "RowMax": Labelled(space.axes, top),
            "RowSum": Labelled(space.axes, total),
        }
    return Labelled((*space.axes, "E"), out)


def _tasks(state: State) -> list[Task]:
    """Every batch row and key/value head, in as many shares as keep all cores busy to the end."""
    extents = state.call.extents
    rows = [(b, k) for b in range(extents["B"]) for k in range(extents.get("K", 1))]
    blocks = -(-extents["Q"] // _queries_in_block(state))
    shares = min(blocks, -(-TASKS_PER_CORE * cores() // max(1, len(rows))))
    return [Task(b, k, share, shares) for b, k in rows for share in range(shares)]


def rowset(state: State, sources: list[Rows], b: int, k: int, step: int) -> Rowset:
    """Readers for every source of keys and values, to be read ``step`` rows at a time; the verifier saw that
    they have the same rows."""
    repeated = state.call.extents["Q"] > _queries_in_block(state)
    readers = {id(rows): reader(state, rows, b, k, piece=step if repeated else 0) for rows in sources}
    any_reader = readers[id(sources[0])]
    return Rowset(readers, any_reader.first, any_reader.count)


def _keys_in_block(state: State, weights: Node) -> int:
    if isinstance(weights, BlockRequantize):
        return int(weights.block.evaluate(state.env))
    queries = min(_queries_in_block(state), state.call.extents["Q"])
    return min(KEYS_IN_BLOCK, SCORES_IN_BLOCK // max(1, queries * state.heads_per_group))


def _queries_in_block(state: State) -> int:
    return max(1, QUERY_ROWS_IN_BLOCK // state.heads_per_group)


def query_blocks(
    state: State, space: QuerySpace, readers: dict[int, RowReader], b: int, k: int
) -> Iterator[Block]:
    """Blocks of the queries of a batch row and key/value head, with no key yet."""
    group, step, count = state.heads_per_group, _queries_in_block(state), space.count(b)
    heads = slice(k * group, (k + 1) * group)
    for start in range(0, count, step):
        queries = slice(start, min(start + step, count))
        cells = space.cells(b, heads, queries)
        yield Block(b, k, heads, queries, Part(slice(0, 0)), readers, {}, cells)


def _accumulate(
    state: State, weights: Node, values: Rows | None, block: Block, rows: Rowset, visibility: Visibility
) -> Accumulator:
    heads, queries, _ = block.shape
    count = heads * queries
    channels = state.call.extents["E"]
    running = np.full(count, -np.inf, state.real), np.zeros(count, state.real)
    result, term = (None, None) if values is None else _results(state, (count, channels))
    accumulator = Accumulator(*running, result, term)
    softmax = weights
    if isinstance(weights, BlockRequantize):
        softmax = weights.source
        accumulator = RequantizingAccumulator(*running, result, term, steps=_steps(state, weights, block))
    for part in visibility.parts(block, slice(rows.first, rows.first + rows.count)):
        keys, cut = part.keys, block.over(part)
        table = None if values is None else rows.readers[id(values)].read(keys.start, keys.stop)
        if isinstance(softmax, Softmax):
            accumulator.add(_matrix(state, softmax.scores, cut), table)
        elif table is not None:
            accumulator.add_weighted(_matrix(state, weights, cut), table)
    return accumulator


def _results(state: State, shape: tuple[int, int]) -> tuple[Array, Array]:
    """Memory for the result of a block of queries, 0, and for one term of it."""
    result, term = (state.scratch.array(name, shape, state.real) for name in ("result", "term"))
    result[:] = 0
    return result, term


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
