"""The rows of an item whose keys are one tile: the weighted sums of that tile are all there are.

They need no running sums, and no division: the cube has probabilities of such a tile, as its rows are
complete (selection/head_sums.py). So it rounds them itself and stores them where they are results. Vector
cores are left with the statistics of rows, all rows of a core at once.
"""

from __future__ import annotations

from dataclasses import replace

from attndsl.expr import Const, Expr, maximum
from attndsl.graph import nodes
from attndsl.lowering.attention.cube_buffers import bands_of_task
from attndsl.lowering.attention.matmul_operands import PADDED_ROWS, true_width
from attndsl.lowering.attention.second_run import takes_one_tile_at_once, takes_tiles_again
from attndsl.lowering.attention.value_matmul import OnlyTile
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import R0, ROWS, STEP_ROWS, TILES
from attndsl.lowering.emit.vector_buffers import BLOCK_COPIES, vector_buffers
from attndsl.lowering.emit.workspace_rings import STATISTIC_LANES
from attndsl.lowering.results.partials import may_split
from attndsl.lowering.results.row_numbers import statistics_of_item
from attndsl.lowering.results.row_statistics import leave_with_items, selection_clamps, store_statistics
from attndsl.lowering.rows.positioned_rows import PositionedRows
from attndsl.lowering.rows.row_space import RowRun
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import Fixpipe
from attndsl.tile.instructions.cube import FRACTAL_SIZE
from attndsl.tile.statements import If, Let, Note, Statement, seq


def finishes_only_tiles(context: Context) -> bool:
    """Whether the cube stores the rows of items of one tile where they are results.

    Where blocks are selected, which items of one tile are common for; where the rows are results but for
    their rounding; and where the place of folded lanes has room for a statistic of all rows of a vector core,
    the places of scores and of probabilities for the results of a step of other items.
    """
    if not takes_tiles_again(context) or not takes_one_tile_at_once(context) or may_split(context):
        return False
    if not isinstance(context.rows, PositionedRows) or bands_of_task(context) > 1:
        return False
    computation, b = context.computation, vector_buffers(context)
    stored = context.parameter(computation.output.name).dtype
    plain = all(isinstance(node, nodes.Cast) for node in computation.epilogue)
    return plain and stored == b.prob.dtype and all(room.evaluate({}) for room, _ in _rooms(context))


def _rooms(context: Context) -> tuple[tuple[Expr, str], ...]:
    """What has to have room for it, with what this means to who edits the schedule."""
    b = vector_buffers(context)
    step = context.for_results().rows_per_step * context.padded_value_size
    statistic = context.rows_per_vector * BLOCK_COPIES * STATISTIC_LANES
    return (
        (step <= b.score.size, "the place of scores has room for a step of results"),
        (step <= b.prob.size, "the place of probabilities has room for a step of results"),
        (statistic <= b.lanes.size, "the place of folded lanes has room for a statistic of a vector core"),
    )


def of_several_tiles(context: Context) -> Expr | None:
    """Which items have stages of their own for what only tiles leave at once; None for all."""
    return TILES != 1 if finishes_only_tiles(context) else None


def only_tile(context: Context) -> OnlyTile:
    """How an item of one tile ends."""
    for room, meaning in _rooms(context):
        context.inventory.require(room, meaning)
    return OnlyTile(
        store=lambda product, column, width: _store(context, product, column, width),
        finish=_statistics(context) if leave_with_items(context) else None,
    )


def _store(context: Context, product: Buffer, column: Expr, width: Expr) -> Statement:
    """``width`` columns of the weighted sums, from ``column`` on, to the result, the heads of a position at
    once."""
    assert isinstance(context.rows, PositionedRows)
    name, cols = context.computation.output.name, true_width(context.value_dim, column, width)
    if not isinstance(column, Const):
        cols = maximum(0, cols)

    def one(run: RowRun) -> Statement:
        rows = context.rows.place(context, name, run, cols)
        return Fixpipe(
            dst=replace(rows, offset=rows.offset + column),
            src=product.region(run.row * FRACTAL_SIZE),
            m=PADDED_ROWS,
            where=context.where,
        )

    return seq(Note(text="result = weighted sums: of probabilities"), context.rows.each_position(one))


def _statistics(context: Context) -> Statement:
    """The statistics of all rows of a vector core, from a place that no load waits for."""
    context = replace(context, of_core=True)
    state = statistics_of_item(context, clamped=selection_clamps(context))
    return If(
        condition=ROWS > 0,
        then=seq(
            *context.rows.length_of_stored_runs(),
            Let(symbol=R0, value=Const(0)),
            Let(symbol=STEP_ROWS, value=ROWS),
            *store_statistics(context, state),
        ),
        where=context.where,
    )
