"""The next schedule to try where one does not fit: what gives way first, memory by memory."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import asdict, replace
from math import gcd

from attndsl.lowering.match.schedule_options import BAND_ROWS, ROW_STEP, Schedule
from attndsl.target import Architecture

_WIDE = 128 * 128
"""Elements of a right operand from which its depth is halved first."""
_LEAST_DEPTH = 64
_TILE_OF_MANY_ROWS = 256
"""Keys of a tile to which it shrinks before a task has fewer rows, of which larger tiles may have room."""
_LEAST_ROWS = 64


def smaller(
    schedule: Schedule, stated: Mapping[str, object], architecture: Architecture, space: str = "UB"
) -> Schedule | None:
    """The next schedule to try when one does not fit into ``space``; only what the author left open changes.

    In the unified buffer probabilities travel as rows first, which takes 96 bytes less. In L1 the queries of
    the next item wait first, then keys do not stay until they are values, then copies of values become
    narrow. A task of one band of rows is next: there is time to read keys again while the
    vector cores work. Then results, which are loaded once a tile, have one slot, and so has all else of
    latent rows. Fewer rows a vector step cost what instructions wait for each other. Fewer rows a task, down
    to 64, fill the cube badly: tiles of 256 keys are tried before. Smaller tiles cost more exchanges between
    the cores, a single slot costs the overlap of copies and computation, and still fewer rows a task come
    last.
    """
    may = {name for name in asdict(schedule) if name not in stated}
    widest = max(schedule.base_n, schedule.columns)
    if "base_k" in may and widest * schedule.base_k > _WIDE and schedule.base_k > _LEAST_DEPTH:
        return replace(schedule, base_k=schedule.base_k // 2 // 16 * 16)
    if space == "UB" and "prob_layout" in may and schedule.prob_layout != "rows":
        return replace(schedule, prob_layout="rows")
    if space == "L1" and (narrower := _with_less_in_l1(schedule, may)) is not None:
        return narrower
    fewer = _with_fewer_rows(schedule, may, architecture)
    if fewer is not None and fewer.max_rows >= BAND_ROWS:
        return fewer
    if "result_slots" in may and space == "UB" and schedule.result_slots > 1:
        return replace(schedule, result_slots=1)
    latent = schedule.value_width != "auto"
    if latent and "slots" in may and space == "UB" and schedule.rows > ROW_STEP and schedule.slots > 1:
        return replace(schedule, slots=1)
    if "rows" in may and space == "UB" and schedule.rows % (2 * ROW_STEP) == 0:
        slots = schedule.slots if "result_slots" in may else schedule.result_slots
        return replace(schedule, rows=schedule.rows // 2, result_slots=slots)
    if "result_rows" in may and space == "UB" and schedule.result_rows != "auto":
        return replace(schedule, result_rows="auto")
    may_shrink = "tile_k" in may and schedule.tile_k % 128 == 0
    if may_shrink and space == "UB" and schedule.tile_k > _TILE_OF_MANY_ROWS:
        return replace(schedule, tile_k=schedule.tile_k // 2)
    if fewer is not None and fewer.max_rows >= _LEAST_ROWS:
        halved = may_shrink and space == "UB" and schedule.tile_k == _TILE_OF_MANY_ROWS
        return replace(fewer, tile_k=2 * _TILE_OF_MANY_ROWS) if halved else fewer
    if may_shrink and schedule.tile_k > 128:
        return replace(schedule, tile_k=schedule.tile_k // 2)
    if "slots" in may and schedule.slots > 1:
        return replace(schedule, slots=1, result_slots=1 if "result_slots" in may else schedule.result_slots)
    if may_shrink:
        return replace(schedule, tile_k=schedule.tile_k // 2)
    return fewer


def _with_less_in_l1(schedule: Schedule, may: Set[str]) -> Schedule | None:
    """One place for queries, then keys that do not stay, then narrow copies of values; None where all is so,
    or stated."""
    if "query_slots" in may and schedule.query_slots == "auto":
        return replace(schedule, query_slots=1)
    latent = schedule.value_width != "auto"
    if latent and "value_source" in may and schedule.value_source == "auto":
        return replace(schedule, value_source="memory")
    if "value_width" in may and schedule.value_width != "auto":
        return replace(schedule, value_width="auto")
    return None


def with_fewer_events(
    schedule: Schedule, stated: Mapping[str, object], architecture: Architecture
) -> Schedule | None:
    """The next schedule to try when a pipe pair has too few event ids: each slot of a buffer takes one.

    Buffers of results lose their second slot first: most are used once an item, others once a tile.
    """
    for name in ("result_slots", "slots"):
        if name not in stated and getattr(schedule, name) > 1:
            return replace(schedule, **{name: 1})  # type: ignore[arg-type]
    return smaller(schedule, stated, architecture)


def _with_fewer_rows(schedule: Schedule, may: Set[str], architecture: Architecture) -> Schedule | None:
    """Half the rows a task, and of those of a step what divides a core's; None where they may not change."""
    fewer = replace(schedule, max_rows=schedule.max_rows // 2)
    per_core = fewer.rows_per_core(architecture)
    if "max_rows" not in may or per_core % ROW_STEP:
        return None
    if isinstance(fewer.result_rows, int) and per_core % fewer.result_rows:
        if "result_rows" not in may:
            return None
        fewer = replace(fewer, result_rows="auto")
    if "rows" in may:
        return replace(fewer, rows=gcd(schedule.rows, per_core))
    return fewer if per_core % schedule.rows == 0 else None
