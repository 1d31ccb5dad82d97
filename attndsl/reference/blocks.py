"""Blocks of the score space: one batch row, the heads of one key/value head, some queries, some keys."""

from __future__ import annotations

from dataclasses import dataclass, field

from attndsl.reference.row_reader import Index, RowReader
from attndsl.spec.contract.layout import Array


@dataclass(slots=True)
class Part:
    """A stretch of keys (absolute rows) before some queries, and what is known there of index conditions.

    ``known``: the one value that a condition has, or None, by node. All of them are false but for the keys
    ``masked``; ``masks``: the values of conditions there, so far as they are kept.
    """

    keys: slice
    known: dict[int, bool | None] = field(default_factory=dict)
    masked: slice = field(default_factory=lambda: slice(0, 0))
    masks: dict[int, Array] = field(default_factory=dict)


@dataclass(slots=True)
class Block:
    """A block. ``readers``: by the rows node they read; ``query_rows`` and ``values``: by node, what has been
    computed of it for these queries, and for these keys as well.

    ``location``: where the rows of these heads and queries lie in results; ``shape``: heads, queries and
    keys.
    """

    b: int
    k: int
    heads: slice
    queries: slice
    part: Part
    readers: dict[int, RowReader]
    query_rows: dict[int, Array]
    location: Index
    values: dict[int, Array] = field(default_factory=dict)
    shape: tuple[int, int, int] = field(init=False)

    def __post_init__(self) -> None:
        heads, queries, keys = self.heads, self.queries, self.part.keys
        self.shape = (heads.stop - heads.start, queries.stop - queries.start, keys.stop - keys.start)

    @property
    def keys(self) -> slice:
        """The keys, as absolute rows."""
        return self.part.keys

    @property
    def tokens(self) -> slice:
        """The queries as they are numbered in results: those of packed ones as tokens."""
        tokens: slice = self.location[-1]
        return tokens

    def over(self, part: Part) -> Block:
        """The same queries over other keys, of which nothing has been computed yet."""
        place = (self.b, self.k, self.heads, self.queries, part)
        return Block(*place, self.readers, self.query_rows, self.location)
