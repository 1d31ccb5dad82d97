"""The running sums of rows: of which numbers, and when they take those of a tile.

    rowSum = rowSum * rescale + row sum of the tile

Sums are those of the exponentials, or of what the cube takes, which is rounded. Each step of rows updates its
own; or all rows are updated after the steps: a step then has fewer instructions that wait for each other, and
the cube has the probabilities meanwhile. A step leaves a block of 8 lanes a row for that, or all folded lanes
of a row, where the unified buffer has room for those: one instruction less that waits. Without that room the
next step may make the blocks of the folded lanes, beside what it does to its scores: they wait as long.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from attndsl.base.source_location import UNKNOWN_LINE, SourceLine
from attndsl.expr import Const, Expr, Symbol, ceil_div, round_up, select
from attndsl.lowering.attention.second_run import alone
from attndsl.lowering.attention.tile_slots import state_row, tile_row
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import R0, REPEAT_LANES, ROWS, SMALLEST, STEP_ROWS
from attndsl.lowering.emit.row_operations import (
    fold_tile,
    folds_to_one_repeat,
    reduce_blocks,
    reduce_tile,
)
from attndsl.lowering.emit.shorthands import whole
from attndsl.lowering.emit.vector_buffers import folded_lanes, vector_buffers
from attndsl.lowering.emit.workspace_rings import STATISTIC_LANES
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import Binary, BlockReduce, Fill
from attndsl.tile.statements import If, Let, Note, Statement, seq

_LAST_STEP = Symbol("lastStep")
"""The first row of the last step."""
_NOTE = "rowSum = rowSum * rescale + row sum of the tile"


@dataclass(frozen=True, kw_only=True)
class RowSums:
    """What updates the running sums with a tile, by its place.

    Attributes:
        of_exponentials: in a step of rows, once ``score`` holds their exponentials.
        of_step_before: in a step of rows, beside what is done to its scores first: what is left to do of the
            step before.
        of_rounded: in a step of rows, once ``score`` holds what the cube takes.
        reduced: after all steps of rows, makes the tile's sums in ``of_tile``; ``of_whole_steps``: with 0
            for rows that the last step lacks, once ``before_steps`` was done in front of the steps;
            ``reduced_step``: those of the rows of a step.
        added: adds them to the running ones.
    """

    of_exponentials: Sequence[Statement] = ()
    of_step_before: Sequence[Statement] = ()
    of_rounded: Sequence[Statement] = ()
    reduced: Sequence[Statement] = ()
    reduced_step: Sequence[Statement] = ()
    before_steps: Sequence[Statement] = ()
    of_whole_steps: Sequence[Statement] = ()
    added: Sequence[Statement] = ()
    of_tile: Buffer | None = None
    where: SourceLine = UNKNOWN_LINE

    @property
    def after_steps(self) -> Sequence[Statement]:
        """After all steps of rows."""
        return self.if_rows(*self.reduced, *self.added)

    def if_rows(self, *statements: Statement) -> Sequence[Statement]:
        """What is done where the core has rows."""
        if not statements:
            return ()
        return [Note(text=_NOTE), If(condition=ROWS > 0, then=seq(*statements), where=self.where)]


def row_sums(context: Context, needed_in_steps: bool, *, in_next_step: bool = False) -> RowSums:
    """The updates of the running sums with a tile.

    ``needed_in_steps``: a step computes with the sums of its rows. ``in_next_step``: blocks of a step's rows
    may be made in the next one.
    """
    if adds_rounded(context):
        return RowSums(of_rounded=_in_step(context))
    if needed_in_steps or not finishes_at_once(context):
        return RowSums(of_exponentials=_in_step(context))
    left = _left_by_steps(context)
    if left == "blocks" and in_next_step and _has_many_steps(context) and folds_to_one_repeat(context):
        return _with_next_step(context, _at_once(context, left))
    return _at_once(context, left)


def finishes_at_once(context: Context) -> bool:
    """Whether the sums of a tile are finished for all rows after the steps, where no step needs them."""
    one_step = adds_rounded(context) or context.rows.one_position
    return not one_step and _left_by_steps(context) != "step"


def adds_rounded(context: Context) -> bool:
    """Whether the sums are those of the very numbers that the cube takes: they stand beside an offset."""
    quantization = context.values.quantization
    return quantization is not None and quantization.offset is not None


def _left_by_steps(context: Context) -> str:
    """What steps leave of their sums: "lanes", "blocks", or "step": nothing.

    Sums of several bands of rows leave no room, unless they are in the workspace or scores take one slot.
    """
    found = context.schedule.row_sums
    if found == "auto":
        has_place = not context.schedule.several_bands or context.narrows_scores
        found = "lanes" if context.gathers_sums else "blocks" if has_place else "step"
    # wider lanes take two levels more
    return "blocks" if found == "lanes" and not folds_to_one_repeat(context) else found


def _has_many_steps(context: Context) -> bool:
    return context.schedule.several_bands


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


def _lanes(context: Context) -> Buffer:
    """Folded lanes of the exponentials of all rows of the core."""
    size = context.rows_per_vector * folded_lanes(context)
    return context.in_ub("sumLanes", "float32", size, "row sums of the tile, one repeat a row")


def _folded(context: Context, left: str) -> list[Statement]:
    """A step's part of the sums at once."""
    if left == "lanes":
        place = R0 * folded_lanes(context)
        return [
            Note(text="each row's sum folded to the lanes of a repeat, reduced once after the loop"),
            *fold_tile(context, "Sum", Const(0), _lanes(context), place),
        ]
    blocks, _ = _buffers(context)
    block = blocks.region(R0 * STATISTIC_LANES, STEP_ROWS, STATISTIC_LANES, STATISTIC_LANES)
    return [
        Note(text="each row's sum folded to 8 lanes, reduced once after the loop"),
        *reduce_tile(context, "Sum", Const(0), block),
    ]


def _with_next_step(context: Context, sums: RowSums) -> RowSums:
    """``sums``, of which a step makes folded lanes alone: the next one folds those to blocks, or what follows
    the last."""
    (blocks, _), step, width = _buffers(context), context.rows_of_step, folded_lanes(context)
    # not the lanes of maxima, which the next step makes at that time
    lanes = context.in_ub("stepLanes", "float32", step * width, "row sums of a step, one repeat a row")

    def reduced(first: Expr, rows: Expr) -> Statement:
        place = blocks.region(first * STATISTIC_LANES, rows, STATISTIC_LANES, STATISTIC_LANES)
        folded = lanes.region(0, rows, REPEAT_LANES, width)
        return BlockReduce(op="Sum", dst=place, src=folded)

    note = Note(text="each row's sum folded to a repeat; the next step folds that to 8 lanes")
    return replace(
        sums,
        of_exponentials=[note, *fold_tile(context, "Sum", Const(0), lanes)],
        of_step_before=[If(condition=R0 > 0, then=seq(reduced(R0 - step, step)))],
        reduced=[
            Let(symbol=_LAST_STEP, value=(ROWS - 1) // step * step),
            reduced(_LAST_STEP, ROWS - _LAST_STEP),
            *sums.reduced,
        ],
    )


def _at_once(context: Context, left: str) -> RowSums:
    """The sums of all rows of the core."""
    b, (blocks, finished) = vector_buffers(context), _buffers(context)
    row_sum = whole(b.row_sum, state_row(context, Const(0)), ROWS)
    rescale = whole(b.rescale, tile_row(context, Const(0)), ROWS)

    def reduced(first: Expr, rows: Expr, defined: Expr | None = None) -> list[Statement]:
        """``defined``: so many rows have sums."""
        to_blocks, groups = list[Statement](), ceil_div(rows if defined is None else defined, STATISTIC_LANES)
        if left == "lanes":
            width = folded_lanes(context)
            place = blocks.region(first * STATISTIC_LANES, rows, STATISTIC_LANES, STATISTIC_LANES)
            folded = _lanes(context).region(first * width, rows, REPEAT_LANES, width)
            to_blocks.append(BlockReduce(op="Sum", dst=place, src=folded))
        last = BlockReduce(
            op="Sum",
            dst=finished.region(first, groups, STATISTIC_LANES, STATISTIC_LANES),
            src=blocks.region(first * STATISTIC_LANES, groups, REPEAT_LANES, REPEAT_LANES),
        )
        return [*to_blocks, last]

    of_steps = round_up(ROWS, context.rows_of_scores)
    none = Fill(
        dst=whole(blocks, ROWS * STATISTIC_LANES, (of_steps - ROWS) * STATISTIC_LANES), value=Const(0)
    )
    return RowSums(
        of_exponentials=_folded(context, left),
        before_steps=[If(condition=of_steps > ROWS, then=seq(none))],
        reduced=reduced(Const(0), ROWS),
        reduced_step=reduced(R0, STEP_ROWS),
        of_whole_steps=reduced(Const(0), ROWS, of_steps),
        added=[
            Binary(op="Mul", dst=row_sum, first=row_sum, second=rescale),
            Binary(op="Add", dst=row_sum, first=row_sum, second=whole(finished, 0, ROWS)),
        ],
        of_tile=finished,
        where=context.where,
    )
