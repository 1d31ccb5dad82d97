"""The tile backend: NumPy interpretation of a scheduled tile program.

Every core runs its own tree with its own on-chip memories, as on the device; cross-core flags decide who
waits for whom. Events and barriers order nothing here, because a core runs its instructions one after
the other: that they are right is the race analysis' and the emulator's business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from attndsl.base.errors import InternalError
from attndsl.base.provenance import note
from attndsl.compiler.prepare_launch import Launch, prepare
from attndsl.reference.threads import single_threaded_blas
from attndsl.spec.binding.call import Call
from attndsl.spec.operator.backends import Backend
from attndsl.target import Core
from attndsl.tile.buffers import NUMPY_DTYPES
from attndsl.tile.entry_size import sizes_of
from attndsl.tile.scalars import step_counters
from attndsl.tile_interpreter.core_state import WORKSPACE, CoreState, Device, Watcher
from attndsl.tile_interpreter.disjoint_check import DisjointCheck
from attndsl.tile_interpreter.run_facts import count_run
from attndsl.tile_interpreter.steps import pausing

Array = npt.NDArray[Any]


def run(call: Call, *, cores: int | None = None) -> tuple[Array, ...]:
    """The outputs of a call, computed by the tile program on ``cores`` blocks at most, None: all."""
    launch = prepare(call, cores)
    interpret(launch)
    return launch.outputs()


BACKEND = Backend(run)


_PRECISE = {
    name: np.dtype(np.float64) if name in ("float16", "bfloat16", "float32") else dtype
    for name, dtype in NUMPY_DTYPES.items()
}


def run_precise(call: Call) -> tuple[Array, ...]:
    """The outputs of a call by the tile program in float64: the same steps in the same order, but nothing is
    rounded to a floating dtype. Roundings to integers, which are part of a computation, stay.

    Raises:
        As :func:`run`.
    """
    launch = prepare(call)
    wide = replace(launch, arguments={name: _wide(each) for name, each in launch.arguments.items()})
    interpret(wide, precise=True)
    return wide.outputs()


def _wide(value: Array | tuple[Array, ...] | None) -> Array | tuple[Array, ...] | None:
    """An argument with its floating numbers in float64."""
    if isinstance(value, tuple):
        return tuple(each for entry in value if isinstance(each := _wide(entry), np.ndarray))
    if value is None or value.dtype.name not in _PRECISE or value.dtype.kind in "iub":
        return value
    return value.astype(np.float64)


def interpret(
    launch: Launch,
    *,
    check_disjoint: bool = False,
    watcher: Callable[[], Watcher] | None = None,
    precise: bool = False,
) -> None:
    """Run all cores of a launch until they end; the launch's arrays and its workspace receive what they
    write.

    Args:
        launch: what runs.
        check_disjoint: compare the elements that iterations of ``disjoint`` loops touch (slow).
        watcher: makes what watches the instructions of a core, where they are not compared.
        precise: memories hold float64 in place of the program's floating dtypes, and nothing is rounded to
            these; the launch's floating arguments are float64, too.

    Raises:
        InternalError: the cores wait for each other for ever, a loop breaks what it declares, or an operand
            is beyond a limit of its instruction.
    """
    note("tile interpreter")
    launch.workspace.fill(0xFF)
    memory = {name: _flat(value) for name, value in launch.arguments.items() if value is not None}
    lists = {name: value for name, value in launch.arguments.items() if isinstance(value, tuple)}
    memory |= {sizes_of(name): tuple(entry.shape for entry in entries) for name, entries in lists.items()}
    memory[WORKSPACE] = launch.workspace
    memory |= dict(_read_by_scalars(launch))
    dtypes = _PRECISE if precise else NUMPY_DTYPES
    device = Device(launch.blocks, launch.compiled.program.device.architecture, dtypes)
    waiting = list(_cores(launch, memory, device, DisjointCheck if check_disjoint else watcher))
    with single_threaded_blas(), np.errstate(all="ignore"):  # products are small: threads would only wait
        while waiting:
            before = device.moves
            waiting = [core for core in waiting if next(core, "done") != "done"]
            if waiting and device.moves == before:
                raise InternalError("the cores of the tile program wait for each other for ever")
    count_run(device.ring_writes)


def _read_by_scalars(launch: Launch) -> Iterator[tuple[str, Array]]:
    """The workspace tensors whose elements scalar units read, by name, from their places on."""
    for tensor in launch.compiled.program.found_by_kernel:
        start = int(launch.tiling[f"{tensor.name}Offset"])
        rest = launch.workspace[start:]
        yield tensor.name, rest[: rest.size // 4 * 4].view(np.int32)


def _flat(value: Array | tuple[Array, ...]) -> Any:
    """An argument's elements, those of a list entry by entry."""
    return tuple(entry.reshape(-1) for entry in value) if isinstance(value, tuple) else value.reshape(-1)


def _cores(
    launch: Launch, memory: dict[str, Any], device: Device, watcher: Callable[[], Watcher] | None
) -> Iterator[Iterator[str]]:
    trees = launch.compiled.program.cores
    counters = dict.fromkeys(step_counters(launch.compiled.program), 0)
    for block in range(launch.blocks):
        shared = {**launch.tiling, **counters, "blockIndex": block, "blockCount": launch.blocks}
        watch = None if watcher is None else watcher()
        cube = CoreState(Core.AIC, block, 0, {**shared, "subBlock": 0}, memory, device, watch)
        yield pausing(trees[Core.AIC], cube)
        for sub in range(device.vectors):
            watch = None if watcher is None else watcher()
            core = CoreState(Core.AIV, block, sub, {**shared, "subBlock": sub}, memory, device, watch)
            yield pausing(trees[Core.AIV], core)
