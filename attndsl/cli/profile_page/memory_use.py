"""Which on-chip buffers are written and read when: the program's plan set against a recorded block."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from attndsl.cli.profile_page.spans import Span
from attndsl.target import Core, MemorySpace
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import Instruction
from attndsl.tile.program import Program
from attndsl.tile.statements import Stage, Statement

SPACES = (MemorySpace.UB, MemorySpace.L1, MemorySpace.L0A, MemorySpace.L0B, MemorySpace.L0C)
Interval = tuple[float, float]
_OUTSIDE = {Core.AIC: "RunCube", Core.AIV: "RunVector"}
"""The functions of a kernel around all stages of a kind of core."""


@dataclass(frozen=True)
class BufferUse:
    """A buffer of the plan and when it was written and read, in microseconds; all of its slots together."""

    buffer: Buffer
    address: int
    bytes: int
    written: tuple[Interval, ...]
    read: tuple[Interval, ...]


@dataclass(frozen=True)
class MemoryUse:
    """One memory: its buffers by address. ``size``: bytes that a kernel may plan with."""

    space: str
    size: int
    used: int
    buffers: tuple[BufferUse, ...]


def memory_uses(program: Program, spans: Iterable[Span], resolution: float) -> tuple[MemoryUse, ...]:
    """Each on-chip memory with buffers, over the time of ``spans``: those of a cube core and a vector core.

    A span uses what the instructions of its pipe in its function use, as the tile program has them: the
    emitted text names no buffers. Gaps shorter than ``resolution`` are closed.
    """
    touched = _touched(program)
    when: dict[tuple[Buffer, bool], list[Interval]] = defaultdict(list)
    for span in spans:
        if not span.waiting:
            for use in touched.get((span.function, span.pipe), ()):
                when[use].append((span.start, span.end))
    found = []
    for space in SPACES:
        buffers = sorted(
            (each for each in program.addresses if each.space is space),
            key=lambda each: program.addresses[each],
        )
        if buffers:
            uses = tuple(
                BufferUse(
                    buffer=each,
                    address=program.addresses[each],
                    bytes=each.slots * program.slot_stride(each),
                    written=tuple(closed(when[each, True], resolution)),
                    read=tuple(closed(when[each, False], resolution)),
                )
                for each in buffers
            )
            size = program.device.architecture.memory(space).usable
            found.append(MemoryUse(space.value, size, program.used_bytes(space), uses))
    return tuple(found)


def _touched(program: Program) -> Mapping[tuple[str, str], set[tuple[Buffer, bool]]]:
    """By function and pipe the buffers that its instructions use, each with whether it is written."""
    found: dict[tuple[str, str], set[tuple[Buffer, bool]]] = defaultdict(set)
    for core, tree in program.cores.items():
        for names, item in _in_functions(tree, (_OUTSIDE[core],)):
            for name in names:
                uses = found[name, item.pipe.value]
                uses |= {(buffer, True) for buffer in item.writes()}
                uses |= {(buffer, False) for buffer in item.reads()}
    return found


def _in_functions(tree: Statement, names: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Instruction]]:
    """The instructions, each with the names that the function around it may have: stages that are alike
    become one function, named after what they do."""
    if isinstance(tree, Stage):
        names = (tree.name, tree.stem)
    if isinstance(tree, Instruction):
        yield names, tree
    for child in tree.children():
        yield from _in_functions(child, names)


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
