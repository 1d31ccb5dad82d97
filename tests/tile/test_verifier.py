"""Each rule of tile programs on a program of a few statements that breaks it, and on the near twin."""

from __future__ import annotations

from dataclasses import replace

import pytest

from attndsl.base.errors import InternalError
from attndsl.expr import Const, Expr, OneOf, Symbol, select
from attndsl.target import Core, MemorySpace, Pipe
from attndsl.tile import verifier
from attndsl.tile.buffers import Buffer, GlobalTensor, ScalarArray
from attndsl.tile.instructions import Fill, Instruction, LoadRows
from attndsl.tile.program import BLOCK_INDEX, SUB_BLOCK, Program, Property, TilingField
from attndsl.tile.statements import (
    BLOCK_MODE,
    Alloc,
    Collect,
    Either,
    For,
    If,
    Let,
    PickTensor,
    Pipelined,
    SetCrossFlag,
    SetEvent,
    Stage,
    Statement,
    WaitCrossFlag,
    WaitEvent,
    seq,
)
from attndsl.tile.verifier import RULES, check
from tests.support.devices import ARCHITECTURE, DEVICE

X = Buffer(name="x", space=MemorySpace.UB, dtype="float32", size=Const(64))
Y = Buffer(name="y", space=MemorySpace.UB, dtype="float32", size=Const(64))
PAIR = Buffer(name="pair", space=MemorySpace.UB, dtype="float32", size=Const(64), slots=2)
KEYS = GlobalTensor(name="keys", dtype="float32", role="input", listed=True)
CHOSEN = ScalarArray(name="chosen", capacity=4)
N, I, E = Symbol("n"), Symbol("i"), Symbol("e")  # noqa: E741
PITCH = OneOf("pitch", values=(Const(64), Const(128)))
WAIT = WaitCrossFlag(name="ready", flag=0)


def program(*body: Statement, fields: tuple[str, ...] = (), **more: object) -> Program:
    """A program of these statements on the vector core, split, with tiling fields of these names."""
    tiling = tuple(TilingField(name, "int64", Const(1), name) for name in fields)
    cores = {Core.AIC: seq(), Core.AIV: seq(*body)}
    whole = Program(
        name="hand_made", summary="", dtype="float16", parameters=(), workspace=(), tiling=tiling,
        device=DEVICE, constants=(), body=seq(), cores=cores,
    )  # fmt: skip
    return whole.with_(**more)


def fill(target: Buffer = X, offset: int = 0) -> Instruction:
    return Fill(dst=target.region(offset, 1, 8), value=Const(0.0))


def load() -> Instruction:
    return LoadRows(dst=X.region(0, 1, 8), src=KEYS.region(0, 1, 8))


def life(body: Instruction, *buffers: Buffer) -> Alloc:
    return Alloc(buffers=buffers, body=seq(body))


def vector(core: Core) -> Stage:
    return Stage(name="Vector", core=core, doc="", body=seq(fill()))


def under(condition: Expr) -> If:
    return If(condition=condition, then=seq(WAIT))


def collect(condition: Expr) -> Collect:
    return Collect(array=CHOSEN, count=N, index=E, extent=Const(4), condition=condition)


def either(then: Statement, otherwise: Statement) -> Either:
    """A choice between definitions of ``i``."""
    return Either(
        condition=N > 0, then=seq(then), otherwise=seq(otherwise), scalars=(I,), attention_names=("A", "B")
    )


def of_side(first: bool) -> If:
    """A branch of the same condition, of which one side reads the array."""
    read = Let(symbol=E, value=CHOSEN.at(0))
    return If(condition=N > 0, then=seq(read if first else None), otherwise=seq(None if first else read))


def skewed(lag: int) -> Pipelined:
    return Pipelined(var=I, extent=Const(4), stages=(vector(Core.AIV),), lags=(lag,))


def raised(first_id: int = 0, ids: int = 1) -> SetEvent:
    return SetEvent(name="e", source=Pipe.MTE2, target=Pipe.V, first_id=first_id, ids=ids)


def awaited() -> WaitEvent:
    return WaitEvent(name="e", source=Pipe.MTE2, target=Pipe.V, first_id=0)


def flag(name: str = "ready") -> SetCrossFlag:
    return SetCrossFlag(name=name, flag=0, mode=BLOCK_MODE, pipe=Pipe.V)


def at(**addresses: int) -> Program:
    """Two buffers and their addresses."""
    places = {each: addresses[each.name] for each in (X, Y) if each.name in addresses}
    return program(fill(X), fill(Y), addresses=places)


def nested(inner: Symbol) -> For:
    return For(var=I, end=Const(2), body=seq(For(var=inner, end=Const(2), body=seq(fill()))))


SIZE = ARCHITECTURE.memory(MemorySpace.UB).usable
DEEPEST, MOST_FLAGS = ARCHITECTURE.cross_core_depth, ARCHITECTURE.cross_core_flags
IDS = ARCHITECTURE.event_ids
ALIEN = replace(DEVICE, architecture=replace(ARCHITECTURE, name="dav-1", fractal=32))
TWIN = replace(DEVICE, architecture=replace(ARCHITECTURE, name="dav-2"))
CASES: dict[str, tuple[object, Program, Program, str]] = {
    "a device of another architecture": (
        verifier.instructions_are_the_devices, program(fill(), device=ALIEN), program(fill(), device=TWIN),
        "dav-1 has a fractal of 32, the instructions are written for 16",
    ),
    "an operand off its block": (
        verifier.operands_are_legal, program(fill(offset=4)), program(fill(offset=8)),
        "element offset is 4, needs a multiple of 8",
    ),
    "a stage of the other core": (
        verifier.stages_hold_their_core, program(vector(Core.AIC)), program(vector(Core.AIV)),
        "stage Vector runs on AIC",
    ),
    "slots of different number": (
        verifier.lifetimes_share_slots, program(life(fill(), X, PAIR)), program(life(fill(), X, Y)),
        "buffers of one lifetime differ in slots: ['x', 'pair']",
    ),
    "two groups": (
        verifier.lifetimes_share_slots,
        program(life(fill(), X, Y), life(fill(), X)), program(life(fill(), X), life(fill(), X)),
        "x belongs to two different lifetimes",
    ),
    "slots outside a lifetime": (
        verifier.slots_need_a_lifetime, program(fill(PAIR)), program(life(fill(PAIR), PAIR)),
        "pair has 2 slots and no lifetime",
    ),
    "a scalar of nobody": (
        verifier.scalars_are_defined,
        program(If(condition=N > 0, then=seq(fill()))),
        program(Let(symbol=N, value=Const(1)), If(condition=N > 0, then=seq(fill()))),
        "scalar n is used and defined nowhere",
    ),
    "a scalar of two values with a third": (
        verifier.choices_are_of_their_values,
        program(Let(symbol=PITCH, value=select(N > 0, Const(64), Const(96)))),
        program(Let(symbol=PITCH, value=select(N > 0, Const(64), Const(128)))),
        "scalar pitch is 96, not one of 64, 128",
    ),
    "a scalar that one side of a choice does not define": (
        verifier.sides_define_their_scalars,
        program(either(Let(symbol=I, value=N), Let(symbol=E, value=N))),
        program(either(Let(symbol=I, value=N), Let(symbol=I, value=Const(0)))),
        "scalar i is known behind a choice, one side does not define it",
    ),
    "an array that the other side of a choice collects": (
        verifier.what_is_read_was_chosen,
        program(either(collect(E > 0), Let(symbol=I, value=Const(0))), of_side(False)),
        program(either(collect(E > 0), Let(symbol=I, value=Const(0))), of_side(True)),
        "is read where chosen was not collected",
    ),
    "a tiling field of another name": (
        verifier.scalars_are_defined,
        program(If(condition=N > 0, then=seq(fill())), fields=("m",)),
        program(If(condition=N > 0, then=seq(fill())), fields=("n",)),
        "scalar n is used and defined nowhere",
    ),
    "a flag for one vector core": (
        verifier.flags_are_uniform, program(under(SUB_BLOCK == 0)), program(under(BLOCK_INDEX == 0)),
        "a cross-core flag stands under a condition on subBlock",
    ),
    "a flag under what follows from the vector core": (
        verifier.flags_are_uniform,
        program(Let(symbol=N, value=SUB_BLOCK * 2), under(N > 0)),
        program(Let(symbol=N, value=BLOCK_INDEX * 2), under(N > 0)),
        "condition on n",
    ),
    "a flag under what was collected": (
        verifier.flags_are_uniform,
        program(collect(SUB_BLOCK == E), under(CHOSEN.at(0) > 0)),
        program(collect(BLOCK_INDEX == E), under(CHOSEN.at(0) > 0)),
        "condition on chosen",
    ),
    "a list of which nothing was picked": (
        verifier.what_is_read_was_chosen,
        program(load()), program(PickTensor(tensor=KEYS, index=Const(0)), load()),
        "touches keys, of which no element was picked",
    ),
    "a pick on one path": (
        verifier.what_is_read_was_chosen,
        program(If(condition=N > 0, then=seq(PickTensor(tensor=KEYS, index=N))), load()),
        program(If(condition=N > 0, then=seq(PickTensor(tensor=KEYS, index=N), load()))),
        "of which no element was picked",
    ),
    "an array before it is collected": (
        verifier.what_is_read_was_chosen,
        program(under(CHOSEN.at(0) > 0), collect(E > 1)),
        program(collect(E > 1), under(CHOSEN.at(0) > 0)),
        "is read where chosen was not collected",
    ),
    "a flag beyond the last": (
        verifier.flags_are_in_range,
        program(flags={"ready": MOST_FLAGS}), program(flags={"ready": MOST_FLAGS - 1}),
        f"flag ready has id {MOST_FLAGS}",
    ),
    "a counter that overflows": (
        verifier.flags_are_in_range, program(skewed(DEEPEST)), program(skewed(DEEPEST - 1)),
        f"{DEEPEST + 1} flags may be outstanding, a counter holds {DEEPEST}",
    ),
    "a flag that nobody raises": (
        verifier.flags_are_on_both_sides, program(WAIT), program(flag(), WAIT),
        "cross-core flag ready is never raised",
    ),
    "a flag that nobody awaits": (
        verifier.flags_are_on_both_sides,
        program(flag("other"), flag(), WAIT), program(flag(), WAIT),
        "cross-core flag other is never awaited",
    ),
    "an event that is raised twice": (
        verifier.events_balance, program(raised(), raised(), awaited()), program(raised(), awaited()),
        "AIV: event e is raised +1 times more than awaited",
    ),
    "a loop variable inside itself": (
        verifier.loops_define_fresh_scalars, program(nested(I)), program(nested(E)),
        "loop variable i is bound twice",
    ),
    "two tiling fields of one name": (
        verifier.tiling_fields_are_unique, program(fields=("a", "a")), program(fields=("a", "b")),
        "tiling field a is declared twice",
    ),
    "a tiling field like a scalar": (
        verifier.tiling_fields_are_not_hidden,
        program(Let(symbol=N, value=Const(1)), fields=("n",)),
        program(Let(symbol=N, value=Const(1)), fields=("m",)),
        "tiling field n has the name of something else in the kernel",
    ),
    "a tiling field like a buffer": (
        verifier.tiling_fields_are_not_hidden,
        program(fill(), fields=("x",)), program(fill(), fields=("z",)), "tiling field x has the name",
    ),
    "a core without a tree": (
        verifier.cores_are_complete, program(cores={Core.AIC: seq()}), program(), "no tree for AIV",
    ),
    "a loop that was not split": (
        verifier.cores_are_complete, program(skewed(0)), program(vector(Core.AIV)),
        "the skewed loop over i was not split",
    ),
    "a buffer without address": (
        verifier.buffers_have_places, at(x=0), at(x=0, y=256), "y has no address",
    ),
    "a buffer off its block": (
        verifier.buffers_have_places, at(x=0, y=272), at(x=0, y=288), "y is at 272, needs a multiple of 32",
    ),
    "a buffer beyond its memory": (
        verifier.buffers_have_places, at(x=0, y=SIZE - 224), at(x=0, y=SIZE - 256),
        f"y ends at {SIZE + 32} of {SIZE} bytes of UB",
    ),
    "buffers that overlap": (
        verifier.buffers_have_places, at(x=0, y=224), at(x=0, y=256), "x and y share bytes",
    ),
    "an event without an id": (
        verifier.events_have_ids, program(raised(first_id=-1)), program(raised()),
        f"event e has 1 ids from -1 on, of {IDS}",
    ),
    "an event whose second id is beyond the last": (
        verifier.events_have_ids,
        program(raised(first_id=IDS - 1, ids=2)), program(raised(first_id=IDS - 2, ids=2)),
        f"event e has 2 ids from {IDS - 1} on, of {IDS}",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_rule_flags_the_breach_and_not_its_twin(name: str) -> None:
    rule, broken, twin, says = CASES[name]
    assert [says in problem for problem in rule(broken)] == [True]  # type: ignore[operator]
    assert list(rule(twin)) == []  # type: ignore[operator]


def test_every_rule_has_a_case() -> None:
    assert {rule for rule, *_ in CASES.values()} == {rule.find for rule in RULES}


def test_a_check_names_the_pass_the_program_and_every_problem() -> None:
    broken = program(fill(offset=4), life(fill(), X, PAIR))
    with pytest.raises(InternalError) as caught:
        check(broken, "a pass", ())
    said = str(caught.value)
    assert (
        said.startswith("hand_made, after a pass: ") and "offset is 4" in said and "differ in slots" in said
    )


def test_a_rule_waits_until_what_it_speaks_of_is_established() -> None:
    without = program(fill())
    assert check(without, "a pass", {Property.CORES}) is without
    with pytest.raises(InternalError, match="x has no address"):
        check(without, "a pass", {Property.CORES, Property.ADDRESSES})
    joint = replace(without, cores={}, body=seq(vector(Core.AIC)))
    with pytest.raises(InternalError, match="stage Vector runs on AIC"):
        check(joint, "a pass", {Property.JOINT})
