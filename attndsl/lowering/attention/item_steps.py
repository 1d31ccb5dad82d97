"""The steps of an item's loop over its key tiles, and what tells those with work apart."""

from __future__ import annotations

from attndsl.expr import Expr, maximum, select
from attndsl.lowering.attention.item_turns import drains
from attndsl.lowering.attention.second_run import takes_one_tile_at_once, takes_tiles_again
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import KEY_STEPS, STEPS, TASK_ROWS, TILE, TILES
from attndsl.tile.statements import Let, Statement

FIRST_STEP, LAST_STEP = TILE == 0, TILE == STEPS - 1
"""Whether a step is the first or the last one of its item."""


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


def has_keys(context: Context) -> Expr:
    """Whether a step of a continuous pipeline has a tile of keys; those of the last turn have none."""
    tile = TILE
    return tile < key_steps(context)
