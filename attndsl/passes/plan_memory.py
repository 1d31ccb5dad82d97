"""Pass: addresses. Buffers of one memory follow each other, each slot aligned.

Buffers never share memory, so their events need not know of each other. In the unified buffer those whose
slots are whole rows of banks come first, the largest in front: each of their slots begins at a row of
banks, or in its middle. Two operands that an instruction reads lane by lane begin in different halves, so
that no repeat reads two blocks of one group of banks. An operand of one block a row begins in the half of
the lanes that it meets, as the rules that spread it assume. Where that leaves a memory too small, buffers
that may lie anywhere fill the gaps. An instruction may write blocks of some rows while it reads others, as
it states itself: if both would lie in one bank of a group, its target comes first of all, where it has
another.
"""

from __future__ import annotations

from collections.abc import Mapping

from attndsl.lowering.errors import DoesNotFit
from attndsl.target import Memory, MemorySpace
from attndsl.tile.buffers import Buffer
from attndsl.tile.program import Program


def plan_memory(program: Program) -> Program:
    """The program with an address for every buffer.

    Raises:
        DoesNotFit: naming the memory, what is needed, what is there and the largest buffer.
    """
    return program.with_(addresses=_addresses(program))


def check_room(lowered: Program) -> None:
    """Whether the buffers of a joint program have room: the split changes neither them nor their order in a
    memory, so that what does not fit need not go through the passes in front of this one.

    Raises:
        DoesNotFit: as :func:`plan_memory` for the program after the split.
    """
    _addresses(lowered)


def _addresses(program: Program) -> dict[Buffer, int]:
    found: dict[Buffer, int] = {}
    for memory in program.device.architecture.memories:
        found |= _place(memory, program)
    return found


def _turn(buffer: Buffer, halves: Mapping[Buffer, int]) -> tuple[int, int]:
    """Where a buffer stands in the order of placing."""
    return (halves[buffer], -buffer.total_bytes) if buffer in halves else (2, 0)


def _halves(program: Program, buffers: list[Buffer]) -> dict[Buffer, int]:
    """In which half of a row of banks each buffer of whole rows begins: 0 or 1."""
    row = program.device.architecture.bank_row
    near: dict[Buffer, list[tuple[Buffer, int]]] = {
        buffer: [] for buffer in buffers if program.slot_stride(buffer) % row == 0
    }
    pairs = [pair for each in program.instructions() if (pair := each.paired_reads()) is not None]
    for pair in sorted(pairs, key=lambda pair: not pair.blocks):
        first, second = pair.first, pair.second
        if first is not second and first in near and second in near:
            near[first].append((second, 0 if pair.blocks else 1))
            near[second].append((first, 0 if pair.blocks else 1))
    halves: dict[Buffer, int] = {}
    for start in near:
        _spread(start, near, halves)
    return halves


def _spread(
    start: Buffer, near: Mapping[Buffer, list[tuple[Buffer, int]]], halves: dict[Buffer, int]
) -> None:
    """Gives the buffers that meet ``start``, directly or not, their halves; an earlier wish wins."""
    waiting = [(start, 0)]
    while waiting:
        buffer, half = waiting.pop(0)
        if buffer not in halves:
            halves[buffer] = half
            waiting += [(other, half ^ differs) for other, differs in near[buffer]]


def _place(memory: Memory, program: Program) -> dict[Buffer, int]:
    buffers = [buffer for buffer in program.buffers() if buffer.space is memory.space]
    halves = _halves(program, buffers) if memory.space is MemorySpace.UB else {}
    buffers.sort(key=lambda buffer: _turn(buffer, halves))
    placed, end = _fitting(buffers, halves, program, memory)
    for target in _meeting_their_sources(program, placed):
        first = [target, *(each for each in buffers if each is not target)]
        other, other_end = _fitting(first, halves, program, memory)
        if other_end <= memory.usable and target not in _meeting_their_sources(program, other):
            placed, end = other, other_end
    if end > memory.usable:
        largest = max(buffers, key=lambda buffer: buffer.total_bytes)
        text = f"{largest.name} with {largest.slots} x {largest.slot_bytes} bytes"
        raise DoesNotFit(memory.space.value, end, memory.usable, text)
    return placed


def _fitting(
    buffers: list[Buffer], halves: Mapping[Buffer, int], program: Program, memory: Memory
) -> tuple[dict[Buffer, int], int]:
    """Addresses one after the other, with gaps filled where it takes that; and the end, beyond the memory
    where nothing helps."""
    placed, end = _in_turn(buffers, halves, program)
    return (placed, end) if end <= memory.usable else _in_turn(buffers, halves, program, into_gaps=True)


def _meeting_their_sources(program: Program, placed: Mapping[Buffer, int]) -> list[Buffer]:
    """Buffers that are written while another one in the same bank of a group is read."""
    span = program.device.architecture.bank_span

    def banks(buffer: Buffer) -> set[int]:
        start = placed[buffer]
        return set(range(start // span, (start + buffer.slots * program.slot_stride(buffer) - 1) // span + 1))

    pairs = (each.read_while_written() for each in program.instructions())
    here = dict.fromkeys(pair for pair in pairs if pair is not None and pair[0] in placed)
    return list(dict.fromkeys(target for source, target in here if banks(target) & banks(source)))


def _in_turn(
    buffers: list[Buffer], halves: Mapping[Buffer, int], program: Program, *, into_gaps: bool = False
) -> tuple[dict[Buffer, int], int]:
    """Addresses of buffers one after the other, and the end of the last.

    ``into_gaps``: those that may lie anywhere fill the gaps before halves of rows of banks, large ones first.
    """
    placed: dict[Buffer, int] = {}
    end, architecture, alignments = 0, program.device.architecture, program.alignments()
    loose = sorted((each for each in buffers if each not in halves), key=lambda each: -each.total_bytes)
    for buffer in buffers:
        if buffer in placed:
            continue
        start = end
        if buffer in halves:
            row, shift = architecture.bank_row, halves[buffer] * architecture.half_bank_row
            start = -(-(end - shift) // row) * row + shift
        for other in loose if into_gaps and start > end else ():
            at = -(-end // alignments[other]) * alignments[other]
            after = at + other.slots * program.slot_stride(other)
            if other not in placed and after <= start:
                placed[other], end = at, after
        placed[buffer] = -(-start // alignments[buffer]) * alignments[buffer]
        end = placed[buffer] + buffer.slots * program.slot_stride(buffer)
    return placed, end
