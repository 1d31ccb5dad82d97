"""How long a kernel's text is, and about how many bytes its instructions take."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass

from attndsl.codegen.samples.device_files import kernel_path, schedule_path
from attndsl.compiler.prepare_launch import prepare
from attndsl.execute.execute import written
from attndsl.expr import Expr
from attndsl.spec.binding.call import Call
from attndsl.target import Core
from attndsl.tile.instructions import Instruction
from attndsl.tile.program import Program
from attndsl.tile.statements import (
    Barrier,
    For,
    If,
    Let,
    SetCrossFlag,
    SetEvent,
    Statement,
    WaitCrossFlag,
)

ICACHE = 32 * 1024
"""Bytes of a core's instruction cache (DEVKIT)."""
_WORD = 4
_OPERAND_WORDS = 8
"""Words in front of an instruction: its configuration, two numbers of 64 bits by four moves of 16 bits each.
Besides, a word for each operation of its operands' expressions. No compiler's output is public: an estimate
of ours, of its order of magnitude."""


def estimated_bytes(program: Program, core: Core) -> int:
    """Bytes of a core's instructions; functions are inlined, as the device's compiler does."""
    return sum(_WORD * _words(each) for each in program.cores[core].walk()) if core in program.cores else 0


def _words(each: Statement) -> int:
    if isinstance(each, Instruction):
        return 1 + _OPERAND_WORDS + sum(_nodes(getattr(each, field.name)) for field in fields(each))
    if isinstance(each, SetEvent | Barrier | SetCrossFlag | WaitCrossFlag):
        return 2
    if isinstance(each, Let):
        return len(tuple(each.value.walk()))
    if isinstance(each, For | If):
        return 4
    return 0


def _nodes(value: object) -> int:
    """Operations and numbers of the expressions in an operand: about a scalar instruction each."""
    if isinstance(value, Expr):
        return len(tuple(value.walk()))
    if isinstance(value, tuple):
        return sum(map(_nodes, value))
    if isinstance(value, Statement) or not is_dataclass(value):
        return 0
    return sum(_nodes(getattr(value, field.name)) for field in fields(value))


@dataclass(frozen=True)
class KernelText:
    """Lines of the kernel and its schedule header; estimated bytes of instructions of each kind of core."""

    lines: int
    cube_bytes: int
    vector_bytes: int

    @classmethod
    def of(cls, call: Call) -> KernelText:
        """The text of the kernel that a call takes."""
        compiled = prepare(call).compiled
        folder = written(compiled)
        paths = (kernel_path(compiled), schedule_path(compiled))
        lines = sum(len((folder / path).read_text().splitlines()) for path in paths)
        program = compiled.program
        return cls(lines, estimated_bytes(program, Core.AIC), estimated_bytes(program, Core.AIV))
