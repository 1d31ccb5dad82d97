"""The least time of a launch: each resource alone, if it never waited for another.

The formulas, with the sources of their numbers:

    pipe of a core  sum of max(least, head + per_unit * units, per_row * rows, per_piece * pieces) over its
                    instructions, on the busiest core; costs and their sources: ``target/costs.py``
    scalar unit     what it takes to hand instructions over (``Issue``)
    loads           besides, bytes that L2 does not hold come at the rate ``miss`` of one core (INI, DEVKIT)
    L2              bytes of all cores at its mixed rate, bytes read at its rate of reads (DEVKIT)
    memory          each tensor of the call once, at most what is loaded of it, and what is written beyond
                    L2's lines, at the rate that kernels were measured to reach (DEVKIT)

Waiting, latencies, flags and conflicts of banks are left to the emulator: the bound ranks schedules, it does
not predict a time. With paged keys or lengths below the tensors' sizes "each tensor once" may count more than
is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from attndsl.expr.nodes import global_key
from attndsl.target import Core, Device, Pipe
from attndsl.tile.buffers import GlobalTensor
from attndsl.tile.entry_size import sizes_of
from attndsl.tile.program import Program
from attndsl.tuning.work import COUNTED, Counter, Work

Array = npt.NDArray[Any]
_EXPONENT = 4
"""Of the norm that ranks: a resource as busy as the limit gets in its way, one half as busy hardly does."""


@dataclass(frozen=True)
class Bounds:
    """Microseconds that each resource of a launch takes alone.

    ``counted``: how many parts of the program were counted for it, as :attr:`Counter.counted`.
    """

    microseconds: Mapping[str, float]
    counted: int = field(default=0, compare=False)

    @property
    def limit(self) -> str:
        """The resource that takes longest."""
        return max(self.microseconds, key=lambda name: self.microseconds[name])

    @property
    def least(self) -> float:
        """The time below which no launch of the kernel ends."""
        return self.microseconds[self.limit]

    @cached_property
    def rank(self) -> float:
        """The number by which schedules are ranked, microseconds."""
        total = sum(each**_EXPONENT for each in self.microseconds.values())
        return float(round(total ** (1 / _EXPONENT), 3))


def bounds_of(program: Program, tiling: Mapping[str, int | float], arguments: Mapping[str, Any]) -> Bounds:
    """The bounds of a launch of a joint program.

    Args:
        tiling: the values of its tiling fields.
        arguments: arrays by parameter, tuples of them for lists; none for results and absent ones.
    """
    device, blocks = program.device, int(tiling["blocks"])
    scalars = scalars_of(program, tiling, arguments)
    cube, vector = (Counter(program, core, scalars) for core in (Core.AIC, Core.AIV))
    cubes = [cube.work(block, blocks) for block in range(blocks)]
    vectors = [
        vector.work(block, blocks, sub)
        for block in range(blocks)
        for sub in range(device.architecture.aiv_per_aic)
    ]
    cold = dict(_cold_shares([*cubes, *vectors], arguments))
    found = {
        "memory": _memory([*cubes, *vectors], cold, device),
        "L2": _l2([*cubes, *vectors], device),
    }
    for core, pipe in COUNTED:
        works = cubes if core is Core.AIC else vectors
        cycles = max(_cycles(work, core, pipe, cold) for work in works)
        if cycles:
            found[f"{core.value} {pipe.value}"] = cycles
    microseconds = {name: device.microseconds(cycles) for name, cycles in found.items()}
    return Bounds(microseconds, cube.counted + vector.counted)


def scalars_of(
    program: Program, tiling: Mapping[str, int | float], arguments: Mapping[str, Any]
) -> dict[str, Any]:
    """What a :class:`~attndsl.tuning.work.Counter` counts a launch with; as of :func:`bounds_of`."""
    return {**_tensors(arguments), **_unknown(program), **tiling}


def _unknown(program: Program) -> dict[str, Any]:
    """These tensors as scalars read them: an end of keys that bounds nothing."""
    largest = np.broadcast_to(np.int32(np.iinfo(np.int32).max), (1 << 31,))
    return {global_key(each.name): largest for each in program.found_by_kernel}


def _tensors(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as scalars read them."""
    found: dict[str, Any] = {}
    for name, value in arguments.items():
        if isinstance(value, tuple):
            found[name] = tuple(_flat(entry) for entry in value)
            found[sizes_of(name)] = tuple(entry.shape for entry in value)
        elif value is not None:
            found[name] = found[global_key(name)] = _flat(value)
    return found


def _flat(value: Array) -> Array:
    """All elements in a row; of an array that repeats one element, as calls without data have, without
    copying it."""
    if value.size and not any(value.strides):
        return np.broadcast_to(value[(0,) * value.ndim], (value.size,))
    return value.reshape(-1)


def _cycles(work: Work, core: Core, pipe: Pipe, cold: Mapping[GlobalTensor, float]) -> float:
    """Cycles of a pipe; loads of what L2 does not hold take longer."""
    cycles = work.cycles[core, pipe]
    if pipe is Pipe.MTE2:
        cycles += sum(longer * cold.get(tensor, 0.0) for tensor, longer in work.cold.items())
    return cycles


def _cold_shares(works: Sequence[Work], arguments: Mapping[str, Any]) -> Iterator[tuple[GlobalTensor, float]]:
    """The share of the bytes loaded of each of the call's tensors that come from memory, not from L2."""
    for tensor in {tensor: None for work in works for tensor in work.read}:
        loaded = sum(work.read.get(tensor, 0.0) for work in works)
        held = _bytes(arguments.get(tensor.name))
        if loaded and held:
            yield tensor, min(1.0, held / loaded)


def _bytes(value: Any) -> int:
    if isinstance(value, tuple):
        return sum(_bytes(entry) for entry in value)
    return int(value.size * value.itemsize) if isinstance(value, np.ndarray) else 0


def _memory(works: Sequence[Work], cold: Mapping[GlobalTensor, float], device: Device) -> float:
    """Cycles of memory: first reads of the call's tensors, and writes that L2 cannot hold."""
    read = sum(size * cold.get(tensor, 0.0) for work in works for tensor, size in work.read.items())
    written = sum(
        size for work in works for tensor, size in work.written.items() if tensor.role != "workspace"
    )
    evicted = max(0.0, written - device.rates["l2_bytes"].value)
    return float((read + evicted) / device.rates["hbm"].value)


def _l2(works: Sequence[Work], device: Device) -> float:
    """Cycles of L2."""
    read = sum(size for work in works for size in work.read.values())
    written = sum(size for work in works for size in work.written.values())
    return max((read + written) / device.rates["l2"].value, read / device.rates["l2_read"].value)
