"""What a contract states already, so that rules made from its computation do not say it again."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from attndsl.expr import Binary, Compare, Const, Expr, Load, Select, Symbol
from attndsl.expr.conditions import conjuncts
from attndsl.expr.reductions import Fold
from attndsl.spec.contract.constraint import Constraint
from attndsl.spec.contract.known_conditions import Known, applies, choices_of, known_of

AT_MOST, AT_LEAST = ("<=", "<", "=="), (">=", ">", "==")
"""How a number is compared with what bounds it."""


class StatedRules:
    """The conditions that a contract states, those of the rules made here included."""

    def __init__(self, known: Iterable[Constraint]) -> None:
        self.rules = list(known)

    @property
    def conditions(self) -> list[Expr]:
        """All conditions, those among them that need not hold always."""
        return [rule.condition for rule in self.rules]

    @property
    def always(self) -> list[Expr]:
        """The conditions that hold in every call."""
        return [rule.condition for rule in self.rules if rule.when is None]

    def with_rule(self, rule: Constraint, read_when: Expr | None = None) -> Constraint:
        """A rule, which is stated from now on.

        ``read_when``: the condition under which its rows are read, if any. Such a rule says nothing of rows
        that are read under another one.
        """
        if read_when is None:
            self.rules.append(rule)
        return rule

    def unsaid(self, rules: Iterable[Constraint]) -> Iterator[Constraint]:
        """The rules that are not stated yet for the same calls, each of which is from now on."""
        for rule in rules:
            if not self._repeats(rule):
                self.rules.append(rule)
                yield rule

    def _repeats(self, rule: Constraint) -> bool:
        """Whether a rule is stated already for the same calls."""
        return any(
            rule.condition.same(other.condition)
            and (other.when is None or (rule.when is not None and rule.when.same(other.when)))
            for other in self.rules
        )

    def compares(
        self,
        ops: Sequence[str],
        subject: Callable[[Expr], bool],
        limit: Expr | None = None,
        when: Known | None = None,
    ) -> bool:
        """Whether a condition, or a part of one that always has to hold, compares a subject on its left with
        ``limit``.

        Without a limit: with anything, since an author who says something of a number says all that is meant.
        A comparison that may fail where another one holds states nothing. Nor does a rule that need not hold
        where ``when`` tells what is known.
        """
        return any(
            part.op in ops and subject(part.left) and (limit is None or part.right.same(limit))
            for rule in self.rules
            if applies(rule, when or {})
            for part in conjuncts(rule.condition)
            if isinstance(part, Compare)
        )

    def bounds_anywhere(self, ops: Sequence[str], subject: Callable[[Expr], bool]) -> bool:
        """Whether a condition compares a subject on its left with anything, be it of some calls alone."""
        return any(
            part.op in ops and subject(part.left)
            for rule in self.rules
            for part in conjuncts(rule.condition)
            if isinstance(part, Compare)
        )

    def limits(self, number: Expr, limit: Expr, when: Expr | None = None) -> bool:
        """Whether the conditions say that a number is at most ``limit``, wherever ``when`` holds.

        A number that is chosen may have a rule for each choice.
        """
        known = known_of(when)
        return self.compares(AT_MOST, covers_number(number), limit, known) or all(
            _at_most(value, Const(1)) or self.compares(AT_MOST, covers_number(value), limit, chosen)
            for value, chosen in choices_of(number, known)
        )


def is_number(number: Expr) -> Callable[[Expr], bool]:
    """Whether an expression is a number, or an element that this is as low as."""
    named = [number, *_elements_with(number, _bounded_below)]
    return lambda expr: any(expr.same(each) for each in named)


def bounds_number(number: Expr) -> Callable[[Expr], bool]:
    """Whether a number, or an element that it is computed from, is bounded above where an expression is."""
    named = [number, *_elements_with(number, _bounded)]
    return lambda expr: any(_rises(expr, each) for each in named)


def bounds_elements(number: Expr) -> Callable[[Expr], bool]:
    """The same, of an element wherever a rule reads one: what bounds all entries of a tensor bounds each."""
    tensors = {each.source for each in _elements_with(number, _bounded)}
    bounds = bounds_number(number)
    return lambda expr: bounds(expr) or (isinstance(expr, Load) and expr.source in tensors)


def covers_number(number: Expr) -> Callable[[Expr], bool]:
    """Whether a number is at most what an expression is: what limits the expression limits the number.

    Limits are numbers of rows, at least 1.
    """
    named = [number, *_elements_with(number, _at_most)]
    return lambda expr: any(at_least(expr, each) for each in named)


def never_negative(number: Expr) -> bool:
    """Whether a number is at least 0 whatever its elements are."""
    return at_least(number, Const(0))


def _elements_with(number: Expr, relation: _Relation) -> list[Load]:
    return [each for each in number.walk() if isinstance(each, Load) and relation(number, each)]


@dataclass(frozen=True, kw_only=True)
class _Relation:
    """A relation between an expression and a part of it, which each part has to itself.

    Attributes:
        arithmetic: whether an operation has it, by the part and by whether the sides of it have it.
        plain: other expressions that have it to any part.
        of_maxima: whether the maximum over a range has it where an element of the range has.
    """

    arithmetic: Callable[[Binary, Expr, bool, bool], bool]
    plain: Callable[[Expr], bool] = lambda expr: False
    of_maxima: bool = False

    def __call__(self, expr: Expr, part: Expr) -> bool:
        if expr.same(part) or self.plain(expr):
            return True
        if isinstance(expr, Select):
            return self(expr.then, part) and self(expr.otherwise, part)
        if isinstance(expr, Fold):
            return self.of_maxima and expr.op == "max" and self(expr.body, part)
        if not isinstance(expr, Binary):
            return False
        return self.arithmetic(expr, part, self(expr.left, part), self(expr.right, part))


_QUOTIENTS = ("//", "floor_div", "ceil_div", "round_up")
"""What grows with its left side, since sizes and parameters that divide are positive."""


def _rising(expr: Binary, part: Expr, left: bool, right: bool) -> bool:
    if expr.op in ("max", "min"):
        return (left or right) if expr.op == "max" else (left and right)
    if expr.op == "+":
        return (left and (right or not _has(expr.right, part))) or (right and not _has(expr.left, part))
    if expr.op == "-":
        return left and not _elements(expr.right)
    if expr.op == "*":
        return (left and _literal(expr.right, 0, above=True)) or (
            right and _literal(expr.left, 0, above=True)
        )
    return expr.op in _QUOTIENTS and left and _divides(expr.right)


def _no_less(expr: Binary, part: Expr, left: bool, right: bool) -> bool:
    if expr.op in ("max", "min"):
        return (left or right) if expr.op == "max" else (left and right)
    if expr.op in ("+", "*"):
        least = 0 if expr.op == "+" else 1
        return (left and _literal(expr.right, least)) or (right and _literal(expr.left, least))
    return expr.op == "round_up" and left and _divides(expr.right)


def _limited(number: Binary, element: Expr, left: bool, right: bool) -> bool:
    if number.op == "min":
        return left or right
    if number.op in ("+", "*", "max"):
        return left and right
    return left and (number.op == "-" or (number.op in _QUOTIENTS and _divides(number.right)))


def _limited_below(number: Binary, element: Expr, left: bool, right: bool) -> bool:
    if number.op == "max":
        return left or right
    if number.op in ("+", "*", "min"):
        return left and right
    if number.op == "-":
        return left and not _elements(number.right)
    return number.op in _QUOTIENTS and left and _divides(number.right)


def _no_more(number: Binary, element: Expr, left: bool, right: bool) -> bool:
    if number.op in ("min", "max"):
        return (left or right) if number.op == "min" else (left and right)
    if number.op == "-":
        return left and _literal(number.right, 0)
    return number.op in ("//", "floor_div", "ceil_div") and left and _divides(number.right)


def _is_size(expr: Expr) -> bool:
    return isinstance(expr, Const | Symbol)


_rises = _Relation(arithmetic=_rising, of_maxima=True)
"""Whether an upper bound of an expression is one of its part; elements that are added are not negative."""
at_least = _Relation(arithmetic=_no_less, of_maxima=True)
"""Whether an expression is no less than its part, which is not negative."""
_bounded = _Relation(arithmetic=_limited, plain=_is_size)
"""Whether a number has an upper bound where its element has: sizes and parameters have one."""
_bounded_below = _Relation(arithmetic=_limited_below, plain=_is_size)
"""Whether a number has a lower bound where its element has: not where an element is taken from it."""
_at_most = _Relation(arithmetic=_no_more, plain=lambda expr: isinstance(expr, Const) and _value(expr) <= 1)
"""Whether a number is at most its element, or 1."""


def _has(expr: Expr, part: Expr) -> bool:
    return any(each.same(part) for each in expr.walk())


def _elements(expr: Expr) -> bool:
    return any(isinstance(each, Load) for each in expr.walk())


def _value(literal: Const) -> float:
    return math.nan if isinstance(literal.value, str) else literal.value


def _literal(expr: Expr, least: int, above: bool = False) -> bool:
    """Whether an expression is a literal of at least ``least``, or above it."""
    return isinstance(expr, Const) and (_value(expr) > least if above else _value(expr) >= least)


def _divides(expr: Expr) -> bool:
    return isinstance(expr, Symbol) or _literal(expr, 1)
