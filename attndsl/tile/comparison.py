"""Structural comparison of tile IR: two pieces of program field by field, operands as objects.

Statements and operands are equal to themselves alone. Who asks whether two pieces compute the same, but for
operands that stand for each other, says in a subclass which these are.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, cast

NOT_COMPARED = frozenset({"where"})
"""Fields that say nothing of what is computed: the author's line."""


@cache
def field_names(kind: Hashable) -> tuple[str, ...]:
    """The fields of a dataclass."""
    return tuple(each.name for each in fields(cast(Any, kind)))


def _names(value: object) -> tuple[str, ...]:
    return field_names(cast(Hashable, type(value)))


class Comparison:
    """Whether values are equal, field by field.

    Pairs of objects that were found equal are not compared again, so that shared objects cost once.
    """

    def __init__(self) -> None:
        self._equal: set[tuple[int, int]] = set()

    def same(self, first: Any, second: Any) -> bool:
        """Whether two values are equal but for what :meth:`decided` lets differ."""
        known = self.decided(first, second)
        if known is not None:
            return known
        if type(first) is not type(second):
            return False
        if isinstance(first, tuple | list):
            return len(first) == len(second) and all(map(self.same, first, second))
        if isinstance(first, Mapping):
            return self.same(list(first.items()), list(second.items()))
        if is_dataclass(first):
            return self._objects(first, second)
        return first is second or bool(first == second)

    def decided(self, first: Any, second: Any) -> bool | None:
        """What a subclass knows of two values; None: they are compared by type and fields."""
        return None

    def same_fields(self, first: Any, second: Any, but: frozenset[str] = frozenset()) -> bool:
        """Whether the fields of two objects of one type are equal, apart from those named in ``but``."""
        for name in _names(first):
            if name in NOT_COMPARED or name in but:
                continue
            if not self.same(getattr(first, name), getattr(second, name)):
                return False
        return True

    def _objects(self, first: Any, second: Any) -> bool:
        pair = (id(first), id(second))
        if pair not in self._equal:
            if not self.same_fields(first, second):
                return False
            self._equal.add(pair)
        return True
