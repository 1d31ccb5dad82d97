"""Which buffers an event orders besides its own, because a pipe completes its instructions in order.

An event says that all earlier instructions of its source pipe are complete. So the buffers that the pipe
wrote before need no event, if the same wait stands before they are used. Readers of a kernel must be told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from attndsl.target import Pipe
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import Instruction
from attndsl.tile.statements import Seq, SetEvent, Statement, WaitEvent


def covered_buffers(tree: Seq, gone: frozenset[str]) -> Mapping[str, tuple[Buffer, ...]]:
    """By event that stays, the buffers of those in ``gone`` that it stands in for, in program order."""
    items = list(tree.walk())
    found: dict[str, dict[Buffer, None]] = {}
    for place, item in enumerate(items):
        if isinstance(item, SetEvent) and not isinstance(item, WaitEvent) and item.name in gone:
            for buffer in item.buffers:
                if not item.reuse and _is_written(items[:place], buffer, item.source):
                    event = _stand_in(items[place:], item, buffer, gone)
                    if event is not None and buffer not in event.buffers:
                        found.setdefault(event.name, {})[buffer] = None
    return {name: tuple(buffers) for name, buffers in found.items()}


def _is_written(before: Sequence[Statement], buffer: Buffer, pipe: Pipe) -> bool:
    """Whether the pipe wrote the buffer when it last accessed it."""
    last = next((each for each in _accesses(reversed(before), buffer, pipe)), None)
    return last is not None and buffer in last.writes()


def _stand_in(
    after: Sequence[Statement], dropped: SetEvent, buffer: Buffer, gone: frozenset[str]
) -> SetEvent | None:
    """The first event of the same pipes that is set and awaited before the buffer is used."""
    user = next(_accesses(iter(after), buffer, dropped.target), None)
    raised: dict[str, SetEvent] = {}
    for item in after:
        if item is user or user is None:
            return None
        if not isinstance(item, SetEvent) or item.name in gone:
            continue
        if isinstance(item, WaitEvent) and item.name in raised:
            return raised[item.name]
        if not isinstance(item, WaitEvent) and (item.source, item.target) == (dropped.source, dropped.target):
            raised[item.name] = item
    return None


def _accesses(items: Iterator[Statement], buffer: Buffer, pipe: Pipe) -> Iterator[Instruction]:
    """The instructions of a pipe that access a buffer."""
    for item in items:
        if isinstance(item, Instruction) and item.pipe is pipe and buffer in (*item.reads(), *item.writes()):
            yield item
