"""Continuous pipelines: the cube begins an item's scores before the rows of the item before are finished.

A pipeline that drains at each item leaves both core kinds idle for some tiles. A continuous one does not:
at the first tiles of an item, stages with a lag work on the last tiles of the item before. Each step keeps
the scalars of its item for them. The loop over items has one turn more than the block has items; its steps
finish the last item.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from attndsl.base.source_location import UNKNOWN_LINE
from attndsl.expr import Const, Expr, Scope, Symbol, maximum, minimum, select
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import (
    ITEM,
    ITEM_SLOT,
    KEY_STEPS,
    KEY_TILE,
    R0,
    SLOT,
    STEPS,
    TASK_ROWS,
    TILE,
    TILES,
)
from attndsl.lowering.errors import IllegalScheduleValue
from attndsl.tile.program import BLOCK_COUNT, BLOCK_INDEX
from attndsl.tile.statements import If, Let, Statement, seq


def all_continuous(contexts: tuple[Context, ...]) -> tuple[Context, ...]:
    """The contexts of a computation, with continuous pipelines unless the schedule says otherwise.

    Raises:
        IllegalScheduleValue: the schedule asks for an early wait where there can be none.
    """
    if contexts[0].schedule.pipeline == "drained":
        _need_no_early_wait(contexts[0].schedule.score_slots, "in a pipeline that drains")
        return contexts
    return tuple(_continuous(context) for context in contexts)


def _need_no_early_wait(slots: str, why: str) -> None:
    if slots == "prefetch":
        raise IllegalScheduleValue("score_slots", slots, f'"ring" or "auto" {why}', "ring", UNKNOWN_LINE)


def _continuous(context: Context) -> Context:
    coming = (items_begun(context) + 1) % context.ring
    rows = context.rows.in_flight(context.ring, coming)
    return replace(context, continuous=True, rows=rows, waits_first=_waits_first(context))


def _waits_first(context: Context) -> bool:
    """Whether score tiles have one slot less than the rings.

    Rows that are widened come first in a step, so that scores have a lag of their own.
    """
    stated = context.schedule.score_slots
    if stated == "prefetch" and context.widens:
        raise IllegalScheduleValue("score_slots", stated, '"ring" with widened rows', "ring", UNKNOWN_LINE)
    if stated == "auto":
        return not context.rows.one_position and not context.widens
    return stated == "prefetch"


def items_begun(context: Context) -> Symbol:
    """The items with steps that a core has begun."""
    return Symbol(context.label("itemsBegun"), Scope.MEMBER)


@dataclass(frozen=True, slots=True)
class Turns:
    """The loop over a block's items: each ``blockCount``-th from ``begin`` to ``end``.

    In a continuous pipeline the last turn comes after the block's last item. ``scalars``: what the bounds
    are made of.
    """

    begin: Expr
    end: Expr
    scalars: tuple[Statement, ...] = ()


def turns(context: Context) -> Turns:
    """Items of several attentions go to blocks in turn, as if they were of one; a block may have none."""
    items, before, begin = context.items, context.items_before, BLOCK_INDEX
    scalars = list[Statement]()
    if before is not None:
        begin = Symbol(context.label("firstItem"))
        value = (BLOCK_INDEX + BLOCK_COUNT - before % BLOCK_COUNT) % BLOCK_COUNT
        scalars.append(Let(symbol=begin, value=value))
    if not context.continuous:
        return Turns(begin, items, tuple(scalars))
    if not context.suffix:
        return Turns(begin, items + minimum(items, BLOCK_COUNT), tuple(scalars))
    end = Symbol(context.label("turnsEnd"))
    scalars.append(Let(symbol=end, value=select(begin < items, items + BLOCK_COUNT, 0)))
    return Turns(begin, end, tuple(scalars))


def item_of_turn(context: Context, item: Expr) -> Expr:
    """The item of a turn; the last turn, which has none, takes one with rows that exist, without its keys."""
    return minimum(item, context.items - 1) if context.continuous else item


def item_steps(context: Context) -> list[Statement]:
    """The steps of the item: those with keys, one for rows without, in the last turn the deepest lag."""
    lets, with_keys = list[Statement](), key_steps(context)
    if takes_tiles_again(context):
        # of one tile the exponentials of the softmax are those of the final maximum
        twice = select(TILES > 1, 2 * TILES, TILES) if takes_one_tile_at_once(context) else 2 * TILES
        lets.append(Let(symbol=KEY_STEPS, value=twice))
    if not context.continuous:
        return lets
    steps = maximum(with_keys, 1)
    if context.rows.may_be_empty():
        steps = select(TASK_ROWS == 0, 0, steps)
    return [*lets, Let(symbol=STEPS, value=select(drains(context), context.prefetch, steps))]


def key_steps(context: Context) -> Expr:
    """The steps of an item that have a tile of keys."""
    return KEY_STEPS if takes_tiles_again(context) else TILES


def tile_of_step(context: Context) -> Symbol:
    """The tile of a step, as both runs over the tiles of an item count."""
    return KEY_TILE if takes_tiles_again(context) else TILE


def takes_tiles_again(context: Context) -> bool:
    """Whether the tiles of an item follow each other a second time, for a selection: it needs probabilities
    with the final maximum and sum of each row."""
    return context.computation.selection is not None


def first_time(context: Context, statement: Statement) -> Statement:
    """What is done with a tile when it comes first alone."""
    if not takes_tiles_again(context):
        return statement
    return If(condition=TILE < TILES, then=seq(statement), where=statement.where)


def takes_one_tile_at_once(context: Context) -> bool:
    """Whether the exponentials of the softmax of an only tile are those of the probabilities: what the cube
    takes of rows with an offset is rounded."""
    quantization = context.values.quantization
    return quantization is None or quantization.offset is None


def has_keys(context: Context) -> Expr:
    """Whether a step of a continuous pipeline has a tile of keys; those of the last turn have none."""
    tile = TILE
    return tile < key_steps(context)


def has_item(context: Context) -> Expr:
    """Whether a turn of a continuous pipeline has an item."""
    item = ITEM
    return item < context.items


def drains(context: Context) -> Expr:
    """Whether a turn of a continuous pipeline has none: it drains the pipeline."""
    item = ITEM
    return item >= context.items


def ring_slot(context: Context) -> list[Statement]:
    """The ring slot of the running tile; a step of a continuous pipeline has it from the start."""
    return [] if context.continuous else [Let(symbol=SLOT, value=TILE % context.ring)]


def score_slot(context: Context) -> Expr:
    """The slot of the running tile's scores."""
    if not context.waits_first:
        return SLOT
    return steps_begun(context) % context.prefetch


def steps_begun(context: Context) -> Symbol:
    """The steps that a core has begun."""
    return Symbol(context.label("stepsBegun"), Scope.MEMBER)


def item_slot(context: Context) -> Expr:
    """Where the state of the running item stands among that of the items in flight."""
    return ITEM_SLOT if context.continuous else Const(0)


def state_row(context: Context, row: Expr = R0) -> Expr:
    """Where the maximum and the sum of one of the core's rows stand."""
    return row + item_slot(context) * context.rows_per_vector


FIRST_STEP = TILE == 0
LAST_STEP = TILE == STEPS - 1
