"""Rows of a slot of a workspace ring are asked for by name where a kernel has several."""

from __future__ import annotations

from attndsl.codegen.text.cxx_expressions import cxx_text
from attndsl.codegen.text.ring_rows import ring_row_helper, with_ring_rows
from attndsl.expr import Expr, Named, Symbol
from attndsl.tile.program import tiling_scalar

SLOT, R0, BEGIN = Symbol("slot"), Symbol("r0"), Symbol("rowBegin")
ROWS, KEYS = tiling_scalar("rowsPerTask"), Named(512, "tileKeys")
PLACE = (SLOT * ROWS + BEGIN + R0) * KEYS


def text(expr: Expr) -> str:
    found, calls = with_ring_rows(expr, {})
    return cxx_text(found, calls)


def test_a_row_of_a_slot_is_a_call() -> None:
    assert text(PLACE + 8) == "RingRow(slot, rowBegin + r0) * kTileKeys + 8"
    assert text((SLOT % 2 * ROWS + R0) * KEYS) == "RingRow(slot % 2, r0) * kTileKeys"


def test_other_sums_are_none() -> None:
    for expr in (SLOT * ROWS * KEYS + R0, (SLOT * KEYS + R0) * ROWS, R0 + SLOT * ROWS):
        assert text(expr) == cxx_text(expr) and "RingRow" not in text(expr)


def test_a_kernel_has_the_function_where_it_is_worth_one() -> None:
    (helper,) = ring_row_helper([PLACE] * 4)
    assert helper.lines == ("return slot * tiling_.rowsPerTask + row;",) and helper.kind == ""
    assert ring_row_helper([PLACE] * 3) == () == ring_row_helper([SLOT * ROWS] * 9)
