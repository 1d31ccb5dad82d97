"""Loops over the rows of a step, and regions, that most rules write."""

from __future__ import annotations

from collections.abc import Callable

from attndsl.base.source_location import SourceLine
from attndsl.expr import Expr, minimum
from attndsl.lowering.emit.loop_scalars import CHUNK, R0
from attndsl.tile.buffers import Buffer, Region
from attndsl.tile.statements import For, Let, Statement, seq


def chunks(end: Expr, step: Expr, body: Callable[[Expr, Expr], list[Statement]], where: SourceLine) -> For:
    """``for r0 in 0..end by step`` over ``body(r0, rows of this chunk)``."""
    count = Let(symbol=CHUNK, value=minimum(step, end - R0), where=where)
    return For(var=R0, end=end, step=step, body=seq(count, *body(R0, CHUNK)), where=where)


def whole(buffer: Buffer, offset: Expr | int = 0, cols: Expr | int | None = None) -> Region:
    """A contiguous part of a buffer."""
    return buffer.region(offset, 1, cols)
