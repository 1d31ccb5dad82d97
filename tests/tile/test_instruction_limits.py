"""Every operand limit flags an operand that breaks it, and not the nearest one that does not."""

from __future__ import annotations

import re

import pytest

from attndsl.expr import Symbol
from attndsl.target import Pipe
from attndsl.target.costs import COSTS
from attndsl.tile.instructions import (
    Binary,
    Bitwise,
    BlockReduce,
    Fill,
    Instruction,
    RowReduce,
    ShiftBits,
    Unary,
    WithScalar,
)
from attndsl.tile.instructions.arithmetic import _BINARY, _SHIFTS, _UNARY, _WITH_SCALAR
from tests.support.devices import ARCHITECTURE

from .bench import Bench
from .limit_cases import LIMITS, ONE, WITHOUT_TWIN, compare, f32, g32, i8, row, rows, u8


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit.name)
def test_the_broken_operand_is_flagged_and_its_twin_is_not(limit):
    assert any(limit.says in problem for problem in limit.broken.violations(ARCHITECTURE)), list(
        limit.broken.violations(ARCHITECTURE)
    )
    assert list(limit.legal.violations(ARCHITECTURE)) == []


def test_what_is_only_known_at_run_time_is_checked_there():
    unknown = Symbol("n")
    assert list(Fill(dst=f32.region(unknown, 1, unknown), value=ONE).violations(ARCHITECTURE)) == []


_XOR = Bitwise(op="Xor", dst=row(u8), first=row(u8), second=row(u8))
UNKNOWN: dict[str, tuple[Instruction, str]] = {
    "unary": (Unary(op="Cbrt", dst=row(f32), src=row(g32)), "operation of one operand Cbrt, needs Exp or Ln"),
    "scalar": (
        WithScalar(op="Pows", dst=row(f32), src=row(g32), scalar=ONE),
        "operation with a scalar Pows, needs Adds or Muls or Maxs or Mins",
    ),
    "shift": (
        ShiftBits(op="Rotate", dst=row(f32), src=row(g32), bits=1),
        "shift Rotate, needs ShiftLeft or ShiftRight",
    ),
    "binary": (
        Binary(op="Mod", dst=row(f32), first=row(f32), second=row(g32)),
        "operation of two operands Mod, needs Add or Sub or Mul or Div or Max or Min",
    ),
    "reduction": (RowReduce(op="Mean", dst=row(f32, 4), src=rows(f32)), "reduction Mean, needs Max or Sum"),
    "blocks": (
        BlockReduce(op="Mean", dst=rows(f32, 8, 8), src=rows(f32)),
        "reduction Mean, needs Max or Sum",
    ),
    "comparison": (compare(row(f32), mode="ABOUT"), "comparison ABOUT, needs EQ or NE"),
    "bitwise": (
        Bitwise(op="Xor", dst=row(u8), first=row(u8), second=row(i8)),
        "bitwise Xor, needs And or Or",
    ),
}


@pytest.mark.parametrize("name", WITHOUT_TWIN)
def test_further_illegal_operands(name):
    assert list(WITHOUT_TWIN[name].violations(ARCHITECTURE))


@pytest.mark.parametrize("kind", UNKNOWN)
def test_an_operation_that_does_not_exist_is_refused_with_those_that_do(kind):
    item, says = UNKNOWN[kind]
    assert any(problem.startswith(f"there is no {says}") for problem in item.violations(ARCHITECTURE))
    assert not [item for item in _all_operations() if "there is no" in "".join(item.violations(ARCHITECTURE))]


def _all_operations() -> list[Instruction]:
    made: list[Instruction] = [Unary(op=op, dst=row(f32), src=row(g32)) for op in _UNARY]
    made += [WithScalar(op=op, dst=row(f32), src=row(g32), scalar=ONE) for op in _WITH_SCALAR]
    made += [ShiftBits(op=op, dst=row(f32), src=row(g32), bits=1) for op in _SHIFTS]
    made += [Binary(op=op, dst=row(f32), first=row(f32), second=row(g32)) for op in _BINARY]
    made += [RowReduce(op=op, dst=row(f32, 4), src=rows(f32)) for op in ("Max", "Sum")]
    made += [BlockReduce(op=op, dst=rows(f32, 8, 8), src=rows(f32)) for op in ("Max", "Sum")]
    return [*made, *(limit.legal for limit in LIMITS)]


def test_every_operation_has_a_cost():
    """In cycles that grow with the work; the scalar unit reads one number."""
    bench = Bench()
    for item in (each for each in _all_operations() if each.pipe is not Pipe.S):
        assert item.cycles(bench, COSTS) > COSTS[item.cost_key].head and item.units(bench) > 0, (
            item.describe()
        )
    short, long = (Unary(op="Exp", dst=row(f32, n), src=row(g32, n)) for n in (256, 832))
    assert long.cycles(bench, COSTS) - short.cycles(bench, COSTS) == pytest.approx(9 * COSTS["Exp"].per_unit)


def test_descriptions_are_one_line_and_name_the_operands():
    for item in _all_operations():
        text = item.describe()
        assert "\n" not in text
        for target in (*item.reads(), *item.writes()):
            assert re.search(rf"\b{target.name}\b", text), text
