"""Bounds of the intervals of keys that a task's or a step's rows see, from the row's own interval.

Each part of an interval's end that grows or falls with the query position has its extreme at the first or at
the last position.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from attndsl.expr import Binary, Expr, Symbol, maximum, minimum
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import BATCH, FIRST_KEY, KEYS
from attndsl.lowering.masks.visible_interval import Interval

Join = Callable[[Expr, Expr], Expr]
_QUERY = "i"
_FIRST, _LAST = Symbol("firstPosition"), Symbol("lastPosition")


def hides_some(context: Context, interval: Interval) -> Expr | None:
    """Whether some row of the step does not see the whole tile; None where that is not known."""
    tests: list[Expr] = []
    if not context.rows.one_batch_row:
        return None
    first, last = context.rows.step_positions()
    if interval.end is not None:
        end = extreme(interval.end, low=True)
        if end is None:
            return None
        tests.append(context.in_kernel(end, _ends(first, last)) < FIRST_KEY + KEYS)
    if interval.begin is not None:
        begin = extreme(interval.begin, low=False)
        if begin is None:
            return None
        tests.append(context.in_kernel(begin, _ends(first, last)) > FIRST_KEY)
    return reduce(lambda a, b: a | b, tests)


def over_task(context: Context, bounds: list[Expr | None], join: Join) -> Expr | None:
    """The bounds that are known, joined and cut at 0, as the kernel computes them for a task."""
    return over_positions(context, bounds, join, context.rows.task_positions())


def over_positions(
    context: Context, bounds: list[Expr | None], join: Join, positions: tuple[Expr, Expr]
) -> Expr | None:
    """The same for some query positions of a task, the first and the last."""
    known = [bound for bound in bounds if bound is not None]
    if not known or not context.rows.one_batch_row:
        return None
    first, last = positions
    return maximum(0, context.in_kernel(reduce(join, known), _ends(first, last)))


def _ends(first: Expr, last: Expr) -> dict[str, Expr]:
    return {"b": BATCH, _FIRST.name: first, _LAST.name: last}


def extreme(expr: Expr | None, *, low: bool) -> Expr | None:
    """The smallest (or largest) value over query positions ``firstPosition .. lastPosition``, where every
    part of the expression grows or falls with the position; None where it does not, or differs by head."""
    return None if expr is None or "n" in expr.symbols() else _at_end(expr, low)


def _at_end(expr: Expr, low: bool) -> Expr | None:
    if _QUERY not in expr.symbols():
        return expr
    if isinstance(expr, Symbol):
        return _FIRST if low else _LAST
    if isinstance(expr, Binary) and expr.op in _MONOTONE:
        left = _at_end(expr.left, low)
        right = _at_end(expr.right, low if expr.op != "-" else not low)
        return None if left is None or right is None else _MONOTONE[expr.op](left, right)
    return None


_MONOTONE: dict[str, Join] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "min": minimum,
    "max": maximum,
}
