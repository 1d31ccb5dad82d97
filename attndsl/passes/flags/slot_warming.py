"""Flags of rings whose slots vector cores store to before the pipeline, so that L2 holds them.

A slot is warm once both vector cores have stored to their parts of it: they set a flag for each slot, in the
order in which the steps take them. The cube waits for one in each of its first steps, as many as the ring has
slots, before it writes the slot. So its n-th wait tells that the slot of its n-th step is warm, and what the
vector cores stored cannot overwrite what the cube stores: later writes of a slot come after the first one.
The counts agree where a core with any step has at least as many as there are slots: the last run of a
continuous loop has as many as its deepest lag.

A stage of the loop may also store to rows of its step's slot that the step has no use for, where the slot is
used the first time. It needs no flag: it comes before the stage of the same step that reads the ring, and the
cube does not write the slot again before that is over (slot_reuse.py, and ring_order.py for the pipe that
stores).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attndsl.base.errors import InternalError
from attndsl.expr import Compare, Const, Expr, Symbol
from attndsl.expr.conditions import conjuncts
from attndsl.target import Core, Pipe
from attndsl.tile.buffers import GlobalTensor
from attndsl.tile.instructions import Instruction
from attndsl.tile.pipeline_skew import ring_depth
from attndsl.tile.program import Program
from attndsl.tile.statements import (
    BLOCK_MODE,
    For,
    Pipelined,
    SetCrossFlag,
    Stage,
    Statement,
    WaitCrossFlag,
    as_stage,
    rewrite,
    seq,
)

_WARMING_PIPE = Pipe.MTE3
"""The pipe of vector cores that stores, and so may tell that it has."""


def warm_flag(ring: GlobalTensor) -> str:
    """The flag that says that a slot of a ring is warm."""
    return f"{ring.name}Warm"


def warmed_rings(program: Program) -> tuple[GlobalTensor, ...]:
    """The rings of which a slot is stored to before the loop, and awaited in it."""
    rings = (stage.warms for stage in _warming(program) if not _is_in_step(program, stage))
    return tuple(dict.fromkeys(ring for ring in rings if ring is not None))


def _is_in_step(program: Program, stage: Stage) -> bool:
    """Whether a stage stores to slots in steps of the loop."""
    loops = (item for item in program.body.walk() if isinstance(item, Pipelined))
    return stage.core is Core.AIV and any(stage in loop.stages for loop in loops)


def check_warming(program: Program) -> None:
    """Each warmed ring has the form that the module's proof speaks of.

    Raises:
        InternalError: naming the stage that has not.
    """
    loops = [item for item in program.body.walk() if isinstance(item, Pipelined)]
    inside = {stage for loop in loops for stage in loop.stages}
    for loop in loops:
        for stage in loop.stages:
            if stage.warms is not None and stage.core is Core.AIV:
                _check_in_step(loop, stage)
    for ring in warmed_rings(program):
        mine = [stage for stage in _warming(program) if stage.warms is ring]
        if [(stage.core, stage in inside) for stage in mine] != [(Core.AIV, False), (Core.AIC, True)]:
            raise InternalError(
                f"{ring.name} is warmed by one stage before the loop, and awaited by one in it"
            )
        store, wait = mine
        loop = next(each for each in loops if wait in each.stages)
        slots = dict(loop.shorter).get(ring)
        if not loop.continuous or slots != max(loop.lags):
            raise InternalError(f"{wait.name} waits for slots of {ring.name} in steps that need not come")
        _check_stores(store, ring, slots)
        _check_wait(loop, wait, ring, slots)


def with_warm_flags(stage: Stage, flag: int) -> Stage:
    """A stage that warms a ring, with a flag for each slot; or one that waits for the next."""
    assert stage.warms is not None
    name, where = warm_flag(stage.warms), stage.where
    if stage.core is Core.AIC:
        return stage.with_children((seq(WaitCrossFlag(name=name, flag=flag, where=where)),))
    raised = SetCrossFlag(name=name, flag=flag, mode=BLOCK_MODE, pipe=_WARMING_PIPE, where=where)
    over_slots = _over_slots(stage)

    def change(statement: Statement) -> Statement:
        # the loop itself is rebuilt where a statement inside it is; nothing inside is
        return (
            statement.with_children((seq(over_slots.body, raised),)) if statement is over_slots else statement
        )

    return as_stage(rewrite(stage, change) or stage)


def _warming(program: Program) -> Iterator[Stage]:
    return (item for item in program.body.walk() if isinstance(item, Stage) and item.warms is not None)


def _over_slots(stage: Stage) -> For:
    """The loop over slots of a stage that warms them: the outermost one."""
    loops = [item for item in stage.walk() if isinstance(item, For)]
    if not loops or any(item not in set(loops[0].walk()) for item in loops):
        raise InternalError(f"{stage.name} has no single loop over the slots that it warms")
    return loops[0]


def _check_stores(stage: Stage, ring: GlobalTensor, slots: int) -> None:
    """One turn of the outermost loop for each slot; what is stored goes to the ring."""
    loop = _over_slots(stage)
    stores = [item for item in stage.walk() if isinstance(item, Instruction) and item.gm_writes()]
    turns = (loop.end - loop.begin).evaluate({})
    if turns != slots or not loop.step.same(Const(1)):
        raise InternalError(f"{stage.name} warms {turns} slots of {slots} of {ring.name}")
    inside = set(loop.walk())
    if not all(_is_warming(item, ring) and item in inside for item in stores):
        raise InternalError(f"{stage.name} stores to something else than slots of {ring.name}")


def _is_warming(store: Instruction, ring: GlobalTensor) -> bool:
    """Whether it stores to the ring alone, from the pipe that sets the flag."""
    return store.pipe is _WARMING_PIPE and store.gm_writes() == (ring,)


def _check_in_step(loop: Pipelined, stage: Stage) -> None:
    """It stores to its ring alone, in the steps that use a slot the first time, in front of the stage of its
    core that reads the ring: what is proved of that stage holds of it."""
    ring, steps, place = stage.warms, loop.steps, loop.stages.index(stage)
    assert ring is not None
    stores = [item for item in stage.walk() if isinstance(item, Instruction) and item.gm_writes()]
    if not all(_is_warming(item, ring) for item in stores):
        raise InternalError(f"{stage.name} stores to something else than slots of {ring.name}")
    slots = dict(loop.shorter).get(ring, ring_depth(loop))
    when = conjuncts(loop.when[place]) if steps is not None else []
    if steps is None or not any(_is_first(part, steps.counter, slots) for part in when):
        raise InternalError(f"{stage.name} stores to slots of {ring.name} that were used")
    reads = (number for number, each in enumerate(loop.stages) if _reads(each, ring))
    if not any(
        number > place
        and loop.lags[number] == loop.lags[place]
        and _follows(when, conjuncts(loop.when[number]))
        for number in reads
    ):
        raise InternalError(f"no stage of the step reads {ring.name} behind {stage.name}")


def _is_first(condition: Expr, counter: Symbol, slots: int) -> bool:
    """Whether a condition holds in none but the first ``slots`` steps."""
    if not isinstance(condition, Compare) or not isinstance(condition.right, Const):
        return False
    most = condition.right.value
    return isinstance(most, int) and most <= slots and condition.same(counter <= condition.right)


def _reads(stage: Stage, ring: GlobalTensor) -> bool:
    instructions = (item for item in stage.walk() if isinstance(item, Instruction))
    return stage.core is Core.AIV and any(ring in item.gm_reads() for item in instructions)


def _follows(when: Sequence[Expr], other: Sequence[Expr]) -> bool:
    """Whether all conditions of another stage are among those of this one."""
    return all(any(part.same(each) for each in when) for part in other)


def _check_wait(loop: Pipelined, wait: Stage, ring: GlobalTensor, slots: int) -> None:
    """The cube waits in the first steps, whatever work they have, and before it writes the ring."""
    place = loop.stages.index(wait)
    writers = (
        number
        for number, stage in enumerate(loop.stages)
        for item in stage.walk()
        if isinstance(item, Instruction) and ring in item.gm_writes()
    )
    when = loop.when[place]
    assert loop.steps is not None and loop.prefetch is not None
    first = when is not None and when.same(loop.steps.counter <= loop.prefetch)
    if loop.lags[place] or not first or place > min(writers):
        raise InternalError(f"{wait.name} does not wait for {ring.name} in its first {slots} steps")
