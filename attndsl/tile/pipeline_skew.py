"""The steps of a skewed loop: stage k works on tile ``step - lags[k]``, as long as there is such a tile."""

from __future__ import annotations

from attndsl.expr import Expr, ExprLike, as_expr
from attndsl.tile.statements import Pipelined


def ring_depth(loop: Pipelined) -> int:
    """Slots of the workspace rings of a loop: one more than its deepest lag."""
    return max(loop.lags, default=0) + 1


def named_lag(loop: Pipelined, lag: int) -> Expr:
    """A lag as the kernel writes it: by the constant of the prefetch distance or the lead if it is one."""
    for constant in (loop.prefetch, loop.lead):
        if lag and constant is not None and lag == constant.value:
            return constant
    return as_expr(lag)


def guard(step: Expr, lag: int, deepest: int, extent: ExprLike, named: Expr | None = None) -> Expr | None:
    """When a stage has a tile in the loop ``for step in 0..extent + deepest``; None where it always has.

    ``deepest``: the deepest lag in the loop; ``named``: the lag as the condition is to write it. A side that
    the loop's own range implies is left out.
    """
    shown = as_expr(lag) if named is None else named
    begun = step >= shown if lag > 0 else None
    not_over = step < as_expr(extent) + shown if lag < deepest else None
    if begun is None or not_over is None:
        return begun if not_over is None else not_over
    return begun & not_over


def tiles(lag: int, deepest: int, extent: int) -> list[int | None]:
    """For each step of a loop of known extent, the tile of a stage; None in steps where it has none."""
    found: list[int | None] = []
    for step in range(extent + deepest):
        condition = guard(as_expr(step), lag, deepest, extent)
        found.append(step - lag if condition is None or condition.evaluate({}) else None)
    return found
