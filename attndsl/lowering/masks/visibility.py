"""Which keys a query row sees, where a mask is a condition on indices: proved from the condition.

From the ends of the interval of keys that each row sees (``visible_interval.py``) follow the keys that no row
of a task sees (never loaded, never multiplied), the tiles that all rows of a vector step see whole (no
instruction for the mask), and the lanes to hide in the others.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from attndsl.expr import Binary, Expr, Symbol, maximum, minimum
from attndsl.graph import nodes
from attndsl.lowering.emit.context import Context
from attndsl.lowering.emit.loop_scalars import BATCH, FIRST_KEY, KEYS
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.masks.visible_interval import Interval, key_interval
from attndsl.lowering.match.schedule_options import GRANULE

_Join = Callable[[Expr, Expr], Expr]
_QUERY = "i"


def visible_interval(node: nodes.Replace, floats: frozenset[str] = frozenset()) -> Interval | None:
    """The interval that a mask shows; None where the condition is none over an interval of keys."""
    try:
        return key_interval(node, floats)
    except NotLowered:
        return None


def hidden_keys(
    modifiers: tuple[nodes.Node, ...], floats: frozenset[str] = frozenset()
) -> tuple[Interval, ...]:
    """The masks behind which nothing but hiding acts on the scores: what they hide has no weight.

    Masks that hide (put -inf) commute, whatever their conditions are.
    """
    found: list[Interval] = []
    for node in reversed(modifiers):
        if not isinstance(node, nodes.Replace) or node.value != float("-inf"):
            break
        interval = visible_interval(node, floats)
        if interval is not None:
            found.append(interval)
    return tuple(found)


def first_visible(context: Context) -> Expr | None:
    """A key at or before the first that any row of the task sees; None where that is not known."""
    masks = _masks(context)
    found = _over_task(context, [_extreme(each.begin, low=True) for each in masks], maximum)
    return None if found is None else found // GRANULE * GRANULE


def visible_end(context: Context) -> Expr | None:
    """A key behind the last that any row of the task sees; None where that is not known."""
    masks = _masks(context)
    return _over_task(context, [_extreme(each.end, low=False) for each in masks], minimum)


def begins_late(context: Context) -> bool:
    """Whether the first key of a task may be another than 0."""
    return context.keys.first(context) is not None or first_visible(context) is not None


def hides_some(context: Context, interval: Interval) -> Expr | None:
    """Whether some row of the step does not see the whole tile; None where that is not known."""
    tests: list[Expr] = []
    if not context.rows.one_batch_row:
        return None
    first, last = context.rows.step_positions()
    if interval.end is not None:
        end = _extreme(interval.end, low=True)
        if end is None:
            return None
        tests.append(context.in_kernel(end, _ends(first, last)) < FIRST_KEY + KEYS)
    if interval.begin is not None:
        begin = _extreme(interval.begin, low=False)
        if begin is None:
            return None
        tests.append(context.in_kernel(begin, _ends(first, last)) > FIRST_KEY)
    return reduce(lambda a, b: a | b, tests)


def _masks(context: Context) -> tuple[Interval, ...]:
    return hidden_keys(context.attention.modifiers, context.interface.float_params)


def _over_task(context: Context, bounds: list[Expr | None], join: _Join) -> Expr | None:
    """The bounds that are known, joined and cut at 0, as the kernel computes them for a task."""
    known = [bound for bound in bounds if bound is not None]
    if not known or not context.rows.one_batch_row:
        return None
    first, last = context.rows.task_positions()
    return maximum(0, context.in_kernel(reduce(join, known), _ends(first, last)))


def _ends(first: Expr, last: Expr) -> dict[str, Expr]:
    return {"b": BATCH, _FIRST.name: first, _LAST.name: last}


_FIRST, _LAST = Symbol("firstPosition"), Symbol("lastPosition")


def _extreme(expr: Expr | None, *, low: bool) -> Expr | None:
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


_MONOTONE: dict[str, _Join] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "min": minimum,
    "max": maximum,
}
