"""From an attention to its row space: its query node, what is known of positions, lists and shared keys."""

from __future__ import annotations

from dataclasses import replace

from attndsl.expr import Const
from attndsl.graph import nodes
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.match.computation import Attention, Computation
from attndsl.lowering.match.padded_queries import existing_queries
from attndsl.lowering.rows.batch_extents import packed_length
from attndsl.lowering.rows.decoding_rows import DecodingRows
from attndsl.lowering.rows.grouped_rows import grouped_rows
from attndsl.lowering.rows.positioned_rows import PackedTokens, PaddedRows, PositionedRows
from attndsl.lowering.rows.row_space import RowSpace
from attndsl.lowering.rows.scaled_query import stored_query


def row_space(
    computation: Computation, attention: Attention, *, one_position: bool, max_rows: int
) -> RowSpace:
    """The rows of an attention's tasks.

    Args:
        one_position: whether the axis of positions has the size 1.
        max_rows: query rows of a task at most.

    Raises:
        NotLowered: for queries that are computed, not stored, and for those without heads.
    """
    rows = _of_query(
        attention.query,
        one_position=one_position,
        existing=existing_queries(computation),
        whole_positions=computation.selection is not None,  # a position's heads are added on one core
    )
    lists = attention.selected
    if lists is not None and isinstance(rows, PositionedRows) and {"Q", "H", "S"} & set(_axes(lists.blocks)):
        return replace(rows, alike=Const(1) if lists.queries is None else lists.queries)
    return grouped_rows(rows, computation, attention, max_rows)


def _of_query(
    query: nodes.Node, *, one_position: bool, existing: nodes.Node | None, whole_positions: bool
) -> RowSpace:
    """The rows that a query node gives.

    Args:
        existing: queries of each batch row where rows are padded to one number of positions.
        whole_positions: a vector core must have all heads of its positions.
    """
    tensor = query.tensor if isinstance(query, nodes.PackedQueries) else query
    stored, scaled = stored_query(tensor, query.where)
    if "N" not in stored.axes:
        raise NotLowered(
            f"queries without heads, '{stored.name}' with the axes ({', '.join(stored.axes)}),",
            stored.where,
            'give them an axis N: of one head the size 1, as in op.input(..., "B 1 S D", axes="B N Q D")',
        )
    if isinstance(query, nodes.PackedQueries):
        return PackedTokens(
            query=stored,
            where=query.where,
            scaled=scaled,
            valid=packed_length(query.ends, query.length),
            ends=query.ends,
            whole_positions=whole_positions,
        )
    if one_position or "Q" not in stored.axes:
        return DecodingRows(query=stored, where=query.where, scaled=scaled)
    return PaddedRows(
        query=stored, where=query.where, scaled=scaled, valid=existing, whole_positions=whole_positions
    )


def _axes(node: nodes.Node) -> nodes.Axes:
    axes: nodes.Axes = getattr(node, "axes", ())
    return axes
