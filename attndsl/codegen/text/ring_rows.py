"""Rows of a slot of a workspace ring: kernels have a function for where they stand.

The slots of all rings have as many rows as a task has at most.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attndsl.codegen.names.members import scalar
from attndsl.codegen.text.cxx_expressions import cxx_text
from attndsl.codegen.text.scalar_helpers import Helper
from attndsl.expr import Binary, Expr, Symbol
from attndsl.lowering.emit.emitter import ROWS_PER_TASK
from attndsl.tile.program import tiling_scalar

FUNCTION = "RingRow"
_ROWS = tiling_scalar(ROWS_PER_TASK)
_FEWEST = 4
"""Places that are worth a function."""


def with_ring_rows(expr: Expr, spelled: Mapping[str, str]) -> tuple[Expr, dict[str, str]]:
    """An expression with a name in place of each row of a slot, and how these names are spelled."""
    calls: dict[str, str] = {}

    def call(node: Expr) -> Expr | None:
        found = _row_of_slot(node)
        if found is None:
            return None
        slot, row = (cxx_text(each.mapped(call), {**spelled, **calls}) for each in found)
        name = f"{FUNCTION}{len(calls)}"
        calls[name] = f"{FUNCTION}({slot}, {row})"
        return Symbol(name)

    return expr.mapped(call), calls


def ring_row_helper(exprs: Iterable[Expr]) -> tuple[Helper, ...]:
    """The function, if enough expressions ask for it."""
    if sum(map(_rows_of_slots, exprs)) < _FEWEST:
        return ()
    doc = "A row of a slot of a workspace ring, counted from the first of the first slot."
    return (
        Helper(
            FUNCTION,
            doc,
            "int64_t slot, int64_t row",
            (f"return slot * {scalar(_ROWS)} + row;",),
            static=False,
        ),
    )


def _rows_of_slots(expr: Expr) -> int:
    """How many rows of slots an expression has."""
    found = _row_of_slot(expr)
    inside = expr.children() if found is None else found
    return (found is not None) + sum(map(_rows_of_slots, inside))


def _row_of_slot(expr: Expr) -> tuple[Expr, Expr] | None:
    """``slot`` and ``row`` of ``slot * rows + row``; None of other expressions."""
    if not isinstance(expr, Binary) or expr.op != "+":
        return None
    first = expr.left
    if isinstance(first, Binary) and first.op == "*" and first.right.same(_ROWS):
        return first.left, expr.right
    found = _row_of_slot(first)
    return None if found is None else (found[0], found[1] + expr.right)
