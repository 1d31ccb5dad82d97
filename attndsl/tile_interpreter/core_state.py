"""One core of a launch: its scalars and memories, and what it shares with the others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from attndsl.base.errors import InternalError
from attndsl.expr import Const, Expr, ExprLike
from attndsl.expr.compiled_evaluation import evaluator
from attndsl.expr.nodes import global_key
from attndsl.target import Architecture, Core
from attndsl.tile.buffers import NUMPY_DTYPES, Buffer, GlobalRegion, GlobalTensor
from attndsl.tile.instructions import Instruction
from attndsl.tile.instructions.base import Place, strided
from attndsl.tile.statements import (
    BLOCK_MODE,
    DEVICE_MODE,
    Alloc,
    Collect,
    Earlier,
    For,
    Handed,
    KeepScalars,
    PickTensor,
    SetCrossFlag,
)
from attndsl.tile_interpreter.run_facts import RingWrites

Array = npt.NDArray[Any]
WORKSPACE = "workspace"


class _Collected(dict[int, int]):
    """The elements of an array that were collected last, by index; no other may be read."""

    def __missing__(self, index: int) -> int:
        raise IndexError(f"element {index} of an array is read, which was not collected")


@dataclass
class Device:
    """What cores share: the architecture, cross-core counters.

    ``dtypes``: in which memories hold elements, by the dtypes of the program. ``moves`` counts what any core
    did, to notice when nothing moves.
    """

    blocks: int
    architecture: Architecture
    dtypes: Mapping[str, np.dtype[Any]] = field(default_factory=lambda: NUMPY_DTYPES)
    counters: dict[tuple[Core, int, int, int], int] = field(default_factory=dict)
    arrivals: dict[tuple[int, int, int], dict[int, int]] = field(default_factory=dict)
    moves: int = 0

    def __post_init__(self) -> None:
        self._wide: dict[int, Array] = {}
        self.ring_writes = RingWrites()
        self.vectors = self.architecture.aiv_per_aic

    def workspace_part(self, workspace: Array, start: int, dtype: str) -> Array:
        """The workspace from byte ``start`` on, as elements; wider ones than the program's have a memory of
        their own for each size that elements have in the program."""
        size, held = NUMPY_DTYPES[dtype].itemsize, self.dtypes[dtype]
        if held.itemsize == size:
            raw = workspace[start:]
            return raw[: raw.size // size * size].view(held)
        if size not in self._wide:
            self._wide[size] = np.full(workspace.size // size, np.nan, held)
        return self._wide[size][start // size :]

    def raise_flag(self, core: CoreState, flag: SetCrossFlag) -> None:
        """Count an arrival; when all participants have arrived, the other side may go on."""
        if flag.mode == BLOCK_MODE and core.kind is Core.AIC:
            for sub in range(self.vectors):
                self._count((Core.AIV, core.block, sub, flag.flag))
        elif flag.mode == BLOCK_MODE:
            if self._all_arrived((2, core.block, flag.flag), core.sub, self.vectors):
                self._count((Core.AIC, core.block, 0, flag.flag))
        elif flag.mode == DEVICE_MODE:
            number = core.block * self.vectors + core.sub
            if self._all_arrived((0, 0, flag.flag), number, self.blocks * self.vectors):
                for block in range(self.blocks):
                    for sub in range(self.vectors):
                        self._count((Core.AIV, block, sub, flag.flag))
        else:
            raise InternalError(f"cross-core mode {flag.mode} is not interpreted")

    def lower_flag(self, core: CoreState, flag: int) -> bool:
        """Take one count of a flag, if there is one."""
        key = (core.kind, core.block, core.sub, flag)
        if self.counters.get(key, 0) == 0:
            return False
        self.counters[key] -= 1
        self.moves += 1
        return True

    def _count(self, key: tuple[Core, int, int, int]) -> None:
        self.counters[key] = self.counters.get(key, 0) + 1
        self.moves += 1

    def _all_arrived(self, key: tuple[int, int, int], who: int, expected: int) -> bool:
        arrived = self.arrivals.setdefault(key, {})
        arrived[who] = arrived.get(who, 0) + 1
        self.moves += 1
        if len(arrived) < expected:
            return False
        self.arrivals[key] = {other: count - 1 for other, count in arrived.items() if count > 1}
        return True


@dataclass(frozen=True, slots=True)
class _Slot:
    """A slot of a buffer, and the parts of it that instructions asked for: few, again and again."""

    memory: Array
    parts: dict[Place, Array] = field(default_factory=dict)


class Watcher(Protocol):
    """Runs the instructions of a core for somebody who watches them, and hears of its disjoint loops."""

    def run(self, item: Instruction, core: CoreState, /) -> None:
        """Run an instruction."""

    def begin(self, loop: For) -> None:
        """A disjoint loop is entered."""

    def end_iteration(self) -> None:
        """An iteration of the innermost disjoint loop has ended."""

    def end(self) -> None:
        """The innermost disjoint loop is left."""


class CoreState:
    """One core: its scalars, its memories, and the slots that lifetimes have reached.

    It is the machine that instructions see. ``check``: watches them, where that is asked for.
    """

    def __init__(
        self,
        kind: Core,
        block: int,
        sub: int,
        scalars: dict[str, Any],
        memory: dict[str, Any],
        device: Device,
        watcher: Watcher | None,
    ) -> None:
        self.kind, self.block, self.sub = kind, block, sub
        tensors = {global_key(name): array for name, array in memory.items()}
        self.scalars: dict[str, Any] = {**memory, **tensors, **scalars}
        self.check = watcher
        self._memory = memory
        self._device = device
        self.architecture = device.architecture
        self._buffers: dict[Buffer, tuple[_Slot, ...]] = {}
        self.slots: defaultdict[Buffer, int] = defaultdict(int)
        """The number of each buffer's current slot."""
        self._current: dict[Buffer, _Slot] = {}
        self._tensors: dict[GlobalTensor, Array] = {}
        self._kept: dict[KeepScalars, list[dict[str, Any]]] = {}
        self.arrays: defaultdict[Instruction, dict[Any, tuple[Array, ...]]] = defaultdict(dict)
        """Those of instructions that run again and again, by the places of their regions."""

    def value(self, expr: ExprLike) -> Any:
        """The present value of a scalar."""
        if isinstance(expr, Expr):
            return expr.value if isinstance(expr, Const) else evaluator(expr)(self.scalars)
        return expr

    def slot(self, buffer: Buffer) -> Array:
        """The current slot of a buffer; memory that was never written holds NaN."""
        return (self._current.get(buffer) or self._reach(buffer)).memory

    def rows(self, buffer: Buffer, place: Place) -> Array:
        """Part of the current slot of a buffer, as rows."""
        slot = self._current.get(buffer) or self._reach(buffer)
        found = slot.parts.get(place)
        if found is None:
            found = slot.parts[place] = strided(slot.memory, place, buffer.name)
        return found

    def _reach(self, buffer: Buffer) -> _Slot:
        if buffer not in self._buffers:
            held = self._device.dtypes[buffer.dtype]
            raw = np.full(buffer.slots * buffer.elements * held.itemsize, 0xFF, np.uint8)
            slots = raw.view(held).reshape(buffer.slots, -1)
            self._buffers[buffer] = tuple(map(_Slot, slots))
        current = self._buffers[buffer][self.slots[buffer]]
        self._current[buffer] = current
        return current

    def next_slot(self, lifetime: Alloc) -> None:
        """The lifetime has ended: each of its buffers goes on to its next slot."""
        for buffer in lifetime.buffers:
            if buffer.slots > 1:
                self.slots[buffer] = (self.slots[buffer] + 1) % buffer.slots
                self._current.pop(buffer, None)

    def take_slot(self, part: Handed) -> None:
        """A part of a lifetime begins that goes from stage to stage: in the slot of the step."""
        for buffer in part.buffers:
            self.slots[buffer] = int(self.value(part.slot)) % buffer.slots
            self._current.pop(buffer, None)

    def note_ring(self, region: GlobalRegion) -> None:
        """A tile is about to be written to a ring of the block."""
        place = int(self.value(region.offset))
        self._device.ring_writes.add(region.tensor.name, self.block, place, self.scalars)

    def tensor(self, tensor: GlobalTensor) -> Array:
        """A global tensor; of a workspace tensor the part that starts at its offset."""
        if tensor not in self._tensors:
            if tensor.role == WORKSPACE:
                self._tensors[tensor] = self._device.workspace_part(
                    self._memory[WORKSPACE], int(self.value(tensor.offset)), tensor.dtype
                )
            elif tensor.listed:
                raise InternalError(f"{tensor.name} is a list and no element of it was picked")
            else:
                self._tensors[tensor] = self._memory[tensor.name]
        return self._tensors[tensor]

    def define(self, name: str, value: bool) -> None:
        """Give a scalar a value for what follows."""
        self.scalars[name] = value

    def raise_flag(self, flag: SetCrossFlag) -> None:
        """Raise a cross-core flag."""
        self._device.raise_flag(self, flag)

    def lower_flag(self, flag: int) -> bool:
        """Take one count of a cross-core flag, if there is one."""
        return self._device.lower_flag(self, flag)

    def pick(self, statement: PickTensor) -> None:
        """The tensor, for instructions and for scalars, is that element of its list."""
        name, index = statement.tensor.name, int(self.value(statement.index))
        entries = self._memory[name]
        if not 0 <= index < len(entries):
            raise IndexError(f"{name}: element {index} of a list of {len(entries)} is picked")
        self._tensors[statement.tensor] = self.scalars[global_key(name)] = entries[index]

    def keep(self, statement: KeepScalars) -> None:
        """A step of a continuous pipeline begins; its scalars stay known for some steps."""
        kept, steps = self._kept.setdefault(statement, []), statement.steps
        depth = int(steps.depth.value)
        begun, runs = self.scalars[steps.counter.name], self.scalars[steps.runs.name]
        runs += int(bool(self.value(statement.begins)))
        self.scalars |= {steps.counter.name: begun + 1, steps.slot.name: begun % depth}
        self.scalars |= {steps.runs.name: runs, steps.run.name: runs % depth}
        kept.append({symbol.name: self.scalars[symbol.name] for symbol in statement.scalars})
        del kept[:-depth]

    def recall(self, statement: Earlier) -> dict[str, Any]:
        """The scalars of an earlier step become the present ones; what they are otherwise is returned."""
        earlier = self._kept[statement.keep][-1 - statement.back]
        now = {name: self.scalars[name] for name in earlier}
        self.scalars.update(earlier)
        return now

    def collect(self, statement: Collect) -> None:
        """Collect the indices for which a condition holds."""
        found: list[int] = []
        skip = int(self.value(statement.skip))
        holds = evaluator(statement.condition)
        inner = dict(self.scalars)
        for value in range(int(self.value(statement.begin)), int(self.value(statement.extent))):
            if len(found) == statement.array.capacity:
                break
            inner[statement.index.name] = value
            if holds(inner):
                if skip <= 0:
                    found.append(value)
                skip -= 1
        place, array = int(self.value(statement.place)), self.scalars.get(statement.array.name, {})
        own = range(place, place + statement.array.capacity)
        if own.stop > int(statement.array.size.evaluate({})):
            raise InternalError(f"{statement.array.name} has no place for {own.start} to {own.stop - 1}")
        others = {at: value for at, value in array.items() if at not in own}
        held = _Collected(others | dict(zip(own, found, strict=False)))
        self.scalars[statement.array.name] = held
        self.scalars[statement.count.name] = len(found)
