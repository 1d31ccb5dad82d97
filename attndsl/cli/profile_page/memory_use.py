"""Which on-chip buffers are written and read when: the program's plan set against a recorded block."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from attndsl.profile.spans import Span
from attndsl.target import MemorySpace
from attndsl.tile.buffers import Buffer
from attndsl.tile.program import Program

SPACES = (MemorySpace.UB, MemorySpace.L1, MemorySpace.L0A, MemorySpace.L0B, MemorySpace.L0C)
Interval = tuple[float, float]


@dataclass(frozen=True)
class SlotUse:
    """A slot of a buffer in the plan, and when it was written and read, in microseconds."""

    buffer: Buffer
    slot: int
    address: int
    bytes: int
    written: tuple[Interval, ...]
    read: tuple[Interval, ...]


@dataclass(frozen=True)
class MemoryUse:
    """One memory: its slots by address, of ``buffers`` buffers. ``size``: bytes that kernels may use."""

    space: str
    size: int
    used: int
    buffers: int
    slots: tuple[SlotUse, ...]


def memory_uses(program: Program, spans: Iterable[Span], resolution: float) -> tuple[MemoryUse, ...]:
    """Each on-chip memory with buffers, over the time of ``spans``: those of a cube core and a vector core.

    The slot of an operand is the one that has its first byte. Gaps shorter than ``resolution`` are closed.
    """
    when: dict[tuple[str, int, bool], list[Interval]] = defaultdict(list)
    slots = {space: _slots(program, space) for space in SPACES}
    starts = {space.value: [address for _, _, address in each] for space, each in slots.items()}
    for span in spans:
        for operand in span.operands:
            places = starts.get(operand.space, [])
            at = bisect_right(places, operand.address) - 1
            if at >= 0:
                when[operand.space, places[at], operand.written].append((span.start, span.end))
    found = []
    for space in SPACES:
        uses = tuple(
            SlotUse(
                buffer=buffer,
                slot=slot,
                address=address,
                bytes=program.slot_stride(buffer),
                written=tuple(closed(when[space.value, address, True], resolution)),
                read=tuple(closed(when[space.value, address, False], resolution)),
            )
            for buffer, slot, address in slots[space]
        )
        if uses:
            size, used = program.device.architecture.memory(space).usable, program.used_bytes(space)
            found.append(MemoryUse(space.value, size, used, len({use.buffer for use in uses}), uses))
    return tuple(found)


def _slots(program: Program, space: MemorySpace) -> list[tuple[Buffer, int, int]]:
    """The slots of a memory's buffers with their addresses, in order."""
    found = [
        (buffer, slot, start + slot * program.slot_stride(buffer))
        for buffer, start in program.addresses.items()
        if buffer.space is space
        for slot in range(buffer.slots)
    ]
    return sorted(found, key=lambda each: each[2])


def closed(intervals: Iterable[Interval], resolution: float) -> Iterator[Interval]:
    """Intervals in order, without overlaps and gaps shorter than ``resolution``."""
    now: Interval | None = None
    for begin, end in sorted(intervals):
        if now is not None and begin - now[1] <= resolution:
            now = (now[0], max(now[1], end))
            continue
        if now is not None:
            yield now
        now = (begin, end)
    if now is not None:
        yield now
