"""Single instructions as kernels: load the memory, run the one statement between full barriers, store it.

All instructions are compiled in one translation unit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from attndsl import emulator
from attndsl.codegen.names.members import cxx_type
from attndsl.codegen.samples.device_files import runtime_files
from attndsl.execute.execute import stored
from attndsl.target import MemorySpace
from attndsl.tile.buffers import Buffer, GlobalTensor
from attndsl.tile.instructions import Instruction
from tests.support.devices import DEVICE

from .bench import Bench, Names

Array = np.ndarray[Any, Any]
_HEAD = (
    '#include "kernel_operator.h"\n#include "attndsl_kernel.h"\nusing namespace AscendC;\n'
    "using attndsl::kBlockHalves;\nusing attndsl::kBlockLanes;\nusing attndsl::kRepeatBlocks;\n"
)
"""Statements are members of a class over the base of all kernels, whose functions they call."""

_KERNEL = """
struct Body_%(name)s : attndsl::KernelBase {
__aicore__ static inline void Run(GM_ADDR image, GM_ADDR after%(extra)s)
{
    TPipe pipe;
    TBuf<TPosition::VECCALC> memory;
    pipe.InitBuffer(memory, %(bytes)d);
    LocalTensor<uint8_t> all = memory.Get<uint8_t>();
    GlobalTensor<uint8_t> from, to;
    from.SetGlobalBuffer(reinterpret_cast<__gm__ uint8_t *>(image));
    to.SetGlobalBuffer(reinterpret_cast<__gm__ uint8_t *>(after));
%(places)s
    DataCopy(all, from, %(bytes)d);
    PipeBarrier<PIPE_ALL>();
    {
        %(body)s
    }
    PipeBarrier<PIPE_ALL>();
    DataCopy(to, all, %(bytes)d);
    PipeBarrier<PIPE_ALL>();
}
};

extern "C" __global__ __aicore__ void %(name)s(GM_ADDR image, GM_ADDR after%(extra)s)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    Body_%(name)s::Run(image, after%(given)s);
}
"""


def _runtime() -> Path:
    """The folder of the headers that all kernels rest on."""
    return stored(runtime_files(DEVICE)) / "op_kernel"


class Frame:
    """Vector instructions over common buffers and global tensors."""

    def __init__(
        self,
        instructions: Mapping[str, Instruction],
        buffers: Sequence[Buffer],
        tensors: Sequence[GlobalTensor] = (),
    ) -> None:
        self.instructions, self.buffers, self.tensors = instructions, tuple(buffers), tuple(tensors)

    def _source(self) -> str:
        places, start = [], 0
        for target in self.buffers:
            ctype = cxx_type(target.dtype)
            places.append(f"    auto {target.name} = all[{start}].ReinterpretCast<{ctype}>();")
            start += target.slot_bytes
        for item in self.tensors:
            ctype, at = cxx_type(item.dtype), f"{item.name}At"
            places.append(f"    GlobalTensor<{ctype}> {item.name};")
            places.append(f"    {item.name}.SetGlobalBuffer(reinterpret_cast<__gm__ {ctype} *>({at}));")
        common = {
            "bytes": start,
            "places": "\n".join(places),
            "extra": "".join(f", GM_ADDR {item.name}At" for item in self.tensors),
            "given": "".join(f", {item.name}At" for item in self.tensors),
        }
        kernels = (
            _KERNEL % {**common, "name": f"run_{name}", "body": item.text(Names())}
            for name, item in self.instructions.items()
        )
        return _HEAD + "".join(kernels)

    @cached_property
    def kernels(self) -> dict[str, emulator.Kernel]:
        """Each instruction's kernel."""
        entries = [f"run_{name}" for name in self.instructions]
        return emulator.build_all(self._source(), entries=entries, include_dirs=[_runtime()])

    def emulate(self, name: str, bench: Bench) -> tuple[emulator.Report, dict[Buffer | GlobalTensor, Array]]:
        """What the emulator reports, and what it leaves of the bench's memory; the bench stays as it is."""
        image = np.concatenate([bench.slot(target).view(np.uint8) for target in self.buffers])
        after = np.zeros_like(image)
        given = {target: bench.tensor(target).copy() for target in self.tensors}
        args = [emulator.Argument("image", image), emulator.Argument("after", after, output=True)]
        args += [emulator.Argument(target.name, array) for target, array in given.items()]
        report = self.kernels[f"run_{name}"].run(1, args)
        found: dict[Buffer | GlobalTensor, Array] = dict(given)
        start = 0
        for target in self.buffers:
            found[target] = after[start : start + target.slot_bytes].view(bench.slot(target).dtype)
            start += target.slot_bytes
        return report, found


_POSITIONS = {MemorySpace.L1: "A1", MemorySpace.L0A: "A2", MemorySpace.L0B: "B2", MemorySpace.L0C: "CO1"}


def cube_kernel(
    instructions: Sequence[Instruction], buffers: Sequence[Buffer], tensors: Sequence[GlobalTensor]
) -> emulator.Kernel:
    """Cube instructions one behind the other, a full barrier between them; arguments are the tensors."""
    lines = ["TPipe pipe;"]
    for space, position in _POSITIONS.items():
        name, start = f"memory{space.value}", 0
        here = [target for target in buffers if target.space is space]
        total = sum(target.slot_bytes for target in here)
        lines += [f"TBuf<TPosition::{position}> {name};", f"pipe.InitBuffer({name}, {total});"]
        for target in here:
            ctype = cxx_type(target.dtype)
            lines.append(f"auto {target.name} = {name}.Get<uint8_t>()[{start}].ReinterpretCast<{ctype}>();")
            start += target.slot_bytes
    for item in tensors:
        ctype = cxx_type(item.dtype)
        lines += [
            f"GlobalTensor<{ctype}> {item.name};",
            f"{item.name}.SetGlobalBuffer(reinterpret_cast<__gm__ {ctype} *>({item.name}At));",
        ]
    for instruction in instructions:
        lines += [instruction.text(Names()), "PipeBarrier<PIPE_ALL>();"]
    arguments = ", ".join(f"GM_ADDR {item.name}At" for item in tensors)
    body = "\n    ".join(lines)
    run = f"__aicore__ static inline void Run({arguments})\n{{\n    {body}\n}}"
    head = f'extern "C" __global__ __aicore__ void run_cube({arguments})'
    given = ", ".join(f"{item.name}At" for item in tensors)
    call = f"KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);\n    Body::Run({given});"
    source = f"{_HEAD}struct Body : attndsl::KernelBase {{\n{run}\n}};\n{head}\n{{\n    {call}\n}}\n"
    return emulator.build(source, entry="run_cube", include_dirs=[_runtime()])
