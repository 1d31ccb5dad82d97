"""The elementwise operations of the graph: how many operands each has, and how it is written."""

from __future__ import annotations

ARITY = {"exp": 1, "log": 1, "sqrt": 1, "tanh": 1, "sigmoid": 1, "negate": 1, "abs": 1}
ARITY |= {"add": 2, "subtract": 2, "multiply": 2, "divide": 2, "minimum": 2, "maximum": 2}
_SIGNS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "negate": "-"}
_SIGNS |= {"minimum": "min", "maximum": "max"}


def sign_of(op: str) -> str:
    """How readers see an operation: by its sign, or the name of a function."""
    return _SIGNS.get(op, op)


def of_one(op: str, operand: str) -> str:
    """An operation of one operand as readers see it."""
    sign = sign_of(op)
    return f"{sign}({operand})" if sign.isidentifier() else f"{sign}{operand}"
