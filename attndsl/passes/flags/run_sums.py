"""Flags of rings in which iterations of a run are added up (``Pipelined.sums``), and the proof of order.

The cube adds what it makes of an iteration to the slot of the run; its first one it stores. The vector cores
may change the slot between two iterations, and take the whole sum after the last. So the ring has two
writers, and a flag goes each way:

    Ready       the cube has added an iteration; the reading stage waits for it, as of every ring
    Rescaled    the vector cores have seen the sum and changed what they want: the next may be added

The second one is raised in each iteration but a run's last, and awaited in each but its first, right before
the store: both by the number of the iteration alone, so that no flag depends on data. The sums of a run come
from one core in the order of its iterations.

The proof follows both cores, as slot_reuse.py does. Between two runs that have the same slot there are
``depth - 1`` others. With more iterations between two stages a core knows no less of the other one: runs of
one iteration, with work or without, are the ones to look at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, product

from attndsl.base.errors import InternalError
from attndsl.expr import Compare, Const, Expr
from attndsl.passes.flags.slot_reuse import (
    Execution,
    execution_graph,
    executions,
    finished_of_other,
    flag_edges,
)
from attndsl.target import Core, Pipe
from attndsl.tile.buffers import GlobalTensor
from attndsl.tile.instructions import Fixpipe, Instruction
from attndsl.tile.program import Program
from attndsl.tile.statements import (
    BLOCK_MODE,
    For,
    If,
    Pipelined,
    Seq,
    SetCrossFlag,
    Stage,
    Statement,
    WaitCrossFlag,
    rewrite,
    seq,
)

_RETURNING_PIPE = Pipe.MTE3
"""The pipe of vector cores that stores to a slot, and so may tell that it has."""


@dataclass(frozen=True, slots=True)
class RunSums:
    """A ring of sums, and who uses it.

    Attributes:
        writer: adds. ``reader``: sees the sum of each iteration. ``finisher``: takes that of the run.
    """

    tensor: GlobalTensor
    loop: Pipelined
    writer: Stage
    reader: Stage
    finisher: Stage

    @property
    def rescaled(self) -> str:
        """The flag that says that the next iteration may be added."""
        return f"{self.tensor.name}Rescaled"

    @property
    def is_later(self) -> Expr:
        """Whether an iteration is none of the first of a run."""
        one = self.loop.turn.same(Const(1))
        return self.loop.var > 0 if one else Compare(">=", self.loop.var, self.loop.turn)

    @property
    def is_followed(self) -> Expr:
        """Whether an iteration is none of the last of a run."""
        return Compare("<", self.loop.var, self.loop.extent - self.loop.turn)


def run_sums(program: Program) -> tuple[RunSums, ...]:
    """The rings of sums of a program.

    Raises:
        InternalError: naming the stage that has not the form that the module's proof speaks of.
    """
    loops = (item for item in program.body.walk() if isinstance(item, Pipelined))
    return tuple(_checked(_found(loop, tensor)) for loop in loops for tensor in loop.sums)


def _found(loop: Pipelined, tensor: GlobalTensor) -> RunSums:
    users = [stage for stage in loop.stages if any(True for _ in _accesses(stage, tensor))]
    cores = [stage.core for stage in users]
    if cores != [Core.AIC, Core.AIV, Core.AIV] or not loop.continuous:
        names = ", ".join(stage.name for stage in users)
        raise InternalError(f"{tensor.name} takes sums of a cube that two stages read, not {names}")
    return RunSums(tensor, loop, *users)


def _checked(sums: RunSums) -> RunSums:
    """The sums, once their stages have work when the flags say so, and access the ring under that alone."""
    loop, name = sums.loop, sums.tensor.name
    when = dict(zip(loop.stages, loop.when, strict=True))
    last: Expr = Compare("==", loop.var, loop.extent - 1)
    if not loop.turn.same(Const(1)):
        last = Compare(">=", loop.var, loop.extent - loop.turn)
    keyed, own, end = (when[each] for each in (sums.writer, sums.reader, sums.finisher))
    if keyed is None or own is None or end is None or not (keyed.same(own) and last.same(end)):
        raise InternalError(f"the stages of {name} do not work in all iterations with work, and the last one")
    lags = dict(zip(loop.stages, loop.lags, strict=True))
    if len({lags[each] for each in (sums.writer, sums.reader, sums.finisher)}) > 1:
        raise InternalError(f"the stages of {name} work on different iterations")
    for item, path in _accesses(sums.writer, sums.tensor):
        if not isinstance(item, Fixpipe) or not item.adds.same(sums.is_later) or _conditions(path):
            raise InternalError(f"{sums.writer.name} does not add to {name} in all iterations but the first")
    for _, path in _accesses(sums.reader, sums.tensor):
        if not any(condition.same(sums.is_followed) for condition in _conditions(path)):
            raise InternalError(f"{sums.reader.name} changes {name} after the last iteration")
    for item, path in _accesses(sums.finisher, sums.tensor):
        if item.gm_writes() or not any(condition.same(keyed) for condition in _conditions(path)):
            raise InternalError(f"{sums.finisher.name} reads sums of {name} that nobody made")
    return sums


_Path = tuple[Statement, ...]
"""The statements that one stands in, from a stage on; of a branch its part that holds."""


def _accesses(
    statement: Statement, tensor: GlobalTensor, path: _Path = ()
) -> Iterator[tuple[Instruction, _Path]]:
    if isinstance(statement, Instruction):
        if tensor in (*statement.gm_reads(), *statement.gm_writes()):
            yield statement, path
        return
    for child in statement.children():
        kept = path if isinstance(statement, If) and child is not statement.then else (*path, statement)
        yield from _accesses(child, tensor, kept)


def _conditions(path: _Path) -> list[Expr]:
    return [each.condition for each in path if isinstance(each, If)]


# Flags --------------------------------------------------------------------------------------------------


def with_sum_flags(stage: Stage, sums: RunSums, flag: int) -> Stage:
    """A stage of a ring of sums with its side of the flag that the next iteration may be added."""
    if stage.name == sums.reader.name:
        raised = SetCrossFlag(
            name=sums.rescaled, flag=flag, mode=BLOCK_MODE, pipe=_RETURNING_PIPE, where=stage.where
        )
        return stage.with_children((seq(stage.body, If(condition=sums.is_followed, then=seq(raised))),))
    first, path = next(_accesses(stage, sums.tensor))
    condition = sums.is_later
    for loop in (each for each in path if isinstance(each, For)):
        condition = condition & (loop.var == loop.begin)
    wait = WaitCrossFlag(name=sums.rescaled, flag=flag, where=stage.where)
    before = If(condition=condition, then=seq(wait), where=stage.where)

    def change(statement: Statement) -> Statement:
        return seq(before, statement) if statement is first else statement

    body = rewrite(stage.body, change)
    assert isinstance(body, Seq)
    return stage.with_children((body,))


# Proof --------------------------------------------------------------------------------------------------


def prove_sums(sums: RunSums, rings: tuple[tuple[int, int], ...], waits: tuple[int, ...], depth: int) -> None:
    """No slot is written before all that was there has been read, and none is read before it was written.

    ``rings``, ``waits``: the stages that write and read each ring of the loop, and wait for it.

    Raises:
        InternalError: naming what is not so.
    """
    loop = sums.loop
    place = {stage: number for number, stage in enumerate(loop.stages)}
    users = (place[sums.writer], place[sums.reader], place[sums.finisher])
    cores = tuple(stage.core for stage in loop.stages)
    halves = 1 if loop.turn.same(Const(1)) else 2
    found = defect_of_sums(cores, loop.lags, rings, waits, users, depth, halves)
    if found:
        raise InternalError(f"{sums.tensor.name}: {found}")


@lru_cache(maxsize=64)
def defect_of_sums(
    cores: tuple[Core, ...],
    lags: tuple[int, ...],
    rings: tuple[tuple[int, int], ...],
    waits: tuple[int, ...],
    users: tuple[int, int, int],
    depth: int,
    most_halves: int = 1,
) -> str:
    """What is wrong with the order of the stages ``users`` of a ring of sums of ``depth`` slots; or "".

    ``most_halves``: halves of a run at most, which take iterations in turn and have slots of their own.
    The others are as of :func:`attndsl.passes.flags.slot_reuse.first_defect_of_steps`.
    """
    for first, between, last, halves in product((1, 2, depth + 1), (0, 1), (1, 2), range(1, most_halves + 1)):
        # runs of one half may stand between those of several
        for inner in {1, halves}:
            runs = ((first, halves), *((between, inner),) * (depth - 1), (last, halves))
            found = Followed(cores, lags, rings, waits, users, runs).defect(depth)
            if found:
                return found
    return ""


class Followed:
    """Both cores over runs: the iterations with work of a half, and the halves; one without work has an
    iteration, too."""

    def __init__(
        self,
        cores: tuple[Core, ...],
        lags: tuple[int, ...],
        rings: tuple[tuple[int, int], ...],
        waits: tuple[int, ...],
        users: tuple[int, int, int],
        runs: tuple[tuple[int, int], ...],
    ) -> None:
        self._writer, self._reader, self._finisher = users
        self._chains = list[tuple[int, int, list[int]]]()
        idle, steps = set[int](), 0
        for number, (work, halves) in enumerate(runs):
            end = steps + max(work, 1) * halves
            for half in range(halves):
                self._chains.append((number, half, list(range(steps + half, end, halves))))
            if not work:
                idle |= set(range(steps, end))
            steps = end
        self._firsts = {chain[0] for _, _, chain in self._chains}
        self._lasts = {chain[-1] for _, _, chain in self._chains}
        self._idle, self._steps = frozenset(idle), range(steps)
        orders = {
            core: [each for each in executions(cores, lags, core, (steps,)) if self._works(each)]
            for core in Core
        }
        edges, again = flag_edges(orders, rings, waits), self._again(orders)
        self._stuck = edges is None or again is None
        if edges is None or again is None:
            return
        graph = execution_graph(orders, [*edges, *again])
        self._place = {each: number for order in orders.values() for number, each in enumerate(order)}
        finished = finished_of_other(graph, self._place)
        self._stuck = finished is None
        self._finished = finished or {}

    def _works(self, execution: Execution) -> bool:
        stage, _, step = execution
        if stage == self._finisher:
            return step in self._lasts
        return step not in self._idle

    def _again(self, orders: dict[Core, list[Execution]]) -> list[tuple[Execution, Execution]] | None:
        """Who says that an iteration may be added for which one."""
        every = [each for order in orders.values() for each in order]
        sets = [each for each in every if each[0] == self._reader and each[2] not in self._lasts]
        waits = [each for each in every if each[0] == self._writer and each[2] not in self._firsts]
        return list(zip(sets, waits, strict=True)) if len(sets) == len(waits) else None

    def _knows(self, later: int, at: int, earlier: int, before: int) -> bool:
        """Whether a stage knows at its beginning that one of the other core is over."""
        return self._place[earlier, 0, before] < self._finished[later, 0, at]

    def defect(self, slots: int) -> str:
        """What is wrong; nothing: ""."""
        if self._stuck:
            return "the cores wait for each other for ever"
        ends = {(number, half): chain[-1] for number, half, chain in self._chains}
        for number, half, chain in self._chains:
            first, last = chain[0], chain[-1]
            if first in self._idle:
                continue
            end = ends.get((number - slots, half), first)
            if (
                end != first
                and end not in self._idle
                and not self._knows(self._writer, first, self._finisher, end)
            ):
                return "a run begins in a slot whose sums are not taken yet"
            for before, step in pairwise(chain):
                if not self._knows(self._writer, step, self._reader, before):
                    return "an iteration is added before the one before it was seen"
            for step in chain:
                if not self._knows(self._reader, step, self._writer, step):
                    return "an iteration is seen before it was added"
            if not self._knows(self._finisher, last, self._writer, last):
                return "sums are taken before the last iteration was added"
        return ""
