"""Other expressions in the fields of one statement, not in what is inside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from attndsl.expr import Expr, Symbol
from attndsl.tile.buffers import GlobalRegion, Region
from attndsl.tile.comparison import compared_fields
from attndsl.tile.scalars import binds, extents_of
from attndsl.tile.statements import Statement


def with_own_expressions(item: Statement, change: Callable[[Expr], Expr]) -> Statement:
    """The statement with ``change`` of the expressions of its own fields, those of regions among them.

    The scalars that it defines stay.
    """
    bound, changes = binds(item), dict[str, Any]()
    for name in compared_fields(type(item)):
        value = getattr(item, name)
        if isinstance(value, Symbol) and value.name in bound:
            continue
        if isinstance(value, Expr):
            changes[name] = change(value)
        elif isinstance(value, Region | GlobalRegion):
            offset, rows, cols, pitch = map(change, extents_of(value))
            changes[name] = replace(value, offset=offset, rows=rows, cols=cols, pitch=pitch)
    return replace(item, **changes) if changes else item
