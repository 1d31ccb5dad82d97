"""Interval arithmetic: bounds of each scalar operator's value, from the bounds of its operands.

Both ends belong to an interval; an end may be infinite. The bounds of a truth value are whether it always
holds and whether it ever does. A rule that cannot tell gives :data:`ANYTHING`, never a wrong bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

Range = tuple[Any, Any]
IntervalRule = Callable[[Any, Any, Any, Any], Range]
ANYTHING: Range = (-math.inf, math.inf)


def total(a: Any, b: Any, c: Any, d: Any) -> Range:
    """``x + y`` for x in [a, b], y in [c, d]."""
    return a + c, b + d


def difference(a: Any, b: Any, c: Any, d: Any) -> Range:
    """``x - y``."""
    return a - d, b - c


def product(a: Any, b: Any, c: Any, d: Any) -> Range:
    """``x * y``."""
    corners = [_times(x, y) for x in (a, b) for y in (c, d)]
    return min(corners), max(corners)


def _times(x: Any, y: Any) -> Any:
    return 0 if x == 0 or y == 0 else x * y  # an end that is infinite stands for numbers: times 0 they are 0


def smaller(a: Any, b: Any, c: Any, d: Any) -> Range:
    """``min(x, y)``."""
    return min(a, c), min(b, d)


def larger(a: Any, b: Any, c: Any, d: Any) -> Range:
    """``max(x, y)``."""
    return max(a, c), max(b, d)


def quotient(a: Any, b: Any, c: Any, d: Any) -> Range:
    """``x / y``, unrounded."""
    if c <= 0 <= d:
        return ANYTHING
    corners = [_over(x, y) for x in (a, b) for y in (c, d)]
    return min(corners), max(corners)


def _over(x: Any, y: Any) -> Any:
    if _infinite(y):
        return 0.0  # what is next to it: finite numbers over ever larger ones
    return _times(x, math.copysign(1, y)) if _infinite(x) else x / y


def _by_divisors(of_positive: IntervalRule, *, odd: bool) -> IntervalRule:
    """A rule for divisors of any sign from that for divisors > 0, which may come as near to 0 as they like.

    ``odd``: negating both operands negates the value; else it leaves it. Arrays give 0 where they divide
    integers by 0, so that 0 is within the bounds where that may be.
    """

    def rule(a: Any, b: Any, c: Any, d: Any) -> Range:
        if c < 0 < d or c == d == 0:
            return ANYTHING
        if c < 0:
            low, high = rule(-b, -a, -d, -c)
            return (-high, -low) if odd else (low, high)
        low, high = of_positive(a, b, c, d)
        return (min(low, 0), max(high, 0)) if c == 0 else (low, high)

    return rule


def _floor_div(a: Any, b: Any, c: Any, d: Any) -> Range:
    corners = [_floored(x, y) for x in (a, b) for y in (c, d)]
    return min(corners), max(corners)


def _floored(x: Any, y: Any) -> Any:
    """The floor of ``x / y`` for y >= 0; of what is next to an end that is 0 or infinite."""
    if _infinite(y):
        return 0 if x >= 0 else -1
    if y == 0:
        return _times(math.inf, x)
    return x if _infinite(x) else x // y


def _ceil_div(a: Any, b: Any, c: Any, d: Any) -> Range:
    low, high = _floor_div(-b, -a, c, d)
    return -high, -low


def _round_up(a: Any, b: Any, c: Any, d: Any) -> Range:
    if c == d and not _infinite(c):
        return product(*_ceil_div(a, b, c, d), c, d)
    return a, b + d


def _floor_mod(a: Any, b: Any, c: Any, d: Any) -> Range:
    if a >= 0 and b < c:
        return a, b
    if c == d and not (_infinite(a) or _infinite(b) or _infinite(c)) and a // c == b // c:
        return a % c, b % c
    return 0, min(b, d) if a >= 0 else d


floor_div = _by_divisors(_floor_div, odd=False)
"""``x // y``, rounded down."""
ceil_div = _by_divisors(_ceil_div, odd=False)
"""``x / y``, rounded up."""
round_up = _by_divisors(_round_up, odd=True)
"""``ceil_div(x, y) * y``: the next multiple, at or above x for y > 0, at or below it for y < 0."""
floor_mod = _by_divisors(_floor_mod, odd=True)
"""``x % y``, of the sign of ``y``."""


def _infinite(end: Any) -> bool:
    return bool(end in (math.inf, -math.inf))  # math.isinf takes no integer beyond the largest float


def less(a: Any, b: Any, c: Any, d: Any) -> Range:
    """``x < y``."""
    return b < c, a < d


def at_most(a: Any, b: Any, c: Any, d: Any) -> Range:
    """``x <= y``."""
    return b <= c, a <= d


def greater(a: Any, b: Any, c: Any, d: Any) -> Range:
    """``x > y``."""
    return a > d, b > c


def at_least(a: Any, b: Any, c: Any, d: Any) -> Range:
    """``x >= y``."""
    return a >= d, b >= c


def equal(a: Any, b: Any, c: Any, d: Any) -> Range:
    """``x == y``; a word has no bounds but itself."""
    if isinstance(a, str) or isinstance(c, str):
        return (a == c, a == c) if isinstance(a, str) and isinstance(c, str) else (False, True)
    return a == b == c == d, a <= d and c <= b


def unequal(a: Any, b: Any, c: Any, d: Any) -> Range:
    """``x != y``."""
    always, ever = equal(a, b, c, d)
    return not ever, not always


def both(a: Any, b: Any, c: Any, d: Any) -> Range:
    """``x and y``, of truth values."""
    return a and c, b and d


def either(a: Any, b: Any, c: Any, d: Any) -> Range:
    """``x or y``, of truth values."""
    return a or c, b or d
