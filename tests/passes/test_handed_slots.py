"""Buffers that a stage hands over to a later one: the events of their slots, and forms that prove nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from attndsl.base.errors import InternalError
from attndsl.expr import Const, Expr, Named, Scope, Symbol
from attndsl.passes.events.buffer_reuse import reuse_events
from attndsl.passes.events.handed_slots import free_events
from attndsl.passes.events.hazards import find_problems
from attndsl.target import Core
from attndsl.tile.statements import (
    Earlier,
    For,
    Handed,
    If,
    KeepScalars,
    Let,
    Seq,
    Shared,
    Stage,
    Statement,
    Steps,
    seq,
)

from .trees import MTE2, V, assert_prints, compute, fill, load, store, ub

SLOT, TILE = Symbol("slot"), Symbol("tile")
KEPT, OTHER = replace(ub("kept", 2), by_step=True), ub("other")
HAS_WORK = Symbol("keys") > TILE


def steps(depth: int = 2) -> Steps:
    member = Scope.MEMBER
    return Steps(
        counter=Symbol("stepsBegun", member),
        slot=SLOT,
        runs=Symbol("itemsBegun", member),
        run=Symbol("itemSlot"),
        depth=Named(depth, "ring"),
    )


def part(*body: Statement, begins: bool, slot: Symbol = SLOT) -> Handed:
    return Handed(buffers=(KEPT,), slot=slot, begins=begins, body=seq(*body))


FIRST = part(load(KEPT), compute(OTHER, KEPT), begins=True)
LAST = part(compute(OTHER, KEPT), begins=False)


def pipeline(
    first: Statement = FIRST,
    last: Statement = LAST,
    *,
    back: int = 1,
    depth: int = 2,
    when: tuple[Expr, Expr] = (HAS_WORK, HAS_WORK),
) -> Seq:
    """A continuous loop with two stages, the second one ``back`` steps behind."""
    keep = KeepScalars(
        core=Core.AIV, attention_name="", steps=steps(depth), begins=TILE == 0, scalars=(TILE, SLOT)
    )

    def stage(name: str, body: Statement, condition: Expr) -> If:
        found = Stage(name=name, core=Core.AIV, doc="", body=seq(body))
        return If(condition=condition, then=seq(found))

    behind = Earlier(
        condition=keep.steps.counter > back,
        then=seq(stage("Last", last, when[1])),
        keep=keep,
        back=back,
    )
    return seq(For(var=TILE, end=Symbol("steps"), body=seq(keep, stage("First", first, when[0]), behind)))


def test_the_writer_waits_for_the_slot_and_the_reader_gives_it_back():
    (event,) = free_events(pipeline()).values()
    assert (event.source, event.target, event.ids, event.reuse) == (V, MTE2, 2, True)
    done = reuse_events(pipeline())
    stages = [item for item in done.walk() if isinstance(item, Stage)]
    assert_prints(stages[0].body, """\
        in kept[slot], a lifetime that begins:
            wait V->MTE2 keptFreeVMTE2[slot]
            MTE2  kept[64] <- gm[64]
            V     other[64] = Exp(kept[64])
        """)  # fmt: skip
    assert_prints(stages[1].body, """\
        in kept[slot], a lifetime that ends:
            V     other[64] = Exp(kept[64])
            set V->MTE2 keptFreeVMTE2[slot]
        """)  # fmt: skip


def test_their_events_order_nothing_else():
    """A slot may have been given back long ago: who waits for it knows nothing of other buffers."""
    tree = pipeline(seq(FIRST, load(OTHER)))
    assert {str(item.buffer.name) for item in find_problems(reuse_events(tree))} == {"other"}  # type: ignore[union-attr]
    assert find_problems(reuse_events(pipeline())) == find_problems(pipeline())


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        (pipeline(LAST, FIRST), "begins its lifetime, and a later one"),
        (pipeline(FIRST, seq()), "begins its lifetime, and a later one"),
        (pipeline(back=2, depth=2), "2 steps later and has 2 slots"),
        (pipeline(depth=3), "slots of kept are not those of the steps"),
        (pipeline(part(load(KEPT), compute(OTHER, KEPT), begins=True, slot=Symbol("turn"))), "slots of kept"),
        (pipeline(when=(HAS_WORK, Symbol("keys") > TILE + 1)), "work in different steps"),
        (pipeline(last=part(fill(KEPT), compute(OTHER, KEPT), begins=False)), "one pipe that writes"),
        (pipeline(last=part(store(KEPT), begins=False)), "another one that reads"),
        (pipeline(part(load(KEPT), begins=True)), "another one that reads"),
        (pipeline(If(condition=HAS_WORK, then=seq(FIRST))), "once in each execution"),
        (pipeline(For(var=Symbol("i"), end=Const(2), body=seq(FIRST))), "once in each execution"),
    ],
    ids=[
        "other order", "no end", "slot taken too early", "other slots than steps", "another slot",
        "other steps", "written again", "another reader", "not read at first", "in a branch", "in a loop",
    ],
)  # fmt: skip
def test_a_form_that_proves_nothing_is_refused(tree, said):
    with pytest.raises(InternalError, match=said):
        free_events(tree)


# A lifetime that steps share, filled in a stage of its own -------------------------------------------------

IS_FIRST, PLACE = TILE < 2, Symbol("place")


def shared(*body: Statement, begins: bool, place: Expr = TILE % 2, first: Expr = IS_FIRST) -> Seq:
    held = Shared(
        buffers=(KEPT,),
        slot=PLACE,
        begins=begins,
        ends=not begins,
        first=first,
        last=TILE >= 4,
        body=seq(*body),
    )
    return seq(Let(symbol=PLACE, value=place), held)


FILL = If(condition=IS_FIRST, then=seq(load(KEPT)))
FILLED = shared(FILL, begins=True)
READ = shared(compute(OTHER, KEPT), begins=False)


def same_step(first: Statement = FILLED, last: Statement = READ, when: Expr = HAS_WORK) -> Seq:
    keep = KeepScalars(
        core=Core.AIV, attention_name="", steps=steps(), begins=TILE == 0, scalars=(TILE, SLOT)
    )
    stages = [
        If(condition=condition, then=seq(Stage(name=name, core=Core.AIV, doc="", body=seq(body))))
        for name, body, condition in (("Fill", first, HAS_WORK), ("Read", last, when))
    ]
    return seq(For(var=TILE, end=Symbol("steps"), body=seq(keep, *stages)))


def test_the_stage_that_fills_waits_and_the_last_step_that_reads_gives_back():
    stages = [item for item in reuse_events(same_step()).walk() if isinstance(item, Stage)]
    assert_prints(stages[0].body, """\
        place := tile % 2
        in kept[place], a lifetime that begins:
            if tile < 2:
                wait V->MTE2 keptFreeVMTE2[slot]
                MTE2  kept[64] <- gm[64]
                set MTE2->V keptReadyMTE2V[slot]
                wait MTE2->V keptReadyMTE2V[slot]
        """)  # fmt: skip
    assert_prints(stages[1].body, """\
        place := tile % 2
        in kept[place], a lifetime that ends:
            V     other[64] = Exp(kept[64])
            if tile >= 4:
                set V->MTE2 keptFreeVMTE2[slot]
        """)  # fmt: skip


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        (same_step(READ, FILLED), "fills it, and a later one"),
        (same_step(FILLED, seq()), "fills it, and a later one"),
        (same_step(when=Symbol("keys") > TILE + 1), "work in different steps"),
        (same_step(last=shared(compute(OTHER, KEPT), begins=False, place=SLOT)), "in different slots"),
        (same_step(last=shared(compute(OTHER, KEPT), begins=False, first=TILE < 3)), "in different slots"),
        (same_step(shared(load(KEPT), begins=True)), "written for other halves"),
        (same_step(last=shared(load(KEPT), compute(OTHER, KEPT), begins=False)), "written after that"),
        (same_step(shared(FILL, compute(OTHER, KEPT), begins=True)), "complete"),
    ],
    ids=[
        "other order", "no end", "other steps", "another slot", "another first step", "in each step",
        "written again", "read in front",
    ],
)  # fmt: skip
def test_another_form_of_two_stages_is_refused(tree, said):
    with pytest.raises(InternalError, match=said):
        free_events(tree)
