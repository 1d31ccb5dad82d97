"""How the probabilities of a tile travel from the vector cores to L1: as rows, or as fractals.

As rows they are stored as they stand in the unified buffer, and the cube's copy to L1 reorders them, which
takes a number of cycles a row. As fractals a vector core puts each block of a row into its column group with
the instruction that rounds it; a slot of the ring then is an Nz image of all rows of a task, which the cube
copies as it is:

    element (row, key) of a slot of R rows:    row * tileKeys + key            as rows
                                               key // C0 * R * C0 + row * C0 + key % C0    as fractals

with C0 the elements of a block. Rows that a task does not have are neither stored nor copied.
"""

from __future__ import annotations

from attndsl.base.source_location import SourceLine
from attndsl.expr import Expr, Symbol, ceil_div, minimum
from attndsl.lowering.attention.key_range import skipped_keys
from attndsl.lowering.attention.row_sums import adds_rounded
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import (
    KEYS,
    REPEAT_LANES,
    ROW_BEGIN,
    SLOT,
    SPAN,
    STEP_ROWS,
)
from attndsl.lowering.emit.row_operations import C0
from attndsl.lowering.emit.shorthands import whole
from attndsl.lowering.emit.vector_buffers import group_pitch, groups_of_repeat, vector_buffers
from attndsl.lowering.emit.workspace_rings import prob_ring
from attndsl.lowering.match.choice_of_ways import Way
from attndsl.tile.buffers import Buffer, Region
from attndsl.tile.instructions import Convert, ConvertToNz, LoadBlocks, LoadNz, StoreRows
from attndsl.tile.instructions.cube import fractal_depth
from attndsl.tile.statements import For, Let, Note, Statement, seq

_COLUMN, _COLUMNS = Symbol("column"), Symbol("columnGroups")


PROBABILITIES_AS_FRACTALS = Way[Context](
    option="prob_layout",
    value="fractals",
    other="rows",
    has_auto=False,
    # the sums read them as rows again
    obstacles=(("where sums of rows are those of rounded probabilities", adds_rounded),),
)


def as_fractals(context: Context) -> bool:
    """Whether probabilities travel as fractals.

    Raises:
        IllegalScheduleValue: the schedule asks for that where sums are those of the rounded probabilities.
    """
    return PROBABILITIES_AS_FRACTALS.is_taken(context.schedule, context, by_itself=False)


def to_cube(context: Context, source: Buffer, mode: str = "CAST_RINT") -> list[Statement]:
    """A step's probabilities in the dtype of the cube, in the order in which they leave."""
    b = vector_buffers(context)
    if not as_fractals(context):
        return [Convert(dst=whole(b.prob, 0, SPAN), src=whole(source, 0, SPAN), mode=mode)]
    depth, pitch = fractal_depth(b.prob.dtype), group_pitch(context)
    lanes = source.region(C0, STEP_ROWS, REPEAT_LANES, context.score_pitch)
    place = C0 // REPEAT_LANES * context.rows_of_step * depth
    groups = b.prob.region(place, groups_of_repeat(context), STEP_ROWS * depth, pitch)
    one = ConvertToNz(dst=groups, src=lanes, mode=mode)
    return [
        Note(text="the blocks of a column of fractals, a group, follow each other, row by row"),
        For(var=C0, runs=True, end=KEYS, step=REPEAT_LANES, body=seq(one), disjoint=(b.prob,)),
    ]


def store(context: Context, row: Expr, rows: Expr) -> Statement:
    """A step's probabilities to their slot of the ring, from the core's row ``row`` on."""
    b, size, slot = vector_buffers(context), context.tile_keys, context.rows.rows_per_task(context)
    if not as_fractals(context):
        place = (SLOT * slot + ROW_BEGIN + row) * size + skipped_keys(context)
        return StoreRows(
            dst=prob_ring(context).region(place, rows, KEYS, size),
            src=b.prob.region(0, rows, KEYS, context.score_pitch - context.row_gap),
        )
    depth, every = fractal_depth(b.prob.dtype), groups_of_repeat(context)
    place = SLOT * slot * size + (ROW_BEGIN + row + _COLUMN * slot) * depth + skipped_keys(context) * slot
    groups, blocks = ceil_div(_COLUMNS - _COLUMN, every), rows * depth
    one = StoreRows(
        dst=prob_ring(context).region(place, groups, blocks, every * slot * depth),
        src=b.prob.region(_COLUMN * group_pitch(context), groups, blocks, context.rows_of_step * depth),
    )
    over_groups = For(var=_COLUMN, runs=True, end=minimum(every, _COLUMNS), body=seq(one))
    return seq(Let(symbol=_COLUMNS, value=ceil_div(KEYS, depth)), over_groups)


def load(
    context: Context,
    target: Region,
    rows: tuple[Expr, Expr],
    keys: tuple[Expr, Expr],
    padded_rows: Expr,
    where: SourceLine,
) -> LoadNz | LoadBlocks:
    """Probabilities of a tile to L1, an Nz image of ``padded_rows`` rows.

    ``rows``, ``keys``: the first of the task and of the tile, and how many; the first key begins a fractal.
    """
    (first, count), (key, width) = rows, keys
    size, slot = context.tile_keys, context.rows.rows_per_task(context)
    if not as_fractals(context):
        place = (SLOT * slot + first) * size + key
        source = prob_ring(context).region(place, count, width, size)
        return LoadNz(dst=target, src=source, padded_rows=padded_rows, where=where)
    depth = fractal_depth(target.buffer.dtype)
    groups, blocks = ceil_div(width, depth), count * depth
    place = SLOT * slot * size + key * slot + first * depth
    return LoadBlocks(
        dst=target.buffer.region(target.offset, groups, blocks, padded_rows * depth),
        src=prob_ring(context).region(place, groups, blocks, slot * depth),
        where=where,
    )
