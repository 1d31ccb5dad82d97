"""The keys of an item, and of each of its tiles."""

from __future__ import annotations

from functools import reduce

from attndsl.expr import Const, Expr, Symbol, ceil_div, maximum, minimum, round_up, select
from attndsl.lowering.attention.item_steps import item_steps
from attndsl.lowering.attention.item_turns import drains
from attndsl.lowering.attention.second_run import takes_tiles_again
from attndsl.lowering.attention.seen_tiles import (
    candidates,
    collect_seen,
    numbers_tiles,
    seen_range,
    seen_tile,
)
from attndsl.lowering.attention.tile_slots import ring_slot
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import (
    FIRST_BAND_ROW,
    FIRST_KEY,
    FIRST_TILE,
    HALVES,
    KEY_BEGIN,
    KEY_END,
    KEYS,
    LAST_BAND_ROW,
    REPEAT_LANES,
    ROW_BEGIN,
    ROWS,
    SKIPPED_KEYS,
    SPLIT,
    STEP,
    TASK_ROWS,
    TILE,
    TILES,
)
from attndsl.lowering.masks.visibility import (
    bands_begin_later,
    begins_late,
    end_of_positions,
    first_of_positions,
    first_visible,
    in_granules,
    later_positions_see_more,
    task_end,
)
from attndsl.tile.statements import Let, Statement

_TILE_FIRST, _TILE_KEYS = Symbol("tileFirst"), Symbol("keysOfTile")
_VISIBLE_END = Symbol("visibleEnd")
"""End of the keys that some row of a turn's task may see, also in the turn that drains the pipeline."""


def key_range(context: Context) -> list[Statement]:
    """The keys that some row of the task may see, the item's even share of their tiles, and its steps."""
    total, share = Symbol("tileTotal"), Symbol("tilesPerSplit")
    where, first, end = context.keys.where, context.keys.first(context), context.keys.valid_rows(context)
    seen, seen_end = first_visible(context), task_end(context)
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
    if context.continuous and context.drains:
        # a name of its own: lengths that it reads are read for certain, and once
        bounds.append(Let(symbol=_VISIBLE_END, value=end, where=where))
        end = select(drains(context), KEY_BEGIN if begins_late(context) else 0, _VISIBLE_END)
    bounds.append(Let(symbol=KEY_END, value=end, where=where))
    if context.rows.may_be_empty():
        count = select(TASK_ROWS == 0, 0, count)
    tiles: list[Statement] = [Let(symbol=TILES, value=minimum(share, total - FIRST_TILE))]
    if numbers_tiles(context):
        lists, count = candidates(context, count)
        bounds += lists
        tiles = collect_seen(context, FIRST_TILE, minimum(FIRST_TILE + share, total))
    return [
        *bounds,
        Let(symbol=total, value=count),
        Let(symbol=share, value=ceil_div(total, context.splits)),
        Let(symbol=FIRST_TILE, value=minimum(SPLIT * share, total)),
        *tiles,
        *item_steps(context),
    ]


def tile_bounds(context: Context, *, of_this_aiv: bool = False) -> list[Statement]:
    """Ring slot, first key and number of keys of the running tile.

    ``of_this_aiv``: those keys alone that the bands of this vector core's rows may see.
    """
    first, keys = _tile_range(context)
    number = seen_tile(context) if numbers_tiles(context) else []
    found = [*ring_slot(context), *_which(context), *number]
    if of_this_aiv and begins_by_band(context):
        return [*found, *_tile_of_this_aiv(context, first, keys)]
    rows: list[Statement] = []
    if of_this_aiv and sees_by_band(context):
        rows, keys = _rows_of_bands(context, last_too=True), _keys_of_bands(context, keys)
    return [*found, *rows, Let(symbol=FIRST_KEY, value=first), Let(symbol=KEYS, value=keys)]


def _tile_of_this_aiv(context: Context, first: Expr, keys: Expr) -> list[Statement]:
    """First key and number of keys of the running tile, from the first that a band of this core may see."""
    names = {FIRST_KEY.name: _TILE_FIRST, KEYS.name: _TILE_KEYS}
    end = minimum(TASK_ROWS, FIRST_BAND_ROW + context.rows_per_band)
    skipped = keys_before_rows(context, KEYS, FIRST_BAND_ROW, end - 1)
    seen = _keys_of_bands(context, keys) if sees_by_band(context) else keys
    return [
        *_rows_of_bands(context, last_too=sees_by_band(context)),
        Let(symbol=_TILE_FIRST, value=first),
        Let(symbol=_TILE_KEYS, value=seen.substitute(names)),
        Let(symbol=SKIPPED_KEYS, value=skipped.substitute(names)),
        Let(symbol=FIRST_KEY, value=_TILE_FIRST + SKIPPED_KEYS),
        Let(symbol=KEYS, value=_TILE_KEYS - SKIPPED_KEYS),
    ]


def first_key_of_tile(context: Context) -> list[Statement]:
    """First key of the running tile, for a stage that asks for no more of it."""
    first, _ = _tile_range(context)
    number = seen_tile(context) if numbers_tiles(context) else []
    return [*_which(context), *number, Let(symbol=FIRST_KEY, value=first)]


def _which(context: Context) -> list[Statement]:
    """The tile of the step, where tiles come again."""
    if context.halves:
        return [Let(symbol=TILE, value=STEP // HALVES)]
    if not takes_tiles_again(context):
        return []
    return [Let(symbol=TILE, value=select(STEP < TILES, STEP, STEP - TILES))]


def _tile_range(context: Context) -> tuple[Expr, Expr]:
    """The first key of the running tile, and how many it has, by ``FIRST_KEY`` as the caller defines it."""
    if numbers_tiles(context):
        return seen_range(context)
    first = (FIRST_TILE + TILE) * context.tile_keys
    if begins_late(context):
        first = KEY_BEGIN + first
    return first, minimum(context.tile_keys, KEY_END - FIRST_KEY)


def sees_by_band(context: Context) -> bool:
    """Whether the bands of a task's rows may see unequal parts of its last tiles."""
    return context.schedule.several_bands and later_positions_see_more(context)


def begins_by_band(context: Context) -> bool:
    """Whether the bands of a task's rows may begin with unequal keys of its first tiles."""
    return context.schedule.several_bands and bands_begin_later(context)


def skipped_keys(context: Context) -> Expr:
    """Keys of the running tile in front of those that the rows at work may see: of a band, or of a core."""
    return SKIPPED_KEYS if begins_by_band(context) else Const(0)


def keys_before_rows(context: Context, keys: Expr, first: Expr, last: Expr) -> Expr:
    """Of the ``keys`` of the running tile those in front of all that rows ``first`` to ``last`` of the task
    may see, in whole granules; not all keys, so that every band takes part in every tile."""
    positions = context.rows.positions_of(first, last)
    begin = None if positions is None else first_of_positions(context, positions)
    if begin is None:
        return Const(0)
    return in_granules(context, maximum(0, minimum(begin - FIRST_KEY, keys - 1)))


def keys_of_rows(context: Context, keys: Expr, first: Expr, last: Expr) -> Expr:
    """Of the ``keys`` of the running tile those up to the last that rows ``first`` to ``last`` of the task
    may see, in whole repeats; one repeat at least, so that every band takes part in every tile."""
    positions = context.rows.positions_of(first, last)
    end = None if positions is None else end_of_positions(context, positions)
    if end is None:
        return keys
    return minimum(keys, round_up(maximum(1, end - FIRST_KEY), REPEAT_LANES))


def _rows_of_bands(context: Context, *, last_too: bool) -> list[Statement]:
    """The first row, and the last one, of all bands that this vector core has rows of."""
    band, why = context.rows_per_band, "the rows of all bands that this vector core has rows of"
    end = minimum(TASK_ROWS, round_up(ROW_BEGIN + ROWS, band))
    first = Let(symbol=FIRST_BAND_ROW, value=ROW_BEGIN // band * band, why=why)
    return [first, Let(symbol=LAST_BAND_ROW, value=maximum(FIRST_BAND_ROW, end - 1))] if last_too else [first]


def _keys_of_bands(context: Context, keys: Expr) -> Expr:
    """Of the ``keys`` of the running tile those that a row of these bands may see.

    What the cube multiplies of any band, the vector cores have written.
    """
    return keys_of_rows(context, keys, FIRST_BAND_ROW, LAST_BAND_ROW)
