"""Definitions of scalars as C++ lines."""

from __future__ import annotations

from collections.abc import Iterator

from attndsl.codegen.names.members import scalar
from attndsl.codegen.names.spelling import Spelling
from attndsl.expr import Const, Select
from attndsl.tile.statements import Let

_INDENT = "    "
_MANY_CASES = 3
"""Conditions of a definition that is written in branches, at least."""


def let_lines(let: Let, spelling: Spelling, place: str | None = None) -> Iterator[str]:
    """A definition and why it is there. ``place``: what has the value, unless it is a constant of its own.

    One that chooses by many conditions has branches, where a number is left without them: a choice inside a
    choice inside a choice is hard to read, and any other rest may not hold before.
    """
    if let.why:
        yield f"// {let.why}"
    if place is not None:
        yield f"{place} = {spelling.expr(let.value)};"
        return
    name = scalar(let.symbol)
    cases, rest = list[Select](), let.value
    while isinstance(rest, Select):
        cases.append(rest)
        rest = rest.otherwise
    if len(cases) < _MANY_CASES or not isinstance(rest, Const):
        yield f"const {'bool' if let.is_condition else 'int64_t'} {name} = {spelling.expr(let.value)};"
        return
    yield f"int64_t {name} = {spelling.expr(rest)};"
    for place_of_case, case in enumerate(cases):
        yield f"{'} else ' if place_of_case else ''}if ({spelling.expr(case.condition)}) {{"
        yield f"{_INDENT}{name} = {spelling.expr(case.then)};"
    yield "}"
