"""The keys of an item, and of each of its tiles."""

from __future__ import annotations

from functools import reduce

from attndsl.expr import Symbol, ceil_div, maximum, minimum, select
from attndsl.lowering.attention.continuous import item_steps, ring_slot, takes_tiles_again
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import (
    FIRST_KEY,
    FIRST_TILE,
    KEY_BEGIN,
    KEY_END,
    KEY_TILE,
    KEYS,
    SPLIT,
    TASK_ROWS,
    TILE,
    TILES,
)
from attndsl.lowering.masks.visibility import begins_late, first_visible, visible_end
from attndsl.tile.statements import Let, Statement


def key_range(context: Context) -> list[Statement]:
    """The item's key tiles: an even share of the tiles with keys that some row of the task may see."""
    total, share = Symbol("tileTotal"), Symbol("tilesPerSplit")
    where, first, end = context.keys.where, context.keys.first(context), context.keys.valid_rows(context)
    seen, seen_end = first_visible(context), visible_end(context)
    bounds: list[Statement] = []
    count = ceil_div(KEY_END, context.tile_keys)
    if first is not None:
        end = (KEY_BEGIN if seen is None else first) + end
    if seen_end is not None:
        end = minimum(end, seen_end)
    if begins_late(context):
        begin = reduce(maximum, (each for each in (first, seen) if each is not None))
        bounds.append(Let(symbol=KEY_BEGIN, value=begin))
        end = end if seen is None else maximum(end, KEY_BEGIN)
        count = ceil_div(KEY_END - KEY_BEGIN, context.tile_keys)
        end = end.mapped(lambda node: KEY_BEGIN if node.same(begin) else None)
    bounds.append(Let(symbol=KEY_END, value=end, where=where))
    if context.rows.may_be_empty():
        count = select(TASK_ROWS == 0, 0, count)
    return [
        *bounds,
        Let(symbol=total, value=count),
        Let(symbol=share, value=ceil_div(total, context.splits)),
        Let(symbol=FIRST_TILE, value=minimum(SPLIT * share, total)),
        Let(symbol=TILES, value=minimum(share, total - FIRST_TILE)),
        *item_steps(context),
    ]


def tile_bounds(context: Context) -> list[Statement]:
    """Ring slot, first key and number of keys of the running tile."""
    size, tile, which = context.tile_keys, TILE, list[Statement]()
    if takes_tiles_again(context):
        which, tile = [Let(symbol=KEY_TILE, value=select(TILE < TILES, TILE, TILE - TILES))], KEY_TILE
    first = (FIRST_TILE + tile) * size
    if begins_late(context):
        first = KEY_BEGIN + first
    return [
        *ring_slot(context),
        *which,
        Let(symbol=FIRST_KEY, value=first),
        Let(symbol=KEYS, value=minimum(size, KEY_END - FIRST_KEY)),
    ]
