"""The comment on a kernel's events explains the names that are there, and no others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from attndsl.codegen.kernel.event_legend import event_legend, flag_legend
from attndsl.codegen.names.spelling import Spelling
from attndsl.expr import Const
from attndsl.target import Core, MemorySpace, Pipe
from attndsl.tile.buffers import Buffer
from attndsl.tile.program import Program
from attndsl.tile.statements import Alloc, SetEvent, Stage, Statement, WaitCrossFlag, seq
from tests.support.devices import DEVICE

SCORE = Buffer(name="score", dtype="float32", space=MemorySpace.UB, size=Const(64))
MASK = Buffer(name="mask", dtype="float32", space=MemorySpace.UB, size=Const(64))
READY = SetEvent(name="scoreReadyMTE2V", source=Pipe.MTE2, target=Pipe.V, buffers=(SCORE,))
FREE = SetEvent(name="scoreFreeVMTE2", source=Pipe.V, target=Pipe.MTE2, buffers=(SCORE,), reuse=True)
OTHER = SetEvent(name="scoreFreeMTE3MTE2", source=Pipe.MTE3, target=Pipe.MTE2, buffers=(SCORE,), reuse=True)
TAKEN = SetEvent(name="scoreTakenMTE2V", source=Pipe.MTE2, target=Pipe.V, buffers=(SCORE,))
DONE = SetEvent(name="ringReadyMTE2Done", source=Pipe.MTE2, target=Pipe.MTE3)


def legend(*events: SetEvent) -> str:
    program = Program(
        name="hand_made", summary="", dtype="float16", parameters=(), workspace=(), tiling=(),
        device=DEVICE, constants=(), body=seq(*events),
    )  # fmt: skip
    return event_legend(program, Spelling(program).events)


@pytest.mark.parametrize(
    ("events", "explained"),
    [
        ((READY, FREE), ()),
        ((READY, FREE, OTHER), ("FreeXY:",)),
        ((READY, FREE, TAKEN), ("FreeXY:", "TakenYX answers FreeXY:")),
        (
            (READY, FREE, replace(TAKEN, ids=2)),
            ("FreeXY:", "TakenYX answers FreeXY:", "With two slots X may write"),
        ),
        ((READY, DONE), ("Done/Taken:",)),
        ((replace(READY, buffers=(SCORE, MASK)), FREE), ("Buffers with one lifetime",)),
    ],
)
def test_each_kind_of_event_that_a_kernel_has_is_explained(
    events: tuple[SetEvent, ...], explained: tuple[str, ...]
) -> None:
    found = legend(*events)
    assert found.startswith("Event ids by pipe pair. Ready: the content may be read; Free: ")
    every = (
        *("FreeXY:", "TakenYX answers FreeXY:", "With two slots X may write"),
        *("Done/Taken:", "Buffers with one lifetime"),
    )
    assert tuple(each for each in every if each in found) == explained


@pytest.mark.parametrize(
    ("ordered", "name"), [((MASK,), "kMaskReady"), ((MASK, SCORE), "kScoreReady"), ((SCORE,), "kScoreReady")]
)
def test_an_event_is_named_after_a_buffer_that_it_orders(ordered: tuple[Buffer, ...], name: str) -> None:
    """Of a lifetime with another first buffer that may be one of the others."""
    event = replace(READY, buffers=ordered)
    program = Program(
        name="hand_made", summary="", dtype="float16", parameters=(), workspace=(), tiling=(),
        device=DEVICE, constants=(), body=seq(Alloc(buffers=(SCORE, MASK), body=seq(event))),
    )  # fmt: skip
    assert Spelling(program).events == {"scoreReadyMTE2V": name}


def flags_told(stage: Statement) -> str:
    program = Program(
        name="hand_made", summary="", dtype="float16", parameters=(), workspace=(), tiling=(),
        device=DEVICE, constants=(), body=seq(stage),
    )  # fmt: skip
    return flag_legend(program)


@pytest.mark.parametrize(("stem", "frees"), [("AwaitProbabilities", True), ("WeightedTile", False)])
def test_the_flag_that_frees_a_slot_of_scores_is_named(stem: str, frees: bool) -> None:
    """Where the cube waits for probabilities before it overwrites scores; elsewhere no flag frees a slot."""
    wait = WaitCrossFlag(name="probRingReady", flag=1)
    found = flags_told(Stage(name=stem, core=Core.AIC, doc="", body=seq(wait)))
    assert found.startswith("Cross-core flags. Ready: a slot of the ring is written. ")
    assert ("kProbRingReady also frees the tile's slot of the score ring" in found) is frees
    assert ("None says that a slot is free" in found) is not frees
