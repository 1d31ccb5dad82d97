"""The proof that no ring slot is overwritten early, and the check of what it takes for granted.

The proof is compared with a run of both cores in which nothing is known but what flags say.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attndsl.base.errors import InternalError
from attndsl.expr import Const, Symbol
from attndsl.passes.events import synchronize as events_module
from attndsl.passes.events.hazards import find_problems
from attndsl.passes.events.ring_order import find_early_flags
from attndsl.passes.events.synchronize import synchronize
from attndsl.passes.flags import slot_reuse
from attndsl.passes.flags.derive_flags import derive_flags
from attndsl.passes.split_cores import split_cores
from attndsl.target import Core, MemorySpace, Pipe
from attndsl.tile.buffers import Buffer, GlobalTensor
from attndsl.tile.instructions import Convert, Fill, Fixpipe, Instruction, LoadNz, LoadRows, StoreRows
from attndsl.tile.program import Program
from attndsl.tile.statements import (
    Alloc,
    For,
    Let,
    Pipelined,
    Seq,
    SetCrossFlag,
    SetEvent,
    Stage,
    Statement,
    WaitCrossFlag,
    as_seq,
    rewrite,
    seq,
)
from tests.support.devices import DEVICE
from tests.support.specials import compiled

TILE = Symbol("tile")


def buffer(name: str, space: MemorySpace, dtype: str, slots: int = 2) -> Buffer:
    return Buffer(name=name, space=space, dtype=dtype, size=Const(256), slots=slots)


LOADED, MADE = buffer("loaded", MemorySpace.UB, "float32"), buffer("made", MemorySpace.UB, "float16")
L1, L0C = buffer("l1", MemorySpace.L1, "float16"), buffer("l0c", MemorySpace.L0C, "float32")


def ring(name: str, dtype: str, shared: str = "block") -> GlobalTensor:
    return GlobalTensor(name=name, dtype=dtype, role="workspace", elements=Const(4096), shared=shared)


A, B = ring("ringA", "float32"), ring("ringB", "float16")


def life(held: Buffer, *body: Statement) -> Alloc:
    return Alloc(buffers=(held,), body=seq(*body))


def make() -> Instruction:
    return Fixpipe(dst=A.region(TILE * 64, 4, 16, 16), src=L0C.region(), m=Const(16))


def take() -> Instruction:
    return LoadNz(dst=L1.region(), src=B.region(TILE * 64, 4, 16, 16), padded_rows=Const(16))


def load_a() -> Instruction:
    return LoadRows(dst=LOADED.region(0, 1, 64), src=A.region(TILE * 64, 1, 64))


def store_b() -> Instruction:
    return StoreRows(dst=B.region(TILE * 64, 1, 64), src=MADE.region(0, 1, 64))


def stage(name: str, core: Core, *body: Statement) -> Stage:
    return Stage(name=name, core=core, doc="", body=seq(*body))


def blank() -> Instruction:
    return Fill(dst=MADE.region(), value=Const(0))


def converted() -> Instruction:
    return Convert(dst=MADE.region(0, 1, 64), src=LOADED.region(0, 1, 64), mode="CAST_RINT")


WORK = {
    "stored from what was loaded": [life(LOADED, load_a(), life(MADE, converted(), store_b()))],
    "stored, then loaded": [life(MADE, blank(), store_b()), life(LOADED, load_a())],
    "loaded, then stored regardless": [life(LOADED, load_a()), life(MADE, blank(), store_b())],
}


def program(*stages: Stage, lags: tuple[int, ...], workspace: tuple[GlobalTensor, ...] = (A, B)) -> Program:
    steps = Pipelined(var=TILE, extent=Symbol("tiles"), stages=stages, lags=lags)
    return Program(
        name="hand made", summary="", dtype="float16", parameters=(), workspace=workspace, tiling=(),
        device=DEVICE, constants=(), body=seq(steps),
    )  # fmt: skip


def three_stages(work: list[Statement]) -> Program:
    return program(
        stage("Make", Core.AIC, life(L0C, make())),
        stage("Work", Core.AIV, *work),
        stage("Use", Core.AIC, life(L1, take())),
        lags=(0, 0, 2),
    )


def synchronized(joint: Program) -> Seq:
    """The vector core's tree with flags, events and barriers."""
    split = split_cores(derive_flags(joint))
    return synchronize(split.with_(cores={Core.AIV: split.cores[Core.AIV]})).cores[Core.AIV]


def flag_events(tree: Seq) -> set[str]:
    """The events that are there for a flag's sake alone."""
    names = {item.name for item in tree.walk() if isinstance(item, SetEvent)}
    return {name for name in names if name.endswith(("Done", "Taken"))}


def without(tree: Seq, name: str) -> Seq:
    """The tree without an event's raises and waits."""

    def change(item: Statement) -> Statement | None:
        return None if isinstance(item, SetEvent) and item.name == name else item

    return as_seq(rewrite(tree, change) or seq())


def assert_flag_needs(tree: Seq, flag: str, pipe: Pipe, accessed: str) -> None:
    """The flag waits for the pipe; otherwise it would be early, or the event for it raised twice."""
    done, taken = (f"{flag}{pipe.value}{end}" for end in ("Done", "Taken"))
    assert flag_events(tree) == {done, taken}
    assert (find_early_flags(tree), find_problems(tree)) == ((), ())
    early = [str(found) for found in find_early_flags(without(tree, done))]
    assert early, "the flag is not early without the event"
    for text in early:
        assert re.match(rf"flag {flag} is raised behind MTE3 while .* access {accessed}$", text)
    assert f"event {done} may be raised again before it was awaited" in map(
        str, find_problems(without(tree, taken))
    )


def test_a_flag_speaks_only_for_what_its_pipe_knows():
    """Where the store does not depend on the load, the flag behind it says nothing of the load, and so
    waits for an event of the loads."""
    dependent = synchronized(three_stages(WORK["stored from what was loaded"]))
    assert flag_events(dependent) == set()
    for name in ("stored, then loaded", "loaded, then stored regardless"):
        assert_flag_needs(synchronized(three_stages(WORK[name])), "ringBReady", Pipe.MTE2, "ringA")


def test_a_flag_that_is_early_is_an_error(monkeypatch):
    """What the events for flags would leave open does not pass in silence."""
    monkeypatch.setattr(events_module, "_order_flags", lambda tree, _: tree)
    assert synchronized(three_stages(WORK["stored from what was loaded"]))
    for name in ("stored, then loaded", "loaded, then stored regardless"):
        with pytest.raises(
            InternalError, match=r"flag ringBReady is raised behind MTE3 while .* access ringA"
        ):
            synchronized(three_stages(WORK[name]))


@pytest.mark.parametrize("name", WORK)
def test_flags_stand_around_everything_the_stage_does_with_rings(name):
    joint = derive_flags(three_stages(WORK[name]))
    work = next(item for item in joint.body.walk() if isinstance(item, Stage) and item.name == "Work")
    kinds = [
        type(item)
        for item in work.walk()
        if isinstance(item, WaitCrossFlag | SetCrossFlag)
        or (isinstance(item, Instruction) and (item.gm_reads() or item.gm_writes()))
    ]
    assert kinds[0] is WaitCrossFlag and kinds[-1] is SetCrossFlag and len(kinds) == 4


@pytest.mark.parametrize("core", list(Core), ids=lambda core: core.value)
def test_flags_of_the_shipped_operator_are_not_early(core):
    """And would be without the events that make the raising pipe wait."""
    tree = compiled(128, "float16", "attn_mask", "pse_shift").program.cores[core]
    assert find_early_flags(tree) == ()
    into = {Core.AIC: Pipe.FIX, Core.AIV: Pipe.MTE3}[core]

    def change(item: Statement) -> Statement | None:
        return None if isinstance(item, SetEvent) and item.target is into else item

    assert find_early_flags(as_seq(rewrite(tree, change) or seq()))


def test_rows_that_a_core_does_not_have_are_missing_in_all_stages():
    """The second vector core may have no rows: neither stage loops, so no flag is early. Loops over
    different counts may run and not run in any combination, so that the flag waits for the loads."""

    def tree(first: Symbol, second: Symbol) -> Program:
        def rows(count: Symbol, *body: Statement) -> Statement:
            return For(var=Symbol("r"), end=count, body=seq(*body))

        more, other = ring("ringC", "float32"), buffer("other", MemorySpace.UB, "float16", 1)
        kept = replace(converted(), dst=other.region(0, 1, 64))
        read = LoadRows(dst=LOADED.region(0, 1, 64), src=more.region(TILE * 64, 1, 64))
        fixed = Fixpipe(dst=more.region(TILE * 64, 4, 16, 16), src=L0C.region(), m=Const(16))
        made = program(
            stage("Make", Core.AIC, life(L0C, make())),
            stage("Work", Core.AIV, rows(first, *WORK["stored from what was loaded"])),
            stage("Use", Core.AIC, life(L1, take()), life(L0C, fixed)),
            stage("Last", Core.AIV, rows(second, life(LOADED, read, kept))),
            lags=(0, 0, 2, 2), workspace=(A, B, more),
        )  # fmt: skip
        lets = [Let(symbol=Symbol(name), value=Symbol(f"{name}Given")) for name in ("rows", "others")]
        return made.with_(body=seq(*lets, made.body))

    assert flag_events(synchronized(tree(Symbol("rows"), Symbol("rows")))) == set()
    assert_flag_needs(synchronized(tree(Symbol("rows"), Symbol("others"))), "ringBReady", Pipe.MTE2, "ringC")


# The order of stages.


def four(lags: tuple[int, ...]) -> tuple[tuple[Core, ...], tuple[int, ...], tuple[tuple[int, int], ...]]:
    """Cube, vector, cube, vector, each handing over to the next."""
    return (Core.AIC, Core.AIV, Core.AIC, Core.AIV), lags, ((0, 1), (1, 2), (2, 3))


@pytest.mark.parametrize("prefetch_distance", [0, 1, 2, 5])
def test_the_ring_that_is_needed(prefetch_distance):
    cores, lags, rings = four((0, 0, prefetch_distance, prefetch_distance))
    found = [slot_reuse.first_defect(cores, lags, rings, depth) for depth in range(1, prefetch_distance + 3)]
    assert [depth for depth, defect in enumerate(found, 1) if defect == slot_reuse.SOUND] == [
        prefetch_distance + 1,
        prefetch_distance + 2,
    ]


def test_a_defect_that_only_shows_between_short_runs():
    """Runs of a multiple of the slots begin where the last left off; a shorter one comes back to a slot too
    early. The full set of transfers has no such defect."""
    cores, lags, rings = four((0, 0, 0, 0))
    crossed = ((0, 1), (0, 3), (1, 2))
    found = {
        runs: slot_reuse.defect_of_runs(cores, lags, crossed, 3, runs)
        for runs in ((6, 6), (3, 6), (1, 1), (4, 4))
    }
    assert [runs for runs, defect in found.items() if defect == slot_reuse.SOUND] == [(6, 6), (3, 6)]
    assert slot_reuse.first_defect(cores, lags, crossed, 3) != slot_reuse.SOUND
    assert slot_reuse.first_defect(cores, lags, rings, 3) == slot_reuse.SOUND


@pytest.mark.parametrize("lag", [1, 2, 3])
def test_the_ring_that_a_continuous_loop_needs(lag):
    """Whichever steps have no work: one slot more than the deepest lag, as for a loop that drains."""
    cores, lags, rings = four((0, 0, lag, lag))
    found = [slot_reuse.first_defect_of_steps(cores, lags, rings, depth) for depth in range(1, lag + 2)]
    assert [defect == slot_reuse.SOUND for defect in found] == [False] * lag + [True]


def test_a_ring_without_an_answer_is_overwritten_whichever_steps_have_work():
    cores, lags, rings = four((0, 0, 2, 2))
    short = ((0, 1), (2, 3))
    found = {
        absent: slot_reuse.defect_of_runs(cores, lags, short, 3, (7,), absent=frozenset(absent))
        for absent in ((), (1, 2))
    }
    assert slot_reuse.SOUND not in found.values()  # no answer ever comes back from the vector core
    assert slot_reuse.first_defect_of_steps(cores, lags, short, 3) == 0
    assert slot_reuse.first_defect_of_steps(cores, lags, rings, 3) == slot_reuse.SOUND


@pytest.mark.parametrize("lag", [1, 2, 3])
def test_score_tiles_need_a_slot_less_where_the_cube_waits_first(lag):
    """A stage that waits for the probabilities, lagging as their reader does, comes before the scores."""
    cores = (Core.AIC, Core.AIC, Core.AIV, Core.AIC, Core.AIV)
    lags, rings = (lag, 0, 0, lag, lag), ((1, 2), (2, 3), (3, 4))

    def found(slots: int, waiting: int, order: tuple[int, ...] = lags) -> int:
        each = (slots, lag + 1, lag + 1)
        return slot_reuse.first_defect_of_steps(cores, order, rings, lag + 1, (2, waiting, 4), each)

    assert found(lag, waiting=0) == slot_reuse.SOUND
    assert found(lag - 1, waiting=0) != slot_reuse.SOUND if lag > 1 else True
    assert found(lag, waiting=3) == 0, "the reader waits after the scores"
    assert found(lag, waiting=0, order=(lag + 1, *lags[1:])) == 0, "it waits for an earlier tile"


RINGS = st.sampled_from(
    [((0, 1), (1, 2), (2, 3)), ((0, 1), (0, 3), (1, 2)), ((0, 1), (2, 3)), ((1, 2), (0, 3))]
)


@settings(max_examples=60, deadline=None)
@given(lags=st.tuples(*[st.integers(0, 3)] * 4).map(sorted), rings=RINGS, depth=st.integers(1, 3))
def test_two_tiles_alone_tell_what_all_patterns_tell(lags, rings, depth):
    """Which steps have no work is tried in full; the proof looks at all of them, and at pairs."""
    cores, _, _ = four((0, 0, 0, 0))
    steps = 2 * depth + 1
    patterns = [
        frozenset(itertools.compress(range(steps), each)) for each in itertools.product((0, 1), repeat=steps)
    ]
    defects = {
        slot_reuse.defect_of_runs(cores, tuple(lags), rings, depth, (steps,), absent=absent)
        for absent in patterns
    }
    proved = slot_reuse.first_defect_of_steps(cores, tuple(lags), rings, depth)
    assert (proved == slot_reuse.SOUND) is (defects == {slot_reuse.SOUND})
    assert proved in defects


@pytest.mark.parametrize(
    "lags", [(0, 0, 1, 1), (0, 0, 2, 2), (0, 0, 1, 2), (0, 1, 1, 2), (0, 1, 2, 3), (0, 0, 0, 0)]
)
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_the_proof_agrees_with_every_interleaving(lags, depth):
    """A slow model: a stage that has its flags may run at any time; some order overwrites, or none does."""
    cores, lags, rings = four(lags)
    runs = (depth + 1, 0, depth, 1, depth + 1)
    proved = slot_reuse.defect_of_runs(cores, lags, rings, depth, runs)
    assert (proved == slot_reuse.SOUND) is not _can_overwrite(cores, lags, rings, depth, runs)


def _can_overwrite(cores, lags, rings, depth, runs) -> bool:
    """Let the writer of each ring run as far ahead as flags allow while its reader stands still."""
    order = {core: slot_reuse.executions(cores, lags, core, runs) for core in Core}
    for ahead, number in itertools.product(Core, range(len(rings))):
        writer, _ = rings[number]
        if cores[writer] is not ahead:
            continue
        behind = Core.AIV if ahead is Core.AIC else Core.AIC
        for stop in range(len(order[behind]) + 1):
            if _overwrites(order, rings, number, depth, ahead, behind, stop):
                return True
    return False


def _overwrites(order, rings, number, depth, ahead, behind, stop) -> bool:
    """``behind`` executes at most ``stop`` stages; ``ahead`` as many as it can."""
    done = {ahead: 0, behind: 0}
    up = [0] * len(rings)
    holder: dict[int, tuple[int, int]] = {}
    read: set[tuple[int, int]] = set()
    moved = True
    while moved:
        moved = False
        for core, limit in ((behind, stop), (ahead, len(order[ahead]))):
            while done[core] < limit:
                stage_number, run, tile = order[core][done[core]]
                if any(up[i] == 0 for i, (_, reader) in enumerate(rings) if reader == stage_number):
                    break
                for i, (writer, reader) in enumerate(rings):
                    if reader == stage_number:
                        up[i] -= 1
                        if i == number:
                            read.add((run, tile))
                    if writer == stage_number:
                        up[i] += 1
                        if i == number:
                            if holder.get(tile % depth, (run, tile)) not in read | {(run, tile)}:
                                return True
                            holder[tile % depth] = (run, tile)
                done[core] += 1
                moved = True
    return False


def cube_then_vector(name: GlobalTensor) -> Pipelined:
    """A loop from whose vector cores nothing comes back to the cube."""
    stored = Fixpipe(dst=name.region(TILE * 64, 4, 16, 16), src=L0C.region(), m=Const(16))
    loaded = LoadRows(dst=LOADED.region(0, 1, 64), src=name.region(TILE * 64, 1, 64))
    return Pipelined(
        var=TILE,
        extent=Symbol("tiles"),
        stages=(
            stage("MakeAgain", Core.AIC, life(L0C, stored)),
            stage("TakeAgain", Core.AIV, life(LOADED, loaded, life(MADE, converted()))),
        ),
        lags=(0, 2),
    )


def test_each_loop_has_a_proof_of_its_own():
    """A second loop of an item overwrites its slots, although the first orders both cores in each item."""
    more = ring("ringC", "float32")
    made = three_stages(WORK["stored from what was loaded"])
    item = For(var=Symbol("item"), end=Symbol("items"), body=seq(made.body, cube_then_vector(more)))
    assert derive_flags(made).flags == {"ringAReady": 0, "ringBReady": 1}
    with pytest.raises(InternalError, match="MakeAgain overwrites a slot of ringC that TakeAgain may still"):
        derive_flags(made.with_(body=seq(item), workspace=(A, B, more)))


# What no flag covers.


def test_a_ring_needs_both_its_stages_in_one_loop():
    apart = program(stage("Make", Core.AIC, life(L0C, make())), lags=(0,), workspace=(A,))
    alone = stage("Work", Core.AIV, life(LOADED, load_a()))
    with pytest.raises(InternalError, match="Make and Work share ringA, but no skewed loop"):
        derive_flags(apart.with_(body=seq(apart.body, alone)))


@pytest.mark.parametrize("where", ["behind", "before", "in a loop"])
def test_a_device_tensor_is_read_once_behind_its_writer(where):
    partial = ring("partial", "float16", "device")
    writer = stage(
        "Write",
        Core.AIV,
        life(MADE, blank(), StoreRows(dst=partial.region(0, 1, 64), src=MADE.region(0, 1, 64))),
    )
    reader = stage(
        "Merge", Core.AIV, life(MADE, LoadRows(dst=MADE.region(0, 1, 64), src=partial.region(0, 1, 64)))
    )
    body = {
        "behind": seq(writer, reader),
        "before": seq(reader, writer),
        "in a loop": seq(writer, For(var=Symbol("i"), end=Symbol("n"), body=seq(reader))),
    }[where]
    made = program(lags=(), workspace=(partial,)).with_(body=body)
    if where == "behind":
        assert derive_flags(made).flags == {"beforeMerge": 0}
    else:
        with pytest.raises(InternalError, match="Merge reads partial of all blocks, so it runs once"):
            derive_flags(made)
