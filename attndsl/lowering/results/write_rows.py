"""Complete rows: to the output, or as partials that are merged afterwards.

The merge of partials, be they splits of one attention's keys or several attentions, is the log-sum-exp merge
of flash decoding: with maxima m_i, sums l_i and unnormalized weighted sums o_i,

    out = sum_i o_i exp(m_i - m) / sum_i l_i exp(m_i - m),  m = max_i m_i.
"""

from __future__ import annotations

from collections.abc import Callable

from attndsl.expr import Const, Expr, Symbol
from attndsl.lowering.attention.gathered_sums import load_sums
from attndsl.lowering.attention.tile_slots import state_row
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import R0, ROWS, SMALLEST, SPLIT, STEP_ROWS
from attndsl.lowering.emit.row_operations import broadcast, scale_rows
from attndsl.lowering.emit.shorthands import in_steps, whole
from attndsl.lowering.emit.vector_buffers import leaving_rows, vector_buffers
from attndsl.lowering.emit.workspace_rings import STATISTIC_LANES, partial_max, partial_out, partial_sum
from attndsl.lowering.results.epilogue_rules import epilogue
from attndsl.lowering.results.only_tile import of_several_tiles
from attndsl.lowering.results.partials import may_split
from attndsl.lowering.results.row_numbers import statistics_of_item
from attndsl.lowering.rows.row_space import RowRun
from attndsl.target import Core
from attndsl.tile.buffers import Buffer, GlobalTensor
from attndsl.tile.instructions import StoreRows, WithScalar
from attndsl.tile.statements import Alloc, For, If, Let, Note, Stage, Statement, seq

_ONE_PLACE = (
    "Rows leave from partial, where sums arrive: UB has no room for a buffer of their own. So loads (MTE2), "
    "V and stores (MTE3) take turns at it, each pair of pipes by events of its own."
)
_PARTIAL_ROW, _DISTANCE = Symbol("partialRow"), Symbol("rowDistance")


def write_rows(context: Context) -> Stage:
    """An item's rows: to the output where it covered all keys, else to the workspace as a partial."""
    where = context.where

    def steps(body: Callable[[Context], list[Statement]]) -> For:
        lines = [*context.rows.first_of_step(), *body(context)]
        return in_steps(ROWS, context.rows_per_step, lambda r0, count: lines, where)

    body: Statement
    doc = "Rows of a finished item: normalized, to the output."
    if len(context.computation.attentions) > 1:
        body = steps(_partial)
        doc = "Rows of a finished item: maxima, sums and weighted sums, to be merged after all items."
    elif not may_split(context):
        body = steps(_normalized)
        several = of_several_tiles(context)
        if several is not None:
            doc = "Rows of a finished item of several tiles: normalized, to the output."
            body = If(condition=several, then=seq(body), where=where)
    else:
        doc = "Rows of a finished item: normalized to the output, or stored as a partial of their key split."
        unsplit = context.splits == 1
        body = If(
            condition=unsplit, then=seq(steps(_normalized)), otherwise=seq(steps(_partial)), where=where
        )
    return context.stage(
        "WriteRows",
        Core.AIV,
        doc=doc,
        body=seq(*context.rows.length_of_stored_runs(), body),
        where=where,
    )


def _normalized(context: Context) -> list[Statement]:
    """``accumulator / rowSum`` of a step, through the epilogue, stored.

    A row without keys has sum 0 and accumulator 0; the smallest normal number as sum gives its zeros.
    """
    b = vector_buffers(context)
    row_sum = whole(b.row_sum, state_row(context), STEP_ROWS)
    offset, statistics = R0 * context.padded_value_size, statistics_of_item(context, clamped=True)
    if context.attention.softmax is None:
        return [epilogue(context, b.accumulator, offset, statistics)]
    sums, place = (b.partial, Const(0)) if context.gathers_sums else (b.accumulator, offset)
    begin = [
        Note(text=f"result = {sums.name} / rowSum; a row without keys has sum 0 and gives zeros"),
        WithScalar(op="Maxs", dst=row_sum, src=row_sum, scalar=SMALLEST, where=context.where),
    ]
    divided = [
        broadcast(context, b.row_blocks, b.row_sum, state_row(context)),
        scale_rows(context, "Div", sums, place, b.row_blocks),
        epilogue(context, sums, place, statistics),
    ]
    if not context.gathers_sums:
        return [*begin, *divided]
    return [*begin, Alloc(buffers=(sums,), body=seq(load_sums(context, sums), *divided))]


def _partial(context: Context) -> list[Statement]:
    """Maxima, sums and weighted sums of a step, each row at its flat row index."""
    b, padded_size, s = vector_buffers(context), context.padded_value_size, context.schedule
    lanes, size = STATISTIC_LANES, context.rows_per_step * STATISTIC_LANES
    max_out, sum_out = (
        context.in_ub(name, "float32", size, meaning, s.result_slots)
        for name, meaning in (
            ("maxOut", "row maxima of a partial"),
            ("sumOut", "row sums of a partial"),
        )
    )
    rows_out = leaving_rows(context, "rowsOut", "weighted sums of a partial")
    stored = (
        (partial_max(context), max_out, lanes),
        (partial_sum(context), sum_out, lanes),
        (partial_out(context), rows_out, padded_size),
    )

    def one_run(run: RowRun) -> Statement:
        first, distance = context.rows.flat_row_index(context, run)
        lets = [Let(symbol=_PARTIAL_ROW, value=SPLIT * row_total(context) + first)]
        if not isinstance(distance, Const):
            lets.append(Let(symbol=_DISTANCE, value=distance))
            distance = _DISTANCE

        def store(tensor: GlobalTensor, source: Buffer, width: Expr) -> Statement:
            target = tensor.region(_PARTIAL_ROW * width, run.rows, width, distance * width)
            return StoreRows(dst=target, src=source.region(run.row * width, run.rows, width, width))

        return seq(*lets, *(store(*each) for each in stored))

    copied = STEP_ROWS * padded_size
    sums = whole(b.accumulator, R0 * padded_size, copied)
    copy = WithScalar(op="Adds", dst=whole(rows_out, 0, copied), src=sums, scalar=Const(0))
    gathers = context.gathers_sums
    body = seq(
        load_sums(context, rows_out) if gathers else None,
        broadcast(context, max_out, b.row_max, state_row(context)),
        broadcast(context, sum_out, b.row_sum, state_row(context)),
        None if gathers else copy,
        context.rows.each_stored_run(one_run),
    )
    if rows_out is not b.partial:
        return [Alloc(buffers=(max_out, sum_out, rows_out), body=body)]
    inside = Alloc(buffers=(b.partial,), body=body)
    return [Note(text=_ONE_PLACE), Alloc(buffers=(max_out, sum_out), body=seq(inside))]


def row_total(context: Context) -> Expr:
    """Result rows of the operator, in the kernel."""
    return context.inventory.field("rowTotal", context.rows.row_total(context), "rows of the result")
