"""From the query node of some scores to its row space."""

from __future__ import annotations

from attndsl.graph import nodes
from attndsl.lowering.rows.batch_extents import packed_length
from attndsl.lowering.rows.decoding_rows import DecodingRows
from attndsl.lowering.rows.positioned_rows import PackedTokens, PaddedRows
from attndsl.lowering.rows.row_space import RowSpace
from attndsl.lowering.rows.scaled_query import stored_query


def row_space(
    query: nodes.Node,
    *,
    one_position: bool = False,
    existing: nodes.Node | None = None,
    whole_positions: bool = False,
) -> RowSpace:
    """The rows that a query node gives.

    Args:
        one_position: whether the axis of positions has the size 1.
        existing: queries of each batch row where rows are padded to one number of positions.
        whole_positions: a vector core must have all heads of its positions.

    Raises:
        NotLowered: for queries that are computed, not stored.
    """
    if isinstance(query, nodes.PackedQueries):
        stored, scaled = stored_query(query.tensor, query.where)
        return PackedTokens(
            query=stored,
            where=query.where,
            scaled=scaled,
            valid=packed_length(query.ends, query.length),
            ends=query.ends,
            whole_positions=whole_positions,
        )
    stored, scaled = stored_query(query, query.where)
    if one_position or "Q" not in stored.axes:
        return DecodingRows(query=stored, where=query.where, scaled=scaled)
    return PaddedRows(
        query=stored, where=query.where, scaled=scaled, valid=existing, whole_positions=whole_positions
    )
