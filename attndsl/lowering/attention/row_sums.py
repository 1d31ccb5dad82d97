"""The running sums of rows: of which numbers, and when they take those of a tile.

    rowSum = rowSum * rescale + row sum of the tile

Sums are those of the exponentials, or of what the cube takes, which is rounded. Each step of rows updates its
own; or all rows are updated after the steps: a step then has fewer instructions that wait for each other, and
the cube has the probabilities meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from attndsl.expr import Const, select
from attndsl.lowering.attention.second_run import alone
from attndsl.lowering.attention.tile_slots import state_row, tile_row
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import R0, ROWS, SMALLEST, STEP_ROWS
from attndsl.lowering.emit.row_operations import reduce_blocks, reduce_tile
from attndsl.lowering.emit.shorthands import whole
from attndsl.lowering.emit.vector_buffers import vector_buffers
from attndsl.lowering.emit.workspace_rings import STATISTIC_LANES
from attndsl.lowering.match.schedule_options import BAND_ROWS
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import Binary
from attndsl.tile.statements import If, Note, Statement, seq

_NOTE = "rowSum = rowSum * rescale + row sum of the tile"


@dataclass(frozen=True, kw_only=True)
class RowSums:
    """What updates the running sums with a tile, by its place.

    Attributes:
        of_exponentials: in a step of rows, once ``score`` holds their exponentials.
        of_rounded: in a step of rows, once ``score`` holds what the cube takes.
        after_steps: after all steps of rows.
    """

    of_exponentials: Sequence[Statement] = ()
    of_rounded: Sequence[Statement] = ()
    after_steps: Sequence[Statement] = ()


def row_sums(context: Context, needed_in_steps: bool) -> RowSums:
    """The updates of the running sums with a tile.

    ``needed_in_steps``: a step computes with the sums of its rows.
    """
    if adds_rounded(context):
        return RowSums(of_rounded=_in_step(context))
    if needed_in_steps or not _has_many_rows(context):
        return RowSums(of_exponentials=_in_step(context))
    return RowSums(of_exponentials=_folded(context), after_steps=_at_once(context))


def adds_rounded(context: Context) -> bool:
    """Whether the sums are those of the very numbers that the cube takes: they stand beside an offset."""
    quantization = context.values.quantization
    return quantization is not None and quantization.offset is not None


def _has_many_rows(context: Context) -> bool:
    """Whether a tile has several steps, and the unified buffer a place for a block a row: rows of decoding
    are one step, and of several bands there is none, unless scores are narrow, which take one slot."""
    has_place = context.schedule.max_rows <= BAND_ROWS or context.narrows_scores
    return not context.rows.one_position and has_place


def _in_step(context: Context) -> list[Statement]:
    b = vector_buffers(context)
    row_sum, tile_sum = whole(b.row_sum, state_row(context), STEP_ROWS), whole(b.tile_stat, 0, STEP_ROWS)
    rescale, note = whole(b.rescale, tile_row(context), STEP_ROWS), Note(text=_NOTE)
    rescaled = [
        Binary(op="Mul", dst=row_sum, first=row_sum, second=rescale),
        Binary(op="Add", dst=row_sum, first=row_sum, second=tile_sum),
    ]
    only = alone(context)
    if only is None:
        return [note, *reduce_tile(context, "Sum", Const(0)), *rescaled]
    # what is made of an only tile besides waits for its sums: they are those of the rows at once; those of
    # few keys begin with the smallest number, as they are divided by (selection/head_sums.py)
    blocks = b.row_blocks.region(0, STEP_ROWS, STATISTIC_LANES, STATISTIC_LANES)
    finished = reduce_blocks("Sum", b.row_sum, b.row_blocks, STEP_ROWS, state_row(context))
    added = seq(reduce_blocks("Sum", b.tile_stat, b.row_blocks, STEP_ROWS), *rescaled)
    start = select(only, SMALLEST, 0)
    return [
        note,
        *reduce_tile(context, "Sum", start, blocks),
        If(condition=only, then=seq(finished), otherwise=added),
    ]


def _buffers(context: Context) -> tuple[Buffer, Buffer]:
    """Sums of the tile's rows, a block of 8 lanes each, and finished."""
    rows = context.rows_per_vector
    blocks = context.in_ub(
        "sumBlocks", "float32", rows * STATISTIC_LANES, "row sums of the tile, 8 lanes a row"
    )
    return blocks, context.in_ub("tileSum", "float32", rows, "row sums of the tile")


def _folded(context: Context) -> list[Statement]:
    """A step's part of the sums at once."""
    blocks, _ = _buffers(context)
    place = blocks.region(R0 * STATISTIC_LANES, STEP_ROWS, STATISTIC_LANES, STATISTIC_LANES)
    return [
        Note(text="each row's sum folded to 8 lanes, reduced once after the loop"),
        *reduce_tile(context, "Sum", Const(0), place),
    ]


def _at_once(context: Context) -> list[Statement]:
    """The sums of all rows of the core."""
    b, (blocks, finished) = vector_buffers(context), _buffers(context)
    row_sum = whole(b.row_sum, state_row(context, Const(0)), ROWS)
    rescale = whole(b.rescale, tile_row(context, Const(0)), ROWS)
    return [
        Note(text=_NOTE),
        If(
            condition=ROWS > 0,
            then=seq(
                reduce_blocks("Sum", finished, blocks, ROWS),
                Binary(op="Mul", dst=row_sum, first=row_sum, second=rescale),
                Binary(op="Add", dst=row_sum, first=row_sum, second=whole(finished, 0, ROWS)),
            ),
            where=context.where,
        ),
    ]
