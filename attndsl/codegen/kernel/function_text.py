"""The functions that stages become, as text, and what calls them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Function:
    """A member function of the generated kernel class: a stage.

    ``parameters`` are declarations, in the order in which the kernel defines them.
    """

    name: str
    doc: str
    parameters: tuple[str, ...]
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a stage's function: with what its attention gives, and with scalars."""

    name: str
    operands: tuple[str, ...]
    given: tuple[str, ...]
