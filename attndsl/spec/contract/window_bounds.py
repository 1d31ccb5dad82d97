"""What windows of rows demand: their rows are rows of the source that they are windows of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attndsl.expr import Load
from attndsl.graph.nodes import Node, Windowed
from attndsl.spec.contract.conditional_reads import ConditionalReads, both
from attndsl.spec.contract.constraint import Constraint
from attndsl.spec.contract.element_bounds import Extents
from attndsl.spec.contract.key_ranges import number_of
from attndsl.spec.contract.linear_sums import linear_sum
from attndsl.spec.errors import LengthRangeError

_B = "b"


def window_constraints(root: Node, extents: Extents, known: Iterable[Constraint]) -> Iterator[Constraint]:
    """That windows begin with row 0 or behind it, and end with the last row of their source at the latest.

    What follows from the constraints in ``known`` is not demanded.
    """
    stored, spans, rules = extents.stored, extents.spans, list(known)
    for window, when in ConditionalReads(root, lambda rows: True, Windowed):
        start, count = number_of(window.start), number_of(window.length)
        if start is None or count is None:
            continue
        for source in stored.keys_of(window.source):
            asked = both(when, source.when)
            proof = extents.proof(rules, asked)
            ends = [last + 1 - start - count for last in source.lasts]
            for rooms, text in (
                ([start], "a window begins with row 0 of its source, or behind it"),
                (ends, "the rows of a window are rows of its source"),
            ):
                if not rooms or any(proof.holds(room) for room in rooms):
                    continue
                room = linear_sum(rooms[-1]).expression()  # that of the rows that are counted, if they are
                counted = any(isinstance(each, Load) for each in room.walk())
                rule = Constraint(
                    room >= 0,
                    text,
                    LengthRangeError,
                    asked,
                    {_B: spans[_B]} if counted else {},
                    where=window.where,
                )
                if not any(rule.condition.same(other.condition) for other in rules):
                    rules.append(rule)
                    yield rule
