"""Weighted sums with all keys of a batch row in one block: for what looks at probabilities one by one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from attndsl.graph.nodes import Rows, Scores, Softmax, WeightedSum
from attndsl.reference.blocks import Block, Part
from attndsl.reference.query_space import query_space
from attndsl.reference.row_reader import RowReader
from attndsl.reference.state import Labelled, State
from attndsl.reference.streaming import row_statistics
from attndsl.reference.threads import for_each
from attndsl.spec.contract.layout import Array

Read = Callable[[State, Rows, int, int], RowReader]
Attend = Callable[[Block, Array], Array]


def weighted_sum(state: State, node: WeightedSum, read: Read, attend: Attend) -> Labelled:
    """``node`` for all rows, axes (B, N, Q, E), or (N, S, E) where queries are packed.

    Args:
        state: the run.
        node: the weighted sum.
        read: the reader of rows of keys or values for a batch row and a key/value head.
        attend: for a block of all keys and the values (keys, channels) the sums, (heads * queries, channels).
    """
    extents, group = state.call.extents, state.heads_per_group
    space = query_space(state, node.weights)
    out = np.zeros((*space.shape, extents["E"]), state.real)
    for inner in node.weights.walk():  # probabilities that are computed with need their statistics first
        if isinstance(inner, Softmax) and inner is not node.weights:
            row_statistics(state, inner)

    def work(task: tuple[int, int]) -> None:
        b, k = task
        values, count = read(state, node.values, b, k), space.count(b)
        if values.count == 0 or count == 0:
            return
        location = space.locate(b, slice(k * group, (k + 1) * group), slice(0, count))
        with np.errstate(all="ignore"):
            block = _block(state, node, read, task, count, slice(values.first, values.first + values.count))
            out[location] = attend(block, values.read(block.keys.start, block.keys.stop)).reshape(
                group, count, -1
            )

    for_each(work, [(b, k) for b in range(extents["B"]) for k in range(extents.get("K", 1))])
    return Labelled((*space.axes, "E"), out)


def alike(state: State, node: WeightedSum, read: Read, block: Block) -> Block:
    """``block`` for another run of the same call, in which nothing of it has been computed yet."""
    count = block.queries.stop - block.queries.start
    return _block(state, node, read, (block.b, block.k), count, block.keys)


def _block(
    state: State, node: WeightedSum, read: Read, task: tuple[int, int], queries: int, keys: slice
) -> Block:
    b, k = task
    group = state.heads_per_group
    heads = slice(k * group, (k + 1) * group)
    sources = [each.keys for each in node.weights.walk() if isinstance(each, Scores)]
    readers = {id(rows): read(state, rows, b, k) for rows in sources}
    location = query_space(state, node.weights).locate(b, heads, slice(0, queries))
    return Block(b, k, heads, slice(0, queries), Part(keys), readers, {}, location)
