"""The scalar functions that generated C++ defines for itself, each only where it is used."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from attndsl.symbolic import CALLS, Binary, Expr


@dataclass(frozen=True, slots=True)
class Helper:
    """A function of two ``int64_t``: its name and what it returns."""

    name: str
    returns: str


_BODIES = {
    "min": "a < b ? a : b",
    "max": "a > b ? a : b",
    "ceil_div": "(a + b - 1) / b",
    "round_up": "(a + b - 1) / b * b",
}


def used_helpers(exprs: Iterable[Expr]) -> tuple[Helper, ...]:
    """The functions that some expressions call, in a fixed order."""
    used = {node.op for expr in exprs for node in expr.walk() if isinstance(node, Binary)}
    return tuple(Helper(CALLS[op][True], body) for op, body in _BODIES.items() if op in used)
