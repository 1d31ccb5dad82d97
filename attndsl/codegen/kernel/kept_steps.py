"""The scalars of earlier steps that a continuous pipeline keeps: members of the kernel."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from attndsl.codegen.names.identifiers import pascal
from attndsl.codegen.names.members import constant, member, scalar
from attndsl.target import Core
from attndsl.tile.program import Program
from attndsl.tile.statements import KeepScalars

_WIDTH = 90
"""Columns of a declaration of scalars, without its indent."""
_CORES = {Core.AIC: "cube", Core.AIV: "vector"}


@dataclass(frozen=True, slots=True)
class KeptSteps:
    """A struct of scalars and the array of them, one for each slot of the rings.

    ``counters``: the members that count the steps and the items.
    """

    struct: str
    scalars: tuple[str, ...]
    array: str
    counters: tuple[str, ...]

    @property
    def lines(self) -> list[str]:
        """The declaration of the scalars."""
        return textwrap.wrap(f"int64_t {', '.join(self.scalars)};", _WIDTH, subsequent_indent="    ")


def kept_steps(program: Program) -> Iterator[KeptSteps]:
    """The scalars that each kind of core keeps, of each continuous pipeline."""
    for keep in (item for item in program.statements() if isinstance(item, KeepScalars)):
        yield KeptSteps(
            struct=kept_struct(keep),
            scalars=tuple(scalar(symbol) for symbol in keep.scalars),
            array=f"{kept_member(keep)}[{constant(keep.steps.depth.name)}]",
            counters=(member(keep.steps.counter.name), member(keep.steps.runs.name)),
        )


def kept_member(keep: KeepScalars) -> str:
    """The array of the scalars of a pipeline's last steps, on one kind of core."""
    return member(f"{_CORES[keep.core]}Steps{keep.part}")


def kept_struct(keep: KeepScalars) -> str:
    """The type of the scalars of one step."""
    return pascal(f"{_CORES[keep.core]}Step{keep.part}")
