"""A core's tree as a sequence of bit-vector transfer functions, for the race analysis.

:class:`Flow` translates each statement of the tree into a transfer function
(transfer_functions.py) with the masks of the rows (analysis_state.py) that it changes.
"""

from __future__ import annotations

from collections.abc import Mapping

from attndsl.expr import Compare, Const, Symbol
from attndsl.passes.events.access_sets import AccessIndex, AccessSet, Group, disjoint_depth, is_of_handed
from attndsl.passes.events.analysis_state import Rows, State
from attndsl.passes.events.transfer_functions import (
    Branch,
    CaseSplit,
    Complete,
    Flag,
    HandOver,
    Loop,
    Raise,
    RotateSlots,
    Start,
    TransferFunction,
    Wait,
)
from attndsl.target import Pipe
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import Instruction
from attndsl.tile.statements import (
    BLOCK_MODE,
    Alloc,
    Barrier,
    Earlier,
    For,
    Handed,
    If,
    Let,
    Pipelined,
    Seq,
    SetCrossFlag,
    SetEvent,
    Statement,
    WaitEvent,
)


class Flow:
    """The transfer functions of a tree.

    Statements that change no state are left out.

    Attributes:
        marks: a bit for each event, by name.
        loops: its loops, inner ones first.
    """

    def __init__(
        self,
        tree: Seq,
        index: AccessIndex,
        sure: frozenset[For],
        *,
        clashing: Mapping[Instruction, AccessSet] | None = None,
        split_at: frozenset[str] = frozenset(),
        merge: bool = False,
    ) -> None:
        """``clashing``: what an instruction is asked for, else all that must be complete before it.

        ``split_at``: scalars after whose definition the walk is told (:class:`CaseSplit`). ``merge``: make
        one function of instructions that follow each other, where clashes among these do not matter.
        """
        self._index, self._sure, self._merge = index, sure, merge
        self._clashing = index.clashing if clashing is None else clashing
        self._split_at = split_at
        self.rows = Rows(index)
        self.marks = {name: 1 << number for number, name in enumerate(index.events)}
        self.loops: list[Loop] = []
        self._instructions = self._count = 0  # instructions and loops so far: their numbers
        self._awaited = 0  # events that the loop around awaits
        self._recalled = 0  # how many Earlier are around
        self.functions = self._body(tree)

    def start(self) -> State:
        """Nothing was issued yet."""
        return State(0, self.rows.pipes)

    def traces(self, name: str) -> int:
        """The bits of an event in any state: its ids' rows, its waits, and whether it may be up."""
        rows, waits = self.rows, self._index.at_any_age(self._index.waits[name])
        ids = self._index.ids(self._index.events[name])
        return rows.everywhere(waits) | waits << rows.up | rows.ids(name, ids)

    def _body(self, statement: Statement) -> tuple[TransferFunction, ...]:
        found: list[TransferFunction] = []
        self._add(statement, found)
        return tuple(found)

    def _add(self, statement: Statement, found: list[TransferFunction]) -> None:
        if isinstance(statement, Instruction):
            self._add_start(statement, found)
        elif isinstance(statement, Seq):
            self._add_all(statement.body, found)
        elif isinstance(statement, For):
            self._add_loop(statement, found)
        elif isinstance(statement, If):
            self._recalled += isinstance(statement, Earlier)
            then = self._body(statement.then)
            self._recalled -= isinstance(statement, Earlier)
            otherwise = self._body(statement.otherwise) if statement.otherwise is not None else ()
            if then or otherwise:
                found.append(Branch(then, otherwise, None if self._recalled else unless_runs(statement)))
        elif not isinstance(statement, Pipelined):
            found += self._function(statement)
            for child in statement.children():
                self._add(child, found)
            if isinstance(statement, Alloc) and not isinstance(statement, Handed):
                found += self._rotation(statement.buffers)

    def _function(self, statement: Statement) -> tuple[TransferFunction, ...]:
        """What a statement does besides what is inside it."""
        if isinstance(statement, SetEvent):
            if is_of_handed(statement):
                return ()
            if not isinstance(statement, WaitEvent):
                return (self._raise(statement),)
            waited = self._wait(statement)
            return (waited,) if statement.target is not Pipe.S else (waited, self._hand_over())
        if isinstance(statement, Barrier):
            return (self.complete(statement.pipe, statement.buffer),)
        if isinstance(statement, SetCrossFlag) and statement.mode == BLOCK_MODE:
            first = self.rows.pipe(statement.pipe)
            return (Flag(statement, first, self.rows.row << first),)
        return ()

    def _add_all(self, body: tuple[Statement, ...], found: list[TransferFunction]) -> None:
        for place, child in enumerate(body):
            if isinstance(child, Let) and child.symbol.name in self._split_at:
                rest: list[TransferFunction] = []
                self._add_all(body[place + 1 :], rest)
                found.append(CaseSplit(child.symbol.name, tuple(rest)))
                return
            self._add(child, found)

    def _add_start(self, item: Instruction, found: list[TransferFunction]) -> None:
        number, accesses = self._instructions, self.rows.everywhere(self._index.of[item])
        self._instructions += 1
        clashing = self._clashing[item] << self.rows.pipe(item.pipe)
        if not accesses and not clashing:
            return
        start = Start(item, number, clashing, accesses)
        if self._merge and found and isinstance(found[-1], Start):
            found[-1] = found[-1].with_(start)
        else:
            found.append(start)

    def _add_loop(self, loop: For, found: list[TransferFunction]) -> None:
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
                    bound=None if self._recalled else upper_bound(loop),  # a bound of an earlier step
                    apart=self.rows.everywhere(self._disjoint(loop)),
                    distance=(self._index.ages + disjoint_depth(loop.body)) * self._index.width,
                )
            )
            found.append(self.loops[-1])

    def _disjoint(self, loop: For) -> AccessSet:
        """Accesses that cannot clash with a later iteration: they are of other elements of the same slot."""
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

    def _raise(self, event: SetEvent) -> TransferFunction:
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

    def _wait(self, event: WaitEvent) -> TransferFunction:
        ages, rows, bit = self._ages(event), self.rows, self._index.waits[event.name]
        target = rows.pipe(event.target)
        self._awaited |= self.marks[event.name]
        firsts = [rows.event(event.name, age) for age in ages]
        return Wait(
            mark=self.marks[event.name],
            target=target,
            unfinished=rows.row << target,
            ids=tuple((first, rows.row << first) for first in firsts),
            accesses=rows.everywhere(bit) ^ bit << target,
            lowered=bit << target | bit << rows.up if len(ages) == 1 else 0,
        )

    def _hand_over(self) -> HandOver:
        rows, others = self.rows, [each for each in self._index.pipes if each is not Pipe.S]
        return HandOver(rows.pipe(Pipe.S), rows.row, tuple(map(rows.pipe, others)))

    def complete(self, pipe: Pipe, buffer: Buffer | None = None) -> Complete:
        """A barrier, or one for a buffer alone."""
        found = self._index.of_pipe[pipe]
        if buffer is not None:
            found &= self._index.of_buffers((buffer,))
        return Complete(pipe, found << self.rows.pipe(pipe))

    def _rotation(self, group: Group) -> tuple[TransferFunction, ...]:
        slots = group[0].slots
        if slots == 1:
            return ()
        index, rows = self._index, self.rows
        every, oldest = index.rotation(group)
        moving = last = 0
        for name in index.slot_events.get(group, ()):
            moving |= rows.ids(name, slots - 1)
            last |= rows.ids(name, slots) ^ rows.ids(name, slots - 1)
        young = every ^ oldest
        if not every and not last:
            return ()
        return (
            RotateSlots(
                slots=slots,
                width=index.width,
                young=rows.everywhere(young) | young << rows.up,
                oldest=rows.everywhere(oldest) | oldest << rows.up,
                row=rows.width,
                moving=moving,
                last=last,
            ),
        )


def unless_runs(branch: If) -> str | None:
    """The scalar n of a condition ``n <= 0``."""
    condition = branch.condition
    if not isinstance(condition, Compare) or condition.op != "<=" or not condition.right.same(Const(0)):
        return None
    return condition.left.name if isinstance(condition.left, Symbol) else None


def upper_bound(loop: For) -> str | None:
    """The scalar n of a loop ``0..n``."""
    from_zero = loop.begin.same(Const(0)) and isinstance(loop.end, Symbol)
    return loop.end.name if from_zero and isinstance(loop.end, Symbol) else None
