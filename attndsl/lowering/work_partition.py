"""What the host computes: key splits, launched blocks and workspace, as symbolic expressions.

The Python tiling function evaluates these; the C++ one is printed from them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce

from attndsl.expr import Const, Expr, Symbol, as_expr, ceil_div, maximum, minimum, round_up, select
from attndsl.lowering.attention.item_turns import turn_of
from attndsl.lowering.attention.seen_tiles import MOST_TILES, most_candidates, numbers_tiles
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.emitter import ROWS_OF_SLOT, ROWS_PER_TASK
from attndsl.lowering.emit.inventory import Inventory
from attndsl.lowering.emit.loop_scalars import SPLIT, TASK
from attndsl.lowering.masks.told_ends import telling_mask
from attndsl.lowering.masks.visibility import later_positions_see_more
from attndsl.lowering.results.partials import may_split
from attndsl.lowering.signature.host_scalars import CORES, L2_BYTES, START_TOGETHER
from attndsl.target import Architecture
from attndsl.tile.buffers import item_bytes
from attndsl.tile.program import BLOCK_COUNT, BLOCK_INDEX, TilingField, tiling_field_ref, tiling_scalar
from attndsl.tile.statements import Let, Statement


def add_work_fields(contexts: tuple[Context, ...]) -> None:
    """Tasks, splits and items of every attention, and the blocks that are launched.

    Splits: with fewer tasks than cores, each task's keys are cut into as many parts as give every core one;
    of several attentions into more, and with more tasks into a few, where that evens out the cores, if the
    schedule says so. Never finer than one key tile. None where blocks may start one after the other: those of
    splits wait for each other. Never more blocks than items or cores, and never none.
    """
    schedule = contexts[0].schedule
    cores = CORES if schedule.cores == "auto" else minimum(CORES, as_expr(schedule.cores))
    most: Expr = Const(1)
    for context in contexts:
        add, label = context.inventory.field, context.label
        context.rows.heads_per_task(context)
        if context.longest_first:
            add(label("headsAtOnce"), _heads_at_once(context), "tasks of heads whose keys L2 holds together")
        context.rows.tasks(context)
        add(label("splits"), _splits(context, cores), "parts the keys of a row are split into")
        items = tiling_field_ref(label("tasks")) * tiling_field_ref(label("splits"))
        add(label("items"), items, "units of work: a task and a split")
        most = (
            tiling_field_ref(label("items"))
            if len(contexts) == 1
            else maximum(most, tiling_field_ref(label("items")))
        )
        if may_split(context):
            add("rowTotal", context.rows.row_total(context), "rows of the result")
    if contexts[0].joint:
        rows: list[Expr] = [tiling_field_ref(context.label(ROWS_PER_TASK)) for context in contexts]
        contexts[0].inventory.field(ROWS_PER_TASK, reduce(maximum, rows), ROWS_OF_SLOT)
    blocks = maximum(1, minimum(most, cores))  # an empty call has no items, but a launch has a block
    contexts[0].inventory.field("blocks", blocks, "blocks that are launched")


def _splits(context: Context, cores: Expr) -> Expr:
    chosen = _chosen_splits(context, cores)
    if not numbers_tiles(context):
        return chosen
    most = context.inventory.host_constant("tilesHeld", MOST_TILES, "tiles of an item that a core numbers")
    return maximum(chosen, ceil_div(_key_tiles(context), most))


def _key_tiles(context: Context) -> Expr:
    count = most_candidates(context)
    return context.inventory.host_number(context.label("keyTiles"), count, "score tiles of a row, at most")


def _chosen_splits(context: Context, cores: Expr) -> Expr:
    schedule = context.schedule
    fixed = isinstance(schedule.split_kv, int)
    chosen = as_expr(schedule.split_kv) if fixed else _computed_splits(context, cores)
    return chosen if chosen.same(Const(1)) else select(START_TOGETHER > 0, chosen, 1)


def _computed_splits(context: Context, cores: Expr) -> Expr:
    schedule, tasks = context.schedule, tiling_field_ref(context.label("tasks"))
    tiles = _key_tiles(context)
    idle = maximum(1, minimum(cores // maximum(tasks, 1), tiles))
    if schedule.split_kv == "even" or (schedule.split_kv == "auto" and context.rows.one_position):
        meaning = "splits that give each core an item"
        idle = context.inventory.host_number(context.label("splitsForAll"), idle, meaning)
    even = context.rows.one_position if schedule.split_kv == "auto" else schedule.split_kv == "even"
    if not even:
        return idle
    several = len(context.computation.attentions) > 1
    few = _finer_splits(context, tasks, cores, tiles, idle) if several else idle
    return select(tasks > cores, _even_splits(context, tasks, cores, tiles), few)


def _even_splits(context: Context, tasks: Expr, cores: Expr, tiles: Expr) -> Expr:
    """Parts of each task's keys where there are more tasks than cores: two or three if that saves a tenth.

    The core with most items has ``ceil(tasks * parts / cores)`` of them, each a part of a task's keys.
    """
    number, constant = context.inventory.host_number, context.inventory.host_constant
    worth = _worth(context)
    fewest = constant("tilesOfEvenSplit", 2, "score tiles of such a split, at least")
    rounds = number(context.label("tasksOfCore"), ceil_div(tasks, cores), "tasks of the busiest core")

    def is_even(parts: int, name: str) -> Expr:
        busiest = number(
            context.label(f"{name}OfCore"),
            ceil_div(tasks * parts, cores),
            f"items of the busiest core if each task has {parts} splits",
        )
        saves = worth(busiest, rounds * parts) & (tiles >= fewest * parts)
        meaning = f"whether {parts} splits of each task even out the cores"
        return number(context.label(f"{name}AreEven"), saves, meaning, "bool")

    return select(is_even(3, "thirds"), 3, select(is_even(2, "halves"), 2, 1))


def _worth(context: Context) -> Callable[[Expr, Expr], Expr]:
    """Whether splits save the busiest core enough: work with them, without them, of one unit."""
    meaning = "splits are worth their merge if they save one part in so many of the busiest core's work"
    part = context.inventory.host_constant("worthwhilePart", 10, meaning)

    def worth(busiest: Expr, plain: Expr) -> Expr:
        return busiest * part <= plain * (part - 1)

    return worth


def _finer_splits(context: Context, tasks: Expr, cores: Expr, tiles: Expr, idle: Expr) -> Expr:
    """Parts of each task's keys where some cores have none of ``idle`` parts: two or three items a core if
    the core with most tiles has a tenth less of them. It costs little where rows are merged anyway.
    """
    number, label = context.inventory.host_number, context.label
    worth = _worth(context)

    def most(parts: Expr) -> Expr:
        return ceil_div(tasks * parts, cores) * ceil_div(tiles, parts)

    plain = number(label("tilesOfCore"), most(idle), "score tiles of the busiest core, an item a core")

    def finer(items: int, name: str) -> tuple[Expr, Expr]:
        """The splits with so many items a core, and whether they save enough."""
        meaning = f"splits of a task if a core has {items} items"
        parts = number(label(f"{name}Splits"), maximum(1, items * cores // maximum(tasks, 1)), meaning)
        busiest = number(
            label(f"{name}TilesOfCore"), most(parts), "score tiles of the busiest core with them"
        )
        saves = (parts <= tiles) & worth(busiest, plain)
        return parts, number(label(f"{name}AreWorth"), saves, "whether they even out the cores", "bool")

    two, of_two = finer(2, "two")
    three, of_three = finer(3, "three")
    return select(of_two, two, select(of_three, three, idle))


_L2_SHARE = 2
"""One part in so many of L2 is for keys and values, which leaves room for rings and what others read."""


def _heads_at_once(context: Context) -> Expr:
    """Tasks of a batch row at the same positions whose keys and values take a part of L2: even groups."""
    extents, number, label = context.signature.extents, context.inventory.host_number, context.label
    constant = context.inventory.host_constant
    width = item_bytes(context.dtype)
    row_bytes = (extents["D"] + extents["E"]) * constant(_BYTES[width][0], width, _BYTES[width][1])
    meaning = "one part in so many of L2 is for keys and values"
    room = L2_BYTES // constant("keysShareOfL2", _L2_SHARE, meaning)
    head = number(
        label("bytesOfHead"), context.keys.capacity(context) * row_bytes, "bytes of a head's keys and values"
    )
    fit = number(label("headsThatFit"), maximum(1, room // maximum(1, head)), "heads that L2 holds")
    heads = tiling_field_ref("kvHeads")
    groups = number(label("headGroups"), maximum(1, ceil_div(heads, fit)), "even groups of heads")
    return ceil_div(heads, groups) * tiling_field_ref("headTiles")


def with_item_order(contexts: tuple[Context, ...]) -> tuple[Context, ...]:
    """The contexts, with those marked whose longest tasks come first, or whose blocks begin with the last."""

    def marked(context: Context) -> Context:
        order = context.schedule.item_order
        if context.rows.one_position or context.computation.selection is not None:
            return context
        longest = order == "longest" or (order == "auto" and later_positions_see_more(context))
        mixed = order == "auto" and context.rows.sizes_differ(context)
        return replace(context, longest_first=longest, last_first=longest or mixed)

    return tuple(map(marked, contexts))


_ROUND = Symbol("roundOfTurn")
"""The round of items that a block's turn takes one of, where the last comes first."""


_FULL_ROUNDS = Symbol("fullRounds")
"""The rounds in which each block has an item."""


def round_of_turn(context: Context) -> list[Let]:
    """The round of a block's turn, where the last comes first; the turn that drains takes the first again.

    The last items of prompts are the smallest. While nothing of a block's rings is in L2, stores to them are
    slow: the fewer scores its first tiles have, the sooner all its cores work.
    """
    if not context.last_first:
        return []
    last = (context.items - 1 - _place(context)) // BLOCK_COUNT
    why = "from the last round to the first: the last items of prompts are the smallest"
    scalars = [Let(symbol=_ROUND, value=maximum(last - turn_of(context) // BLOCK_COUNT, 0), why=why)]
    if context.longest_first:
        scalars.append(Let(symbol=_FULL_ROUNDS, value=context.items // BLOCK_COUNT))
    return scalars


def item_of_round(context: Context) -> Expr:
    """The item that a block takes in its turn, after :func:`round_of_turn`.

    Where the longest come first, blocks take one round in one direction and the next in the other, so that
    none has the longest of each. The last whole round begins with the last block: the items of a round that
    is not whole go to blocks that had the shortest. Of 7 items, the first the longest, 3 blocks take

        round 0     0  1  2
        round 1     5  4  3
        round 2     6

    from the last round to the first: block 0 does 6, 5, 0, block 1 does 4, 1, block 2 does 3, 2. Without the
    longest first each round is in the order of blocks: 6, 3, 0 and 4, 1 and 5, 2.
    """
    if telling_mask(context) is not None:
        return _by_turns(context)
    if not context.last_first:
        return turn_of(context)
    item = _place(context) + _ROUND * BLOCK_COUNT
    if not context.longest_first:
        return item
    mirrored = (_FULL_ROUNDS > _ROUND) & ((_FULL_ROUNDS - _ROUND) % 2 == 1)
    return item + select(mirrored, BLOCK_COUNT - 1 - 2 * _place(context), 0)


def _by_turns(context: Context) -> Expr:
    """Whole rounds of items in one direction and in the other, where nothing but a mask's bytes tells what
    positions see: such masks often have a pattern, of which each block would have one part in all rounds."""
    turn, whole = turn_of(context), context.items // BLOCK_COUNT
    backwards = (turn // BLOCK_COUNT % 2 == 1) & (turn // BLOCK_COUNT < whole)
    return turn + select(backwards, BLOCK_COUNT - 1 - 2 * BLOCK_INDEX, 0)


def there_and_back(context: Context, item: Expr) -> Let | None:
    """Of such items, those of the last head from its last position to the first, of the head before from the
    first to the last, and so on: later positions often see more keys, and the last round is not whole."""
    if telling_mask(context) is None:
        return None
    tiles = tiling_scalar(context.label("queryTiles"))
    heads = context.items // tiles
    backwards = (heads - item // tiles) % 2 == 1
    turned = item + select(backwards, tiles - 1 - 2 * (item % tiles), 0)
    return Let(symbol=Symbol("walked"), value=turned, why="the last head's positions come from last to first")


def _place(context: Context) -> Expr:
    """Which item of a round a block takes: its own number, where items do not begin behind other ones.

    Of several attentions the first says so in the words of the others, so that they decode items alike. With
    3 blocks, items that begin behind 7 others are taken by blocks 1, 2, 0: these have the places 0, 1, 2.
    """
    return turn_of(context) % BLOCK_COUNT if context.attention_name else BLOCK_INDEX


def split_and_task(context: Context, item: Expr) -> list[Statement]:
    """The split and the task of an item, in the order of items that the schedule states."""
    if context.schedule.item_order == "tasks":
        split, task = item % context.splits, item // context.splits
        why = "the splits of a task follow each other"
    else:
        split, task = item // context.tasks, item % context.tasks
        why = "all tasks of one split follow each other: blocks beside each other have other tasks"
    return [Let(symbol=SPLIT, value=split, why=why), Let(symbol=TASK, value=task)]


_BYTES = {
    1: ("bytesOfInt8", "bytes of an int8"),
    2: ("bytesOfFloat16", "bytes of a float16 or bfloat16"),
    4: ("bytesOfFloat32", "bytes of a float32 or int32"),
}
"""The names of element sizes in the plan."""


def place_workspace(inventory: Inventory, architecture: Architecture) -> tuple[TilingField, ...]:
    """Consecutive byte offsets, each aligned for full Fixpipe rate.

    A tensor that the cores of one block share has a part for each block.
    """
    end: Expr = Const(0)
    fields: list[TilingField] = []

    def add(name: str, value: Expr, meaning: str, *, host_only: bool = False) -> None:
        fields.append(TilingField(name, "int64", value, meaning, host_only=host_only, topic="workspace"))

    alignment = inventory.host_constant(
        "workspaceAlignment",
        architecture.workspace_alignment,
        "bytes; Fixpipe stores faster to such addresses",
    )
    sizes: dict[str, str] = {}
    for tensor in inventory.workspace:
        start, part = f"{tensor.name}Offset", f"{tensor.name}Part"
        add(start, end, f"bytes from the workspace to the {tensor.meaning}")
        width = item_bytes(tensor.dtype)
        name, meaning = _BYTES[width]
        size = round_up(tensor.elements * inventory.host_constant(name, width, meaning), alignment)
        if tensor.shared == "block":
            add(part, size, f"bytes of one block's {tensor.name}")
            size = tiling_field_ref(part) * tiling_field_ref("blocks")
        else:
            number = f"{tensor.name}Bytes"
            if (known := sizes.setdefault(str(size), number)) == number:
                add(number, size, f"bytes of the {tensor.meaning}", host_only=True)
            size = tiling_field_ref(known)
        end = tiling_field_ref(start) + size
    add("workspaceBytes", end, "bytes of the user workspace")
    return tuple(fields)
