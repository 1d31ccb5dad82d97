"""The steps of an item's loop over its key tiles, and what tells those with work apart."""

from __future__ import annotations

from attndsl.expr import Compare, Const, Expr, maximum, select
from attndsl.lowering.attention.item_turns import drains
from attndsl.lowering.attention.second_run import step_of_item, takes_one_tile_at_once, takes_tiles_again
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import HALVES, KEY_STEPS, STEP, STEPS, TASK_ROWS, TILES
from attndsl.tile.statements import Let, Statement


def first_step(context: Context) -> Expr:
    """Whether a step is the first one of its item, or of a half."""
    return STEP < HALVES if context.halves else step_of_item(context) == 0


def last_step(context: Context) -> Expr:
    """Whether a step is the last one of its item, or of a half."""
    return Compare(">=", STEP, STEPS - HALVES) if context.halves else step_of_item(context) == STEPS - 1


def is_later(context: Context) -> Expr:
    """Whether a step is none of the first."""
    return Compare(">=", STEP, HALVES) if context.halves else step_of_item(context) > 0


def is_followed(context: Context) -> Expr:
    """Whether a step is none of the last."""
    return Compare("<", step_of_item(context), STEPS - turn_length(context))


def turn_length(context: Context) -> Expr:
    """By how many steps the next tile of the same rows is later."""
    return HALVES if context.halves else Const(1)


def item_steps(context: Context) -> list[Statement]:
    """The steps of the item: those with keys, one for rows without, in the last turn the deepest lag."""
    lets, with_keys = list[Statement](), key_steps(context)
    if takes_tiles_again(context):
        # of one tile the exponentials of the softmax are those of the final maximum
        twice = select(TILES > 1, 2 * TILES, TILES) if takes_one_tile_at_once(context) else 2 * TILES
        lets.append(Let(symbol=KEY_STEPS, value=twice))
    if context.halves:
        lets.append(Let(symbol=KEY_STEPS, value=HALVES * TILES))
    if not context.continuous:
        return lets
    steps = maximum(with_keys, turn_length(context))
    if context.rows.may_be_empty():
        steps = select(TASK_ROWS == 0, 0, steps)
    if context.drains:
        steps = select(drains(context), context.prefetch, steps)
    return [*lets, Let(symbol=STEPS, value=steps)]


def key_steps(context: Context) -> Expr:
    """The steps of an item that have a tile of keys."""
    return KEY_STEPS if takes_tiles_again(context) or context.halves else TILES


def has_keys(context: Context) -> Expr:
    """Whether a step of a continuous pipeline has a tile of keys; those of the last turn have none."""
    return step_of_item(context) < key_steps(context)
