"""Weights of a tile by the maxima that its rows have: those of its scores are not taken.

Maxima of gathered sums are above the scores of a row, or below them by a limit (attention/gathered_sums.py).
A tile that is none of an item's first is made exponentials of the maxima as they are. Its row sums, which are
needed anyway, tell whether that holds: no weight is larger than the sum of its row. A step of rows with a sum
above the largest weight is done again, with maxima. The scalar unit waits for the sums once a tile.

So a kernel computes the same bits as with the maxima of each tile: where no sum is above the limit no score
is, and no maximum would have grown.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from attndsl.expr import Const, Expr, Symbol, ceil_div, round_up
from attndsl.graph import nodes
from attndsl.lowering.attention.gathered_sums import GROWTH_LIMIT, no_growth
from attndsl.lowering.attention.item_steps import first_step, is_later
from attndsl.lowering.attention.row_sums import RowSums, finishes_at_once
from attndsl.lowering.attention.tile_slots import tile_row
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import R0, ROWS
from attndsl.lowering.emit.shorthands import in_steps, whole
from attndsl.lowering.emit.vector_buffers import vector_buffers
from attndsl.lowering.emit.workspace_rings import STATISTIC_LANES
from attndsl.lowering.match.choice_of_ways import Way
from attndsl.lowering.scores.key_biases import has_key_biases
from attndsl.tile.instructions import Fill, IsBeyond, RowReduce
from attndsl.tile.statements import Alloc, If, Note, Statement, seq

_ABOVE = Symbol("aboveLimit")

_LARGEST_SUM = math.exp(GROWTH_LIMIT) // 100 * 100
"""A sum below exp(GROWTH_LIMIT), by more than rounding makes of it: 2,900 of 2,981."""
Step = Callable[[Expr, Expr], list[Statement]]


KEPT_MAXIMA = Way[Context](
    option="maxima",
    value="kept",
    other="each",
    obstacles=(
        ("unless weighted sums are added up in the workspace", lambda context: not context.gathers_sums),
        ("where each step of rows finishes their sums", lambda context: not finishes_at_once(context)),
        # the maxima of a bias that grows with the key's position grow with each tile
        ("with biases of the keys", has_key_biases),
    ),
)


def keeps_maxima(context: Context) -> bool:
    """Whether the exponentials of a tile are tried with the maxima that rows have.

    Raises:
        IllegalScheduleValue: the schedule asks for that where it cannot be.
    """
    return KEPT_MAXIMA.is_taken(context.schedule, context, by_itself=_gains(context))


def _gains(context: Context) -> bool:
    """Whether vector cores may be what limits: with fp16 scores, or with more on scores than a factor.

    Else the wait for the scalar unit costs more than it saves.
    """
    scales = (
        isinstance(each, nodes.Elementwise) and each.op == "multiply" for each in context.attention.modifiers
    )
    return context.narrows_scores or not all(scales)


def by_kept_maxima(context: Context, kept: Step, taken: Step, sums: RowSums) -> list[Statement]:
    """All steps of rows, each ``kept`` with the maxima that rows have, and ``taken`` with new ones where
    these are too small; in an item's first tile at once::

        if a later tile:    each step kept; stepSum = the largest row sum of each step
        else:               stepSum = 0
        each step:          taken, where stepSum is too large, or the tile is the first
        rowSum = rowSum * rescale + row sum of the tile
    """
    b, where, step = vector_buffers(context), context.where, context.rows_of_scores
    steps, has_rows = ceil_div(ROWS, step), ROWS > 0
    meaning = "a row whose sum in a tile is no larger has no score kGrowthLimit above its maximum"
    most = context.inventory.constant("largestSum", _LARGEST_SUM, meaning)
    assert sums.of_tile is not None  # as sums are finished after the steps (KEPT_MAXIMA)
    by_step = sums.of_tile.region(0, steps, step, step)
    numbers = context.in_ub(
        "stepSum",
        "float32",
        round_up(context.rows_per_vector // step, STATISTIC_LANES),
        "largest row sum of each step of rows, as the scalar unit reads it",
    )
    largest = whole(numbers, 0, steps)
    unscaled = Fill(dst=whole(b.rescale, tile_row(context, Const(0)), ROWS), value=Const(1.0), where=where)
    tried = seq(
        unscaled,
        no_growth(context),
        *sums.before_steps,
        in_steps(ROWS, context.rows_of_step, kept, where),
        *sums.of_whole_steps,
        RowReduce(op="Max", dst=largest, src=by_step),
    )
    first = seq(Fill(dst=largest, value=Const(0), where=where))

    def again(r0: Expr, count: Expr) -> list[Statement]:
        number = whole(numbers, R0 // step, 1)
        is_above = IsBeyond(symbol=_ABOVE, src=number, bound=most, above=True, where=where)
        redone = seq(*taken(r0, count), *sums.reduced_step)
        return [is_above, If(condition=_ABOVE | first_step(context), then=redone, where=where)]

    title = "the first tile of an item and, rarely, rows with NaN or a score far above their maximum"
    work = seq(
        If(condition=is_later(context), then=tried, otherwise=first, where=where),
        Note(text=title),
        in_steps(ROWS, context.rows_of_step, again, where),
    )
    asked = Alloc(buffers=(numbers,), body=work)
    return [If(condition=has_rows, then=seq(asked), where=where), *sums.if_rows(*sums.added)]
