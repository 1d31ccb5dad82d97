"""Quotients and remainders of negative numbers round down in kernels and on the host, as in Python."""

import math
from pathlib import Path

import pytest

from attndsl.codegen.text.cxx_expressions import cxx_text
from attndsl.compiler.compile import compile_operator
from attndsl.expr import Binary, Expr, Load, Symbol, ceil_div, maximum, round_up
from attndsl.lowering.emit.floor_division import floored, never_negative
from attndsl.lowering.signature.specialization import Specialization
from attndsl.tile.scalars import expressions
from tests.support.small_specs import PACKED_RESULT, assert_computes, packed_call, packed_spec

AT, P = Symbol("i"), Symbol("p")
ANY = {"p": (-math.inf, math.inf)}

MASKS = {
    "quotient": ("s = s.where(j >= (i - 5) // 4 * 4 + 8)", ""),
    "remainder": ("s = s.where(j >= (i - 6) % 4)", ""),
    "rounded up": ("s = s.where(j >= ceil_div(i - 7, 4) + 3)", ""),
    "on the host": ("s = s.where(j >= i - shift // 4)", 'shift = op.param("shift", int, default=3)'),
}


@pytest.mark.sweep(fast=4)
@pytest.mark.parametrize("backend", ["tile", "emulator"])
@pytest.mark.parametrize("mask", MASKS)
def test_of_negative_numbers(tmp_path: Path, mask: str, backend: str) -> None:
    body, declared = MASKS[mask]
    op = packed_spec(tmp_path, body, PACKED_RESULT, declared=declared)
    extra = {"shift": -3} if declared else {}
    assert_computes(op, backend, **packed_call([9, 5], [40, 30]), **extra)


@pytest.mark.parametrize(
    "expr", [(AT - 5) // 4, (AT - 6) % 4, P // 4, P % 4, 7 // P, ceil_div(P, 4), round_up(AT + P, 4)]
)
def test_what_may_be_negative_is_not_printed_as_it_is(expr: Expr) -> None:
    found = floored(expr, ANY)
    assert "floor_" in found.text() and "Floor" in cxx_text(found)
    for number in range(-9, 10):
        env = {"i": number + 9, "p": number}
        if number or "7" not in expr.text():
            assert found.evaluate(env) == expr.evaluate(env)


@pytest.mark.parametrize(
    "expr", [AT // 4, (AT + 5) % 4, maximum(0, AT - 5) // 4, P % 4 // 2, ceil_div(AT * 3, 4), round_up(AT, 4)]
)
def test_what_cannot_be_negative_is(expr: Expr) -> None:
    assert floored(expr, {"p": (0, 9)}).same(expr)


def test_ranges_and_tensors() -> None:
    assert not never_negative(Load("lengths", AT), {})
    assert never_negative(P - 3, {"p": (3, 9)}) and not never_negative(P - 4, {"p": (3, 9)})


def test_proved_quotients_stay_plain_in_programs(tmp_path: Path) -> None:
    op = packed_spec(tmp_path, "s = s.where(j >= i // 4)", PACKED_RESULT)
    program = compile_operator(op, Specialization(dtype="float16", padded_head_size=32)).program
    operations = {
        node.op
        for item in program.statements()
        for expr in expressions(item)
        for node in expr.walk()
        if isinstance(node, Binary)
    }
    assert "//" in operations and not {"floor_div", "floor_mod"} & operations
