"""Limits of operands whose numbers are known when a program runs.

Instructions run again and again with the same few numbers: what was looked at once under the same scalars is
not looked at again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from attndsl.base.errors import InternalError
from attndsl.expr import ExprLike, Load
from attndsl.target import Architecture
from attndsl.tile.instructions import Instruction
from attndsl.tile.instructions.limits import Limit


@dataclass(slots=True)
class _Watched:
    """The open limits of an instruction.

    ``present``: the scalars that decide them, None where nothing is open. ``seen``: values of these that were
    looked at; None where memory decides, too.
    """

    limits: tuple[Limit, ...]
    present: Callable[[Mapping[str, Any]], Any] | None
    seen: set[Any] | None


class OperandLimits:
    """Holds the instructions of a launch against their limits, on whatever core they run."""

    def __init__(self, architecture: Architecture) -> None:
        self._architecture = architecture
        self._watched: dict[Instruction, _Watched] = {}

    def check(self, item: Instruction, scalars: Mapping[str, Any], value: Callable[[ExprLike], Any]) -> None:
        """Compare the present numbers of an instruction's operands with their limits.

        Raises:
            InternalError: naming the instruction, its line, the operand, its value and its limit.
        """
        watched = self._watched.get(item)
        if watched is None:
            watched = self._watched[item] = _watch(item, self._architecture)
        if watched.present is None:
            return
        present = watched.present(scalars)
        if watched.seen is not None and present in watched.seen:
            return
        for limit in watched.limits:
            number = int(value(limit.value))
            wrong = limit.violation(number)
            if wrong:
                text = f"{limit.role} is {limit.value} = {number}, {wrong}"
                raise InternalError(f"'{item.describe()}' ({item.where}): {text}")
        if watched.seen is not None:
            watched.seen.add(present)


def _watch(item: Instruction, architecture: Architecture) -> _Watched:
    limits = tuple(item.open_limits(architecture))
    names = sorted({name for limit in limits for name in limit.value.symbols()})
    reads = any(isinstance(node, Load) for limit in limits for node in limit.value.walk())
    present = itemgetter(*names) if names else (tuple if limits else None)
    return _Watched(limits, present, None if reads else set())
