"""What a run of a tile program did with its work: items of a core, halves, key tiles, ring slots, splits.

Counted at the cube cores' writes to the rings of a block, by the scalars that they have at that moment.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class RunFacts:
    """``tiles``: of the keys of an item, after splitting, at most; ``items``: of a core, at most; ``splits``:
    parts that keys are cut into, at most; ``reused``: whether a ring slot is written for a further tile of
    an item; ``halves``: of the rows of a task, at most."""

    tiles: int = 0
    items: int = 0
    splits: int = 0
    reused: bool = False
    halves: int = 1


class RingWrites:
    """The writes of a run to the rings of its blocks, by cube cores."""

    def __init__(self) -> None:
        self._tiles: dict[tuple[str, int, int], set[int]] = {}
        self._slots: dict[tuple[str, int, int, int], set[int]] = {}
        self._items: dict[tuple[str, int], set[int]] = {}
        self._splits: set[int] = set()
        self._halves: set[int] = {0}

    def add(self, ring: str, block: int, place: int, scalars: Mapping[str, Any]) -> None:
        """A write at element ``place`` of a ring."""
        tile, taken = scalars.get("tile"), scalars.get("item")
        if tile is None or taken is None:  # an earlier step does not keep the number of its item
            return
        item = int(taken)
        self._items.setdefault((ring, block), set()).add(item)
        self._tiles.setdefault((ring, block, item), set()).add(int(tile))
        self._slots.setdefault((ring, block, item, place), set()).add(int(tile))
        self._splits.add(int(scalars.get("split", 0)))
        self._halves.add(int(scalars.get("halfOfTask", 0)))

    def facts(self) -> RunFacts:
        """All of them together."""
        return RunFacts(
            tiles=max(map(len, self._tiles.values()), default=0),
            items=max(map(len, self._items.values()), default=0),
            splits=len(self._splits),
            halves=len(self._halves),
            reused=any(len(tiles) > 1 for tiles in self._slots.values()),
        )


_runs: ContextVar[list[RunFacts] | None] = ContextVar("runs", default=None)


@contextlib.contextmanager
def counted_runs() -> Iterator[list[RunFacts]]:
    """The facts of the runs inside, in this thread."""
    found: list[RunFacts] = []
    before = _runs.set(found)
    try:
        yield found
    finally:
        _runs.reset(before)


def count_run(writes: RingWrites) -> None:
    """A run has ended."""
    found = _runs.get()
    if found is not None:
        found.append(writes.facts())
