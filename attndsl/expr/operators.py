"""The scalar operators: one record an operator with its text and all its meanings.

Python evaluates single values, NumPy arrays, intervals bounds, sympy proofs; C++ names are code
generation's. Quotients and remainders round down in each of them, as Python has it: ``//`` and
``floor_div``, ``%`` and ``floor_mod`` differ in C++ alone, where the plain ones round towards zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from attndsl.expr import interval_rules as ranges
from attndsl.expr.interval_rules import IntervalRule

ATOM = 9
"""The precedence of what needs no brackets: names, literals and calls."""


@dataclass(frozen=True, slots=True)
class ScalarOperator:
    """An operator of two scalars.

    Attributes:
        text: as a reader sees it: a sign between the operands, or the name of a call.
        precedence: how tightly it binds; :data:`ATOM` for calls.
        python: its value for Python numbers.
        numpy: its values for arrays that broadcast against each other, of int64, float or truth values.
        interval: bounds of its value, from the bounds of both operands.
        sympy: its expression in sympy, which is the first argument, so that nothing imports it early.
        opposite: of a comparison, the one that holds where this does not.
        mirrored: of a comparison, the one that says the same of its operands exchanged.
    """

    text: str
    precedence: int
    python: Callable[[Any, Any], Any]
    numpy: Callable[[Any, Any], Any]
    interval: IntervalRule
    sympy: Callable[[Any, Any, Any], Any]
    opposite: str = ""
    mirrored: str = ""

    @property
    def is_call(self) -> bool:
        """Whether it is written as a call, and not between its operands."""
        return self.precedence == ATOM


def _ceil_div(a: Any, b: Any) -> Any:
    return -(-a // b)


def _round_up(a: Any, b: Any) -> Any:
    return -(-a // b) * b


def _array_ceil_div(a: Any, b: Any) -> Any:
    return -np.floor_divide(np.negative(a), b)


_LOGIC = (
    ScalarOperator("or", 1, lambda a, b: a or b, np.logical_or, ranges.either, lambda sp, a, b: sp.Or(a, b)),
    ScalarOperator(
        "and", 2, lambda a, b: a and b, np.logical_and, ranges.both, lambda sp, a, b: sp.And(a, b)
    ),
)
_COMPARISONS = (
    ScalarOperator(
        "==",
        3,
        lambda a, b: a == b,
        np.equal,
        ranges.equal,
        lambda sp, a, b: sp.Eq(a, b),
        opposite="!=",
        mirrored="==",
    ),
    ScalarOperator(
        "!=",
        3,
        lambda a, b: a != b,
        np.not_equal,
        ranges.unequal,
        lambda sp, a, b: sp.Ne(a, b),
        opposite="==",
        mirrored="!=",
    ),
    ScalarOperator(
        "<",
        4,
        lambda a, b: a < b,
        np.less,
        ranges.less,
        lambda sp, a, b: sp.Lt(a, b),
        opposite=">=",
        mirrored=">",
    ),
    ScalarOperator(
        "<=",
        4,
        lambda a, b: a <= b,
        np.less_equal,
        ranges.at_most,
        lambda sp, a, b: sp.Le(a, b),
        opposite=">",
        mirrored=">=",
    ),
    ScalarOperator(
        ">",
        4,
        lambda a, b: a > b,
        np.greater,
        ranges.greater,
        lambda sp, a, b: sp.Gt(a, b),
        opposite="<=",
        mirrored="<",
    ),
    ScalarOperator(
        ">=",
        4,
        lambda a, b: a >= b,
        np.greater_equal,
        ranges.at_least,
        lambda sp, a, b: sp.Ge(a, b),
        opposite="<",
        mirrored="<=",
    ),
)
_ARITHMETIC = (
    ScalarOperator("+", 5, lambda a, b: a + b, np.add, ranges.total, lambda sp, a, b: a + b),
    ScalarOperator("-", 5, lambda a, b: a - b, np.subtract, ranges.difference, lambda sp, a, b: a - b),
    ScalarOperator("*", 6, lambda a, b: a * b, np.multiply, ranges.product, lambda sp, a, b: a * b),
    ScalarOperator("/", 6, lambda a, b: a / b, np.divide, ranges.quotient, lambda sp, a, b: a / b),
    ScalarOperator(
        "//", 6, lambda a, b: a // b, np.floor_divide, ranges.floor_div, lambda sp, a, b: sp.floor(a / b)
    ),
    ScalarOperator("%", 6, lambda a, b: a % b, np.mod, ranges.floor_mod, lambda sp, a, b: sp.Mod(a, b)),
    ScalarOperator("min", ATOM, min, np.minimum, ranges.smaller, lambda sp, a, b: sp.Min(a, b)),
    ScalarOperator("max", ATOM, max, np.maximum, ranges.larger, lambda sp, a, b: sp.Max(a, b)),
    ScalarOperator(
        "ceil_div",
        ATOM,
        _ceil_div,
        _array_ceil_div,
        ranges.ceil_div,
        lambda sp, a, b: sp.ceiling(a / b),
    ),
    ScalarOperator(
        "round_up",
        ATOM,
        _round_up,
        lambda a, b: _array_ceil_div(a, b) * b,
        ranges.round_up,
        lambda sp, a, b: sp.ceiling(a / b) * b,
    ),
    ScalarOperator(
        "floor_div",
        ATOM,
        lambda a, b: a // b,
        np.floor_divide,
        ranges.floor_div,
        lambda sp, a, b: sp.floor(a / b),
    ),
    ScalarOperator(
        "floor_mod", ATOM, lambda a, b: a % b, np.mod, ranges.floor_mod, lambda sp, a, b: sp.Mod(a, b)
    ),
)

OPERATORS: dict[str, ScalarOperator] = {each.text: each for each in (*_LOGIC, *_COMPARISONS, *_ARITHMETIC)}
"""All operators by their text."""
CALLS = tuple(name for name, each in OPERATORS.items() if each.is_call)
"""The operators that are written as calls."""
ORDERINGS = ("<", "<=", ">", ">=")
"""The comparisons that tell of two numbers which is larger."""
