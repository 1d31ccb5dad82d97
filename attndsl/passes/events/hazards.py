"""Static race analysis of one core's tree: what may still be running when an instruction starts.

The analysis walks the tree in program order and keeps, for each pipe, the accesses (instruction, buffer)
that are not known to be complete when the pipe starts its next instruction:

    instruction on p     its accesses become unfinished for every pipe, p included: order within a pipe is
                         the order of starting
    SetEvent p -> q      the event knows what p knows, and that everything issued on p before is complete
    WaitEvent p -> q     q learns what the event knows; where q is the scalar unit, every pipe does: it gets
                         no further instruction before
    Barrier p            everything issued on p before is complete for p; with a condition, what was done
                         to its buffer, whether by the barrier or by the core itself

Branches join by union, loops run to a fixpoint, so every path is covered; a loop may run no time at all
unless it surely runs (trip_counts.py).

A buffer with n slots is n memories that take turns: an access has an *age*, the number of lifetimes (Alloc)
of its group that have ended since, modulo n. Only accesses of age 0 are of the slot in use. Events with an
id for each slot age in the same way. Nothing else is assumed about lifetimes: what orders two of them is
what the second really waits for.

The tree is first translated into bit-vector transfer functions (flow.py).

An event that may be raised again before it was awaited is found as well, because an event holds one signal.
The analysis either reports problems, or inserts the barriers that same-pipe conflicts need.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import count

from attndsl.passes.events.access_sets import Access, AccessIndex, AccessSet
from attndsl.passes.events.analysis_state import State
from attndsl.passes.events.flow import Flow
from attndsl.passes.events.transfer_functions import Loop, Start, Walk
from attndsl.passes.events.trip_counts import surely_run
from attndsl.target import Pipe
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import Instruction
from attndsl.tile.instructions.base import OwnOrder
from attndsl.tile.statements import Barrier, For, Note, Seq, SetEvent, Stage, Statement, as_seq, rewrite, seq


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two instructions that access a buffer, one of them writing, without an order between them."""

    earlier: Instruction
    later: Instruction
    buffer: Buffer

    def __str__(self) -> str:
        pair = f"{self.earlier.pipe.value} -> {self.later.pipe.value}"
        return f"{pair} on {self.buffer.name}: '{self.earlier.describe()}' then '{self.later.describe()}'"


@dataclass(frozen=True, slots=True)
class Overrun:
    """An event that may be raised a second time before the first was awaited."""

    event: SetEvent

    def __str__(self) -> str:
        return f"event {self.event.name} may be raised again before it was awaited"


Problem = Conflict | Overrun


def find_problems(tree: Seq, sure: frozenset[For] | None = None) -> tuple[Problem, ...]:
    """Races, and events that may be raised twice; empty for a correctly synchronized tree.

    ``sure``: the loops of the tree that surely run, where that is known already.
    """
    index = AccessIndex(tree)
    found = _Finding.of(Flow(tree, index, _sure(tree, sure)))
    conflicts = [
        Conflict(earlier, later, buffer)
        for later, clashes in found.clashes.items()
        for earlier, buffer in index.members(clashes)
        if isinstance(buffer, Buffer)
    ]
    return (*conflicts, *(Overrun(event) for event in found.overruns.values()))


def superfluous_events(
    tree: Seq, names: tuple[str, ...], sure: frozenset[For] | None = None
) -> frozenset[str]:
    """The events that order nothing that others do not order, tried in the order given."""
    sure = _sure(tree, sure)
    every = AccessIndex(tree)
    found = _Finding.of(Flow(tree, every, sure))
    ordered = {item: every.clashing[item] & ~found.clashes.get(item, 0) for item in every.of}
    live = frozenset(every.members(_union(ordered.values())))
    index = AccessIndex(tree, live.__contains__)
    clashing = _renumbered(ordered, every, index)
    flow = Flow(tree, index, sure, clashing=clashing, merge=True)
    done, gone = _Trying(frozenset(found.overruns)), frozenset[str]()
    done.run(flow.functions, flow.start())
    for name in names:
        trial = done.without_event(flow, name)
        if trial.shows_nothing(flow, name):
            done, gone = trial, gone | {name}
    return gone


def _renumbered(
    ordered: Mapping[Instruction, AccessSet], every: AccessIndex, index: AccessIndex
) -> dict[Instruction, AccessSet]:
    """The same sets as another index of the tree numbers their accesses, all of age 0.

    Sets of instructions with the same operands differ in few accesses: only these are looked at.
    """
    found: dict[Instruction, AccessSet] = {}
    last: dict[AccessSet, tuple[AccessSet, AccessSet]] = {}
    for item, accesses in ordered.items():
        alike = every.clashing[item]
        before, bits = last.get(alike, (0, 0))
        if before != accesses:
            bits ^= _union(index.bit_of[each] for each in every.members(before ^ accesses))
            last[alike] = accesses, bits
        found[item] = bits
    return found


def _union(bits: Iterable[AccessSet]) -> AccessSet:
    found = 0
    for each in bits:
        found |= each
    return found


def _sure(tree: Seq, known: frozenset[For] | None) -> frozenset[For]:
    return surely_run(tree) if known is None else known


class _Finding(Walk):
    """Notes what clashes: by instruction its clashing accesses, and events that may be up when raised."""

    def __init__(self, flow: Flow) -> None:
        super().__init__()
        self.clashes: dict[Instruction, AccessSet] = {}
        self.overruns: dict[str, SetEvent] = {}
        self._rows = flow.rows

    @classmethod
    def of(cls, flow: Flow) -> _Finding:
        """What clashes anywhere in a flow."""
        walk = cls(flow)
        walk.run(flow.functions, flow.start())
        return walk

    def clash(self, start: Start, clashes: int, state: State) -> None:
        found = clashes >> self._rows.pipe(start.item.pipe)
        self.clashes[start.item] = self.clashes.get(start.item, 0) | found

    def overrun(self, event: SetEvent) -> None:
        self.overruns[event.name] = event


class _Unexpected(Exception):
    """A problem that is not among the expected ones."""


class _Trying(Walk):
    """Stops at a clash, and at an overrun that is none of those that are there anyway."""

    def __init__(
        self, overruns: frozenset[str], without: int = 0, entries: Mapping[object, State] | None = None
    ) -> None:
        super().__init__(without, entries)
        self._overruns = overruns

    def without_event(self, flow: Flow, name: str) -> _Trying:
        """The same with an event less, from where this walk ended."""
        traces = flow.traces(name)
        entries = {} if self.unraised else {key: state.without(traces) for key, state in self.entries.items()}
        return _Trying(self._overruns, self.without | flow.marks[name], entries)

    def shows_nothing(self, flow: Flow, name: str) -> bool:
        """Whether the whole flow is run without a stop.

        What goes wrong without an event does so close to its waits, so that the loops around these come
        first: there, states are no smaller than with the event.
        """
        entries = dict(self.entries)
        try:
            for loop in flow.loops:
                if loop.awaits & flow.marks[name] and loop.statement in entries:
                    self.run(loop.body, entries[loop.statement].copy())
            self.run(flow.functions, flow.start())
        except _Unexpected:
            return False
        return True

    def clash(self, start: Start, clashes: int, state: State) -> None:
        raise _Unexpected

    def overrun(self, event: SetEvent) -> None:
        if event.name not in self._overruns:
            raise _Unexpected


# ------------------------------------------------------------------------------------------------
# Barriers


def insert_barriers(tree: Seq, sure: frozenset[For] | None = None) -> Seq:
    """The tree with a barrier in front of each instruction that needs an earlier one of its own pipe.

    It stands in front of a loop where that saves barriers; all places of a stage have what one of them needs.
    """
    index = AccessIndex(tree, _in_own_pipe(tree).__contains__, waits=False)
    flow = Flow(tree, index, _sure(tree, sure))
    walk = _Inserting(flow, index)
    walk.run(flow.functions, flow.start())
    return _with_barriers(tree, {**walk.barriers, **_of_other_calls(tree, walk.barriers)})


def _in_own_pipe(tree: Seq) -> frozenset[Access]:
    """The accesses that an instruction of their own pipe may have to wait for."""
    index = AccessIndex(tree, waits=False)
    own = {item: clashing & index.of_pipe[item.pipe] for item, clashing in index.clashing.items()}
    return frozenset(index.members(_union(own.values())))


def _with_barriers(tree: Seq, barriers: Mapping[_Place, Statement]) -> Seq:
    """The tree with ``barriers`` in front of its instructions and loops, whose places are counted here."""
    places = {Instruction: count(), For: count()}

    def change(statement: Statement) -> Statement:
        kind = Instruction if isinstance(statement, Instruction) else type(statement)
        if kind not in places:
            return statement
        barrier = barriers.get((kind, next(places[kind])))
        return statement if barrier is None else seq(barrier, statement)

    return as_seq(rewrite(tree, change) or tree)


def _of_other_calls(tree: Seq, barriers: Mapping[_Place, Statement]) -> dict[_Place, Statement]:
    """The barriers of a stage in its other places: it is one function, which all of them call."""
    calls: dict[str, list[dict[type[Statement], int]]] = {}
    counted: dict[type[Statement], int] = {Instruction: 0, For: 0}
    sizes: dict[str, dict[type[Statement], int]] = {}

    def visit(statement: Statement) -> None:
        before = dict(counted)
        for child in statement.children():
            visit(child)
        kind = Instruction if isinstance(statement, Instruction) else type(statement)
        if kind in counted:
            counted[kind] += 1
        if isinstance(statement, Stage):
            calls.setdefault(statement.name, []).append(before)
            sizes[statement.name] = {kind: counted[kind] - before[kind] for kind in counted}

    visit(tree)
    found: dict[_Place, Statement] = {}
    for name, starts in calls.items():
        for kind, size in sizes[name].items() if len(starts) > 1 else ():
            for offset in range(size):
                places = [(kind, start[kind] + offset) for start in starts]
                needed = [barriers[place] for place in places if place in barriers]
                whole = [each for each in needed if isinstance(each, Barrier)]  # those without a condition
                found |= dict.fromkeys(places, (whole or needed)[0]) if needed else {}
    return found


_Place = tuple[type[Statement], int]  # the n-th instruction of a tree, or its n-th loop, inner ones first


class _Inserting(Walk):
    """Inserts the barriers that same-pipe conflicts need; they change what loops do, so states may shrink."""

    def __init__(self, flow: Flow, index: AccessIndex) -> None:
        super().__init__()
        self._flow, self._index = flow, index
        self.barriers: dict[_Place, Statement] = {}
        self._known: dict[tuple[Loop, int, int], tuple[State, dict[_Place, Statement]]] = {}

    def clash(self, start: Start, clashes: int, state: State) -> None:
        item, first = start.item, self._flow.rows.pipe(start.item.pipe)
        same_pipe = clashes >> first & self._index.of_pipe[item.pipe]
        if same_pipe:
            ordered = self._own_order(item, same_pipe)
            self.barriers[Instruction, start.number] = _barrier(item, ordered)
            self._flow.complete(item.pipe, ordered.buffer if ordered else None).run(state, self)

    def _own_order(self, item: Instruction, clashes: AccessSet) -> OwnOrder | None:
        """What the pipe promises of its own, where the instruction clashes with none but itself."""
        promised = item.own_order()
        if promised is None or any(pair != (item, promised.buffer) for pair in self._index.members(clashes)):
            return None
        return promised

    def loop(self, loop: Loop, state: State) -> None:
        """An innermost loop, or one of disjoint steps, gets its barrier in front if that saves one inside."""
        entry = state.copy()
        barriers = self._inside(loop, state)
        if not loop.innermost and not loop.statement.disjoint:
            self.barriers |= barriers
            return
        for pipe in _pipes_of_barriers((loop.statement, *barriers.values())):
            hoisted = entry.copy()
            self._flow.complete(pipe).run(hoisted, self)
            fewer = self._inside(loop, hoisted)
            if len(fewer) < len(barriers):
                place = (For, loop.number)
                self.barriers |= fewer | {place: Barrier(pipe=pipe, where=loop.statement.where)}
                state.become(hoisted)
                return
        self.barriers |= barriers

    def iterate(self, loop: Loop, state: State) -> None:
        self.barriers = {}  # those of the fixpoint's last run hold for all iterations
        super().iterate(loop, state)

    def _inside(self, loop: Loop, state: State) -> dict[_Place, Statement]:
        """Change the state to that after the loop; the barriers that it needs inside."""
        key = (loop, state.bits, state.present)
        if key not in self._known:
            outer, entry = self.barriers, state.copy()
            _, after = self.fixpoint(loop, entry)
            self._known[key], self.barriers = (after, self.barriers), outer
        after, barriers = self._known[key]
        self.leave(loop, state, after)
        return barriers


def _pipes_of_barriers(statements: Iterable[Statement]) -> list[Pipe]:
    """The pipes of all barriers inside, in the order of their names."""
    inside = (item for statement in statements for item in statement.walk())
    return sorted({item.pipe for item in inside if isinstance(item, Barrier)}, key=lambda pipe: pipe.value)


def _barrier(item: Instruction, ordered: OwnOrder | None) -> Statement:
    """The barrier in front of an instruction, conditional where its pipe has an order of its own."""
    if ordered is None:
        return Barrier(pipe=item.pipe, where=item.where)
    when, buffer = ordered.unordered, ordered.buffer
    return seq(
        Note(text=ordered.reason),
        Barrier(pipe=item.pipe, when=when, buffer=buffer, where=item.where),
    )
