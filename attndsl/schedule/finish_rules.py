"""What is done to finished rows before they are stored: one entry of a table for each kind of graph node.

Rows arrive normalised, in fp32, and leave in the dtype of the result.
"""

from __future__ import annotations

from collections.abc import Callable

from attndsl.schedule.context import CHUNK, Context, whole
from attndsl.schedule.row_space import Run
from attndsl.symbolic import Expr
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import Convert, StoreRows
from attndsl.tile.statements import Alloc, Seq, Statement, seq

EachRun = Callable[[Callable[[Run], Statement]], Seq]
"""Calls its argument for every run of the rows that are finished."""


def finish_rows(context: Context, source: Buffer, offset: Expr, each_run: EachRun) -> Seq:
    """A chunk of normalised rows at ``source[offset]``, rounded to the result's dtype and stored."""
    bucket, s = context.value_bucket, context.schedule
    span = CHUNK * bucket
    result = context.in_ub(
        "result",
        context.dtype,
        s.rows * context.problem.value_bucket,
        "finished rows in the io dtype",
        s.slots,
    )
    rounded = Convert(
        dst=whole(result, 0, span), src=whole(source, offset, span), mode="CAST_RINT", where=context.where
    )
    name, width = context.computation.output.name, context.value_dim

    def store(run: Run) -> Statement:
        target = context.rows.place(context, name, run, width)
        rows = result.region(run.row * bucket, run.rows, width, bucket)
        return StoreRows(dst=target, src=rows, where=context.where)

    return seq(Alloc(buffers=(result,), body=seq(rounded, each_run(store))))
