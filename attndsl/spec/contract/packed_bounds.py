"""What packed rows demand, whoever tells where they end: the rows of each batch row are rows that there are.

Prefix sums that ``op.prefix_sums`` declares have rules of their own; what follows from these is not demanded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from attndsl.expr import Expr, Load, Symbol
from attndsl.expr.argument_facts import longest_of
from attndsl.expr.reductions import Fold
from attndsl.graph.nodes import Input, Node, Packed, PackedQueries
from attndsl.spec.contract.capacity import over_batch
from attndsl.spec.contract.conditional_reads import ConditionalReads
from attndsl.spec.contract.constraint import Constraint
from attndsl.spec.contract.element_bounds import Extents
from attndsl.spec.contract.key_ranges import end_of_row, entry_or_number, first_of_row
from attndsl.spec.contract.stated_rules import (
    AT_LEAST,
    AT_MOST,
    StatedRules,
    at_least,
    bounds_number,
    is_number,
    never_negative,
)
from attndsl.spec.errors import LengthRangeError

_B = Symbol("b")


def packed_constraints(
    root: Node,
    extents: Extents,
    definitions: Mapping[str, Expr],
    known: Iterable[Constraint],
    authored: Iterable[Constraint],
) -> Iterator[Constraint]:
    """That the ends of batch rows begin at 0 or above and do not decrease, that the last is at most the rows
    of the tensor, and that no batch row is longer than the axis of its positions; of lengths likewise.

    ``definitions``: of sizes, which prefix sums may tell. What follows from the constraints in ``known`` is
    not demanded; a length that a rule of the author's bounds, one of ``authored`` among them, is left to him.
    """
    stated, said = StatedRules(known), StatedRules(authored)
    for node, when in ConditionalReads(root, _is_packed, Node):
        assert isinstance(node, Packed | PackedQueries)
        along, positions = ("U", "T") if isinstance(node, Packed) else ("S", "Q")
        if not {"B", along} <= extents.axes.keys():
            continue
        room = _Room(extents.axes[along], extents.axes.get(positions), extents, definitions)
        if isinstance(node.ends, Input):
            rules = _of_ends(node.ends.name, room, when, stated)
        elif (count := entry_or_number(node.length)) is not None:
            rules = _of_lengths(count, room, said)
        else:
            continue
        yield from stated.unsaid(
            Constraint(
                condition,
                text,
                LengthRangeError,
                when,
                over_batch(condition, extents.axes),
                name,
                where=node.where,
            )
            for text, condition, name in rules
        )


@dataclass(frozen=True)
class _Room:
    """What packed rows have to keep to.

    Attributes:
        rows: the rows of the tensor. ``longest``: the extent of the positions of a batch row, if it has one.
        extents: the sizes of the contract. ``definitions``: what they are defined by.
    """

    rows: Expr
    longest: Expr | None
    extents: Extents
    definitions: Mapping[str, Expr]

    def holds(self, told: Expr) -> bool:
        """Whether no batch row is too long: all rows together are not, or the longest one, which ``told``
        tells, is what the positions are made of."""
        if self.longest is None or self.longest.same(self.rows):
            return True
        return at_least(self._behind(self.longest), told)

    def _behind(self, extent: Expr) -> Expr:
        known = {name: self.definitions[name] for name in extent.symbols() & self.definitions.keys()}
        return self._behind(extent.substitute(known)) if known else extent


def _of_ends(
    name: str, room: _Room, when: Expr | None, stated: StatedRules
) -> Iterator[tuple[str, Expr, str]]:
    """Words, condition and argument of what the ends of batch rows have to keep."""
    end, start = end_of_row(name), first_of_row(name)
    last = Load(name, room.extents.axes["B"] - 1)
    yield "prefix sums must begin at 0 or above and not decrease", end >= start, name
    proof = room.extents.proof(stated.rules, when)
    if not any(proof.holds(room.rows - each) for each in (last, end)):
        yield f"no prefix sum may exceed {room.rows}, the rows there are", end <= room.rows, name
    if room.longest is not None and not room.holds(longest_of(name)):
        yield f"no batch row may have more than {room.longest} rows", end - start <= room.longest, name


def _of_lengths(count: Expr, room: _Room, said: StatedRules) -> Iterator[tuple[str, Expr, str]]:
    """The same of their lengths."""
    if not never_negative(count) and not said.bounds_anywhere(AT_LEAST, is_number(count)):
        yield "must not be negative", count >= 0, ""
    batch = room.extents.axes["B"]
    if not said.bounds_anywhere(AT_MOST, lambda expr: _is_fold("sum", expr, _reads(count))):
        total = Fold("sum", count, _B.name, batch)
        yield f"must add up to at most {room.rows}, the rows there are", total <= room.rows, ""
    longest = Fold("max", count, _B.name, batch)
    if room.longest is None or room.holds(longest) or said.bounds_anywhere(AT_MOST, bounds_number(count)):
        return
    yield f"must be at most {room.longest}", count <= room.longest, ""


def _is_fold(op: str, expr: Expr, read: set[str]) -> bool:
    return isinstance(expr, Fold) and expr.op == op and _reads(expr) >= read


def _reads(expr: Expr) -> set[str]:
    return {each.source for each in expr.walk() if isinstance(each, Load)}


def packed_facts(root: Node, extents: Extents) -> Iterator[Constraint]:
    """What follows for the rows of each batch row: the first is not negative, the last one of the tensor."""
    for node, when in ConditionalReads(root, _is_packed, Node):
        assert isinstance(node, Packed | PackedQueries)
        along = "U" if isinstance(node, Packed) else "S"
        if isinstance(node.ends, Input) and {"B", along} <= extents.axes.keys():
            name, over = node.ends.name, {_B.name: extents.axes["B"]}
            yield Constraint(first_of_row(name) >= 0, "", when=when, over=over)
            yield Constraint(end_of_row(name) <= extents.axes[along], "", when=when, over=over)


def _is_packed(node: Node) -> bool:
    return isinstance(node, Packed | PackedQueries)
