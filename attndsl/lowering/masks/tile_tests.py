"""Tests that blocks of neighbouring keys pass or fail as a whole, by which tasks skip tiles of keys."""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.expr import Compare, Expr


@dataclass(frozen=True, slots=True)
class TileTest:
    """What each key that a row sees passes, the same for all keys of a block.

    Attributes:
        condition: a spec condition on b, n, i and j.
        keys: the keys of a block, a number of the host: blocks begin at its multiples.
    """

    condition: Compare
    keys: Expr
