"""What the writer of statements asks of those inside others: the scalars that they define, the buffers that
they touch."""

from __future__ import annotations

from collections.abc import Iterable

from attndsl.expr import Symbol
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import Instruction
from attndsl.tile.scalars import binds
from attndsl.tile.statements import Let, Stage, Statement


def places_of(statements: Iterable[Statement], first: int = 0) -> dict[str, int]:
    """The scalars that statements define, numbered from ``first`` on in the order of their definitions.

    One that is another name of an earlier one stands with it: a batch row with the token that it is.
    """
    places: dict[str, int] = {}
    for item in statements:
        for name in binds(item):
            other = item.value if isinstance(item, Let) else None
            here = places.get(other.name) if isinstance(other, Symbol) else None
            places.setdefault(name, first + len(places) if here is None else here)
    return places


def touched_inside(statement: Statement) -> set[Buffer]:
    """The buffers that instructions inside read or write."""
    return {
        buffer
        for item in statement.walk()
        if isinstance(item, Instruction)
        for buffer in (*item.reads(), *item.writes())
    }


def touched_here(statement: Statement) -> set[Buffer]:
    """Those that instructions outside of the stages inside read or write."""
    if isinstance(statement, Stage):
        return set()
    if isinstance(statement, Instruction):
        return touched_inside(statement)
    return {buffer for child in statement.children() for buffer in touched_here(child)}
