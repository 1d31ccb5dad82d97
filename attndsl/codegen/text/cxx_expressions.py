"""Symbolic scalars as C++ expressions.

Values are ``int64_t`` (or float). In C++ ``//`` and ``%`` round towards zero: printed are expressions whose
operands are >= 0, and ``floor_div`` and ``floor_mod`` for others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from attndsl.base.errors import InternalError
from attndsl.codegen.names.members import ENTRY_SIZE, constant, fold_function, list_member, scalar, source
from attndsl.expr import (
    Binary,
    Compare,
    Const,
    Element,
    Expr,
    Load,
    Logic,
    Named,
    OneOf,
    Scope,
    Select,
    Symbol,
)
from attndsl.expr.nodes import Pair, bracketed
from attndsl.expr.operators import ATOM, OPERATORS
from attndsl.expr.reductions import Fold
from attndsl.tile.entry_size import EntrySize

SIGNS = {"//": "/", "and": "&&", "or": "||"}
"""Signs of operators that C++ writes in another way than readers have them."""
FUNCTIONS = {
    "min": "MinOf",
    "max": "MaxOf",
    "ceil_div": "CeilDiv",
    "round_up": "RoundUp",
    "floor_div": "FloorDiv",
    "floor_mod": "FloorMod",
}
"""The functions of operators that are calls. Generated code defines those that it uses."""

_Text = tuple[str, int]
"""A text and the precedence of its outermost operator."""


def cxx_text(expr: Expr, spelled: Mapping[str, str] | None = None) -> str:
    """The C++ expression of the same value.

    ``spelled``: of symbols and constants by name, where they are not spelled as their kind has it.

    Raises:
        InternalError: nodes of this kind have no C++.
    """
    return _rendered(expr, spelled or {})[0]


def _rendered(expr: Expr, spelled: Mapping[str, str]) -> _Text:
    rule = _RULES.get(type(expr))
    if rule is None:
        raise InternalError(f"no C++ for {type(expr).__name__}: {expr}")
    return rule(expr, spelled)


def _const(expr: Const, _: Mapping[str, str]) -> _Text:
    if isinstance(expr.value, bool):
        return str(expr.value).lower(), ATOM
    text = _float_text(expr.value) if isinstance(expr.value, float) else str(expr.value)
    return text, expr.rendered()[1]


def _float_text(value: float) -> str:
    if math.isinf(value):
        return "__builtin_inff()" if value > 0 else "-__builtin_inff()"  # kernels have no <cmath>
    return "NAN" if math.isnan(value) else f"{value!r}f"


def _pair(expr: Pair, spelled: Mapping[str, str]) -> _Text:
    (a, a_level), (b, b_level) = _rendered(expr.left, spelled), _rendered(expr.right, spelled)
    left, right = bracketed(expr, a, a_level), bracketed(expr, b, b_level, right=True)
    return f"{left} {SIGNS.get(expr.op, expr.op)} {right}", OPERATORS[expr.op].precedence


def _binary(expr: Binary, spelled: Mapping[str, str]) -> _Text:
    if expr.op in FUNCTIONS:
        return f"{FUNCTIONS[expr.op]}({cxx_text(expr.left, spelled)}, {cxx_text(expr.right, spelled)})", ATOM
    if expr.op == "/":
        quotient = f"static_cast<double>({cxx_text(expr.left, spelled)}) / ({cxx_text(expr.right, spelled)})"
        return quotient, OPERATORS["/"].precedence
    if expr.op == "-" and expr.left.same(Const(0)) and isinstance(expr.right, Named):
        return f"-{cxx_text(expr.right, spelled)}", OPERATORS["-"].precedence
    return _pair(expr, spelled)


def _select(expr: Select, spelled: Mapping[str, str]) -> _Text:
    parts = (_rendered(child, spelled) for child in expr.children())
    condition, then, otherwise = (f"({text})" if level <= 1 else text for text, level in parts)
    return f"{condition} ? {then} : {otherwise}", 0


def _load(expr: Load, spelled: Mapping[str, str]) -> _Text:
    value = f"{source(expr)}.GetValue({cxx_text(expr.index, spelled)})"
    # Arithmetic is in int64_t: narrower and unsigned elements would wrap.
    return value if expr.dtype in ("int64", "float32") else f"static_cast<int64_t>({value})", ATOM


def _element(expr: Element, spelled: Mapping[str, str]) -> _Text:
    return f"{source(expr)}[{cxx_text(expr.index, spelled)}]", ATOM


def _entry_size(expr: EntrySize, spelled: Mapping[str, str]) -> _Text:
    arguments = f"{list_member(expr.tensor)}, {cxx_text(expr.index, spelled)}, {expr.from_end}"
    return f"{ENTRY_SIZE}({arguments})", ATOM


def passed_scalars(fold: Fold) -> tuple[Symbol, ...]:
    """The scalars that the function of a fold takes besides the end of its range: it sees tiling fields."""
    return tuple(symbol for symbol in fold.captured() if symbol.scope is not Scope.TILING)


def _fold(expr: Fold, spelled: Mapping[str, str]) -> _Text:
    arguments = ", ".join(cxx_text(value, spelled) for value in (expr.range_end(), *passed_scalars(expr)))
    return f"{fold_function(expr)}({arguments})", ATOM


def _symbol(expr: Symbol, spelled: Mapping[str, str]) -> _Text:
    return spelled.get(expr.name) or scalar(expr), ATOM


_RULES: dict[type[Expr], Callable[..., _Text]] = {
    Const: _const,
    Named: lambda expr, spelled: (spelled.get(expr.name) or constant(expr.name), ATOM),
    Symbol: _symbol,
    OneOf: _symbol,
    Binary: _binary,
    Compare: _pair,
    Logic: _pair,
    Select: _select,
    Load: _load,
    Element: _element,
    EntrySize: _entry_size,
    Fold: _fold,
}
