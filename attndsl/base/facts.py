"""Facts about immutable objects: found once, when they are first asked for, and kept with the object."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

FACTS = "_facts"
"""The attribute that holds them; no pickle needs to carry it."""
_Owner = TypeVar("_Owner")
_Fact = TypeVar("_Fact")


def kept(find: Callable[[_Owner], _Fact]) -> Callable[[_Owner], _Fact]:
    """The function ``find`` of a frozen object without slots, asked once for each object.

    It must depend on nothing else. A copy with other fields has facts of its own, as
    :func:`dataclasses.replace` copies fields alone. Who gets the fact must not change it.
    """
    name = find.__qualname__

    @wraps(find)
    def fact(owner: _Owner) -> _Fact:
        try:
            known: _Fact = getattr(owner, FACTS)[name]
            return known
        except (AttributeError, KeyError):
            pass
        facts = vars(owner).setdefault(FACTS, {})
        found = find(owner)
        facts[name] = found
        return found

    return fact
