"""What rings demand of lengths: no row is attended that a later one was written over.

Row t lies in place ``t % size``, so that of ``length`` rows the last ``size`` are there. A window or a mask
keeps the rows before them out; where neither is proved to, the contract demands that there are none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from attndsl.expr import Const, Expr, Symbol
from attndsl.expr.conditions import comparisons
from attndsl.graph.nodes import (
    CacheAppend,
    Choose,
    Conditional,
    IndexCondition,
    Node,
    Replace,
    Ring,
    Rows,
    Scores,
    Selected,
    Softmax,
    WeightedSum,
    Windowed,
)
from attndsl.spec.contract.conditional_reads import ConditionalReads, chosen_rows
from attndsl.spec.contract.constraint import Constraint
from attndsl.spec.contract.element_bounds import Extents
from attndsl.spec.contract.element_reads import end_of
from attndsl.spec.contract.key_ranges import entry_or_number, number_of
from attndsl.spec.contract.known_conditions import known_of, with_followed
from attndsl.spec.contract.linear_sums import LinearSum, NeverNegative, facts_of
from attndsl.spec.errors import LengthRangeError

_B, _KEY = "b", Symbol("j")


@dataclass(frozen=True)
class _Read:
    """How the rows of a source are attended.

    Attributes:
        rows: the source.
        when: the condition under which it is read, if any.
        firsts: no row before any of these is attended: numbers of the batch row, head and query.
        written: how many rows are written before they are read, where a cache is appended to.
    """

    rows: Node
    when: Expr | None
    firsts: tuple[Expr, ...] = ()
    written: Node | None = None


@dataclass
class _Ring:
    """The reads of one ring that overwritten rows may reach, and whether they may in each of its reads."""

    everywhere: bool = True
    reads: list[tuple[Expr, Expr | None]] = field(default_factory=list)


def ring_row_constraints(root: Node, extents: Extents, known: Iterable[Constraint]) -> Iterator[Constraint]:
    """That a ring has no row before its last ``size`` ones where scores read it, unless these are hidden.

    What follows from the constraints in ``known`` is not demanded.
    """
    rules, found = list(known), dict[int, _Ring]()
    for read in _ring_reads(root):
        ring = read.rows
        assert isinstance(ring, Ring)
        count = entry_or_number(ring.length if read.written is None else read.written)
        if count is None:
            continue
        proof = extents.proof_where(rules, with_followed(known_of(read.when), rules))
        lost = count - ring.size  # rows, the first ones, that later ones were written over
        uses = found.setdefault(id(ring), _Ring())
        if proof.holds(0 - lost) or any(_begins_at(first, lost, extents, proof) for first in read.firsts):
            uses.everywhere = False
        else:
            uses.reads.append((count, read.when))
    for ring, when in ConditionalReads(root, lambda ring: id(ring) in found, Ring):
        uses = found.pop(id(ring), _Ring())
        # One rule where all reads need it: which mask is chosen does not matter then.
        needed = [(count, when) for count, _ in uses.reads] if uses.everywhere else uses.reads
        for count, asked in needed:
            rule = _rule(ring, count, asked, extents)
            if not any(_repeats(rule, other) for other in rules):
                rules.append(rule)
                yield rule


def _rule(ring: Ring, count: Expr, when: Expr | None, extents: Extents) -> Constraint:
    size, last = ring.size, f"maximum({count} - {ring.size}, 0)"
    return Constraint(
        count <= size,
        f"a ring has its last {size} rows: earlier ones are written over, and neither a window nor a mask "
        "hides them",
        LengthRangeError,
        when,
        {_B: extents.spans[_B]} if _B in count.symbols() | size.symbols() else {},
        hint=f"let the spec read attend.window(attend.ring(...), {last}, length=minimum({count}, {size})), "
        f"or hide rows by s.where(j >= {count} - {size})",
        where=ring.where,
    )


def _repeats(rule: Constraint, other: Constraint) -> bool:
    same_calls = other.when is None or (rule.when is not None and rule.when.same(other.when))
    return same_calls and rule.condition.same(other.condition)


def _begins_at(first: Expr, lost: Expr, extents: Extents, proof: NeverNegative) -> bool:
    """Whether rows from ``first`` on, whatever head and query it is of, are none of the ``lost`` ones."""
    spans: Mapping[str, tuple[Expr, Expr | None]] = {
        name: (Const(0), extent - 1) for name, extent in extents.spans.items() if name != _KEY.name
    }
    low = end_of(first, spans, low=True)
    return low is not None and proof.holds(low - lost)


# ------------------------------------------------------------------------------------------------
# How rings are read


def _ring_reads(root: Node) -> Iterator[_Read]:
    """The reads of rings with a length, on each way from a result to scores."""
    rings = {id(node) for node in root.walk() if isinstance(node, Ring) and not node.overwritten}
    if not rings:
        return
    above = {id(node) for node in root.walk() if any(id(each) in rings for each in node.walk())}
    open_, seen = [_Way(root)], set[tuple[object, ...]]()
    while open_:
        way = open_.pop()
        if (id(way.node) not in above and not way.values) or way.key in seen:
            continue
        seen.add(way.key)
        if isinstance(way.node, Scores):
            for rows in (way.node.keys, *way.values):
                yield from _rings_below(_Read(rows, way.when, way.firsts))
        open_ += way.below()


@dataclass(frozen=True)
class _Way:
    """A node on the way from a result to scores.

    Attributes:
        node: the node.
        when: the condition under which it is read, if any.
        firsts: no key before any of these has a weight.
        values: the values that the weights below are of.
    """

    node: Node
    when: Expr | None = None
    firsts: tuple[Expr, ...] = ()
    values: tuple[Rows, ...] = ()

    @property
    def key(self) -> tuple[object, ...]:
        """What tells it from other ways."""
        return id(self.node), self.when, self.firsts, tuple(id(each) for each in self.values)

    def below(self) -> Iterator[_Way]:
        """The ways on."""
        node = self.node
        if isinstance(node, Conditional | Choose):
            yield from (replace(self, node=each, when=when) for each, when in chosen_rows(node, self.when))
        elif isinstance(node, Replace):
            hides = node.value == float("-inf") or node.value == 0
            firsts = tuple(_firsts_shown(node.condition)) if hides else ()
            yield replace(self, node=node.source, firsts=(*self.firsts, *firsts))
        elif isinstance(node, WeightedSum):
            values = tuple(each for each in (node.values,) if any(isinstance(n, Ring) for n in each.walk()))
            yield _Way(node.weights, self.when, values=values)
        elif isinstance(node, Softmax):
            # What is 0 afterwards has its part in the sum that weights are divided by.
            yield replace(self, node=node.scores, firsts=())
        elif not isinstance(node, Scores | Rows):
            yield from (replace(self, node=each) for each in node.operands())


def _firsts_shown(hidden: Node) -> Iterator[Expr]:
    """The numbers that keys are no less than where a mask does not hide them."""
    if not isinstance(hidden, IndexCondition):
        return
    for part in comparisons(hidden.condition, holds=False):
        for fact in facts_of(part):
            rest = fact.plus(LinearSum({_KEY: 1}, 0), -1)
            if fact.terms.get(_KEY) == 1 and _KEY.name not in rest.expression().symbols():
                yield LinearSum({}, 0).plus(rest, -1).expression()


def _rings_below(read: _Read) -> Iterator[_Read]:
    """The rings that a source is made of."""
    for rows, when in chosen_rows(read.rows, read.when):
        here = replace(read, rows=rows, when=when)
        if isinstance(rows, Ring):
            if not rows.overwritten:
                yield here
        elif isinstance(rows, Windowed):
            start = number_of(rows.start)
            firsts = read.firsts if start is None else (*read.firsts, start)
            yield from _rings_below(replace(here, rows=rows.source, firsts=firsts))
        elif isinstance(rows, Selected):
            yield from _rings_below(replace(here, rows=rows.source))
        elif isinstance(rows, CacheAppend):
            # New rows are read where they come from, and written afterwards.
            yield from _rings_below(replace(here, rows=rows.cache, written=rows.position))
