"""``//``, ``%`` and roundings up of numbers that may be negative.

C++ rounds quotients towards zero, so that the plain operators stand only where both operands are proved to
be >= 0; elsewhere functions stand that round down (or up) as the spec means it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from attndsl.expr import Binary, Expr, binary
from attndsl.expr.intervals import Range, bounds

_NEVER_NEGATIVE: Range = (0, math.inf)
_FLOORED = {"//": "floor_div", "%": "floor_mod"}
_ROUNDED = frozenset({*_FLOORED, "ceil_div", "round_up"})


def floored(expr: Expr, ranges: Mapping[str, Range]) -> Expr:
    """``expr`` with quotients and remainders of negative numbers as Python has them.

    ``ranges``: of the symbols that may be negative; sizes, indices and counts are not.
    """
    children = expr.children()
    new = tuple(floored(child, ranges) for child in children)
    if any(a is not b for a, b in zip(new, children, strict=True)):
        expr = expr.with_children(new)
    if not isinstance(expr, Binary) or expr.op not in _ROUNDED:
        return expr
    if all(never_negative(side, ranges) for side in (expr.left, expr.right)):
        return expr
    if expr.op in _FLOORED:
        return binary(_FLOORED[expr.op], expr.left, expr.right)
    up = 0 - binary("floor_div", 0 - expr.left, expr.right)  # ceil(a / b) = -floor(-a / b)
    return up if expr.op == "ceil_div" else up * expr.right


def never_negative(expr: Expr, ranges: Mapping[str, Range]) -> bool:
    """Whether a number is proved to be >= 0. Elements of tensors may be anything."""
    spans = {name: ranges.get(name, _NEVER_NEGATIVE) for name in expr.symbols()}
    return bool(bounds(expr, spans, {})[0] >= 0)
