"""The schedule header of a kernel: tile sizes, ring depth and on-chip buffers, all from its schedule options.

The kernel and the host's plan include it, so that both follow a number that is edited there. It is plain
C++17 without CANN headers, and without the helper functions that the two have of their own.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import gcd

from attndsl.codegen.kernel.constant_text import ConstantText
from attndsl.codegen.kernel.device_header import HALF_BANK_ROW, SCOPE, capacity_of, constants_of_device
from attndsl.codegen.kernel.schedule_limits import Limit, limits, meanings
from attndsl.codegen.names.identifiers import comment
from attndsl.codegen.names.members import (
    address_constant,
    constant,
    size_constant,
    slots_constant,
)
from attndsl.codegen.names.spelling import Spelling, memory_member
from attndsl.codegen.text.cxx_expressions import cxx_text
from attndsl.codegen.text.line_breaks import WIDTH
from attndsl.expr import Binary, Compare, Const, Expr, Logic, Named, Select, round_up
from attndsl.lowering.match.schedule_options import DEFAULT, legal_values, multiple_of
from attndsl.target import Memory
from attndsl.tile.buffers import Buffer, item_bytes
from attndsl.tile.program import Constant, Program

_INDENT = "    "
_LITERAL = WIDTH - 12
"""Characters of a literal that stands on a line of its own."""

_GAPS = (
    "A gap of kHalfBankRow puts a buffer into the other half of a row of banks than the operand that is read "
    "with it, so that no repeat waits for a bank twice: keep it where sizes before it change."
)


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
        sizes: declarations of the bytes of a slot of each buffer, with the buffer's meaning.
        places: declarations of where each buffer's first slot begins, and of ``end``, where they all end.
        note: a comment on the places, if there is something to say.
        capacity: the device's constant for the bytes of it that kernels may use.
        unproved: slots whose sizes are multiples of ``alignment`` today, but maybe not for other options.
        single: the buffers with one slot, which are members of the kernel.
    """

    space: str
    core: str
    member: str
    sizes: tuple[str, ...]
    places: tuple[str, ...]
    note: str
    end: str
    capacity: str
    alignment: int
    unproved: tuple[str, ...]
    single: tuple[BufferView, ...]


@dataclass(frozen=True, kw_only=True)
class ScheduleText:
    """Everything the template of the schedule header prints.

    Attributes:
        namespace: of the kernel's text.
        of_device: names of the device's constants, which are in a header of their own.
        fixed, options, derived: constants that the specialization decides, options with one legal value
            among them, those that may be edited, and those that follow from others.
        requirements: conditions with their meaning, a literal.
        says: what else a reader should know of the schedule.
    """

    namespace: str
    guard: str
    of_device: tuple[str, ...]
    fixed: tuple[ConstantText, ...]
    options: tuple[ConstantText, ...]
    derived: tuple[ConstantText, ...]
    requirements: tuple[tuple[str, str], ...]
    memories: tuple[MemoryTable, ...]
    says: tuple[str, ...]


def schedule_file(namespace: str) -> str:
    """The name of the schedule header of a kernel's text."""
    return f"{namespace}_schedule.h"


def schedule_text(
    namespace: str,
    program: Program,
    spelling: Spelling,
    why: Mapping[str, str],
    says: tuple[str, ...] = (),
) -> ScheduleText:
    """The schedule header of a program.

    Args:
        why: who chose each schedule option.
        says: see :class:`ScheduleText`.
    """
    own = (item for item in program.constants if not item.host_only and not item.of_device)
    whole = [item for item in own if not isinstance(item.named.value, float)]
    options = [item for item in whole if item.option]
    stated = tuple(limits(program.requirements, program.constants, legal_values(program.device)))
    decided = [item for item in options if item.named.name in _with_one_value(stated)]
    texts = {item: _text(item, _who(why[item.option])) for item in options}
    return ScheduleText(
        namespace=namespace,
        guard=f"ATTNDSL_{namespace.upper()}_SCHEDULE_H",
        of_device=constants_of_device(program),
        fixed=(
            *(_text(item) for item in whole if not item.option and item.definition is None),
            *(texts[item] for item in decided),
        ),
        options=tuple(texts[item] for item in options if item not in decided),
        derived=tuple(_text(item) for item in whole if item.definition is not None),
        requirements=tuple(_assertions(stated, program.constants)),
        memories=memories(program, spelling),
        says=says,
    )


def _with_one_value(stated: Sequence[Limit]) -> set[str]:
    """The options of which the others leave one value."""
    parts = (part for limit in stated for part in limit.conditions)
    return {
        part.left.name
        for part in parts
        if isinstance(part, Compare) and part.op == "==" and isinstance(part.left, Named)
    }


def _assertions(stated: Sequence[Limit], constants: Sequence[Constant]) -> Iterator[tuple[str, str]]:
    """Conditions on the constants, with their meanings as literals."""
    for limit in stated:
        yield (
            " && ".join(map(_part_text, limit.conditions)),
            _literal("; ".join(meanings(limit, constants))),
        )


def _literal(text: str) -> str:
    """A text as C++ has it: literals side by side where one would be too wide."""
    *parts, last = textwrap.wrap(text, _LITERAL)
    return "\n    ".join([*(f'"{part} "' for part in parts), f'"{last}"'])


def _part_text(part: Expr) -> str:
    """A condition as one of several."""
    alternatives = isinstance(part, Logic) and part.op == "or"
    return f"({constant_text(part)})" if alternatives else constant_text(part)


def number_constants(program: Program) -> Iterator[ConstantText]:
    """The floating-point constants, which are no part of the schedule."""
    return (_text(item) for item in program.constants if isinstance(item.named.value, float))


def _who(why: str) -> str:
    told = {"stored": "tuned value", "spec": "set in the spec"}.get(why, why)
    return "" if why == DEFAULT else f" ({comment(told)})"


def _text(item: Constant, note: str = "") -> ConstantText:
    value = Const(item.named.value) if item.definition is None else item.definition
    ctype = "float" if isinstance(item.named.value, float) else "int64_t"
    return ConstantText(ctype, constant(item.named.name), constant_text(value), item.meaning + note)


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
    sizes: list[tuple[str, str]] = []
    places: list[str] = []
    unproved: list[str] = []
    end, place = "0", 0
    for buffer in buffers:
        name, slots = size_constant(buffer.name), f"{buffer.slots} slots: " if buffer.slots > 1 else ""
        size = _slot_bytes(buffer, memory)
        sizes.append((f"{name} = {constant_text(size)}", slots + buffer.meaning))
        alignment = program.alignments()[buffer]
        gap = program.addresses[buffer] - -(-place // alignment) * alignment
        begin = address_constant(buffer.name)
        places.append(f"{begin} = {_aligned(end, alignment, memory)}{_shift(gap, program)}")
        place = program.addresses[buffer] + buffer.slots * program.slot_stride(buffer)
        if divisor(size, program) % memory.alignment:
            unproved.append(name)
        end = f"{begin} + {f'{slots_constant(buffer.slots)} * ' if buffer.slots > 1 else ''}{name}"
    single = (buffer for buffer in buffers if buffer.slots == 1)
    end_name = f"{constant(memory.space.value.lower())}End"
    return MemoryTable(
        space=memory.space.value,
        core=memory.core.value,
        member=memory_member(memory.space),
        sizes=tuple(_size_lines(sizes)),
        places=tuple(_filled([*places, f"{end_name} = {end}"])),
        note=_GAPS if any(HALF_BANK_ROW in each for each in places) else "",
        end=end_name,
        capacity=f"{SCOPE}::{capacity_of(memory)}",
        alignment=memory.alignment,
        unproved=tuple(unproved),
        single=tuple(
            BufferView(spelling.buffer(each), spelling.ctype(each), address_constant(each.name))
            for each in single
        ),
    )


def _shift(gap: int, program: Program) -> str:
    """Bytes that are left out so that a buffer begins in the other half of a row of banks."""
    if not gap:
        return ""
    half = program.device.architecture.half_bank_row
    return f" + {HALF_BANK_ROW}" if gap == half else f" + {gap}"


def _slot_bytes(buffer: Buffer, memory: Memory) -> Expr:
    """Bytes of a slot, rounded up only where the size is no multiple of the memory's alignment."""
    size: Expr = buffer.size * item_bytes(buffer.dtype)
    return round_up(size, memory.alignment) if buffer.slot_bytes % memory.alignment else size


def _aligned(end: str, alignment: int, memory: Memory) -> str:
    """The end of the buffer before, rounded up where a buffer asks for more than its memory does."""
    if end == "0" or alignment == memory.alignment:
        return end
    return f"({end} + {alignment - 1}) / {alignment} * {alignment}"


def divisor(size: Expr, program: Program) -> int:
    """A number that divides a size for all legal options; sizes are at least 1."""
    known = {each.named.name: each for each in program.constants}

    def is_fixed(expr: Expr) -> bool:
        """Whether it is a number, or a constant of the device."""
        return isinstance(expr, Const) and (not isinstance(expr, Named) or known[expr.name].of_device)

    def of(expr: Expr) -> int:
        if isinstance(expr, Named):
            item = known[expr.name]
            if item.option:
                return multiple_of(item.option, program.device)
            return int(expr.value) if item.definition is None else of(item.definition)
        if isinstance(expr, Const):
            return int(expr.value)
        if not isinstance(expr, Binary):
            return 1
        left, right = of(expr.left), of(expr.right)
        if expr.op == "*":
            return left * right
        if expr.op == "round_up":
            return right
        if expr.op == "//" and is_fixed(expr.right):
            return left // right if left % right == 0 else 1
        return gcd(left, right) if expr.op in ("+", "-", "min", "max") else 1

    return of(size)


def _size_lines(sizes: Sequence[tuple[str, str]]) -> Iterator[str]:
    """One declaration for all sizes, a line each."""
    if len(sizes) == 1:
        ((text, meaning),) = sizes
        yield f"constexpr uint32_t {text};  // {meaning}"
        return
    if sizes:
        yield "constexpr uint32_t"
    for number, (text, meaning) in enumerate(sizes):
        yield f"{_INDENT}{text}{';' if number == len(sizes) - 1 else ','}  // {meaning}"


def _filled(declarators: Sequence[str]) -> Iterator[str]:
    """One declaration on as few lines as fit."""
    line = "constexpr uint32_t"
    for number, each in enumerate(declarators):
        piece = f" {each}{';' if number == len(declarators) - 1 else ','}"
        if len(line + piece) > WIDTH:
            yield line
            line = f"   {piece}"
        else:
            line += piece
    yield line
