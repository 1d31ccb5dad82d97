"""The comment on a kernel's events explains the names that are there, and no others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from attndsl.codegen.kernel.event_legend import event_legend
from attndsl.codegen.names.spelling import Spelling
from attndsl.expr import Const
from attndsl.target import MemorySpace, Pipe
from attndsl.tile.buffers import Buffer
from attndsl.tile.program import Program
from attndsl.tile.statements import SetEvent, seq
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
        ((READY, FREE, TAKEN), ("FreeXY:", "TakenYX:")),
        ((READY, DONE), ("Done/Taken:",)),
        ((replace(READY, buffers=(SCORE, MASK)), FREE), ("Buffers with one lifetime",)),
    ],
)
def test_each_kind_of_event_that_a_kernel_has_is_explained(
    events: tuple[SetEvent, ...], explained: tuple[str, ...]
) -> None:
    found = legend(*events)
    assert found.startswith("Event ids by pipe pair. Ready: the content may be read; Free: ")
    every = ("FreeXY:", "TakenYX:", "Done/Taken:", "Buffers with one lifetime")
    assert tuple(each for each in every if each in found) == explained
