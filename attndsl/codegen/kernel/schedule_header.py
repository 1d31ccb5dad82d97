"""The schedule header of a kernel: tile sizes, ring depth and on-chip buffers, all from its schedule options.

The kernel and the host's plan include it, so that both follow a number that is edited there. It is plain
C++17 without CANN headers, and without the helper functions that the two have of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from attndsl.codegen.names.members import constant
from attndsl.codegen.names.spelling import Spelling, memory_member
from attndsl.codegen.text.cxx_expressions import cxx_text
from attndsl.codegen.text.line_breaks import WIDTH
from attndsl.expr import Binary, Compare, Const, Expr, Select, as_expr
from attndsl.target import Memory
from attndsl.tile.buffers import Buffer, item_bytes
from attndsl.tile.program import Constant, Program

_INDENT = "    "


@dataclass(frozen=True, slots=True)
class ConstantText:
    """``constexpr type name = value;  // meaning``."""

    ctype: str
    name: str
    value: str
    meaning: str


@dataclass(frozen=True, slots=True)
class BufferView:
    """A buffer of one slot: the member of the kernel, its element type and the constant of its address."""

    variable: str
    dtype: str
    address: str


@dataclass(frozen=True, slots=True)
class MemoryTable:
    """One on-chip memory: the lines of its buffer map, and how the kernel reaches its buffers.

    Attributes:
        lines: declarators, first slot and bytes of a slot of each buffer.
        end, end_address: the constant that says where the buffers end, and its value.
        sizes: the constants of all slot sizes, which are multiples of ``alignment``.
        single: the buffers with one slot, which are members of the kernel.
    """

    space: str
    core: str
    member: str
    lines: tuple[str, ...]
    end: str
    end_address: str
    usable: int
    alignment: int
    sizes: tuple[str, ...]
    single: tuple[BufferView, ...]


@dataclass(frozen=True, kw_only=True)
class ScheduleText:
    """Everything the template of the schedule header prints.

    Attributes:
        namespace: of the kernel's text.
        fixed, options, derived: constants that the device and the specialization decide, those that may be
            edited, and those that follow from others.
        requirements: conditions with their meaning.
    """

    namespace: str
    guard: str
    fixed: tuple[ConstantText, ...]
    options: tuple[ConstantText, ...]
    derived: tuple[ConstantText, ...]
    requirements: tuple[tuple[str, str], ...]
    memories: tuple[MemoryTable, ...]


def schedule_file(namespace: str) -> str:
    """The name of the schedule header of a kernel's text."""
    return f"{namespace}_schedule.h"


def schedule_text(namespace: str, program: Program, spelling: Spelling) -> ScheduleText:
    """The schedule header of a program."""
    whole = [item for item in program.constants if not isinstance(item.named.value, float)]
    return ScheduleText(
        namespace=namespace,
        guard=f"ATTNDSL_{namespace.upper()}_SCHEDULE_H",
        fixed=tuple(_text(item) for item in whole if not item.option and item.definition is None),
        options=tuple(_text(item) for item in whole if item.option),
        derived=tuple(_text(item) for item in whole if item.definition is not None),
        requirements=tuple((constant_text(each.condition), each.meaning) for each in program.requirements),
        memories=memories(program, spelling),
    )


def number_constants(program: Program) -> Iterator[ConstantText]:
    """The floating-point constants, which are no part of the schedule."""
    return (_text(item) for item in program.constants if isinstance(item.named.value, float))


def _text(item: Constant) -> ConstantText:
    value = Const(item.named.value) if item.definition is None else item.definition
    ctype = "float" if isinstance(item.named.value, float) else "int64_t"
    return ConstantText(ctype, constant(item.named.name), constant_text(value), item.meaning)


def constant_text(expr: Expr) -> str:
    """A constant expression in operators alone; its operands are at least 0."""
    return cxx_text(_in_operators(expr))


def _in_operators(expr: Expr) -> Expr:
    if not isinstance(expr, Binary | Compare):
        return expr.mapped(lambda node: None if node is expr else _in_operators(node))
    left, right = _in_operators(expr.left), _in_operators(expr.right)
    if isinstance(expr, Compare):
        return Compare(expr.op, left, right)
    if expr.op in ("min", "max"):
        return Select(Compare("<" if expr.op == "min" else ">", left, right), left, right)
    if expr.op in ("ceil_div", "round_up"):
        units = (left + right - 1) // right
        return units * right if expr.op == "round_up" else units
    return Binary(expr.op, left, right)


def memories(program: Program, spelling: Spelling) -> tuple[MemoryTable, ...]:
    """The on-chip memories, with the buffers of the program by address."""
    return tuple(_memory(memory, program, spelling) for memory in program.device.architecture.memories)


def _memory(memory: Memory, program: Program, spelling: Spelling) -> MemoryTable:
    buffers = [buffer for buffer in program.buffers() if buffer.space is memory.space]
    buffers.sort(key=lambda buffer: program.addresses[buffer])
    lines: list[str] = []
    end = "0"
    for buffer in buffers:
        name = constant(buffer.name)
        lines += _buffer_lines(buffer, _aligned(end, program.alignments()[buffer], memory), memory)
        end = f"{name} + {f'{buffer.slots} * ' if buffer.slots > 1 else ''}{name}Slot"
    single = (buffer for buffer in buffers if buffer.slots == 1)
    return MemoryTable(
        space=memory.space.value,
        core=memory.core.value,
        member=memory_member(memory.space),
        lines=tuple(lines),
        end=f"{constant(memory.space.value.lower())}End",
        end_address=end,
        usable=memory.usable,
        alignment=memory.alignment,
        sizes=tuple(_filled([f"{constant(buffer.name)}Slot" for buffer in buffers])),
        single=tuple(BufferView(spelling.buffer(b), spelling.ctype(b), constant(b.name)) for b in single),
    )


def _aligned(end: str, alignment: int, memory: Memory) -> str:
    """The end of the buffer before, rounded up where a buffer asks for more than its memory does."""
    if end == "0" or alignment == memory.alignment:
        return end
    return f"({end} + {alignment - 1}) / {alignment} * {alignment}"


def _buffer_lines(buffer: Buffer, address: str, memory: Memory) -> Iterator[str]:
    """``kScore = address, kScoreSlot = bytes,  // meaning``, in as few lines as fit."""
    name, slots = constant(buffer.name), f"{buffer.slots} slots: " if buffer.slots > 1 else ""
    size: Expr = buffer.size * item_bytes(buffer.dtype)
    if buffer.slot_bytes % memory.alignment:
        size = (size + (memory.alignment - 1)) // memory.alignment * as_expr(memory.alignment)
    first, second = f"{name} = {address},", f"{name}Slot = {constant_text(size)},"
    note = f"// {slots}{buffer.meaning}"
    room = WIDTH - len(_INDENT)
    if len(f"{first} {second}  {note}") <= room:
        yield f"{first} {second}  {note}"
        return
    yield note
    yield from (f"{first} {second}",) if len(f"{first} {second}") <= room else (first, second)


def _filled(names: Sequence[str]) -> Iterator[str]:
    """``a | b | c`` on as few lines as fit."""
    line = ""
    for name in names:
        if line and len(f"{line} | {name} |") > WIDTH - 2 * len(_INDENT):
            yield f"{line} |"
            line = ""
        line = f"{line} | {name}" if line else name
    if line:
        yield line
