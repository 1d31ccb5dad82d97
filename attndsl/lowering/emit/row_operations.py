"""Vector operations on the rows of a step: by a statistic of each row, and over the lanes of a tile."""

from __future__ import annotations

from attndsl.base.source_location import SourceLine
from attndsl.expr import Const, Expr, Symbol, as_expr, ceil_div, minimum
from attndsl.lowering.emit.emitter import Emitter
from attndsl.lowering.emit.loop_scalars import CHUNK, KEYS, LANES, REPEAT_LANES
from attndsl.lowering.emit.shorthands import whole
from attndsl.lowering.emit.vector_buffers import folded_lanes, vector_buffers
from attndsl.lowering.emit.workspace_rings import STATISTIC_LANES
from attndsl.tile.buffers import Buffer, Region
from attndsl.tile.instructions import Binary, BlockReduce, BroadcastRows, Fill
from attndsl.tile.statements import For, If, Statement, seq

C0 = Symbol("c0")
_D0, _COPY = Symbol("d0"), Symbol("copy")


def broadcast(emit: Emitter, blocks: Buffer, source: Buffer, offset: Expr | int = 0) -> Statement:
    """A row statistic spread over one block a row, once for each copy that ``blocks`` has room for.

    A whole step of rows is read.
    """
    rows, pitch = emit.rows_per_step, _pitch(emit, blocks)
    one = BroadcastRows(
        dst=blocks.region(_COPY if pitch > LANES else 0, rows, STATISTIC_LANES, pitch),
        src=whole(source, offset, rows),
    )
    if pitch <= LANES:
        return one
    return For(var=_COPY, end=Const(pitch), step=REPEAT_LANES, body=seq(one), disjoint=(blocks,), runs=True)


def fill_row_blocks(emit: Emitter, blocks: Buffer, row: Expr, value: Expr, where: SourceLine) -> Statement:
    """``value`` in the blocks of a row."""
    pitch = _pitch(emit, blocks)
    return Fill(dst=whole(blocks, row * pitch, pitch), value=value, where=where)


def row_blocks(emit: Emitter, blocks: Buffer, column: Expr) -> Region:
    """The spread statistic beside the lanes from ``column`` on, an operand of a broadcasting instruction.

    Of two copies it is the one in a bank group that these lanes leave free, if rows begin at whole rows of
    banks.
    """
    pitch = _pitch(emit, blocks)
    first = Const(0) if pitch == STATISTIC_LANES else REPEAT_LANES - column % (2 * REPEAT_LANES)
    return blocks.region(first, CHUNK, STATISTIC_LANES, pitch)


def _pitch(emit: Emitter, blocks: Buffer) -> int:
    """Lanes from the block of a row to that of the next."""
    return blocks.elements // emit.schedule.rows


def by_row(emit: Emitter, op: str, target: Buffer, blocks: Buffer) -> Statement:
    """``target[r, :] = target[r, :] op blocks[r]`` over the keys of a tile."""
    column = target.region(C0, CHUNK, REPEAT_LANES, emit.tile_keys)
    beside = row_blocks(emit, blocks, C0)
    step = Binary(op=op, dst=column, first=column, second=beside, broadcast=True)
    return For(var=C0, end=KEYS, step=REPEAT_LANES, body=seq(step), disjoint=(target,), runs=True)


def scale_rows(emit: Emitter, op: str, target: Buffer, offset: Expr | int, blocks: Buffer) -> Statement:
    """``target[r, :] = target[r, :] op blocks[r]`` over the head size of values."""
    padded_size = emit.padded_value_size

    def columns(d0: Expr, width: Expr) -> Statement:
        region = target.region(as_expr(offset) + d0, CHUNK, width, padded_size)
        beside = row_blocks(emit, blocks, d0)
        return Binary(op=op, dst=region, first=region, second=beside, broadcast=True)

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


def reduce_tile(emit: Emitter, op: str, start: Expr) -> list[Statement]:
    """``tileStat[r] = op over the lanes of score[r, :]``, ``op`` Max or Sum, by eights.

    A block of 8 lanes gives one result. The first level leaves those of a tile in ``lanes``, one repeat a
    row, the second 8 of each row, the third one. ``start`` is in the lanes that keys have no results for.
    """
    b, count = vector_buffers(emit), folded_lanes(emit.schedule)
    width = REPEAT_LANES if count == LANES else Const(count)
    rest: Statement = Fill(dst=whole(b.lanes, 0, CHUNK * width), value=start)
    if count * STATISTIC_LANES == emit.schedule.tile_k:
        rest = If(condition=emit.tile_keys > KEYS, then=seq(rest))
    first = BlockReduce(
        op=op,
        dst=b.lanes.region(C0 // STATISTIC_LANES, CHUNK, STATISTIC_LANES, width),
        src=b.score.region(C0, CHUNK, REPEAT_LANES, emit.tile_keys),
    )
    folded = b.lanes.region(0, CHUNK, REPEAT_LANES, width)
    blocks = b.row_blocks.region(0, CHUNK, STATISTIC_LANES, STATISTIC_LANES)
    more = Binary(
        op="Max" if op == "Max" else "Add",
        dst=folded,
        first=folded,
        second=b.lanes.region(C0, CHUNK, REPEAT_LANES, width),
    )
    wide = For(var=C0, begin=REPEAT_LANES, end=width, step=REPEAT_LANES, body=seq(more), runs=True)
    groups = ceil_div(CHUNK, STATISTIC_LANES)
    return [
        rest,
        For(var=C0, end=KEYS, step=REPEAT_LANES, body=seq(first), disjoint=(b.lanes,), runs=True),
        *([wide] if count > LANES else []),
        BlockReduce(op=op, dst=blocks, src=folded),
        BlockReduce(
            op=op,
            dst=b.tile_stat.region(0, groups, STATISTIC_LANES, STATISTIC_LANES),
            src=b.row_blocks.region(0, groups, REPEAT_LANES, REPEAT_LANES),
        ),
    ]
