"""Vector operations on the rows of a step: by a statistic of each row, and over the lanes of a tile."""

from __future__ import annotations

from collections.abc import Callable

from attndsl.base.source_location import SourceLine
from attndsl.expr import Const, Expr, Symbol, as_expr, ceil_div, constant_value, minimum
from attndsl.lowering.emit.emitter import Emitter
from attndsl.lowering.emit.loop_scalars import KEYS, LANES, REPEAT_LANES, STEP_ROWS
from attndsl.lowering.emit.shorthands import whole
from attndsl.lowering.emit.vector_buffers import BLOCK_COPIES, folded_lanes, vector_buffers
from attndsl.lowering.emit.workspace_rings import STATISTIC_LANES
from attndsl.tile.buffers import Buffer, Region
from attndsl.tile.instructions import Binary, BlockReduce, BroadcastRows, Fill
from attndsl.tile.statements import For, If, Let, Statement, seq

C0 = Symbol("c0")
_LEVELS = "one repeat has the folded lanes of a row"
_D0, _R8, _COPY, _ROWS = Symbol("d0"), Symbol("r8"), Symbol("copy"), Symbol("groupRows")
_GROUP = int(STATISTIC_LANES.value)
"""Rows that one repeat of Brcb spreads: their blocks fill half of the groups of banks."""


def broadcast(
    emit: Emitter, blocks: Buffer, source: Buffer, offset: Expr | int = 0, copies: int = 0
) -> Statement:
    """A row statistic spread over one block a row, once for each copy that ``blocks`` has room for.

    A whole step of rows is read. Eight rows fill 64 lanes of each copy, the copies of eight rows follow each
    other. ``copies``: so many instead; of one the blocks of all rows follow each other.
    """
    rows, copies = emit.rows_of_step, copies or _copies(emit, blocks)
    one = BroadcastRows(
        dst=blocks.region(_COPY if copies > 1 else 0, rows // STATISTIC_LANES, REPEAT_LANES, copies * LANES),
        src=whole(source, offset, rows),
    )
    if copies == 1:
        return one
    end = Const(copies * LANES)
    return For(var=_COPY, end=end, step=REPEAT_LANES, body=seq(one), disjoint=(blocks,), runs=True)


def fill_row_blocks(emit: Emitter, blocks: Buffer, row: Expr, value: Expr, where: SourceLine) -> Statement:
    """``value`` in all blocks of a row."""
    copies = _copies(emit, blocks)
    place = row // _GROUP * (copies * LANES) + row % _GROUP * STATISTIC_LANES
    one = Fill(dst=whole(blocks, place + _COPY, STATISTIC_LANES), value=value, where=where)
    end = Const(copies * LANES)
    return For(var=_COPY, end=end, step=REPEAT_LANES, body=seq(one), disjoint=(blocks,), runs=True)


def _copies(emit: Emitter, blocks: Buffer) -> int:
    """Blocks that a buffer has for each row of a step."""
    return min(BLOCK_COPIES, blocks.elements // (_most_rows(emit) * _GROUP))


def with_row_statistic(emit: Emitter, op: str, part: Region, blocks: Buffer, column: Expr) -> Statement:
    """``part[r, :] = part[r, :] op blocks[r]``; ``column``: lanes from a row's first to that of ``part``.

    Of two copies the lanes meet the one in the half of the groups of banks that they leave free; eight rows
    at a time, as only their blocks fill no more than that half. Rows begin at whole rows of banks, or each a
    block further than the one before.
    """
    copies, target = _copies(emit, blocks), part.buffer
    gap = emit.row_gap if target is vector_buffers(emit).score else Const(0)

    def eight(row: Expr, rows: Expr) -> Statement:
        lanes = target.region(part.offset + row * part.pitch, rows, part.cols, part.pitch)
        first = column + row * gap
        free = REPEAT_LANES - first % (BLOCK_COPIES * REPEAT_LANES) if copies > 1 else Const(0)
        place = row * (copies * STATISTIC_LANES) + free
        beside = blocks.region(place, rows, STATISTIC_LANES, STATISTIC_LANES)
        return Binary(op=op, dst=lanes, first=lanes, second=beside, broadcast=True)

    if copies == 1:
        return eight(Const(0), STEP_ROWS)
    if _most_rows(emit) == _GROUP:
        emit.inventory.require(emit.rows_per_step <= _GROUP, "a vector step has one group of 8 rows")
        return eight(Const(0), STEP_ROWS)
    body = seq(Let(symbol=_ROWS, value=minimum(_GROUP, STEP_ROWS - _R8)), eight(_R8, _ROWS))
    return For(var=_R8, end=STEP_ROWS, step=Const(_GROUP), body=body, disjoint=(target,), runs=True)


def by_row(emit: Emitter, op: str, target: Buffer, blocks: Buffer) -> Statement:
    """``target[r, :] = target[r, :] op blocks[r]`` over the keys of a tile."""
    step = with_row_statistic(
        emit, op, target.region(C0, STEP_ROWS, REPEAT_LANES, emit.score_pitch), blocks, C0
    )
    return For(var=C0, end=KEYS, step=REPEAT_LANES, body=seq(step), disjoint=(target,), runs=True)


def scale_rows(emit: Emitter, op: str, target: Buffer, offset: Expr | int, blocks: Buffer) -> Statement:
    """``target[r, :] = target[r, :] op blocks[r]`` over the head size of values."""
    padded_size = emit.padded_value_size

    def columns(d0: Expr, width: Expr) -> Statement:
        part = target.region(as_expr(offset) + d0, STEP_ROWS, width, padded_size)
        return with_row_statistic(emit, op, part, blocks, d0)

    return over_columns(emit, columns, target)


def over_columns(emit: Emitter, columns: Callable[[Expr, Expr], Statement], touched: Buffer) -> Statement:
    """``columns`` for each repeat of the head size of values: its first lane, and how many there are."""
    padded_size = emit.padded_value_size
    if int(padded_size.value) <= LANES:
        return columns(as_expr(0), padded_size)
    divides = int(padded_size.value) % LANES == 0
    width = REPEAT_LANES if divides else minimum(REPEAT_LANES, padded_size - _D0)
    return For(
        var=_D0,
        end=padded_size,
        step=REPEAT_LANES,
        body=seq(columns(_D0, width)),
        disjoint=(touched,),
        runs=True,
    )


def reduce_tile(emit: Emitter, op: str, start: Expr, into: Region | None = None) -> list[Statement]:
    """``tileStat[r] = op over the lanes of score[r, :]``, ``op`` Max or Sum, by eights.

    ``into``: a block of 8 lanes a row that takes what is left before the last level, instead.

    A block of 8 lanes gives one result. The first level leaves those of a tile in ``lanes``, one repeat a
    row, the second 8 of each row, the third one. ``start`` is in the lanes that keys have no results for.
    """
    b, width, require = vector_buffers(emit), folded_lanes(emit), emit.inventory.require
    one_repeat = folds_to_one_repeat(emit)
    require(width <= REPEAT_LANES if one_repeat else width > REPEAT_LANES, _LEVELS)
    folded = b.lanes.region(0, STEP_ROWS, REPEAT_LANES, width)
    blocks = b.row_blocks.region(0, STEP_ROWS, STATISTIC_LANES, STATISTIC_LANES)
    more = Binary(
        op="Max" if op == "Max" else "Add",
        dst=folded,
        first=folded,
        second=b.lanes.region(C0, STEP_ROWS, REPEAT_LANES, width),
    )
    wide = For(var=C0, begin=REPEAT_LANES, end=width, step=REPEAT_LANES, body=seq(more), runs=True)
    last = [] if into is not None else [reduce_blocks(op, b.tile_stat, b.row_blocks, STEP_ROWS)]
    return [
        *fold_tile(emit, op, start, b.lanes),
        *([] if one_repeat else [wide]),
        BlockReduce(op=op, dst=blocks if into is None else into, src=folded),
        *last,
    ]


def folds_to_one_repeat(emit: Emitter) -> bool:
    """Whether the folded lanes of a row are one repeat."""
    return int(folded_lanes(emit).value) == LANES


def fold_tile(emit: Emitter, op: str, start: Expr, lanes: Buffer, offset: Expr | int = 0) -> list[Statement]:
    """The first level of :func:`reduce_tile`: to ``lanes``, from ``offset`` on, a lane for 8 keys."""
    width = folded_lanes(emit)
    rest: Statement = Fill(dst=whole(lanes, offset, STEP_ROWS * width), value=start)
    if int(width.value) * _GROUP == emit.schedule.tile_k:
        rest = If(condition=width * STATISTIC_LANES > KEYS, then=seq(rest))
    first = BlockReduce(
        op=op,
        dst=lanes.region(offset + C0 // STATISTIC_LANES, STEP_ROWS, STATISTIC_LANES, width),
        src=vector_buffers(emit).score.region(C0, STEP_ROWS, REPEAT_LANES, emit.score_pitch),
    )
    return [rest, For(var=C0, end=KEYS, step=REPEAT_LANES, body=seq(first), disjoint=(lanes,), runs=True)]


def keys_beside_start(emit: Emitter) -> Expr:
    """The most keys of a tile that leave folded lanes to ``start`` of ``reduce_tile``: it is then among what
    each row is reduced of."""
    return (folded_lanes(emit) - STATISTIC_LANES) * STATISTIC_LANES


def reduce_blocks(op: str, target: Buffer, blocks: Buffer, rows: Expr, offset: Expr | int = 0) -> Statement:
    """``target[offset + r] = op over blocks[r]``, of a block of 8 lanes a row, for whole groups of 8 rows."""
    groups = ceil_div(rows, STATISTIC_LANES)
    return BlockReduce(
        op=op,
        dst=target.region(offset, groups, STATISTIC_LANES, STATISTIC_LANES),
        src=blocks.region(0, groups, REPEAT_LANES, REPEAT_LANES),
    )


def _most_rows(emit: Emitter) -> int:
    """Rows of a step, at most, as this schedule has them."""
    found = constant_value(emit.most_rows)
    assert found is not None
    return int(found)
