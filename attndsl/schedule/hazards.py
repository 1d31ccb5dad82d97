"""Static race analysis of one core's tree: what may still be running when an instruction starts.

The analysis walks the tree in program order and keeps, for each pipe, the touches (instruction, buffer)
that are not known to be complete when the pipe starts its next instruction:

    instruction on p     its touches become unfinished for every pipe, p included: order within a pipe is
                         the order of starting
    SetEvent p -> q      the event knows what p knows, and that everything issued on p before is complete
    WaitEvent p -> q     q learns what the event knows
    Barrier p            everything issued on p before is complete for p

Branches join by union, loops run to a fixpoint, so every path is covered. A lifetime (Alloc) starts with
fresh slots: touches of its previous use count only where its reuse events do not cover them.

The analysis either reports what is unordered, or inserts the barriers that same-pipe conflicts need.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from attndsl.hardware import Pipe
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import Instruction
from attndsl.tile.statements import (
    Alloc,
    Barrier,
    For,
    If,
    Seq,
    SetEvent,
    Stage,
    Statement,
    WaitEvent,
    as_seq,
    seq,
)

Touch = tuple[Instruction, Buffer]
Touches = frozenset[Touch]
_PIPES = tuple(Pipe)


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two instructions that touch a buffer, one of them writing, without an order between them."""

    earlier: Instruction
    later: Instruction
    buffer: Buffer

    @property
    def key(self) -> tuple[Instruction, Instruction, Buffer]:
        """What makes two findings the same."""
        return (self.earlier, self.later, self.buffer)

    def __str__(self) -> str:
        pair = f"{self.earlier.pipe.value} -> {self.later.pipe.value}"
        return f"{pair} on {self.buffer.name}: '{self.earlier.describe()}' then '{self.later.describe()}'"


@dataclass
class _State:
    """``unfinished``: per pipe. ``latest``: what each event, as raised last, does not know to be complete;
    ``events``: the same over all raises a wait may meet (an event with several ids has several in
    flight). ``reuse``: per lifetime, what its reuse events leave open."""

    unfinished: dict[Pipe, Touches] = field(default_factory=lambda: dict.fromkeys(_PIPES, frozenset()))
    events: dict[str, Touches] = field(default_factory=dict)
    latest: dict[str, Touches] = field(default_factory=dict)
    reuse: dict[tuple[Buffer, ...], Touches] = field(default_factory=dict)

    def copy(self) -> _State:
        return _State(dict(self.unfinished), dict(self.events), dict(self.latest), dict(self.reuse))

    def join(self, other: _State) -> _State:
        return _State(
            {pipe: self.unfinished[pipe] | other.unfinished[pipe] for pipe in _PIPES},
            _union(self.events, other.events),
            _union(self.latest, other.latest),
            _union(self.reuse, other.reuse),
        )

    def same(self, other: _State) -> bool:
        mine = (self.unfinished, self.events, self.latest, self.reuse)
        return mine == (other.unfinished, other.events, other.latest, other.reuse)


def _union(a: dict, b: dict) -> dict:  # type: ignore[type-arg]
    return {key: a.get(key, frozenset()) | b.get(key, frozenset()) for key in (*a, *b)}


def find_conflicts(tree: Seq) -> tuple[Conflict, ...]:
    """Every pair of instructions that nothing orders; empty for a correctly synchronised tree."""
    walker = _Walker(insert=False)
    walker.walk(tree, _State())
    return tuple(walker.conflicts.values())


def insert_barriers(tree: Seq) -> Seq:
    """The tree with a barrier in front of each instruction that needs an earlier one of its own pipe."""
    done, _ = _Walker(insert=True).walk(tree, _State())
    return as_seq(done)


class _Walker:
    def __init__(self, *, insert: bool) -> None:
        self.insert = insert
        self.conflicts: dict[tuple[Instruction, Instruction, Buffer], Conflict] = {}

    def walk(self, statement: Statement, state: _State) -> tuple[Statement, _State]:
        """The statement, with barriers if they are inserted, and the state behind it."""
        if isinstance(statement, Seq):
            return self._sequence(statement, state)
        if isinstance(statement, Instruction):
            return self._instruction(statement, state)
        if isinstance(statement, WaitEvent):
            return statement, _wait(statement, state)
        if isinstance(statement, SetEvent):
            return statement, _set(statement, state)
        if isinstance(statement, Barrier):
            return statement, _barrier(statement.pipe, state)
        if isinstance(statement, For):
            return self._loop(statement, state)
        if isinstance(statement, If):
            return self._branch(statement, state)
        if isinstance(statement, Alloc):
            return self._lifetime(statement, state)
        if isinstance(statement, Stage):
            body, after = self.walk(statement.body, state)
            return (statement.with_children((body,)) if body is not statement.body else statement), after
        return statement, state

    def _sequence(self, statement: Seq, state: _State) -> tuple[Statement, _State]:
        body = []
        for child in statement.body:
            new, state = self.walk(child, state)
            body.append(new)
        changed = any(a is not b for a, b in zip(statement.body, body, strict=True))
        return (seq(*body) if changed else statement), state

    def _instruction(self, item: Instruction, state: _State) -> tuple[Statement, _State]:
        result: Statement = item
        clashes = list(_clashes(item, state.unfinished[item.pipe]))
        if self.insert and any(earlier.pipe is item.pipe for earlier, _ in clashes):
            result = seq(Barrier(pipe=item.pipe, where=item.where), item)
            state = _barrier(item.pipe, state)
        else:
            for earlier, buffer in clashes:
                conflict = Conflict(earlier, item, buffer)
                self.conflicts[conflict.key] = conflict
        mine = frozenset((item, buffer) for buffer in (*item.reads(), *item.writes()))
        after = state.copy()
        after.unfinished = {pipe: known | mine for pipe, known in state.unfinished.items()}
        after.events = {name: known | mine for name, known in state.events.items()}
        after.latest = {name: known | mine for name, known in state.latest.items()}
        return result, after

    def _loop(self, loop: For, state: _State) -> tuple[Statement, _State]:
        """An innermost loop gets its barrier in front where that saves the one inside."""
        result, after = self._fixpoint(loop, state)
        if not self.insert or any(isinstance(item, For) for item in loop.body.walk()):
            return result, after
        for pipe in sorted({item.pipe for item in result.walk() if isinstance(item, Barrier)}, key=_name):
            hoisted, after_hoisted = self._fixpoint(loop, _barrier(pipe, state))
            if _barriers(hoisted) < _barriers(result):
                return seq(Barrier(pipe=pipe, where=loop.where), hoisted), after_hoisted
        return result, after

    def _fixpoint(self, loop: For, state: _State) -> tuple[Statement, _State]:
        inside = {item for item in loop.walk() if isinstance(item, Instruction)}
        entry = state
        while True:
            probe = _Walker(insert=self.insert)
            body, after = probe.walk(loop.body, entry)
            carried, hidden = _hide_disjoint(after, loop, inside)
            grown = entry.join(carried)
            if grown.same(entry):
                break
            entry = grown
        self.conflicts |= probe.conflicts
        leave = state.join(after)
        for pipe in _PIPES:
            leave.unfinished[pipe] |= hidden
        return (loop.with_children((body,)) if body is not loop.body else loop), leave

    def _branch(self, branch: If, state: _State) -> tuple[Statement, _State]:
        then, after = self.walk(branch.then, state.copy())
        children: tuple[Statement, ...] = (then,)
        other = state
        if branch.otherwise is not None:
            otherwise, other = self.walk(branch.otherwise, state.copy())
            children = (then, otherwise)
        same = all(a is b for a, b in zip(children, branch.children(), strict=True))
        return (branch if same else branch.with_children(children)), after.join(other)

    def _lifetime(self, lifetime: Alloc, state: _State) -> tuple[Statement, _State]:
        group = lifetime.buffers
        state = state.copy()
        open_reuse = state.reuse.get(group, frozenset())
        state.unfinished = {
            pipe: _without(known, group) | open_reuse for pipe, known in state.unfinished.items()
        }
        body, after = self.walk(lifetime.body, state)
        after = after.copy()
        after.reuse[group] = open_reuse | _left_open(lifetime, after)
        return (lifetime.with_children((body,)) if body is not lifetime.body else lifetime), after


def _barriers(statement: Statement) -> int:
    return sum(isinstance(item, Barrier) for item in statement.walk())


def _name(pipe: Pipe) -> str:
    return pipe.value


def _clashes(item: Instruction, unfinished: Touches) -> Iterator[Touch]:
    reads, writes = set(item.reads()), set(item.writes())
    for earlier, buffer in unfinished:
        if buffer in writes or (buffer in reads and buffer in earlier.writes()):
            yield earlier, buffer


def _set(event: SetEvent, state: _State) -> _State:
    after = state.copy()
    known = frozenset(t for t in state.unfinished[event.source] if t[0].pipe is not event.source)
    several_in_flight = event.reuse and event.ids > 1
    earlier = state.events.get(event.name, frozenset()) if several_in_flight else frozenset()
    after.events[event.name] = known | earlier
    after.latest[event.name] = known
    return after


def _wait(event: WaitEvent, state: _State) -> _State:
    after = state.copy()
    after.unfinished[event.target] = state.unfinished[event.target] & state.events.get(
        event.name, state.unfinished[event.target]
    )
    return after


def _barrier(pipe: Pipe, state: _State) -> _State:
    after = state.copy()
    after.unfinished[pipe] = frozenset(t for t in state.unfinished[pipe] if t[0].pipe is not pipe)
    return after


def _hide_disjoint(state: _State, loop: For, inside: set[Instruction]) -> tuple[_State, Touches]:
    """What the next iteration sees: touches of other elements of a buffer cannot clash with its own."""
    if not loop.disjoint:
        return state, frozenset()
    own = {
        t for known in state.unfinished.values() for t in known if t[0] in inside and t[1] in loop.disjoint
    }
    hidden = frozenset(own)
    carried = state.copy()
    carried.unfinished = {pipe: known - hidden for pipe, known in state.unfinished.items()}
    return carried, hidden


def _without(touches: Touches, buffers: Iterable[Buffer]) -> Touches:
    gone = set(buffers)
    return frozenset(t for t in touches if t[1] not in gone)


def _left_open(lifetime: Alloc, state: _State) -> Touches:
    """Touches of the lifetime's buffers that none of its reuse events knows to be complete."""
    group = set(lifetime.buffers)
    names = {e.name for e in lifetime.walk() if isinstance(e, SetEvent) and e.reuse and e.slot_of in group}
    everything = {t for known in state.unfinished.values() for t in known if t[1] in group}
    for name in names:
        everything &= state.latest.get(name, frozenset())
    return frozenset(everything)
