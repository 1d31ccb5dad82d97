"""The interval of keys that a condition on indices shows each row.

A comparison that is affine in the key index ``j``, with the slope 1 or -1 and integers on both sides, is a
bound; of other numbers only literals are rounded. What holds in all of several conditions is the intersection
of their intervals; what holds in any of them is an interval where all are bounds of one side. A condition
without positions, such as ``window == 0``, opens the interval that it is joined with by ``|``. A negated
condition is its dual.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce

from attndsl.base.source_location import SourceLine
from attndsl.expr import Binary, Compare, Const, Expr, Logic, maximum, minimum, negation, select
from attndsl.expr.conditions import joined_parts
from attndsl.expr.intervals import is_integral
from attndsl.expr.operators import OPERATORS, ORDERINGS
from attndsl.graph import nodes
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.masks.byte_axes import WITH_COLUMNS
from attndsl.lowering.operands.key_numbers import affine, difference

_KEY, _QUERY = "j", "i"
_BEHIND_KEYS = Const(2**31 - 1)
"""No key has such a number."""
# A literal is rounded where no rounding of the spec's own double arithmetic could carry it over an integer:
# sums with integers below 2**32 are off by less than 2**-20.
_LARGEST, _CLEAR = 2**31, 2.0**-20


@dataclass(frozen=True, slots=True)
class Interval:
    """The keys that a row sees: ``begin <= j < end``, spec expressions of b, n and i; None for no bound."""

    begin: Expr | None
    end: Expr | None


def key_interval(node: nodes.Replace, floats: frozenset[str] = frozenset()) -> Interval:
    """The interval that a mask shows; ``floats`` are the parameters that are no integers.

    Raises:
        NotLowered: the condition is none on indices, or none over an interval of keys.
    """
    if not isinstance(node.condition, nodes.IndexCondition):
        raise NotLowered("a mask that is no condition on indices", node.where)
    return shown_interval(node.condition.condition, floats, node.where, holds=False)


def shown_interval(expr: Expr, floats: frozenset[str], where: SourceLine, *, holds: bool = True) -> Interval:
    """The keys for which a condition comes out as ``holds``.

    Raises:
        NotLowered: they are no interval.
    """
    return _Conditions(floats, where).shown(expr, holds=holds)


def visible_interval(node: nodes.Replace, floats: frozenset[str] = frozenset()) -> Interval | None:
    """The interval that a mask shows; None where the condition is none over an interval of keys."""
    try:
        return key_interval(node, floats)
    except NotLowered:
        return None


@dataclass(frozen=True, slots=True)
class _Conditions:
    """The conditions of one mask."""

    floats: frozenset[str]
    where: SourceLine

    def shown(self, expr: Expr, *, holds: bool) -> Interval:
        """The keys for which ``expr`` comes out as ``holds``."""
        if isinstance(expr, Compare) and expr.op == "==" and is_false(expr.right):
            return self.shown(expr.left, holds=not holds)
        if isinstance(expr, Logic):
            if (expr.op == "and") == holds:
                return intersection([self.shown(part, holds=holds) for part in joined_parts(expr, expr.op)])
            return self._any(expr, holds)
        if isinstance(expr, Compare) and expr.op in ORDERINGS:
            return self._bound(expr, expr.op if holds else OPERATORS[expr.op].opposite)
        raise self._refused(f"'{expr}' bounds none")

    def _any(self, expr: Logic, holds: bool) -> Interval:
        """The keys for which one of the conditions at least comes out as ``holds``."""
        parts = joined_parts(expr, expr.op)
        moving = [part for part in parts if part.symbols() & {_KEY, _QUERY}]
        shown = [self.shown(part, holds=holds) for part in moving or parts]
        found = shown[0] if len(shown) == 1 else self._union(expr, shown)
        fixed = [part if holds else negation(part) for part in parts if not part.symbols() & {_KEY, _QUERY}]
        return _open_where(reduce(lambda a, b: a | b, fixed), found) if moving and fixed else found

    def _union(self, expr: Expr, parts: list[Interval]) -> Interval:
        ends = [part.end for part in parts if part.end is not None]
        begins = [part.begin for part in parts if part.begin is not None]
        if len(ends) == len(parts) and not begins:
            return Interval(None, reduce(maximum, ends))
        if len(begins) == len(parts) and not ends:
            return Interval(reduce(minimum, begins), None)
        raise NotLowered(
            f"a mask that shows no interval of keys ('{expr}' joins intervals that may leave a gap)",
            self.where,
            "give each interval of keys a softmax of its own, so that no key is in two of them, and join the "
            "results by attend.merge(...)",
        )

    def _bound(self, part: Compare, op: str) -> Interval:
        """``part``, with ``op`` for its own operation, as ``j < end`` or as ``j >= begin``."""
        left, right = whole_numbers(part.left), whole_numbers(part.right)
        slope, rest = affine(left - right) or (0, Const(0))
        if slope not in (1, -1):
            raise self._refused(f"'{part}' does not compare j or -j with numbers without j")
        upper = (slope == 1) == (op in ("<", "<="))
        strict = op in ("<", ">")
        edge = difference(Const(0), rest) if slope == 1 else rest
        # j < edge: up; j <= edge, as j < down + 1: down; j > edge, as j >= down + 1: down; j >= edge: up
        rounded = (
            self._rounded(edge, up=strict == upper) if _fractions(left) + _fractions(right) < 2 else None
        )
        if rounded is None:
            raise self._refused(
                f"'{part}' compares with numbers that are no integers",
                "declare parameters as int, or write the bound in integers, by // or ceil_div(...)",
            )
        edge = rounded if strict == upper else rounded + 1
        return Interval(None, edge) if upper else Interval(edge, None)

    def _rounded(self, expr: Expr, *, up: bool) -> Expr | None:
        """The next integer at or above ``expr`` (``up``), or at or below; None where that is not known."""
        if is_integral(expr, self.floats):
            return expr
        if isinstance(expr, Const):
            return _rounded_literal(float(expr.value), up)
        if not isinstance(expr, Binary) or expr.op not in ("+", "-", "min", "max"):
            return None
        joins = expr.op in ("min", "max")
        if not joins and not is_integral(expr.left, self.floats) and not is_integral(expr.right, self.floats):
            return None
        left = self._rounded(expr.left, up=up)
        right = self._rounded(expr.right, up=up != (expr.op == "-"))
        return None if left is None or right is None else expr.with_children((left, right))

    def _refused(self, why: str, instead: str = WITH_COLUMNS) -> NotLowered:
        return NotLowered(f"a mask that shows no interval of keys ({why})", self.where, instead)


def _open_where(condition: Expr, interval: Interval) -> Interval:
    """All keys where a condition holds, else those of an interval: by a minimum and a maximum, so that the
    bounds still grow or fall with the query position."""
    begin, end = interval.begin, interval.end
    return Interval(
        None if begin is None else minimum(begin, select(condition, 0, _BEHIND_KEYS)),
        None if end is None else maximum(end, select(condition, _BEHIND_KEYS, 0)),
    )


def is_false(expr: Expr) -> bool:
    """Whether an expression is the literal that negations compare with."""
    return isinstance(expr, Const) and expr.value is False


def intersection(parts: list[Interval]) -> Interval:
    """The keys in all of several intervals."""
    begins = [part.begin for part in parts if part.begin is not None]
    ends = [part.end for part in parts if part.end is not None]
    return Interval(
        reduce(maximum, begins) if begins else None,
        reduce(minimum, ends) if ends else None,
    )


# ------------------------------------------------------------------------------------------------
# Numbers that are no integers


def _is_float(expr: Expr) -> bool:
    return isinstance(expr, Const) and isinstance(expr.value, float)


def whole_numbers(expr: Expr) -> Expr:
    """``expr`` with 2 for 2.0, where the quotient of integers is none itself."""

    def change(node: Expr) -> Expr | None:
        if isinstance(node, Const) and isinstance(node.value, float) and node.value.is_integer():
            return Const(int(node.value))
        return None

    return expr.mapped(change) if any(_is_float(node) for node in expr.walk()) else expr


def _fractions(expr: Expr) -> int:
    """Literals that are no integers. Two may sum to one in the spec's arithmetic, but not in ours."""
    return sum(_is_float(node) for node in expr.walk())


def _rounded_literal(value: float, up: bool) -> Expr | None:
    if not abs(value) < _LARGEST or abs(value - round(value)) < _CLEAR:
        return None
    return Const(math.ceil(value) if up else math.floor(value))
