"""Scale absorption: queries absorb the scale of each channel of quantized keys, scores the rest.

    query . ((key + offset) * scale) = factor * (absorbed . key) + shift
    absorbed = query * scale / factor,  shift = factor * sum(absorbed * offset)

for each row, where the factor is the power of two at or below max |query * scale|. Keys stay integers, which
fp16 holds exactly. Absorbed queries are rounded to fp16: they are below 2, so they do not overflow and lose
no more than fp16 keys would, and nothing at all if scales are powers of two. The shift is computed from the
rounded queries, so that nothing cancels that would not cancel in ``key + offset``. The vector cores absorb
the scale into their rows at the first tile of an item; factors and shifts stay in the unified buffer.
"""

from __future__ import annotations

from collections.abc import Callable

from attndsl.expr import Const, Expr, ExprLike, Symbol
from attndsl.lowering.attention.item_steps import first_step
from attndsl.lowering.attention.tile_slots import item_slot, state_row
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import (
    LANES,
    R0,
    REPEAT_LANES,
    ROW_BEGIN,
    ROWS,
    SMALLEST,
    STEP_ROWS,
    TASK_ROWS,
)
from attndsl.lowering.emit.row_operations import C0, broadcast, by_row, with_row_statistic
from attndsl.lowering.emit.shorthands import in_steps, whole
from attndsl.lowering.emit.vector_buffers import VectorBuffers, vector_buffers
from attndsl.lowering.keys.channel_quantization import ChannelQuantization, zero_tail
from attndsl.lowering.rows.row_space import RowRun
from attndsl.tile.buffers import Buffer, GlobalRegion, GlobalTensor, Region
from attndsl.tile.instructions import (
    Binary,
    Convert,
    Fill,
    LoadNz,
    LoadRows,
    RowReduce,
    ShiftBits,
    StoreRows,
    WithScalar,
)
from attndsl.tile.program import tiling_field_ref
from attndsl.tile.statements import Alloc, For, If, Note, Statement, seq

_ROW = Symbol("row")
_FRACTION = 23
"""Bits of an fp32 number below its exponent."""


def row_factors(context: Context) -> tuple[Buffer, ...]:
    """Factor of each row of an item and, where keys have an offset, its shift; none for plain keys."""
    quantization = context.keys.quantization
    if quantization is None:
        return ()
    rows = context.items_in_flight * context.rows_per_vector
    factor = context.in_ub("queryFactor", "float32", rows, "factor of the scores of each row")
    if quantization.offset is None:
        return (factor,)
    return factor, context.in_ub("queryShift", "float32", rows, "shift of the scores of each row")


def absorbed_query(context: Context) -> GlobalTensor:
    """The query rows of the item with the scale absorbed, vector to cube."""
    rows = tiling_field_ref(context.label("rowsPerTask"))
    elements = context.items_in_flight * rows * context.padded_head_size
    name, meaning = context.label("absorbedQuery"), "query rows of an item, scale of the keys included"
    return context.inventory.tensor(name, context.cube_dtype, elements, "block", meaning)


def _absorbed_rows(context: Context, first: ExprLike, rows: Expr) -> GlobalRegion:
    """Absorbed query rows of the running item, from the task's row ``first``."""
    row = item_slot(context) * context.rows.rows_per_task(context) + first
    size = context.padded_head_size
    return absorbed_query(context).region(row * size, rows, context.head_dim, size)


def load_absorbed_query(context: Context, target: Buffer, padded_rows: Expr) -> Statement:
    """The absorbed query rows to L1."""
    source = _absorbed_rows(context, 0, TASK_ROWS)
    return LoadNz(dst=target.region(), src=source, padded_rows=padded_rows, where=context.rows.where)


def scale_scores(context: Context) -> list[Statement]:
    """``score = score * factor + shift`` for the rows of the step."""
    b, found = vector_buffers(context), list[Statement]()
    for op, rows in zip(("Mul", "Add"), row_factors(context), strict=False):
        found += [
            Note(text=f"score = score {'*' if op == 'Mul' else '+'} {rows.name}"),
            broadcast(context, b.row_blocks, rows, state_row(context)),
            by_row(context, op, b.score, b.row_blocks),
        ]
    return found


def absorb_scale(context: Context, quantization: ChannelQuantization) -> Statement:
    """Absorbs the scale into the rows of this vector core and stores them, at the first tile of an item."""
    rows = in_steps(
        ROWS, context.rows_per_step, lambda r0, count: _fold_step(context, quantization), context.rows.where
    )
    factors = quantization.with_factors(context, [rows], zeros={"offset"})
    return If(condition=first_step(context), then=seq(factors))


def _fold_step(context: Context, quantization: ChannelQuantization) -> list[Statement]:
    b = vector_buffers(context)
    lanes = quantization.lanes(context)
    wide, elements = context.channel_rows, context.rows_per_step * lanes
    absorbed = context.in_ub(
        "absorbedRows", context.cube_dtype, elements, "query rows with the scale absorbed"
    )
    span = STEP_ROWS * lanes
    store = StoreRows(
        dst=_absorbed_rows(context, ROW_BEGIN + R0, STEP_ROWS),
        src=absorbed.region(0, STEP_ROWS, context.head_dim, lanes),
    )
    return [
        *context.rows.first_of_step(),
        _times_scale(context, quantization, wide),
        zero_tail(wide, STEP_ROWS, context.head_dim, lanes),
        *_largest(context, b, wide, lanes),
        Note(text="absorbed = query * scale / factor"),
        broadcast(context, b.row_blocks, row_factors(context)[0], state_row(context)),
        _columns(wide, lanes, lambda part: _by_row(context, "Div", part)),
        Alloc(
            buffers=(absorbed,),
            body=seq(
                Convert(dst=whole(absorbed, 0, span), src=whole(wide, 0, span), mode="CAST_RINT"),
                store,
                *_shift(context, quantization, b, wide, absorbed),
            ),
        ),
    ]


def _times_scale(context: Context, quantization: ChannelQuantization, wide: Buffer) -> Statement:
    """The query rows of a step times the scale of each channel, to ``wide`` in fp32."""
    name, padded_size, lanes = (
        context.rows.query.name,
        context.padded_head_size,
        quantization.lanes(context),
    )
    narrow = context.in_ub("queryRows", context.dtype, context.rows_per_step * padded_size, "query rows")

    def load(run: RowRun) -> Statement:
        target = narrow.region(run.row * padded_size, run.rows, context.head_dim, padded_size)
        source = context.rows.place(context, name, run, context.head_dim)
        return LoadRows(dst=target, src=source, where=context.rows.where)

    row = whole(wide, _ROW * lanes, padded_size)
    scaled = seq(
        Convert(dst=row, src=whole(narrow, _ROW * padded_size, padded_size), mode="CAST_NONE"),
        Binary(
            op="Mul", dst=row, first=row, second=whole(quantization.wide(context, "scale"), 0, padded_size)
        ),
    )
    body = seq(
        context.rows.each_run(load, (narrow,), spread=context.rows.has_nonzero_stride(context, name)),
        Note(text="query * scale"),
        For(var=_ROW, end=STEP_ROWS, body=scaled, disjoint=(wide,), runs=True),
    )
    return Alloc(buffers=(narrow,), body=body)


def _largest(context: Context, b: VectorBuffers, wide: Buffer, lanes: int) -> list[Statement]:
    """``factor``: the power of two at or below the largest magnitude of each row."""
    factor, span = row_factors(context)[0], whole(wide, 0, STEP_ROWS * lanes)
    step = whole(factor, state_row(context), STEP_ROWS)
    largest = _columns(wide, lanes, lambda part: _fold("Max", part, b))
    negative = WithScalar(op="Muls", dst=span, src=span, scalar=Const(-1.0))
    return [
        Note(text="factor = max |query * scale|"),
        Fill(dst=whole(b.lanes, 0, STEP_ROWS * REPEAT_LANES), value=SMALLEST),
        largest,
        negative,
        _columns(wide, lanes, lambda part: _fold("Max", part, b)),
        negative,
        RowReduce(op="Max", dst=step, src=_lanes(b)),
        Note(text="factor: a power of two, so that scaling the queries is exact"),
        ShiftBits(op="ShiftRight", dst=step, src=step, bits=_FRACTION),
        ShiftBits(op="ShiftLeft", dst=step, src=step, bits=_FRACTION),
    ]


def _shift(
    context: Context, quantization: ChannelQuantization, b: VectorBuffers, wide: Buffer, absorbed: Buffer
) -> list[Statement]:
    """``shift = factor * sum(absorbed * offset)``."""
    if quantization.offset is None:
        return []
    factor, shift = row_factors(context)
    lanes, padded_size = quantization.lanes(context), context.signature.padded_head_size
    span, step = STEP_ROWS * lanes, whole(shift, state_row(context), STEP_ROWS)
    row = whole(wide, _ROW * lanes, padded_size)
    times = Binary(
        op="Mul", dst=row, first=row, second=whole(quantization.wide(context, "offset"), 0, padded_size)
    )
    return [
        Note(text="shift = factor * sum(absorbed * offset)"),
        Convert(dst=whole(wide, 0, span), src=whole(absorbed, 0, span), mode="CAST_NONE"),
        For(var=_ROW, end=STEP_ROWS, body=seq(times), disjoint=(wide,), runs=True),
        Fill(dst=whole(b.lanes, 0, STEP_ROWS * REPEAT_LANES), value=Const(0)),
        _columns(wide, lanes, lambda part: _fold("Add", part, b)),
        RowReduce(op="Sum", dst=step, src=_lanes(b)),
        Binary(op="Mul", dst=step, first=step, second=whole(factor, state_row(context), STEP_ROWS)),
    ]


def _columns(wide: Buffer, lanes: int, body: Callable[[Region], Statement]) -> Statement:
    """``body`` for every repeat of the step's rows."""
    if lanes == LANES:
        return body(wide.region(0, STEP_ROWS, REPEAT_LANES, lanes))
    part = wide.region(C0, STEP_ROWS, REPEAT_LANES, lanes)
    return For(var=C0, end=Const(lanes), step=REPEAT_LANES, body=seq(body(part)), disjoint=(wide,), runs=True)


def _fold(op: str, part: Region, b: VectorBuffers) -> Statement:
    return Binary(op=op, dst=_lanes(b), first=_lanes(b), second=part)


def _by_row(context: Context, op: str, part: Region) -> Statement:
    """``part = part op`` the number of each row that is spread over its blocks."""
    return with_row_statistic(context, op, part, vector_buffers(context).row_blocks, part.offset)


def _lanes(b: VectorBuffers) -> Region:
    return b.lanes.region(0, STEP_ROWS, REPEAT_LANES, REPEAT_LANES)
