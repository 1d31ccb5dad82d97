"""Where a kernel and its tile program part: the first tensor of global memory that the two leave unlike.

The tile program is interpreted and the kernel executed on the same call. What the stages hand on lies in
workspace tensors, results in outputs; in the order in which the program writes them, the first that differs
by more than rounding is where the kernel left its program. An instruction of the program wrote the element
there: its stage, core, row and spec line are told. Rings hold their last tiles at the end, so that a case
with few tiles tells most.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Protocol

import numpy as np

from attndsl.base.source_location import UNKNOWN_LINE
from attndsl.compiler.prepare_launch import Launch, prepare
from attndsl.diagnosis.miss import Difference
from attndsl.emulator.knobs import Knobs
from attndsl.emulator.report import Report
from attndsl.execute.execute import execute as execute_generated
from attndsl.spec.binding.call import Call
from attndsl.spec.contract.layout import Array
from attndsl.target import Core
from attndsl.tile.buffers import NUMPY_DTYPES, GlobalTensor
from attndsl.tile.instructions import Instruction
from attndsl.tile.program import tiling_field_ref
from attndsl.tile_interpreter.last_writer import last_write, stage_of
from attndsl.tile_interpreter.run import interpret
from attndsl.verify.judge.golden import with_own_arrays

_BY_ROUNDING = 2.0**-6
"""Of the larger of an element and its tensor's root mean square; of integers one step."""
_PATTERNS = (Knobs().poison, 0x3C00)
"""Of never-written memory: NaN, and a number in all floating dtypes."""
_TOLD = (
    "turn",
    "item",
    "batch",
    "kvHead",
    "firstHead",
    "firstQuery",
    "tile",
    "firstKey",
    "rowBegin",
    "r0",
)
"""Scalars that say where in the work a core was; ``turn`` where that is not the item."""


class RunsKernels(Protocol):
    """Runs a launch on the emulator; the launch's arrays and its workspace receive what the kernel writes."""

    def __call__(self, launch: Launch, knobs: Knobs | None = None) -> Report: ...


def first_difference(call: Call, execute: RunsKernels | None = None) -> Difference | None:
    """Where the kernel of a call first leaves its tile program; None where all that both leave is alike.

    The kernel runs under two patterns of never-written memory: elements that the pattern changes, such as
    lanes beyond the last key, mean nothing.

    ``execute``: runs the launch on the emulator, in place of the generated kernel's run. Where it has a
    workspace of its own, results alone are compared.

    Raises:
        NotLowered, TargetLimitError: the call has no kernel.
        InternalError: the tile program breaks its own rules.
        EmulatorError: the kernel does not compile, crashes or does not end.
    """
    program = prepare(with_own_arrays(call))
    interpret(program)
    kernels = [prepare(with_own_arrays(call)) for _ in _PATTERNS]
    for kernel, pattern in zip(kernels, _PATTERNS, strict=True):
        (execute or execute_generated)(kernel, Knobs(poison=pattern))
    for tensor, block, (mine, other, again) in _compared(program, *kernels):
        bits = f"u{other.itemsize}"
        unlike = _unlike(mine, other) & (other.view(bits) == again.view(bits))
        if unlike.any():
            return _told(program, tensor, block, unlike, mine, other)
    return None


def _compared(program: Launch, *kernels: Launch) -> Iterator[tuple[GlobalTensor, int | None, list[Array]]]:
    """The tensors that the program writes, in the order of their first writes, as each launch has them."""
    whole = program.compiled.program
    written = [
        tensor for item in whole.body.walk() if isinstance(item, Instruction) for tensor in item.gm_writes()
    ]
    for tensor in dict.fromkeys(written):
        if tensor.role != "workspace":
            found = [each.arguments[tensor.name] for each in (program, *kernels)]
            yield tensor, None, [each.reshape(-1) for each in found if isinstance(each, np.ndarray)]
        elif kernels[0].workspace.any():
            for block in range(program.blocks) if tensor.shared == "block" else (None,):
                yield tensor, block, [_part(each, tensor, block) for each in (program, *kernels)]


def _part(launch: Launch, tensor: GlobalTensor, block: int | None) -> Array:
    """The elements of a workspace tensor, or of a block's part of it."""
    env = {**launch.tiling, "blockIndex": block or 0, "blockCount": launch.blocks}
    dtype = NUMPY_DTYPES[tensor.dtype]
    numbers = launch.compiled.program.host_values(launch.host)
    sizes = {**launch.host, **{tiling_field_ref(name).name: value for name, value in numbers.items()}}
    begin, count = int(tensor.offset.evaluate(env)), int(tensor.elements.evaluate(sizes))
    rest = launch.workspace[begin : begin + count * dtype.itemsize]
    return rest[: rest.size // dtype.itemsize * dtype.itemsize].view(dtype)


def _unlike(program: Array, kernel: Array) -> Array:
    """The elements that the program wrote and that the kernel has otherwise than rounding explains."""
    wrote = program.view(np.uint8).reshape(program.size, program.itemsize).min(axis=1, initial=0xFF) != 0xFF
    if program.dtype.kind in "iub":
        return np.asarray(wrote & (np.abs(program.astype(np.float64) - kernel.astype(np.float64)) > 1))
    mine, other = program.astype(np.float64), kernel.astype(np.float64)
    finite = np.isfinite(mine)
    size = np.sqrt(np.mean(mine[finite & wrote] ** 2)) if (finite & wrote).any() else 0.0
    with np.errstate(invalid="ignore"):
        far = ~(np.abs(mine - other) <= _BY_ROUNDING * np.maximum(np.abs(mine), size))
        same = (mine == other) | (np.isnan(mine) & np.isnan(other))
    return np.asarray(wrote & ~same & far)


def _told(
    program: Launch, tensor: GlobalTensor, block: int | None, unlike: Array, mine: Array, other: Array
) -> Difference:
    element = int(np.argmax(unlike))
    told = Difference(
        tensor=tensor.name,
        meaning=tensor.meaning,
        element=element,
        kernel=float(other[element]),
        program=float(mine[element]),
        unlike=int(unlike.sum()),
    )
    write = last_write(program, tensor, element, block)
    if write is None:
        return told
    stage = stage_of(program, write)
    sub = f"{write.core.name}{write.sub}" if write.core is Core.AIV else write.core.name
    return replace(
        told,
        stage=stage.stem if stage else "",
        core=f"block {write.block} {sub}",
        at={name: int(write.scalars[name]) for name in _TOLD if name in write.scalars},
        row=write.row,
        column=write.column,
        instruction=write.item.describe(),
        where="" if write.item.where == UNKNOWN_LINE else str(write.item.where),
    )
