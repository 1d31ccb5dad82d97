"""A core's tree as steps on one integer, so that the race analysis is a few operations a statement.

A state of the analysis (hazards.py) is a table of sets of touches: for each pipe those that may be
unfinished, for each event those that it does not know to be complete, and one set of the events that may
be up. All of them lie side by side in one integer, a *row* each, so that what happens to every row at once
is one operation. :class:`Rows` says where they lie; :class:`Flow` translates a tree into steps with the
masks that they need; a :class:`Walk` runs them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from attndsl.expr import Const, Symbol
from attndsl.passes.events.access_sets import Group, Touches, TouchIndex
from attndsl.target import Pipe
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import Instruction
from attndsl.tile.statements import (
    BLOCK_MODE,
    Alloc,
    Barrier,
    For,
    If,
    Let,
    Pipelined,
    Seq,
    SetCrossFlag,
    SetEvent,
    Statement,
    WaitEvent,
)


class State:
    """What holds at one place of the tree, as one integer of rows.

    ``present``: all bits of the rows of pipes, and of events that may have been raised. No other row has a
    bit: an event that no path raised tells a waiting pipe nothing.
    """

    __slots__ = ("bits", "present")

    def __init__(self, bits: int, present: int) -> None:
        self.bits, self.present = bits, present

    def copy(self) -> State:
        """A state of its own."""
        return State(self.bits, self.present)

    def join(self, other: State) -> State:
        """Either of two paths."""
        return State(self.bits | other.bits, self.present | other.present)

    def without(self, bits: int) -> State:
        """The state without some bits of any row."""
        return State(self.bits ^ self.bits & bits, self.present ^ self.present & bits)

    def become(self, other: State) -> None:
        """What the other is."""
        self.bits, self.present = other.bits, other.present

    def same(self, other: State) -> bool:
        """Whether they are equal."""
        return self.bits == other.bits and self.present == other.present


class Rows:
    """Where the rows of a state lie: those of pipes first, then a row for each id of each event, then one
    of the events that may be up.

    Attributes:
        row: all bits of a row, at the first row. ``pipes``: all bits of the rows of pipes.
        up: the first bit of the row of the events that may be up.
    """

    def __init__(self, index: TouchIndex) -> None:
        self._width = index.width * (index.ages + 1)
        self.row = (1 << self._width) - 1
        self._pipes = {pipe: number * self._width for number, pipe in enumerate(index.pipes)}
        self._events: dict[str, int] = {}
        end = len(index.pipes) * self._width
        self.pipes = (1 << end) - 1
        for name, event in index.events.items():
            self._events[name] = end
            end += self._width * index.ids(event)
        self.up = end
        self._every = sum(1 << first for first in range(0, end, self._width)) if self._width else 0

    def pipe(self, pipe: Pipe) -> int:
        """The first bit of a pipe's row."""
        return self._pipes[pipe]

    def event(self, name: str, age: int = 0) -> int:
        """The first bit of the row of an event's id."""
        return self._events[name] + age * self._width

    def ids(self, name: str, count: int) -> int:
        """All bits of the rows of an event's first ``count`` ids."""
        return ((1 << count * self._width) - 1) << self._events[name]

    def everywhere(self, touches: Touches) -> int:
        """A set of touches in each row of a pipe or an event."""
        return touches * self._every

    @property
    def width(self) -> int:
        """Bits from a row to the next."""
        return self._width


class Walk:
    """One run over a flow's steps. What is done about a clash, an overrun and a flag, subclasses say.

    Attributes:
        without: events that are taken for absent, as bits of :attr:`Flow.marks`.
        entries: the state in which each loop was entered; the next walk may start from what it found.
        unraised: whether an event was awaited that no path had raised. A later path that raises it then makes
            a state smaller.
    """

    def __init__(self, without: int = 0, entries: Mapping[object, State] | None = None) -> None:
        self.without = without
        self.entries: dict[object, State] = dict(entries or {})
        self.unraised = False
        self._behind: dict[object, State] = {}  # behind the body, entered in that state

    def run(self, steps: tuple[Step, ...], state: State) -> None:
        """Change the state to that behind the steps."""
        for step in steps:
            step.run(state, self)

    def clash(self, start: Start, clashes: int, state: State) -> None:
        """``clashes``: unfinished touches that must be complete before the instruction starts."""

    def overrun(self, event: SetEvent) -> None:
        """An event may still be up, or its last wait may be ahead, when it is raised."""

    def flag(self, flag: Flag, state: State) -> None:
        """A flag between the cores of a block is raised."""

    def either(self, step: Either, state: State) -> None:
        """What follows the definition of a scalar that decides whether loops run."""
        self.run(step.rest, state)

    def loop(self, loop: Loop, state: State) -> None:
        """A loop after any number of iterations.

        States only grow while the loops around run to their fixpoints, and when events are left out (unless
        one is :attr:`unraised`): where an earlier run of the loop ended is a fair start.
        """
        key = self.context(loop)
        entry = state.join(self.entries[key]) if key in self.entries else state.copy()
        after = self._behind.get(key)
        if after is None or not entry.same(self.entries[key]):
            entry, after = self.fixpoint(loop, entry)
            self.entries[key], self._behind[key] = entry, after
        self.leave(loop, state, after)

    def fixpoint(self, loop: Loop, entry: State) -> tuple[State, State]:
        """The state that an iteration finds, whichever it is, and that behind its body."""
        while True:
            after = entry.copy()
            self.iterate(loop, after)
            grown = entry.join(loop.again(after))
            if grown.same(entry):
                return entry, after
            entry = grown

    def iterate(self, loop: Loop, state: State) -> None:
        """Change the state to that behind the loop's body."""
        self.run(loop.body, state)

    def leave(self, loop: Loop, state: State, after: State) -> None:
        """Change the state in front of a loop to that behind it: it ran, or perhaps it did not."""
        state.become(loop.done(after if self.runs(loop) else state.join(after)))

    def context(self, loop: Loop) -> object:
        """What besides the state decides how a loop runs."""
        return loop.statement

    def runs(self, loop: Loop) -> bool:
        """Whether the loop runs at least once."""
        return loop.sure


class Step:
    """What a statement, or a few, does to a state."""

    __slots__ = ()

    def run(self, state: State, walk: Walk) -> None:
        """Change the state to that behind the step."""
        raise NotImplementedError


@dataclass(eq=False, slots=True)
class Start(Step):
    """Instructions start: their touches become unfinished for every pipe and event.

    ``number``: the first instruction's place among those of the tree. ``clashing``: what must be complete
    before, in the row of its pipe.
    """

    item: Instruction
    number: int
    clashing: int
    touches: int

    def run(self, state: State, walk: Walk) -> None:
        clashes = state.bits & self.clashing
        if clashes:
            walk.clash(self, clashes, state)
        state.bits |= self.touches & state.present

    def with_(self, later: Start) -> Start:
        """Both, where nothing comes between and clashes among them do not matter."""
        return Start(self.item, self.number, self.clashing | later.clashing, self.touches | later.touches)


@dataclass(eq=False, slots=True)
class Raise(Step):
    """The event gets to know what the source pipe knows, and that all of this pipe's own work is complete.

    ``rows``: of its ids, ``firsts`` their first bits. ``known``: what it takes from the row ``source``.
    ``taken``: bits that say that it may be up still; none where any of several ids may be meant.
    """

    event: SetEvent
    mark: int
    source: int
    known: int
    rows: int
    firsts: tuple[int, ...]
    taken: int
    up: int

    def run(self, state: State, walk: Walk) -> None:
        if walk.without & self.mark:
            return
        bits = state.bits
        if bits & self.taken:
            walk.overrun(self.event)
        known = (bits & self.known) >> self.source
        if len(self.firsts) == 1:
            bits ^= bits & self.rows
        for first in self.firsts:
            bits |= known << first
        state.bits = bits | self.up
        state.present |= self.rows


@dataclass(eq=False, slots=True)
class Wait(Step):
    """The target pipe gets to know what the event knows, whichever of its ids is meant.

    The waiting pipe itself is past the wait; for others it is a touch of the event's id: ``touches``;
    ``lowered`` is what is no more: that touch in its own row, and the event that may be up.
    """

    mark: int
    target: int
    unfinished: int
    ids: tuple[tuple[int, int], ...]  # first bit of a row, and all its bits
    touches: int
    lowered: int

    def run(self, state: State, walk: Walk) -> None:
        if walk.without & self.mark:
            return
        bits, left, raised = state.bits, 0, False
        for first, row in self.ids:
            if row & state.present:
                left |= (bits & row) >> first
                raised = True
        if raised:
            mine = bits & self.unfinished
            bits ^= mine ^ (mine & left << self.target)
        else:
            walk.unraised = True
        if self.lowered:
            bits |= self.touches & state.present
            bits ^= bits & self.lowered
        state.bits = bits


@dataclass(eq=False, slots=True)
class Complete(Step):
    """Behind a barrier: ``complete`` of the pipe's row."""

    pipe: Pipe
    complete: int

    def run(self, state: State, walk: Walk) -> None:
        state.bits ^= state.bits & self.complete


@dataclass(eq=False, slots=True)
class Turn(Step):
    """A lifetime with several slots ended: what it touches is one lifetime older.

    ``young`` bits move up by ``width``, the ``oldest`` down to age 0; of events with an id for each slot
    whole rows move in the same way: ``moving`` by ``row`` bits, the ``last`` ones down to the first.
    """

    slots: int
    width: int
    young: int
    oldest: int
    row: int
    moving: int
    last: int

    def run(self, state: State, walk: Walk) -> None:
        bits = _rotated(state.bits, self.young, self.oldest, self.width, self.slots)
        if self.last:
            bits = _rotated(bits, self.moving, self.last, self.row, self.slots)
            state.present = _rotated(state.present, self.moving, self.last, self.row, self.slots)
        state.bits = bits


def _rotated(bits: int, up: int, down: int, by: int, slots: int) -> int:
    rising, falling = bits & up, bits & down
    return bits ^ rising ^ falling | rising << by | falling >> (slots - 1) * by


@dataclass(eq=False, slots=True)
class Branch(Step):
    """One of two ways."""

    then: tuple[Step, ...]
    otherwise: tuple[Step, ...]

    def run(self, state: State, walk: Walk) -> None:
        other = state.copy()
        walk.run(self.then, state)
        walk.run(self.otherwise, other)
        state.become(state.join(other))


@dataclass(eq=False, slots=True)
class Loop(Step):
    """A loop; its n-th iteration touches other elements than the others where ``apart`` has bits.

    Attributes:
        number: its place among the tree's loops, inner ones first.
        awaits: the events that are awaited in it, but not in a loop inside, as bits of :attr:`Flow.marks`.
        bound: the scalar n of a loop ``0..n``.
        distance: by how many bits touches of other iterations lie apart.
    """

    statement: For
    number: int
    awaits: int
    body: tuple[Step, ...]
    sure: bool
    innermost: bool
    bound: str | None
    apart: int
    distance: int

    def run(self, state: State, walk: Walk) -> None:
        walk.loop(self, state)

    def again(self, state: State) -> State:
        """Behind an iteration, as the next one finds it."""
        if not self.apart:
            return state
        own = state.bits & self.apart
        return State(state.bits ^ own | own << self.distance, state.present)

    def done(self, state: State) -> State:
        """The inverse, behind the loop."""
        if not self.apart:
            return state
        other = state.bits & self.apart << self.distance
        return State(state.bits ^ other | other >> self.distance, state.present)


@dataclass(eq=False, slots=True)
class Flag(Step):
    """A flag between the cores of a block; ``unfinished``: all bits of the row ``first`` of its pipe."""

    statement: SetCrossFlag
    first: int
    unfinished: int

    def run(self, state: State, walk: Walk) -> None:
        walk.flag(self, state)


@dataclass(eq=False, slots=True)
class Either(Step):
    """The rest of a body behind the definition of ``name``."""

    name: str
    rest: tuple[Step, ...]

    def run(self, state: State, walk: Walk) -> None:
        walk.either(self, state)


class Flow:
    """The steps of a tree.

    Statements that change no state are left out.

    Attributes:
        marks: a bit for each event, by name.
        loops: its loops, inner ones first.
    """

    def __init__(
        self,
        tree: Seq,
        index: TouchIndex,
        sure: frozenset[For],
        *,
        clashing: Mapping[Instruction, Touches] | None = None,
        split_at: frozenset[str] = frozenset(),
        merge: bool = False,
    ) -> None:
        """``clashing``: what an instruction is asked for, else all that must be complete before it.

        ``split_at``: scalars behind whose definition the walk is told (:class:`Either`). ``merge``: make
        one step of instructions that follow each other, where clashes among these do not matter.
        """
        self._index, self._sure, self._merge = index, sure, merge
        self._clashing = index.clashing if clashing is None else clashing
        self._split_at = split_at
        self.rows = Rows(index)
        self.marks = {name: 1 << number for number, name in enumerate(index.events)}
        self.loops: list[Loop] = []
        self._instructions = self._count = self._awaited = 0
        self.steps = self._body(tree)

    def start(self) -> State:
        """Nothing was issued yet."""
        return State(0, self.rows.pipes)

    def traces(self, name: str) -> int:
        """The bits of an event in any state: its ids' rows, its waits, and whether it may be up."""
        rows, waits = self.rows, self._index.at_any_age(self._index.waits[name])
        ids = self._index.ids(self._index.events[name])
        return rows.everywhere(waits) | waits << rows.up | rows.ids(name, ids)

    def _body(self, statement: Statement) -> tuple[Step, ...]:
        found: list[Step] = []
        self._add(statement, found)
        return tuple(found)

    def _add(self, statement: Statement, found: list[Step]) -> None:
        if isinstance(statement, Seq):
            self._add_all(statement.body, found)
        elif isinstance(statement, For):
            self._add_loop(statement, found)
        elif isinstance(statement, If):
            then = self._body(statement.then)
            otherwise = self._body(statement.otherwise) if statement.otherwise is not None else ()
            if then or otherwise:
                found.append(Branch(then, otherwise))
        elif isinstance(statement, Pipelined):
            return
        elif isinstance(statement, Instruction):
            self._add_start(statement, found)
        else:
            found += self._step(statement)
            for child in statement.children():
                self._add(child, found)
            if isinstance(statement, Alloc):
                found += self._turn(statement.buffers)

    def _step(self, statement: Statement) -> tuple[Step, ...]:
        """What a statement does besides what is inside it."""
        if isinstance(statement, WaitEvent):
            return (self._wait(statement),)
        if isinstance(statement, SetEvent):
            return (self._raise(statement),)
        if isinstance(statement, Barrier):
            return (self.complete(statement.pipe, statement.buffer),)
        if isinstance(statement, SetCrossFlag) and statement.mode == BLOCK_MODE:
            first = self.rows.pipe(statement.pipe)
            return (Flag(statement, first, self.rows.row << first),)
        return ()

    def _add_all(self, body: tuple[Statement, ...], found: list[Step]) -> None:
        for place, child in enumerate(body):
            if isinstance(child, Let) and child.symbol.name in self._split_at:
                rest: list[Step] = []
                self._add_all(body[place + 1 :], rest)
                found.append(Either(child.symbol.name, tuple(rest)))
                return
            self._add(child, found)

    def _add_start(self, item: Instruction, found: list[Step]) -> None:
        number, touches = self._instructions, self.rows.everywhere(self._index.of[item])
        self._instructions += 1
        clashing = self._clashing[item] << self.rows.pipe(item.pipe)
        if not touches and not clashing:
            return
        start = Start(item, number, clashing, touches)
        if self._merge and found and isinstance(found[-1], Start):
            found[-1] = found[-1].with_(start)
        else:
            found.append(start)

    def _add_loop(self, loop: For, found: list[Step]) -> None:
        before, outside = self._count, self._awaited
        self._awaited = 0
        body = self._body(loop.body)
        number, innermost, awaits = self._count, self._count == before, self._awaited
        self._count += 1
        self._awaited = outside
        if body:
            self.loops.append(
                Loop(
                    statement=loop,
                    number=number,
                    awaits=awaits,
                    body=body,
                    sure=loop in self._sure,
                    innermost=innermost,
                    bound=upper_bound(loop),
                    apart=self.rows.everywhere(self._disjoint(loop)),
                    distance=self._index.ages * self._index.width,
                )
            )
            found.append(self.loops[-1])

    def _disjoint(self, loop: For) -> Touches:
        """Touches that cannot clash with a later iteration: they are of other elements of the same slot."""
        if not loop.disjoint:
            return 0
        inside, taken = 0, set[Buffer]()
        for item in loop.body.walk():
            if isinstance(item, Instruction):
                inside |= self._index.of[item]
            elif isinstance(item, Alloc):
                taken |= set(item.buffers)
        return inside & self._index.of_buffers(set(loop.disjoint) - taken)

    def _ages(self, event: SetEvent) -> range:
        """The age of the id in use; where a slot is named outright it may be any."""
        return range(self._index.ids(event) if event.slot is not None else 1)

    def _raise(self, event: SetEvent) -> Step:
        ages, rows, bit = self._ages(event), self.rows, self._index.waits[event.name]
        source = rows.pipe(event.source)
        return Raise(
            event=event,
            mark=self.marks[event.name],
            source=source,
            known=(rows.row & ~self._index.of_pipe[event.source]) << source,
            rows=rows.ids(event.name, len(ages)),
            firsts=tuple(rows.event(event.name, age) for age in ages),
            taken=bit << rows.up | bit << source if len(ages) == 1 else 0,
            up=sum(bit << age * self._index.width << rows.up for age in ages),
        )

    def _wait(self, event: WaitEvent) -> Step:
        ages, rows, bit = self._ages(event), self.rows, self._index.waits[event.name]
        target = rows.pipe(event.target)
        self._awaited |= self.marks[event.name]
        firsts = [rows.event(event.name, age) for age in ages]
        return Wait(
            mark=self.marks[event.name],
            target=target,
            unfinished=rows.row << target,
            ids=tuple((first, rows.row << first) for first in firsts),
            touches=rows.everywhere(bit) ^ bit << target,
            lowered=bit << target | bit << rows.up if len(ages) == 1 else 0,
        )

    def complete(self, pipe: Pipe, buffer: Buffer | None = None) -> Complete:
        """A barrier, or one for a buffer alone."""
        found = self._index.of_pipe[pipe]
        if buffer is not None:
            found &= self._index.of_buffers((buffer,))
        return Complete(pipe, found << self.rows.pipe(pipe))

    def _turn(self, group: Group) -> tuple[Step, ...]:
        slots = group[0].slots
        if slots == 1:
            return ()
        index, rows = self._index, self.rows
        every, oldest = index.turning(group)
        moving = last = 0
        for name in index.slot_events.get(group, ()):
            moving |= rows.ids(name, slots - 1)
            last |= rows.ids(name, slots) ^ rows.ids(name, slots - 1)
        young = every ^ oldest
        if not every and not last:
            return ()
        return (
            Turn(
                slots=slots,
                width=index.width,
                young=rows.everywhere(young) | young << rows.up,
                oldest=rows.everywhere(oldest) | oldest << rows.up,
                row=rows.width,
                moving=moving,
                last=last,
            ),
        )


def upper_bound(loop: For) -> str | None:
    """The scalar n of a loop ``0..n``."""
    from_zero = loop.begin.same(Const(0)) and isinstance(loop.end, Symbol)
    return loop.end.name if from_zero and isinstance(loop.end, Symbol) else None
