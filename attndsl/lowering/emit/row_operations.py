"""Vector operations on the rows of a step: by a statistic of each row, and over the lanes of a tile."""

from __future__ import annotations

from attndsl.expr import Expr, Symbol, as_expr, minimum
from attndsl.lowering.emit.emitter import Emitter
from attndsl.lowering.emit.loop_scalars import CHUNK, KEYS, LANES, REPEAT_LANES
from attndsl.lowering.emit.shorthands import whole
from attndsl.lowering.emit.vector_buffers import vector_buffers
from attndsl.lowering.emit.workspace_rings import STATISTIC_LANES
from attndsl.tile.buffers import Buffer, Region
from attndsl.tile.instructions import Binary, BroadcastRows, Fill
from attndsl.tile.statements import For, Statement, seq

C0 = Symbol("c0")
_D0 = Symbol("d0")


def broadcast(emit: Emitter, blocks: Buffer, source: Buffer, offset: Expr | int = 0) -> Statement:
    """A row statistic spread over one block a row; a whole step of rows is read."""
    rows = emit.rows_per_step
    return BroadcastRows(
        dst=blocks.region(0, rows, STATISTIC_LANES, STATISTIC_LANES), src=whole(source, offset, rows)
    )


def row_blocks(blocks: Buffer) -> Region:
    """The spread statistic as an operand of a broadcasting instruction."""
    return blocks.region(0, CHUNK, STATISTIC_LANES, STATISTIC_LANES)


def scale_rows(emit: Emitter, op: str, target: Buffer, offset: Expr | int, blocks: Buffer) -> Statement:
    """``target[r, :] = target[r, :] op blocks[r]`` over the head size of values."""
    padded_size = emit.padded_value_size

    def columns(d0: Expr, width: Expr) -> Statement:
        region = target.region(as_expr(offset) + d0, CHUNK, width, padded_size)
        return Binary(op=op, dst=region, first=region, second=row_blocks(blocks), broadcast=True)

    if int(padded_size.value) <= LANES:
        return columns(as_expr(0), padded_size)
    divides = int(padded_size.value) % LANES == 0
    width = REPEAT_LANES if divides else minimum(REPEAT_LANES, padded_size - _D0)
    return For(
        var=_D0,
        end=padded_size,
        step=REPEAT_LANES,
        body=seq(columns(_D0, width)),
        disjoint=(target,),
        runs=True,
    )


def fold_lanes(emit: Emitter, op: str, start: Expr) -> list[Statement]:
    """``lanes[r, :] = op over the tile's repeats of score[r, :]``."""
    b = vector_buffers(emit)
    lanes = b.lanes.region(0, CHUNK, REPEAT_LANES, REPEAT_LANES)
    column = b.score.region(C0, CHUNK, REPEAT_LANES, emit.tile_keys)
    fold = Binary(op=op, dst=lanes, first=lanes, second=column)
    return [
        Fill(dst=whole(b.lanes, 0, CHUNK * REPEAT_LANES), value=start),
        For(var=C0, end=KEYS, step=REPEAT_LANES, body=seq(fold), runs=True),
    ]
