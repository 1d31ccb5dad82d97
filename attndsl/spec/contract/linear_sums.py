"""Sums of numbers of a call, and what is never negative, since the contract says so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice

from attndsl.expr import Binary, Compare, Const, Expr, Symbol, ceil_div
from attndsl.expr.conditions import conjuncts
from attndsl.expr.operators import ORDERINGS
from attndsl.spec.contract.constraint import Constraint
from attndsl.spec.contract.known_conditions import Known, applies

_STEPS = 3
"""How many rules are put together for one proof."""


@dataclass(frozen=True)
class LinearSum:
    """A sum of terms, each times an integer, and of an integer."""

    terms: Mapping[Expr, int]
    constant: int

    def plus(self, other: LinearSum, factor: int = 1) -> LinearSum:
        """This sum and ``factor`` times another one; what is added and taken away again is left out."""
        terms = dict(self.terms)
        for part, times in other.terms.items():
            terms[part] = terms.get(part, 0) + factor * times
        kept = {part: times for part, times in terms.items() if times}
        return LinearSum(kept, self.constant + factor * other.constant)

    def expression(self) -> Expr:
        """The sum as an expression, what is added before what is taken away."""
        found: Expr = Const(0)
        for part, factor in sorted(self.terms.items(), key=lambda term: term[1] < 0):
            size = part if abs(factor) == 1 else part * abs(factor)
            found = found + size if factor > 0 else found - size
        return found + self.constant if self.constant >= 0 else found - -self.constant


def linear_sum(expr: Expr) -> LinearSum:
    """An expression as a sum; ``(x - 1) // n`` as ``ceil_div(x, n) - 1``."""
    if isinstance(expr, Const) and type(expr.value) is int:
        return LinearSum({}, expr.value)
    if isinstance(expr, Binary) and expr.op in ("+", "-"):
        return linear_sum(expr.left).plus(linear_sum(expr.right), 1 if expr.op == "+" else -1)
    if isinstance(expr, Binary) and expr.op == "*":
        left, right = linear_sum(expr.left), linear_sum(expr.right)
        for factor, other in ((left, right), (right, left)):
            if not factor.terms:
                return LinearSum({}, 0).plus(other, factor.constant)
    if isinstance(expr, Binary) and expr.op == "//":
        left = linear_sum(expr.left)
        if left.terms and left.constant == -1:
            return LinearSum({ceil_div(left.plus(LinearSum({}, 1)).expression(), expr.right): 1}, -1)
    return LinearSum({expr: 1}, 0)


class NeverNegative:
    """Proofs that a number is at least 0 in every call that a contract lets pass.

    Args:
        rules: what the contract states.
        sizes: names of numbers that are sizes.
        extents: the extent of each index symbol that a rule may range over.
        known: conditions that are known to hold.
    """

    def __init__(
        self, rules: Iterable[Constraint], sizes: frozenset[str], extents: Mapping[str, Expr], known: Known
    ) -> None:
        self._sizes = sizes
        self.facts = [
            fact
            for rule in rules
            if all(name in extents and size.same(extents[name]) for name, size in rule.over.items())
            if applies(rule, known)
            for part in conjuncts(rule.condition)
            if isinstance(part, Compare)
            for fact in facts_of(part)
        ]

    def holds(self, number: Expr) -> bool:
        """Whether ``number`` is proved never to be negative."""
        return self._proved(linear_sum(number), _STEPS)

    def _proved(self, number: LinearSum, steps: int) -> bool:
        for part, times in number.terms.items():
            if isinstance(part, Binary) and part.op in ("max", "min"):
                rest = number.plus(LinearSum({part: 1}, 0), -times)
                sides = [rest.plus(linear_sum(side), times) for side in (part.left, part.right)]
                if (part.op == "max") != (times > 0):
                    return all(self._proved(side, steps) for side in sides)
                if any(self._proved(side, steps) for side in sides):
                    return True  # a side is a bound alone; else another term may tell
        if number.constant >= 0 and all(
            times > 0 and self._is_size(part) for part, times in number.terms.items()
        ):
            return True
        if not steps:
            return False
        taken = {part for part, times in number.terms.items() if times < 0 or not self._is_size(part)}
        return any(
            self._proved(number.plus(fact, -1), steps - 1)
            for fact in self.facts
            if (not taken and fact.constant < 0 and fact.terms.keys() & number.terms.keys())
            or any(fact.terms.get(part, 0) * number.terms[part] > 0 for part in taken)
        )

    def _is_size(self, part: Expr) -> bool:
        if isinstance(part, Symbol):
            return part.name in self._sizes
        positive = isinstance(part, Binary) and part.op in ("*", "ceil_div", "//")
        return positive and all(self._is_size(side) or _is_positive(side) for side in part.children())


def always_holds(condition: Expr) -> bool:
    """Whether a condition holds whatever its numbers are: a minimum is at most each of its operands, a
    maximum at least."""
    proof = NeverNegative((), frozenset(), {}, {})
    return all(
        isinstance(part, Compare)
        and part.op in ORDERINGS
        and any(proof.holds(fact.expression()) for fact in islice(facts_of(part), 1))
        for part in conjuncts(condition)
    )


def facts_of(part: Compare) -> Iterable[LinearSum]:
    """What a comparison of integers says is never negative."""
    if any(isinstance(side, Const) and not isinstance(side.value, int) for side in part.children()):
        return
    difference = linear_sum(part.left).plus(linear_sum(part.right), -1)
    strict = LinearSum({}, -1 if part.op in (">", "<") else 0)
    if part.op in (">", ">=", "=="):
        yield difference.plus(strict)
        yield from _quotients(part.left, part.right)
    if part.op in ("<", "<=", "=="):
        yield LinearSum({}, 0).plus(difference, -1).plus(strict)
        yield from _quotients(part.right, part.left)


def _quotients(more: Expr, less: Expr) -> Iterable[LinearSum]:
    """Of a product that is no less than a number: each factor is no less than the quotient by the other."""
    if isinstance(more, Binary) and more.op == "*":
        for factor, by in ((more.left, more.right), (more.right, more.left)):
            if _is_positive(by):
                yield linear_sum(factor).plus(linear_sum(ceil_div(less, by)), -1)


def _is_positive(expr: Expr) -> bool:
    return isinstance(expr, Const) and isinstance(expr.value, int) and expr.value > 0
