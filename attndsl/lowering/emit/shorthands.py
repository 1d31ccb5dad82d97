"""Loops over the rows of a step, and regions, that most rules write."""

from __future__ import annotations

from collections.abc import Callable

from attndsl.base.source_location import SourceLine
from attndsl.expr import Expr, Symbol, minimum
from attndsl.lowering.emit.loop_scalars import R0, STEP_ROWS
from attndsl.tile.buffers import Buffer, Region
from attndsl.tile.statements import For, Let, Statement, seq


def in_steps(
    end: Expr,
    step: Expr,
    body: Callable[[Expr, Expr], list[Statement]],
    where: SourceLine,
    var: Symbol = R0,
) -> For:
    """``for var in 0..end by step`` over ``body(var, the number of its rows, or what var counts)``."""
    count = Let(symbol=STEP_ROWS, value=minimum(step, end - var), where=where)
    return For(var=var, end=end, step=step, body=seq(count, *body(var, STEP_ROWS)), where=where)


def whole(buffer: Buffer, offset: Expr | int = 0, cols: Expr | int | None = None) -> Region:
    """A contiguous part of a buffer."""
    return buffer.region(offset, 1, cols)
