"""Conditions on indices as tests of single keys: comparisons of a number of each key, joined.

Such a number is made of the key index ``j`` by sums with what is the same for all keys, by factors that are
literals, by ``//`` and by ``%``. A test is exact in fp32, whatever the number of keys: lanes hold the part of
a number that differs within a tile, below 2**22, and the part that all keys of a tile share is an integer of
the scalar unit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from typing import TypeAlias

from attndsl.base.source_location import SourceLine
from attndsl.expr import Binary, Compare, Const, Expr, Load, Logic, Symbol, binary, compare, maximum, minimum
from attndsl.expr.conditions import joined_parts
from attndsl.expr.expression import BITS_AS_BYTES
from attndsl.expr.intervals import bounds, is_integral
from attndsl.expr.operators import OPERATORS
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.masks.byte_axes import WITH_COLUMNS
from attndsl.lowering.masks.mask_kind import KnownNumbers
from attndsl.lowering.masks.visible_interval import (
    Interval,
    intersection,
    is_false,
    shown_interval,
    whole_numbers,
)
from attndsl.lowering.operands.block_elements import block_of_keys
from attndsl.lowering.operands.key_elements import reads_keys
from attndsl.lowering.operands.key_numbers import KEY, affine

_INDICES = frozenset({"b", "n", "i", "j"})
LARGEST = 2**21
"""No number in lanes is larger: of twice this one, the quotients of fp32 numbers are still the right ones."""
_MOST_KEYS = 2048  # of a tile: the distance of two fp32 rows is a repeat stride
FORMS = (
    "a comparison has on one side j, plus or minus numbers without j, or such a sum // or % a literal, or a "
    "size or an integer parameter of stated bounds, or an element x[b, j] of an integer tensor; on the other "
    "side numbers without j"
)


@dataclass(frozen=True, slots=True)
class Division:
    """``//`` or ``%`` by a divisor that is an integer from 1 to LARGEST in every call.

    ``carried``: what is added to the lanes before, the part of the dividend that all keys of a tile share;
    a spec expression in which ``j`` is the first key of the tile. ``remainder``: whether it is ``%``.
    """

    carried: Expr
    divisor: Expr
    remainder: bool


@dataclass(frozen=True, slots=True)
class KeyNumber:
    """An integer of each key: ``slope`` times its place in the tile, changed by ``steps``, plus ``rest``.

    Attributes:
        element: an element of an integer tensor, read at each key; its place in the tile if None.
        block: how many neighbouring keys share the element; None where each key has its own.
        slope: the factor of the key's place or element, before the first step.
        steps: divisions and factors, in order.
        rest: what is added at the end, the same for all keys of a tile; ``j`` in it is the tile's first key.
        low, high: bounds of the lanes after all steps.
    """

    slope: int
    steps: tuple[Division | int, ...]
    rest: Expr
    low: float
    high: float
    element: Load | None = None
    block: Expr | None = None

    @property
    def signed(self) -> Expr:
        """The number of an element, which has no steps, as an expression."""
        assert self.element is not None
        return self.element * self.slope + self.rest


@dataclass(frozen=True, slots=True)
class KeyTest:
    """``number <op> bound``; ``bound``: a spec expression as KeyNumber.rest. No number: ``bound <op> 0``."""

    number: KeyNumber | None
    op: str
    bound: Expr


@dataclass(frozen=True, slots=True)
class Joined:
    """Tests that must hold all (``every``), or one of which must hold."""

    parts: tuple[Condition, ...]
    every: bool


Condition: TypeAlias = "KeyTest | Joined"


@dataclass(frozen=True, slots=True)
class VisibleKeys:
    """The keys that a row sees: those of an interval for which all of ``tests`` hold."""

    interval: Interval
    tests: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class KeyConditions:
    """The conditions of one mask.

    Attributes:
        known: what is known of the numbers in them.
        where: the spec line of the mask.
    """

    known: KnownNumbers
    where: SourceLine

    def visible(self, hidden: Expr) -> VisibleKeys:
        """What a mask shows that hides keys for which ``hidden`` holds.

        Raises:
            NotLowered: a part of the condition is neither an interval nor a test of single keys.
        """
        intervals: list[Interval] = []
        tests: list[Condition] = []
        for part, holds in _all_of(hidden, holds=False):
            found = self._interval(part, holds)
            if found is not None:
                intervals.append(found)
            else:
                tests.append(self._condition(part, holds))
        return VisibleKeys(intersection(intervals), tuple(tests))

    def around(self, expr: Expr, *, holds: bool) -> Interval:
        """An interval that has all keys for which ``expr`` comes out as ``holds``."""
        found = self._interval(expr, holds)
        if found is not None:
            return found
        if isinstance(expr, Compare) and expr.op == "==" and is_false(expr.right):
            return self.around(expr.left, holds=not holds)
        if not isinstance(expr, Logic):
            return Interval(None, None)
        parts = [self.around(part, holds=holds) for part in joined_parts(expr, expr.op)]
        return intersection(parts) if (expr.op == "and") == holds else _hull(parts)

    # Tests ------------------------------------------------------------------------------------------------

    def _condition(self, expr: Expr, holds: bool) -> Condition:
        if isinstance(expr, Compare) and expr.op == "==" and is_false(expr.right):
            return self._condition(expr.left, not holds)
        if isinstance(expr, Logic):
            every = (expr.op == "and") == holds
            parts = joined_parts(expr, expr.op)
            return Joined(tuple(self._condition(part, holds) for part in parts), every)
        if isinstance(expr, Compare):
            return self._comparison(expr, expr.op if holds else OPERATORS[expr.op].opposite, holds)
        if isinstance(expr, Load):
            return self._condition(compare("!=", expr, 0), holds)
        raise self._refused(f"'{expr}' is no comparison")

    def _comparison(self, expr: Compare, op: str, holds: bool) -> Condition:
        found = self._interval(expr, holds)
        if found is not None:
            if found.end is not None:
                return KeyTest(self._affine(1, KEY), "<", found.end)
            assert found.begin is not None
            return KeyTest(self._affine(1, KEY), ">=", found.begin)
        left, right = whole_numbers(expr.left), whole_numbers(expr.right)
        if not is_integral(left, self.known.floats) or not is_integral(right, self.known.floats):
            raise self._refused(
                f"'{expr}' compares with numbers that are no integers",
                "declare parameters as int, or write the bound in integers, by // or ceil_div(...)",
            )
        sides = [KEY.name in side.symbols() for side in (left, right)]
        if all(sides):
            left, right = left - right, Const(0)
        elif sides[1]:
            left, right, op = right, left, OPERATORS[op].mirrored
        if KEY.name not in left.symbols():
            return KeyTest(None, op, left - right)
        number = self._number(left)
        if number.slope == 0 and not number.steps:
            return KeyTest(None, op, number.rest - right)
        return KeyTest(number, op, right)

    # Numbers of keys --------------------------------------------------------------------------------------

    def _number(self, expr: Expr) -> KeyNumber:
        line = affine(expr)
        if line is not None:
            return self._affine(line[0], expr)
        if isinstance(expr, Load):
            return self._element(expr)
        if isinstance(expr, Binary):
            rule = _NUMBERS.get(expr.op)
            if rule is not None:
                return rule(self, expr)
        raise self._refused(f"'{expr}' is no sum, quotient or remainder of the key index")

    def _element(self, expr: Load) -> KeyNumber:
        """An element at each key, whose last index is the key's, or one that a block of keys shares."""
        if reads_keys(expr):
            return KeyNumber(1, (), Const(0), 0, 0, expr)
        block = block_of_keys(expr)
        if block is not None:
            self._most(KEY // block)
            return KeyNumber(1, (), Const(0), 0, 0, expr, block)
        raise self._refused(
            f"'{expr}' reads a tensor at another place than the key's",
            f"let the last index be the key itself, as in x[b, j], or a block of keys, as in "
            f"x[b, i // 64, j // 64], or {WITH_COLUMNS}",
        )

    def _affine(self, slope: int, rest: Expr) -> KeyNumber:
        """``slope`` times the key's place in its tile, and ``rest``, whose ``j`` is the tile's first key."""
        ends = sorted((0, slope * (_MOST_KEYS - 1)))
        return self._checked(KeyNumber(slope, (), rest, ends[0], ends[1]))

    def _checked(self, number: KeyNumber) -> KeyNumber:
        if max(-number.low, number.high) > LARGEST:
            raise self._refused(f"numbers of keys that differ by {number.high - number.low:g} in a tile")
        return number

    def _sum(self, expr: Binary) -> KeyNumber:
        """A number of each key and what is the same for all."""
        left, right = (KEY.name in side.symbols() for side in (expr.left, expr.right))
        if left and right:
            raise self._refused(f"'{expr}' is of two numbers that differ by key")
        inner = self._number(expr.left if left else expr.right)
        if expr.op == "+":
            return replace(inner, rest=inner.rest + (expr.right if left else expr.left))
        if left:
            return replace(inner, rest=inner.rest - expr.right)
        turned = self._times(inner, -1)
        return replace(turned, rest=expr.left + turned.rest)

    def _product(self, expr: Binary) -> KeyNumber:
        left = KEY.name in expr.left.symbols()
        inner, factor = (expr.left, expr.right) if left else (expr.right, expr.left)
        if not isinstance(factor, Const):
            same_for_all = isinstance(factor, Symbol) and factor.name != KEY.name
            instead = f"divide both sides of the comparison by {factor}" if same_for_all else ""
            raise self._refused(f"'{expr}' multiplies the key index by what is no literal", instead)
        return self._times(self._number(inner), int(factor.value))

    def _times(self, number: KeyNumber, factor: int) -> KeyNumber:
        if number.element is not None and abs(factor) != 1:
            raise self._refused(f"'{number.element}' is multiplied", "divide both sides of the comparison")
        low, high = sorted((number.low * factor, number.high * factor))
        made = replace(number, rest=number.rest * factor, low=low, high=high)
        if number.steps:
            return self._checked(replace(made, steps=(*number.steps, factor)))
        return self._checked(replace(made, slope=number.slope * factor))

    def _division(self, expr: Binary) -> KeyNumber:
        inner, most = self._number(expr.left), self._most(expr)
        if inner.element is not None:
            what = f"'{expr}' divides '{inner.element}'"
            raise self._refused(what, "pass the quotient or remainder as an input of its own")
        step = Division(inner.rest, expr.right, expr.op == "%")
        self._checked(replace(inner, high=inner.high + most))
        steps = (*inner.steps, step)
        if expr.op == "%":
            return replace(inner, steps=steps, rest=Const(0), low=0, high=most - 1)
        rest = binary("//", inner.rest, expr.right)
        return replace(inner, steps=steps, rest=rest, low=min(inner.low, 0), high=max(inner.high, 0) + 1)

    def _most(self, expr: Expr) -> float:
        """The largest divisor of any call."""
        assert isinstance(expr, Binary)
        divisor = expr.right
        if divisor.symbols() & _INDICES or any(isinstance(each, Load) for each in divisor.walk()):
            what = f"'{expr}' divides by what differs by key, query, head or batch row"
            raise self._refused(what, BITS_AS_BYTES if KEY.name in divisor.symbols() else "")
        try:
            low, high = bounds(divisor, self.known.ranges, {})
        except KeyError:
            low, high = 0, float("inf")
        if low < 1 or high > LARGEST / 2:
            raise self._refused(
                f"'{divisor}' in '{expr}' may be anything from {low:g} to {high:g}",
                self._bounded(divisor, low),
            )
        return float(high)

    def _bounded(self, divisor: Expr, low: float) -> str:
        """How an author states bounds of a divisor."""
        most = LARGEST // 2
        if not divisor.symbols() & self.known.sizes:
            return f"write a literal, or declare the parameter with ge=1 and le={most} at most"
        if not isinstance(divisor, Symbol):
            return f"write a literal, or a size or an integer parameter that is stated to be from 1 to {most}"
        span, rule = f"{most} at most", f'{divisor} <= 1024, "must be at most 1024"'
        if low < 1:
            span = f"from 1 to {most}"
            rule = f'({divisor} >= 1) & ({divisor} <= 1024), "must be from 1 to 1024"'
        return f"write a literal, or state that the size is {span}, as in op.require({rule})"

    # ------------------------------------------------------------------------------------------------------

    def _interval(self, expr: Expr, holds: bool) -> Interval | None:
        try:
            return shown_interval(expr, self.known.floats, self.where, holds=holds)
        except NotLowered:
            return None

    def _refused(self, why: str, instead: str = "") -> NotLowered:
        what = f"a mask in a form that no kernel tests ({why})"
        return NotLowered(what, self.where, instead or f"{FORMS}; or {WITH_COLUMNS}")


_NUMBERS: dict[str, Callable[[KeyConditions, Binary], KeyNumber]] = {
    "+": KeyConditions._sum,
    "-": KeyConditions._sum,
    "*": KeyConditions._product,
    "//": KeyConditions._division,
    "%": KeyConditions._division,
}


def _all_of(expr: Expr, *, holds: bool) -> list[tuple[Expr, bool]]:
    """The conditions, and as what they come out, that all hold where ``expr`` comes out as ``holds``."""
    if isinstance(expr, Compare) and expr.op == "==" and is_false(expr.right):
        return _all_of(expr.left, holds=not holds)
    if isinstance(expr, Logic) and (expr.op == "and") == holds:
        return [inner for part in joined_parts(expr, expr.op) for inner in _all_of(part, holds=holds)]
    return [(expr, holds)]


def _hull(parts: list[Interval]) -> Interval:
    """An interval around several."""
    begins = [part.begin for part in parts if part.begin is not None]
    ends = [part.end for part in parts if part.end is not None]
    return Interval(
        reduce(minimum, begins) if len(begins) == len(parts) else None,
        reduce(maximum, ends) if len(ends) == len(parts) else None,
    )
