"""Probabilities of a step's rows, added over the heads of each position.

A probability is ``exp(score - max) * (1 / sum)``: a division takes four cycles a repeat, a product one.
"""

from __future__ import annotations

from attndsl.expr import Const, Symbol
from attndsl.lowering.attention.continuous import state_row
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import CHUNK, HEADS, KEYS, R0, SMALLEST
from attndsl.lowering.emit.row_operations import broadcast, by_row
from attndsl.lowering.emit.shorthands import whole
from attndsl.lowering.emit.vector_buffers import BLOCK_COPIES, vector_buffers
from attndsl.lowering.emit.workspace_rings import STATISTIC_LANES
from attndsl.lowering.selection.selection_buffers import lead, pitch, selection_buffers, top_k
from attndsl.tile.instructions import Binary, Fill, WithScalar
from attndsl.tile.statements import For, Note, Statement, seq

_ROW = Symbol("row")


def add_heads(context: Context) -> list[Statement]:
    """The step's exponentials, divided by their sums, to the sums of their positions.

    ``score`` holds probabilities afterwards. A row without keys has sum 0; its exponentials are 0.
    """
    b = vector_buffers(context)
    row_sum = whole(b.row_sum, state_row(context), CHUNK)
    size = context.rows_per_step * (BLOCK_COPIES * STATISTIC_LANES)
    blocks, ones = whole(b.row_blocks, 0, size), whole(b.lanes, 0, size)
    return [
        Note(text="score = score / rowSum, then added to the sums of its position"),
        WithScalar(op="Maxs", dst=row_sum, src=row_sum, scalar=SMALLEST, where=top_k(context).where),
        Fill(dst=ones, value=Const(1)),
        broadcast(context, b.row_blocks, b.row_sum, state_row(context)),
        Binary(op="Div", dst=blocks, first=ones, second=blocks),
        by_row(context, "Mul", b.score, b.row_blocks),
        For(var=_ROW, end=CHUNK, body=seq(_add_row(context)), runs=True),
    ]


def _add_row(context: Context) -> Binary:
    """A row of probabilities to the sums of its position."""
    row = whole(vector_buffers(context).score, _ROW * context.tile_keys, KEYS)
    place = (R0 + _ROW) // HEADS * pitch(context) + lead(context)
    sums = whole(selection_buffers(context).window, place, KEYS)
    return Binary(op="Add", dst=sums, first=sums, second=row)
