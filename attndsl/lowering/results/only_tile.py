"""The rows of an item whose keys are one tile: the weighted sums of that tile are all there are.

They need no running sums, and no division: the cube has probabilities of such a tile, as its rows are
complete (selection/head_sums.py). They come from their ring slot to the place of scores, all rows of a vector
core at once, and leave by the place of probabilities: both lie idle then. So an item waits once for what is
loaded and once for what is stored, not with each step of its rows.
"""

from __future__ import annotations

from dataclasses import replace

from attndsl.expr import Const, Expr
from attndsl.graph import nodes
from attndsl.lowering.attention.second_run import takes_one_tile_at_once, takes_tiles_again
from attndsl.lowering.attention.step_scores import loaded_buffers
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.context.modifiers import Modifiers
from attndsl.lowering.emit.loop_scalars import R0, ROW_BEGIN, ROWS, SLOT, STEP_ROWS, TILES
from attndsl.lowering.emit.shorthands import whole
from attndsl.lowering.emit.vector_buffers import BLOCK_COPIES, vector_buffers
from attndsl.lowering.emit.workspace_rings import STATISTIC_LANES, out_ring
from attndsl.lowering.results.partials import may_split
from attndsl.lowering.results.row_numbers import statistics_of_item
from attndsl.lowering.results.row_statistics import selection_clamps, store_statistics
from attndsl.lowering.rows.row_space import RowRun
from attndsl.tile.instructions import Convert, LoadRows, StoreRows
from attndsl.tile.statements import Alloc, If, Let, Note, Statement, seq


def finishes_only_tiles(context: Context) -> bool:
    """Whether the rows of items of one tile leave as soon as their weighted sums are there.

    Where blocks are selected, which items of one tile are common for; where the rows are results but for
    their rounding; and where the places of scores, of probabilities and of folded lanes have room for all
    rows of a vector core.
    """
    if not takes_tiles_again(context) or not takes_one_tile_at_once(context) or may_split(context):
        return False
    computation, b = context.computation, vector_buffers(context)
    stored = context.parameter(computation.output.name).dtype
    plain = all(isinstance(node, nodes.Cast) for node in computation.epilogue)
    rows = int(context.rows_per_vector.value)
    values = rows * int(context.padded_value_size.value)
    room = min(b.score.elements, b.prob.elements) >= values
    lanes = rows * BLOCK_COPIES * int(STATISTIC_LANES.value)
    return plain and stored == b.prob.dtype and room and b.lanes.elements >= lanes


def of_several_tiles(context: Context) -> Expr | None:
    """Which items have stages of their own for what only tiles leave at once; None for all."""
    return TILES != 1 if finishes_only_tiles(context) else None


def write_only_tile(context: Context, modifiers: Modifiers) -> Statement:
    """The weighted sums of an item's only tile, of probabilities, to the output."""
    context = replace(context, of_core=True)
    b, padded_size, name = vector_buffers(context), context.padded_value_size, context.computation.output.name
    require = context.inventory.require
    values = context.rows_per_vector * padded_size
    require(
        context.rows_of_scores * context.tile_keys >= values,
        "the place of scores holds a core's weighted sums",
    )
    taken = STEP_ROWS * padded_size
    state = statistics_of_item(context, clamped=selection_clamps(context))
    source = out_ring(context).region((SLOT * context.rows.rows_per_task(context) + ROW_BEGIN) * padded_size)

    def store(run: RowRun) -> Statement:
        target = context.rows.place(context, name, run, context.value_dim)
        rows = b.prob.region(run.row * padded_size, run.rows, context.value_dim, padded_size)
        return StoreRows(dst=target, src=rows, where=context.where)

    rounded = Convert(dst=whole(b.prob, 0, taken), src=whole(b.score, 0, taken), mode="CAST_RINT")
    body = seq(
        LoadRows(
            dst=whole(b.score, 0, taken),
            src=replace(source, cols=taken),
            where=context.where,
        ),
        Note(text="result = weighted sums: of probabilities"),
        Alloc(buffers=(b.prob,), body=seq(rounded, context.rows.each_stored_run(store))),
    )
    return If(
        condition=ROWS > 0,
        then=seq(
            *context.rows.length_of_stored_runs(),
            Let(symbol=R0, value=Const(0)),
            Let(symbol=STEP_ROWS, value=ROWS),
            Alloc(buffers=loaded_buffers(context, modifiers), body=body),
            Note(text="statistics come after what is waited for, and from a place that no load waits for"),
            *store_statistics(context, state),
        ),
        where=context.where,
    )
