"""The parts of conditions that ``and`` or ``or`` joins."""

from __future__ import annotations

from attndsl.expr.expression import Expr
from attndsl.expr.nodes import Logic


def joined_parts(condition: Expr, op: str) -> tuple[Expr, ...]:
    """The conditions that ``op``, ``and`` or ``or``, joins; a condition alone is its own part."""
    if isinstance(condition, Logic) and condition.op == op:
        return (*joined_parts(condition.left, op), *joined_parts(condition.right, op))
    return (condition,)


def conjuncts(condition: Expr | None) -> tuple[Expr, ...]:
    """The conditions that all have to hold for ``condition`` to hold; None asks for nothing."""
    return () if condition is None else joined_parts(condition, "and")
