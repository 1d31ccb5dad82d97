"""Limits of operands whose numbers are known when a program runs.

Instructions run again and again with the same few numbers: what was looked at once under the same scalars is
not looked at again, in no launch.
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

_REMEMBERED = 1 << 12
"""Values of scalars that an instruction remembers."""


@dataclass(frozen=True, slots=True)
class OpenLimits:
    """The limits of one instruction's operands on an architecture that are known only when it runs.

    ``present``: the scalars that decide them, None where nothing is open. ``seen``: values of these that were
    looked at; none are kept where memory decides, too (``reads``).
    """

    item: Instruction
    architecture: Architecture
    limits: tuple[Limit, ...]
    present: Callable[[Mapping[str, Any]], Any] | None
    reads: bool
    seen: set[Any]

    def check(self, scalars: Mapping[str, Any], value: Callable[[ExprLike], Any]) -> None:
        """Compare the present numbers of the operands with their limits, and remember that they hold.

        Raises:
            InternalError: naming the instruction, its line, the operand, its value and its limit.
        """
        if self.present is None or (present := self.present(scalars)) in self.seen:
            return
        for limit in self.limits:
            number = int(value(limit.value))
            wrong = limit.violation(number)
            if wrong:
                text = f"{limit.role} is {limit.value} = {number}, {wrong}"
                raise InternalError(f"'{self.item.describe()}' ({self.item.where}): {text}")
        if not self.reads and len(self.seen) < _REMEMBERED:
            self.seen.add(present)


def open_limits(item: Instruction, architecture: Architecture) -> OpenLimits:
    """The limits of an instruction's operands that are known only when it runs."""
    limits = tuple(item.open_limits(architecture))
    names = sorted({name for limit in limits for name in limit.value.symbols()})
    reads = any(isinstance(node, Load) for limit in limits for node in limit.value.walk())
    present = itemgetter(*names) if names else (tuple if limits else None)
    return OpenLimits(item, architecture, limits, present, reads, set())
