"""The reader of rows of one batch row and key/value head."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from attndsl.spec.contract.layout import Array

Index = tuple[Any, ...]


@dataclass
class RowReader:
    """Rows ``first .. first + count - 1`` of one batch row and key/value head.

    ``fetch(start, stop)`` gives absolute rows as (rows, channels) in the run's floating dtype. Where rows are
    read repeatedly, ``piece`` is not 0: pieces of that many rows are then converted once only.
    """

    first: int
    count: int
    fetch: Callable[[int, int], Array]
    piece: int = 0
    kept: dict[int, Array] = field(default_factory=dict)

    def read(self, start: int, stop: int) -> Array:
        """Absolute rows ``start .. stop - 1``, best within one piece."""
        offset = (start - self.first) % self.piece if self.piece else 0
        begin = start - offset
        if not self.piece or stop > begin + self.piece:
            return self.fetch(start, stop)
        if begin not in self.kept:
            self.kept[begin] = self.fetch(begin, min(begin + self.piece, self.first + self.count))
        return self.kept[begin][offset : stop - begin]
