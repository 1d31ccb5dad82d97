"""Keys in the blocks that lists name: which of them each query of a block sees."""

from __future__ import annotations

from typing import Any

import numpy as np

from attndsl.graph.nodes import Input, Node, Scores, Selected
from attndsl.reference.blocks import Block
from attndsl.reference.row_reader import RowReader
from attndsl.reference.state import State
from attndsl.spec.contract.layout import Array


def selected_rows(state: State, rows: Selected, b: int, k: int) -> RowReader:
    """All rows of the source: each query takes its own of them."""
    return state.reader(rows.source, b, k)


def selections(weights: Node) -> tuple[Selected, ...]:
    """The lists that the keys of weights are selected by."""
    keys = (node.keys for node in weights.walk() if isinstance(node, Scores))
    return tuple(below for each in keys for below in each.walk() if isinstance(below, Selected))


def named(state: State, rows: Selected, block: Block) -> Array:
    """Whether the list of a query names a key, (queries, keys)."""
    size = int(rows.size.evaluate(state.env))
    lists = _part(state, rows.blocks, rows, block)
    used = np.ones(lists.shape, bool)
    if rows.count is not None:
        used = np.arange(lists.shape[-1]) < _part(state, rows.count, rows, block)[..., None]
    first, last = block.keys.start // size, -(-block.keys.stop // size)
    used = used & (lists >= first) & (lists < last)
    found = np.zeros((len(lists), max(last - first, 1)), bool)
    queries = np.broadcast_to(np.arange(len(lists))[:, None], lists.shape)
    found[queries[used], lists[used] - first] = True
    keys = np.arange(block.keys.start, block.keys.stop) // size - first
    return np.asarray(found[np.arange(len(lists))[:, None], keys[None]])


def _part(state: State, node: Node, rows: Selected, block: Block) -> Array:
    """The lists, or their counts, of the queries of a block: queries first."""
    assert isinstance(node, Input)  # a rule of the graph
    queries = np.arange(block.queries.start, block.queries.stop)
    shared = 1 if rows.queries is None else int(rows.queries.evaluate(state.env))
    view = state.call.views[node.name]
    picks: dict[str, Any] = {"B": block.b, "K": block.k, "S": block.tokens, "Q": queries}
    picks["H"] = queries // shared
    # Numbers first: NumPy moves the axis of an array of queries where another axis lies between.
    part = view[tuple(picks[axis] if axis in ("B", "K") else slice(None) for axis in node.axes)]
    kept = [axis for axis in node.axes if axis in ("Q", "H", "S", "X")]
    part = part[tuple(picks.get(axis, slice(None)) for axis in kept)]
    part = part.transpose(sorted(range(len(kept)), key=lambda place: kept[place] == "X"))
    if kept == ["X"] or not kept:
        part = np.broadcast_to(part[None], (len(queries), *part.shape))
    return np.asarray(part, np.int64)
