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
from typing import TypeVar

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
Touches = int  # a set of touches, one bit each, numbered by an _Index
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


class _Index:
    """Numbers the touches of a tree, so that sets of them are integers."""

    def __init__(self, tree: Statement) -> None:
        self.touches: list[Touch] = []
        self.of_pipe: dict[Pipe, Touches] = dict.fromkeys(_PIPES, 0)
        self.of_buffer: dict[Buffer, Touches] = {}
        self.writes_of: dict[Buffer, Touches] = {}
        self.of: dict[Instruction, Touches] = {}
        for item in tree.walk():
            if isinstance(item, Instruction) and item not in self.of:
                self._number(item)

    def _number(self, item: Instruction) -> None:
        self.of[item] = 0
        writes = set(item.writes())
        for buffer in dict.fromkeys((*item.reads(), *item.writes())):
            bit = 1 << len(self.touches)
            self.touches.append((item, buffer))
            self.of[item] |= bit
            self.of_pipe[item.pipe] |= bit
            self.of_buffer[buffer] = self.of_buffer.get(buffer, 0) | bit
            if buffer in writes:
                self.writes_of[buffer] = self.writes_of.get(buffer, 0) | bit

    def clashing(self, item: Instruction) -> Touches:
        """What must be complete before the instruction starts: one of the two writes."""
        found = 0
        for buffer in item.writes():
            found |= self.of_buffer[buffer]
        for buffer in item.reads():
            found |= self.writes_of.get(buffer, 0)
        return found

    def of_buffers(self, buffers: Iterable[Buffer]) -> Touches:
        """All touches of some buffers."""
        found = 0
        for buffer in buffers:
            found |= self.of_buffer.get(buffer, 0)
        return found

    def members(self, touches: Touches) -> Iterator[Touch]:
        """The touches of a set."""
        while touches:
            yield self.touches[(touches & -touches).bit_length() - 1]
            touches &= touches - 1


@dataclass
class _State:
    """``unfinished``: per pipe. ``latest``: what each event, as raised last, does not know to be complete;
    ``events``: the same over all raises a wait may meet (an event with several ids has several in
    flight). ``reuse``: per lifetime, what its reuse events leave open."""

    unfinished: dict[Pipe, Touches] = field(default_factory=lambda: dict.fromkeys(_PIPES, 0))
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


_Key = TypeVar("_Key")


def _union(a: dict[_Key, Touches], b: dict[_Key, Touches]) -> dict[_Key, Touches]:
    return {key: a.get(key, 0) | b.get(key, 0) for key in (*a, *b)}


def find_conflicts(tree: Seq) -> tuple[Conflict, ...]:
    """Every pair of instructions that nothing orders; empty for a correctly synchronised tree."""
    walker = _Walker(_Index(tree), insert=False)
    walker.walk(tree, _State())
    return tuple(walker.conflicts.values())


def insert_barriers(tree: Seq) -> Seq:
    """The tree with a barrier in front of each instruction that needs an earlier one of its own pipe."""
    done, _ = _Walker(_Index(tree), insert=True).walk(tree, _State())
    return as_seq(done)


class _Walker:
    def __init__(self, index: _Index, *, insert: bool) -> None:
        self.index = index
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
            return statement, self._raise(statement, state)
        if isinstance(statement, Barrier):
            return statement, self._complete(statement.pipe, state)
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
        clashes = state.unfinished[item.pipe] & self.index.clashing(item)
        if self.insert and clashes & self.index.of_pipe[item.pipe]:
            result = seq(Barrier(pipe=item.pipe, where=item.where), item)
            state = self._complete(item.pipe, state)
        else:
            for earlier, buffer in self.index.members(clashes):
                conflict = Conflict(earlier, item, buffer)
                self.conflicts[conflict.key] = conflict
        mine = self.index.of[item]
        after = state.copy()
        after.unfinished = {pipe: known | mine for pipe, known in state.unfinished.items()}
        after.events = {name: known | mine for name, known in state.events.items()}
        after.latest = {name: known | mine for name, known in state.latest.items()}
        return result, after

    def _raise(self, event: SetEvent, state: _State) -> _State:
        after = state.copy()
        known = state.unfinished[event.source] & ~self.index.of_pipe[event.source]
        several_in_flight = event.reuse and event.ids > 1
        earlier = state.events.get(event.name, 0) if several_in_flight else 0
        after.events[event.name] = known | earlier
        after.latest[event.name] = known
        return after

    def _complete(self, pipe: Pipe, state: _State) -> _State:
        """Behind a barrier."""
        after = state.copy()
        after.unfinished[pipe] = state.unfinished[pipe] & ~self.index.of_pipe[pipe]
        return after

    def _loop(self, loop: For, state: _State) -> tuple[Statement, _State]:
        """An innermost loop gets its barrier in front where that saves the one inside."""
        result, after = self._fixpoint(loop, state)
        if not self.insert or any(isinstance(item, For) for item in loop.body.walk()):
            return result, after
        for pipe in sorted({item.pipe for item in result.walk() if isinstance(item, Barrier)}, key=_name):
            hoisted, after_hoisted = self._fixpoint(loop, self._complete(pipe, state))
            if _barriers(hoisted) < _barriers(result):
                return seq(Barrier(pipe=pipe, where=loop.where), hoisted), after_hoisted
        return result, after

    def _fixpoint(self, loop: For, state: _State) -> tuple[Statement, _State]:
        exempt = self._exempt(loop)
        entry = state
        while True:
            probe = _Walker(self.index, insert=self.insert)
            body, after = probe.walk(loop.body, entry)
            carried = after.copy()
            carried.unfinished = {pipe: known & ~exempt for pipe, known in after.unfinished.items()}
            grown = entry.join(carried)
            if grown.same(entry):
                break
            entry = grown
        self.conflicts |= probe.conflicts
        return (loop.with_children((body,)) if body is not loop.body else loop), state.join(after)

    def _exempt(self, loop: For) -> Touches:
        """Touches that cannot clash with a later iteration: they are of other elements.

        They stay unfinished behind the loop, because every iteration makes them anew.
        """
        if not loop.disjoint:
            return 0
        inside = 0
        for item in loop.walk():
            if isinstance(item, Instruction):
                inside |= self.index.of[item]
        return inside & self.index.of_buffers(loop.disjoint)

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
        open_reuse = state.reuse.get(group, 0)
        before = ~self.index.of_buffers(group)
        state.unfinished = {pipe: known & before | open_reuse for pipe, known in state.unfinished.items()}
        body, after = self.walk(lifetime.body, state)
        after = after.copy()
        after.reuse[group] = open_reuse | self._left_open(lifetime, after)
        return (lifetime.with_children((body,)) if body is not lifetime.body else lifetime), after

    def _left_open(self, lifetime: Alloc, state: _State) -> Touches:
        """Touches of the lifetime's buffers that none of its reuse events knows to be complete."""
        group = set(lifetime.buffers)
        events = (item for item in lifetime.walk() if isinstance(item, SetEvent))
        left = 0
        for known in state.unfinished.values():
            left |= known
        left &= self.index.of_buffers(group)
        for name in {event.name for event in events if event.reuse and event.slot_of in group}:
            left &= state.latest.get(name, 0)
        return left


def _wait(event: WaitEvent, state: _State) -> _State:
    after = state.copy()
    known = state.unfinished[event.target]
    after.unfinished[event.target] = known & state.events.get(event.name, known)
    return after


def _barriers(statement: Statement) -> int:
    return sum(isinstance(item, Barrier) for item in statement.walk())


def _name(pipe: Pipe) -> str:
    return pipe.value
