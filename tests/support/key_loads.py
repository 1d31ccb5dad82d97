"""How many blocks of keys a call's kernel loads."""

from __future__ import annotations

from typing import Any

from attndsl.compiler.prepare_launch import prepare
from attndsl.spec import Operator
from attndsl.tile.instructions import Instruction, LoadNz
from attndsl.tile.statements import For
from attndsl.tile_interpreter.core_state import CoreState
from attndsl.tile_interpreter.run import interpret


class _Loads:
    """Counts the key blocks that cores load."""

    count = 0

    def run(self, item: Instruction, core: CoreState) -> None:
        if isinstance(item, LoadNz) and item.dst.buffer.name == "keyL1":
            type(self).count += 1
        item.run(core)

    def begin(self, loop: For) -> None: ...

    def end_iteration(self) -> None: ...

    def end(self) -> None: ...


def key_loads(op: Operator, arguments: dict[str, Any]) -> int:
    """Copies of key blocks to L1 by all cube cores, counted by the tile interpreter."""
    _Loads.count = 0
    interpret(prepare(op.bind(**arguments)), watcher=_Loads)
    return _Loads.count
