"""Which keys a query row sees, where a mask is a condition on indices: proved from the condition.

A conjunction of comparisons that are affine in the key index ``j`` shows each row one interval of keys. From
its ends follow the keys that no row of a task sees (never loaded, never multiplied), the tiles that all
rows of a vector step see whole (no instruction for the mask), and the lanes to hide in the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

from attndsl.graph import nodes
from attndsl.schedule.choices import GRANULE
from attndsl.schedule.context import BATCH, FIRST_KEY, KEYS, Context
from attndsl.symbolic import Binary, Compare, Const, Expr, Logic, Symbol, maximum, minimum

_Join = Callable[[Expr, Expr], Expr]
_KEY, _QUERY = "j", "i"
_FLIPPED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}


@dataclass(frozen=True, slots=True)
class Interval:
    """The keys that a row sees: ``begin <= j < end``, spec expressions of b, n and i; None for no bound."""

    begin: Expr | None
    end: Expr | None


def visible_interval(node: nodes.Replace) -> Interval | None:
    """The interval that a mask shows; None where the condition is none over an interval of keys."""
    if not isinstance(node.condition, nodes.IndexCondition):
        return None
    visible = _negated(node.condition.condition)
    ends: list[Expr] = []
    begins: list[Expr] = []
    for part in _conjuncts(visible) if visible is not None else (None,):
        bound = _bound(part)
        if bound is None:
            return None
        (ends if bound[0] else begins).append(bound[1])
    return Interval(
        reduce(maximum, begins) if begins else None,
        reduce(minimum, ends) if ends else None,
    )


def hidden_keys(modifiers: tuple[nodes.Node, ...]) -> tuple[Interval, ...]:
    """The masks behind which nothing but such masks acts on the scores: what they hide has no weight."""
    found: list[Interval] = []
    for node in reversed(modifiers):
        interval = visible_interval(node) if isinstance(node, nodes.Replace) else None
        if interval is None or node.value != float("-inf"):  # type: ignore[attr-defined]
            break
        found.append(interval)
    return tuple(found)


def first_visible(context: Context) -> Expr | None:
    """A key at or before the first that any row of the task sees; None where that is not known."""
    masks = hidden_keys(context.attention.modifiers)
    found = _over_task(context, [_extreme(each.begin, low=True) for each in masks], maximum)
    return None if found is None else found // GRANULE * GRANULE


def visible_end(context: Context) -> Expr | None:
    """A key behind the last that any row of the task sees; None where that is not known."""
    masks = hidden_keys(context.attention.modifiers)
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


def _over_task(context: Context, bounds: list[Expr | None], join: _Join) -> Expr | None:
    """The bounds that are known, joined and cut at 0, as the kernel computes them for a task."""
    known = [bound for bound in bounds if bound is not None]
    if not known or not context.rows.one_batch_row:
        return None
    first, last = context.rows.task_positions()
    return maximum(0, context.in_kernel(reduce(join, known), _ends(first, last)))


def _ends(first: Expr, last: Expr) -> dict[str, Expr]:
    return {"b": BATCH, _FIRST.name: first, _LAST.name: last}


# ------------------------------------------------------------------------------------------------
# Conditions


def _negated(hidden: Expr) -> Expr | None:
    if isinstance(hidden, Compare):
        if hidden.op == "==" and isinstance(hidden.right, Const) and hidden.right.value is False:
            return hidden.left
        op = _FLIPPED.get(hidden.op)
        return None if op is None else Compare(op, hidden.left, hidden.right)
    if isinstance(hidden, Logic) and hidden.op == "or":
        left, right = _negated(hidden.left), _negated(hidden.right)
        return None if left is None or right is None else left & right
    return None


def _conjuncts(expr: Expr) -> tuple[Expr, ...]:
    if isinstance(expr, Logic) and expr.op == "and":
        return (*_conjuncts(expr.left), *_conjuncts(expr.right))
    return (expr,)


def _bound(part: Expr | None) -> tuple[bool, Expr] | None:
    """A comparison as ``j < end`` (True, end) or ``j >= begin`` (False, begin), over integers."""
    if not isinstance(part, Compare) or part.op not in _FLIPPED:
        return None
    slope, rest = _affine(part.left - part.right) or (0, Const(0))
    if slope not in (1, -1):
        return None
    at_most = part.op in ("<", "<=")
    strict = part.op in ("<", ">")
    # slope * j + rest  <op>  0
    if (slope == 1) == at_most:  # j <= edge
        edge = _difference(Const(0), rest) if slope == 1 else rest
        return True, (edge if strict else edge + 1)
    edge = _difference(Const(0), rest) if slope == 1 else rest
    return False, (edge + 1 if strict else edge)


def _affine(expr: Expr) -> tuple[int, Expr] | None:
    """``expr`` as ``slope * j + rest`` with a constant slope."""
    if _KEY not in expr.symbols():
        return 0, expr
    if isinstance(expr, Symbol):
        return 1, Const(0)
    if isinstance(expr, Binary) and expr.op in ("+", "-"):
        left, right = _affine(expr.left), _affine(expr.right)
        if left is None or right is None:
            return None
        sign = 1 if expr.op == "+" else -1
        rest = left[1] + right[1] if sign == 1 else _difference(left[1], right[1])
        return left[0] + sign * right[0], rest
    return None


def _difference(left: Expr, right: Expr) -> Expr:
    """``left - right``, without the difference of 0 and a difference."""
    if isinstance(right, Binary) and right.op == "-":
        return (
            _difference(left + right.right, right.left)
            if right.left.same(Const(0))
            else (_difference(right.right, right.left) if left.same(Const(0)) else left - right)
        )
    return left - right


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
