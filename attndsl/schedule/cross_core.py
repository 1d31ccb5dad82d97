"""Pass: flags between cores, derived from which stage writes and which reads a workspace tensor.

Needs: a joint program. Gives: ``program.flags`` and the flag statements inside the stages.

A tensor that the cores of one block share is a ring of slots; its writer raises a flag behind its last
write, its reader waits before its first read (mode 2: AIC and both its AIVs). That a slot is free again
before it is overwritten follows from the order of the stages and is proved here for each ring, by
following the flags over enough iterations; a ring for which it does not follow is an error.
A tensor that all blocks share is read only after all vector cores have passed a common flag (mode 0).
"""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.errors import InternalError
from attndsl.hardware import ATLAS_A2, Core, Pipe
from attndsl.tile.buffers import GlobalTensor
from attndsl.tile.instructions import Instruction
from attndsl.tile.program import Program
from attndsl.tile.statements import (
    Pipelined,
    Seq,
    SetCrossFlag,
    Stage,
    Statement,
    WaitCrossFlag,
    as_seq,
    rewrite,
    seq,
)

_BLOCK_MODE, _DEVICE_MODE = 2, 0


@dataclass(frozen=True, slots=True)
class Handover:
    """A workspace tensor, the stages that write and read it, and the flag between them."""

    tensor: GlobalTensor
    writer: Stage
    reader: Stage
    pipe: Pipe


def derive_flags(program: Program) -> Program:
    """The program with its cross-core flags.

    Raises:
        InternalError: a ring is too short for the order of its stages, or flag ids run out.
    """
    handovers = _handovers(program)
    rings = [item for item in handovers if item.tensor.shared == "block"]
    for loop in (item for item in program.body.walk() if isinstance(item, Pipelined)):
        _prove_reuse(loop, [item for item in rings if item.writer in loop.stages])
    device = sorted({item.reader.name for item in handovers if item.tensor.shared == "device"})
    names = [_flag_name(item) for item in rings] + [f"before{reader}" for reader in device]
    if len(names) > ATLAS_A2.cross_core_flags:
        raise InternalError(f"{len(names)} cross-core flags, the hardware has {ATLAS_A2.cross_core_flags}")
    flags = {name: index for index, name in enumerate(names)}

    def change(statement: Statement) -> Statement | None:
        if not isinstance(statement, Stage):
            return statement
        body = statement.body
        for item in rings:
            name = _flag_name(item)
            if item.writer is statement:
                body = _set_behind_last(body, item, name, flags[name])
            if item.reader is statement:
                body = _wait_before_first(body, item, name, flags[name])
        if statement.name in device:
            body = _meet_all(body, f"before{statement.name}", flags[f"before{statement.name}"])
        return statement.with_children((body,)) if body is not statement.body else statement

    return program.with_(body=as_seq(rewrite(program.body, change) or Seq(body=())), flags=flags)


def _flag_name(item: Handover) -> str:
    return f"{item.tensor.name}Ready"


def _handovers(program: Program) -> list[Handover]:
    stages = [item for item in program.body.walk() if isinstance(item, Stage)]
    found = []
    for tensor in program.workspace:
        writers = [(stage, pipe) for stage in stages if (pipe := _writing_pipe(stage, tensor)) is not None]
        readers = [stage for stage in stages if _reads(stage, tensor)]
        if len(writers) != 1 or len(readers) != 1:
            raise InternalError(f"workspace tensor {tensor.name} needs one writing and one reading stage")
        (writer, pipe), reader = writers[0], readers[0]
        found.append(Handover(tensor, writer, reader, pipe))
    return found


def _touches(stage: Stage, tensor: GlobalTensor) -> list[Instruction]:
    instructions = (item for item in stage.walk() if isinstance(item, Instruction))
    return [item for item in instructions if tensor in (*item.gm_reads(), *item.gm_writes())]


def _writing_pipe(stage: Stage, tensor: GlobalTensor) -> Pipe | None:
    pipes = {item.pipe for item in _touches(stage, tensor) if tensor in item.gm_writes()}
    assert len(pipes) <= 1, "one pipe writes a workspace tensor"
    return pipes.pop() if pipes else None


def _reads(stage: Stage, tensor: GlobalTensor) -> bool:
    return any(tensor in item.gm_reads() for item in _touches(stage, tensor))


def _touches_inside(statement: Statement, tensor: GlobalTensor, write: bool) -> bool:
    for item in statement.walk():
        if isinstance(item, Instruction):
            tensors = item.gm_writes() if write else item.gm_reads()
            if tensor in tensors:
                return True
    return False


def _set_behind_last(body: Seq, item: Handover, name: str, flag: int) -> Seq:
    last = max(i for i, s in enumerate(body.body) if _touches_inside(s, item.tensor, write=True))
    raised = SetCrossFlag(name=name, flag=flag, mode=_BLOCK_MODE, pipe=item.pipe, where=item.writer.where)
    return seq(*body.body[: last + 1], raised, *body.body[last + 1 :])


def _wait_before_first(body: Seq, item: Handover, name: str, flag: int) -> Seq:
    first = min(i for i, s in enumerate(body.body) if _touches_inside(s, item.tensor, write=False))
    wait = WaitCrossFlag(name=name, flag=flag, where=item.reader.where)
    return seq(*body.body[:first], wait, *body.body[first:])


def _meet_all(body: Seq, name: str, flag: int) -> Seq:
    raised = SetCrossFlag(name=name, flag=flag, mode=_DEVICE_MODE, pipe=Pipe.MTE3)
    return seq(raised, WaitCrossFlag(name=name, flag=flag), body)


# One execution of a stage: the stage, which run of the loop, which tile of that run.
_Execution = tuple[Stage, int, int]


def _prove_reuse(loop: Pipelined, rings: list[Handover]) -> None:
    """Every write of a slot comes after the read of what was there before.

    Both cores' orders are followed together: a flag carries what its raiser had finished. Two runs of
    the loop over more tiles than slots are followed, so that the step from one run to the next counts.
    """
    if not rings:
        return
    depth = ring_depth(loop)
    extent = 2 * depth + max(loop.lags)
    order = {core: _executions(loop, core, extent) for core in Core}
    known: dict[Core, int] = dict.fromkeys(Core, 0)  # how much of the other core's order is finished
    position: dict[Core, int] = dict.fromkeys(Core, 0)
    raised: dict[tuple[GlobalTensor, int, int], int] = {}
    while any(position[core] < len(order[core]) for core in Core):
        before = dict(position)
        for core, other in ((Core.AIC, Core.AIV), (Core.AIV, Core.AIC)):
            while position[core] < len(order[core]):
                stage, run, tile = order[core][position[core]]
                flags = [(item.tensor, run, tile) for item in rings if item.reader is stage]
                if any(flag not in raised for flag in flags):
                    break
                known[core] = max([known[core], *(raised[flag] for flag in flags)])
                _check_slot((stage, run, tile), rings, depth, extent, order[other][: known[core]])
                position[core] += 1
                for item in rings:
                    if item.writer is stage:
                        raised[item.tensor, run, tile] = position[core]
        if position == before:
            raise InternalError("the stages of a pipelined loop wait for each other for ever")


def _check_slot(
    execution: _Execution, rings: list[Handover], depth: int, extent: int, finished: list[_Execution]
) -> None:
    stage, run, tile = execution
    if tile >= depth:
        last_user = (run, tile - depth)
    elif run > 0:
        last_user = (run - 1, max(other for other in range(extent) if other % depth == tile))
    else:
        return
    for item in rings:
        if item.writer is stage and (item.reader, *last_user) not in finished:
            raise InternalError(
                f"{stage.name} overwrites a slot of {item.tensor.name} that {item.reader.name} may still read"
            )


def ring_depth(loop: Pipelined) -> int:
    """Slots of the workspace rings of a loop: one more than its deepest lag."""
    return max(loop.lags) + 1


def _executions(loop: Pipelined, core: Core, extent: int) -> list[_Execution]:
    """The order in which a core runs its stages in two runs of the loop."""
    mine = [(s, lag) for s, lag in zip(loop.stages, loop.lags, strict=True) if s.core is core]
    steps = extent + max((lag for _, lag in mine), default=0)
    return [
        (stage, run, step - lag)
        for run in range(2)
        for step in range(steps)
        for stage, lag in mine
        if 0 <= step - lag < extent
    ]
