"""The value of an expression as generated C++ computes it on the host: floating-point numbers are float.

Parameters reach the host as float and literals have the suffix f, so that each operation rounds to float32;
a quotient is one of double, and so is what is computed with it. Integers stay exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from attndsl.expr.expression import Expr
from attndsl.expr.nodes import Binary, Compare, Const, Logic, Select, Symbol
from attndsl.expr.operators import OPERATORS


def in_single_precision(expr: Expr, env: Mapping[str, Any]) -> float:
    """``expr`` under ``env``, a number of float32."""
    with np.errstate(all="ignore"):  # as C++ has it: infinities and NaN
        return float(np.float32(_value(expr, env)))


def _value(expr: Expr, env: Mapping[str, Any]) -> Any:
    if isinstance(expr, Select):
        return _value(expr.then if _value(expr.condition, env) else expr.otherwise, env)
    if isinstance(expr, Logic):
        holds = bool(_value(expr.left, env))
        return _value(expr.right, env) if holds == (expr.op == "and") else holds
    if isinstance(expr, Binary | Compare):
        left, right = _value(expr.left, env), _value(expr.right, env)
        if expr.op == "/":
            left, right = np.float64(left), np.float64(right)
        for real in (left, right):
            if isinstance(real, np.floating):  # of an integer and a float, C++ converts the integer first
                left, right = (
                    each if isinstance(each, np.floating) else type(real)(each) for each in (left, right)
                )
        return OPERATORS[expr.op].python(left, right)
    value = expr.evaluate(env)
    return np.float32(value) if isinstance(expr, Const | Symbol) and isinstance(value, float) else value
