"""Expressions in sympy, for proofs and simplification.

sympy is imported on first use: whoever only compiles does not wait for it.
"""

from __future__ import annotations

from typing import Any

from attndsl.expr.expression import Expr
from attndsl.expr.nodes import Binary, Compare, Const, Load, Logic, Select, Symbol
from attndsl.expr.operators import OPERATORS


def to_sympy(expr: Expr) -> Any:
    """The expression in sympy, symbols and elements of tensors as non-negative integers.

    Raises:
        TypeError: sympy has nothing for a node of this kind.
    """
    import sympy

    if isinstance(expr, Const):
        return sympy.sympify(expr.value)
    if isinstance(expr, Symbol):
        return sympy.Symbol(expr.name, integer=True, nonnegative=True)
    if isinstance(expr, Load):
        return sympy.Symbol(expr.text().replace(" ", ""), integer=True, nonnegative=True)
    parts = [to_sympy(child) for child in expr.children()]
    if isinstance(expr, Select):
        return sympy.Piecewise((parts[1], parts[0]), (parts[2], True))
    if not isinstance(expr, Binary | Compare | Logic):
        raise TypeError(f"sympy has no {type(expr).__name__}: {expr}")
    return OPERATORS[expr.op].sympy(sympy, *parts)
