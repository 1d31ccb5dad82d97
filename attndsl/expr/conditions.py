"""The parts of conditions that ``and`` or ``or`` joins."""

from __future__ import annotations

from collections.abc import Iterator

from attndsl.expr.expression import Expr
from attndsl.expr.nodes import Compare, Const, Logic, compare
from attndsl.expr.operators import OPERATORS


def joined_parts(condition: Expr, op: str) -> tuple[Expr, ...]:
    """The conditions that ``op``, ``and`` or ``or``, joins; a condition alone is its own part."""
    if isinstance(condition, Logic) and condition.op == op:
        return (*joined_parts(condition.left, op), *joined_parts(condition.right, op))
    return (condition,)


def conjuncts(condition: Expr | None) -> tuple[Expr, ...]:
    """The conditions that all have to hold for ``condition`` to hold; None asks for nothing."""
    return () if condition is None else joined_parts(condition, "and")


def comparisons(condition: Expr | None, holds: bool = True) -> Iterator[Compare]:
    """The comparisons that all hold where ``condition`` comes out as ``holds``; none of None."""
    if condition is None:
        return
    for part in joined_parts(condition, "and" if holds else "or"):
        if not isinstance(part, Compare):
            continue
        if part.op == "==" and part.right.same(Const(False)) and isinstance(part.left, Compare | Logic):
            yield from comparisons(part.left, not holds)
        else:
            yield part if holds else compare(OPERATORS[part.op].opposite, part.left, part.right)
