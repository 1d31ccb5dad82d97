"""Pass: the events of each core, derived from which pipes touch which buffers.

Needs: ``program.cores``. Gives: balanced SetEvent/WaitEvent statements with ids, and barriers.

* Content: between two statements of one sequence that touch a buffer on different pipes, one of them
  writing, an event is raised behind the first and awaited before the second. Both stand in the same
  sequence, so they balance whatever loops and branches the statements contain.
* Reuse: each lifetime (Alloc) awaits, before its first touch, that every other pipe has finished with
  the slot, and raises that behind their last touch. The events start raised and are collected at the end.

An event that the race analysis (hazards.py) finds superfluous is dropped; barriers are inserted by the
same analysis. Ids are dealt out per pipe pair; a buffer with two slots has an id for each.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from attndsl.errors import InternalError
from attndsl.hardware import ATLAS_A2, Core, Pipe
from attndsl.schedule.errors import TooManyEvents
from attndsl.schedule.hazards import find_conflicts, insert_barriers
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import Instruction
from attndsl.tile.program import Program
from attndsl.tile.statements import Alloc, Seq, SetEvent, Statement, WaitEvent, as_seq, rewrite, seq

_Use = tuple[Pipe, bool]  # a pipe, and whether it writes


def synchronise(program: Program) -> Program:
    """The program with the events and barriers of every core.

    Raises:
        TooManyEvents: a pipe pair needs more ids than there are.
        InternalError: something stays unordered, which would be a defect of this pass.
    """
    cores = {core: _synchronise_core(tree, core) for core, tree in program.cores.items()}
    return program.with_(cores=cores)


def _synchronise_core(tree: Seq, core: Core) -> Seq:
    lifetimes = [item.buffers for item in tree.walk() if isinstance(item, Alloc)]
    groups = {buffer: group for group in lifetimes for buffer in group}
    tree = as_seq(rewrite(tree, lambda s: _content_events(s, groups)) or tree)
    tree = as_seq(rewrite(tree, _reuse_events) or tree)
    tree = _drop_superfluous(_prime_and_collect(tree))
    tree = insert_barriers(_number_events(tree))
    left = find_conflicts(tree)
    if left:
        raise InternalError(f"{core.value}: {len(left)} unordered pairs; the first: {left[0]}")
    return tree


# ------------------------------------------------------------------------------------------------
# Content


@dataclass(frozen=True, slots=True)
class _Edge:
    """An order between children ``first`` and ``second`` of a sequence, on account of ``buffer``."""

    source: Pipe
    target: Pipe
    first: int
    second: int
    buffer: Buffer

    def with_(self, other: _Edge) -> _Edge | None:
        """One edge that implies both: the later raise, the earlier wait; None where they do not overlap."""
        first, second = max(self.first, other.first), min(self.second, other.second)
        if (self.source, self.target) != (other.source, other.target) or first >= second:
            return None
        buffer = self.buffer if self.first >= other.first else other.buffer
        return _Edge(self.source, self.target, first, second, buffer)


def _content_events(statement: Statement, groups: dict[Buffer, tuple[Buffer, ...]]) -> Statement:
    if not isinstance(statement, Seq):
        return statement
    uses = [_uses(child) for child in statement.body]
    edges: list[_Edge] = []
    for second in range(len(uses)):
        for first in range(second):
            edges += _edges_between(uses[first], uses[second], first, second)
    kept = _merge(edges)
    if not kept:
        return statement
    before: dict[int, list[Statement]] = {}
    behind: dict[int, list[Statement]] = {}
    for edge in kept:
        event = _content_event(edge, groups)
        behind.setdefault(edge.first, []).append(event)
        before.setdefault(edge.second, []).append(_wait_for(event))
    body: list[Statement] = []
    for index, child in enumerate(statement.body):
        body += [*before.get(index, []), child, *behind.get(index, [])]
    return seq(*body)


def _merge(edges: list[_Edge]) -> list[_Edge]:
    """As few edges as imply all: several loads in front of their first use need one event."""
    kept: list[_Edge] = []
    for edge in edges:
        for index, other in enumerate(kept):
            both = edge.with_(other)
            if both is not None:
                kept[index] = both
                break
        else:
            kept.append(edge)
    return kept if len(kept) == len(edges) else _merge(kept)


def _uses(statement: Statement) -> dict[Buffer, set[_Use]]:
    """Who touches which buffer inside, lifetimes that begin and end inside aside."""
    found: dict[Buffer, set[_Use]] = {}
    _collect_uses(statement, frozenset(), found)
    return found


def _collect_uses(statement: Statement, ended: frozenset[Buffer], found: dict[Buffer, set[_Use]]) -> None:
    if isinstance(statement, Instruction):
        for buffers, writes in ((statement.reads(), False), (statement.writes(), True)):
            for buffer in buffers:
                if buffer not in ended:
                    found.setdefault(buffer, set()).add((statement.pipe, writes))
    if isinstance(statement, Alloc):
        ended = ended | frozenset(statement.buffers)
    for child in statement.children():
        _collect_uses(child, ended, found)


def _edges_between(
    a: dict[Buffer, set[_Use]], b: dict[Buffer, set[_Use]], first: int, second: int
) -> Iterable[_Edge]:
    for buffer in a:
        for source, writes in sorted(a[buffer], key=_use_order):
            for target, writes_later in sorted(b.get(buffer, ()), key=_use_order):
                if source is not target and (writes or writes_later):
                    yield _Edge(source, target, first, second, buffer)


def _use_order(use: _Use) -> tuple[str, bool]:
    return (use[0].value, use[1])


def _content_event(edge: _Edge, groups: dict[Buffer, tuple[Buffer, ...]]) -> SetEvent:
    slotted = edge.buffer in groups and edge.buffer.slots > 1
    return SetEvent(
        name=f"{edge.buffer.name}Ready{edge.source.value}{edge.target.value}",
        source=edge.source,
        target=edge.target,
        ids=edge.buffer.slots if slotted else 1,
        slot_of=edge.buffer if slotted else None,
        where=edge.buffer.where,
    )


def _wait_for(event: SetEvent) -> WaitEvent:
    return WaitEvent(
        name=event.name,
        source=event.source,
        target=event.target,
        ids=event.ids,
        slot_of=event.slot_of,
        slot=event.slot,
        reuse=event.reuse,
        where=event.where,
    )


# ------------------------------------------------------------------------------------------------
# Reuse


def _reuse_events(statement: Statement) -> Statement:
    if not isinstance(statement, Alloc):
        return statement
    body, group = list(statement.body.body), statement.buffers
    touched = [
        {pipe for buffer in group for pipe, _ in uses.get(buffer, ())}
        for uses in (_uses(child) for child in body)
    ]
    first_pipe = _first_pipe(statement)
    others = sorted({pipe for pipes in touched for pipe in pipes} - {first_pipe}, key=lambda p: p.value)
    start = next(index for index, pipes in enumerate(touched) if pipes)
    for pipe in others:
        event = SetEvent(
            name=f"{group[0].name}Free{pipe.value}{first_pipe.value}",
            source=pipe,
            target=first_pipe,
            ids=group[0].slots,
            slot_of=group[0],
            reuse=True,
            where=group[0].where,
        )
        last = max(index for index, pipes in enumerate(touched) if pipe in pipes)
        body[last] = seq(body[last], event)
        body[start] = seq(_wait_for(event), body[start])
    return statement.with_children((seq(*body),)) if others else statement


def _first_pipe(lifetime: Alloc) -> Pipe:
    """The pipe that touches a new slot first."""
    group = set(lifetime.buffers)
    for item in lifetime.walk():
        if isinstance(item, Instruction) and group & {*item.reads(), *item.writes()}:
            return item.pipe
    raise InternalError(f"the lifetime of {lifetime.buffers[0].name} touches it nowhere")


def _prime_and_collect(tree: Seq) -> Seq:
    """Reuse events are raised once for every slot at the start, and awaited once at the end."""
    events = _first_of_each(item for item in tree.walk() if _is_set(item) and item.reuse)  # type: ignore[attr-defined]
    start: list[Statement] = []
    end: list[Statement] = []
    for event in events:
        for slot in range(event.ids):
            one = replace(event, slot=slot)
            start.append(one)
            end.append(_wait_for(one))
    return seq(*start, tree, *end)


def _is_set(item: Statement) -> bool:
    return isinstance(item, SetEvent) and not isinstance(item, WaitEvent)


def _first_of_each(items: Iterable[Statement]) -> list[SetEvent]:
    found: dict[str, SetEvent] = {}
    for item in items:
        assert isinstance(item, SetEvent)
        found.setdefault(item.name, item)
    return list(found.values())


# ------------------------------------------------------------------------------------------------
# Pruning and ids


def _drop_superfluous(tree: Seq) -> Seq:
    """Without events that others already imply: dropping them leaves nothing more unordered."""
    unordered = {conflict.key for conflict in find_conflicts(tree)}
    for event in _first_of_each(item for item in tree.walk() if _is_set(item)):
        smaller = _without_event(tree, event.name)
        if unordered.issuperset(conflict.key for conflict in find_conflicts(smaller)):
            tree = smaller
    return tree


def _without_event(tree: Seq, name: str) -> Seq:
    def change(statement: Statement) -> Statement | None:
        return None if isinstance(statement, SetEvent) and statement.name == name else statement

    return as_seq(rewrite(tree, change) or Seq(body=()))


def _number_events(tree: Seq) -> Seq:
    """Consecutive ids per pipe pair, in the order of first use."""
    first_ids: dict[str, int] = {}
    used: dict[tuple[Pipe, Pipe], int] = {}
    for event in _first_of_each(item for item in tree.walk() if _is_set(item)):
        pair = (event.source, event.target)
        first_ids[event.name] = used.get(pair, 0)
        used[pair] = first_ids[event.name] + event.ids
    for pair, needed in used.items():
        if needed > ATLAS_A2.event_ids:
            raise TooManyEvents(f"{pair[0].value}_{pair[1].value}", needed, ATLAS_A2.event_ids)

    def change(statement: Statement) -> Statement:
        if isinstance(statement, SetEvent):
            return replace(statement, first_id=first_ids[statement.name])
        return statement

    return as_seq(rewrite(tree, change) or tree)
