"""The scalars of earlier steps that a continuous pipeline keeps: members of the kernel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from attndsl.codegen.names.members import constant, member, scalar
from attndsl.target import Core
from attndsl.tile.program import Program
from attndsl.tile.statements import KeepScalars

_CORES = {Core.AIC: "cube", Core.AIV: "vector"}


@dataclass(frozen=True, slots=True)
class KeptSteps:
    """A struct of scalars and the array of them, one for each slot of the rings.

    ``counter``: the member that counts the steps.
    """

    struct: str
    scalars: tuple[str, ...]
    array: str
    counter: str


def kept_steps(program: Program) -> Iterator[KeptSteps]:
    """The scalars that each kind of core keeps, of each continuous pipeline."""
    for keep in (item for item in program.statements() if isinstance(item, KeepScalars)):
        yield KeptSteps(
            struct=_struct(keep),
            scalars=tuple(scalar(symbol) for symbol in keep.scalars),
            array=f"{kept_member(keep)}[{constant(keep.depth.name)}]",
            counter=member(keep.counter.name),
        )


def kept_member(keep: KeepScalars) -> str:
    """The array of the scalars of a pipeline's last steps, on one kind of core."""
    return member(f"{_CORES[keep.core]}{_capital(keep)}s")


def _struct(keep: KeepScalars) -> str:
    core = _CORES[keep.core]
    return f"{core[:1].upper()}{core[1:]}{_capital(keep)}"


def _capital(keep: KeepScalars) -> str:
    return keep.counter.name[:1].upper() + keep.counter.name[1:]
