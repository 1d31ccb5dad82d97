"""The key tiles that some row of a task sees, where masks by blocks of keys leave gaps between them.

Each core asks the masks for the tiles of an item before it walks them, and keeps the numbers of those that
are seen. Those that are not are neither loaded nor multiplied.
"""

from __future__ import annotations

from functools import reduce

from attndsl.expr import Const, Expr, Symbol, compare, maximum, minimum, select
from attndsl.expr.reductions import Fold
from attndsl.lowering.attention.continuous import items_begun
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import (
    BATCH,
    FIRST_HEAD,
    HEADS,
    KEY_BEGIN,
    KEY_END,
    TILE,
    TILES,
)
from attndsl.lowering.masks.tile_tests import TileTest
from attndsl.lowering.masks.visibility import begins_late, tile_tests
from attndsl.lowering.operands.block_elements import POSITION, shared_by
from attndsl.tile.buffers import ScalarArray
from attndsl.tile.statements import Collect, Let, Statement

MOST_TILES = 512
"""Tiles of an item whose numbers a core holds; keys of more tiles are split."""
_CANDIDATE, _PLACE, _PART = Symbol("candidate"), Symbol("seenPlace"), Symbol("part")
_FIRST, _LAST = Symbol("candidateKey"), Symbol("candidateEnd")


def skips_tiles(context: Context) -> bool:
    """Whether masks tell tiles in the middle that no row sees.

    A selection runs over the tiles of a row again, and given steps of probabilities need all of its keys in
    one item.
    """
    whole = context.computation.selection is not None or context.attention.requantize is not None
    return not whole and bool(tile_tests(context))


def seen_tiles(context: Context) -> ScalarArray:
    """The array of the numbers of an item's tiles, of all items in work."""
    name, meaning = context.label("seenTiles"), "key tiles that a row of the task sees"
    return ScalarArray(name=name, capacity=MOST_TILES, meaning=meaning, places=context.items_in_flight)


def seen_tile(context: Context) -> Expr:
    """The number of the running tile."""
    place = _PLACE + TILE if context.continuous else TILE
    return seen_tiles(context).at(place)


def collect_seen(context: Context, begin: Expr, end: Expr) -> list[Statement]:
    """The tiles of an item: those of ``begin .. end - 1`` that a row of the task sees."""
    place: list[Statement] = []
    if context.continuous:
        coming = (items_begun(context) + 1) % context.ring * MOST_TILES
        place.append(Let(symbol=_PLACE, value=coming))
    tests = tile_tests(context)
    conditions = [_seen(context, test, place) for place, test in enumerate(tests)]
    return [
        *place,
        Collect(
            array=seen_tiles(context),
            count=TILES,
            index=_CANDIDATE,
            begin=begin,
            extent=end,
            condition=reduce(lambda a, b: a & b, conditions),
            place=_PLACE if context.continuous else Const(0),
            where=context.where,
        ),
    ]


def _seen(context: Context, test: TileTest, number: int) -> Expr:
    """Whether a row of the task may see a key of the candidate: the test is asked for each block of its keys,
    each head and each position of the task at which it may have another outcome."""
    size, tile = context.host(test.keys, "keys of a block"), context.tile_keys
    begin = _CANDIDATE * tile + (KEY_BEGIN if begins_late(context) else 0)
    end = minimum(begin + tile, KEY_END) - 1
    sides = (test.condition.left, test.condition.right)
    symbols = test.condition.symbols()
    blocks = end // size - begin // size + 1
    at: dict[str, Expr] = {"b": BATCH, "j": maximum(begin, (begin // size + _PART % blocks) * size)}
    rest, count = _PART // blocks, blocks
    if "n" in symbols:
        at["n"] = FIRST_HEAD + rest % HEADS
        rest, count = rest // HEADS, count * HEADS
    first, last = context.rows.task_positions()
    if POSITION.name in symbols:
        shared = shared_by(sides, POSITION)
        step = context.host(Const(1) if shared is None else shared, "query positions of a block")
        at[POSITION.name] = maximum(first, (first // step + rest) * step)
        count = count * (last // step - first // step + 1)
    condition = compare(test.condition.op, *(context.in_kernel(side, at) for side in sides))
    title = context.label("SeesTile") + (str(number + 1) if number else "")
    found = Fold("max", select(condition, 1, 0), _PART.name, count, title)
    return found != 0
