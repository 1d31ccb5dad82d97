"""A score modifier, lowered: what to load once a tile (shared by all rows), what to load with the rows, and
what to do to the scores.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from attndsl.schedule.context import Context
from attndsl.tile.buffers import Buffer
from attndsl.tile.statements import Statement

Emit = Callable[[Context], list[Statement]]


def _nothing(context: Context) -> list[Statement]:
    return []


@dataclass(frozen=True, kw_only=True)
class ScoreStep:
    """One modifier, lowered.

    Attributes:
        title: what it does, in the spec's terms.
        tile_loads: buffers loaded once a tile. ``row_loads``: buffers loaded with each chunk of rows.
        scratch: further vector buffers.
        load_tile, prepare_tile: statements at the start of a tile.
        load_rows, apply: statements for each chunk of rows, before and after the scores have arrived.
    """

    title: str
    tile_loads: tuple[Buffer, ...] = ()
    row_loads: tuple[Buffer, ...] = ()
    scratch: tuple[Buffer, ...] = ()
    load_tile: Emit = field(default=_nothing)
    prepare_tile: Emit = field(default=_nothing)
    load_rows: Emit = field(default=_nothing)
    apply: Emit = field(default=_nothing)
