"""What the contract of an operator says of entries of tensors: which are at most a size of the call."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from attndsl.expr import Compare, Expr, Load, Select
from attndsl.mutate.instructions import Limit
from attndsl.spec.errors import LengthRangeError
from attndsl.spec.operator.loader import load


@lru_cache(maxsize=64)
def limits_of(source: str, mode: str) -> frozenset[Limit]:
    """The limits of an operator, or of a mode of it, that hold for all entries of every call."""
    operator = load(source)
    found = next(each for each in (operator, *operator.modes) if each.name == mode)
    return frozenset(
        (tuple(sorted(told_name(each) for each in entries)), str(rule.condition.right))
        for rule in found.constraints
        if rule.when is None and rule.error is LengthRangeError and isinstance(rule.condition, Compare)
        for entries in _entries(rule.condition)
    )


def told_name(tensor: str) -> str:
    """A tensor's name as the text of a kernel and the contract both write it."""
    return tensor.replace("_", "").lower()


def _entries(condition: Compare) -> Iterator[list[str]]:
    """The tensors whose entry, or one of theirs by what else is given, is at most a size."""
    left, right = condition.left, condition.right
    choices: tuple[Expr, ...] = (left.then, left.otherwise) if isinstance(left, Select) else (left,)
    names = [each.source for each in choices if isinstance(each, Load)]
    reads = any(isinstance(each, Load) for each in right.walk())
    if condition.op == "<=" and len(names) == len(choices) and not reads:
        yield names
