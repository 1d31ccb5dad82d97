"""Pass: addresses. Buffers of one memory follow each other, each slot aligned.

Buffers never share memory, so their events need not know of each other. In the unified buffer those whose
slots are whole rows of banks come first: each of their slots begins at a row, so that rules which choose
blocks of different groups of banks know where the others are.
"""

from __future__ import annotations

from attndsl.lowering.errors import DoesNotFit
from attndsl.target import Memory, MemorySpace
from attndsl.tile.buffers import Buffer
from attndsl.tile.program import Program


def plan_memory(program: Program) -> Program:
    """The program with an address for every buffer.

    Raises:
        DoesNotFit: naming the memory, what is needed, what is there and the largest buffer.
    """
    addresses: dict[Buffer, int] = {}
    for memory in program.device.architecture.memories:
        addresses |= _place(memory, program)
    return program.with_(addresses=addresses)


def _place(memory: Memory, program: Program) -> dict[Buffer, int]:
    buffers = [buffer for buffer in program.buffers() if buffer.space is memory.space]
    if memory.space is MemorySpace.UB:
        row = program.device.architecture.bank_row
        buffers.sort(key=lambda buffer: program.slot_stride(buffer) % row != 0)
    alignments = program.alignments()
    placed: dict[Buffer, int] = {}
    end = 0
    for buffer in buffers:
        placed[buffer] = -(-end // alignments[buffer]) * alignments[buffer]
        end = placed[buffer] + buffer.slots * program.slot_stride(buffer)
    if end > memory.usable:
        largest = max(buffers, key=lambda buffer: buffer.total_bytes)
        text = f"{largest.name} with {largest.slots} x {largest.slot_bytes} bytes"
        raise DoesNotFit(
            memory.space.value,
            end,
            memory.usable,
            text,
            "choose a smaller tile_k, rows, max_rows, base_n or base_k",
        )
    return placed
