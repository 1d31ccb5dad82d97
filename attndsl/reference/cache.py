"""Caches: rings, windows, and rows that a call appends.

A call reads a cache as if the new rows had been written already; the write itself comes when everything is
computed, so that rows which it overwrites in a ring are still there.
"""

from __future__ import annotations

import numpy as np

from attndsl.expr import as_expr
from attndsl.graph.nodes import CacheAppend, Dense, Ring, Selected, Windowed, stored
from attndsl.reference.query_space import integer
from attndsl.reference.row_reader import RowReader
from attndsl.reference.selected import selected_rows
from attndsl.reference.state import RowRules, State, rounded
from attndsl.spec.contract.layout import Array


def ring_rows(state: State, rows: Ring, b: int, k: int) -> RowReader:
    """Row t is row ``t % size`` of the source."""
    size = int(rows.size.evaluate(state.env))
    source = state.reader(rows.source, b, k)
    count = size if rows.length is None else integer(state, rows.length, b)

    def fetch(start: int, stop: int) -> Array:
        parts = []
        while start < stop:
            slot = start % size
            end = min(slot + stop - start, size, max(source.count, slot + 1))
            parts.append(source.fetch(slot, end))
            start += end - slot
        return _joined(parts)

    return RowReader(0, count, fetch)


def _joined(parts: list[Array]) -> Array:
    """Stretches of rows one after the other; one alone is not copied."""
    return np.concatenate(parts) if len(parts) != 1 else parts[0]


def windowed_rows(state: State, rows: Windowed, b: int, k: int) -> RowReader:
    """Some rows of the source, under their own numbers."""
    assert rows.length is not None
    source = state.reader(rows.source, b, k)
    return RowReader(integer(state, rows.start, b), integer(state, rows.length, b), source.fetch)


def appended_rows(state: State, node: CacheAppend, b: int, k: int) -> RowReader:
    """Rows of the cache below ``position``, new ones from there on."""
    assert node.length is not None  # a rule of the graph
    position, count = integer(state, node.position, b), integer(state, node.length, b)
    cache, new = state.reader(node.cache, b, k), state.reader(node.rows, b, k)

    def fetch(start: int, stop: int) -> Array:
        parts = []
        if start < position:
            parts.append(cache.fetch(start, min(stop, position)))
        if stop > position:
            parts.append(new.fetch(max(start, position) - position, stop - position))
        return _joined(parts)

    return RowReader(0, count, fetch)


CACHES: RowRules = {
    Selected: selected_rows,
    Ring: ring_rows,
    Windowed: windowed_rows,
    CacheAppend: appended_rows,
}
"""The reader of each source that reads another source."""


def write_appended(state: State, node: CacheAppend) -> None:
    """The effect: new rows go to their places in the array of the cache."""
    tensor = stored(node.cache)
    assert tensor is not None and node.length is not None  # rules of the graph
    extents = state.call.extents
    for b in range(extents["B"]):
        position, end = integer(state, node.position, b), integer(state, node.length, b)
        slots = np.arange(position, end)
        if isinstance(node.cache, Ring):
            size = int(node.cache.size.evaluate(state.env))
            slots = slots[-size:] % size
        for k in range(extents.get("K", 1)):
            new = state.reader(node.rows, b, k).fetch(end - position - slots.size, end - position)
            target = _cache_rows(state, node, b, k)
            target[slots] = rounded(new, target.dtype)


def _cache_rows(state: State, node: CacheAppend, b: int, k: int) -> Array:
    """The rows of a batch row and head in the cache's own array, (rows, channels)."""
    dense = node.cache.source if isinstance(node.cache, Ring) else node.cache
    assert isinstance(dense, Dense)
    tensor, picks = dense.tensor, {"B": b, "K": k}
    while (inner := getattr(tensor, "source", None)) is not None:
        index = as_expr(getattr(tensor, "index", 0))
        picks[getattr(tensor, "axis", "")] = int(index.evaluate(state.env))
        tensor = inner
    view = state.call.views[getattr(tensor, "name", "")]
    axes: tuple[str, ...] = getattr(tensor, "axes", ())
    rows: Array = view[tuple(picks.get(axis, slice(None)) for axis in axes)]
    return rows
