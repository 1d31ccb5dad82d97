"""What rings demand: at least one place, since row t lives in place t % size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attndsl.expr import Load, Symbol
from attndsl.graph.nodes import Node, Ring
from attndsl.spec.contract.conditional_reads import ConditionalReads
from attndsl.spec.contract.constraint import Constraint
from attndsl.spec.contract.element_bounds import Extents
from attndsl.spec.contract.known_conditions import known_of, with_followed
from attndsl.spec.errors import LengthRangeError, SpecError

_B = "b"


class NoPlaceError(SpecError):
    """A ring has no place, whatever a call passes."""


def ring_constraints(root: Node, extents: Extents, known: Iterable[Constraint]) -> Iterator[Constraint]:
    """That rings have at least one place.

    What follows from the constraints in ``known`` is not demanded.

    Raises:
        NoPlaceError: none of them has.
    """
    rules = list(known)
    for ring, when in ConditionalReads(root, lambda rows: True, Ring):
        proof = extents.proof_where(rules, with_followed(known_of(when), rules))
        if proof.holds(ring.size - 1):
            continue
        if not any(isinstance(node, Symbol | Load) for node in ring.size.walk()):
            raise NoPlaceError(f"a ring of {ring.size} places keeps no row; it has at least 1", ring.where)
        over = {_B: extents.spans[_B]} if _B in ring.size.symbols() else {}
        text = "a ring has at least 1 place"
        rule = Constraint(ring.size > 0, text, LengthRangeError, when, over, where=ring.where)
        rules.append(rule)
        yield rule
