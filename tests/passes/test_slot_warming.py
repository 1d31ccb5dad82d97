"""Rings whose slots vector cores store to before the loop: their flags, and forms that prove nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from attndsl.base.errors import InternalError
from attndsl.expr import Const, Symbol
from attndsl.lowering.lower import lower
from attndsl.lowering.match.attention_pattern import recognize
from attndsl.lowering.match.schedule_options import Schedule
from attndsl.passes.flags.derive_flags import derive_flags
from attndsl.passes.flags.slot_warming import warmed_rings
from attndsl.target import Core
from attndsl.tile.instructions import StoreRows
from attndsl.tile.program import Program
from attndsl.tile.statements import (
    For,
    Pipelined,
    SetCrossFlag,
    Stage,
    Statement,
    WaitCrossFlag,
    as_seq,
    rewrite,
    seq,
)
from tests.support.builders import PADDED, attention, signature
from tests.support.devices import DEVICE

Change = Callable[[Statement], Statement | None]


def warmed(**options: Any) -> Program:
    """The joint program of a prompt whose score slots vector cores store to first."""
    output = attention(PADDED)
    schedule = replace(Schedule(), tile_k=128, max_rows=256, **options)
    return lower(recognize((output,)), signature(output, positions=Symbol("Q")), schedule, DEVICE)


def changed(program: Program, change: Change) -> Program:
    return program.with_(body=as_seq(rewrite(program.body, change) or seq()))


def of_loop(change: Callable[[Pipelined, int], Pipelined]) -> Change:
    """``change`` of the loop, which is also given the place of the stage that waits for slots."""

    def found(item: Statement) -> Statement:
        if not isinstance(item, Pipelined):
            return item
        return change(item, next(i for i, stage in enumerate(item.stages) if stage.name == "AwaitSlot"))

    return found


def flags(program: Program, name: str) -> list[tuple[str, str]]:
    """The stages with a flag, and what they do with it."""
    return [
        (stage.name, type(item).__name__)
        for stage in program.body.walk()
        if isinstance(stage, Stage)
        for item in stage.walk()
        if isinstance(item, SetCrossFlag | WaitCrossFlag) and item.name == name
    ]


def test_a_flag_a_slot_is_set_and_awaited() -> None:
    program = derive_flags(warmed())
    assert flags(program, "scoreRingWarm") == [("WarmScores", "SetCrossFlag"), ("AwaitSlot", "WaitCrossFlag")]
    assert flags(program, "scoreRingReady") == [
        ("ScoreTile", "SetCrossFlag"),
        ("SoftmaxTile", "WaitCrossFlag"),
    ]
    (stage,) = (item for item in program.body.walk() if isinstance(item, Stage) and item.name == "WarmScores")
    outer, inner = (item for item in stage.walk() if isinstance(item, For))
    assert isinstance(outer.body.body[-1], SetCrossFlag) and not any(
        isinstance(item, SetCrossFlag) for item in inner.walk()
    )


def test_nothing_is_set_where_nobody_stores_first() -> None:
    program = derive_flags(warmed(first_stores="cube"))
    assert not warmed_rings(program) and not flags(program, "scoreRingWarm")


def _a_slot_less(item: Statement) -> Statement:
    return replace(item, begin=Const(2)) if isinstance(item, For) and item.var.name == "warmStep" else item


def _another_ring(item: Statement) -> Statement:
    if not isinstance(item, StoreRows) or item.dst.tensor.name != "scoreRing":
        return item
    return replace(item, dst=replace(item.dst, tensor=replace(item.dst.tensor, name="other")))


def _without_a_wait(item: Statement) -> Statement | None:
    return replace(item, warms=None) if isinstance(item, Stage) and item.name == "AwaitSlot" else item


def _moved(loop: Pipelined, place: int) -> Pipelined:
    """The wait as the last stage."""

    order = [*(number for number in range(len(loop.stages)) if number != place), place]
    stages, lags = tuple(loop.stages[i] for i in order), tuple(loop.lags[i] for i in order)
    return replace(loop, stages=stages, lags=lags, when=tuple(loop.when[i] for i in order))


def _with_keys_alone(loop: Pipelined, place: int) -> Pipelined:
    """The wait in steps that have keys, of which there may be fewer than slots."""
    keyed = loop.when[loop.stages.index(next(each for each in loop.stages if each.name == "ScoreTile"))]
    return replace(loop, when=(*loop.when[:place], keyed, *loop.when[place + 1 :]))


def _later(loop: Pipelined, place: int) -> Pipelined:
    return replace(loop, lags=(*loop.lags[:place], 2, *loop.lags[place + 1 :]))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_a_slot_less, r"WarmScores warms 1 slots of 2 of scoreRing"),
        (_another_ring, r"WarmScores stores to something else than slots of scoreRing"),
        (_without_a_wait, r"scoreRing is warmed by one stage before the loop, and awaited by one in it"),
        (of_loop(_moved), r"AwaitSlot does not wait for scoreRing in its first 2 steps"),
        (of_loop(_with_keys_alone), r"AwaitSlot does not wait for scoreRing in its first 2 steps"),
        (of_loop(_later), r"AwaitSlot does not wait for scoreRing in its first 2 steps"),
        (of_loop(lambda loop, _: replace(loop, shorter=())), r"waits for slots of scoreRing in steps that"),
    ],
    ids=["slots", "ring", "wait", "order", "condition", "lag", "all slots"],
)
def test_a_form_that_proves_nothing_is_refused(change: Change, said: str) -> None:
    with pytest.raises(InternalError, match=said):
        derive_flags(changed(warmed(), change))


def test_a_program_that_is_rebuilt_unchanged_is_taken() -> None:
    """The near twin of those above."""
    program = derive_flags(changed(warmed(), of_loop(lambda loop, _: replace(loop))))
    assert flags(program, "scoreRingWarm")


def in_step(
    *, most: int = 2, ring: str = "scoreRing", keyed: bool = True, behind: str = "StartRows"
) -> Program:
    """A prompt whose vector cores store to the slot of a step, in the first steps."""
    program = warmed(first_stores="cube")
    rings = {tensor.name: tensor for tensor in program.workspace}
    zeros = next(buffer for buffer in program.buffers() if buffer.name == "score")
    target = replace(rings["scoreRing"], name=ring) if ring != "scoreRing" else rings[ring]
    store = StoreRows(dst=target.region(0, 1, 64), src=zeros.region(0, 1, 64))
    stage = Stage(name="Warm", core=Core.AIV, doc="", body=seq(store), warms=rings["scoreRing"])

    def change(item: Statement) -> Statement:
        if not isinstance(item, Pipelined):
            return item
        names = [each.name for each in item.stages]
        assert item.steps is not None
        when = item.steps.counter <= most
        has_keys = item.when[names.index("SoftmaxTile")]
        if keyed and has_keys is not None:
            when = when & has_keys
        place = names.index(behind) + 1
        return replace(
            item,
            stages=(*item.stages[:place], stage, *item.stages[place:]),
            lags=(*item.lags[:place], 0, *item.lags[place:]),
            when=(*item.when[:place], when, *item.when[place:]),
        )

    return changed(program, change)


def test_stores_to_the_slot_of_a_step_take_no_flag() -> None:
    program = derive_flags(in_step())
    assert not warmed_rings(program) and not flags(program, "scoreRingWarm")
    assert program.flags == derive_flags(warmed(first_stores="cube")).flags


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"most": 3}, "Warm stores to slots of scoreRing that were used"),
        ({"ring": "other"}, "Warm stores to something else than slots of scoreRing"),
        ({"keyed": False}, "no stage of the step reads scoreRing behind Warm"),
        ({"behind": "SoftmaxTile"}, "no stage of the step reads scoreRing behind Warm"),
    ],
    ids=["steps", "ring", "condition", "order"],
)
def test_stores_to_the_slot_of_a_step_that_prove_nothing_are_refused(
    options: dict[str, Any], said: str
) -> None:
    with pytest.raises(InternalError, match=said):
        derive_flags(in_step(**options))
