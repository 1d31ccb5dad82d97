"""The legality table: every rule notices the smallest rewrite of a real program that breaks it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import pytest

from attndsl.api import ops
from attndsl.base.errors import InternalError
from attndsl.compiler.compile import Compiled, compile_operator
from attndsl.expr import Const, Expr, OneOf, Symbol
from attndsl.lowering.signature.specialization import Specialization
from attndsl.target import Core, MemorySpace
from attndsl.tile import verifier
from attndsl.tile.buffers import ScalarArray
from attndsl.tile.instructions import Fill, IsBeyond, LoadNz
from attndsl.tile.program import BLOCK_INDEX, SUB_BLOCK, Program, Property
from attndsl.tile.statements import (
    Alloc,
    Collect,
    Either,
    For,
    If,
    Let,
    Pipelined,
    Seq,
    SetEvent,
    Stage,
    Statement,
    WaitCrossFlag,
    as_seq,
    rewrite,
    seq,
)
from attndsl.tile.verifier import RULES, check
from tests.support.devices import ARCHITECTURE, DEVICE


@lru_cache(maxsize=1)
def compiled() -> Compiled:
    features = frozenset({"attn_mask", "pse_shift"})
    special = Specialization(dtype="float16", padded_head_size=128, features=features)
    return compile_operator(ops.incre_flash_attention, special)


def of_architecture(**changed: object) -> Program:
    """The compiled program for an architecture that differs in this."""
    other = replace(DEVICE, name="other", architecture=replace(ARCHITECTURE, name="dav-1", **changed))
    return compiled().program.with_(device=other)


def of_wider_blocks() -> Program:
    return of_architecture(block=64)


def in_core(core: Core, change: Callable[[Statement], Statement | None]) -> Program:
    """The compiled program with one core's tree rewritten."""
    program = compiled().program
    tree = as_seq(rewrite(program.cores[core], change) or Seq(body=()))
    assert tree is not program.cores[core], "the rewrite changed nothing"
    return program.with_(cores={**program.cores, core: tree})


def first(core: Core, wanted: Callable[[Statement], bool]) -> Statement:
    return next(item for item in compiled().program.cores[core].walk() if wanted(item))


def with_first(
    core: Core, wanted: Callable[[Statement], bool], change: Callable[[Statement], Statement | None]
) -> Program:
    target = first(core, wanted)
    return in_core(core, lambda item: change(item) if item is target else item)


def misaligned_operand() -> Program:
    return with_first(
        Core.AIV,
        lambda item: isinstance(item, Fill),
        lambda item: replace(item, dst=item.dst.buffer.region(4, 1, 8)),  # type: ignore[attr-defined]
    )


def stage_on_the_wrong_core() -> Program:
    return with_first(
        Core.AIC, lambda item: isinstance(item, Stage), lambda item: replace(item, core=Core.AIV)
    )  # fmt: skip


def third_value() -> Program:
    pitch = OneOf("pitch", values=(Const(64), Const(128)))
    given = Let(symbol=pitch, value=Const(96))
    return with_first(Core.AIV, lambda item: isinstance(item, Fill), lambda item: Seq(body=(given, item)))


def side_without_a_scalar() -> Program:
    given = Let(symbol=Symbol("chosen"), value=Const(1))
    either = Either(
        condition=BLOCK_INDEX > 0,
        then=seq(given),
        otherwise=seq(),
        scalars=(given.symbol,),
        attention_names=("Key", "Old"),
    )
    return with_first(Core.AIV, lambda item: isinstance(item, Fill), lambda item: Seq(body=(either, item)))


def _alloc_of(name: str) -> Callable[[Statement], bool]:
    return lambda item: isinstance(item, Alloc) and item.buffers[0].name == name


def slots_differ() -> Program:
    single = next(buffer for buffer in compiled().program.buffers() if buffer.name == "newMax")
    return with_first(
        Core.AIV,
        _alloc_of("score"),
        lambda item: replace(item, buffers=(*item.buffers, single)),  # type: ignore[attr-defined]
    )


def two_groups() -> Program:
    """``partial`` has two lifetimes: alone in one, together with another buffer in the other."""
    other = next(buffer for buffer in compiled().program.buffers() if buffer.name == "result")
    return with_first(
        Core.AIV,
        _alloc_of("partial"),
        lambda item: replace(item, buffers=(*item.buffers, other)),  # type: ignore[attr-defined]
    )


def slots_without_lifetime() -> Program:
    return with_first(Core.AIV, _alloc_of("score"), lambda item: item.body)  # type: ignore[attr-defined]


def undefined_scalar() -> Program:
    return with_first(
        Core.AIC, lambda item: isinstance(item, Let) and item.symbol.name == "keys", lambda item: None
    )  # fmt: skip


def _flag_under(condition: Expr) -> Program:
    return with_first(
        Core.AIV,
        lambda item: isinstance(item, WaitCrossFlag),
        lambda item: If(condition=condition, then=seq(item)),
    )


def flag_of_one_vector_core() -> Program:
    return _flag_under(SUB_BLOCK == 0)


def flag_of_some_rows() -> Program:
    """Rows of a vector core differ between the two: a scalar derived from its index is as bad."""
    return _flag_under(Symbol("rows") > 0)


def flag_in_a_loop_over_rows() -> Program:
    return with_first(
        Core.AIV,
        lambda item: isinstance(item, WaitCrossFlag),
        lambda item: For(var=Symbol("again"), end=Symbol("rowBegin"), body=seq(item)),
    )


def _flag_under_collected(condition: Expr) -> Program:
    array = ScalarArray(name="chosen", capacity=4)
    number = Symbol("number")
    collect = Collect(array=array, count=number, index=Symbol("e"), extent=Const(4), condition=condition)

    def change(item: Statement) -> Statement:
        return seq(collect, If(condition=array.at(0) + number > 0, then=seq(item)))

    return with_first(Core.AIV, lambda item: isinstance(item, WaitCrossFlag), change)


def flag_of_what_one_vector_core_collected() -> Program:
    return _flag_under_collected(Symbol("e") == SUB_BLOCK)


def flag_of_what_memory_holds() -> Program:
    number = next(each for each in compiled().program.buffers() if each.name == "newMax")
    seen = IsBeyond(symbol=Symbol("seen"), src=number.region(0, 1, 1), bound=Const(0))
    return with_first(
        Core.AIV,
        lambda item: isinstance(item, WaitCrossFlag),
        lambda item: seq(seen, If(condition=Symbol("seen"), then=seq(item))),
    )


def list_without_a_pick() -> Program:
    def change(item: Statement) -> Statement:
        assert isinstance(item, LoadNz)
        listed = replace(item.src.tensor, listed=True)
        return replace(item, src=replace(item.src, tensor=listed))

    return with_first(Core.AIC, lambda item: isinstance(item, LoadNz), change)


def _with_highest_flag(number: int) -> Program:
    program = compiled().program
    return program.with_(flags={**program.flags, next(iter(program.flags)): number})


def flag_of_sync_all() -> Program:
    return _with_highest_flag(ARCHITECTURE.cross_core_flags)


def _joint_with_lag(lag: int) -> Program:
    def change(item: Statement) -> Statement:
        if not isinstance(item, Pipelined):
            return item
        return replace(item, lags=tuple(lag if each else 0 for each in item.lags))

    joint = compiled().joint
    return joint.with_(body=as_seq(rewrite(joint.body, change) or joint.body))


def counter_overflow() -> Program:
    return _joint_with_lag(ARCHITECTURE.cross_core_depth)


def flag_nobody_waits_for() -> Program:
    return with_first(Core.AIC, lambda item: isinstance(item, WaitCrossFlag), lambda item: None)


def event_raised_once_too_often() -> Program:
    return with_first(Core.AIC, lambda item: isinstance(item, SetEvent), lambda item: seq(item, item))


def hidden_loop_variable() -> Program:
    target = first(Core.AIV, lambda item: isinstance(item, For) and item.var.name == "r0")
    return in_core(
        Core.AIV,
        lambda item: (
            replace(item, body=seq(For(var=target.var, end=Const(1), body=item.body)))  # type: ignore[attr-defined]
            if isinstance(item, For) and item.var.name == "r0"
            else item
        ),
    )


def repeated_tiling_field() -> Program:
    program = compiled().program
    return program.with_(tiling=(*program.tiling, program.tiling[0]))


def with_field(name: str) -> Program:
    program = compiled().program
    return program.with_(tiling=(*program.tiling, replace(program.tiling[0], name=name)))


def field_like_a_scalar() -> Program:
    return with_field("tileTotal")


def field_like_a_buffer() -> Program:
    return with_field("rowMax")


def core_without_a_tree() -> Program:
    program = compiled().program
    return program.with_(cores={Core.AIC: program.cores[Core.AIC]})


def loop_left_skewed() -> Program:
    program = compiled().program
    loop = next(item for item in compiled().joint.body.walk() if isinstance(item, Pipelined))
    return program.with_(cores={**program.cores, Core.AIC: seq(program.cores[Core.AIC], loop)})


def _moved(name: str, address: int | None) -> Program:
    """The compiled program with another address for a buffer, or none."""
    program = compiled().program
    places = {b: address if b.name == name else place for b, place in program.addresses.items()}
    return program.with_(addresses={b: place for b, place in places.items() if place is not None})


def _place(name: str) -> int:
    return next(place for b, place in compiled().program.addresses.items() if b.name == name)


def buffer_without_address() -> Program:
    return _moved("prob", None)


def buffer_off_a_block() -> Program:
    return _moved("prob", _place("prob") + 1)


def buffer_outside_its_memory() -> Program:
    return _moved("prob", ARCHITECTURE.memory(MemorySpace.UB).usable - 32)


def buffer_inside_another() -> Program:
    return _moved("prob", _place("newMax"))


def _with_event_ids(first_id: int) -> Program:
    target = first(Core.AIC, lambda item: isinstance(item, SetEvent))
    return in_core(
        Core.AIC,
        lambda item: (
            replace(item, first_id=first_id)
            if isinstance(item, SetEvent) and item.name == target.name  # type: ignore[attr-defined]
            else item
        ),
    )


def event_without_id() -> Program:
    return _with_event_ids(-1)


def event_beyond_the_ids() -> Program:
    return _with_event_ids(ARCHITECTURE.event_ids)


BROKEN = (
    (verifier.operands_are_legal, misaligned_operand, "element offset is 4, needs a multiple of 8"),
    (verifier.stages_hold_their_core, stage_on_the_wrong_core, "runs on AIV"),
    (verifier.lifetimes_share_slots, slots_differ, "differ in slots"),
    (
        verifier.instructions_are_the_devices,
        of_wider_blocks,
        "dav-1 has a block of 64, the instructions are written for 32",
    ),
    (verifier.lifetimes_share_slots, two_groups, "partial belongs to two different lifetimes"),
    (verifier.slots_need_a_lifetime, slots_without_lifetime, "score has 2 slots and no lifetime"),
    (verifier.scalars_are_defined, undefined_scalar, "scalar keys is used and defined nowhere"),
    (verifier.choices_are_of_their_values, third_value, "scalar pitch is 96, not one of 64, 128"),
    (verifier.sides_define_their_scalars, side_without_a_scalar, "one side does not define it"),
    (verifier.flags_are_uniform, flag_of_one_vector_core, "condition on subBlock"),
    (verifier.flags_are_uniform, flag_of_some_rows, "condition on rows"),
    (verifier.flags_are_uniform, flag_in_a_loop_over_rows, "condition on rowBegin"),
    (verifier.flags_are_uniform, flag_of_what_one_vector_core_collected, "condition on chosen, number"),
    (verifier.flags_are_uniform, flag_of_what_memory_holds, "condition on seen"),
    (verifier.what_is_read_was_chosen, list_without_a_pick, "of which no element was picked"),
    (verifier.flags_are_in_range, flag_of_sync_all, "has id 11"),
    (verifier.flags_are_in_range, counter_overflow, "16 flags may be outstanding, a counter holds 15"),
    (verifier.flags_are_on_both_sides, flag_nobody_waits_for, "is never awaited"),
    (verifier.events_balance, event_raised_once_too_often, "is raised +1 times more than awaited"),
    (verifier.loops_define_fresh_scalars, hidden_loop_variable, "loop variable r0 is bound twice"),
    (verifier.tiling_fields_are_unique, repeated_tiling_field, "is declared twice"),
    (verifier.tiling_fields_are_not_hidden, field_like_a_scalar, "tiling field tileTotal has the name of"),
    (verifier.tiling_fields_are_not_hidden, field_like_a_buffer, "tiling field rowMax has the name of"),
    (verifier.events_have_ids, event_without_id, "has 2 ids from -1 on, of 8"),
    (verifier.events_have_ids, event_beyond_the_ids, "has 2 ids from 8 on, of 8"),
    (verifier.buffers_have_places, buffer_without_address, "prob has no address"),
    (verifier.buffers_have_places, buffer_off_a_block, "needs a multiple of 32"),
    (verifier.buffers_have_places, buffer_outside_its_memory, "bytes of UB"),
    (verifier.buffers_have_places, buffer_inside_another, "share bytes"),
    (verifier.cores_are_complete, core_without_a_tree, "no tree for AIV"),
    (verifier.cores_are_complete, loop_left_skewed, "was not split"),
)


def test_every_rule_is_tested():
    assert {rule for rule, _, _ in BROKEN} == {rule.find for rule in RULES}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.find.__name__)
def test_a_compiled_program_breaks_no_rule(rule):
    assert list(rule.find(compiled().program)) == []
    assert rule.requires - {Property.FLAGS} or list(rule.find(compiled().joint)) == []


def test_a_rule_speaks_of_what_is_established_alone():
    joint, flags = compiled().joint, {Property.JOINT, Property.FLAGS}
    assert check(joint, "a test", flags) is joint
    with pytest.raises(InternalError, match="no tree for AIC"):
        check(joint, "a test", {Property.FLAGS, Property.CORES})
    with pytest.raises(InternalError, match="has no address"):
        check(joint, "a test", {*flags, Property.ADDRESSES})


@pytest.mark.parametrize(("rule", "broken", "says"), BROKEN, ids=lambda item: getattr(item, "__name__", ""))
def test_the_rule_notices(rule, broken, says):
    program = broken()
    problems = list(rule(program))
    assert any(says in problem for problem in problems), problems
    with pytest.raises(InternalError, match="after a test: .*" + says.replace("+", r"\+")):
        check(program, "a test", Property)


@pytest.mark.parametrize("condition", [BLOCK_INDEX == 0, Symbol("length") > 0, Symbol("splits") > 1], ids=str)
def test_a_flag_may_depend_on_what_the_block_shares(condition):
    assert list(verifier.flags_are_uniform(_flag_under(condition))) == []


def test_a_flag_may_depend_on_what_all_cores_collected():
    shared = _flag_under_collected(Symbol("e") == BLOCK_INDEX)
    assert list(verifier.flags_are_uniform(shared)) == []


def test_an_architecture_of_another_name_with_the_same_units_has_the_same_instructions():
    memories = tuple(replace(each, size=2 * each.size) for each in ARCHITECTURE.memories)
    assert list(verifier.instructions_are_the_devices(of_architecture(memories=memories))) == []


def test_a_tiling_field_of_another_name_hides_nothing():
    assert list(verifier.tiling_fields_are_not_hidden(with_field("tileTotals"))) == []


def test_the_highest_numbers_that_are_legal():
    assert list(verifier.events_have_ids(_with_event_ids(ARCHITECTURE.event_ids - 2))) == []
    assert list(verifier.flags_are_in_range(_with_highest_flag(ARCHITECTURE.cross_core_flags - 1))) == []
    assert list(verifier.flags_are_in_range(_joint_with_lag(ARCHITECTURE.cross_core_depth - 1))) == []
