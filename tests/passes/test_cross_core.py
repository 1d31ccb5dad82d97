"""Cross-core flags: where they stand, and the proof that a ring slot is free before it is overwritten."""

from __future__ import annotations

import pytest

from attndsl.base.errors import InternalError
from attndsl.expr import Const, Symbol
from attndsl.lowering.match.schedule_options import Schedule
from attndsl.passes.flags import derive_flags as flags_module
from attndsl.passes.flags.derive_flags import derive_flags, ring_depth
from attndsl.passes.split_cores import split_cores
from attndsl.target import Core, MemorySpace, Pipe
from attndsl.tile.buffers import Buffer, GlobalTensor
from attndsl.tile.instructions import Fixpipe, Instruction, LoadNz, LoadRows, StoreRows
from attndsl.tile.program import Program
from attndsl.tile.statements import (
    EitherStage,
    For,
    If,
    Let,
    Pipelined,
    SetCrossFlag,
    Stage,
    WaitCrossFlag,
    as_seq,
    rewrite,
    seq,
)
from tests.support.devices import DEVICE
from tests.support.specials import compiled

from .trees import assert_prints

TILE = Symbol("tile")
UB = Buffer(name="ub", space=MemorySpace.UB, dtype="float32", size=Const(64))
UB16 = Buffer(name="ub16", space=MemorySpace.UB, dtype="float16", size=Const(64))
L1 = Buffer(name="l1", space=MemorySpace.L1, dtype="float16", size=Const(256))
L0C = Buffer(name="l0c", space=MemorySpace.L0C, dtype="float32", size=Const(256))


def ring(name: str, dtype: str, shared: str = "block") -> GlobalTensor:
    return GlobalTensor(name=name, dtype=dtype, role="workspace", elements=Const(4096), shared=shared)


SCORES, PROBS, SUMS = ring("scores", "float32"), ring("probs", "float16"), ring("sums", "float32")


def fix(target: GlobalTensor) -> Instruction:
    return Fixpipe(dst=target.region(TILE * 64, 4, 16, 16), src=L0C.region(), m=Const(16))


def to_l1(source: GlobalTensor) -> Instruction:
    return LoadNz(dst=L1.region(), src=source.region(TILE * 64, 4, 16, 16), padded_rows=Const(16))


def to_ub(source: GlobalTensor) -> Instruction:
    return LoadRows(dst=UB.region(0, 1, 64), src=source.region(TILE * 64, 1, 64))


def from_ub(target: GlobalTensor) -> Instruction:
    return StoreRows(dst=target.region(TILE * 64, 1, 64), src=UB16.region(0, 1, 64))


def stage(name: str, core: Core, *body: Instruction) -> Stage:
    return Stage(name=name, core=core, doc="", body=seq(*body))


def attention_stages() -> tuple[Stage, ...]:
    """Cube, vector, cube, vector: each hands over to the next."""
    return (
        stage("Score", Core.AIC, fix(SCORES)),
        stage("Softmax", Core.AIV, to_ub(SCORES), from_ub(PROBS)),
        stage("Weigh", Core.AIC, to_l1(PROBS), fix(SUMS)),
        stage("Update", Core.AIV, to_ub(SUMS)),
    )


def program(stages: tuple[Stage, ...], lags: tuple[int, ...], workspace: tuple[GlobalTensor, ...]) -> Program:
    loop = Pipelined(var=TILE, extent=Symbol("tiles"), stages=stages, lags=lags)
    return Program(
        name="hand made", summary="", dtype="float16", parameters=(), workspace=workspace, tiling=(),
        device=DEVICE, constants=(), body=seq(loop),
    )  # fmt: skip


@pytest.mark.parametrize("prefetch_distance", [0, 1, 2, 5, 14])
def test_a_ring_of_one_slot_more_than_the_prefetch_distance_is_proved(prefetch_distance):
    made = derive_flags(
        program(attention_stages(), (0, 0, prefetch_distance, prefetch_distance), (SCORES, PROBS, SUMS))
    )
    assert made.flags == {"scoresReady": 0, "probsReady": 1, "sumsReady": 2}


@pytest.mark.parametrize("prefetch_distance", [1, 2, 5])
def test_a_ring_one_slot_too_short_is_rejected(prefetch_distance, monkeypatch):
    monkeypatch.setattr(flags_module, "ring_depth", lambda loop: max(loop.lags))
    with pytest.raises(InternalError, match="Score overwrites a slot of scores that Softmax may still read"):
        derive_flags(
            program(attention_stages(), (0, 0, prefetch_distance, prefetch_distance), (SCORES, PROBS, SUMS))
        )


def test_a_ring_without_an_answer_is_rejected():
    """A producer that nothing comes back to runs ahead without bound; an answer bounds it."""
    one_way = (stage("Make", Core.AIC, fix(SCORES)), stage("Take", Core.AIV, to_ub(SCORES)))
    with pytest.raises(InternalError, match="Make overwrites a slot of scores that Take may still read"):
        derive_flags(program(one_way, (0, 0), (SCORES,)))
    answered = (
        stage("Make", Core.AIC, fix(SCORES)),
        stage("Take", Core.AIV, to_ub(SCORES), from_ub(PROBS)),
        stage("Heed", Core.AIC, to_l1(PROBS)),
    )
    assert derive_flags(program(answered, (0, 0, 1), (SCORES, PROBS))).flags


def test_flags_of_one_of_two_stages_stand_in_both():
    """What is told to the other core is of the step, whichever stage has it."""
    score, softmax, weigh, update = attention_stages()
    branch = If(condition=TILE < 3, then=seq(stage("A", Core.AIC, fix(SCORES))), otherwise=seq(score))
    either = EitherStage(name="Score", core=Core.AIC, doc="", body=seq(branch))
    made = derive_flags(program((either, softmax, weigh, update), (0, 0, 1, 1), (SCORES, PROBS, SUMS)))
    (loop,) = (item for item in made.body.walk() if isinstance(item, Pipelined))
    found = loop.stages[0]
    assert isinstance(found, EitherStage) and [type(item) for item in found.body.body] == [If]
    for side in found.sides:
        last = side.body.body[-1]
        assert isinstance(last, SetCrossFlag) and last.name == "scoresReady"


def test_stages_that_wait_for_each_other_are_rejected():
    crossed = (
        stage("First", Core.AIC, to_l1(PROBS), fix(SCORES)),
        stage("Second", Core.AIV, to_ub(SCORES), from_ub(PROBS)),
    )
    with pytest.raises(InternalError, match="wait for each other for ever"):
        derive_flags(program(crossed, (0, 0), (SCORES, PROBS)))


def test_a_handover_has_one_writer_and_one_reader():
    twice = (*attention_stages(), stage("Again", Core.AIV, to_ub(SUMS)))
    with pytest.raises(InternalError, match="workspace tensor sums needs one writing and one reading stage"):
        derive_flags(program(twice, (0, 0, 1, 1, 1), (SCORES, PROBS, SUMS)))


def test_flags_stand_behind_the_last_write_and_before_the_first_read():
    """For every ring of a compiled program, in program order of each stage."""
    joint = compiled().joint
    stages = [item for item in joint.body.walk() if isinstance(item, Stage)]
    for tensor in (item for item in joint.workspace if item.shared == "block"):
        name = f"{tensor.name}Ready"
        for core_stage in stages:
            items = list(core_stage.walk())
            writes = [
                i for i, s in enumerate(items) if isinstance(s, Instruction) and tensor in s.gm_writes()
            ]
            reads = [i for i, s in enumerate(items) if isinstance(s, Instruction) and tensor in s.gm_reads()]
            sets = [i for i, s in enumerate(items) if isinstance(s, SetCrossFlag) and s.name == name]
            waits = [i for i, s in enumerate(items) if isinstance(s, WaitCrossFlag) and s.name == name]
            assert len(sets) == bool(writes)
            assert len(waits) == bool(reads)
            if writes:
                assert sets[0] > max(writes)
                flag, last = items[sets[0]], items[max(writes)]
                assert isinstance(flag, SetCrossFlag) and flag.mode == 2
                assert isinstance(last, Instruction) and flag.pipe is last.pipe
            if reads:
                assert waits[0] < min(reads)


def test_all_vector_cores_meet_before_splits_are_merged():
    tree = compiled().program.cores[Core.AIV]
    merge = next(item for item in tree.walk() if isinstance(item, Stage) and item.name == "MergePartials")
    raised, awaited, *_ = merge.body.body
    assert isinstance(raised, SetCrossFlag) and (raised.mode, raised.pipe) == (0, Pipe.MTE3)
    assert isinstance(awaited, WaitCrossFlag) and awaited.flag == raised.flag


@pytest.mark.parametrize("ring_slots", [2, 3, 8])
def test_the_schedule_leads_by_one_tile_less_than_its_ring(ring_slots):
    schedule = Schedule(ring=ring_slots)
    loop = Pipelined(
        var=TILE,
        extent=Symbol("n"),
        stages=(),
        lags=(0, 0, schedule.prefetch_distance, schedule.prefetch_distance),
    )
    assert ring_depth(loop) == schedule.ring


def _runs(tree, extent):
    """The (stage, tile) pairs that a core's tree executes."""
    found = []

    def run(statement, env):
        if isinstance(statement, For):
            for value in range(int(statement.begin.evaluate(env)), int(statement.end.evaluate(env))):
                run(statement.body, {**env, statement.var.name: value})
        elif isinstance(statement, If):
            if statement.condition.evaluate(env):
                run(statement.then, env)
        elif isinstance(statement, Stage):
            found.append((statement.name, env["tile"]))
        else:
            for child in statement.children():
                if isinstance(child, Let):
                    env = {**env, child.symbol.name: child.value.evaluate(env)}
                else:
                    run(child, env)

    run(tree, {"tiles": extent})
    return found


@pytest.mark.parametrize("extent", [0, 1, 2, 3, 7])
@pytest.mark.parametrize(
    "lags",
    [
        (0, 0, 0, 0),
        (0, 0, 1, 1),
        (0, 0, 4, 4),
        (0, 1, 2, 3),
    ],
    ids=str,
)
def test_each_core_runs_each_of_its_stages_once_a_tile(lags, extent):
    """The skewed loop as steps with guards: every stage meets every tile, in order, and no other."""
    split = split_cores(program(attention_stages(), lags, (SCORES, PROBS, SUMS)))
    for core, names in ((Core.AIC, ("Score", "Weigh")), (Core.AIV, ("Softmax", "Update"))):
        runs = _runs(split.cores[core], extent)
        for name in names:
            assert [tile for stage_name, tile in runs if stage_name == name] == list(range(extent))
        assert len(runs) == 2 * extent


# ------------------------------------------------------------------------------------------------
# Work in front of all items, and behind them

SCALED = ring("scaled", "float16", shared="device")


def early(repeated: bool = False, late: bool = False) -> Program:
    writer = stage("Scale", Core.AIV, from_ub(SCALED))
    first = For(var=Symbol("again"), end=Const(2), body=seq(writer)) if repeated else writer
    reader = For(var=TILE, end=Const(4), body=seq(stage("Load", Core.AIC, to_l1(SCALED))))
    body = seq(reader, first) if late else seq(first, reader)
    return Program(
        name="early", summary="", dtype="float16", parameters=(), workspace=(SCALED,), tiling=(),
        device=DEVICE, constants=(), body=body,
    )  # fmt: skip


def test_cubes_wait_once_for_what_all_vector_cores_write_first():
    program = derive_flags(early())
    flags = [
        (type(item).__name__, item.name, getattr(item, "mode", None))
        for item in program.body.walk()
        if isinstance(item, SetCrossFlag | WaitCrossFlag)
    ]
    assert flags == [
        ("SetCrossFlag", "allScale", 0),
        ("WaitCrossFlag", "allScale", None),
        ("SetCrossFlag", "scaledReady", 2),
        ("WaitCrossFlag", "scaledReady", None),
    ]
    cube = split_cores(program).cores[Core.AIC]
    loop = next(item for item in cube.walk() if isinstance(item, For))
    assert not any(isinstance(item, WaitCrossFlag) for item in loop.walk())
    assert any(isinstance(item, WaitCrossFlag) for item in cube.walk())


@pytest.mark.parametrize("always", [False, True])
def test_cores_meet_where_there_is_something_to_write(always):
    """Where all that is written is under a condition, so are the flags; a part that is not asks for them."""
    is_asked = Symbol("isAsked")
    written = If(condition=is_asked, then=seq(from_ub(SCALED)))
    work = (written, from_ub(SCALED)) if always else (written,)
    plain = early()
    writer = next(item for item in plain.body.walk() if isinstance(item, Stage) and item.name == "Scale")
    changed = rewrite(plain.body, lambda each: each.with_children((seq(*work),)) if each is writer else each)
    program = derive_flags(plain.with_(body=as_seq(changed)))
    under = {
        id(inner)
        for item in program.body.walk()
        if isinstance(item, If) and item.condition is is_asked
        for inner in item.walk()
    }
    flags = [item for item in program.body.walk() if isinstance(item, SetCrossFlag | WaitCrossFlag)]
    assert len(flags) == 4 and {id(item) in under for item in flags} == {not always}


ENDS = ring("ends", "int32", shared="device")


def read_by_scalars(late: bool = False, elsewhere: bool = False) -> Program:
    out = Buffer(name="endsOut", space=MemorySpace.UB, dtype="int32", size=Const(64))
    writer = stage("Find", Core.AIV, StoreRows(dst=ENDS.region(0, 1, 64), src=out.region(0, 1, 64)))
    reader: list[Let | Stage] = [Let(symbol=Symbol("end"), value=ENDS.at(2))]
    if elsewhere:
        reader.append(stage("Load", Core.AIV, LoadRows(dst=out.region(0, 1, 64), src=ENDS.region(0, 1, 64))))
    body = seq(*reader, writer) if late else seq(writer, *reader)
    return early().with_(workspace=(ENDS,), body=body)


def test_all_cores_wait_for_what_scalar_units_read():
    flags = [
        item.name
        for item in derive_flags(read_by_scalars()).body.walk()
        if isinstance(item, SetCrossFlag | WaitCrossFlag)
    ]
    assert flags == ["allFind", "allFind", "endsReady", "endsReady"]


@pytest.mark.parametrize(
    ("wrong", "text"), [("late", "runs once, first"), ("elsewhere", "one writing and one")]
)
def test_what_scalar_units_read_is_written_first_and_read_by_nothing_else(wrong, text):
    with pytest.raises(InternalError, match=text):
        derive_flags(read_by_scalars(**{wrong: True}))


@pytest.mark.parametrize("wrong", ["repeated", "late"])
def test_what_cubes_read_is_written_once_and_first(wrong):
    with pytest.raises(InternalError, match="runs once, first"):
        derive_flags(early(**{wrong: True}))


@pytest.mark.parametrize("after_all_cores", [True, False])
def test_a_stage_behind_all_begins_with_a_meeting(after_all_cores):
    last = stage("Append", Core.AIV, StoreRows(dst=SUMS.region(0, 1, 64), src=UB.region(0, 1, 64)))
    body = seq(Stage(name=last.name, core=last.core, doc="", body=last.body, after_all_cores=after_all_cores))
    made = Program(
        name="last",
        device=DEVICE,
        summary="",
        dtype="float16",
        parameters=(),
        workspace=(),
        tiling=(),
        constants=(),
        body=body,
    )
    program = derive_flags(made)
    modes = [item.mode for item in program.body.walk() if isinstance(item, SetCrossFlag)]
    assert modes == ([0] if after_all_cores else [])


# ------------------------------------------------------------------------------------------------
# The joint program as text


def test_rings_get_a_flag_from_their_writer_to_their_reader():
    """In front of the first access of any ring a stage waits, behind its last it raises."""
    assert_prints(
        derive_flags(program(attention_stages(), (0, 0, 1, 1), (SCORES, PROBS, SUMS))).body,
        """
        pipelined for tile in 0..tiles:
            stage Score on AIC:  # <unknown>:0
                FIX   scores[tile * 64 + 4 x 16 pitch 16] <- l0c
                set flag scoresReady mode 2 behind FIX
            stage Softmax on AIV:  # <unknown>:0
                wait flag scoresReady
                MTE2  ub[64] <- scores[tile * 64 + 64]
                MTE3  probs[tile * 64 + 64] <- ub16[64]
                set flag probsReady mode 2 behind MTE3
            stage Weigh on AIC (1 behind):  # <unknown>:0
                wait flag probsReady
                MTE2  l1[0] Nz rows 16 <- probs[tile * 64 + 4 x 16 pitch 16]
                FIX   sums[tile * 64 + 4 x 16 pitch 16] <- l0c
                set flag sumsReady mode 2 behind FIX
            stage Update on AIV (1 behind):  # <unknown>:0
                wait flag sumsReady
                MTE2  ub[64] <- sums[tile * 64 + 64]
        """,
    )


def test_rings_between_the_same_stages_share_a_flag():
    """Raised once both are written, awaited before either is read."""
    other = ring("others", "float16")
    stages = (
        stage("Make", Core.AIV, from_ub(PROBS), from_ub(other)),
        stage("Use", Core.AIC, to_l1(other), to_l1(PROBS), fix(SUMS)),
        stage("Heed", Core.AIV, to_ub(SUMS)),
    )
    made = derive_flags(program(stages, (0, 0, 0), (PROBS, other, SUMS)))
    assert made.flags == {"probsReady": 0, "sumsReady": 1}
    assert_prints(
        made.body,
        """
        pipelined for tile in 0..tiles:
            stage Make on AIV:  # <unknown>:0
                MTE3  probs[tile * 64 + 64] <- ub16[64]
                MTE3  others[tile * 64 + 64] <- ub16[64]
                set flag probsReady mode 2 behind MTE3
            stage Use on AIC:  # <unknown>:0
                wait flag probsReady
                MTE2  l1[0] Nz rows 16 <- others[tile * 64 + 4 x 16 pitch 16]
                MTE2  l1[0] Nz rows 16 <- probs[tile * 64 + 4 x 16 pitch 16]
                FIX   sums[tile * 64 + 4 x 16 pitch 16] <- l0c
                set flag sumsReady mode 2 behind FIX
            stage Heed on AIV:  # <unknown>:0
                wait flag sumsReady
                MTE2  ub[64] <- sums[tile * 64 + 64]
        """,
    )


def test_what_all_cubes_read_is_released_once():
    """The vector cores meet, then each lets its cube go on; the loop of the cube waits for nothing more."""
    assert_prints(
        derive_flags(early()).body,
        """
        stage Scale on AIV:
            MTE3  scaled[tile * 64 + 64] <- ub16[64]
        stage ReleaseScaled on AIV:
            set flag allScale mode 0 behind MTE3
            wait flag allScale
            set flag scaledReady mode 2 behind MTE3
        stage AwaitScaled on AIC:
            wait flag scaledReady
        for tile in 0..4:
            stage Load on AIC:
                MTE2  l1[0] Nz rows 16 <- scaled[tile * 64 + 4 x 16 pitch 16]
        """,
    )
