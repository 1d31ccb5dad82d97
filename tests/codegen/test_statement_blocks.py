"""Blocks of statements: what stands twice in a row stands once, where that means the same."""

from __future__ import annotations

import pytest

from attndsl.codegen.kernel.statements import Writer
from attndsl.codegen.names.spelling import Spelling
from attndsl.expr import Const, Expr, Load, Named, Symbol, select
from attndsl.passes.events.event_pairs import wait_for
from attndsl.target import Core, Pipe
from attndsl.tile.program import Program
from attndsl.tile.statements import (
    Barrier,
    Earlier,
    If,
    KeepScalars,
    Let,
    Note,
    SetEvent,
    Statement,
    Steps,
    seq,
)
from tests.support.devices import DEVICE

TILE, TILES, ROWS = Symbol("tile"), Symbol("tiles"), Symbol("rows")
ACTIVE = TILE < TILES


def lines(*body: Statement) -> list[str]:
    tree = seq(*body)
    program = Program(
        name="hand_made", summary="", dtype="float16", parameters=(), workspace=(), tiling=(),
        device=DEVICE, constants=(), body=tree,
    )  # fmt: skip
    return [line.strip() for line in Writer(program, Spelling(program)).body(tree)]


def when(condition: Expr, text: str, *more: Statement) -> If:
    return If(condition=condition, then=seq(*more, Note(text=text)))


def test_branches_of_one_condition_are_one() -> None:
    found = lines(when(ACTIVE, "a"), when(ACTIVE, "b"), when(ACTIVE, "c"))
    assert found == ["if (tile < tiles) {", "// a", "// b", "// c", "}"]


@pytest.mark.parametrize(
    "second",
    [
        when(TILE <= TILES, "b"),
        If(condition=ACTIVE, then=seq(Note(text="b")), otherwise=seq(Note(text="c"))),
        when(ACTIVE, "b", Let(symbol=ROWS, value=TILE * 3)),
    ],
    ids=["another condition", "an alternative", "the same name"],
)
def test_other_branches_stay_apart(second: If) -> None:
    found = lines(when(ACTIVE, "a", Let(symbol=ROWS, value=TILE * 2)), second)
    assert sum(line.startswith("if (") for line in found) == 2


def test_a_condition_whose_scalar_the_first_branch_defines_again_is_asked_again() -> None:
    """As a counter of steps is, which goes up inside."""
    first = when(ACTIVE, "a", Let(symbol=TILES, value=TILE + 1))
    assert sum(line.startswith("if (") for line in lines(first, when(ACTIVE, "b"))) == 2


def test_a_condition_that_is_read_may_have_changed() -> None:
    read = Load("flags", TILE) > 0
    assert sum(line.startswith("if (") for line in lines(when(read, "a"), when(read, "b"))) == 2


def test_a_barrier_that_both_alternatives_begin_with_stands_before_them() -> None:
    both = If(
        condition=ACTIVE,
        then=seq(Barrier(pipe=Pipe.MTE2), Note(text="a")),
        otherwise=seq(Barrier(pipe=Pipe.MTE2), Note(text="b")),
    )
    found = lines(both)
    assert found[:2] == ["PipeBarrier<PIPE_MTE2>();", "if (tile < tiles) {"] and len(found) == 6
    other = If(condition=ACTIVE, then=both.then, otherwise=seq(Barrier(pipe=Pipe.V), Note(text="b")))
    assert lines(other)[0] == "if (tile < tiles) {"


def test_a_scalar_of_the_value_of_another_is_that_one() -> None:
    first, second, third = Symbol("first"), Symbol("second"), Symbol("third")
    found = lines(
        Let(symbol=first, value=TILE * ROWS),
        Let(symbol=second, value=TILE * ROWS),
        Let(symbol=third, value=second + 1),
        when(third > second, "a"),
    )
    assert found[:2] == ["const int64_t first = tile * rows;", "const int64_t third = first + 1;"]
    assert found[2] == "if (third > first) {"


def test_a_scalar_that_an_inner_block_defines_again_keeps_its_name() -> None:
    """Else the block would see the inner one in its place."""
    first, second = Symbol("first"), Symbol("second")
    values = [Let(symbol=first, value=TILE * ROWS), Let(symbol=second, value=TILE * ROWS)]
    inner = when(ACTIVE, "a", Let(symbol=first, value=TILE + 1), Let(symbol=TILES, value=second * 2))
    assert "const int64_t second = tile * rows;" in lines(*values, inner)
    assert "const int64_t tiles = second * 2;" in lines(*values, inner)


def test_another_name_of_what_is_no_scalar_of_the_block_stays() -> None:
    """It says what a loop's variable is."""
    head = Symbol("head")
    assert lines(Let(symbol=head, value=TILE), when(head > 0, "a"))[0] == "const int64_t head = tile;"


def test_a_choice_by_many_conditions_is_written_in_branches() -> None:
    chosen, count = Symbol("chosen"), Symbol("count")

    def choice(rest: Expr, *sizes: int) -> list[str]:
        value = rest
        for size in reversed(sizes):
            value = select(count % size == 0, size, value)
        return lines(Let(symbol=chosen, value=value), when(chosen > 3, "a"))[:-3]

    assert choice(Const(1), 8, 4, 2) == [
        "int64_t chosen = 1;",
        "if (count % 8 == 0) {", "chosen = 8;",
        "} else if (count % 4 == 0) {", "chosen = 4;",
        "} else if (count % 2 == 0) {", "chosen = 2;",
        "}",
    ]  # fmt: skip
    assert len(choice(Const(1), 4, 2)) == 1, "two conditions are read at a glance"
    assert len(choice(Load("sizes", TILE), 8, 4, 2)) == 1, "its index may not hold where it is not chosen"


def _handshake(name: str) -> list[str]:
    there, back = (
        SetEvent(name=name + end, source=source, target=target)
        for end, source, target in (("Done", Pipe.MTE2, Pipe.MTE3), ("Taken", Pipe.MTE3, Pipe.MTE2))
    )
    return lines(there, wait_for(there), back, wait_for(back))


def test_a_flag_that_waits_for_another_pipe_says_why() -> None:
    comment, *calls = _handshake("ringReady")
    assert comment.startswith("// ") and "MTE2 works on, so MTE3 waits for it; MTE2 waits back" in comment
    assert [call.partition("<")[0] for call in calls] == ["SetAndWaitFlag"] * 2


def test_an_event_of_one_direction_has_no_such_reason() -> None:
    ready = SetEvent(name="ringReadyDone", source=Pipe.MTE2, target=Pipe.MTE3)
    assert [text[:3] for text in lines(ready, wait_for(ready))] == ["Set"]


BEGUN, SLOT = Symbol("stepsBegun"), Symbol("slot")
PREFETCH = Named(2, "prefetch")
STEPS = Steps(
    counter=BEGUN, slot=SLOT, runs=Symbol("itemsBegun"), run=Symbol("itemSlot"), depth=Named(3, "ring")
)
KEEP = KeepScalars(core=Core.AIC, attention_name="", steps=STEPS, begins=TILE == 0, scalars=(TILE, SLOT))


def of_earlier(*then: Statement, back: int = 2) -> Earlier:
    distance = PREFETCH if back == 2 else Const(back)
    begun = STEPS.counter > distance
    return Earlier(condition=begun, then=seq(*then), keep=KEEP, back=back, distance=distance)


def test_an_earlier_step_that_is_looked_at_twice_has_one_name() -> None:
    """And what steps without one do is the alternative, not a second question."""
    first = If(condition=STEPS.counter <= PREFETCH, then=seq(Note(text="warm")))
    found = lines(
        KEEP, first, of_earlier(when(ACTIVE, "wait")), Note(text="now"), of_earlier(when(ACTIVE, "sum"))
    )
    assert found[-10:] == [
        "const CubeStep &earlier = cubeSteps_[earlierSlot];",
        "if (stepsBegun <= kPrefetch) {",
        "// warm",
        "} else if (earlier.tile < tiles) {",
        "// wait",
        "}",
        "// now",
        "if (stepsBegun > kPrefetch && earlier.tile < tiles) {",
        "// sum",
        "}",
    ]
    assert sum("earlier =" in line for line in found) == 1
    assert found[0] == "const int64_t slot = stepsBegun++ % kRing;"
    assert not any("].slot" in line for line in found)
    assert "const int64_t earlierSlot = (slot + kRing - kPrefetch) % kRing;" in found


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ((of_earlier(Note(text="a")),), 1),
        ((of_earlier(Note(text="a")), of_earlier(Note(text="b"), back=1)), 2),
    ],
    ids=["one look", "two steps"],
)
def test_an_earlier_step_that_is_looked_at_once_is_named_where_that_is(body, names) -> None:
    found = lines(KEEP, *body)
    assert sum("earlier =" in line for line in found) == names
    assert sum("(slot + kRing - " in line for line in found) == names
