"""How the query positions of a batch row are cut into tasks, and in which order tasks have them.

With several bands of rows a task, the host may leave the first positions of a batch row to small tasks of one
band: large ones, which read keys and values once for all bands, come in whole rounds of all cores, and small
ones even out the rest. All large tasks come before all small ones.
"""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.expr import Expr, Symbol, as_expr, ceil_div, maximum, minimum, round_up, select
from attndsl.lowering.emit.emitter import Emitter
from attndsl.lowering.emit.loop_scalars import FIRST_QUERY, TASK
from attndsl.lowering.signature.host_scalars import CORES
from attndsl.tile.program import tiling_field_ref, tiling_scalar
from attndsl.tile.statements import Let, Statement

PER_TASK = Symbol("positionsPerTask")
"""Query positions of the running task, at most."""
HEAD_TASK = Symbol("headTask")
"""The running task's number among those of all heads of all batch rows at the same positions."""
_IS_LARGE = Symbol("isLarge")
_TILES, _TILE, _PART_TASK = Symbol("partTiles"), Symbol("queryTile"), Symbol("partTask")
_HEAD_TASKS, _FIRST_HEAD_TASK, _WIDTH = Symbol("headTasks"), Symbol("firstHeadTask"), Symbol("headsBeside")
_IN_ROW, _IN_GROUP = Symbol("taskOfBatch"), Symbol("taskOfHeads")
_WORTH = (8, 9)
"""Share of the rows, parts and whole, from which reading keys once for two bands of rows is worth more."""
_SHARES = (
    ("partsOfBusiestCore", "parts of the busiest core's positions, for the next number"),
    (
        "partsWithSmallTasks",
        "small tasks, which read keys more often, are worth that if they leave fewer of these parts",
    ),
)
"""How the plan calls the whole and the parts."""


def positions_of_rows(rows: Expr, heads: Expr) -> Expr:
    """Query positions that so many rows hold with ``heads`` heads each; one at least."""
    return maximum(1, rows // maximum(heads, 1))


@dataclass(frozen=True, slots=True)
class PositionTiles:
    """The cut of one kernel's query positions.

    Attributes:
        mixed: whether the host may leave the first positions to tasks of one band of rows.
        attention_name: what its fields end with where another attention cuts positions otherwise.
    """

    mixed: bool
    halves: bool = False
    attention_name: str = ""

    @property
    def per_task(self) -> str:
        """The field of the positions of a task."""
        return f"queriesPerTask{self.attention_name}"

    @property
    def tiles(self) -> str:
        """The field of the tasks of a batch row."""
        return f"queryTiles{self.attention_name}"

    def add_fields(self, emit: Emitter, heads: Expr, most: Expr, tokens: Expr | None) -> None:
        """The tiling fields of the cut.

        ``heads``: of a task; ``most``: positions of a task at most; ``tokens``: of all batch rows, None where
        each has as many positions as the longest.
        """
        add, positions = emit.inventory.field, emit.signature.extents["Q"]
        if not self.mixed:
            add(self.per_task, most, "query positions of a task, at most")
            tiles = ceil_div(positions, tiling_field_ref(self.per_task))
            add(self.tiles, tiles, "tasks that share the query positions of a batch row")
            return
        few, meaning = positions_of_rows(emit.rows_per_band, heads), "one band of rows"
        pairs: Expr | None = None
        if self.halves and emit.longest_first:
            most = emit.inventory.host_number("queriesPerHalf", most, "query positions of a half, at most")
            pairs = self._pairs_in_even_rounds(emit, most, tokens)
            few, meaning = select(pairs > 0, most, few), "one band of rows, or as many as a half has"
        add("queriesPerSmallTask", few, f"query positions of a small task, {meaning}")
        few = tiling_field_ref("queriesPerSmallTask")
        most = emit.inventory.host_number("queriesPerLargeTask", most, "query positions of a large task")
        large = self._large_tiles(emit, few, most, tokens)
        if pairs is not None:
            large, most = self._even_pairs(emit, pairs, large, most)
        elif self.halves:
            large, most = self._with_halves(emit, large, few, most, tokens)
        add("largeTiles", large, "large tasks that share the query positions of a batch row")
        count = tiling_field_ref("largeTiles")
        add("queriesPerTask", select(count > 0, most, few), "query positions of a task, at most")
        small = round_up(maximum(0, positions - count * most), tiling_field_ref("queriesPerSmallTask"))
        add("smallPositions", small, "first query positions of a batch row, which small tasks have")
        tiles = count + tiling_field_ref("smallPositions") // tiling_field_ref("queriesPerSmallTask")
        add("queryTiles", tiles, "tasks that share the query positions of a batch row")
        tasks = emit.signature.extents["B"] * _head_tasks_on_host() * count
        add("largeTasks", tasks, "large tasks; all others are small")

    def _large_tiles(self, emit: Emitter, few: Expr, most: Expr, tokens: Expr | None) -> Expr:
        """Large tasks of a batch row: all, as many as fill rounds of all cores, or none.

        None, if fewer large tasks than cores have queries, or if the busiest core has less than ``_WORTH`` of
        the positions then. A core has the items of its number in each round, so that places which the last
        round of large tasks leaves free take a small one each.
        """
        extents, number = emit.signature.extents, emit.inventory.host_number
        positions = extents["Q"]
        groups = _tasks_abreast(emit)
        all_large = number(
            "allTiles", ceil_div(positions, most), "large tasks of a batch row, if all are large"
        )
        of_all = number(
            "allOfCore",
            ceil_div(groups * all_large, CORES) * most,
            "query positions of the busiest core with those",
        )
        full = number("fullTiles", positions // most, "large tasks that the positions of a batch row fill")
        in_rounds = groups * full // CORES * CORES // maximum(groups, 1)
        whole = number(
            "wholeTiles", minimum(full, in_rounds), "large tasks of a batch row, if they fill whole rounds"
        )
        rounds = number("wholeRounds", ceil_div(groups * whole, CORES), "rounds of them")
        small = groups * ceil_div(maximum(0, positions - whole * most), few)
        left = number(
            "smallAfterwards",
            maximum(0, small - (rounds * CORES - groups * whole)),
            "small tasks after the last round of them",
        )
        of_whole = number(
            "wholeOfCore",
            rounds * most + ceil_div(left, CORES) * few,
            "query positions of the busiest core with those",
        )
        of_small = number(
            "smallOfCore",
            ceil_div(groups * ceil_div(positions, few), CORES) * few,
            "query positions of the busiest core, if all tasks are small",
        )
        total, parts = _share(emit)
        uneven = of_small * total < minimum(of_whole, of_all) * parts
        mixed = select(of_whole < of_all, whole, all_large)
        filled = groups * all_large
        if tokens is not None:
            filled = minimum(filled, self._most_filled(emit, tokens, most, "filledTasks", "large tasks"))
        return select((filled < CORES) | uneven, 0, mixed)

    @staticmethod
    def _most_filled(emit: Emitter, tokens: Expr, most: Expr, name: str, meaning: str) -> Expr:
        """Tasks of all heads that ``tokens`` fill at most: each batch row ends one that is not full.

        Batch rows shorter than the longest have tasks without queries, which give no core work.
        """
        of_head = (tokens + emit.signature.extents["B"] * (most - 1)) // most
        return emit.inventory.host_number(
            name, of_head * _head_tasks_on_host(), f"{meaning} that have queries, at most"
        )

    def _with_halves(
        self, emit: Emitter, large: Expr, few: Expr, most: Expr, tokens: Expr | None
    ) -> tuple[Expr, Expr]:
        """Large tasks of a batch row and their positions, with two halves each where cores have no more then.

        As many as give each core as many of them, so that each has fewer positions than it could have.
        """
        positions, number = emit.signature.extents["Q"], emit.inventory.host_number
        groups = _tasks_abreast(emit)
        fewest = number(
            "fewestPairs", ceil_div(positions, 2 * most), "tasks of two halves of a batch row, at least"
        )
        rounds = number("roundsOfPairs", ceil_div(groups * fewest, CORES), "rounds of them")
        count = number(
            "pairs", maximum(fewest, rounds * CORES // maximum(groups, 1)), "such tasks that fill the rounds"
        )
        each = number(
            "queriesPerPair", ceil_div(positions, maximum(count, 1)), "query positions of such a task"
        )
        large = number("largeTilesWithoutPairs", large, "large tasks of a batch row, if none has two halves")
        small = groups * ceil_div(maximum(0, positions - large * most), few)
        free = ceil_div(groups * large, CORES) * CORES - groups * large
        busiest = number(
            "largeAndSmallOfCore",
            ceil_div(groups * large, CORES) * most + ceil_div(maximum(0, small - free), CORES) * few,
            "query positions of the busiest core with large and small tasks",
        )
        filled = groups * fewest
        if tokens is not None:
            pairs = self._most_filled(emit, tokens, 2 * most, "filledPairs", "tasks of two halves")
            filled = minimum(filled, pairs)
        total, parts = _share(emit)
        saves = (each > most) & (filled >= CORES) & (rounds * each * parts <= busiest * total)
        pays = number("pairsPay", saves, "whether tasks of two halves leave no core more", "bool")
        return select(pays, count, large), select(pays, each, most)

    @staticmethod
    def _pairs_in_even_rounds(emit: Emitter, half: Expr, tokens: Expr | None) -> Expr:
        """Tasks of two halves of a batch row, where the longest come first.

        Blocks take one round in one direction and the next in the other: with an even number of rounds each
        has as many keys, and small tasks, which are the shortest, even out the rest. There are none if they
        fill no two rounds, or less than ``_WORTH`` of their rounds. Heads that come group after group begin
        anew with the longest: each group has to fill its rounds.
        """
        positions, number = emit.signature.extents["Q"], emit.inventory.host_number
        all_heads, at_once = _head_tasks_on_host(), tiling_field_ref(emit.label("headsAtOnce"))
        in_groups = at_once < all_heads
        abreast = number(
            "tasksBeside",
            select(in_groups, at_once, emit.signature.extents["B"] * all_heads),
            "tasks at the same positions that follow each other",
        )
        full = number(
            "fullPairs", positions // (2 * half), "tasks of two halves that a batch row's positions fill"
        )
        filled = abreast * full
        rounds = number("evenRounds", filled // (2 * CORES) * 2, "rounds of them, an even number")
        pairs = number(
            "pairsInRounds", rounds * CORES // maximum(abreast, 1), "as many as these rounds have room for"
        )
        if tokens is not None:
            # batch rows shorter than the longest have fewer
            filled = minimum(filled, tokens // (2 * half) * all_heads)
        total, parts = _share(emit)
        enough = select(in_groups, rounds * CORES * total, rounds * CORES * parts)
        pays = (filled >= 2 * CORES) & (pairs * abreast * total >= enough)
        return number("pairs", select(pays, pairs, 0), "tasks of two halves of a batch row")

    @staticmethod
    def _even_pairs(emit: Emitter, pairs: Expr, large: Expr, half: Expr) -> tuple[Expr, Expr]:
        """Large tasks of a batch row and their positions, with ``pairs`` of two halves where there are any.

        These have equally many positions: all that whole small tasks leave.
        """
        positions, number = emit.signature.extents["Q"], emit.inventory.host_number
        small = round_up(maximum(0, positions - pairs * (2 * half)), half)
        each = number(
            "queriesPerPair",
            ceil_div(maximum(0, positions - small), maximum(pairs, 1)),
            "query positions of such a task",
        )
        return select(pairs > 0, pairs, large), select(pairs > 0, each, half)

    # In the kernel ----------------------------------------------------------------------------------------

    def enter(self, emit: Emitter) -> list[Statement]:
        """The scalars of task ``task``: :data:`HEAD_TASK`, ``firstQuery`` and :data:`PER_TASK`."""
        per_task, small = tiling_scalar(self.per_task), tiling_scalar("queriesPerSmallTask")
        tiles: Expr = tiling_scalar(self.tiles)
        task, begin = TASK, as_expr(0)
        parts: list[Statement] = []
        if self.mixed:
            tasks, large = tiling_scalar("largeTasks"), tiling_scalar("largeTiles")
            is_large = _IS_LARGE
            begin = select(is_large, tiling_scalar("smallPositions"), 0)
            parts = [
                Let(symbol=_IS_LARGE, value=tasks > TASK, why="all large tasks come before all small ones"),
                Let(symbol=_PART_TASK, value=TASK - select(is_large, 0, tasks)),
                Let(symbol=_TILES, value=select(is_large, large, tiles - large)),
                Let(symbol=PER_TASK, value=select(is_large, per_task, small)),
            ]
            tiles, task, per_task = _TILES, _PART_TASK, PER_TASK
        else:
            parts = [Let(symbol=PER_TASK, value=per_task)]
        order = self._longest_first(emit, task, tiles) if emit.longest_first else self._in_turn(task, tiles)
        return [*parts, *order, Let(symbol=FIRST_QUERY, value=begin + _TILE * PER_TASK)]

    @staticmethod
    def _in_turn(task: Expr, tiles: Expr) -> list[Statement]:
        """The positions of one head follow each other: cores share keys and values."""
        why = "positions of one head come in turn: cores share its keys and values in L2"
        return [Let(symbol=_TILE, value=task % tiles, why=why), Let(symbol=HEAD_TASK, value=task // tiles)]

    @staticmethod
    def _longest_first(emit: Emitter, task: Expr, tiles: Expr) -> list[Statement]:
        """The last positions of all heads of a batch row come first, which see most keys.

        Heads whose keys and values L2 does not hold together come in groups.
        """
        at_once = tiling_scalar(emit.label("headsAtOnce"))
        first = _IN_ROW // (tiles * at_once) * at_once
        return [
            Let(symbol=_HEAD_TASKS, value=tiling_scalar("kvHeads") * tiling_scalar("headTiles")),
            Let(symbol=_IN_ROW, value=task % (tiles * _HEAD_TASKS)),
            Let(
                symbol=_FIRST_HEAD_TASK,
                value=first,
                why="heads come in groups whose keys and values L2 holds together",
            ),
            Let(symbol=_WIDTH, value=minimum(at_once, _HEAD_TASKS - _FIRST_HEAD_TASK)),
            Let(symbol=_IN_GROUP, value=_IN_ROW - tiles * _FIRST_HEAD_TASK),
            Let(
                symbol=_TILE,
                value=tiles - 1 - _IN_GROUP // _WIDTH,
                why="the last positions of all heads of a group come first: they see most keys",
            ),
            Let(
                symbol=HEAD_TASK,
                value=task // (tiles * _HEAD_TASKS) * _HEAD_TASKS + _FIRST_HEAD_TASK + _IN_GROUP % _WIDTH,
            ),
        ]


def _share(emit: Emitter) -> tuple[Expr, Expr]:
    """:data:`_WORTH` as the plan has it: whole and parts."""
    total, parts = (
        emit.inventory.host_constant(name, value, meaning)
        for (name, meaning), value in zip(_SHARES, reversed(_WORTH), strict=True)
    )
    return total, parts


def _head_tasks_on_host() -> Expr:
    """Tasks of all heads of a batch row at the same positions, for the host."""
    return tiling_field_ref("kvHeads") * tiling_field_ref("headTiles")


def _tasks_abreast(emit: Emitter) -> Expr:
    """Tasks of all batch rows and heads at the same positions, a number of the host."""
    count = emit.signature.extents["B"] * _head_tasks_on_host()
    return emit.inventory.host_number("tasksAbreast", count, "tasks of all heads at the same positions")
