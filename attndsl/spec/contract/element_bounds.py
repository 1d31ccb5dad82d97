"""What reads by index demand of sizes: an element that is read has to be there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from attndsl.base.source_location import SourceLine
from attndsl.expr import Const, Expr, Load, Symbol, maximum, minimum
from attndsl.expr.argument_facts import given
from attndsl.expr.conditions import comparisons, conjuncts
from attndsl.expr.reductions import Fold
from attndsl.graph.nodes import INDEX_AXES, Input, Node, PackedQueries
from attndsl.spec.contract.conditional_reads import ConditionalReads, both
from attndsl.spec.contract.constraint import Constraint
from attndsl.spec.contract.element_reads import POSITIONS, ElementRead, Shapes, end_of, narrowed, reads_of
from attndsl.spec.contract.key_ranges import KeyRange, StoredRows, end_of_row, first_of_row, keys_by_read
from attndsl.spec.contract.known_conditions import Known, known_of
from attndsl.spec.contract.linear_sums import NeverNegative, linear_sum
from attndsl.spec.errors import ShapeError, SpecError

_B, _KEY = "b", Symbol("j")


class NoSuchElementError(SpecError):
    """A tensor is read where it has no element, whatever its sizes are."""


@dataclass(frozen=True, kw_only=True)
class Extents:
    """The sizes that reads by index are compared with.

    Attributes:
        axes: the extent of each axis.
        shapes: the sizes of tensors that are read by index and have one layout.
        own: the rows of tensors that have place for fewer than the largest of their kind.
        tables: the sizes of block tables that have one layout.
        optional: the tensors that a call may leave out.
    """

    axes: Mapping[str, Expr]
    shapes: Shapes
    own: Mapping[str, Expr]
    tables: Shapes
    optional: frozenset[str]

    @property
    def stored(self) -> StoredRows:
        """What is known of the tensors that keys lie in."""
        return StoredRows(self.axes.get("T"), self.own, self.tables)

    @property
    def spans(self) -> dict[str, Expr]:
        """How many values each index symbol has."""
        return {symbol: self.axes[axis] for symbol, axis in INDEX_AXES.items() if axis in self.axes}

    def proof(self, rules: Iterable[Constraint], when: Expr | None) -> NeverNegative:
        """What is never negative where ``when`` holds, since the rules say so."""
        return self.proof_where(rules, known_of(when))

    def proof_where(self, rules: Iterable[Constraint], known: Known) -> NeverNegative:
        """What is never negative where so much is known, since the rules say so."""
        sizes = frozenset(size.name for size in self.axes.values() if isinstance(size, Symbol))
        return NeverNegative(rules, sizes, self.spans, known)


def element_constraints(root: Node, extents: Extents, known: Iterable[Constraint]) -> Iterator[Constraint]:
    """That indices lie within their tensors. Those made of positions, such as ``i // 64`` or
    ``j - i + S - 1``, do for all positions, and for all keys of the sources whose scores they stand in. Such
    reads are not conditional: what a mask hides is read as well. Indices without, such as ``b + 1``, do for
    all batch rows and heads by whose choice they are read.

    What follows from the constraints in ``known`` is not demanded.

    Raises:
        NoSuchElementError: an index lies outside in each call, or in all calls but the smallest.
    """
    axes = extents.axes
    stored, spans = extents.stored, extents.spans

    def reads(node: Node) -> tuple[ElementRead, ...]:
        return tuple(reads_of(node, extents.shapes, extents.own, axes.get("T")))

    keys = keys_by_read(root, lambda node: bool(reads(node)), stored)

    def read_here(node: Node) -> bool:
        return bool(reads(node)) and (id(node) in keys or not isinstance(node, Input))

    queries = tuple(
        node.ends.name
        for node in root.walk()
        if isinstance(node, PackedQueries) and isinstance(node.ends, Input)
    )
    everywhere = KeyRange(() if stored.most is None else (stored.most - 1,))
    rules = list(known)
    for node, when in ConditionalReads(root, read_here, Node):
        for read in reads(node):
            at_keys = _KEY.name in read.part.symbols()
            ranges = keys.get(id(node), {}) if at_keys else {}
            for each, where in (ranges or {everywhere: node.where}).items():
                asked = both(both(when, each.when), both(_passed(read, extents), _chosen(read)))
                proof = extents.proof([*rules, *_facts_of(read, spans)], asked)
                for rule in _Bounds(read, each, spans, proof, where, queries).rules(asked):
                    if not any(rule.condition.same(other.condition) for other in rules):
                        rules.append(rule)
                        yield rule


def _passed(read: ElementRead, extents: Extents) -> Expr | None:
    """The condition that a call passes the tensor, if it need not."""
    return given(read.name) if read.name in extents.optional else None


def _facts_of(read: ElementRead, spans: Mapping[str, Expr]) -> Iterator[Constraint]:
    """What holds wherever a number is read: the choice by which it is, and that there are batch rows, heads
    and queries, since it is read for one of them."""
    if read.part.symbols() & POSITIONS:
        return
    yield from (Constraint(size > 0, "") for symbol, size in spans.items() if symbol != _KEY.name)
    yield from (Constraint(part, "") for part in comparisons(read.when))


def _chosen(read: ElementRead) -> Expr | None:
    """The choice by which a number is read, as far as a rule can ask for it: what it asks of numbers of batch
    rows and heads themselves is known of the ends of the index."""
    chosen: Expr | None = None
    for part in conjuncts(read.when):
        of = part.symbols() & INDEX_AXES.keys()
        if not of or (of == {_B} and _loads(part)):
            chosen = both(chosen, part)
    return chosen


@dataclass(frozen=True)
class _Bounds:
    """The bounds of one index of a read, over all positions and over the keys of one source.

    ``queries``: the prefix sums by which queries are packed.
    """

    read: ElementRead
    keys: KeyRange
    spans: Mapping[str, Expr]
    proof: NeverNegative
    where: SourceLine
    queries: tuple[str, ...]

    def rules(self, when: Expr | None) -> Iterator[Constraint]:
        """What is to be demanded in calls where ``when`` holds."""
        for low in (True, False):
            rooms = self._rooms(self.read.part, low)
            if any(self.proof.holds(room) for _, room in rooms):
                continue
            if not rooms:
                raise self._unbounded()
            if self.keys.window is not None:
                self._refuse_row_of_window(*self.keys.window)
            for bound, room in sorted(rooms, key=lambda each: bool(_loads(each[1])))[:1]:
                yield self._demand(bound, room, low, when)

    def _rooms(self, part: Expr, low: bool) -> list[tuple[Expr, Expr]]:
        """The bounds of an index at one end, as they are told, and how far within the tensor each is."""
        ends = dict[Expr, None]()
        others = {name: (Const(0), extent - 1) for name, extent in self.spans.items() if name != _KEY.name}
        positions = [(Const(0), last) for last in self._last_positions()]
        for first, last, at in product(self.keys.firsts, self.keys.lasts or (None,), positions):
            spans = narrowed({**others, "i": at, _KEY.name: (first, last)}, self.read.when)
            end = end_of(part, spans, low=low)
            if end is not None:
                ends[linear_sum(end).expression()] = None
        size = self.read.size
        return [(end, linear_sum(end if low else size - 1 - end).expression()) for end in ends]

    def _last_positions(self) -> list[Expr | None]:
        """The last query, each an upper bound: behind the longest batch row of which the contract speaks, no
        position is one of a query."""
        lasts: list[Expr | None] = [self.spans["i"] - 1 if "i" in self.spans else None]
        lasts += [end_of_row(name) - first_of_row(name) - 1 for name in self.queries]
        counted = (part for fact in self.proof.facts for part in fact.terms if isinstance(part, Fold))
        if self.read.part.same(Symbol("i")):
            lasts += [longest - 1 for longest in dict.fromkeys(counted) if longest.op == "max"]
        return lasts

    def _demand(self, bound: Expr, room: Expr, low: bool, when: Expr | None) -> Constraint:
        name, part, place = self.read.name, self.read.part, self.read.place
        counted = _loads(room)
        told, reach = ("begins with", f"from {bound} on") if low else ("goes as far as", f"as far as {bound}")
        if isinstance(room, Const) or (counted and self.proof.holds(0 - room)):
            raise NoSuchElementError(
                f"'{name}' is read at {part} in its dimension {place}, which {told} {bound}, and has the "
                f"size {self.read.size}; {self._instead(low, bool(counted))}",
                self.where,
            )
        text = f"is read at {part} in dimension {place}, {reach}"
        at_keys = _KEY.name in part.symbols()
        hint = f"let {name} have an element for each key, and read it at j" if counted and at_keys else ""
        of_rows = counted or (when is not None and _B in when.symbols())
        return Constraint(
            room >= 0,
            f"'{name}' {text}" if counted else text,
            ShapeError,
            when,
            {_B: self.spans[_B]} if of_rows else {},
            argument=counted[0].source if counted else name,
            hint=hint,
            where=self.where,
        )

    def _unbounded(self) -> NoSuchElementError:
        """Of an index of which nothing says that it lies within its dimension."""
        part = self.read.part
        limits = self.read.spelled(minimum(maximum(part, Const(0)), self.read.size - 1))
        return NoSuchElementError(
            f"'{self.read.name}' is read at {part} in its dimension {self.read.place}, and nothing "
            f"says how far that goes; let it be of positions, sizes and elements x[b], or write {limits}",
            self.where,
        )

    def _instead(self, low: bool, counted: bool) -> str:
        before = linear_sum(_KEY).plus(linear_sum(self.read.part), -1).expression()
        if low and not self.read.part.symbols() & POSITIONS:
            read = self.read.spelled(self.read.part)
            return f"let the index stay within it, or write select({_B} == 0, 0, {read}) of attndsl.spec"
        if not (low and counted) or before.symbols() & INDEX_AXES.keys() - {_B}:
            return "let the index stay within it, or declare a larger one"
        return (
            f"what a condition hides is read, too: give the keys from {before} on a part of their own, "
            f"attend.merge(...) of attention over attend.window(source, 0, length={before}) and over "
            f"attend.window(source, {before}, length={self.read.size}), and read "
            f"{self.read.spelled(self.read.part)} in the second one alone"
        )

    def _refuse_row_of_window(self, start: Expr, count: Expr) -> None:
        """Rows of a window keep their numbers: who counts them from 0 reads at other keys than is meant."""
        meant = self.read.part.substitute({_KEY.name: _KEY - start})
        if all(any(self.proof.holds(room) for _, room in self._rooms(meant, low)) for low in (True, False)):
            declared = "" if self.read.indexed else "declare it with indexed=True and "
            raise NoSuchElementError(
                f"'{self.read.name}' is read at {self.read.part} in its dimension {self.read.place}, which "
                f"has the size {self.read.size}, and the keys of this attend.window begin with {start}: rows "
                f"of a window keep their numbers; {declared}write {self.read.spelled(meant)}",
                self.where,
            )


def _loads(expr: Expr) -> list[Load]:
    return [each for each in expr.walk() if isinstance(each, Load)]
