"""What divides by zero does not hold: conditions with that said in front of every comparison.

Python, NumPy and C++ would each do something else with a division by zero; of a guarded condition they never
come to one, and all three say the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from attndsl.expr import Binary, Compare, Const, Expr, Logic, Select, select
from attndsl.expr.reductions import Fold

_DIVIDES = frozenset({"/", "//", "%", "ceil_div", "round_up", "floor_div", "floor_mod"})


def guarded(condition: Expr) -> Expr:
    """The condition, false where a comparison in it would divide by zero."""
    return condition.mapped(_guarded_comparison)


def _guarded_comparison(node: Expr) -> Expr | None:
    if not isinstance(node, Compare):
        return None
    found: Expr | None = None
    for guard in dict.fromkeys(_guards(node)):
        found = guard if found is None else Logic("and", found, guard)
    return node if found is None else Logic("and", found, node)


def _guards(node: Expr) -> Iterator[Expr]:
    """Conditions without which something in it divides by zero, the innermost first; sums over an index range
    are left to themselves."""
    if isinstance(node, Fold):
        return
    children = node.children()
    if isinstance(node, Select):
        test, then, otherwise = children
        yield from _guards(test)
        for guard in _guards(then):
            yield select(test, guard, True)
        for guard in _guards(otherwise):
            yield select(test, True, guard)
        return
    for child in children:
        yield from _guards(child)
    if isinstance(node, Binary) and node.op in _DIVIDES and not _never_zero(node.right):
        yield Compare("!=", node.right, Const(0))


def _never_zero(divisor: Expr) -> bool:
    return isinstance(divisor, Const) and divisor.value != 0
