"""Which instruction left an element of global memory as it is: one run more, in which every write is seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from attndsl.compiler.prepare_launch import Launch
from attndsl.target import Core
from attndsl.tile.buffers import GlobalRegion, GlobalTensor
from attndsl.tile.instructions import Instruction
from attndsl.tile.instructions.base import extents
from attndsl.tile.scalars import binds
from attndsl.tile.statements import Earlier, For, Stage
from attndsl.tile_interpreter.core_state import CoreState
from attndsl.tile_interpreter.run import interpret


@dataclass(frozen=True, kw_only=True)
class Write:
    """An instruction that wrote an element, on the core and with the scalars of that moment.

    ``row`` and ``column``: of the element in what the instruction wrote. ``scalars``: of a stage that works
    on an earlier step those of that step alone; others have gone on to a later item.
    """

    item: Instruction
    core: Core
    block: int
    sub: int
    row: int
    column: int
    scalars: Mapping[str, Any]


def last_write(launch: Launch, tensor: GlobalTensor, element: int, block: int | None = None) -> Write | None:
    """The last write of an element of a tensor, by ``block`` alone if that is given; None if there is none.

    Raises:
        InternalError: as :func:`attndsl.tile_interpreter.run.interpret`.
    """
    found: list[Write] = []
    interpret(launch, watcher=lambda: _Watch(tensor, element, block, found))
    return replace(found[-1], scalars=_of_its_step(launch, found[-1])) if found else None


def _of_its_step(launch: Launch, write: Write) -> Mapping[str, Any]:
    """The scalars of a write that belong to the step it is of."""
    for statement in launch.compiled.program.cores[write.core].walk():
        if isinstance(statement, Earlier) and any(item is write.item for item in statement.walk()):
            inside = (name for item in statement.then.walk() for name in binds(item))
            own = {*(symbol.name for symbol in statement.keep.scalars), *inside}
            return {name: value for name, value in write.scalars.items() if name in own}
    return write.scalars


def stage_of(launch: Launch, write: Write) -> Stage | None:
    """The stage whose instruction it is."""
    for statement in launch.compiled.program.cores[write.core].walk():
        if isinstance(statement, Stage) and any(item is write.item for item in statement.walk()):
            return statement
    return None


@dataclass(frozen=True)
class _Watch:
    tensor: GlobalTensor
    element: int
    block: int | None
    found: list[Write]

    def run(self, item: Instruction, core: CoreState, /) -> None:
        """Run an instruction, and note it if it writes the element."""
        item.run(core)
        if self.tensor.name not in {each.name for each in item.gm_writes()} or self.block not in (
            None,
            core.block,
        ):
            return
        region: GlobalRegion = item.dst  # type: ignore[attr-defined]
        offset, rows, cols, pitch = extents(core, region)
        if rows < 1 or cols < 1:
            return
        row, column = divmod(self.element - offset, pitch or cols)
        if 0 <= row < rows and 0 <= column < cols:
            self.found[:] = [
                Write(
                    item=item,
                    core=core.kind,
                    block=core.block,
                    sub=core.sub,
                    row=row,
                    column=column,
                    scalars=dict(core.scalars),
                )
            ]

    def begin(self, loop: For) -> None:
        """Loops are not watched."""

    def end_iteration(self) -> None:
        """Loops are not watched."""

    def end(self) -> None:
        """Loops are not watched."""
