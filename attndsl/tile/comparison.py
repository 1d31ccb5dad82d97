"""Structural comparison of tile IR: two pieces of program field by field, operands as objects.

Statements and operands are equal to themselves alone. Who asks whether two pieces compute the same, but for
operands that stand for each other, says in a subclass which these are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

NOT_COMPARED = frozenset({"where", "why"})
"""Fields that say nothing of what is computed: the author's line, a sentence for the reader."""


_PLAIN = frozenset({str, int, float, bool, type(None)})


def compared_fields(kind: type[Any]) -> tuple[str, ...]:
    """The fields of a dataclass that are compared."""
    known = _COMPARED.get(kind)
    if known is None:
        known = tuple(each.name for each in fields(kind) if each.name not in NOT_COMPARED)
        _COMPARED[kind] = known
    return known


_COMPARED: dict[type[Any], tuple[str, ...]] = {}
"""The compared fields of each dataclass that was asked for."""


class Comparison:
    """Whether values are equal, field by field."""

    def same(self, first: Any, second: Any) -> bool:
        """Whether two values are equal but for what :meth:`decided` lets differ."""
        kind = type(first)
        if kind is tuple or kind is list:
            return kind is type(second) and len(first) == len(second) and all(map(self.same, first, second))
        if kind in _PLAIN:
            return kind is type(second) and bool(first == second)
        known = self.decided(first, second)
        if known is not None:
            return known
        if kind is not type(second):
            return False
        if is_dataclass(kind):
            return self.same_fields(first, second)
        if isinstance(first, Mapping):
            return self.same(list(first.items()), list(second.items()))
        return first is second or bool(first == second)

    def decided(self, first: Any, second: Any) -> bool | None:
        """What a subclass knows of two values; None: they are compared by type and fields."""
        return None

    def same_fields(self, first: Any, second: Any, but: frozenset[str] = frozenset()) -> bool:
        """Whether the fields of two objects of one type are equal, apart from those named in ``but``."""
        kind: Any = type(first)
        for name in compared_fields(kind):
            if name not in but and not self.same(getattr(first, name), getattr(second, name)):
                return False
        return True
