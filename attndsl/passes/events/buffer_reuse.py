"""Events between the lifetimes of a buffer group (write-after-read, and write-after-write).

Each event is primed before the loop, set after the last reader, waited for before the next writer, and
drained at the end.

A group may have several lifetimes (Alloc statements) that follow each other in any order: around a loop,
or from one stage to another. So the events belong to the group. For each pipe q that some lifetime starts
on, and each other pipe p that accesses the group anywhere, there is an event p -> q "free". A lifetime that
starts on q or is accessed by p waits for it before its first access and sets it after p's last; the other
lifetimes leave it alone. So each event is set between lifetimes.

If p could run ahead and set the event before q has waited for it (p does not access this lifetime, or q
does not start it), p first waits for q by an event q -> p "taken".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from attndsl.base.errors import InternalError
from attndsl.base.facts import kept
from attndsl.passes.events.access_sets import Group
from attndsl.passes.events.event_pairs import event_of_slots, wait_for
from attndsl.passes.events.handed_slots import free_events, with_free_event
from attndsl.target import Pipe
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import Instruction
from attndsl.tile.statements import (
    Alloc,
    Handed,
    If,
    Seq,
    SetEvent,
    Statement,
    WaitEvent,
    as_seq,
    rewrite,
    seq,
)


@dataclass
class _Pipes:
    """The pipes that access a group, and those that some lifetime starts on, in program order."""

    accessing: dict[Pipe, None] = field(default_factory=dict)
    first: dict[Pipe, None] = field(default_factory=dict)


def reuse_events(tree: Seq) -> Seq:
    """The tree with the events between lifetimes; some of them may be superfluous.

    Raises:
        InternalError: a lifetime accesses its buffers nowhere.
    """
    groups: dict[Group, _Pipes] = {}
    for item in tree.walk():
        if isinstance(item, Alloc) and not isinstance(item, Handed):
            pipes = groups.setdefault(item.buffers, _Pipes())
            pipes.first |= dict.fromkeys(_first_pipes(item))
            pipes.accessing |= dict.fromkeys(_accessing(item.body, item.buffers))

    handed = free_events(tree)

    def change(statement: Statement) -> Statement:
        if isinstance(statement, Handed):
            return with_free_event(statement, handed[statement.buffers])
        return _hand_on(statement, groups[statement.buffers]) if isinstance(statement, Alloc) else statement

    return _prime_and_drain(as_seq(rewrite(tree, change) or tree))


def first_of_each(tree: Seq) -> tuple[SetEvent, ...]:
    """One raise of each event, in program order."""
    found: dict[str, SetEvent] = {}
    for item in tree.walk():
        if isinstance(item, SetEvent) and not isinstance(item, WaitEvent):
            found.setdefault(item.name, item)
    return tuple(found.values())


def _hand_on(lifetime: Alloc, pipes: _Pipes) -> Alloc:
    group, body = lifetime.buffers, list(lifetime.body.body)
    accessing = [_accessing(child, group) for child in body]
    start = next(index for index, found in enumerate(accessing) if found)
    first = _first_pipes(lifetime)
    waits: list[Statement] = []
    for target in pipes.first:
        for source in (pipe for pipe in pipes.accessing if pipe is not target):
            accessed = [index for index, found in enumerate(accessing) if source in found]
            if not accessed and target not in first:
                continue
            free, taken = (
                event_of_slots(group, "Free", source, target),
                event_of_slots(group, "Taken", target, source),
            )
            waits.append(wait_for(free))
            last = accessed[-1] if accessed else len(body) - 1
            if accessed and target in first:
                body[last] = seq(body[last], free)
            else:
                waits.append(taken)
                body[last] = seq(body[last], wait_for(taken), free)
    body[start] = seq(*waits, body[start])
    return replace(lifetime, body=seq(*body)) if waits else lifetime


def _accessing(statement: Statement, group: Group) -> dict[Pipe, None]:
    found: dict[Pipe, None] = {}
    for pipe, buffers in _accesses(statement):
        if not buffers.isdisjoint(group):
            found[pipe] = None
    return found


@kept
def _accesses(statement: Statement) -> tuple[tuple[Pipe, frozenset[Buffer]], ...]:
    """The instructions inside, as the pipe and the buffers of each."""
    if isinstance(statement, Instruction):
        return ((statement.pipe, frozenset((*statement.reads(), *statement.writes()))),)
    return tuple(each for child in statement.children() for each in _accesses(child))


def _first_pipes(lifetime: Alloc) -> tuple[Pipe, ...]:
    """The pipes that may access a new slot first: one, or one for each side of a branch."""
    found = tuple(dict.fromkeys(_first(lifetime.body, lifetime.buffers)))
    if not found:
        raise InternalError(f"the lifetime of {lifetime.buffers[0].name} accesses it nowhere")
    return found


def _first(statement: Statement, group: Group) -> Iterator[Pipe]:
    if isinstance(statement, Instruction):
        yield from _accessing(statement, group)
        return
    for child in statement.children():
        found = tuple(_first(child, group))
        yield from found
        if found and not isinstance(statement, If):
            return


def _prime_and_drain(tree: Seq) -> Seq:
    """Reuse events are set once for every slot at the start, and waited for once at the end."""
    start: list[Statement] = []
    end: list[Statement] = []
    for event in first_of_each(tree):
        for slot in range(event.ids if event.reuse else 0):
            one = replace(event, slot=slot)
            start.append(one)
            end.append(wait_for(one))
    return seq(*start, tree, *end)
