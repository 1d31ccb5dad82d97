"""Dequantized weighted sums of quantized values.

    sum_j p_j (value_j + offset) * scale = (sum_j p_j value_j + rowSum * offset) * scale

once an item has seen all its keys, for rows that are not normalized yet. ``rowSum`` is that of the rounded
probabilities, which the cube multiplied by, so that nothing cancels that would not in ``value + offset``; a
row without keys has sum 0 and stays 0.
"""

from __future__ import annotations

from attndsl.expr import Const, Expr, Symbol
from attndsl.lowering.attention.tile_slots import state_row
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import ROWS, STEP_ROWS
from attndsl.lowering.emit.row_operations import broadcast, scale_rows
from attndsl.lowering.emit.shorthands import in_steps, whole
from attndsl.lowering.emit.vector_buffers import vector_buffers
from attndsl.lowering.keys.channel_quantization import ChannelQuantization
from attndsl.target import Core
from attndsl.tile.instructions import Binary, WithScalar
from attndsl.tile.statements import For, Note, Stage, Statement, seq

_ROW = Symbol("row")


def sums_integers(context: Context) -> bool:
    """Whether values are quantized."""
    return context.values.quantization is not None


def scale_sums(context: Context) -> Stage:
    """The weighted sums of an item's rows, dequantized."""
    quantization = context.values.quantization
    assert quantization is not None
    rows = in_steps(
        ROWS, context.rows_per_step, lambda r0, count: _step(context, quantization, r0), context.where
    )
    doc = "Dequantizes the weighted sums."
    return context.stage(
        "ScaleSums",
        Core.AIV,
        doc=doc,
        body=seq(quantization.with_factors(context, [rows])),
        where=context.where,
    )


def _step(context: Context, quantization: ChannelQuantization, r0: Expr) -> list[Statement]:
    b, padded_size = vector_buffers(context), context.padded_value_size
    row = whole(b.accumulator, (r0 + _ROW) * padded_size, padded_size)
    times = Binary(
        op="Mul", dst=row, first=row, second=whole(quantization.wide(context, "scale"), 0, padded_size)
    )
    scaled = For(var=_ROW, end=STEP_ROWS, body=seq(times), disjoint=(b.accumulator,), runs=True)
    note = Note(text="accumulator = accumulator * scale")
    return [*_add_offset(context, quantization, r0), note, scaled]


def _add_offset(context: Context, quantization: ChannelQuantization, r0: Expr) -> list[Statement]:
    if quantization.offset is None:
        return []
    b, padded_size = vector_buffers(context), context.padded_value_size
    added = context.channel_rows
    row, span = whole(added, _ROW * padded_size, padded_size), STEP_ROWS * padded_size
    offset = whole(quantization.wide(context, "offset"), 0, padded_size)
    copy = WithScalar(op="Adds", dst=row, src=offset, scalar=Const(0))
    accumulator = whole(b.accumulator, r0 * padded_size, span)
    return [
        Note(text="accumulator = accumulator + rowSum * offset"),
        For(var=_ROW, end=STEP_ROWS, body=seq(copy), disjoint=(added,), runs=True),
        broadcast(context, b.row_blocks, b.row_sum, state_row(context)),
        scale_rows(context, "Mul", added, 0, b.row_blocks),
        Binary(op="Add", dst=accumulator, first=accumulator, second=whole(added, 0, span)),
    ]
