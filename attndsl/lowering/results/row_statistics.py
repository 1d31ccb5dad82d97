"""Functions of row statistics as results, such as the log-sum-exp of each row.

They leave once all keys of their rows are seen: with an item that had all of them, or where partials are
merged.
"""

from __future__ import annotations

from dataclasses import replace

from attndsl.expr import Const, Expr
from attndsl.graph import nodes
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import ROWS
from attndsl.lowering.emit.shorthands import in_steps
from attndsl.lowering.emit.workspace_rings import STATISTIC_LANES
from attndsl.lowering.results.partials import may_split
from attndsl.lowering.results.row_numbers import RowStatistics, row_numbers, statistics_of_item
from attndsl.lowering.rows.row_space import RowRun
from attndsl.target import Core
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import StoreRows
from attndsl.tile.statements import Alloc, If, Stage, Statement, seq


def leave_with_items(context: Context) -> bool:
    """Whether functions of row statistics are results, of items that may have all keys of their rows."""
    return bool(context.computation.statistics) and len(context.computation.attentions) == 1


def selection_clamps(context: Context) -> bool:
    """Whether sums may be clamped before they leave: a selection divides by them, item by item."""
    return context.computation.selection is not None


def write_statistics(context: Context, when: Expr | None = None) -> Stage:
    """The statistics of an item's rows to their results, where the item has all keys of its rows.

    ``when``: which items leave theirs so; None for all.
    """

    statistics = statistics_of_item(context, clamped=selection_clamps(context))

    def one_step() -> list[Statement]:
        return [*context.rows.first_of_step(), *store_statistics(context, statistics)]

    steps = in_steps(ROWS, context.rows_per_step, lambda r0, count: one_step(), context.where)
    body: Statement = seq(*context.rows.length_of_stored_runs(), steps)
    if may_split(context):
        body = If(condition=context.splits == 1, then=seq(body))
    elif when is not None:
        body = If(condition=when, then=seq(body))
    return context.stage(
        "WriteStatistics",
        Core.AIV,
        doc="Maxima and sums of finished rows to their results.",
        body=seq(body),
        where=context.computation.statistics[0].where,
    )


def store_statistics(context: Context, rows: RowStatistics) -> list[Statement]:
    """The functions of the statistics of a step's rows that are results.

    The first of them tells which rows have seen no key: others ask no more.
    """
    outputs = context.computation.statistics
    told = rows.clamped and all(isinstance(_number(each), nodes.RowMax | nodes.RowSum) for each in outputs)
    return [
        _leave(context, output, replace(rows, told=told and output is not outputs[0])) for output in outputs
    ]


def _number(output: nodes.Output) -> nodes.Node:
    """The number of each row that a result has, once or in copies."""
    return output.source.source if isinstance(output.source, nodes.Repeat) else output.source


def _leave(context: Context, output: nodes.Output, rows: RowStatistics) -> Statement:
    copied = isinstance(output.source, nodes.Repeat)
    leaving = _place(context)
    made = row_numbers(context, _number(output), leaving, rows)
    lanes = STATISTIC_LANES if copied else Const(1)
    return Alloc(buffers=(leaving,), body=seq(*made, _store(context, output, leaving, lanes, rows)))


def _place(context: Context) -> Buffer:
    """Where a statistic of the rows of a step leaves from."""
    s = context.schedule
    return context.in_ub(
        "coreStatisticOut" if context.of_core else "statisticOut",
        "float32",
        context.rows_per_step * STATISTIC_LANES,
        "a row statistic, one block a row",
        # items of a selection are short: a statistic leaves while the next is made
        s.slots if context.computation.selection is not None else s.result_slots,
    )


def _store(
    context: Context, output: nodes.Output, leaving: Buffer, lanes: Const, rows: RowStatistics
) -> Statement:
    def store(run: RowRun) -> Statement:
        target = context.rows.place(context, output.name, run, lanes)
        source = leaving.region(run.row * STATISTIC_LANES, run.rows, lanes, STATISTIC_LANES)
        return StoreRows(dst=target, src=source, where=output.where)

    return rows.each_stored_run(store)
