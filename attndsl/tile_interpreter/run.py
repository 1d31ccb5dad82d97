"""The tile backend: NumPy interpretation of a scheduled tile program.

Every core runs its own tree with its own on-chip memories, as on the device; cross-core flags decide who
waits for whom. Events and barriers order nothing here, because a core runs its instructions one after
the other: that they are right is the race analysis' and the emulator's business.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from attndsl.base.errors import InternalError
from attndsl.compiler.prepare_launch import Launch, prepare
from attndsl.expr import Expr, ExprLike
from attndsl.expr.nodes import global_key
from attndsl.spec.binding.call import Call
from attndsl.spec.operator.backends import Backend
from attndsl.target import Architecture, Core
from attndsl.tile.buffers import NUMPY_DTYPES, Buffer, GlobalTensor
from attndsl.tile.entry_size import sizes_of
from attndsl.tile.instructions import Instruction
from attndsl.tile.statements import (
    BLOCK_MODE,
    DEVICE_MODE,
    Alloc,
    Collect,
    For,
    If,
    Let,
    PickTensor,
    Seq,
    SetCrossFlag,
    Stage,
    Statement,
    WaitCrossFlag,
)
from attndsl.tile_interpreter.disjoint_check import DisjointCheck
from attndsl.tile_interpreter.operand_limits import OperandLimits

Array = npt.NDArray[Any]
_WORKSPACE = "workspace"


def run(call: Call, *, cores: int | None = None) -> tuple[Array, ...]:
    """The outputs of a call, computed by the tile program on ``cores`` blocks at most, None: all."""
    launch = prepare(call, cores)
    interpret(launch)
    return launch.outputs()


BACKEND = Backend(run)


def interpret(launch: Launch, *, check_disjoint: bool = False) -> None:
    """Run all cores of a launch until they end; the launch's arrays receive the results.

    ``check_disjoint``: compare the elements that iterations of ``disjoint`` loops touch (slow).

    Raises:
        InternalError: the cores wait for each other for ever, a loop breaks what it declares, or an operand
            is beyond a limit of its instruction.
    """
    workspace = np.full(launch.workspace_bytes, 0xFF, np.uint8)
    memory = {name: _flat(value) for name, value in launch.arguments.items() if value is not None}
    lists = {name: value for name, value in launch.arguments.items() if isinstance(value, tuple)}
    memory |= {sizes_of(name): tuple(entry.shape for entry in entries) for name, entries in lists.items()}
    memory[_WORKSPACE] = workspace
    device = _Device(launch.blocks, launch.compiled.program.device.architecture)
    waiting = list(_cores(launch, memory, device, check_disjoint))
    while waiting:
        before = device.moves
        waiting = [core for core in waiting if next(core, "done") != "done"]
        if waiting and device.moves == before:
            raise InternalError("the cores of the tile program wait for each other for ever")


def _flat(value: Array | tuple[Array, ...]) -> Any:
    """An argument's elements, those of a list entry by entry."""
    return tuple(entry.reshape(-1) for entry in value) if isinstance(value, tuple) else value.reshape(-1)


def _cores(launch: Launch, memory: dict[str, Any], device: _Device, check: bool) -> Iterator[Iterator[str]]:
    trees = launch.compiled.program.cores
    for block in range(launch.blocks):
        shared = {**launch.tiling, "blockIndex": block, "blockCount": launch.blocks}
        cube = _CoreRun(Core.AIC, block, 0, {**shared, "subBlock": 0}, memory, device, check)
        yield cube.run(trees[Core.AIC])
        for sub in range(device.vectors):
            core = _CoreRun(Core.AIV, block, sub, {**shared, "subBlock": sub}, memory, device, check)
            yield core.run(trees[Core.AIV])


class _Trees:
    """What is asked of statements again and again while they run, found out once a launch."""

    def __init__(self) -> None:
        self._pauses: dict[Statement, bool] = {}
        self._names: dict[For, frozenset[str]] = {}

    def can_pause(self, statement: Statement) -> bool:
        """Whether a cross-core wait is inside."""
        known = self._pauses.get(statement)
        if known is None:
            known = any(isinstance(item, WaitCrossFlag) for item in statement.walk())
            self._pauses[statement] = known
        return known

    def named_inside(self, loop: For) -> frozenset[str]:
        """The scalars that a loop and its body define."""
        if loop not in self._names:
            items = tuple(loop.body.walk())
            lets = (item.symbol.name for item in items if isinstance(item, Let))
            self._names[loop] = frozenset({loop.var.name, *lets})
        return self._names[loop]


@dataclass
class _Device:
    """What cores share: cross-core counters, limits that operands were held against, facts of the trees.

    ``moves`` counts what any core did, to notice when nothing moves.
    """

    blocks: int
    architecture: Architecture
    counters: dict[tuple[Core, int, int, int], int] = field(default_factory=dict)
    arrivals: dict[tuple[int, int, int], dict[int, int]] = field(default_factory=dict)
    moves: int = 0
    trees: _Trees = field(default_factory=_Trees)

    def __post_init__(self) -> None:
        self.limits, self.vectors = OperandLimits(self.architecture), self.architecture.aiv_per_aic

    def raise_flag(self, core: _CoreRun, flag: SetCrossFlag) -> None:
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

    def lower_flag(self, core: _CoreRun, flag: int) -> bool:
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


class _CoreRun:
    """One core: its scalars, its memories, and the slots that lifetimes have reached."""

    def __init__(
        self,
        kind: Core,
        block: int,
        sub: int,
        scalars: dict[str, Any],
        memory: dict[str, Any],
        device: _Device,
        check_disjoint: bool,
    ) -> None:
        self.kind, self.block, self.sub = kind, block, sub
        tensors = {global_key(name): array for name, array in memory.items()}
        self._scalars: dict[str, Any] = {**memory, **tensors, **scalars}
        self._memory = memory
        self._device = device
        self._check = DisjointCheck() if check_disjoint else None
        self._buffers: dict[Buffer, Array] = {}
        self._slots: dict[Buffer, int] = {}
        self._tensors: dict[GlobalTensor, Array] = {}

    # The machine that instructions see.

    def value(self, expr: ExprLike) -> Any:
        """The present value of a scalar."""
        return expr.evaluate(self._scalars) if isinstance(expr, Expr) else expr

    def slot(self, buffer: Buffer) -> Array:
        """The current slot of a buffer; memory that was never written holds NaN."""
        if buffer not in self._buffers:
            raw = np.full(buffer.slots * buffer.slot_bytes, 0xFF, np.uint8)
            self._buffers[buffer] = raw.view(NUMPY_DTYPES[buffer.dtype]).reshape(buffer.slots, -1)
        current: Array = self._buffers[buffer][self._slots.get(buffer, 0) % buffer.slots]
        return current

    def tensor(self, tensor: GlobalTensor) -> Array:
        """A global tensor; of a workspace tensor the part that starts at its offset."""
        if tensor not in self._tensors:
            if tensor.role == _WORKSPACE:
                start = int(self.value(tensor.offset))
                raw = self._memory[_WORKSPACE][start:]
                size = NUMPY_DTYPES[tensor.dtype].itemsize
                self._tensors[tensor] = raw[: raw.size // size * size].view(NUMPY_DTYPES[tensor.dtype])
            elif tensor.listed:
                raise InternalError(f"{tensor.name} is a list and no element of it was picked")
            else:
                self._tensors[tensor] = self._memory[tensor.name]
        return self._tensors[tensor]

    # Statements. Only those that contain a cross-core wait can pause, so only they are generators.

    def run(self, tree: Seq) -> Generator[str, None, None]:
        """Run a tree; yields "waiting" whenever a flag is not up yet."""
        yield from self._pausing(tree)

    def _pausing(self, statement: Statement) -> Generator[str, None, None]:
        if not self._device.trees.can_pause(statement):
            self._plain(statement)
        elif isinstance(statement, WaitCrossFlag):
            while not self._device.lower_flag(self, statement.flag):
                yield "waiting"
        elif isinstance(statement, For):
            for value in self._iterations(statement):
                self._scalars[statement.var.name] = value
                yield from self._pausing(statement.body)
        elif isinstance(statement, Alloc):
            yield from self._pausing(statement.body)
            self._next_slot(statement)
        elif isinstance(statement, If):
            branch = statement.then if self.value(statement.condition) else statement.otherwise
            if branch is not None:
                yield from self._pausing(branch)
        else:
            for child in statement.children():
                yield from self._pausing(child)

    def _plain(self, statement: Statement) -> None:
        if isinstance(statement, Instruction):
            self._device.limits.check(statement, self._scalars, self.value)
            if self._check is None:
                statement.run(self)
            else:
                self._check.run(statement, self)
        elif isinstance(statement, Let):
            self._scalars[statement.symbol.name] = self.value(statement.value)
        elif isinstance(statement, PickTensor):
            self._pick(statement)
        elif isinstance(statement, Collect):
            self._collect(statement)
        elif isinstance(statement, For):
            for value in self._iterations(statement):
                self._scalars[statement.var.name] = value
                self._plain(statement.body)
        elif isinstance(statement, If):
            branch = statement.then if self.value(statement.condition) else statement.otherwise
            if branch is not None:
                self._plain(branch)
        elif isinstance(statement, Alloc):
            self._plain(statement.body)
            self._next_slot(statement)
        elif isinstance(statement, SetCrossFlag):
            self._device.raise_flag(self, statement)
        elif isinstance(statement, Seq | Stage):
            for child in statement.children():
                self._plain(child)

    def _pick(self, statement: PickTensor) -> None:
        """The tensor, for instructions and for scalars, is that element of its list."""
        name, index = statement.tensor.name, int(self.value(statement.index))
        entries = self._memory[name]
        if not 0 <= index < len(entries):
            raise IndexError(f"{name}: element {index} of a list of {len(entries)} is picked")
        self._tensors[statement.tensor] = self._scalars[global_key(name)] = entries[index]

    def _collect(self, statement: Collect) -> None:
        found: list[int] = []
        skip = int(self.value(statement.skip))
        for value in range(int(self.value(statement.begin)), int(self.value(statement.extent))):
            if len(found) == statement.array.capacity:
                break
            if statement.condition.evaluate({**self._scalars, statement.index.name: value}):
                if skip <= 0:
                    found.append(value)
                skip -= 1
        self._scalars[statement.array.name] = np.array(found, np.int64)
        self._scalars[statement.count.name] = len(found)

    def _iterations(self, loop: For) -> Iterator[int]:
        """The values of a loop's variable; scalars of its body end with it, and outer ones of their names
        are again what they were."""
        outer = {
            name: self._scalars[name]
            for name in self._device.trees.named_inside(loop)
            if name in self._scalars
        }
        yield from self._checked_values(loop)
        self._scalars.update(outer)

    def _checked_values(self, loop: For) -> Iterator[int]:
        """The values of a loop's variable; what the loop declares about them is checked."""
        values = range(*(int(self.value(bound)) for bound in (loop.begin, loop.end, loop.step)))
        if loop.runs and not values:
            raise InternalError(f"the loop over {loop.var} does not run at all, it declares that it does")
        if self._check is None or not loop.disjoint:
            yield from values
            return
        self._check.begin(loop)
        for value in values:
            yield value
            self._check.end_iteration()
        self._check.end()

    def _next_slot(self, lifetime: Alloc) -> None:
        for buffer in lifetime.buffers:
            self._slots[buffer] = self._slots.get(buffer, 0) + 1
