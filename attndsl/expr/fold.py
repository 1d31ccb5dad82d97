"""Constructors of symbolic scalars: constants are folded, neutral operands dropped, settled choices made."""

from __future__ import annotations

import math
from collections.abc import Iterator

from attndsl.expr.expression import Expr, ExprLike, Value, make
from attndsl.expr.nodes import Binary, Compare, Const, Load, Logic, Named, Select, Symbol, as_expr, compare
from attndsl.expr.operators import OPERATORS


def binary(op: str, left: object, right: object) -> Expr:
    """Arithmetic with constants folded and neutral operands dropped."""
    a, b = as_expr(left), as_expr(right)
    if _is_literal(a) and _is_literal(b):
        assert isinstance(a, Const) and isinstance(b, Const)
        return as_expr(OPERATORS[op].python(a.value, b.value))
    if isinstance(b, Const) and _is_literal(b):
        if (shifted := _shifted(op, a, b.value)) is not None:
            return shifted
        if (op in ("+", "-") and b.value == 0) or (
            op in ("*", "//", "/", "ceil_div", "round_up") and b.value == 1
        ):
            return a
        if (op == "*" and b.value == 0) or (op == "%" and b.value == 1):
            return as_expr(0)
    if isinstance(a, Const) and _is_literal(a):
        if (op == "+" and a.value == 0) or (op == "*" and a.value == 1):
            return b
        if a.value == 0 and op in ("*", "//", "%", "ceil_div", "round_up"):
            return as_expr(0)
    if op in ("min", "max") and a.same(b):
        return a
    return Binary(op, a, b)


def _shifted(op: str, value: Expr, by: Value) -> Expr | None:
    """``x - 1 + 1`` and the like with one integer, or none at all."""
    signs = {"+": 1, "-": -1}
    if op not in signs or not isinstance(value, Binary) or value.op not in signs:
        return None
    inner = value.right
    if not isinstance(inner, Const) or not _is_literal(inner):
        return None
    if type(inner.value) is not int or type(by) is not int:
        return None  # floating point rounds at each step
    total = signs[value.op] * inner.value + signs[op] * by
    return binary("+", value.left, total) if total >= 0 else binary("-", value.left, -total)


def negation(condition: object) -> Compare:
    """Whether ``condition`` does not hold."""
    return compare("==", condition, Const(False))


def select(condition: object, then: object, otherwise: object) -> Expr:
    """``then if condition else otherwise``, folded where the condition is constant."""
    test, a, b = as_expr(condition), as_expr(then), as_expr(otherwise)
    if a.same(b):
        return a
    if not any(isinstance(node, Symbol | Load) for node in test.nodes()):
        return a if test.evaluate({}) else b
    return Select(test, _where(test, True, a), _where(test, False, b))


def _where(test: Expr, holds: bool, value: Expr) -> Expr:
    """``value`` where ``test`` is known: a choice by the same test, or by the opposite one, is made."""
    if not isinstance(value, Select):
        return value
    if value.condition.same(test):
        return value.then if holds else value.otherwise
    if isinstance(test, Compare) and not _may_be_nan(test):
        opposite = Compare(OPERATORS[test.op].opposite, test.left, test.right)
        if value.condition.same(opposite):
            return value.otherwise if holds else value.then
    return value


def _may_be_nan(test: Compare) -> bool:
    """Whether neither it nor its opposite may hold: an element is a float. (No parameter is NaN.)"""
    sides = (node for side in (test.left, test.right) for node in side.nodes())
    return any(isinstance(node, Load) and node.dtype.startswith("float") for node in sides)


def one_of(value: Expr, *choices: ExprLike) -> Expr:
    """Whether ``value`` equals one of ``choices``."""
    first, *others = choices
    found: Expr = compare("==", value, first)
    for choice in others:
        found = found | compare("==", value, choice)
    return found


def minimum(left: object, right: object) -> Expr:
    """The smaller of two scalars."""
    return binary("min", left, right)


def maximum(left: object, right: object) -> Expr:
    """The larger of two scalars."""
    return binary("max", left, right)


def ceil_div(value: object, divisor: object) -> Expr:
    """``ceil(value / divisor)`` for value >= 0, divisor > 0."""
    return binary("ceil_div", value, divisor)


def round_up(value: object, multiple: object) -> Expr:
    """The next multiple, ``ceil_div(value, multiple) * multiple``."""
    return binary("round_up", value, multiple)


def constant_value(expr: Expr) -> Value | None:
    """The value of an expression without symbols; None for any other."""
    if any(isinstance(node, Symbol | Load) for node in expr.nodes()):
        return None
    value: Value = expr.evaluate({})
    return value


def _is_literal(expr: Expr) -> bool:
    return isinstance(expr, Const) and not isinstance(expr, Named)


def product(values: Iterator[Expr] | tuple[Expr, ...] | list[Expr]) -> Expr:
    """The product of all values; 1 for none."""
    return math.prod(values, start=Const(1))


def _logic(op: str, left: object, right: object) -> Logic:
    return Logic(op, as_expr(left), as_expr(right))


make.binary, make.compare, make.logic, make.select = binary, compare, _logic, select
