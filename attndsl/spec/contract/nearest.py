"""The nearest legal value, as advice in the message of a violated constraint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np

from attndsl.expr import Binary, Compare, Const, Expr, Load, Logic, Select, Symbol
from attndsl.expr.argument_facts import GIVEN, SPLIT, argument_of, kind_of
from attndsl.expr.operators import OPERATORS
from attndsl.expr.reductions import Fold
from attndsl.spec.contract.wording import alternatives

SEARCHED = 1024
"""Candidates that are tried in each direction."""


class Rival(NamedTuple):
    """A further condition, and whether a call whose symbols have these values keeps it."""

    condition: Expr
    kept: Callable[[Mapping[str, Any]], bool]


def nearest(condition: Expr, env: Mapping[str, Any], rivals: Iterable[Rival] = (), subject: str = "") -> str:
    """What would have been legal in place of the left side of a simple comparison; empty if unclear.

    Args:
        condition: the violated one.
        env: where it is violated.
        rivals: the other conditions, which advice must not break where they are on the same symbol.
        subject: the argument that the message blames.
    """
    if isinstance(condition, Symbol) and kind_of(condition.name) == GIVEN:
        return f"pass {argument_of(condition.name)}"
    if len(choices := _choices(condition)) > 1:
        return f"it must be {alternatives(choices)}"
    if isinstance(condition, Select):
        chosen = condition.then if condition.condition.evaluate(env) else condition.otherwise
        return nearest(chosen, env, rivals, subject)
    if isinstance(condition, Logic) and condition.op == "and":
        failing = (part for part in (condition.left, condition.right) if not part.evaluate(env))
        return nearest(next(failing), env, rivals, subject)
    if not isinstance(condition, Compare):
        return ""
    if isinstance(condition.left, Select):
        chosen = condition.left
        left = chosen.then if chosen.condition.evaluate(env) else chosen.otherwise
        return nearest(Compare(condition.op, left, condition.right), env, rivals, subject)
    if isinstance(condition.right, Symbol) and not isinstance(condition.left, Symbol | Load | Fold):
        condition = Compare(OPERATORS[condition.op].mirrored, condition.right, condition.left)
    left = condition.left
    if isinstance(left, Symbol) and kind_of(left.name) == GIVEN:
        return f"leave {argument_of(left.name)} out"
    if isinstance(left, Symbol) and kind_of(left.name) == SPLIT:
        return ""
    target = left.left if isinstance(left, Binary) and left.op == "%" else left
    # a number that a size must divide is no argument's value
    found = [] if isinstance(target, Const) else _search(condition, target, env, tuple(rivals))
    if not found:
        return ""
    if isinstance(target, Symbol) and isinstance(env.get(target.name), bool):
        found = [bool(found[0])]
    if isinstance(found[0], str | bool):
        return f"it must be {found[0]}"
    named = not isinstance(target, Load) and str(target) != subject
    what = f" of {target}" if named and subject else ""
    if len(found) > 1:
        return f"the nearest legal values{what} are {found[0]} and {found[1]}"
    return f"the nearest legal value{what} is {found[0]}"


def _search(condition: Compare, target: Expr, env: Mapping[str, Any], rivals: tuple[Rival, ...]) -> list[Any]:
    """The nearest legal values of ``target``, below and above; without rivals where none keeps them all."""
    name = target.name if isinstance(target, Symbol) else ""
    directions = _directions(condition, target, env)

    def first(candidates: Iterator[Any], kept: tuple[Rival, ...]) -> list[Any]:
        return [each for each in candidates if all(rule.kept({**env, name: each}) for rule in kept)][:1]

    for kept in (tuple(rule for rule in rivals if name and name in rule.condition.symbols()), ()):
        found = [first(islice(each, SEARCHED if kept else 1), kept) for each in directions()]
        if any(found):
            return list(dict.fromkeys(chain.from_iterable(found)))
    return []


def _directions(
    condition: Compare, target: Expr, env: Mapping[str, Any]
) -> Callable[[], list[Iterator[Any]]]:
    """A function that gives fresh iterators of candidates, one for each direction."""
    left, right = condition.left, condition.right
    if target is not left:
        if condition.op != "==" or not isinstance(right, Const) or right.value != 0:
            return list
        assert isinstance(left, Binary)
        value, step = int(target.evaluate(env)), int(left.right.evaluate(env))
        if step <= 0:
            return list
        lowest = step if isinstance(target, Symbol) else 0  # a size of 0 is none
        below = range(value - value % step, lowest - 1, -step)
        above = range(value - value % step + step, value + step * SEARCHED, step)
        return lambda: [iter(below), iter(above)]
    if not isinstance(target, Symbol | Load | Fold):
        return list
    limit = right.evaluate(env)
    if not isinstance(limit, int | np.integer) or isinstance(limit, bool):
        exact = condition.op in ("==", "<=", ">=")
        return lambda: [iter([limit])] if exact else []
    way = {"<": -1, "<=": -1, ">": 1, ">=": 1, "==": 0}.get(condition.op)
    if way is None:
        return list
    start = int(limit) + (way if condition.op in "<>" else 0)
    return lambda: [iter(range(start, start + way * SEARCHED, way) if way else [start])]


def _choices(condition: Expr) -> list[str]:
    """The constants that one symbol must be one of."""
    if isinstance(condition, Logic) and condition.op == "or":
        left, right = _choices(condition.left), _choices(condition.right)
        same = {part.name for part in condition.walk() if isinstance(part, Symbol)}
        return [*left, *right] if left and right and len(same) == 1 else []
    if isinstance(condition, Compare) and condition.op == "==" and isinstance(condition.right, Const):
        return [str(condition.right.value)] if isinstance(condition.left, Symbol) else []
    return []
