"""Whole programs written by hand: compiled by the passes, run by the tile interpreter and on the emulator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from attndsl import ops
from attndsl.codegen.execute import execute
from attndsl.codegen.render import kernel_files
from attndsl.interpret.tile import interpret
from attndsl.schedule.compile import PASSES, Compiled, Specialisation, compile_operator
from attndsl.schedule.launch import Launch
from attndsl.symbolic import Const
from attndsl.tile.buffers import GlobalTensor
from attndsl.tile.program import Program, TilingField
from attndsl.tile.rules import check
from attndsl.tile.statements import Seq

Array = np.ndarray[Any, Any]
Value = Array | tuple[Array, ...]


@lru_cache(maxsize=1)
def _shell() -> Compiled:
    """A kernel to take the operator's name, document and schedule from."""
    return compile_operator(ops.incre_flash_attention, Specialisation(dtype="float16", bucket=64))


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
    joint = program = Program(
        name="hand_made", summary="", dtype="float16", parameters=parameters, workspace=workspace,
        tiling=tiling, constants=(), body=body,
    )  # fmt: skip
    for name, step in PASSES:
        program = check(step(program), name)
        joint = program if name == "derive_flags" else joint
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
    return next(text for name, text in kernel_files(compiled).items() if name.endswith(".cpp"))


def run_both(compiled: Compiled, arguments: Mapping[str, Value | None]) -> tuple[Launch, Launch]:
    """The launch as the tile interpreter and as the emulator leave it, whose checks find nothing."""
    interpreted, emulated = launch(compiled, arguments), launch(compiled, arguments)
    interpret(interpreted)
    execute(emulated).raise_for_findings()
    return interpreted, emulated
