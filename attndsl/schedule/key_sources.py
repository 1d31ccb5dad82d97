"""From graph nodes to key sources: one entry of a table for each kind of node."""

from __future__ import annotations

from collections.abc import Callable

from attndsl.graph import nodes
from attndsl.schedule.cached_rows import appended_rows, ring_rows, windowed_rows
from attndsl.schedule.dequantise import dequantised
from attndsl.schedule.errors import NotLowered
from attndsl.schedule.key_source import (
    Blocks,
    Contiguous,
    KeySource,
    ListEntry,
    packed_length,
    stored_in,
    stored_plain,
)


def key_source(rows: nodes.Rows, role: str) -> KeySource:
    """The source of a graph node.

    Raises:
        NotLowered: for a kind of rows without an entry in the table.
    """
    if isinstance(getattr(rows, "tensor", None), nodes.Dequantize):
        return dequantised(rows, role, key_source)
    rule = _SOURCES.get(type(rows))
    if rule is None:
        raise NotLowered(type(rows).__name__, rows.where)
    return rule(rows, role)


def _dense(rows: nodes.Rows, role: str) -> KeySource:
    assert isinstance(rows, nodes.Dense)
    tensor, fixed = stored_in(rows.tensor)
    return Contiguous(
        tensor=tensor,
        fixed=fixed,
        rows_axis="T",
        valid=rows.length,
        start=rows.start,
        role=role,
        where=rows.where,
    )


def _packed(rows: nodes.Rows, role: str) -> KeySource:
    assert isinstance(rows, nodes.Packed)
    tensor, fixed = stored_in(rows.tensor)
    return Contiguous(
        tensor=tensor,
        fixed=fixed,
        rows_axis="U",
        packed=True,
        ends=rows.ends,
        valid=packed_length(rows.ends, rows.length),
        role=role,
        where=rows.where,
    )


def _paged(rows: nodes.Rows, role: str) -> KeySource:
    assert isinstance(rows, nodes.Paged)
    tensor, fixed = stored_in(rows.tensor)
    table = stored_plain(rows.table)
    return Blocks(
        tensor=tensor,
        fixed=fixed,
        rows_axis="R",
        valid=rows.length,
        size=rows.block_size,
        table=table,
        role=role,
        where=rows.where,
    )


def _listed(rows: nodes.Rows, role: str) -> KeySource:
    assert isinstance(rows, nodes.Listed)
    tensor, fixed = stored_in(rows.tensors)
    return ListEntry(
        tensor=tensor,
        fixed=fixed,
        rows_axis="U" if "U" in tensor.axes else "T",
        packed=True,
        valid=rows.length,
        index=rows.index,
        role=role,
        where=rows.where,
    )


_SOURCES: dict[type[nodes.Rows], Callable[[nodes.Rows, str], KeySource]] = {
    nodes.Dense: _dense,
    nodes.Packed: _packed,
    nodes.Paged: _paged,
    nodes.Listed: _listed,
    nodes.Ring: lambda rows, role: ring_rows(rows, role, key_source),
    nodes.Windowed: lambda rows, role: windowed_rows(rows, role, key_source),
    nodes.CacheAppend: lambda rows, role: appended_rows(rows, role, key_source),
}
