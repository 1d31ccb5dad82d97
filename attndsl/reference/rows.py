"""Key and value rows of one batch row and one head, read block by block, by the type of their source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from attndsl.expr import Expr
from attndsl.expr.argument_facts import rows_of
from attndsl.graph.nodes import (
    CacheAppend,
    Dense,
    Dequantize,
    Elementwise,
    Input,
    Leading,
    Listed,
    Node,
    Packed,
    Paged,
    Ring,
    Rows,
    Take,
    Windowed,
)
from attndsl.reference.arithmetic import OPERATIONS
from attndsl.reference.query_space import boundaries, integer
from attndsl.reference.state import State, as_real, no_rule
from attndsl.reference.whole import whole
from attndsl.spec.contract.layout import Array

Index = tuple[Any, ...]


@dataclass
class RowReader:
    """Rows ``first .. first + count - 1`` of one batch row and key/value head.

    ``fetch(start, stop)`` gives absolute rows as (rows, channels) in the run's floating dtype. Where rows are
    read repeatedly, ``piece`` is not 0: pieces of that many rows are then converted once only.
    """

    first: int
    count: int
    fetch: Callable[[int, int], Array]
    piece: int = 0
    kept: dict[int, Array] = field(default_factory=dict)

    def read(self, start: int, stop: int) -> Array:
        """Absolute rows ``start .. stop - 1``, best within one piece."""
        offset = (start - self.first) % self.piece if self.piece else 0
        begin = start - offset
        if not self.piece or stop > begin + self.piece:
            return self.fetch(start, stop)
        if begin not in self.kept:
            self.kept[begin] = self.fetch(begin, min(begin + self.piece, self.first + self.count))
        return self.kept[begin][offset : stop - begin]


def reader(state: State, rows: Rows, b: int, k: int, *, piece: int = 0) -> RowReader:
    """The reader of ``rows`` for batch row ``b`` and key/value head ``k``."""
    rule = _SOURCES.get(type(rows))
    if rule is None:
        raise no_rule(rows, "as a source of rows")
    found = rule(state, rows, b, k)
    found.piece = piece
    return found


def _dense(state: State, rows: Dense, b: int, k: int) -> RowReader:
    capacity = state.call.extents["T"]
    count = capacity if rows.length is None else integer(state, rows.length, b)
    first = 0 if rows.start is None else integer(state, rows.start, b)
    if first < 0 or first + count > capacity:
        first, count = 0, 0
    index = {"B": b, "K": k}
    return RowReader(
        first, count, lambda start, stop: _cells(state, rows.tensor, {**index, "T": slice(start, stop)})
    )


def _paged(state: State, rows: Paged, b: int, k: int) -> RowReader:
    size = int(rows.block_size.evaluate(state.env))
    table = whole(state, rows.table).aligned(("B", "W"))[b]
    count = table.size * size if rows.length is None else integer(state, rows.length, b)

    def fetch(start: int, stop: int) -> Array:
        blocks = table[start // size : -(-stop // size)].astype(np.int64)
        cells = _cells(state, rows.tensor, {"P": blocks, "K": k})
        return cells.reshape(-1, cells.shape[-1])[start % size : start % size + stop - start]

    return RowReader(0, count, fetch)


def _listed(state: State, rows: Listed, b: int, k: int) -> RowReader:
    axes: tuple[str, ...] = getattr(rows.tensors, "axes", ())
    entry = b if rows.index is None else integer(state, rows.index, b)
    along = "U" if "U" in axes else "T"
    count = _rows_of_entry(state, rows, b) if rows.length is None else integer(state, rows.length, b)
    index = {axes[0]: entry, "K": k}
    return RowReader(
        0,
        count if entry >= 0 else 0,
        lambda start, stop: _cells(state, rows.tensors, {**index, along: slice(start, stop)}),
    )


def _rows_of_entry(state: State, rows: Listed, b: int) -> int:
    """All rows of what batch row ``b`` reads; a list of one tensor a batch row has them of its own."""
    for node in rows.tensors.walk():
        if isinstance(node, Input) and (of_its_own := state.env.get(rows_of(node.name))) is not None:
            return int(of_its_own[b])
    return state.call.extents["U" if "U" in getattr(rows.tensors, "axes", ()) else "T"]


def _packed(state: State, rows: Packed, b: int, k: int) -> RowReader:
    begin, end = (int(each) for each in boundaries(state, rows)[b : b + 2])
    return RowReader(
        0,
        end - begin,
        lambda start, stop: _cells(state, rows.tensor, {"K": k, "U": slice(begin + start, begin + stop)}),
    )


def _ring(state: State, rows: Ring, b: int, k: int) -> RowReader:
    from attndsl.reference.cache import ring_rows

    return ring_rows(state, rows, b, k)


def _windowed(state: State, rows: Windowed, b: int, k: int) -> RowReader:
    from attndsl.reference.cache import windowed_rows

    return windowed_rows(state, rows, b, k)


def _appended(state: State, rows: CacheAppend, b: int, k: int) -> RowReader:
    from attndsl.reference.cache import appended_rows

    return appended_rows(state, rows, b, k)


_SOURCES: dict[type[Rows], Callable[[State, Any, int, int], RowReader]] = {
    Dense: _dense,
    Paged: _paged,
    Listed: _listed,
    Packed: _packed,
    Ring: _ring,
    Windowed: _windowed,
    CacheAppend: _appended,
}


def _cells(state: State, node: Node, index: dict[str, Any]) -> Array:
    """The part of a stored tensor that ``index`` selects by axis, the other axes in canonical order."""
    if isinstance(node, Input) and node.name in state.call.lists:
        list_axis = "B" if "B" in node.axes else node.axes[0]
        view = state.call.list_views[node.name][index[list_axis]]
        axes = tuple(axis for axis in node.axes if axis != list_axis)
        return as_real(view[_selector(axes, index)], state.real)
    if isinstance(node, Input):
        view = state.call.views[node.name]
        return as_real(view[_selector(node.axes, index)], state.real)
    if isinstance(node, Take) and node.axis:
        entry = int(node.index.evaluate(state.env)) if isinstance(node.index, Expr) else node.index
        return _cells(state, node.source, {**index, node.axis: entry})
    if isinstance(node, Leading):
        return _cells(state, node.source, index)[..., : int(node.count.evaluate(state.env))]
    if isinstance(node, Dequantize):
        source = _cells(state, node.source, index)
        if node.offset is not None:
            source = source + _factor(state, node.offset, node.axes, index)
        return source * _factor(state, node.scale, node.axes, index)
    if isinstance(node, Elementwise):
        stored = [set(getattr(each, "axes", ())) == set(node.axes) for each in node.inputs]
        operands = [
            _cells(state, each, index) if full else _factor(state, each, node.axes, index)
            for each, full in zip(node.inputs, stored, strict=True)
        ]
        result: Array = OPERATIONS[node.op](*operands)
        return result
    raise no_rule(node, "on stored tensors")


def _factor(state: State, node: Node, axes: tuple[str, ...], index: dict[str, Any]) -> Array:
    """A scale or offset, shaped to broadcast against the cells that ``index`` selects from ``axes``."""
    values = whole(state, node).aligned(axes)
    picks = []
    for axis, extent in zip(axes, values.shape, strict=True):
        pick = index.get(axis, slice(None))
        picks.append(pick if extent > 1 else (0 if isinstance(pick, int) else slice(None)))
    return values[tuple(picks)].astype(state.real, copy=False)


def _selector(axes: tuple[str, ...], index: dict[str, Any]) -> Index:
    return tuple(index.get(axis, slice(None)) for axis in axes)
