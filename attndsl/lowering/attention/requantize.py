"""Probabilities through int8: integer scores in, integer probabilities and weighted sums out.

In a tile, which is the block of keys that the spec names, ``p = exp(score - newMax)`` of a row becomes

    x = clip(round_half_even(p / a), -128, 127)        partial = a * (x . values)

with the scale a as given for the row, 1 in place of 0, or ``exp(tileMax - newMax) / 127``, a 127th of the
row's largest p in the tile. That one belongs to the tile in flight: it is kept for each slot of the rings.
Kernels call the scale step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attndsl.expr import Const, Expr, select
from attndsl.graph import nodes
from attndsl.lowering.attention.probabilities import to_cube
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import SMALLEST, SPAN, STEP_ROWS
from attndsl.lowering.emit.row_operations import broadcast, by_row, fill_row_blocks
from attndsl.lowering.emit.shorthands import whole
from attndsl.lowering.operands.row_values import row_value
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import Binary, Convert, Unary, WithScalar
from attndsl.tile.statements import Note, Statement

if TYPE_CHECKING:
    from attndsl.lowering.emit.vector_buffers import VectorBuffers

LARGEST = 127


def int32_scores(context: Context) -> Buffer:
    """Integer scores, as the cube stores them."""
    elements, slots = context.rows_per_step * context.tile_keys, context.schedule.slots
    return context.in_ub("wholeScore", "int32", elements, "integer scores of the rows", slots)


def int32_partial(context: Context) -> Buffer:
    """Integer weighted sums of a tile, as the cube stores them."""
    elements, slots = context.rows_per_step * context.padded_value_size, context.schedule.slots
    return context.in_ub("wholePartial", "int32", elements, "integer weighted sum of one tile", slots)


def keep_scales(context: Context, b: VectorBuffers, stat: Expr) -> list[Statement]:
    """The scales of a tile's rows from its maxima, which ``b.tile_stat`` and ``b.new_max`` hold."""
    if _given(context) is not None:
        return []
    scale = whole(_scales(context), stat, STEP_ROWS)
    return [
        Note(text="step = exp(row maximum of the tile - newMax) / 127"),
        Binary(
            op="Sub", dst=scale, first=whole(b.tile_stat, 0, STEP_ROWS), second=whole(b.new_max, 0, STEP_ROWS)
        ),
        Unary(op="Exp", dst=scale, src=scale),
        WithScalar(op="Muls", dst=scale, src=scale, scalar=Const(1 / LARGEST)),
        WithScalar(op="Maxs", dst=scale, src=scale, scalar=SMALLEST),
    ]


def quantize(context: Context, b: VectorBuffers, stat: Expr) -> list[Statement]:
    """``prob = clip(round(score / scale))``; fp16, which the way to int8 passes, holds it exactly."""
    elements = context.rows_per_step * context.tile_keys
    half = context.in_ub("probHalf", "float16", elements, "integer-valued probabilities in fp16")
    span = whole(b.score, 0, SPAN)
    return [
        Note(text="prob = clip(round(score / step), -128, 127)"),
        spread_scales(context, b, stat),
        by_row(context, "Div", b.score, b.row_blocks),
        Convert(dst=span, src=span, mode="CAST_RINT"),
        WithScalar(op="Maxs", dst=span, src=span, scalar=Const(float(-LARGEST - 1))),
        WithScalar(op="Mins", dst=span, src=span, scalar=Const(float(LARGEST))),
        Convert(dst=whole(half, 0, SPAN), src=span, mode="CAST_RINT"),
        *to_cube(context, half),
    ]


def spread_scales(context: Context, b: VectorBuffers, stat: Expr) -> Statement:
    """The scales of the rows in ``b.row_blocks``, one block a row."""
    given = _given(context)
    if given is None:
        return broadcast(context, b.row_blocks, _scales(context), stat)

    def one(row: Expr) -> Statement:
        value = row_value(context, given)
        scale = select(value == 0, 1.0, value)
        return fill_row_blocks(context, b.row_blocks, row, scale, given.where)

    return context.rows.each_row(one, (b.row_blocks,))


def _given(context: Context) -> nodes.Node | None:
    """The scale of each row where the call passes it."""
    node = context.attention.requantize
    assert node is not None
    return node.scale


def _scales(context: Context) -> Buffer:
    meaning = "steps of the probabilities of the tiles in flight"
    return context.in_ub("step", "float32", context.ring * context.rows_per_vector, meaning)
