"""A defect: one change of one place of a text, by the class of the mistake."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from attndsl.mutate.instructions import EmittedText
from attndsl.mutate.source_model import Span

COMPARISON = re.compile(r"(?<= )(<=|>=|<|>)(?= )")
FLIPPED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
"""Comparisons that differ where both sides are equal alone."""


@dataclass(frozen=True, slots=True)
class Defect:
    """``span`` of a text becomes ``after``. ``kind``: the class of the mistake."""

    kind: str
    span: Span
    after: str


Rule = Callable[[EmittedText], Iterable[Defect]]
"""All defects of some class that a text has a place for."""


def defects_of(source: EmittedText, rules: Iterable[Rule]) -> Iterator[Defect]:
    """The defects of several rules that change the text, in the order of their places, each once."""
    found = {
        (each.span.start, each.span.end, each.after): each
        for rule in rules
        for each in rule(source)
        if source.at(each.span) != each.after
    }
    yield from (found[key] for key in sorted(found))


def dropped(kind: str, span: Span) -> Defect:
    """The statement in ``span`` left out."""
    return Defect(kind, span, ";")


def flipped(kind: str, source: EmittedText, span: Span) -> Iterator[Defect]:
    """Each comparison in ``span`` that takes one more or one less."""
    for match in COMPARISON.finditer(source.code, span.start, span.end):
        yield Defect(kind, Span(*match.span(1)), FLIPPED[match[1]])
