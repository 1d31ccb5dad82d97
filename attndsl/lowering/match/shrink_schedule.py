"""The next schedule to try where one does not fit: what gives way first, memory by memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, replace
from math import gcd

from attndsl.lowering.match.schedule_options import BAND_ROWS, ROW_STEP, Schedule
from attndsl.target import Architecture

_WIDE = 128 * 128
"""Elements of a right operand from which its depth is halved first."""
_LEAST_DEPTH = 64
_TILE_OF_MANY_ROWS = 256
"""Keys of a tile to which it shrinks before a task has fewer rows, of which larger tiles may have room."""
_LEAST_ROWS = 64
_USUAL_ROWS = Schedule().rows


@dataclass(frozen=True, kw_only=True)
class Room:
    """What a schedule may become.

    Attributes:
        architecture: the device that it is for.
        stated: options that somebody states, or the computation, which stay.
        least: values that options do not go below.
        gathers: whether a schedule has weighted sums added up in the workspace, so that few are in the
            unified buffer. To tell takes a lowering of its own: it is asked where an option depends on it.
    """

    architecture: Architecture
    stated: Set[str] = frozenset()
    least: Mapping[str, int] | None = None
    gathers: Callable[[Schedule], bool] = lambda schedule: False

    def is_open(self, option: str) -> bool:
        """Whether the option may change."""
        return option not in self.stated

    def takes(self, schedule: Schedule, was: Schedule) -> bool:
        """Whether no option has come below its least value; an author may have put it there."""
        least = (self.least or {}).items()
        return all(getattr(schedule, name) >= min(value, getattr(was, name)) for name, value in least)


Change = Callable[[Schedule, Room], Schedule | None]
"""The schedule in which an option gives way; None where it does not."""


@dataclass(frozen=True, slots=True)
class Step:
    """An option that gives way, where nobody states it.

    Attributes:
        option: its name. ``space``: the memory in which that makes room, or "" where it may help in any.
        change: the schedule with its next value. ``why``: why it gives way before what is behind it.
    """

    option: str
    space: str
    change: Change
    why: str


def smaller(schedule: Schedule, room: Room, space: str = "UB") -> Schedule | None:
    """The next schedule to try when one does not fit into ``space``: the first of :data:`STEPS` that changes
    it; None where none does."""
    for step in STEPS:
        if room.is_open(step.option) and step.space in ("", space):
            found = step.change(schedule, room)
            if found is not None and room.takes(found, schedule):
                return found
    return None


def with_fewer_events(schedule: Schedule, room: Room) -> Schedule | None:
    """The next schedule to try when a pipe pair has too few event ids: each slot of a buffer takes one.

    Buffers of results lose their second slot first: most are used once an item, others once a tile.
    """
    for name in ("result_slots", "slots"):
        if room.is_open(name) and getattr(schedule, name) > 1:
            return replace(schedule, **{name: 1})  # type: ignore[arg-type]
    return smaller(schedule, room)


# Changes ------------------------------------------------------------------------------------------------


def _less_depth(schedule: Schedule, room: Room) -> Schedule | None:
    columns, depth = max(schedule.base_n, schedule.columns), schedule.base_k
    wide = columns * depth > _WIDE and depth > _LEAST_DEPTH
    return replace(schedule, base_k=depth // 2 // 16 * 16) if wide else None


def _to(option: str, value: int | str) -> Change:
    """The option has this value."""

    def change(schedule: Schedule, room: Room) -> Schedule | None:
        changed = getattr(schedule, option) != value
        return replace(schedule, **{option: value}) if changed else None  # type: ignore[arg-type]

    return change


def _keys_in_parts(schedule: Schedule, room: Room) -> Schedule | None:
    """Keys come part by part; queries may have their slots again."""
    if schedule.key_copies == "parts":
        return None
    slots = "auto" if room.is_open("query_slots") else schedule.query_slots
    return replace(schedule, key_copies="parts", query_slots=slots)


def _shorter_values(schedule: Schedule, room: Room) -> Schedule | None:
    """Blocks of values, and parts of whole keys, of three quarters: those of keys are as large as ever."""
    usual = Schedule().base_k
    if schedule.key_copies != "whole" or schedule.query_slots != "auto" or schedule.base_k != usual:
        return None
    return replace(schedule, base_k=usual * 3 // 4)


def _one_slot_of_queries(schedule: Schedule, room: Room) -> Schedule | None:
    """The second slot of queries; blocks of values that were to make room for it are as long again."""
    if schedule.query_slots != "auto":
        return None
    long = schedule.key_copies == "whole" and room.is_open("base_k")
    return replace(schedule, query_slots=1, base_k=Schedule().base_k if long else schedule.base_k)


def _where(holds: Callable[[Schedule], bool], change: Change) -> Change:
    """The change of the schedules for which a condition holds."""
    return lambda schedule, room: change(schedule, room) if holds(schedule) else None


def _has_latent_rows(schedule: Schedule) -> bool:
    return schedule.value_width != "auto"


def _fewer_rows(least: int, tiles_grow: bool = False) -> Change:
    """Half the rows a task, at least so many, and of those of a step what divides a core's.

    ``tiles_grow``: a tile that had to shrink first is tried as large again.
    """

    def change(schedule: Schedule, room: Room) -> Schedule | None:
        fewer = replace(schedule, max_rows=schedule.max_rows // 2)
        per_core = fewer.rows_per_core(room.architecture)
        if per_core % ROW_STEP or fewer.max_rows < least:
            return None
        if isinstance(fewer.result_rows, int) and per_core % fewer.result_rows:
            if not room.is_open("result_rows"):
                return None
            fewer = replace(fewer, result_rows="auto")
        if tiles_grow and room.is_open("tile_k") and fewer.tile_k == _TILE_OF_MANY_ROWS:
            fewer = replace(fewer, tile_k=2 * _TILE_OF_MANY_ROWS)
        if room.is_open("rows"):
            return replace(fewer, rows=gcd(schedule.rows, per_core))
        return fewer if per_core % schedule.rows == 0 else None

    return change


def _few_results(schedule: Schedule, room: Room) -> Schedule | None:
    """As few rows of sums a step as there may be, where they are loaded once an item."""
    open_rows = schedule.result_rows == "auto" and schedule.rows != ROW_STEP
    return replace(schedule, result_rows=ROW_STEP) if open_rows and room.gathers(schedule) else None


def _row_sums(was: str, becomes: str) -> Change:
    """Steps leave less of their row sums, where many rows leave more by themselves."""

    def change(schedule: Schedule, room: Room) -> Schedule | None:
        leaves = schedule.row_sums == was and room.gathers(schedule)
        return replace(schedule, row_sums=becomes) if leaves else None

    return change


def _has_narrow_scores(schedule: Schedule) -> bool:
    return schedule.score_dtype == "float16"


def _fewer_rows_of_narrow_scores(schedule: Schedule, room: Room) -> Schedule | None:
    """As many rows a step as with other scores, where somebody has left both open."""
    if schedule.rows <= _USUAL_ROWS or not room.is_open("result_rows"):
        return None
    return replace(schedule, rows=_USUAL_ROWS, result_rows="auto")


def _fewer_rows_a_step(schedule: Schedule, room: Room) -> Schedule | None:
    """Half the rows of a vector step; results of fewer rows may have their slots again."""
    if schedule.rows % (2 * ROW_STEP):
        return None
    slots = schedule.slots if room.is_open("result_slots") else schedule.result_slots
    return replace(schedule, rows=schedule.rows // 2, result_slots=slots)


def _smaller_tile(above: int) -> Change:
    """Half the keys of a tile of more than so many."""

    def change(schedule: Schedule, room: Room) -> Schedule | None:
        halves = schedule.tile_k % 128 == 0 and schedule.tile_k > above
        return replace(schedule, tile_k=schedule.tile_k // 2) if halves else None

    return change


def _single_slots(schedule: Schedule, room: Room) -> Schedule | None:
    if schedule.slots == 1:
        return None
    results = 1 if room.is_open("result_slots") else schedule.result_slots
    return replace(schedule, slots=1, result_slots=results)


STEPS: tuple[Step, ...] = (
    Step("base_k", "", _less_depth, "many columns leave no room for the whole depth of an operand"),
    Step("row_sums", "UB", _row_sums("auto", "blocks"), "all lanes of rows save one instruction a step"),
    Step("prob_layout", "UB", _to("prob_layout", "rows"), "rows of probabilities take 96 bytes less"),
    Step("result_rows", "UB", _few_results, "sums in the workspace come once an item"),
    Step("row_sums", "UB", _row_sums("blocks", "step"), "row sums of each step are few instructions more"),
    Step("base_k", "L1", _shorter_values, "shorter blocks of values leave room for the next item's queries"),
    Step("query_slots", "L1", _one_slot_of_queries, "the queries of the next item can wait"),
    Step("key_copies", "L1", _keys_in_parts, "parts of keys take more time, whole ones more room"),
    Step(
        "value_source",
        "L1",
        _where(lambda s: _has_latent_rows(s) and s.value_source == "auto", _to("value_source", "memory")),
        "keys that do not stay until they are values are read again",
    ),
    Step("value_width", "L1", _to("value_width", "auto"), "narrow copies of values are more copies"),
    Step(
        "rows",
        "UB",
        _where(_has_narrow_scores, _fewer_rows_of_narrow_scores),
        "many rows a step are for sums in the workspace",
    ),
    Step(
        "halves",
        "",
        _where(lambda s: s.halves == "auto" and s.max_rows > BAND_ROWS, _to("halves", "none")),
        "tasks of two halves have twice the state of rows in flight, and more of L1",
    ),
    Step(
        "max_rows",
        "",
        _fewer_rows(BAND_ROWS),
        "with one band of rows there is time to read keys again while the vector cores work",
    ),
    Step("result_slots", "UB", _to("result_slots", 1), "results are loaded once a tile"),
    Step(
        "few_keys",
        "UB",
        _where(lambda s: s.few_keys == "auto", _to("few_keys", "same")),
        "twice the rows for few keys help some items alone",
    ),
    Step(
        "slots",
        "UB",
        _where(lambda s: _has_latent_rows(s) and s.rows > ROW_STEP, _to("slots", 1)),
        "latent rows have few rows a step, for which instructions wait for each other",
    ),
    Step("rows", "UB", _fewer_rows_a_step, "with fewer rows a step instructions wait for each other"),
    Step("result_rows", "UB", _to("result_rows", "auto"), "results have steps as scores have"),
    Step(
        "tile_k",
        "UB",
        _smaller_tile(_TILE_OF_MANY_ROWS),
        "smaller tiles are more exchanges",
    ),
    Step("max_rows", "UB", _fewer_rows(_LEAST_ROWS, tiles_grow=True), "fewer rows fill the cube badly"),
    Step("max_rows", "", _fewer_rows(_LEAST_ROWS), "fewer rows fill the cube badly"),
    Step("tile_k", "", _smaller_tile(128), "still smaller tiles are still more exchanges"),
    Step("slots", "", _single_slots, "with a single slot copies and computation do not overlap"),
    Step("tile_k", "", _smaller_tile(0), "tiles of 64 keys are half a matrix multiply"),
    Step("max_rows", "", _fewer_rows(0), "still fewer rows a task come last"),
)
"""What gives way, in this order."""
