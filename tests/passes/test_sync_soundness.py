"""What the derived events rest on: lifetimes of one group, events raised twice, loops' promises.

Each tree that is not safe stands beside one that differs in little and is.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from attndsl.api import ops
from attndsl.base.errors import InternalError
from attndsl.compiler.prepare_launch import Launch, prepare
from attndsl.expr import Const
from attndsl.passes.events.hazards import Overrun, find_problems
from attndsl.passes.events.synchronize import synchronize
from attndsl.target import Core
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import BlockReduce
from attndsl.tile.program import Program
from attndsl.tile.statements import (
    Alloc,
    For,
    If,
    Seq,
    SetEvent,
    Stage,
    Statement,
    WaitEvent,
    as_seq,
    rewrite,
    seq,
)
from attndsl.tile_interpreter.run import interpret
from tests.support.devices import DEVICE
from tests.support.specials import compiled

from .trees import MTE2, MTE3, V, awaited, compute, fill, find_conflicts, load, loop, order, raised, store, ub

OTHER = ub("other")


def synchronized(*body: Statement) -> Seq:
    """A vector core's tree with derived events and barriers."""
    program = Program(
        name="hand made", summary="", dtype="float32", parameters=(), workspace=(), tiling=(), constants=(),
        device=DEVICE, body=seq(), cores={Core.AIV: seq(*body)},
    )  # fmt: skip
    return synchronize(program).cores[Core.AIV]


def life(buffer: Buffer, *body: Statement) -> Alloc:
    return Alloc(buffers=(buffer,), body=seq(*body))


def without(tree: Seq, kind: type[SetEvent], name: str) -> Seq:
    def change(item: Statement) -> Statement | None:
        return None if isinstance(item, SetEvent) and item.name.startswith(name) else item

    assert any(isinstance(item, kind) and item.name.startswith(name) for item in tree.walk())
    return as_seq(rewrite(tree, change) or Seq(body=()))


def made_and_stored(buffer: Buffer) -> Alloc:
    return life(buffer, fill(buffer), store(buffer))


FOLLOWING = {
    "the vector unit overwrites what is being stored": (lambda x: life(x, fill(x), compute(OTHER, x)), V),
    "a load overwrites what is being stored": (lambda x: life(x, load(x), compute(OTHER, x)), MTE2),
    "one side of a branch loads": (
        lambda x: life(
            x,
            If(condition=ub_test(), then=seq(load(x)), otherwise=seq(fill(x))),
            compute(OTHER, x),
        ),
        V,
    ),
}


def ub_test():
    return Const(1) > Const(0)


@pytest.mark.parametrize("slots", [1, 2])
@pytest.mark.parametrize("name", FOLLOWING)
@pytest.mark.parametrize("repeated", [False, True], ids=["once", "in a loop"])
def test_a_lifetime_waits_for_another_one_of_its_group(name, slots, repeated):
    """The store of the first is ordered before the first touch of the second, and without its wait is not."""
    x = ub("x", slots)
    second, first_pipe = FOLLOWING[name]
    # With two slots the lifetime after the next meets the slot again.
    body = [made_and_stored(x), second(x), second(x)]
    tree = synchronized(loop(*body) if repeated else seq(*body))
    assert find_problems(tree) == ()
    for lifetime in [item for item in tree.walk() if isinstance(item, Alloc)][1:]:
        waits = [item for item in lifetime.walk() if isinstance(item, WaitEvent)]
        assert any(item.source is MTE3 and item.target is first_pipe for item in waits)
    bare = without(tree, WaitEvent, "xFreeMTE3")
    assert any(found.earlier.pipe is MTE3 for found in find_conflicts(bare))


def test_lifetimes_that_no_other_pipe_touches_need_no_event():
    x = ub("x")
    tree = synchronized(life(x, fill(x), compute(OTHER, x)), life(x, fill(x), compute(OTHER, x)))
    assert not [item for item in tree.walk() if isinstance(item, SetEvent)]


def test_two_slots_let_neighbouring_lifetimes_overlap():
    """The second lifetime takes the other slot: unordered with one slot, nothing wrong with two."""
    for slots, conflicts in ((1, ["MTE3>V"]), (2, [])):
        x = ub("x", slots)
        tree = seq(
            life(x, fill(x), order("ready", V, MTE3), store(x)),
            life(x, fill(x)),
        )
        found = [f"{item.earlier.pipe.value}>{item.later.pipe.value}" for item in find_conflicts(tree)]
        assert [pair for pair in found if pair != "V>V"] == conflicts


def test_partials_are_stored_before_their_place_is_written_again():
    """Of the shipped operator: WriteRows stores copies of the sums, by row steps in two slots."""
    tree = compiled().program.cores[Core.AIV]
    write = next(item for item in tree.walk() if isinstance(item, Stage) and item.name == "WriteRows")
    free = [
        item for item in write.walk() if isinstance(item, SetEvent) and item.name.startswith("maxOutFree")
    ]
    assert {type(item) for item in free} == {SetEvent, WaitEvent}
    bare = rewrite(tree, lambda item: None if item in free else item)
    assert bare is not None
    assert {found.buffer.name for found in find_conflicts(as_seq(bare))} >= {"rowsOut"}


# Flags are binary.


def test_an_event_is_not_raised_before_it_was_awaited():
    """V raises once an iteration; without an answer from MTE3 it may raise again before MTE3 has waited."""
    step = fill(OTHER), raised("e", V, MTE3), awaited("e", V, MTE3)
    answer = raised("a", MTE3, V), awaited("a", MTE3, V)
    assert [type(item) for item in find_problems(loop(*step).body) if isinstance(item, Overrun)] == []
    unanswered = [item for item in find_problems(seq(loop(*step))) if isinstance(item, Overrun)]
    assert [item.event.name for item in unanswered] == ["e"]
    assert not [item for item in find_problems(seq(loop(*step, *answer))) if isinstance(item, Overrun)]


@pytest.mark.parametrize("inner", ["e", "other"])
def test_one_event_is_not_used_inside_itself(inner):
    tree = seq(
        raised("e", V, MTE3), raised(inner, V, MTE3), awaited(inner, V, MTE3), awaited("e", V, MTE3)
    )  # fmt: skip
    assert [item.event.name for item in find_problems(tree)] == (["e"] if inner == "e" else [])


def test_a_lifetime_without_the_raising_pipe_asks_it_first():
    """MTE3 has nothing to do in the second lifetime, so it must not raise "free" before V has awaited it."""
    x = ub("x")
    tree = synchronized(loop(made_and_stored(x)), loop(life(x, fill(x), compute(OTHER, x))))
    assert find_problems(tree) == ()
    hasty = without(tree, WaitEvent, "xTakenVMTE3")
    assert [item.event.name for item in find_problems(hasty) if isinstance(item, Overrun)] == ["xFreeMTE3V"]


# Names.


@pytest.mark.parametrize(
    ("core", "name", "buffers"),
    [
        (Core.AIV, "scoreReadyMTE2V", ("score", "pseShiftRows")),
        (Core.AIV, "maxOutFreeMTE3V", ("maxOut", "sumOut", "rowsOut")),
        (Core.AIC, "rightL0ReadyMTE1M", ("rightL0",)),
    ],
)
def test_an_event_tells_which_buffers_it_orders(core, name, buffers):
    tree = compiled(128, "float16", "attn_mask", "pse_shift").program.cores[core]
    found = [item for item in tree.walk() if isinstance(item, SetEvent) and item.name == name]
    assert found and all(tuple(b.name for b in item.buffers) == buffers for item in found)


# What loops declare.


def _changed(launch: Launch, core: Core, change) -> Launch:
    """The launch with one core's tree rewritten."""
    program = launch.compiled.program
    tree = as_seq(rewrite(program.cores[core], change) or Seq(body=()))
    changed = program.with_(cores={**program.cores, core: tree})
    return replace(launch, compiled=replace(launch.compiled, program=changed))


def launch_of(kv_heads=1, group=1, keys=600, head_dim=128, masked=True, cores=1) -> Launch:
    """A BNSD call of the shipped operator on random input."""
    rng = np.random.default_rng(0)

    def normal(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape, np.float32).astype(np.float16)

    caches = [normal(1, kv_heads, keys, head_dim)], [normal(1, kv_heads, keys, head_dim)]
    more = {"attn_mask": rng.random((1, keys)) < 0.3} if masked else {}
    heads = kv_heads * group
    call = ops.incre_flash_attention.bind(
        normal(1, heads, 1, head_dim), *caches, num_heads=heads, num_key_value_heads=kv_heads,
        scale_value=0.1, input_layout="BNSD", **more,
    )  # fmt: skip
    return prepare(call, cores)


CASES = {
    "tail and mask": {"group": 6},
    "a head size that is no multiple of a repeat": {"group": 20, "keys": 70, "head_dim": 272},
    "keys split over cores": {"keys": 2104, "cores": 4},
    "without a mask": {"kv_heads": 2, "group": 3, "masked": False},
}


@pytest.mark.parametrize("name", CASES)
def test_disjoint_loops_touch_different_elements(name):
    interpret(launch_of(**CASES[name]), check_disjoint=True)


def test_key_rows_that_are_copied_one_by_one_are_disjoint():
    """The whole-block copy of keys is taken out of the branch on the row pitch."""

    def change(item: Statement) -> Statement:
        by_row = isinstance(item, If) and item.otherwise is not None and "Stride" in str(item.condition)
        return item.otherwise if by_row else item

    launch = launch_of(group=3, keys=40)
    tree = as_seq(rewrite(launch.compiled.program.cores[Core.AIC], change) or seq())
    assert len(list(tree.walk())) < len(list(launch.compiled.program.cores[Core.AIC].walk()))
    interpret(_changed(launch, Core.AIC, change), check_disjoint=True)


@pytest.mark.parametrize("core", [Core.AIC, Core.AIV], ids=lambda core: core.value)
def test_a_loop_that_is_not_disjoint_is_found(core):
    """Steps of half the size: neighbouring iterations share elements. Unchanged, the same loop is fine.

    A block of results for each step would no longer be aligned: those loops stay as they are.
    """

    def halved(item: Statement) -> Statement:
        if any(isinstance(each, BlockReduce) for each in item.walk()):
            return item
        if isinstance(item, For) and item.disjoint and item.step.same(Const(1)) is False:
            return replace(item, step=item.step // 2)
        if isinstance(item, For) and item.disjoint and core is Core.AIC:
            return replace(item, body=as_seq(_shifted(item)))
        return item

    def _shifted(item: For) -> Statement:
        half = {item.var.name: item.var // 2}

        def change(inner: Statement) -> Statement:
            region = getattr(inner, "dst", None)
            if region is None:
                return inner
            return replace(inner, dst=replace(region, offset=region.offset.substitute(half)))  # type: ignore[call-arg]

        return rewrite(item.body, change) or item.body

    launch = launch_of(group=20)
    with pytest.raises(InternalError, match=r"two iterations of the loop over \w+ touch element \d+ of"):
        interpret(_changed(launch, core, halved), check_disjoint=True)
    interpret(_changed(launch, core, lambda item: item), check_disjoint=True)


def test_a_promise_about_a_slot_that_changes_counts_for_nothing():
    """A lifetime inside the loop: the iterations' elements are those of different slots, or of the same."""
    x = ub("x")
    assert find_conflicts(seq(loop(fill(x), disjoint=(x,)))) == ()
    assert len(find_conflicts(seq(loop(life(x, fill(x)), disjoint=(x,))))) == 1


def test_each_of_two_loops_in_each_other_must_promise_disjoint_elements():
    x = ub("x")
    assert find_conflicts(seq(loop(loop(fill(x), disjoint=(x,)), disjoint=(x,)))) == ()
    assert len(find_conflicts(seq(loop(loop(fill(x)), disjoint=(x,))))) == 1
    assert len(find_conflicts(seq(loop(loop(fill(x), disjoint=(x,)))))) == 1
    three = loop(loop(loop(fill(x), disjoint=(x,)), disjoint=(x,)), disjoint=(x,))
    assert find_conflicts(seq(three)) == ()
    assert len(find_conflicts(seq(three, fill(x)))) == 1  # what follows the loops meets all of them


def test_a_loop_that_declares_to_run_does():
    launch = launch_of(group=20)

    def never(item: Statement) -> Statement:
        return replace(item, end=item.begin) if isinstance(item, For) and item.runs else item

    with pytest.raises(InternalError, match="does not run at all"):
        interpret(_changed(launch, Core.AIC, never))
