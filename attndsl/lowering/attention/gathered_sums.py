"""Weighted sums of an item that are added up in the workspace, by the cube's stores.

The cube stores the sums of an item's first tile to the item's slot of the ring, and adds those of its others.
So vector cores load the rows of an item once, not the sums of each tile, and the unified buffer holds none.

This needs maxima that few tiles change. With a limit g, which is 0 for an item's first tile,

    newMax = max(rowMax, max(score) - g);  rescale = exp(rowMax - newMax)

so that a weight is exp(g) at most, the largest one of a row 1 at least: the maximum is never above that of
the scores. Where it grew, the rows of a step of scores are rescaled in the workspace, after the sums of the
tile before have arrived and before those of this tile may come. The work depends on the scores, the flags do
not (passes/flags/run_sums.py). A maximum and a sum of a row go together as ever: their log-sum-exp is that of
the scores, while neither is a result of its own.
"""

from __future__ import annotations

from dataclasses import replace

from attndsl.expr import Compare, Const, Expr, Symbol, minimum, select
from attndsl.lowering.attention.item_steps import has_keys, is_followed, is_later, key_steps, turn_length
from attndsl.lowering.attention.second_run import step_of_item
from attndsl.lowering.attention.tile_slots import item_slot, tile_row
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import LANES, R0, ROW_BEGIN, ROWS, SLOT, STEP_ROWS
from attndsl.lowering.emit.row_operations import broadcast, scale_rows
from attndsl.lowering.emit.shorthands import in_steps, whole
from attndsl.lowering.emit.vector_buffers import vector_buffers
from attndsl.lowering.emit.workspace_rings import STATISTIC_LANES, out_ring
from attndsl.lowering.match.choice_of_ways import Way
from attndsl.lowering.match.log_sum_exp import asks_statistics_alone
from attndsl.target import Core
from attndsl.tile.buffers import Buffer, GlobalRegion
from attndsl.tile.instructions import Fill, IsBeyond, LoadRows, RowReduce, StoreRows, WithScalar
from attndsl.tile.statements import Alloc, For, If, Let, Note, Stage, Statement, seq

GROWTH_LIMIT = 8.0
"""By so much a score may be above the maximum that its row has: a weight is 2,981 at most, fp16 holds it."""
_GREW, _S0 = Symbol("grew"), Symbol("s0")
_RING_ROW = Symbol("ringRow")
"""The first row of a step in the ring of weighted sums."""


def _is_quantized(context: Context) -> bool:
    return any(each.quantization is not None for each in (context.keys, context.values))


def _has_larger_steps(context: Context) -> bool:
    stated, rows = context.schedule.result_rows, context.schedule.rows
    return isinstance(stated, int) and rows % stated != 0


SUMS_IN_WORKSPACE = Way[Context](
    option="sums",
    value="workspace",
    other="vector",
    obstacles=(
        ("in a pipeline that drains", lambda context: not context.continuous),
        ("where blocks of keys are selected", lambda context: context.computation.selection is not None),
        ("unless weights are a softmax", lambda context: context.attention.softmax is None),
        ("with probabilities in int8", lambda context: context.attention.requantize is not None),
        ("with quantized keys or values", _is_quantized),
        # what a weight is multiplied by may be more than its dtype holds
        ("with factors on probabilities", lambda context: bool(context.attention.factors)),
        ("with partials of earlier calls", lambda context: bool(context.attention.earlier)),
        (
            "where the maximum or the sum of a row is asked for alone",
            lambda context: asks_statistics_alone(context.computation),
        ),
        ("unless result_rows divides rows", _has_larger_steps),
    ),
)


def with_gathered_sums(contexts: tuple[Context, ...]) -> tuple[Context, ...]:
    """The contexts of a computation, with their sums in the workspace where the schedule has them there.

    Raises:
        IllegalScheduleValue: the schedule asks for that where it cannot be.
    """

    def taken(context: Context) -> bool:
        many_rows = context.schedule.several_bands
        return SUMS_IN_WORKSPACE.is_taken(context.schedule, context, by_itself=many_rows)

    # attentions share the buffers of vector cores
    found = [taken(context) for context in contexts]
    if not all(found):
        return contexts
    return tuple(replace(context, gathers_sums=True) for context in contexts)


def sums_slot(context: Context) -> Expr:
    """The slot of the running tile's weighted sums."""
    return item_slot(context) if context.gathers_sums else SLOT


def adds_to_slot(context: Context) -> Expr:
    """Whether the running tile's weighted sums are added to what is in their slot."""
    return is_later(context) if context.gathers_sums else Const(False)


# Maxima -------------------------------------------------------------------------------------------------


def below_limit(context: Context) -> list[Statement]:
    """The maxima of a tile's rows less the limit by which they may grow."""
    limit = context.inventory.constant(
        "growthLimit", GROWTH_LIMIT, "a score exceeds its row's maximum by no more: exp fits fp16"
    )
    of_tile = whole(vector_buffers(context).tile_stat, 0, STEP_ROWS)
    return [WithScalar(op="Adds", dst=of_tile, src=of_tile, scalar=select(is_later(context), -limit, 0.0))]


def note_growth(context: Context) -> list[Statement]:
    """Whether a maximum of a step's rows grew: the sum of ``rowMax - newMax`` is below 0 then."""
    rescale = vector_buffers(context).rescale.region(tile_row(context), 1, STEP_ROWS)
    sum_of_step = whole(_growth(context), _block_of_step(context, tile_row(context)), 1)
    return [
        Note(text="growth = sum of rowMax - newMax, 0 where no maximum of these rows grew"),
        RowReduce(op="Sum", dst=sum_of_step, src=rescale),
    ]


def no_growth(context: Context) -> Statement:
    """Notes of a tile that no maximum grew."""
    lanes = _lanes_of_tile(context)
    return Fill(dst=whole(_growth(context), SLOT * lanes, lanes), value=Const(0), where=context.where)


def _growth(context: Context) -> Buffer:
    meaning = "sum of rowMax - newMax of the rows of a step, a block each, of the tiles in flight"
    return context.in_ub("growth", "float32", context.ring * _lanes_of_tile(context), meaning)


def _read_growth(context: Context) -> Buffer:
    """The growth of each step of a tile, as the scalar unit reads it."""
    meaning = "growth of a tile, as the scalar unit reads it"
    return context.in_ub("grown", "float32", _lanes_of_tile(context), meaning)


def _lanes_of_tile(context: Context) -> Expr:
    """Lanes of the growth of a tile."""
    context.inventory.require(
        context.rows_of_scores <= LANES, "one repeat has a number of each row of a step"
    )
    return context.rows_per_vector // context.rows_of_scores * STATISTIC_LANES


def _block_of_step(context: Context, row: Expr) -> Expr:
    """Where a step of rows has its block, from its first row on."""
    return row // context.rows_of_scores * STATISTIC_LANES


# Sums ---------------------------------------------------------------------------------------------------


def _rows_of_item(context: Context) -> GlobalRegion:
    """The rows of a step in the slot of their item."""
    size = context.padded_value_size
    return out_ring(context).region(_row_of_item(context) * size, 1, STEP_ROWS * size)


def _row_of_item(context: Context) -> Expr:
    """Where the rows of a step begin in the ring of weighted sums."""
    return item_slot(context) * context.rows.rows_per_task(context) + ROW_BEGIN + R0


def rescale_sums(context: Context) -> Stage:
    """Rescales the sums of an item so far to the maxima of its next tile."""
    context = context.for_results()
    step, scores, following = (
        context.rows_per_step,
        context.rows_of_scores,
        (SLOT + turn_length(context)) % context.ring,
    )
    lanes, where, grown = _lanes_of_tile(context), context.where, _read_growth(context)

    def of_step(first: Expr, body: list[Statement]) -> list[Statement]:
        number = whole(grown, _block_of_step(context, first), 1)
        grew = IsBeyond(symbol=_GREW, src=number, bound=Const(0), where=where)
        return [grew, If(condition=_GREW, then=seq(*body), where=where)]

    if step is scores:
        steps = in_steps(ROWS, step, lambda r0, count: of_step(r0, _rescaled(context, following)), where)
    else:
        count = Let(symbol=STEP_ROWS, value=minimum(step, ROWS - R0))
        inner = seq(count, *_rescaled(context, following))
        parts = For(
            var=R0, begin=_S0, end=minimum(_S0 + scores, ROWS), step=step, runs=True, body=inner, where=where
        )
        steps = For(var=_S0, end=ROWS, step=scores, body=seq(*of_step(_S0, [parts])), where=where)
    of_tile = whole(_growth(context), following * lanes, lanes)
    copied = WithScalar(op="Adds", dst=whole(grown, 0, lanes), src=of_tile, scalar=Const(0), where=where)
    read = seq(
        copied, Note(text="maxima grow rarely once an item has begun: the scalar unit looks where"), steps
    )
    looked = If(condition=ROWS > 0, then=seq(Alloc(buffers=(grown,), body=read)), where=where)
    return context.stage(
        "UpdateTile",
        Core.AIV,
        doc=(
            "Rescales the sums so far where the next tile has a larger maximum, before the cube adds that "
            "tile's."
        ),
        body=seq(If(condition=is_followed(context), then=seq(looked), where=where)),
        where=where,
    )


def _rescaled(context: Context, following: Expr) -> list[Statement]:
    b, size = vector_buffers(context), context.padded_value_size
    place = out_ring(context).region(_RING_ROW * size, 1, STEP_ROWS * size)
    rows = whole(b.partial, 0, STEP_ROWS * context.padded_value_size)
    body = seq(
        LoadRows(dst=rows, src=place, where=context.where),
        Note(text="sums = sums * rescale"),
        broadcast(context, b.row_blocks, b.rescale, following * context.rows_per_vector + R0),
        scale_rows(context, "Mul", b.partial, 0, b.row_blocks),
        StoreRows(dst=place, src=rows, where=context.where),
    )
    return [Let(symbol=_RING_ROW, value=_row_of_item(context)), Alloc(buffers=(b.partial,), body=body)]


def load_sums(context: Context, target: Buffer) -> Statement:
    """The weighted sums of a step of an item's rows; 0 of an item without keys."""
    rows = whole(target, 0, STEP_ROWS * context.padded_value_size)
    load = LoadRows(dst=rows, src=_rows_of_item(context), where=context.where)
    note = Note(text="an item without keys has no sums")
    fill = Fill(dst=rows, value=Const(0), where=context.where)
    none = Compare(">=", step_of_item(context), key_steps(context))
    return seq(
        If(condition=has_keys(context), then=seq(load), where=context.where),
        If(condition=none, then=seq(note, fill), where=context.where),
    )
