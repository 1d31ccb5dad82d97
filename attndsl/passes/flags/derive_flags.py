"""Pass: cross-core flags, derived from the stages that write and read each workspace tensor.

A tensor that the cores of one block share is a ring of slots. Its writer sets a flag, its reader waits for
the flag (mode 2: AIC and both its AIVs). Rings between the same two stages share one flag. A stage waits for
all its flags before its first access of any ring, and sets its own flags after the last access, so a stage
is one step for the rings. (ring_order.py checks, once there are events, that the setting pipe is ordered
after every ring access of its core.) The order of these steps implies that a slot is free before it is
overwritten. This is proved here for each ring: both cores are followed over runs of the loop of several
lengths. A ring without such a proof is an error.

A tensor that all blocks share is read only after all vector cores have passed a common flag (mode 0). If
cubes read it, or scalar units its elements, then vector cores release their cubes (mode 2): scalar units of
cubes may be among the readers. All scalar readers of a tensor count as its one reader.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from attndsl.base.errors import InternalError
from attndsl.expr import Load, Scope
from attndsl.passes.flags.run_sums import RunSums, prove_sums, run_sums, with_sum_flags
from attndsl.passes.flags.slot_reuse import SOUND, STUCK, first_defect, first_defect_of_steps
from attndsl.passes.flags.slot_warming import (
    check_warming,
    warm_flag,
    warmed_rings,
    with_warm_flags,
)
from attndsl.target import Core, Pipe
from attndsl.tile.buffers import GlobalTensor
from attndsl.tile.instructions import Instruction
from attndsl.tile.naming import camel
from attndsl.tile.pipeline_skew import ring_depth
from attndsl.tile.program import Program
from attndsl.tile.scalars import loads_of
from attndsl.tile.statements import (
    BLOCK_MODE,
    DEVICE_MODE,
    EitherStage,
    For,
    If,
    Pipelined,
    Seq,
    SetCrossFlag,
    Stage,
    Statement,
    WaitCrossFlag,
    as_seq,
    outer_stages,
    rewrite,
    seq,
)


@dataclass(frozen=True, slots=True)
class Transfer:
    """A workspace tensor, the stages that write and read it, and the flag between them.

    ``shares_flag_with``: a ring between the same stages, whose flag covers this one, too. ``awaiting``: the
    stage that waits for the flag in place of the reader, earlier in a step. ``reader``: None of a tensor
    whose elements the scalar units of all cores read.
    """

    tensor: GlobalTensor
    writer: Stage
    reader: Stage | None
    pipe: Pipe
    shares_flag_with: GlobalTensor | None = None
    awaiting: Stage | None = None

    @property
    def reading(self) -> Stage:
        """The stage that reads a ring."""
        assert self.reader is not None
        return self.reader

    @property
    def ready(self) -> str:
        """The flag that says that a slot is written."""
        return f"{(self.shares_flag_with or self.tensor).name}Ready"


def derive_flags(program: Program) -> Program:
    """The program with its cross-core flags.

    Raises:
        InternalError: a ring is too short for the order of its stages, a workspace tensor is used in a
            way that no flag covers, or flag ids run out.
    """
    sums = run_sums(program)
    transfers = _transfers(program, {each.tensor: each for each in sums})
    rings = [item for item in transfers if item.tensor.is_ring]
    _check_places(program, transfers)
    for loop in (item for item in program.body.walk() if isinstance(item, Pipelined)):
        _prove_reuse(loop, [item for item in rings if item.writer in loop.stages], sums)
    early = {item.writer: item for item in transfers if _is_early(item)}
    late = (item for item in transfers if item.tensor.shared == "device" and not _is_early(item))
    device = {item.reader.name for item in late if item.reader is not None}
    device |= {
        stage.name for stage in program.body.walk() if isinstance(stage, Stage) and stage.after_all_cores
    }
    names = [item.ready for item in rings if item.shares_flag_with is None]
    names += [f"before{name}" for name in sorted(device)]
    names += [name for item in early.values() for name in (f"all{item.writer.name}", item.ready)]
    check_warming(program)
    warmed = warmed_rings(program)
    names += [warm_flag(ring) for ring in warmed]
    names += [each.rescaled for each in sums]
    most = program.device.architecture.cross_core_flags
    if len(names) > most:
        raise InternalError(f"{len(names)} cross-core flags, the hardware has {most}")
    flags = {name: index for index, name in enumerate(names)}

    def change(statement: Statement) -> Statement | None:
        if isinstance(statement, Seq):
            return _with_early(statement, early, flags)
        if not isinstance(statement, Stage):
            return statement
        if statement.warms in warmed:
            return with_warm_flags(statement, flags[warm_flag(statement.warms)])
        body = _with_flags(statement, rings, flags)
        for each in sums:
            if statement.name in (each.writer.name, each.reader.name):
                body = with_sum_flags(statement.with_children((body,)), each, flags[each.rescaled]).body
        if statement.name in device:
            body = _meet_all(body, f"before{statement.name}", flags[f"before{statement.name}"])
        return statement.with_children((body,)) if body is not statement.body else statement

    return program.with_(body=as_seq(rewrite(program.body, change) or Seq(body=())), flags=flags)


def _is_early(item: Transfer) -> bool:
    """Vector cores write it once, in front of the loops of cubes, or of all cores, that read it, whichever
    block wrote it."""
    return item.tensor.shared == "device" and (item.reader is None or item.reader.core is Core.AIC)


def _with_early(body: Seq, early: dict[Stage, Transfer], flags: dict[str, int]) -> Seq:
    """Behind a stage whose results all cubes read: the vector cores meet, then let their cubes go on."""
    found: list[Statement] = []
    for child in body.body:
        found.append(child)
        item = early.get(child) if isinstance(child, Stage) else None
        if item is None:
            continue
        name, ready = f"all{item.writer.name}", item.ready
        go_on = SetCrossFlag(name=ready, flag=flags[ready], mode=BLOCK_MODE, pipe=item.pipe)
        meet = _as_written(item.writer, _meet_all(Seq(body=(go_on,)), name, flags[name]))
        await_it = _as_written(item.writer, seq(WaitCrossFlag(name=ready, flag=flags[ready])))
        found += [
            Stage(
                name=f"Release{_capitalized(item.tensor)}",
                core=Core.AIV,
                doc="All vector cores have written their parts: the cube may read.",
                body=meet,
            ),
            Stage(
                name=f"Await{_capitalized(item.tensor)}",
                core=Core.AIC,
                doc="Waits until the vector cores of all blocks have written their parts.",
                body=await_it,
            ),
        ]
    return Seq(body=tuple(found)) if len(found) > len(body.body) else body


def _as_written(writer: Stage, body: Seq) -> Seq:
    """``body`` under the condition that all of the writer's work is under: else there is nothing to read."""
    (*others, last) = writer.body.body
    if others or not isinstance(last, If) or last.otherwise is not None:
        return body
    return seq(If(condition=last.condition, then=body, where=last.where))


def _capitalized(tensor: GlobalTensor) -> str:
    name = camel(tensor.name)
    return f"{name[:1].upper()}{name[1:]}"


def _transfers(program: Program, sums: dict[GlobalTensor, RunSums]) -> list[Transfer]:
    stages = list(outer_stages(program.body))
    found = list[Transfer]()
    scalars = {load.source for item in program.body.walk() for load in _global_loads(item)}
    for tensor in program.workspace:
        writers = [
            (stage, pipe)
            for stage in stages
            if stage.warms is not tensor and (pipe := _writing_pipe(stage, tensor)) is not None
        ]
        readers: list[Stage | None] = [stage for stage in stages if _reads(stage, tensor)]
        if tensor.name in scalars:
            readers.append(None)
        if tensor in sums:  # both ways: run_sums.py
            writers, readers = writers[:1], [sums[tensor].reader]
        if len(writers) != 1 or len(readers) != 1:
            raise InternalError(f"workspace tensor {tensor.name} needs one writing and one reading stage")
        (writer, pipe), reader = writers[0], readers[0]
        alike = (each for each in found if (each.writer, each.reader, each.pipe) == (writer, reader, pipe))
        first = next((each.tensor for each in alike if each.tensor.is_ring and tensor.is_ring), None)
        awaiting = next((stage for stage in stages if tensor in stage.awaits), None)
        found.append(Transfer(tensor, writer, reader, pipe, first, awaiting))
    return found


def _global_loads(statement: Statement) -> list[Load]:
    """The elements of global memory that the scalar unit reads for a statement itself."""
    return [load for load in loads_of(statement) if load.scope is Scope.GLOBAL]


def _accesses(stage: Stage, tensor: GlobalTensor) -> list[Instruction]:
    instructions = (item for item in stage.walk() if isinstance(item, Instruction))
    return [item for item in instructions if tensor in (*item.gm_reads(), *item.gm_writes())]


def _writing_pipe(stage: Stage, tensor: GlobalTensor) -> Pipe | None:
    pipes = {item.pipe for item in _accesses(stage, tensor) if tensor in item.gm_writes()}
    assert len(pipes) <= 1, "one pipe writes a workspace tensor"
    return pipes.pop() if pipes else None


def _reads(stage: Stage, tensor: GlobalTensor) -> bool:
    return any(tensor in item.gm_reads() for item in _accesses(stage, tensor))


def _check_places(program: Program, transfers: list[Transfer]) -> None:
    """A ring's stages share a skewed loop, on different cores; a device tensor is read once, at the end."""
    order = list(program.body.walk())
    loops = [item for item in order if isinstance(item, Pipelined)]
    repeated = {stage for item in order if isinstance(item, For | Pipelined) for stage in item.walk()}
    for item in transfers:
        name, writer, reader = item.tensor.name, item.writer, item.reader
        if reader is None:
            reads = (any(load.source == name for load in _global_loads(each)) for each in order)
            first = next(at for at, found in enumerate(reads) if found)
            once = writer not in repeated and item.pipe is Pipe.MTE3 and writer.core is Core.AIV
            if item.tensor.is_ring or not once or first < order.index(writer):
                raise InternalError(
                    f"{writer.name} writes {name} for all scalar units, so it runs once, first"
                )
        elif item.tensor.is_ring:
            if writer.core is reader.core:
                raise InternalError(f"{writer.name} and {reader.name} hand over {name} on one core kind")
            if not any(writer in loop.stages and reader in loop.stages for loop in loops):
                raise InternalError(f"{writer.name} and {reader.name} share {name}, but no skewed loop")
        elif _is_early(item):
            if item.pipe is not Pipe.MTE3 or writer in repeated or order.index(reader) < order.index(writer):
                raise InternalError(f"{writer.name} writes {name} for all cubes, so it runs once, first")
        elif item.pipe is not Pipe.MTE3 or reader.core is not Core.AIV:
            raise InternalError(f"{name} goes between blocks, so vector cores write it by MTE3 and read it")
        elif reader in repeated or order.index(reader) < order.index(writer):
            raise InternalError(
                f"{reader.name} reads {name} of all blocks, so it runs once, behind {writer.name}"
            )


def _with_flags(stage: Stage, rings: list[Transfer], flags: dict[str, int]) -> Seq:
    """Waits before the stage's first access of any ring, sets its flags after its last; on each side of a
    choice between two stages."""
    tensors = {item.tensor for item in rings}
    own = [item for item in rings if item.shares_flag_with is None]
    if stage.awaits:
        awaited = (item for item in own if item.awaiting is stage)
        return seq(*(_wait(item, stage, flags) for item in awaited), *stage.body.body)
    waits = [_wait(item, stage, flags) for item in own if item.reader is stage and item.awaiting is None]
    raises = [_set(item, flags) for item in own if item.writer is stage]
    if not waits and not raises:
        return stage.body
    if isinstance(stage, EitherStage):
        first, second = (
            replace(side, body=_between(waits, side.body, raises, tensors)) for side in stage.sides
        )
        return stage.with_sides(first, second).body
    return _between(waits, stage.body, raises, tensors)


def _between(waits: list[Statement], body: Seq, raises: list[Statement], tensors: set[GlobalTensor]) -> Seq:
    accessing = [index for index, child in enumerate(body.body) if _accesses_any(child, tensors)]
    first, last = accessing[0], accessing[-1] + 1
    return seq(*body.body[:first], *waits, *body.body[first:last], *raises, *body.body[last:])


def _wait(item: Transfer, stage: Stage, flags: dict[str, int]) -> Statement:
    return WaitCrossFlag(name=item.ready, flag=flags[item.ready], where=stage.where)


def _set(item: Transfer, flags: dict[str, int]) -> Statement:
    flag, where = flags[item.ready], item.writer.where
    return SetCrossFlag(name=item.ready, flag=flag, mode=BLOCK_MODE, pipe=item.pipe, where=where)


def _accesses_any(statement: Statement, tensors: set[GlobalTensor]) -> bool:
    instructions = (item for item in statement.walk() if isinstance(item, Instruction))
    return any(not tensors.isdisjoint((*item.gm_reads(), *item.gm_writes())) for item in instructions)


def _meet_all(body: Seq, name: str, flag: int) -> Seq:
    raised = SetCrossFlag(name=name, flag=flag, mode=DEVICE_MODE, pipe=Pipe.MTE3)
    return seq(raised, WaitCrossFlag(name=name, flag=flag), body)


def _prove_reuse(loop: Pipelined, rings: list[Transfer], sums: tuple[RunSums, ...]) -> None:
    """Every write of a slot comes after the read of what was there before."""
    cores, lags, depth = tuple(stage.core for stage in loop.stages), loop.lags, ring_depth(loop)
    place = {stage: number for number, stage in enumerate(loop.stages)}
    ends = tuple((place[item.writer], place[item.reading]) for item in rings)
    if loop.continuous:
        _check_conditions(loop, rings)
        shorter = dict(loop.shorter)
        waits = tuple(place[item.awaiting or item.reading] for item in rings)
        slots = tuple(shorter.get(item.tensor, depth) for item in rings)
        found = first_defect_of_steps(cores, lags, ends, depth, waits, slots)
        for each in (each for each in sums if each.loop is loop):
            prove_sums(each, ends, waits, depth)
    else:
        found = first_defect(cores, lags, ends, depth)
    if found == STUCK:
        raise InternalError("the stages of a pipelined loop wait for each other for ever")
    if found != SOUND:
        writer, reader, ring = (rings[found].writer.name, rings[found].reading.name, rings[found].tensor.name)
        raise InternalError(f"{writer} overwrites a slot of {ring} that {reader} may still read")


def _check_conditions(loop: Pipelined, rings: list[Transfer]) -> None:
    """The stages of the rings of a continuous loop have work in the same iterations."""
    when = dict(zip(loop.stages, loop.when, strict=True))
    ends = (stage for item in rings for stage in (item.writer, item.awaiting, item.reader) if stage)
    found = {str(when[stage]) for stage in ends}
    if len(found) > 1:
        raise InternalError(f"stages that share rings work under different conditions: {sorted(found)}")
