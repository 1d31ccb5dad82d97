"""Passes say what they need and give; a wrong order is refused, and the page says the same."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from itertools import permutations
from pathlib import Path

import pytest

from attndsl.api import ops
from attndsl.base.errors import InternalError
from attndsl.compiler.compile import Compiled, compile_operator
from attndsl.lowering.signature.specialization import Specialization
from attndsl.passes import twin_programs
from attndsl.passes.pass_manager import (
    FINISHED,
    LOWERED,
    PASSES,
    Pass,
    check_order,
    ordered,
    pass_graph,
    run_passes,
)
from attndsl.spec.operator.operator import Operator
from attndsl.tile.instructions import SortGroups
from attndsl.tile.program import Property

DOCS = Path(__file__).parents[2] / "docs" / "packages" / "passes.md"
SPECIAL = Specialization(dtype="float16", padded_head_size=64)
FLAGS, SPLIT, PLAN, SYNCHRONIZE = (
    next(each for each in PASSES if each.name == name)
    for name in ("derive_flags", "split_cores", "plan_memory", "synchronize")
)


def earlier(moved: Pass, before: Pass) -> tuple[Pass, ...]:
    """All passes, with one of them in front of another."""
    others = tuple(each for each in PASSES if each is not moved)
    at = others.index(before)
    return (*others[:at], moved, *others[at:])


def instead(of: Pass, other: Pass, passes: tuple[Pass, ...] = PASSES) -> tuple[Pass, ...]:
    """The passes, with another in the place of one."""
    return tuple(other if each is of else each for each in passes)


@lru_cache(maxsize=2)
def compiled(operator: Operator = ops.incre_flash_attention) -> Compiled:
    return compile_operator(operator, SPECIAL)


WRONG: dict[str, tuple[tuple[Pass, ...], str]] = {
    "split before flags": (earlier(SPLIT, FLAGS), "split_cores requires flags: not established"),
    "flags after the split": (
        instead(SPLIT, replace(SPLIT, requires=LOWERED), earlier(SPLIT, FLAGS)),
        "derive_flags requires joint: not established",
    ),
    "events before the split": (earlier(SYNCHRONIZE, SPLIT), "synchronize requires cores"),
    "memory before the split": (earlier(PLAN, SPLIT), "plan_memory requires cores"),
    "twice": ((*PASSES, SYNCHRONIZE), "synchronize establishes events: established in front of it"),
    "none for addresses": (
        tuple(each for each in PASSES if each is not PLAN),
        "has addresses: established by no pass",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_order_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    passes, says = WRONG[name]
    monkeypatch.setattr(twin_programs, "PASSES", passes)
    with pytest.raises(InternalError, match=says):
        compile_operator(ops.incre_flash_attention, SPECIAL)


def test_the_properties_give_the_order() -> None:
    """However the passes are listed; what they leave open is as listed."""
    for listed in permutations(PASSES):
        check_order(found := ordered(listed))
        assert found.index(PLAN) < found.index(SYNCHRONIZE) or listed.index(SYNCHRONIZE) < listed.index(PLAN)
    assert ordered(PASSES) == PASSES
    assert set(pass_graph(PASSES).edges) == {
        ("derive_flags", "split_cores"), ("derive_flags", "synchronize"),
        ("split_cores", "plan_memory"), ("split_cores", "synchronize"),
    }  # fmt: skip


def test_a_wrong_order_comes_with_one_that_works() -> None:
    names = ", ".join(each.name for each in PASSES)
    with pytest.raises(InternalError, match=f"not established in front of it; this order works: {names}$"):
        check_order(earlier(SPLIT, FLAGS))
    with pytest.raises(InternalError, match=r"established by no pass$"):
        check_order((FLAGS, SPLIT, SYNCHRONIZE))


def test_passes_that_wait_for_each_other_are_refused() -> None:
    circle = instead(FLAGS, replace(FLAGS, requires=FLAGS.requires | SYNCHRONIZE.establishes))
    with pytest.raises(InternalError, match=r"passes wait for each other: .*derive_flags"):
        ordered(circle)


def test_any_order_that_gives_what_is_required_will_do() -> None:
    check_order(PASSES)
    check_order(earlier(SYNCHRONIZE, PLAN))


def test_a_pass_that_does_not_give_what_it_says_is_found() -> None:
    idle = replace(PLAN, run=lambda program: program)
    with pytest.raises(InternalError, match=r"after plan_memory: .* has no address"):
        run_passes(_lowered(), instead(PLAN, idle))


def _lowered(operator: Operator = ops.incre_flash_attention):
    """What the first pass gets."""
    seen = []

    def noting(program):
        seen.append(program)
        return PASSES[0].run(program)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(twin_programs, "PASSES", instead(PASSES[0], replace(PASSES[0], run=noting)))
        compile_operator(operator, SPECIAL)
    return seen[-1]


def test_the_joint_program_is_the_last_before_the_split() -> None:
    joint, program = compiled().joint, compiled().program
    assert joint.flags and not joint.cores and not joint.addresses
    assert program.cores and program.addresses and program.flags == joint.flags


def test_a_pass_invalidates_only_required_properties() -> None:
    assert all(each.invalidates <= each.requires for each in PASSES)
    assert set(Property) == FINISHED | LOWERED


def test_the_page_says_which_properties_passes_require_establish_and_invalidate() -> None:
    """Its table has the functions that run in front of the passes, too; the last of them lowers."""
    table = re.search(
        r"\| pass \| requires \| establishes \| invalidates \|\n.*\n((?:\|.*\n)+)", DOCS.read_text()
    )
    assert table
    rows = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in table[1].splitlines()]
    told = [(row[0].strip("`"), *map(_properties, row[1:])) for row in rows]
    expected = [(_name(each), each.requires, each.establishes, each.invalidates) for each in PASSES]
    assert told[-len(PASSES) :] == expected
    assert told[-len(PASSES) - 1][2] == LOWERED


def _properties(cell: str) -> frozenset[Property]:
    """The properties that a cell names, each in backticks."""
    known = {each.value for each in Property}
    return frozenset(Property(name) for name in re.findall(r"`(\w+)`", cell) if name in known)


def _name(each: Pass) -> str:
    module = each.run.__module__.rsplit(".", 1)[-1]
    return each.name if module == each.name else f"{module}.{each.name}"


def test_a_buffer_starts_where_its_users_want_it() -> None:
    """Sort32 wants its records on 256 bytes and what it sorts on 128; memory alone would give 32."""
    program = compiled(ops.nsa_compress_attention).program
    sorts = [item for item in program.instructions() if isinstance(item, SortGroups)]
    assert sorts
    for each in sorts:
        assert program.addresses[each.dst.buffer] % 256 == 0
        assert {program.addresses[region.buffer] % 128 for region in (each.scores, each.indices)} == {0}
    moved = replace(PLAN, run=lambda program: _moved(PLAN.run(program)))
    with pytest.raises(
        InternalError, match=r"blockRecords is at \d+, needs a multiple of 256 in all its slots"
    ):
        run_passes(_lowered(ops.nsa_compress_attention), instead(PLAN, moved))


def _moved(program):
    """The program with the last of its buffers for records 32 bytes further."""
    addresses = {
        buffer: start + 32 * (buffer.name == "blockRecords") for buffer, start in program.addresses.items()
    }
    return program.with_(addresses=addresses)
