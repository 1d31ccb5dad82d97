"""What a contract states already, so that rules made from its computation do not say it again."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from attndsl.expr import Binary, Compare, Const, Expr, Load, Select, Symbol
from attndsl.expr.conditions import conjuncts
from attndsl.expr.reductions import Fold
from attndsl.spec.contract.constraint import Constraint


class StatedRules:
    """The conditions that a contract states, those of the rules made here included."""

    def __init__(self, known: Iterable[Constraint]) -> None:
        self.conditions = [rule.condition for rule in known]

    def with_rule(self, rule: Constraint, read_when: Expr | None = None) -> Constraint:
        """A rule, which is stated from now on.

        ``read_when``: the condition under which its rows are read, if any. Such a rule says nothing of rows
        that are read under another one.
        """
        if read_when is None:
            self.conditions.append(rule.condition)
        return rule

    def compares(
        self, ops: Sequence[str], subject: Callable[[Expr], bool], limit: Expr | None = None
    ) -> bool:
        """Whether a condition, or a part of one that always has to hold, compares a subject on its left with
        ``limit``.

        Without a limit: with anything, since an author who says something of a number says all that is meant.
        A comparison that may fail where another one holds states nothing.
        """
        return any(
            part.op in ops and subject(part.left) and (limit is None or part.right.same(limit))
            for condition in self.conditions
            for part in conjuncts(condition)
            if isinstance(part, Compare)
        )


def is_number(number: Expr) -> Callable[[Expr], bool]:
    """Whether an expression is a number, or an element that this is computed from."""
    named = [number, *(each for each in number.walk() if isinstance(each, Load))]
    return lambda expr: any(expr.same(each) for each in named)


def bounds_number(number: Expr) -> Callable[[Expr], bool]:
    """Whether a number, or an element that it is computed from, is bounded above where an expression is."""
    named = [number, *(each for each in number.walk() if isinstance(each, Load) and _bounded(number, each))]
    return lambda expr: any(_rises(expr, each) for each in named)


def covers_number(number: Expr) -> Callable[[Expr], bool]:
    """Whether a number is at most what an expression is: what limits the expression limits the number.

    Limits are numbers of rows, at least 1.
    """
    named = [number, *(each for each in number.walk() if isinstance(each, Load) and _at_most(number, each))]
    return lambda expr: any(_at_least(expr, each) for each in named)


_QUOTIENTS = ("//", "floor_div", "ceil_div", "round_up")
"""What grows with its left side, since sizes and parameters that divide are positive."""


def _rises(expr: Expr, part: Expr) -> bool:
    """Whether an upper bound of ``expr`` is one of ``part``; elements that are added are not negative."""
    if expr.same(part):
        return True
    if isinstance(expr, Fold):
        return expr.op == "max" and _rises(expr.body, part)
    if isinstance(expr, Select):
        return _rises(expr.then, part) and _rises(expr.otherwise, part)
    if not isinstance(expr, Binary):
        return False
    left, right = _rises(expr.left, part), _rises(expr.right, part)
    if expr.op == "max":
        return left or right
    if expr.op == "min":
        return left and right
    if expr.op == "+":
        return (left and (right or not _has(expr.right, part))) or (right and not _has(expr.left, part))
    if expr.op == "-":
        return left and not _elements(expr.right)
    if expr.op == "*":
        return (left and _literal(expr.right, 0, above=True)) or (
            right and _literal(expr.left, 0, above=True)
        )
    return expr.op in _QUOTIENTS and left and _divides(expr.right)


def _at_least(expr: Expr, part: Expr) -> bool:
    """Whether ``expr`` is no less than ``part``, which is not negative."""
    if expr.same(part):
        return True
    if isinstance(expr, Fold):
        return expr.op == "max" and _at_least(expr.body, part)
    if isinstance(expr, Select):
        return _at_least(expr.then, part) and _at_least(expr.otherwise, part)
    if not isinstance(expr, Binary):
        return False
    left, right = _at_least(expr.left, part), _at_least(expr.right, part)
    if expr.op == "max":
        return left or right
    if expr.op == "min":
        return left and right
    if expr.op in ("+", "*"):
        least = 0 if expr.op == "+" else 1
        return (left and _literal(expr.right, least)) or (right and _literal(expr.left, least))
    return expr.op == "round_up" and left and _divides(expr.right)


def _bounded(number: Expr, element: Load) -> bool:
    """Whether a number has an upper bound where one of its elements has: sizes and parameters have one."""
    if number.same(element):
        return True
    if isinstance(number, Select):
        return _bounded(number.then, element) and _bounded(number.otherwise, element)
    if not isinstance(number, Binary):
        return isinstance(number, Const | Symbol)
    left, right = _bounded(number.left, element), _bounded(number.right, element)
    if number.op == "min":
        return left or right
    if number.op in ("+", "*", "max"):
        return left and right
    return left and (number.op == "-" or (number.op in _QUOTIENTS and _divides(number.right)))


def _at_most(number: Expr, element: Load) -> bool:
    """Whether a number is at most one of its elements, or 1."""
    if number.same(element) or (isinstance(number, Const) and _value(number) <= 1):
        return True
    if isinstance(number, Select):
        return _at_most(number.then, element) and _at_most(number.otherwise, element)
    if not isinstance(number, Binary):
        return False
    left, right = _at_most(number.left, element), _at_most(number.right, element)
    if number.op in ("min", "max"):
        return (left or right) if number.op == "min" else (left and right)
    if number.op == "-":
        return left and _literal(number.right, 0)
    return number.op in ("//", "floor_div", "ceil_div") and left and _divides(number.right)


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
