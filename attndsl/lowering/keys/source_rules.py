"""From graph nodes to key sources: one entry of a table for each kind of node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from attndsl.expr import Expr
from attndsl.graph import nodes
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.keys.cached_rows import SourceOf, appended_rows, ring_rows, selected_rows, windowed_rows
from attndsl.lowering.keys.dequantize import dequantized
from attndsl.lowering.keys.key_source import KeySource
from attndsl.lowering.keys.stored_rows import DenseRows, ListedRows, PackedRows, PagedRows
from attndsl.lowering.match.stored_inputs import stored_in, stored_node, stored_plain
from attndsl.lowering.rows.batch_extents import packed_length


def key_source(rows: nodes.Rows, role: str, task_entry: Expr | None = None) -> KeySource:
    """The source of a graph node.

    Args:
        role: "key" or "value", for names.
        task_entry: the scalar that names the tensor of a list, where tasks are made by it.

    Raises:
        NotLowered: for a kind of rows without an entry in the table.
    """

    def inner(rows: nodes.Rows, role: str) -> KeySource:
        return key_source(rows, role, task_entry)

    rule = STORED_FORMS.get(type(stored_node(rows))) or SOURCES.get(type(rows))
    if rule is None:
        raise NotLowered(type(rows).__name__, rows.where)
    source = rule(rows, role, inner)
    return replace(source, task_entry=task_entry) if isinstance(source, ListedRows) else source


def _stored(rows: nodes.Rows, tensor: nodes.Node, role: str) -> dict[str, Any]:
    """What every source that reads a tensor is made of, but for its axis of rows."""
    name, fixed = stored_in(tensor)
    return {"tensor": name, "fixed": fixed, "valid": rows.length, "role": role, "where": rows.where}


def _dense(rows: nodes.Rows, role: str, inner: SourceOf) -> KeySource:
    assert isinstance(rows, nodes.Dense)
    return DenseRows(**_stored(rows, rows.tensor, role), rows_axis="T", start=rows.start)


def _packed(rows: nodes.Rows, role: str, inner: SourceOf) -> KeySource:
    assert isinstance(rows, nodes.Packed)
    stored = _stored(rows, rows.tensor, role) | {"valid": packed_length(rows.ends, rows.length)}
    return PackedRows(**stored, rows_axis="U", ends=rows.ends)


def _paged(rows: nodes.Rows, role: str, inner: SourceOf) -> KeySource:
    assert isinstance(rows, nodes.Paged)
    stored, table = _stored(rows, rows.tensor, role), stored_plain(rows.table)
    return PagedRows(**stored, rows_axis="R", size=rows.block_size, table=table)


def _listed(rows: nodes.Rows, role: str, inner: SourceOf) -> KeySource:
    assert isinstance(rows, nodes.Listed)
    stored = _stored(rows, rows.tensors, role)
    return ListedRows(**stored, rows_axis="U" if "U" in stored["tensor"].axes else "T", index=rows.index)


SOURCES: dict[type[nodes.Rows], Callable[[nodes.Rows, str, SourceOf], KeySource]] = {
    nodes.Dense: _dense,
    nodes.Packed: _packed,
    nodes.Paged: _paged,
    nodes.Listed: _listed,
    nodes.Ring: ring_rows,
    nodes.Windowed: windowed_rows,
    nodes.CacheAppend: appended_rows,
    nodes.Selected: selected_rows,
}
"""The sources of keys that kernels read."""

STORED_FORMS: dict[type[nodes.Node | None], Callable[[nodes.Rows, str, SourceOf], KeySource]] = {
    nodes.Dequantize: dequantized,
}
"""Forms in which any source that reads a tensor may have it: adapters of the source of the stored rows."""
