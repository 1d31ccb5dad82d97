"""A defect: one change of one place of a text, by the class of the mistake."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from attndsl.mutate.instructions import EmittedText
from attndsl.mutate.source_model import Span


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
