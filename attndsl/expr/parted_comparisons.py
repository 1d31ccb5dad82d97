"""Comparisons of the larger or smaller of two numbers as joined comparisons of both.

``max(x, y) <= z`` holds where ``x <= z`` and ``y <= z`` do, ``max(x, y) > z`` where one of them does. So
``abs(i - j) <= w``, whose absolute value is the larger of ``i - j`` and ``j - i``, is an interval of ``j``.
"""

from __future__ import annotations

from attndsl.expr.expression import Expr
from attndsl.expr.nodes import Binary, Compare, Const, Logic, compare
from attndsl.expr.operators import OPERATORS, ORDERINGS

_MOST = 4


def parted(condition: Expr, symbol: str) -> Expr:
    """``condition`` with each ordering of a ``min`` or ``max`` of ``symbol`` as joined comparisons.

    Each of them doubles what it stands in: a condition with more than a few stays as it is.
    """
    if not 0 < sum(_is_extreme(each, symbol) for each in condition.walk()) <= _MOST:
        return condition

    def change(part: Expr) -> Expr | None:
        if not isinstance(part, Compare) or part.op not in ORDERINGS:
            return None
        found = _parted(part.left, part.op, part.right, symbol)
        if found is None:
            found = _parted(part.right, OPERATORS[part.op].mirrored, part.left, symbol)
        return None if found is None else parted(found, symbol)

    return condition.mapped(change)


def _parted(side: Expr, op: str, other: Expr, symbol: str) -> Expr | None:
    """``side op other`` as two comparisons; None where ``side`` is no sum with such an extreme."""
    found = _branches(side, symbol)
    if found is None:
        return None
    larger, first, second = found
    joint = "and" if larger == (op in ("<", "<=")) else "or"
    return Logic(joint, compare(op, first, other), compare(op, second, other))


def _branches(side: Expr, symbol: str) -> tuple[bool, Expr, Expr] | None:
    """Whether a number is the larger of two, and both; None where it is neither that nor the smaller."""
    if not isinstance(side, Binary) or symbol not in side.symbols():
        return None
    if _is_extreme(side, symbol):
        return side.op == "max", side.left, side.right
    left, right = _branches(side.left, symbol), _branches(side.right, symbol)
    if (left is None) == (right is None) or not _monotone(side):
        return None
    larger, first, second = left or right or (False, side, side)
    if right is None:
        one, two = (side.with_children((each, side.right)) for each in (first, second))
        return larger, one, two
    one, two = (side.with_children((side.left, each)) for each in (first, second))
    return larger != (side.op == "-"), one, two


def _is_extreme(expr: Expr, symbol: str) -> bool:
    return isinstance(expr, Binary) and expr.op in ("min", "max") and symbol in expr.symbols()


def _monotone(side: Binary) -> bool:
    """Whether a sum, or a positive multiple or quotient, keeps the order of its operands."""
    if side.op in ("+", "-"):
        return True
    factor = side.right if side.op == "//" or isinstance(side.right, Const) else side.left
    return side.op in ("*", "//") and isinstance(factor, Const) and float(factor.value) > 0
