"""Static race analysis of one core's tree: what may still be running when an instruction starts.

The analysis walks the tree in program order and keeps, for each pipe, the touches (instruction, buffer)
that are not known to be complete when the pipe starts its next instruction:

    instruction on p     its touches become unfinished for every pipe, p included: order within a pipe is
                         the order of starting
    SetEvent p -> q      the event knows what p knows, and that everything issued on p before is complete
    WaitEvent p -> q     q learns what the event knows
    Barrier p            everything issued on p before is complete for p; with a condition, what was done
                         to its buffer, whether by the barrier or by the core itself

Branches join by union, loops run to a fixpoint, so every path is covered; a loop may run no time at all
unless it surely runs (trip_counts.py).

A buffer with n slots is n memories that take turns: a touch has an *age*, the number of lifetimes (Alloc)
of its group that have ended since, modulo n. Only touches of age 0 are of the slot in use. Events with an
id for each slot age in the same way. Nothing else is assumed about lifetimes: what orders two of them is
what the second really waits for.

An event that may be raised again before it was awaited is found as well, because flags are binary.
The analysis either reports problems, or inserts the barriers that same-pipe conflicts need.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import TypeVar

from attndsl.passes.events.access_sets import Touches, TouchIndex
from attndsl.passes.events.trip_counts import surely_run
from attndsl.target import Pipe
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import Instruction
from attndsl.tile.instructions.base import OwnOrder
from attndsl.tile.statements import (
    Alloc,
    Barrier,
    For,
    If,
    Note,
    Seq,
    SetEvent,
    Stage,
    Statement,
    WaitEvent,
    as_seq,
    seq,
)

_EventKey = tuple[str, int]  # an event and the age of its id
ProblemKey = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two instructions that touch a buffer, one of them writing, without an order between them."""

    earlier: Instruction
    later: Instruction
    buffer: Buffer

    @property
    def key(self) -> ProblemKey:
        """What makes two findings the same."""
        return (self.earlier, self.later, self.buffer)

    def __str__(self) -> str:
        pair = f"{self.earlier.pipe.value} -> {self.later.pipe.value}"
        return f"{pair} on {self.buffer.name}: '{self.earlier.describe()}' then '{self.later.describe()}'"


@dataclass(frozen=True, slots=True)
class Overrun:
    """An event that may be raised a second time before the first was awaited."""

    event: SetEvent

    @property
    def key(self) -> ProblemKey:
        """What makes two findings the same."""
        return (self.event.name,)

    def __str__(self) -> str:
        return f"event {self.event.name} may be raised again before it was awaited"


Problem = Conflict | Overrun


@dataclass
class State:
    """``unfinished``: per pipe. ``events``: what each event, as raised last, does not know to be complete.
    ``raised``: the events that may be up, as bits of their waits."""

    unfinished: dict[Pipe, Touches]
    events: dict[_EventKey, Touches] = field(default_factory=dict)
    raised: Touches = 0

    def join(self, other: State) -> State:
        """Either of two paths."""
        return State(
            _union(self.unfinished, other.unfinished),
            _union(self.events, other.events),
            self.raised | other.raised,
        )

    def issue(self, touches: Touches) -> State:
        """Behind the start of an instruction."""
        return State(
            {pipe: known | touches for pipe, known in self.unfinished.items()},
            {key: known | touches for key, known in self.events.items()},
            self.raised,
        )

    def mapped(self, change: Callable[[Touches], Touches]) -> State:
        """All sets of touches changed alike; what is up stays up."""
        return State(
            {pipe: change(known) for pipe, known in self.unfinished.items()},
            {key: change(known) for key, known in self.events.items()},
            self.raised,
        )

    def knowing(self, pipe: Pipe, unfinished: Touches) -> State:
        """With other knowledge of one pipe."""
        return State({**self.unfinished, pipe: unfinished}, self.events, self.raised)


_Key = TypeVar("_Key")


def _union(a: dict[_Key, Touches], b: dict[_Key, Touches]) -> dict[_Key, Touches]:
    return {key: a.get(key, 0) | b.get(key, 0) for key in (*a, *b)}


def find_problems(tree: Seq) -> tuple[Problem, ...]:
    """Races, and events that may be raised twice; empty for a correctly synchronised tree."""
    walker = Walker(tree)
    walker.walk(tree, walker.start())
    return tuple(walker.problems.values())


def superfluous_events(tree: Seq, names: tuple[str, ...]) -> frozenset[str]:
    """The events, tried in the order given, without which nothing more is a problem."""
    facts = _Facts(tree)
    whole = Walker(tree, facts=facts)
    whole.walk(tree, whole.start())
    gone: frozenset[str] = frozenset()
    for name in names:
        walker = Walker(tree, facts=facts, expected=whole.problems.keys(), without=gone | {name})
        try:
            walker.walk(tree, walker.start())
        except _Unexpected:
            continue
        gone |= {name}
    return gone


def insert_barriers(tree: Seq) -> Seq:
    """The tree with a barrier in front of each instruction that needs an earlier one of its own pipe."""
    walker = Walker(tree, insert=True)
    done, _ = walker.walk(tree, walker.start())
    return as_seq(done)


class _Unexpected(Exception):
    """A problem that is not among the expected ones."""


class _Facts:
    """What does not depend on the path."""

    def __init__(self, tree: Seq) -> None:
        self.index = TouchIndex(tree)
        self.sure = surely_run(tree)


class Walker:
    """One walk over a tree; ``problems`` by key afterwards. ``without``: events taken for absent."""

    def __init__(
        self,
        tree: Seq,
        *,
        facts: _Facts | None = None,
        insert: bool = False,
        expected: Collection[ProblemKey] | None = None,
        without: frozenset[str] = frozenset(),
    ) -> None:
        facts = facts or _Facts(tree)
        self.index, self.sure = facts.index, facts.sure
        self.problems: dict[ProblemKey, Problem] = {}
        self._insert, self._expected, self._without = insert, expected, without
        self._entries: dict[object, State] = {}

    def start(self) -> State:
        """Nothing was issued yet."""
        return State(dict.fromkeys(self.index.pipes, 0))

    def walk(self, statement: Statement, state: State) -> tuple[Statement, State]:
        """The statement, with barriers if they are inserted, and the state behind it."""
        if isinstance(statement, Seq):
            return self.sequence(statement, state)
        if isinstance(statement, Instruction):
            return self._instruction(statement, state)
        if isinstance(statement, SetEvent) and statement.name in self._without:
            return statement, state
        if isinstance(statement, WaitEvent):
            return statement, self._wait(statement, state)
        if isinstance(statement, SetEvent):
            return statement, self._raise(statement, state)
        if isinstance(statement, Barrier):
            return statement, self._complete(statement.pipe, state, statement.buffer)
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

    def _report(self, problem: Problem) -> None:
        if self._expected is not None and problem.key not in self._expected:
            raise _Unexpected
        self.problems[problem.key] = problem

    def sequence(self, statement: Seq, state: State) -> tuple[Statement, State]:
        """A sequence, statement by statement."""
        body = []
        for child in statement.body:
            new, state = self.walk(child, state)
            body.append(new)
        changed = any(a is not b for a, b in zip(statement.body, body, strict=True))
        return (seq(*body) if changed else statement), state

    def _instruction(self, item: Instruction, state: State) -> tuple[Statement, State]:
        result: Statement = item
        clashes = state.unfinished[item.pipe] & self.index.clashing[item]
        if self._insert and clashes & self.index.of_pipe[item.pipe]:
            ordered = self._own_order(item, clashes & self.index.of_pipe[item.pipe])
            result = seq(*_barrier(item, ordered), item)
            state = self._complete(item.pipe, state, ordered.buffer if ordered else None)
        else:
            for earlier, buffer in self.index.members(clashes):
                assert isinstance(buffer, Buffer)
                self._report(Conflict(earlier, item, buffer))
        return result, state.issue(self.index.of[item])

    def _own_order(self, item: Instruction, clashes: Touches) -> OwnOrder | None:
        """What the pipe promises of its own, where the instruction clashes with none but itself."""
        promised = item.own_order()
        if promised is None or any(pair != (item, promised.buffer) for pair in self.index.members(clashes)):
            return None
        return promised

    def _ages(self, event: SetEvent) -> range:
        """The age of the id in use; where a slot is named outright it may be any."""
        return range(event.ids if event.slot is not None and self.index.ages_with_slots(event) else 1)

    def _raise(self, event: SetEvent, state: State) -> State:
        ages, bit = self._ages(event), self.index.waits[event.name]
        if len(ages) == 1 and (state.raised | state.unfinished[event.source]) & bit:
            self._report(Overrun(event))
        known = state.unfinished[event.source] & ~self.index.of_pipe[event.source]
        events, raised = dict(state.events), state.raised
        for age in ages:
            earlier = events.get((event.name, age), 0) if len(ages) > 1 else 0
            events[event.name, age] = known | earlier
            raised |= bit << age * self.index.width
        return State(state.unfinished, events, raised)

    def _wait(self, event: WaitEvent, state: State) -> State:
        ages, bit = self._ages(event), self.index.waits[event.name]
        met = [state.events[event.name, age] for age in ages if (event.name, age) in state.events]
        known = state.unfinished[event.target]
        if met:
            left = 0
            for item in met:
                left |= item
            known &= left
        if len(ages) > 1:
            return state.knowing(event.target, known)
        # The waiting pipe itself is past the wait; for others it is a touch of the event's id.
        after = state.knowing(event.target, known).issue(bit)
        after.unfinished[event.target] &= ~bit
        after.raised = state.raised & ~bit
        return after

    def _complete(self, pipe: Pipe, state: State, buffer: Buffer | None = None) -> State:
        """Behind a barrier, or behind one for a buffer alone."""
        complete = self.index.of_pipe[pipe]
        if buffer is not None:
            complete &= self.index.of_buffers((buffer,))
        return state.knowing(pipe, state.unfinished[pipe] & ~complete)

    def _loop(self, loop: For, state: State) -> tuple[Statement, State]:
        """An innermost loop gets its barrier in front where that saves the one inside."""
        result, after = self.fixpoint(loop, state)
        if not self._insert or any(isinstance(item, For) for item in loop.body.walk()):
            return result, after
        for pipe in sorted({item.pipe for item in result.walk() if isinstance(item, Barrier)}, key=_name):
            hoisted, after_hoisted = self.fixpoint(loop, self._complete(pipe, state))
            if _barriers(hoisted) < _barriers(result):
                return seq(Barrier(pipe=pipe, where=loop.where), hoisted), after_hoisted
        return result, after

    def fixpoint(self, loop: For, state: State) -> tuple[Statement, State]:
        """A loop after any number of iterations."""
        index, apart, key = self.index, self._disjoint(loop), self.context(loop)
        # States only grow while the loops around run to their fixpoints: the last entry is a fair start.
        entry = state.join(self._entries[key]) if key in self._entries and not self._insert else state
        while True:
            body, after = self.walk(loop.body, entry)
            again = after.mapped(lambda touches: index.set_apart(apart, touches)) if apart else after
            grown = entry.join(again)
            if grown == entry:
                break
            entry = grown
        self._entries[key] = entry
        behind = self.behind(loop, state, after)
        if apart:
            behind = behind.mapped(lambda touches: index.taken_back(apart, touches))
        return (loop.with_children((body,)) if body is not loop.body else loop), behind

    def context(self, loop: For) -> object:
        """What besides the state decides how a loop runs."""
        return loop

    def behind(self, loop: For, before: State, after: State) -> State:
        """Behind a loop: it ran, or perhaps it did not."""
        return after if loop in self.sure else before.join(after)

    def _disjoint(self, loop: For) -> Touches:
        """Touches that cannot clash with a later iteration: they are of other elements of the same slot."""
        if not loop.disjoint:
            return 0
        inside, taken = 0, set[Buffer]()
        for item in loop.body.walk():
            if isinstance(item, Instruction):
                inside |= self.index.of[item]
            elif isinstance(item, Alloc):
                taken |= set(item.buffers)
        return inside & self.index.of_buffers(set(loop.disjoint) - taken)

    def _branch(self, branch: If, state: State) -> tuple[Statement, State]:
        then, after = self.walk(branch.then, state)
        children: tuple[Statement, ...] = (then,)
        other = state
        if branch.otherwise is not None:
            otherwise, other = self.walk(branch.otherwise, state)
            children = (then, otherwise)
        same = all(a is b for a, b in zip(children, branch.children(), strict=True))
        return (branch if same else branch.with_children(children)), after.join(other)

    def _lifetime(self, lifetime: Alloc, state: State) -> tuple[Statement, State]:
        """With several slots, everything touched is one lifetime older behind it."""
        body, after = self.walk(lifetime.body, state)
        group = lifetime.buffers
        if group[0].slots > 1:
            turned = after.mapped(lambda touches: self.index.turned(group, touches))
            turned.raised = self.index.turned(group, after.raised)
            for name in self.index.slot_events.get(group, ()):
                ids = [turned.events.pop((name, age), None) for age in range(group[0].slots)]
                for age, known in enumerate(ids):
                    if known is not None:
                        turned.events[name, (age + 1) % len(ids)] = known
            after = turned
        return (lifetime.with_children((body,)) if body is not lifetime.body else lifetime), after


def _barrier(item: Instruction, ordered: OwnOrder | None) -> tuple[Statement, ...]:
    """The barrier in front of an instruction, conditional where its pipe has an order of its own."""
    if ordered is None:
        return (Barrier(pipe=item.pipe, where=item.where),)
    when, buffer = ordered.unordered, ordered.buffer
    return (
        Note(text=ordered.reason),
        Barrier(pipe=item.pipe, when=when, buffer=buffer, where=item.where),
    )


def _barriers(statement: Statement) -> int:
    return sum(isinstance(item, Barrier) for item in statement.walk())


def _name(pipe: Pipe) -> str:
    return pipe.value
