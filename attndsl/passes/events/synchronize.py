"""Pass: the events of each core, derived from which pipes access which buffers.

They are balanced SetEvent/WaitEvent statements with ids; what they leave unordered, barriers order.

* Content: between two statements of one sequence that access a buffer on different pipes, one of them
  writing, an event is set after the first and awaited before the second. Both stand in the same
  sequence, so they balance whatever loops and branches the statements contain.
* Reuse (buffer_reuse.py): a lifetime of a buffer group waits until the other pipes have given the slot back.

An event that the race analysis (hazards.py) finds superfluous is dropped, and the one that stands in for it
says so (covered_buffers.py); barriers are inserted by the same analysis. Ids are dealt out per pipe pair; a
buffer with two slots has an id for each. What cross-core flags promise is checked at the end (ring_order.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from attndsl.base.errors import InternalError
from attndsl.base.facts import kept
from attndsl.expr import Symbol
from attndsl.lowering.errors import TooManyEvents
from attndsl.passes.events.access_sets import Group, is_of_handed
from attndsl.passes.events.buffer_reuse import first_of_each, reuse_events
from attndsl.passes.events.covered_buffers import covered_buffers
from attndsl.passes.events.event_pairs import wait_for
from attndsl.passes.events.hazards import Overrun, find_problems, insert_barriers, superfluous_events
from attndsl.passes.events.ring_order import find_early_flags
from attndsl.passes.events.trip_counts import surely_run, surely_run_too
from attndsl.target import Core, Pipe
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import Instruction
from attndsl.tile.program import Program
from attndsl.tile.statements import (
    Alloc,
    Earlier,
    For,
    If,
    Seq,
    SetCrossFlag,
    SetEvent,
    Stage,
    Statement,
    as_seq,
    rewrite,
    seq,
)

_Use = tuple[Pipe, bool]  # a pipe, and whether it writes


def synchronize(program: Program) -> Program:
    """The program with the events and barriers of every core.

    Raises:
        TooManyEvents: a pipe pair needs more ids than there are.
        InternalError: something stays unordered, which would be a defect of this pass.
    """
    ids = program.device.architecture.event_ids
    cores = {core: _synchronize_core(tree, core, ids) for core, tree in program.cores.items()}
    return program.with_(cores=cores)


def _synchronize_core(bare: Seq, core: Core, ids: int, apart: frozenset[str] = frozenset()) -> Seq:
    """The tree of a core with its events and barriers.

    The buffers of one lifetime have their events under one name. Where that would be raised twice before it
    is awaited, as by loads of two buffers of which each is looked at at once, the buffers have events of
    their own: ``apart``, the names that are split so.
    """
    lifetimes = [item.buffers for item in bare.walk() if isinstance(item, Alloc)]
    groups = {buffer: group for group in lifetimes for buffer in group}
    tree = reuse_events(as_seq(rewrite(bare, lambda s: _content_events(s, groups, apart)) or bare))
    facts = _Loops(tree)
    tree = _drop_superfluous(tree, facts.sure)
    tree = _order_flags(tree, facts.of(tree))
    tree = _number_events(tree, ids)
    tree = insert_barriers(tree, facts.of(tree))
    sure = facts.of(tree)
    left = (*find_problems(tree, sure), *find_early_flags(tree, sure))
    twice = {problem.event.name for problem in left if isinstance(problem, Overrun)}
    if twice - apart:
        return _synchronize_core(bare, core, ids, apart | twice)
    if left:
        raise InternalError(f"{core.value}: {len(left)} problems of order; the first: {left[0]}")
    return tree


class _Loops:
    """Which loops surely run: found for one tree, known for those that come of it."""

    def __init__(self, tree: Seq) -> None:
        self._tree, self.sure = tree, surely_run(tree)

    def of(self, tree: Seq) -> frozenset[For]:
        """The loops of a tree that differs in its events and barriers alone."""
        return surely_run_too(tree, self._tree, self.sure)


# ------------------------------------------------------------------------------------------------
# Content


@dataclass(frozen=True, slots=True)
class _Edge:
    """An order between children ``first`` and ``second`` of a sequence, on account of ``buffers``.

    ``written``: the source pipe writes one of them, rather than having read them all.
    """

    source: Pipe
    target: Pipe
    first: int
    second: int
    buffers: tuple[Buffer, ...]
    written: bool

    def with_(self, other: _Edge) -> _Edge | None:
        """One edge that implies both: the later raise, the earlier wait; None where they do not overlap."""
        first, second = max(self.first, other.first), min(self.second, other.second)
        if (self.source, self.target) != (other.source, other.target) or first >= second:
            return None
        buffers = tuple(dict.fromkeys((*self.buffers, *other.buffers)))
        return _Edge(self.source, self.target, first, second, buffers, self.written or other.written)


def _content_events(
    statement: Statement, groups: dict[Buffer, Group], apart: frozenset[str] = frozenset()
) -> Statement:
    """A sequence with an event behind each child that accesses a buffer; any other statement as it is.

    The event is awaited in front of the next child that accesses it on another pipe, if one of both writes.
    """
    if not isinstance(statement, Seq):
        return statement
    uses = [_uses(child) for child in statement.body]
    order = {buffer: i for i, buffer in enumerate(dict.fromkeys(b for use in uses for b in use))}
    edges: list[_Edge] = []
    users: dict[Buffer, dict[Pipe, list[int]]] = {}
    for second, use in enumerate(uses):
        for first in _users_on_other_pipes(use, users):
            edges += (
                edge
                for edge in _edges_between(uses[first], use, first, second)
                if not _waits_inside(statement.body[first], edge)
            )
        for buffer, accesses in use.items():
            on_pipes = users.setdefault(buffer, {})
            for pipe in {pipe for pipe, _ in accesses}:
                on_pipes.setdefault(pipe, []).append(second)
    kept = _merge(edges)
    if not kept:
        return statement
    before: dict[int, list[Statement]] = {}
    after: dict[int, list[Statement]] = {}
    for edge in kept:
        event = _content_event(edge, sorted(edge.buffers, key=order.__getitem__), groups, apart)
        after.setdefault(edge.first, []).append(event)
        before.setdefault(edge.second, []).append(wait_for(event))
    body: list[Statement] = []
    for index, child in enumerate(statement.body):
        body += [*before.get(index, []), child, *after.get(index, [])]
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


@kept
def _uses(statement: Statement) -> Mapping[Buffer, frozenset[_Use]]:
    """Who accesses which buffer inside, lifetimes that begin and end inside aside."""
    found: dict[Buffer, frozenset[_Use]] = {}
    if isinstance(statement, Instruction):
        for buffers, writes in ((statement.reads(), False), (statement.writes(), True)):
            for buffer in buffers:
                found[buffer] = found.get(buffer, frozenset()) | {(statement.pipe, writes)}
    ended = statement.buffers if isinstance(statement, Alloc) else ()
    for child in statement.children():
        for buffer, uses in _uses(child).items():
            if buffer not in ended:
                found[buffer] = found.get(buffer, frozenset()) | uses
    return found


def _users_on_other_pipes(
    use: Mapping[Buffer, frozenset[_Use]], users: Mapping[Buffer, Mapping[Pipe, list[int]]]
) -> list[int]:
    """The children that access a buffer of ``use`` on another pipe than one that it is accessed on here; a
    long run of instructions of one pipe has none."""
    found = set[int]()
    for buffer, accesses in use.items():
        for pipe, places in users.get(buffer, {}).items():
            if any(pipe is not target for target, _ in accesses):
                found.update(places)
    return sorted(found)


def _edges_between(
    a: Mapping[Buffer, frozenset[_Use]], b: Mapping[Buffer, frozenset[_Use]], first: int, second: int
) -> Iterable[_Edge]:
    for buffer in a:
        for source, writes in sorted(a[buffer], key=_use_order):
            for target, writes_later in sorted(b.get(buffer, ()), key=_use_order):
                if source is not target and (writes or writes_later):
                    yield _Edge(source, target, first, second, (buffer,), writes)


def _waits_inside(earlier: Statement, edge: _Edge) -> bool:
    """Whether the target pipe waits in the function ``earlier`` for all that the source pipe writes there:
    it reads or writes the buffer after that."""
    if not isinstance(earlier, Stage):
        return False
    (buffer,), body = edge.buffers, earlier.body.body
    done = [_uses(child).get(buffer, frozenset()) for child in body]
    last = max(number for number, uses in enumerate(done) if any(pipe is edge.source for pipe, _ in uses))
    behind = (pipe for uses in done[last + 1 :] for pipe, _ in uses)
    return (edge.source, True) in done[last] and edge.target in behind


def _use_order(use: _Use) -> tuple[str, bool]:
    return (use[0].value, use[1])


def _content_event(
    edge: _Edge, buffers: list[Buffer], groups: dict[Buffer, Group], apart: frozenset[str]
) -> SetEvent:
    """Named after its first buffer with slots, else its first; of a lifetime's buffers the first stands
    for all, unless that name is one of ``apart``. With slots it has an id for each.

    What was read alone is free again; a lifetime has other events that say so.
    """
    slotted = next((buffer for buffer in buffers if buffer in groups and buffer.slots > 1), None)
    lead = slotted or buffers[0]
    head = groups[lead][0] if lead in groups else lead
    says = "Ready" if edge.written or lead in groups else "Free"
    suffix = f"{says}{edge.source.value}{edge.target.value}"
    named = lead if head.name + suffix in apart else head
    return SetEvent(
        name=named.name + suffix,
        source=edge.source,
        target=edge.target,
        ids=head.slots if slotted else 1,
        slot_of=head if slotted else None,
        buffers=tuple(buffers),
        where=head.where,
    )


# ------------------------------------------------------------------------------------------------
# Pruning and ids


def _drop_superfluous(tree: Seq, sure: frozenset[For]) -> Seq:
    """Without events that others already imply."""
    may_go = (event.name for event in first_of_each(tree) if not is_of_handed(event))
    gone = superfluous_events(tree, tuple(may_go), sure)
    if not gone:
        return tree

    covered = covered_buffers(tree, gone)

    def change(statement: Statement) -> Statement | None:
        if not isinstance(statement, SetEvent):
            return statement
        if statement.name in gone:
            return None
        return replace(statement, also=covered[statement.name]) if statement.name in covered else statement

    return as_seq(rewrite(tree, change) or Seq(body=()))


def _order_flags(tree: Seq, sure: frozenset[For]) -> Seq:
    """Flags wait for the pipes that their own does not know to be done with the rings (ring_order.py).

    The pipe that is waited for goes on only when the wait is over, so that the event is not raised twice. A
    flag that is early only where loops do not run, whose events order it else, waits only then.

    An exchange is over before the next begins: all of a pair of pipes take the events of the first.
    """
    late: dict[SetCrossFlag, dict[Pipe, frozenset[str]]] = {}
    for found in find_early_flags(tree, sure):
        pipes, pipe = late.setdefault(found.flag, {}), found.earlier.pipe
        pipes[pipe] = found.idle & pipes.get(pipe, found.idle)
    if not late:
        return tree
    names: dict[tuple[Pipe, Pipe], str] = {}
    recalled = {inner for item in tree.walk() if isinstance(item, Earlier) for inner in item.walk()}

    def change(statement: Statement) -> Statement:
        if not isinstance(statement, SetCrossFlag) or statement not in late:
            return statement
        after: list[Statement] = []
        for pipe, idle in late[statement].items():
            own = statement.pipe
            name = names.setdefault((pipe, own), f"{statement.name}{pipe.value}")
            done = SetEvent(name=f"{name}Done", source=pipe, target=own)
            taken = SetEvent(name=f"{name}Taken", source=own, target=pipe)
            handshake = seq(done, wait_for(done), taken, wait_for(taken))
            if idle and statement not in recalled:
                after.append(If(condition=Symbol(min(idle)) <= 0, then=handshake))
            else:
                after.append(handshake)
        return seq(*after, statement)

    return as_seq(rewrite(tree, change) or tree)


def _number_events(tree: Seq, most: int) -> Seq:
    """Consecutive ids per pipe pair, in the order of first use; ``most``: those that a pair has."""
    first_ids: dict[str, int] = {}
    used: dict[tuple[Pipe, Pipe], int] = {}
    for event in first_of_each(tree):
        pair = (event.source, event.target)
        first_ids[event.name] = used.get(pair, 0)
        used[pair] = first_ids[event.name] + event.ids
    for pair, needed in used.items():
        if needed > most:
            raise TooManyEvents(f"{pair[0].value}_{pair[1].value}", needed, most)

    def change(statement: Statement) -> Statement:
        if isinstance(statement, SetEvent):
            return replace(statement, first_id=first_ids[statement.name])
        return statement

    return as_seq(rewrite(tree, change) or tree)
