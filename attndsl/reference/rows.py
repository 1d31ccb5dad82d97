"""Key and value rows of one batch row and one head as they are stored, by the type of their source."""

from __future__ import annotations

from typing import Any

import numpy as np

from attndsl.expr import as_expr
from attndsl.expr.argument_facts import rows_of
from attndsl.graph.nodes import (
    Dense,
    Dequantize,
    Elementwise,
    Input,
    Leading,
    Listed,
    Node,
    Packed,
    Paged,
    Take,
)
from attndsl.reference.arithmetic import OPERATIONS
from attndsl.reference.query_space import boundaries, integer
from attndsl.reference.row_reader import Index, RowReader
from attndsl.reference.state import RowRules, State, as_real, no_rule, part_of
from attndsl.spec.contract.layout import Array


def _dense(state: State, rows: Dense, b: int, k: int) -> RowReader:
    capacity = _capacity(state, rows.tensor, "T")
    count = capacity if rows.length is None else integer(state, rows.length, b)
    first = 0 if rows.start is None else integer(state, rows.start, b)
    if first < 0 or first + count > capacity:
        first, count = 0, 0
    index = {"B": b, "K": k}
    return RowReader(
        first, count, lambda start, stop: _stored_part(state, rows.tensor, {**index, "T": slice(start, stop)})
    )


def _paged(state: State, rows: Paged, b: int, k: int) -> RowReader:
    size = int(rows.block_size.evaluate(state.env))
    table = state.whole(rows.table).aligned(("B", "W"))[b]
    count = table.size * size if rows.length is None else integer(state, rows.length, b)

    def fetch(start: int, stop: int) -> Array:
        blocks = table[start // size : -(-stop // size)].astype(np.int64)
        part = _stored_part(state, rows.tensor, {"P": blocks, "K": k})
        return part.reshape(-1, part.shape[-1])[start % size : start % size + stop - start]

    return RowReader(0, count, fetch)


def _listed(state: State, rows: Listed, b: int, k: int) -> RowReader:
    axes: tuple[str, ...] = getattr(rows.tensors, "axes", ())
    entry = b if rows.index is None else integer(state, rows.index, b)
    along = "U" if "U" in axes else "T"
    count = _rows_of_entry(state, rows, b, along) if rows.length is None else integer(state, rows.length, b)
    index = {axes[0]: entry, "K": k}
    return RowReader(
        0,
        count if entry >= 0 else 0,
        lambda start, stop: _stored_part(state, rows.tensors, {**index, along: slice(start, stop)}),
    )


def _rows_of_entry(state: State, rows: Listed, b: int, along: str) -> int:
    """All rows of what batch row ``b`` reads; a list of one tensor a batch row has them of its own."""
    for node in rows.tensors.walk():
        if isinstance(node, Input) and (of_its_own := state.env.get(rows_of(node.name))) is not None:
            return int(of_its_own[b])
    return _capacity(state, rows.tensors, along)


def _capacity(state: State, tensor: Node, axis: str) -> int:
    """The rows that a stored tensor has place for."""
    for node in tensor.walk():
        if isinstance(node, Input) and node.name in state.call.layouts:
            layout = state.call.operator.tensor(node.name).layouts[state.call.layouts[node.name]]
            if axis in layout.own_extents:
                return int(layout.own_extents[axis].evaluate(state.env))
    return state.call.extents[axis]


def _packed(state: State, rows: Packed, b: int, k: int) -> RowReader:
    begin, end = (int(each) for each in boundaries(state, rows)[b : b + 2])
    return RowReader(
        0,
        end - begin,
        lambda start, stop: _stored_part(
            state, rows.tensor, {"K": k, "U": slice(begin + start, begin + stop)}
        ),
    )


STORED_ROWS: RowRules = {
    Dense: _dense,
    Paged: _paged,
    Listed: _listed,
    Packed: _packed,
}
"""The reader of each source that reads a stored tensor itself."""


def _stored_part(state: State, node: Node, index: dict[str, Any]) -> Array:
    """The part of a stored tensor that ``index`` selects by axis, the other axes in canonical order."""
    if isinstance(node, Input) and node.name in state.call.lists:
        list_axis = "G" if "G" in node.axes else "B"
        view = state.call.list_views[node.name][index[list_axis]]
        axes = tuple(axis for axis in node.axes if axis != list_axis)
        return as_real(view[_selector(axes, index)], state.real)
    if isinstance(node, Input):
        view = state.call.views[node.name]
        return as_real(view[_selector(node.axes, index)], state.real)
    if isinstance(node, Take) and node.axis:
        entry = int(as_expr(node.index).evaluate(state.env))
        return _stored_part(state, node.source, {**index, node.axis: entry})
    if isinstance(node, Leading):
        return _stored_part(state, node.source, index)[..., : int(node.count.evaluate(state.env))]
    if isinstance(node, Dequantize):
        source = _stored_part(state, node.source, index)
        if node.offset is not None:
            source = source + _factor(state, node.offset, node.axes, index)
        return source * _factor(state, node.scale, node.axes, index)
    if isinstance(node, Elementwise):
        stored = [set(getattr(each, "axes", ())) == set(node.axes) for each in node.inputs]
        operands = [
            _stored_part(state, each, index) if full else _factor(state, each, node.axes, index)
            for each, full in zip(node.inputs, stored, strict=True)
        ]
        result: Array = OPERATIONS[node.op](*operands)
        return result
    raise no_rule(node, "on stored tensors")


def _factor(state: State, node: Node, axes: tuple[str, ...], index: dict[str, Any]) -> Array:
    """A scale or offset, shaped to broadcast against the part that ``index`` selects from ``axes``."""
    values = part_of(state.whole(node).aligned(axes), _selector(axes, index))
    return values.astype(state.real, copy=False)


def _selector(axes: tuple[str, ...], index: dict[str, Any]) -> Index:
    return tuple(index.get(axis, slice(None)) for axis in axes)
