"""Interval arithmetic of symbolic scalars."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from typing import Any

from attndsl.expr.symbolic import Binary, Compare, Const, Expr, Load, Logic, Select, Symbol

Range = tuple[Any, Any]
ANYTHING: Range = (-math.inf, math.inf)
_OF_TWO = (Binary, Compare)


def is_integral(expr: Expr, floats: Collection[str]) -> bool:
    """Whether a number is an integer whatever its symbols are; ``floats``: names of those that are none.

    Elements of tensors are integers, as sizes, lengths and indices are; a quotient is one by chance alone.
    """
    if isinstance(expr, Const):
        return not isinstance(expr.value, float)
    if isinstance(expr, Symbol):
        return expr.name not in floats
    if isinstance(expr, Compare | Logic | Load):
        return True
    if isinstance(expr, Binary) and expr.op == "/":
        return False
    sides = expr.children()[1:] if isinstance(expr, Select) else expr.children()
    return all(is_integral(side, floats) for side in sides)


def bounds(expr: Expr, spans: Mapping[str, Range], env: Mapping[str, Any]) -> Range:
    """Bounds of the value of ``expr``, its index symbols within ``spans``; those of a comparison, and of
    what is made of truth values, are whether it always holds and whether it ever does."""
    if isinstance(expr, Const):
        return expr.value, expr.value
    if isinstance(expr, Symbol):
        return spans[expr.name] if expr.name in spans else (env[expr.name], env[expr.name])
    if isinstance(expr, Logic):
        left, right = truth(expr.left, spans, env), truth(expr.right, spans, env)
        joined = all if expr.op == "and" else any
        return joined((left[0], right[0])), joined((left[1], right[1]))
    if isinstance(expr, _OF_TWO) and expr.op in _BOUNDS:
        left, right = bounds(expr.left, spans, env), bounds(expr.right, spans, env)
        return _BOUNDS[expr.op](*left, *right)
    if isinstance(expr, Select):
        always, ever = truth(expr.condition, spans, env)
        if always == ever:
            return bounds(expr.then if always else expr.otherwise, spans, env)
        sides = [bounds(side, spans, env) for side in (expr.then, expr.otherwise)]
        return min(side[0] for side in sides), max(side[1] for side in sides)
    if not expr.symbols() & spans.keys():
        value = expr.evaluate(env)
        return value, value
    return ANYTHING


def truth(condition: Expr, spans: Mapping[str, Range], env: Mapping[str, Any]) -> tuple[bool, bool]:
    """Whether a condition always holds and whether it ever does; a number holds where it is not 0."""
    low, high = bounds(condition, spans, env)
    return bool(low > 0 or high < 0), not low == high == 0


def _product(a: Any, b: Any, c: Any, d: Any) -> Range:
    corners = [a * c, a * d, b * c, b * d]
    return min(corners), max(corners)


def _quotient(a: Any, b: Any, c: Any, d: Any) -> Range:
    return (a // d, b // c) if c > 0 and a >= 0 and b < math.inf and d < math.inf else ANYTHING


_BOUNDS: dict[str, Callable[[Any, Any, Any, Any], Range]] = {
    "+": lambda a, b, c, d: (a + c, b + d),
    "-": lambda a, b, c, d: (a - d, b - c),
    "*": _product,
    "//": _quotient,
    "min": lambda a, b, c, d: (min(a, c), min(b, d)),
    "max": lambda a, b, c, d: (max(a, c), max(b, d)),
    "<": lambda a, b, c, d: (b < c, a < d),
    "<=": lambda a, b, c, d: (b <= c, a <= d),
    ">": lambda a, b, c, d: (a > d, b > c),
    ">=": lambda a, b, c, d: (a >= d, b >= c),
    "==": lambda a, b, c, d: (a == b == c == d, a <= d and c <= b),
    "!=": lambda a, b, c, d: (a > d or c > b, not a == b == c == d),
}
