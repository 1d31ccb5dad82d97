"""What a cross-core flag promises about rings: trees of a few statements, and twins in which it holds."""

from __future__ import annotations

import pytest

from attndsl.expr import Const, Named, Scope, Symbol
from attndsl.passes.events.ring_order import find_early_flags
from attndsl.target import Core, Pipe
from attndsl.tile.buffers import GlobalTensor
from attndsl.tile.instructions import Instruction, LoadRows, StoreRows
from attndsl.tile.statements import (
    BLOCK_MODE,
    DEVICE_MODE,
    Earlier,
    For,
    If,
    KeepScalars,
    Let,
    SetCrossFlag,
    Statement,
    Steps,
    seq,
)

from .trees import MTE2, MTE3, V, load, order, ub

X = ub("x")
ROWS = Symbol("rows")


def ring(name: str, shared: str = "block") -> GlobalTensor:
    return GlobalTensor(name=name, dtype="float32", role="workspace", shared=shared)


RING, OTHER, DEVICE = ring("ring"), ring("other"), ring("device", "device")


def read(source: GlobalTensor = RING) -> Instruction:
    """MTE2 reads the ring."""
    return LoadRows(dst=X.region(0, 1, 64), src=source.region(0, 1, 64))


def write(target: GlobalTensor = RING) -> Instruction:
    """MTE3 writes the ring."""
    return StoreRows(dst=target.region(0, 1, 64), src=X.region(0, 1, 64))


def flag(pipe: Pipe = MTE3, mode: int = BLOCK_MODE) -> SetCrossFlag:
    return SetCrossFlag(name="done", flag=0, mode=mode, pipe=pipe)


def early(*statements: Statement) -> list[str]:
    """Rings that a flag is too early for, with the pipe that may still access them."""
    return [f"{e.earlier.pipe.value} on {e.tensor.name}" for e in find_early_flags(seq(*statements))]


def test_a_pipe_speaks_for_what_it_did_itself():
    assert early(write(), flag()) == []


def test_a_pipe_does_not_speak_for_another_that_it_did_not_wait_for():
    assert early(read(), flag()) == ["MTE2 on ring"]
    assert early(read(), order("e", MTE2, MTE3), flag()) == []
    assert early(read(), order("e", MTE3, MTE2), flag()) == ["MTE2 on ring"]


def test_what_a_pipe_knows_by_way_of_another_counts():
    assert early(read(), order("a", MTE2, V), order("b", V, MTE3), flag()) == []
    assert early(read(), order("b", V, MTE3), order("a", MTE2, V), flag()) == ["MTE2 on ring"]


@pytest.mark.parametrize(
    "harmless",
    [
        [load(X), flag()],
        [read(DEVICE), flag()],
        [flag(), read()],
        [read(), flag(mode=DEVICE_MODE)],
        [read()],
    ],
    ids=["an input", "not a ring", "behind the flag", "among all cores", "no flag"],
)
def test_what_a_flag_does_not_speak_of(harmless):
    assert early(*harmless) == []


def test_a_flag_speaks_of_every_ring():
    assert early(read(RING), read(OTHER), flag()) == ["MTE2 on ring", "MTE2 on other"]


def over(end: Symbol, *body: Statement) -> For:
    return For(var=Symbol("r"), end=end, body=seq(*body))


def test_loops_over_one_scalar_run_all_or_none():
    """The event that orders the read stands in another loop, which runs whenever the read does."""
    rows = Let(symbol=ROWS, value=Symbol("n") - 1)
    assert early(rows, over(ROWS, read()), over(ROWS, order("e", MTE2, MTE3)), flag()) == []
    other = Symbol("columns")
    unlike = over(ROWS, read()), over(other, order("e", MTE2, MTE3))
    assert early(rows, *unlike, flag()) == ["MTE2 on ring"]


def test_the_finding_names_the_flag_the_instruction_and_the_ring():
    (found,) = find_early_flags(seq(read(), flag()))
    assert str(found) == ("flag done is raised behind MTE3 while 'x[64] <- ring[64]' may still access ring")


KEEP = KeepScalars(
    core=Core.AIV,
    attention_name="",
    steps=Steps(
        counter=Symbol("begun", Scope.MEMBER),
        slot=Symbol("slot"),
        runs=Symbol("itemsBegun", Scope.MEMBER),
        run=Symbol("itemSlot"),
        depth=Named(2, "ring"),
    ),
    begins=Const(True),
    scalars=(Symbol("slot"), ROWS),
)


def over_rows(*body: Statement) -> For:
    return For(var=Symbol("r"), end=ROWS, body=seq(*body))


def earlier(*body: Statement) -> If:
    """The statements with the rows of the step before."""
    return Earlier(condition=KEEP.steps.counter > 1, then=seq(*body), keep=KEEP, back=1)


def test_rows_of_an_earlier_step_are_not_those_of_this_one():
    """The core may have rows of the item before and none of this one: nothing orders its flag then."""
    ordered = over_rows(order("b", V, MTE3))
    rows = Let(symbol=ROWS, value=Symbol("taskRows"))
    load = over_rows(read(), order("a", MTE2, V))
    assert early(rows, load, ordered, flag()) == []
    assert early(rows, earlier(load), ordered, flag()) == ["MTE2 on ring"]


def test_a_handshake_for_cores_without_rows_is_enough():
    rows, ordered = Let(symbol=ROWS, value=Symbol("taskRows")), over_rows(order("b", V, MTE3))
    load = earlier(over_rows(read(), order("a", MTE2, V)))
    late = find_early_flags(seq(rows, load, ordered, flag()))
    assert {found.idle for found in late} == {frozenset({"rows"})}
    handshake = order("h", MTE2, MTE3)
    assert early(rows, load, ordered, If(condition=ROWS <= 0, then=seq(handshake)), flag()) == []
    assert early(rows, load, ordered, If(condition=ROWS <= 1, then=seq(handshake)), flag()) == [
        "MTE2 on ring"
    ]
