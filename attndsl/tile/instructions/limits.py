"""Limits of operands, as data: checked when a program is made where numbers are constant, else when it runs.

An instruction's ``limits()`` are :data:`Finding` s: a :class:`Limit` for each number that a field bounds, and
text for each rule of another kind that it violates.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from attndsl.expr import Expr
from attndsl.target import MemorySpace
from attndsl.tile.buffers import Region


@dataclass(frozen=True, slots=True)
class Limit:
    """A number of an operand: ``least <= value <= most`` where it is bounded, a multiple of ``unit``."""

    role: str
    value: Expr
    least: int | None = None
    most: int | None = None
    unit: int = 1

    def violation(self, number: int) -> str:
        """What is wrong with a number, from its value on; empty where nothing is."""
        if number % self.unit:
            return f"needs a multiple of {self.unit}"
        below = self.least is not None and number < self.least
        if below or (self.most is not None and number > self.most):
            return f"must be {self.least} to {self.most}"
        return ""


Finding = Limit | str


def space_rule(region: Region, space: MemorySpace, role: str) -> Iterator[Finding]:
    """The operand lives where the instruction needs it."""
    if region.buffer.space is not space:
        yield f"{role} {region.buffer.name} is in {region.buffer.space.value}, needs {space.value}"


def dtype_rule(dtype: str, allowed: tuple[str, ...], role: str) -> Iterator[Finding]:
    """The operand has one of the dtypes the instruction takes."""
    if dtype not in allowed:
        yield f"{role} is {dtype}, needs {' or '.join(allowed)}"


def name_rule(name: str, known: Collection[str], kind: str) -> Iterator[Finding]:
    """The instruction has an operation or a mode of this name."""
    if name not in known:
        yield f"there is no {kind} {name}, needs {' or '.join(known)}"


def multiple_rule(value: Expr, multiple: int, role: str) -> Iterator[Finding]:
    """The operand is a multiple of the unit it is counted in."""
    yield Limit(role, value, unit=multiple)


def at_most_rule(value: Expr, most: int, role: str, least: int = 0) -> Iterator[Finding]:
    """The operand is inside the range of its field."""
    yield Limit(role, value, least, most)
