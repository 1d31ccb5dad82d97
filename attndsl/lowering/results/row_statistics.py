"""Row statistics as results: the maximum and the sum of each row, copied along the last axis.

They leave once an item has seen all keys of its rows, so that items of such a computation are never split.
"""

from __future__ import annotations

from attndsl.expr import Const
from attndsl.graph import nodes
from attndsl.lowering.attention.continuous import state_row
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import ROWS
from attndsl.lowering.emit.row_operations import broadcast
from attndsl.lowering.emit.shorthands import chunks
from attndsl.lowering.emit.vector_buffers import vector_buffers
from attndsl.lowering.emit.workspace_rings import STATISTIC_LANES
from attndsl.lowering.rows.row_space import RowRun
from attndsl.target import Core
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import StoreRows
from attndsl.tile.statements import Alloc, Stage, Statement, seq


def has_statistics(context: Context) -> bool:
    """Whether row statistics are results."""
    return bool(context.computation.statistics)


def write_statistics(context: Context) -> Stage:
    """The statistics of an item's rows to their results."""
    outputs, state = context.computation.statistics, vector_buffers(context)
    sources = {nodes.RowMax: state.row_max, nodes.RowSum: state.row_sum}

    def leave(output: nodes.Output) -> Statement:
        assert isinstance(output.source, nodes.Repeat)
        leaving = context.in_ub(
            "leavingStatistic",
            "float32",
            context.rows_per_step * STATISTIC_LANES,
            "a row statistic, one block a row",
            context.schedule.result_slots,
        )
        spread = broadcast(context, leaving, sources[type(output.source.source)], state_row(context))
        return Alloc(buffers=(leaving,), body=seq(spread, _store(context, output, leaving)))

    def one_chunk() -> list[Statement]:
        return [*context.rows.first_of_step(), *(leave(output) for output in outputs)]

    return Stage(
        name=context.label("WriteStatistics"),
        part=context.suffix,
        core=Core.AIV,
        doc="Maxima and sums of finished rows to their results.",
        body=seq(chunks(ROWS, context.rows_per_step, lambda r0, chunk: one_chunk(), context.where)),
        where=outputs[0].where,
    )


def _store(context: Context, output: nodes.Output, leaving: Buffer) -> Statement:
    lanes = Const(STATISTIC_LANES)

    def store(run: RowRun) -> Statement:
        target = context.rows.place(context, output.name, run, lanes)
        return StoreRows(
            dst=target, src=leaving.region(run.row * lanes, run.rows, lanes, lanes), where=output.where
        )

    return context.rows.each_run(store)
