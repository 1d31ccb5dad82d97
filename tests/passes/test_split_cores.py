"""One tree a core kind: small joint programs before and after the pass."""

from __future__ import annotations

from textwrap import dedent

import pytest

from attndsl.expr import Const, Named, Scope, Symbol
from attndsl.passes.split_cores import split_cores
from attndsl.target import Core, MemorySpace
from attndsl.tile.buffers import Buffer, GlobalTensor, ScalarArray
from attndsl.tile.instructions import Instruction, LoadNz, LoadRows
from attndsl.tile.printer import print_program
from attndsl.tile.program import Program
from attndsl.tile.statements import (
    Alloc,
    Collect,
    Either,
    EitherStage,
    For,
    If,
    Let,
    Note,
    PickTensor,
    Pipelined,
    Stage,
    Statement,
    Steps,
    seq,
)
from tests.support.devices import ARCHITECTURE

from .trees import GM, load, program, ub

TILE, TILES, ROWS, T = (Symbol(name) for name in ("tile", "tiles", "rows", "t"))
X = ub("x")
L1 = Buffer(name="l1", space=MemorySpace.L1, dtype="float16", size=Const(256))
LISTED = GlobalTensor(name="keys", dtype="float16", role="input", listed=True)


def to_l1(source: GlobalTensor = LISTED) -> Instruction:
    return LoadNz(dst=L1.region(), src=source.region(0, 4, 16), padded_rows=Const(16))


def cube(*body: Statement, name: str = "Cube") -> Stage:
    return Stage(name=name, core=Core.AIC, doc="", body=seq(*body))


def vector(*body: Statement, name: str = "Vector") -> Stage:
    return Stage(name=name, core=Core.AIV, doc="", body=seq(*body))


def assert_splits(*body: Statement, into: str) -> None:
    assert print_program(split_cores(program(*body))) == dedent(into).strip("\n")


CUBE_LOADS = "MTE2  l1[0] Nz rows 16 <- keys[4 x 16]"


def test_each_core_keeps_its_stages():
    assert_splits(
        cube(to_l1()),
        vector(load(X)),
        into=f"""
        AIC:
            stage Cube on AIC:
                {CUBE_LOADS}

        AIV:
            stage Vector on AIV:
                MTE2  x[64] <- gm[64]
        """,
    )


def test_a_skewed_loop_becomes_steps_with_guards():
    """The deepest lag of a core decides how many steps it has; its last stage needs no upper guard."""
    stages = (cube(to_l1(), name="First"), vector(load(X)), cube(to_l1(), name="Second"))
    assert_splits(
        Pipelined(var=TILE, extent=TILES, stages=stages, lags=(0, 1, 2)),
        into=f"""
        AIC:
            for step in 0..tiles + 2:
                if step < tiles:
                    stage First on AIC:
                        {CUBE_LOADS}
                if step >= 2:
                    stage Second on AIC:
                        {CUBE_LOADS}

        AIV:
            for step in 0..tiles + 1:
                if step >= 1:
                    stage Vector on AIV:
                        MTE2  x[64] <- gm[64]
        """,
    )


def test_a_stage_that_names_the_tile_gets_it():
    work = LoadRows(dst=X.region(0, 1, 64), src=GM.region(TILE * 64, 1, 64))
    assert_splits(
        Pipelined(var=TILE, extent=TILES, stages=(vector(work), cube(to_l1())), lags=(1, 0)),
        into=f"""
        AIC:
            for step in 0..tiles:
                stage Cube on AIC:
                    {CUBE_LOADS}

        AIV:
            for step in 0..tiles + 1:
                if step >= 1:
                    tile := step - 1
                    stage Vector on AIV:
                        MTE2  x[64] <- gm[tile * 64 + 64]
        """,
    )


def test_lifetimes_stay_with_the_owner_of_their_memory():
    """The other core keeps what is inside that is its own."""
    inside = seq(cube(to_l1()), vector(load(X)))
    assert_splits(
        Alloc(buffers=(X,), body=inside),
        into=f"""
        AIC:
            stage Cube on AIC:
                {CUBE_LOADS}

        AIV:
            with x (UB x1):
                stage Vector on AIV:
                    MTE2  x[64] <- gm[64]
        """,
    )


def test_loops_and_branches_without_work_vanish():
    only_cube = cube(to_l1())
    assert_splits(
        For(var=T, end=ROWS, body=seq(Note(text="about the cube"), only_cube)),
        If(condition=ROWS > 0, then=seq(Note(text="nothing"))),
        vector(load(X)),
        into=f"""
        AIC:
            for t in 0..rows:
                # about the cube
                stage Cube on AIC:
                    {CUBE_LOADS}

        AIV:
            stage Vector on AIV:
                MTE2  x[64] <- gm[64]
        """,
    )


def test_scalars_stay_where_something_behind_them_looks_at_them():
    """``t`` is for the loop of the cube alone; what it is made of goes with it."""
    assert_splits(
        Let(symbol=ROWS, value=TILES * 2),
        Let(symbol=T, value=ROWS + 1),
        For(var=TILE, end=T, body=seq(cube(to_l1()))),
        vector(load(X)),
        into=f"""
        AIC:
            rows := tiles * 2
            t := rows + 1
            for tile in 0..t:
                stage Cube on AIC:
                    {CUBE_LOADS}

        AIV:
            stage Vector on AIV:
                MTE2  x[64] <- gm[64]
        """,
    )


def test_an_element_of_a_list_is_picked_where_the_list_is_accessed():
    found = split_cores(program(PickTensor(tensor=LISTED, index=T), cube(to_l1()), vector(load(X))))
    picked = {
        core: [s for s in tree.walk() if isinstance(s, PickTensor)] for core, tree in found.cores.items()
    }
    assert len(picked[Core.AIC]) == 1 and picked[Core.AIV] == []


def test_an_array_that_is_read_is_collected_though_its_count_is_not():
    array = ScalarArray(name="chosen", capacity=4)
    collect = Collect(array=array, count=ROWS, index=T, extent=TILES, condition=T > 1)
    work = LoadRows(dst=X.region(0, 1, 64), src=GM.region(array.at(0) * 64, 1, 64))
    found = split_cores(program(collect, vector(work), cube(to_l1())))
    assert _cores_with(Collect, found) == [Core.AIV]


def _cores_with(kind: type[Statement], split: Program) -> list[Core]:
    return [core for core in Core if any(isinstance(item, kind) for item in split.cores[core].walk())]


ON_CHIP = [space for space in MemorySpace if space is not MemorySpace.GM]


@pytest.mark.parametrize("space", ON_CHIP, ids=lambda space: space.value)
def test_every_memory_on_chip_has_an_owner(space: MemorySpace) -> None:
    assert ARCHITECTURE.memory(space).core is (Core.AIV if space is MemorySpace.UB else Core.AIC)


def test_the_joint_tree_stays_as_it_was():
    joint = program(cube(to_l1()), vector(load(X)))
    assert split_cores(joint).body is joint.body


STEPS = Steps(
    counter=Symbol("begun", Scope.MEMBER),
    slot=Symbol("slot"),
    runs=Symbol("itemsBegun", Scope.MEMBER),
    run=Symbol("itemSlot"),
    depth=Named(3, "ring"),
)


def test_stages_of_a_continuous_loop_work_with_the_scalars_of_an_earlier_step():
    moved = LoadRows(dst=X.region(0, 1, 64), src=GM.region(ROWS * 64, 1, 64))
    assert_splits(
        For(
            var=Symbol("item"),
            end=Symbol("items"),
            body=seq(
                Let(symbol=ROWS, value=Symbol("item") * 2),
                Pipelined(
                    var=TILE,
                    extent=TILES,
                    stages=(vector(load(X), name="First"), vector(moved, name="Last")),
                    lags=(0, 2),
                    when=(TILE == 0, TILE > ROWS),
                    steps=STEPS,
                ),
            ),
        ),
        into="""
            AIC:
                for item in 0..items:
                    for tile in 0..tiles

            AIV:
                for item in 0..items:
                    rows := item * 2
                    for tile in 0..tiles:
                        next step of ring: slot, itemSlot of the runs, keeping tile, rows
                        if tile == 0:
                            stage First on AIV:
                                MTE2  x[64] <- gm[64]
                        2 steps earlier, if begun > 2:
                            if tile > rows:
                                stage Last on AIV:
                                    MTE2  x[64] <- gm[rows * 64 + 64]
            """,
    )


def test_a_choice_between_definitions_stays_whole_on_both_cores():
    """It keeps what any core reads: one function decodes items for both. One of two stages is a branch."""
    first, second = (
        seq(
            Let(symbol=TILES, value=Const(number)),
            Let(symbol=ROWS, value=TILES * 2),
            Let(symbol=T, value=TILES),
        )
        for number in (1, 2)
    )
    chosen = Symbol("chosen")
    either = Either(
        condition=chosen > 0,
        then=first,
        otherwise=second,
        scalars=(TILES, ROWS, T),
        attention_names=("A", "B"),
    )
    loads = For(var=TILE, end=TILES, body=seq(to_l1()))
    sides = (cube(loads, name=name) for name in ("CubeA", "CubeB"))
    stage = EitherStage(
        name="Cube",
        core=Core.AIC,
        doc="",
        body=seq(If(condition=chosen > 0, then=seq(next(sides)), otherwise=seq(next(sides)))),
    )
    reads = vector(For(var=TILE, end=ROWS, body=seq(load(X))))
    body = (
        Let(symbol=chosen, value=Symbol("n")),
        either,
        PickTensor(tensor=LISTED, index=chosen),
        stage,
        reads,
    )
    found = print_program(split_cores(program(*body)))
    choice = [line.strip() for line in found.splitlines() if line.startswith("    ")]
    either_text = [
        "either, if chosen > 0, for tiles, rows:", "tiles := 1", "rows := tiles * 2",
        "or:", "tiles := 2", "rows := tiles * 2",
    ]  # fmt: skip
    at = [place for place, line in enumerate(choice) if line.startswith("either")]
    assert [choice[place : place + 6] for place in at] == [either_text] * 2
    assert (
        "stage Cube on" not in found and choice[choice.index("stage CubeA on AIC:") - 1] == "if chosen > 0:"
    )
