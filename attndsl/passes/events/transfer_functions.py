"""Bit-vector transfer functions for the race analysis: the change of the state that a statement makes.

Bits are cleared by ``bits ^= bits & mask``: on integers of any length that is less work than a complement.

Each :class:`TransferFunction` holds the masks that its change needs. A :class:`Walk` runs them in program
order: branches join by union, loops run to a fixpoint. Its subclasses say what happens at a clash, an overrun
and a flag.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from attndsl.passes.events.analysis_state import State
from attndsl.target import Pipe
from attndsl.tile.instructions import Instruction
from attndsl.tile.statements import For, SetCrossFlag, SetEvent


class Walk:
    """One run over a flow's transfer functions. Subclasses handle clashes, overruns and flags.

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
        self._after_body: dict[object, State] = {}  # after the body, entered in that state

    def run(self, functions: tuple[TransferFunction, ...], state: State) -> None:
        """Change the state to that after the functions."""
        for function in functions:
            function.run(state, self)

    def clash(self, start: Start, clashes: int, state: State) -> None:
        """``clashes``: unfinished accesses that must be complete before the instruction starts."""

    def overrun(self, event: SetEvent) -> None:
        """An event may still be up, or its last wait may be ahead, when it is raised."""

    def flag(self, flag: Flag, state: State) -> None:
        """A flag between the cores of a block is raised."""

    def case_split(self, function: CaseSplit, state: State) -> None:
        """What follows the definition of a scalar that decides whether loops run."""
        self.run(function.rest, state)

    def decided(self, branch: Branch) -> bool | None:
        """Whether the condition of a branch holds; None where it may or may not."""
        return None

    def loop(self, loop: Loop, state: State) -> None:
        """A loop after any number of iterations.

        States only grow while the loops around run to their fixpoints, and when events are left out (unless
        one is :attr:`unraised`): where an earlier run of the loop ended is a fair start.
        """
        key = self.context(loop)
        entry = state.join(self.entries[key]) if key in self.entries else state.copy()
        after = self._after_body.get(key)
        if after is None or not entry.same(self.entries[key]):
            entry, after = self.fixpoint(loop, entry)
            self.entries[key], self._after_body[key] = entry, after
        self.leave(loop, state, after)

    def fixpoint(self, loop: Loop, entry: State) -> tuple[State, State]:
        """The state that an iteration finds, whichever it is, and that after its body."""
        while True:
            after = entry.copy()
            self.iterate(loop, after)
            grown = entry.join(loop.again(after))
            if grown.same(entry):
                return entry, after
            entry = grown

    def iterate(self, loop: Loop, state: State) -> None:
        """Change the state to that after the loop's body."""
        self.run(loop.body, state)

    def leave(self, loop: Loop, state: State, after: State) -> None:
        """Change the state in front of a loop to that after it: it ran, or perhaps it did not."""
        state.become(loop.done(after if self.runs(loop) else state.join(after)))

    def context(self, loop: Loop) -> object:
        """What besides the state decides how a loop runs."""
        return loop.statement

    def runs(self, loop: Loop) -> bool:
        """Whether the loop runs at least once."""
        return loop.sure


class TransferFunction:
    """What a statement, or a few, does to a state."""

    __slots__ = ()

    def run(self, state: State, walk: Walk) -> None:
        """Change the state to that after the function."""
        raise NotImplementedError


@dataclass(eq=False, slots=True)
class Start(TransferFunction):
    """Instructions start: their accesses become unfinished for every pipe and event.

    ``number``: the first instruction's place among those of the tree. ``clashing``: what must be complete
    before, in the row of its pipe.
    """

    item: Instruction
    number: int
    clashing: int
    accesses: int

    def run(self, state: State, walk: Walk) -> None:
        clashes = state.bits & self.clashing
        if clashes:
            walk.clash(self, clashes, state)
        state.bits |= self.accesses & state.present

    def with_(self, later: Start) -> Start:
        """Both, where nothing comes between and clashes among them do not matter."""
        return Start(self.item, self.number, self.clashing | later.clashing, self.accesses | later.accesses)


@dataclass(eq=False, slots=True)
class Raise(TransferFunction):
    """The event gets to know what the source pipe knows, and that all of this pipe's own work is complete.

    ``mark``: its bit in :attr:`Walk.without`. ``rows``: of its ids, ``firsts`` their first bits. ``known``:
    what it takes from the row ``source``. ``taken``: bits that say that it may be up still; none where any of
    several ids may be meant. ``up``: those that say so from here on.
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
class Wait(TransferFunction):
    """The target pipe gets to know what the event knows, whichever of its ids is meant.

    ``mark``: its bit in :attr:`Walk.without`. ``unfinished``: the row of the target pipe.

    The waiting pipe itself is past the wait; for others it is an access of the event's id: ``accesses``;
    ``lowered`` is what is no more: that access in its own row, and the event that may be up.
    """

    mark: int
    target: int
    unfinished: int
    ids: tuple[tuple[int, int], ...]  # first bit of a row, and all its bits
    accesses: int
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
            bits |= self.accesses & state.present
            bits ^= bits & self.lowered
        state.bits = bits


@dataclass(eq=False, slots=True)
class HandOver(TransferFunction):
    """The scalar unit has waited: all pipes get to know what it knows, as it hands over what they do next.

    ``scalar``: the first bit of its row; ``row``: all bits of one; ``pipes``: the first bits of the others.
    """

    scalar: int
    row: int
    pipes: tuple[int, ...]

    def run(self, state: State, walk: Walk) -> None:
        unfinished = state.bits >> self.scalar & self.row
        for first in self.pipes:
            state.bits ^= state.bits & (self.row ^ unfinished) << first


@dataclass(eq=False, slots=True)
class Complete(TransferFunction):
    """Behind a barrier: ``complete`` of the pipe's row."""

    pipe: Pipe
    complete: int

    def run(self, state: State, walk: Walk) -> None:
        state.bits ^= state.bits & self.complete


@dataclass(eq=False, slots=True)
class RotateSlots(TransferFunction):
    """A lifetime with several slots ended: what it accesses is one lifetime older.

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
class Branch(TransferFunction):
    """One of two ways.

    ``unless_runs``: the scalar n of which the condition says that loops ``0..n`` do not run.
    """

    then: tuple[TransferFunction, ...]
    otherwise: tuple[TransferFunction, ...]
    unless_runs: str | None = None

    def run(self, state: State, walk: Walk) -> None:
        holds = walk.decided(self)
        if holds is not None:
            walk.run(self.then if holds else self.otherwise, state)
            return
        other = state.copy()
        walk.run(self.then, state)
        walk.run(self.otherwise, other)
        state.become(state.join(other))


@dataclass(eq=False, slots=True)
class Loop(TransferFunction):
    """A loop; its n-th iteration accesses other elements than the others where ``apart`` has bits.

    Attributes:
        number: its place among the tree's loops, inner ones first.
        awaits: the events that are awaited in it, but not in a loop inside, as bits of :attr:`Flow.marks`.
        bound: the scalar n of a loop ``0..n``.
        distance: by how many bits accesses of other iterations lie apart.
    """

    statement: For
    number: int
    awaits: int
    body: tuple[TransferFunction, ...]
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
        """After the loop: accesses of other iterations are accesses as all others."""
        if not self.apart:
            return state
        other = state.bits & self.apart << self.distance
        return State(state.bits ^ other | other >> self.distance, state.present)


@dataclass(eq=False, slots=True)
class Flag(TransferFunction):
    """A flag between the cores of a block; ``unfinished``: all bits of the row ``first`` of its pipe."""

    statement: SetCrossFlag
    first: int
    unfinished: int

    def run(self, state: State, walk: Walk) -> None:
        walk.flag(self, state)


@dataclass(eq=False, slots=True)
class CaseSplit(TransferFunction):
    """The rest of a body after the definition of ``name``."""

    name: str
    rest: tuple[TransferFunction, ...]

    def run(self, state: State, walk: Walk) -> None:
        walk.case_split(self, state)
