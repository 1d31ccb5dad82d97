"""Facts about immutable objects: found once, when they are first asked for, and kept with the object."""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
            known: _Fact = owner._facts[name]  # type: ignore[attr-defined] # FACTS; asked very often
            return known
        except (AttributeError, KeyError):
            pass
        facts = vars(owner).setdefault(FACTS, {})
        found = find(owner)
        facts[name] = found
        return found

    return fact


def kept_upwards(
    operands: Callable[[_Owner], Iterable[_Owner]],
) -> Callable[[Callable[[_Owner], _Fact]], Callable[[_Owner], _Fact]]:
    """As :func:`kept`, for a fact that rests on the same fact of ``operands``: these are found first, without
    recursion, since chains of objects may be long."""

    def decorated(find: Callable[[_Owner], _Fact]) -> Callable[[_Owner], _Fact]:
        name = find.__qualname__

        def known(owner: _Owner) -> bool:
            return name in vars(owner).get(FACTS, ())

        @wraps(find)
        def fact(owner: _Owner) -> _Fact:
            open_ = [] if known(owner) else [owner]
            while open_:
                missing = [each for each in operands(open_[-1]) if not known(each)]
                if missing:
                    open_ += missing
                    continue
                each = open_.pop()
                if not known(each):
                    vars(each).setdefault(FACTS, {})[name] = find(each)
            found: _Fact = vars(owner)[FACTS][name]
            return found

        return fact

    return decorated
