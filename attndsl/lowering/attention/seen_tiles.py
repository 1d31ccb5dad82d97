"""The key tiles of an item where they are no run: masks by blocks leave gaps, lists name blocks in any order.

Each core looks through the candidates of an item before it walks them, and keeps the numbers of those that
some row of the task sees. Candidates are the tiles of a batch row's keys, or, of keys in selected blocks, the
entries of the task's list, in as many parts as a block has tiles. What is not seen is neither loaded nor
multiplied.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from attndsl.expr import Const, Expr, Symbol, ceil_div, compare, maximum, minimum, select
from attndsl.expr.reductions import Fold
from attndsl.lowering.attention.tile_slots import items_begun
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import (
    BATCH,
    FIRST_HEAD,
    FIRST_KEY,
    HEADS,
    KEY_BEGIN,
    KEY_END,
    TILE,
    TILES,
)
from attndsl.lowering.keys.cached_rows import SelectedRows
from attndsl.lowering.keys.key_source import source_of_kind
from attndsl.lowering.masks.tile_tests import TileTest
from attndsl.lowering.masks.visibility import begins_late, tile_tests
from attndsl.lowering.operands.block_elements import POSITION, shared_by
from attndsl.tile.buffers import ScalarArray
from attndsl.tile.statements import Collect, Let, Statement

MOST_TILES = 512
"""Tiles of an item whose numbers a core holds; keys of more tiles are split."""
_CANDIDATE, _PLACE, _PART = Symbol("candidate"), Symbol("seenPlace"), Symbol("part")
_LIST, _LISTED, _ENTRY = Symbol("listStart"), Symbol("listEntries"), Symbol("entry")
_SEEN, _BLOCK = Symbol("seenTile"), Symbol("namedBlock")


def numbers_tiles(context: Context) -> bool:
    """Whether the tiles of an item are told one by one."""
    return _lists(context) is not None or _has_gaps(context)


def _has_gaps(context: Context) -> bool:
    """Whether masks tell tiles in the middle that no row sees.

    A selection runs over the tiles of a row again, and given scales of probabilities need all of its keys in
    one item.
    """
    whole = context.computation.selection is not None or context.attention.requantize is not None
    return not whole and bool(tile_tests(context))


def _lists(context: Context) -> SelectedRows | None:
    """The lists that name the blocks of keys."""
    return source_of_kind(context.keys, SelectedRows)


def most_candidates(context: Context) -> Expr:
    """The candidates of a task at most, for the host."""
    lists = _lists(context)
    if lists is None:
        return ceil_div(context.keys.capacity(context), context.tile_keys)
    return context.signature.extents["X"] * ceil_div(lists.size, context.tile_keys)


def candidates(context: Context, tiles: Expr) -> tuple[list[Statement], Expr]:
    """The scalars of a task's candidates, and how many there are; ``tiles``: those of a run of keys."""
    lists = _lists(context)
    if lists is None:
        return [], tiles
    entries = context.host(context.signature.extents["X"], "entries of a list of blocks", "mostListed")
    start: list[Statement] = [
        Let(symbol=_LIST, value=_place(context, lists, lists.blocks.name), where=lists.where)
    ]
    if lists.count is not None:
        name = lists.count.name
        count = maximum(0, minimum(entries, context.entry(name, _place(context, lists, name))))
        start.append(Let(symbol=_LISTED, value=count, where=lists.where))
        entries = _LISTED
    # A task without keys has no tile to look for either.
    return start, select(tiles == 0, 0, entries * _parts(context, lists))


def _place(context: Context, lists: SelectedRows, name: str) -> Expr:
    """Elements from the start of a tensor to what it has for the task."""
    position, _ = context.rows.task_positions()
    place = context.rows.offset(context, name, FIRST_HEAD, position)
    if lists.queries is None:
        return place
    shared = context.host(lists.queries, "query positions that share a list")
    return place + position // shared * context.stride(name, "H")


def _parts(context: Context, lists: SelectedRows) -> Expr:
    """The tiles of a block."""
    tile = context.tile_keys
    if isinstance(lists.size, Const) and int(lists.size.value) <= int(tile.value):
        context.inventory.require(tile >= int(lists.size.value), "a tile has all keys of a selected block")
        return Const(1)
    return context.host(ceil_div(lists.size, context.tile_keys), "key tiles of a block", "partsOfBlock")


def seen_tiles(context: Context) -> ScalarArray:
    """The array of the numbers of an item's tiles, of all items in flight."""
    name, meaning = context.label("seenTiles"), "key tiles that a row of the task sees"
    return ScalarArray(name=name, capacity=MOST_TILES, meaning=meaning, places=context.items_in_flight)


def seen_tile(context: Context) -> list[Statement]:
    """The number of the running tile, and the block that it is in, of keys in lists of blocks."""
    place = _PLACE + TILE if context.continuous else TILE
    found: list[Statement] = [Let(symbol=_SEEN, value=seen_tiles(context).at(place))]
    lists = _lists(context)
    if lists is not None:
        entry = _entry(context, lists, _SEEN // _parts(context, lists))
        found.append(Let(symbol=_BLOCK, value=entry, where=lists.where))
    return found


def seen_range(context: Context) -> tuple[Expr, Expr]:
    """The first key of the running tile, and how many it has."""
    keys = _keys_of(context, _SEEN, None if _lists(context) is None else _BLOCK)
    return keys.begin, keys.end - FIRST_KEY


def collect_seen(context: Context, begin: Expr, end: Expr) -> list[Statement]:
    """The tiles of an item: those of the candidates ``begin .. end - 1`` that a row of the task sees."""
    place: list[Statement] = []
    if context.continuous:
        coming = (items_begun(context) + 1) % context.ring * MOST_TILES
        place.append(Let(symbol=_PLACE, value=coming))
    tests = tile_tests(context) if _has_gaps(context) else ()
    keys = _keys_of(context, _CANDIDATE)
    conditions = [*keys.exist, *(_seen(context, test, keys, number) for number, test in enumerate(tests))]
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


@dataclass(frozen=True, slots=True)
class _Keys:
    """The keys of a candidate: ``begin .. end - 1``, where all of ``exist`` hold."""

    begin: Expr
    end: Expr
    exist: tuple[Expr, ...] = ()


def _keys_of(context: Context, candidate: Expr, block: Expr | None = None) -> _Keys:
    """The keys of a candidate; ``block``: the one that its entry names, where it has been read."""
    tile, late, lists = context.tile_keys, begins_late(context), _lists(context)
    if lists is None:
        begin = candidate * tile + (KEY_BEGIN if late else 0)
        return _Keys(begin, minimum(begin + tile, KEY_END))
    size, parts = context.host(lists.size, "keys of a block"), _parts(context, lists)
    entry = candidate // parts
    block = _entry(context, lists, entry) if block is None else block
    begin, end = block * size, minimum(block * size + size, KEY_END)
    whole = parts.same(Const(1))
    if not whole:
        begin = begin + candidate % parts * tile
        end = minimum(begin + tile, end)
    earlier = select(_entry(context, lists, _ENTRY) == block, 1, 0)
    again = Fold("max", earlier, _ENTRY.name, entry, context.stage_name("NamedBefore"))
    first = maximum(begin, KEY_BEGIN) if late else begin
    # An entry may be any integer: it is multiplied once it is known to name a block with a row.
    named = (block >= 0, block < ceil_div(KEY_END, size))
    part = () if whole and not late else (first < end,)
    return _Keys(first, end, (*named, *part, again == 0))


def _entry(context: Context, lists: SelectedRows, number: Expr) -> Expr:
    """The block that an entry of the task's list names."""
    return context.entry(lists.blocks.name, _LIST + number * context.stride(lists.blocks.name, "X"))


def _seen(context: Context, test: TileTest, keys: _Keys, number: int) -> Expr:
    """Whether a row of the task may see a key of the candidate: the test is asked for each block of its keys,
    each head and each position of the task at which it may have another outcome."""
    size, begin, last = context.host(test.keys, "keys of a block"), keys.begin, keys.end - 1
    sides = (test.condition.left, test.condition.right)
    symbols = test.condition.symbols()
    blocks = last // size - begin // size + 1
    at: dict[str, Expr] = {"b": BATCH, "j": maximum(begin, (begin // size + _PART % blocks) * size)}
    rest, count = _PART // blocks, blocks
    if "n" in symbols:
        at["n"] = FIRST_HEAD + rest % HEADS
        rest, count = rest // HEADS, count * HEADS
    first_position, last_position = context.rows.task_positions()
    if POSITION.name in symbols:
        shared = shared_by(sides, POSITION)
        step = context.host(Const(1) if shared is None else shared, "query positions of a block")
        at[POSITION.name] = maximum(first_position, (first_position // step + rest) * step)
        count = count * (last_position // step - first_position // step + 1)
    condition = compare(test.condition.op, *(context.in_kernel(side, at) for side in sides))
    title = context.stage_name("SeesTile" + (str(number + 1) if number else ""))
    return Fold("max", select(condition, 1, 0), _PART.name, count, title) != 0
