"""Bounds of symbolic scalars, by interval arithmetic."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from attndsl.expr.expression import Expr
from attndsl.expr.interval_rules import ANYTHING as ANYTHING
from attndsl.expr.interval_rules import Range as Range
from attndsl.expr.interval_rules import product
from attndsl.expr.nodes import Binary, Compare, Const, Load, Logic, Select, Symbol
from attndsl.expr.operators import OPERATORS
from attndsl.expr.reductions import Fold


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
    what is made of truth values, are whether it always holds and whether it ever does. Elements of tensors
    that ``env`` does not have may be anything."""
    if isinstance(expr, Const):
        return expr.value, expr.value
    if isinstance(expr, Symbol):
        return spans[expr.name] if expr.name in spans else (env[expr.name], env[expr.name])
    if isinstance(expr, Logic):
        left, right = truth(expr.left, spans, env), truth(expr.right, spans, env)
        return OPERATORS[expr.op].interval(*left, *right)
    if isinstance(expr, Binary | Compare):
        left, right = bounds(expr.left, spans, env), bounds(expr.right, spans, env)
        return OPERATORS[expr.op].interval(*left, *right)
    if isinstance(expr, Select):
        always, ever = truth(expr.condition, spans, env)
        if always == ever:
            return bounds(expr.then if always else expr.otherwise, spans, env)
        sides = [bounds(side, spans, env) for side in (expr.then, expr.otherwise)]
        return min(side[0] for side in sides), max(side[1] for side in sides)
    if not expr.symbols() & spans.keys() and all(name in env for name in _sources(expr)):
        value = expr.evaluate(env)
        return value, value
    if isinstance(expr, Fold):
        low, high = bounds(expr.body, {**spans, expr.index: (0, math.inf)}, env)
        return (min(low, 0), max(high, 0)) if expr.op != "sum" else product(0, math.inf, low, high)
    return ANYTHING


def _sources(expr: Expr) -> Iterator[str]:
    return (node.source for node in expr.nodes() if isinstance(node, Load))


def truth(condition: Expr, spans: Mapping[str, Range], env: Mapping[str, Any]) -> tuple[bool, bool]:
    """Whether a condition always holds and whether it ever does; a number holds where it is not 0."""
    low, high = bounds(condition, spans, env)
    return bool(low > 0 or high < 0), not low == high == 0
