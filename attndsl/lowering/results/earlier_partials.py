"""Partials of earlier calls, merged into the rows of an item: a step of ring attention, or of a split prompt.

With the maximum m, the sum l and the weighted sum o of a row, and its earlier result O of log-sum-exp L,

    newMax = max(m, L);  l = l exp(m - newMax) + exp(L - newMax);  o = o exp(m - newMax) + O exp(L - newMax)

before the row is normalized, or left as a partial: what follows sees the merged row. A row whose L is -inf
is absent from the earlier call. Its weight is 0, and its O, which may be anything, counts as 0.
"""

from __future__ import annotations

from attndsl.expr import Const, Expr, Symbol, ceil_div, minimum
from attndsl.graph import nodes
from attndsl.lowering.attention.tile_slots import state_row
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import LOWEST, R0, REPEAT_LANES, ROWS, SPLIT, STEP_ROWS
from attndsl.lowering.emit.row_operations import broadcast, over_columns, scale_rows
from attndsl.lowering.emit.shorthands import in_steps, whole
from attndsl.lowering.emit.vector_buffers import vector_buffers
from attndsl.lowering.emit.workspace_rings import STATISTIC_LANES
from attndsl.lowering.match.stored_inputs import stored_plain
from attndsl.lowering.operands.row_blocks import number_blocks
from attndsl.lowering.rows.row_space import RowRun
from attndsl.target import Core
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import (
    Binary,
    BlockReduce,
    CompareWithScalar,
    Convert,
    Fill,
    LoadRows,
    SelectOrScalar,
    Unary,
    WithScalar,
)
from attndsl.tile.statements import Alloc, For, If, Let, Note, Stage, Statement, seq

_R8, _ROWS = Symbol("r8"), Symbol("groupRows")
_GROUP = int(STATISTIC_LANES.value)
"""Rows whose log-sum-exps are one repeat."""


def merges_earlier(context: Context) -> bool:
    """Whether the rows of an attention's items are merged with those of earlier calls."""
    return bool(context.attention.earlier)


def merge_earlier(context: Context) -> Stage:
    """The earlier partials of an item's rows; of several key splits the first one takes them."""

    def all_rows(partial: nodes.EarlierPartial) -> Statement:
        step = context.rows_per_step
        return in_steps(ROWS, step, lambda r0, count: _merged(context, partial), partial.where)

    body: Statement = seq(*map(all_rows, context.attention.earlier))
    if context.schedule.split_kv != 1:
        body = If(condition=SPLIT == 0, then=seq(body))
    return context.stage(
        "MergeEarlier",
        Core.AIV,
        doc="Merges the rows of an item with those of an earlier call.",
        body=seq(body),
        where=context.attention.earlier[0].where,
    )


def _merged(context: Context, partial: nodes.EarlierPartial) -> list[Statement]:
    """The rows of a step, merged with those of a partial."""
    b, where, offset = vector_buffers(context), partial.where, R0 * context.padded_value_size
    row_max, row_sum = (whole(each, state_row(context), STEP_ROWS) for each in (b.row_max, b.row_sum))
    weight, new_max = whole(b.new_max, 0, STEP_ROWS), whole(b.tile_stat, 0, STEP_ROWS)
    span = STEP_ROWS * context.padded_value_size
    sums, rows = whole(b.accumulator, offset, span), whole(b.partial, 0, span)
    logs, groups = _log_sum_exps(context), ceil_div(STEP_ROWS, STATISTIC_LANES)
    lands = _landing(context, partial)
    added = seq(
        *_loaded(context, partial, lands),
        *_where_present(context, logs, b.partial),
        broadcast(context, b.row_blocks, b.new_max),
        scale_rows(context, "Mul", b.partial, 0, b.row_blocks),
        Binary(op="Add", dst=sums, first=sums, second=rows, where=where),
    )
    taken = Alloc(buffers=(b.partial,), body=added)
    return [
        *context.rows.first_of_step(),
        Note(text=f"newMax = max(rowMax, lse); both sides are rescaled to it  ({context.spec_line(where)})"),
        *number_blocks(context, partial.lse, logs, context.rows.each_run, "lse"),
        BlockReduce(
            op="Max",
            dst=b.new_max.region(0, groups, STATISTIC_LANES, STATISTIC_LANES),
            src=logs.region(0, groups, REPEAT_LANES, REPEAT_LANES),
        ),
        Binary(op="Max", dst=new_max, first=row_max, second=weight, where=where),
        Binary(op="Sub", dst=row_max, first=row_max, second=new_max, where=where),
        Binary(op="Sub", dst=weight, first=weight, second=new_max, where=where),
        Unary(op="Exp", dst=row_max, src=row_max, where=where),
        Unary(op="Exp", dst=weight, src=weight, where=where),
        Note(text="rowSum = rowSum * exp(rowMax - newMax) + exp(lse - newMax)"),
        Binary(op="Mul", dst=row_sum, first=row_sum, second=row_max, where=where),
        Binary(op="Add", dst=row_sum, first=row_sum, second=weight, where=where),
        Note(text="accumulator = accumulator * exp(rowMax - newMax) + earlier result * exp(lse - newMax)"),
        broadcast(context, b.row_blocks, b.row_max, state_row(context)),
        scale_rows(context, "Mul", b.accumulator, offset, b.row_blocks),
        taken if lands is b.partial else Alloc(buffers=(lands,), body=seq(taken)),
        WithScalar(op="Adds", dst=row_max, src=new_max, scalar=Const(0), where=where),
    ]


def _log_sum_exps(context: Context) -> Buffer:
    meaning = "log-sum-exps of an earlier partial, one block a row"
    return context.in_ub("earlierLse", "float32", context.rows_per_step * STATISTIC_LANES, meaning)


def _landing(context: Context, partial: nodes.EarlierPartial) -> Buffer:
    """Where its rows arrive in their own dtype."""
    dtype = context.parameter(stored_plain(partial.out).name).dtype
    if dtype == "float32":
        return vector_buffers(context).partial
    size = context.rows_per_step * context.padded_value_size
    meaning = "rows of an earlier partial, in the dtype of the query"
    return context.in_ub("earlierRows", dtype, size, meaning, context.schedule.result_slots)


def _loaded(context: Context, partial: nodes.EarlierPartial, lands: Buffer) -> list[Statement]:
    """Its rows in fp32, in the buffer of partials."""
    name, padded_size, rows = stored_plain(partial.out).name, context.padded_value_size, context.rows

    def load(run: RowRun) -> Statement:
        source = rows.place(context, name, run, context.value_dim)
        target = lands.region(run.row * padded_size, run.rows, context.value_dim, padded_size)
        return LoadRows(dst=target, src=source, where=partial.where)

    spread = rows.has_nonzero_stride(context, name)
    loads, arrived = rows.each_run(load, (lands,), spread=spread), vector_buffers(context).partial
    if lands is arrived:
        return [loads]
    source, target = (whole(each, 0, STEP_ROWS * padded_size) for each in (lands, arrived))
    return [loads, Convert(dst=target, src=source, mode="CAST_NONE", where=partial.where)]


def _where_present(context: Context, logs: Buffer, rows: Buffer) -> list[Statement]:
    """Zeros in the rows whose log-sum-exp is -inf: 0 times what stands there may be no number.

    Eight rows at a time, as the lanes that tell them from others take as much memory as the rows.
    """
    width = context.padded_value_size
    size = _GROUP * width
    lanes = context.in_ub("earlierLanes", "float32", size, "log-sum-exps in the lanes of their rows")
    bits = context.in_ub("earlierPresent", "uint8", size // 8, "one bit a lane: 1 in rows that are present")
    present, told = whole(bits, 0, size // 8), whole(lanes, 0, size)
    kept = whole(rows, _R8 * width, _ROWS * width)
    blocks = logs.region(_R8 * STATISTIC_LANES, _ROWS, STATISTIC_LANES, STATISTIC_LANES)

    def spread(column: Expr, columns: Expr) -> Statement:
        part = lanes.region(column, _ROWS, columns, width)
        return Binary(op="Add", dst=part, first=part, second=blocks, broadcast=True)

    eight = seq(
        Let(symbol=_ROWS, value=minimum(_GROUP, STEP_ROWS - _R8)),
        Fill(dst=told, value=Const(0.0)),
        over_columns(context, spread, lanes),
        CompareWithScalar(dst=present, src=told, scalar=LOWEST, mode="GE"),
        SelectOrScalar(dst=kept, bits=present, src=kept, scalar=Const(0.0)),
    )
    return [
        Note(text="0 in rows that are absent, whose log-sum-exp is -inf"),
        For(var=_R8, end=STEP_ROWS, step=Const(_GROUP), body=eight, disjoint=(rows,), runs=True),
    ]
