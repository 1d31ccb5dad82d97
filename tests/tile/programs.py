"""Whole programs written by hand: compiled by the passes, run by the tile interpreter and on the emulator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from attndsl import emulator
from attndsl.api import ops
from attndsl.codegen.kernel.dtype_parameter import text_name
from attndsl.codegen.kernel.kernel import kernel_text
from attndsl.codegen.samples.device_files import device_files, kernel_path
from attndsl.compiler.compile import Compiled, compile_operator
from attndsl.compiler.prepare_launch import Launch
from attndsl.execute.execute import plan_of, written
from attndsl.expr import Const
from attndsl.lowering.signature.specialization import Specialization
from attndsl.passes.pass_manager import PASSES, run_passes
from attndsl.tile.buffers import GlobalTensor
from attndsl.tile.program import Program, TilingField
from attndsl.tile.statements import Seq
from attndsl.tile_interpreter.run import interpret
from tests.support.devices import DEVICE

Array = np.ndarray[Any, Any]
Value = Array | tuple[Array, ...]


@lru_cache(maxsize=1)
def _shell() -> Compiled:
    """A kernel to take the operator's name, document and schedule from."""
    return compile_operator(ops.incre_flash_attention, Specialization(dtype="float16", padded_head_size=64))


def made(
    body: Seq,
    parameters: tuple[GlobalTensor, ...],
    workspace: tuple[GlobalTensor, ...] = (),
    *,
    blocks: int = 2,
    workspace_bytes: int = 512,
) -> Compiled:
    """A program of the given statements, through every pass; every rule is checked behind each."""
    sizes = (("blocks", blocks), ("workspaceBytes", workspace_bytes))
    tiling = tuple(TilingField(name, "int64", Const(value), name) for name, value in sizes)
    lowered = Program(
        name="hand_made", summary="", dtype="float16", parameters=parameters, workspace=workspace,
        device=DEVICE, tiling=tiling, constants=(), body=body,
    )  # fmt: skip
    joint, program = run_passes(lowered, PASSES)
    return replace(_shell(), joint=joint, program=program)


def launch(compiled: Compiled, arguments: Mapping[str, Value | None]) -> Launch:
    """A launch with arguments of its own: outputs are copied."""
    copies = {
        tensor.name: arguments[tensor.name].copy() if tensor.role == "output" else arguments[tensor.name]  # type: ignore[union-attr]
        for tensor in compiled.program.parameters
    }
    tiling = {field.name: int(field.value.evaluate({})) for field in compiled.program.tiling}
    return Launch(compiled=compiled, call=None, host={}, tiling=tiling, arguments=copies)  # type: ignore[arg-type]


def source(compiled: Compiled) -> str:
    """The generated kernel."""
    return device_files([compiled])[kernel_path(compiled)]


_ENTRY = """#include "{name}.h"
extern "C" __global__ __aicore__ void hand_made({parameters}GM_ADDR workspace, GM_ADDR tiling)
{{
    REGISTER_TILING_DEFAULT({struct});
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    GET_TILING_DATA_WITH_STRUCT({struct}, tilingData, tiling);
    {name}::{kernel} kernel;
    kernel.Run({arguments}workspace, tilingData);
}}
"""


def emulate(made: Launch) -> emulator.Report:
    """Run a launch: the program's own parameters, behind a kernel function of its own."""
    compiled, folder = made.compiled, written(made.compiled)
    names = [tensor.name for tensor in compiled.program.parameters]
    text = _ENTRY.format(
        name=text_name(compiled),
        kernel=kernel_text(compiled).class_name,
        struct=kernel_text(compiled).tiling_struct,
        parameters="".join(f"GM_ADDR {name}, " for name in names),
        arguments="".join(f"{name}, " for name in names),
    )
    kernel = emulator.build(text, entry="hand_made", include_dirs=[folder / "op_kernel"])
    arguments = [
        emulator.Argument(tensor.name, made.arguments[tensor.name], output=tensor.role == "output")
        for tensor in compiled.program.parameters
    ]
    workspace = np.zeros(made.workspace_bytes, np.uint8)
    arguments.append(emulator.Argument("workspace", workspace, scratch=True))
    arguments.append(emulator.Argument("tiling", plan_of(made, folder).tiling))
    return kernel.run(made.blocks, arguments)


def run_both(compiled: Compiled, arguments: Mapping[str, Value | None]) -> tuple[Launch, Launch]:
    """The launch as the tile interpreter and as the emulator leave it, whose checks find nothing."""
    interpreted, emulated = launch(compiled, arguments), launch(compiled, arguments)
    interpret(interpreted)
    emulate(emulated).raise_for_findings()
    return interpreted, emulated
