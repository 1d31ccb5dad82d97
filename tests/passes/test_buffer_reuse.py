"""Events by which lifetimes hand a slot on: the tree before and after, and what makes each event."""

from __future__ import annotations

import pytest

from attndsl.base.errors import InternalError
from attndsl.expr import Symbol
from attndsl.passes.events.buffer_reuse import first_of_each, reuse_events
from attndsl.tile.statements import Alloc, If, Note, SetEvent, WaitEvent, seq

from .trees import assert_prints, compute, fill, lifetime, load, loop, store, ub

X, Y = ub("x"), ub("y")
PAIR = ub("pair", slots=2)


def test_the_next_lifetime_waits_until_the_other_pipe_has_given_the_slot_back():
    """Raised once in front of all, awaited before the first access, raised behind the last, collected."""
    assert_prints(
        reuse_events(seq(loop(lifetime(X, load(X), fill(Y), compute(Y, X), fill(Y))))),
        """
        set V->MTE2 xFreeVMTE2[0]
        for i in 0..n:
            with x (UB x1):
                wait V->MTE2 xFreeVMTE2[slot]
                MTE2  x[64] <- gm[64]
                V     y[64] = Duplicate(0.0)
                V     y[64] = Exp(x[64])
                set V->MTE2 xFreeVMTE2[slot]
                V     y[64] = Duplicate(0.0)
        wait V->MTE2 xFreeVMTE2[0]
        """,
    )


def test_an_event_has_an_id_for_each_slot():
    assert_prints(
        reuse_events(seq(loop(lifetime(PAIR, fill(PAIR), store(PAIR))))),
        """
        set MTE3->V pairFreeMTE3V[0]
        set MTE3->V pairFreeMTE3V[1]
        for i in 0..n:
            with pair (UB x2):
                wait MTE3->V pairFreeMTE3V[slot]
                V     pair[64] = Duplicate(0.0)
                MTE3  gm[64] <- pair[64]
                set MTE3->V pairFreeMTE3V[slot]
        wait MTE3->V pairFreeMTE3V[0]
        wait MTE3->V pairFreeMTE3V[1]
        """,
    )
    (event,) = (item for item in first_of_each(reuse_events(seq(lifetime(PAIR, fill(PAIR), store(PAIR))))))
    assert event.ids == 2 and event.slot_of is PAIR and event.reuse and event.buffers == (PAIR,)


def test_a_lifetime_without_the_raising_pipe_asks_it_first():
    """The first lifetime is no matter of MTE3: MTE3 raises for it only once V has taken what was up."""
    assert_prints(
        reuse_events(seq(lifetime(X, fill(X)), lifetime(X, fill(X), store(X)))),
        """
        set MTE3->V xFreeMTE3V[0]
        with x (UB x1):
            wait MTE3->V xFreeMTE3V[slot]
            set V->MTE3 xTakenVMTE3[slot]
            V     x[64] = Duplicate(0.0)
            wait V->MTE3 xTakenVMTE3[slot]
            set MTE3->V xFreeMTE3V[slot]
        with x (UB x1):
            wait MTE3->V xFreeMTE3V[slot]
            V     x[64] = Duplicate(0.0)
            MTE3  gm[64] <- x[64]
            set MTE3->V xFreeMTE3V[slot]
        wait MTE3->V xFreeMTE3V[0]
        """,
    )


def test_one_pipe_alone_needs_no_event():
    tree = seq(loop(lifetime(X, fill(X), compute(Y, X))))
    assert first_of_each(reuse_events(tree)) == ()


def test_either_side_of_a_branch_may_be_first():
    """Both pipes that may start on the slot wait for the other."""
    branch = If(condition=Symbol("n") > 0, then=seq(load(X)), otherwise=seq(fill(X)))
    found = reuse_events(seq(lifetime(X, branch, compute(Y, X))))
    assert {event.name for event in first_of_each(found) if event.reuse} == {"xFreeVMTE2", "xFreeMTE2V"}


def test_buffers_of_one_lifetime_are_handed_on_together():
    both = Alloc(buffers=(X, Y), body=seq(load(X), compute(Y, X), store(Y)))
    events = first_of_each(reuse_events(seq(both)))
    assert [event.name for event in events] == ["xFreeVMTE2", "xFreeMTE3MTE2"]
    assert all(event.buffers == (X, Y) for event in events)


def test_every_event_is_raised_as_often_as_it_is_awaited():
    tree = reuse_events(seq(lifetime(X, load(X), compute(Y, X)), loop(lifetime(X, fill(X), store(X)))))
    count: dict[str, int] = {}
    for item in tree.walk():
        if isinstance(item, SetEvent):
            count[item.name] = count.get(item.name, 0) + (-1 if isinstance(item, WaitEvent) else 1)
    assert count and not any(count.values())


def test_a_lifetime_that_accesses_nothing_is_a_defect():
    with pytest.raises(InternalError, match="the lifetime of x accesses it nowhere"):
        reuse_events(seq(lifetime(X, Note(text="nothing"))))
