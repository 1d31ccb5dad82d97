"""Events and barriers of one core: small trees before and after the pass."""

from __future__ import annotations

import pytest

from attndsl.base.errors import InternalError
from attndsl.expr import Symbol
from attndsl.lowering.errors import TooManyEvents
from attndsl.passes.events import synchronize as module
from attndsl.passes.events.synchronize import synchronize
from attndsl.target import Core, Pipe
from attndsl.tile.buffers import GlobalTensor
from attndsl.tile.instructions import LoadRows
from attndsl.tile.statements import (
    BLOCK_MODE,
    Alloc,
    If,
    Seq,
    SetCrossFlag,
    SetEvent,
    Stage,
    Statement,
    WaitEvent,
    seq,
)
from tests.support.devices import ARCHITECTURE

from .trees import assert_prints, compute, fill, lifetime, load, loop, program, store, ub

X, Y, Z = ub("x"), ub("y"), ub("z")
PAIR = ub("pair", slots=2)
RING = GlobalTensor(name="ring", dtype="float32", role="workspace", shared="block")


def synchronized(*statements: Statement) -> Seq:
    """The vector core's tree behind the pass."""
    return synchronize(program(cores={Core.AIV: seq(*statements)})).cores[Core.AIV]


def test_a_chain_over_three_pipes():
    assert_prints(
        synchronized(load(X), compute(Y, X), store(Y)),
        """
        MTE2  x[64] <- gm[64]
        set MTE2->V xReadyMTE2V
        wait MTE2->V xReadyMTE2V
        V     y[64] = Exp(x[64])
        set V->MTE3 yReadyVMTE3
        wait V->MTE3 yReadyVMTE3
        MTE3  gm[64] <- y[64]
        """,
    )


def test_several_loads_before_their_first_use_share_an_event():
    assert_prints(
        synchronized(load(X), load(Y), compute(Z, X), compute(Z, Y)),
        """
        MTE2  x[64] <- gm[64]
        MTE2  y[64] <- gm[64]
        set MTE2->V xReadyMTE2V
        wait MTE2->V xReadyMTE2V
        V     z[64] = Exp(x[64])
        barrier V
        V     z[64] = Exp(y[64])
        """,
    )


def test_buffers_of_a_lifetime_that_are_loaded_and_used_in_turn_have_events_of_their_own():
    """Under one name the second load would raise the event again before V has awaited it."""
    both = Alloc(buffers=(X, Y), body=seq(load(X), compute(Z, X), load(Y), compute(Z, Y)))
    names = {each.name for each in synchronized(both).walk() if isinstance(each, SetEvent)}
    assert names == {"xReadyMTE2V", "yReadyMTE2V"}
    at_once = Alloc(buffers=(X, Y), body=seq(load(X), load(Y), compute(Z, X), compute(Z, Y)))
    names = {each.name for each in synchronized(at_once).walk() if isinstance(each, SetEvent)}
    assert names == {"xReadyMTE2V"}


def part(*body: Statement) -> Stage:
    return Stage(name="Part", core=Core.AIV, doc="", body=seq(*body))


def test_what_a_part_has_waited_for_is_not_waited_for_behind_it():
    """The part is a function that two places call: its event stands in it, and is raised once."""
    assert_prints(
        synchronized(part(load(X), compute(Y, X)), compute(Z, X)),
        """
        stage Part on AIV:
            MTE2  x[64] <- gm[64]
            set MTE2->V xReadyMTE2V
            wait MTE2->V xReadyMTE2V
            V     y[64] = Exp(x[64])
        V     z[64] = Exp(x[64])
        """,
    )


@pytest.mark.parametrize("body", [[load(X)], [compute(Y, X), load(X)], [load(X), store(X)]])
def test_what_a_part_may_not_have_waited_for_is_waited_for_behind_it(body: list[Statement]):
    tree = synchronized(part(*body), compute(Z, X))
    assert any(isinstance(each, WaitEvent) and each.target is Pipe.V for each in tree.body)


def test_instructions_of_one_pipe_get_a_barrier_where_they_clash():
    assert_prints(
        synchronized(fill(X), fill(Y), compute(Z, X)),
        """
        V     x[64] = Duplicate(0.0)
        V     y[64] = Duplicate(0.0)
        barrier V
        V     z[64] = Exp(x[64])
        """,
    )


def test_what_nobody_else_accesses_gets_nothing():
    assert_prints(
        synchronized(load(X), fill(Y), store(Z)),
        """
        MTE2  x[64] <- gm[64]
        V     y[64] = Duplicate(0.0)
        MTE3  gm[64] <- z[64]
        """,
    )


def test_an_event_stands_in_one_sequence_whatever_its_sides_contain():
    """The use is inside a branch: raise and wait stay outside, so that they balance on both paths."""
    assert_prints(
        synchronized(load(X), If(condition=Symbol("n") > 0, then=seq(compute(Y, X)))),
        """
        MTE2  x[64] <- gm[64]
        set MTE2->V xReadyMTE2V
        wait MTE2->V xReadyMTE2V
        if n > 0:
            V     y[64] = Exp(x[64])
        """,
    )


def test_a_loop_over_one_slot_takes_turns():
    """That y is written again needs no barrier: between two iterations V waits for MTE2, and that for V."""
    assert_prints(
        synchronized(loop(lifetime(X, load(X), compute(Y, X)))),
        """
        set V->MTE2 xFreeVMTE2[0]
        for i in 0..n:
            with x (UB x1):
                wait V->MTE2 xFreeVMTE2[slot]
                MTE2  x[64] <- gm[64]
                set MTE2->V xReadyMTE2V
                wait MTE2->V xReadyMTE2V
                V     y[64] = Exp(x[64])
                set V->MTE2 xFreeVMTE2[slot]
        wait V->MTE2 xFreeVMTE2[0]
        """,
    )


def test_a_loop_over_two_slots_has_an_id_for_each():
    tree = synchronized(loop(lifetime(PAIR, load(PAIR), store(PAIR))))
    assert_prints(
        tree,
        """
        set MTE3->MTE2 pairFreeMTE3MTE2[0]
        set MTE3->MTE2 pairFreeMTE3MTE2[1]
        for i in 0..n:
            with pair (UB x2):
                wait MTE3->MTE2 pairFreeMTE3MTE2[slot]
                MTE2  pair[64] <- gm[64]
                set MTE2->MTE3 pairReadyMTE2MTE3[slot]
                wait MTE2->MTE3 pairReadyMTE2MTE3[slot]
                MTE3  gm[64] <- pair[64]
                set MTE3->MTE2 pairFreeMTE3MTE2[slot]
        wait MTE3->MTE2 pairFreeMTE3MTE2[0]
        wait MTE3->MTE2 pairFreeMTE3MTE2[1]
        """,
    )
    assert {event.ids for event in tree.walk() if isinstance(event, SetEvent)} == {2}


def test_an_order_that_follows_from_others_is_dropped():
    """MTE3 reads what MTE2 wrote, but waits for V, which waited for MTE2."""
    tree = synchronized(load(X), compute(Y, X), store(Y), store(X))
    names = {event.name for event in tree.walk() if isinstance(event, SetEvent)}
    assert names == {"xReadyMTE2V", "yReadyVMTE3"}


def test_ids_are_counted_for_each_pair_of_pipes():
    tree = synchronized(load(X), compute(Y, X), store(Y), load(Z), compute(X, Z), store(X))
    ids: dict[tuple[Pipe, Pipe], dict[str, int]] = {}
    for event in tree.walk():
        if isinstance(event, SetEvent):
            ids.setdefault((event.source, event.target), {})[event.name] = event.first_id
    for of_pair in ids.values():
        assert sorted(of_pair.values()) == list(range(len(of_pair)))
    assert len(ids[Pipe.MTE2, Pipe.V]) == 2


def test_more_ids_than_a_pair_has_are_refused_by_number():
    """Each buffer with slots is an event of its own; eight ids are there, each takes two."""
    buffers = [ub(f"b{number}", slots=2) for number in range(ARCHITECTURE.event_ids // 2 + 1)]
    with pytest.raises(TooManyEvents, match=rf"{ARCHITECTURE.event_ids + 2}.*{ARCHITECTURE.event_ids}"):
        synchronized(*(loop(lifetime(held, load(held), compute(Y, held))) for held in buffers))
    synchronized(*(loop(lifetime(held, load(held), compute(Y, held))) for held in buffers[:-1]))


def test_a_flag_waits_for_the_pipes_that_its_own_does_not_know_of():
    """MTE3 raises the flag while MTE2 may still read the ring: a full handshake stands in front."""
    from_ring = LoadRows(dst=X.region(0, 1, 64), src=RING.region(0, 1, 64))
    flag = SetCrossFlag(name="ringDone", flag=0, mode=BLOCK_MODE, pipe=Pipe.MTE3)
    assert_prints(
        synchronized(from_ring, flag),
        """
        MTE2  x[64] <- ring[64]
        set MTE2->MTE3 ringDoneMTE2Done
        wait MTE2->MTE3 ringDoneMTE2Done
        set MTE3->MTE2 ringDoneMTE2Taken
        wait MTE3->MTE2 ringDoneMTE2Taken
        set flag ringDone mode 2 behind MTE3
        """,
    )


def test_flags_of_the_same_pipes_take_one_exchange_of_events():
    """Each exchange is over before the next begins; of other pipes it is another."""
    reads = [LoadRows(dst=X.region(0, 1, 64), src=RING.region(0, 1, 64)) for _ in range(2)]
    flags = [SetCrossFlag(name=name, flag=0, mode=BLOCK_MODE, pipe=Pipe.MTE3) for name in ("a", "b")]
    found = synchronized(reads[0], flags[0], reads[1], flags[1])
    names = [item.name for item in found.walk() if isinstance(item, SetEvent) and item.name[0] in "ab"]
    assert names == ["aMTE2Done", "aMTE2Done", "aMTE2Taken", "aMTE2Taken"] * 2


def test_each_core_has_events_of_its_own():
    made = synchronize(program(cores={Core.AIC: seq(), Core.AIV: seq(load(X), compute(Y, X))}))
    assert made.cores[Core.AIC].body == ()
    assert any(isinstance(item, SetEvent) for item in made.cores[Core.AIV].walk())


def test_what_stays_unordered_is_a_defect_with_its_first_problem(monkeypatch):
    monkeypatch.setattr(module, "reuse_events", lambda tree: tree)
    with pytest.raises(InternalError, match=r"AIV: 2 problems of order; the first: V -> MTE2 on x"):
        synchronized(loop(lifetime(X, load(X), compute(Y, X))))
