"""The table of scalar operators: each has all its meanings, and they agree."""

from __future__ import annotations

import math
from dataclasses import fields

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from attndsl.codegen.text.cxx_expressions import FUNCTIONS
from attndsl.codegen.text.scalar_helpers import used_helpers
from attndsl.expr import Binary, Compare, Const, Expr, Load, Logic, Symbol
from attndsl.expr.array_evaluation import evaluate_arrays
from attndsl.expr.compiled_evaluation import compiled
from attndsl.expr.intervals import bounds
from attndsl.expr.operators import CALLS, OPERATORS, ORDERINGS, ScalarOperator

A, B = Symbol("a"), Symbol("b")
LOGIC = ("and", "or")
DIVISIONS = ("/", "//", "%", "ceil_div", "round_up", "floor_div", "floor_mod")
numbers = st.integers(-40, 40)
ranges = st.tuples(numbers, numbers).map(sorted)


def node(op: str) -> Expr:
    """``a op b``, unfolded; of truth values for ``and`` and ``or``."""
    if op in LOGIC:
        return Logic(op, A > 0, B > 0)
    return (Compare if OPERATORS[op].opposite else Binary)(op, A, B)


def defined(op: str, divisor: int) -> bool:
    return op not in DIVISIONS or divisor != 0


def test_the_table_is_complete() -> None:
    for text, each in OPERATORS.items():
        assert each.text == text and each.precedence > 0
        assert all(callable(getattr(each, item.name)) for item in fields(ScalarOperator)[2:6]), text
    assert {op for op, each in OPERATORS.items() if each.opposite} == {"==", "!=", "<", "<=", ">", ">="}
    assert all(OPERATORS[OPERATORS[op].opposite].opposite == op for op in ("==", "<", ">"))


def test_every_call_has_a_function_in_generated_code() -> None:
    assert set(FUNCTIONS) == set(CALLS)
    helpers = used_helpers(Binary(op, A, B) for op in CALLS)
    assert set(helpers) == set(FUNCTIONS.values())


@pytest.mark.parametrize("op", OPERATORS)
@given(a=numbers, b=numbers)
def test_all_meanings_agree(op: str, a: int, b: int) -> None:
    if not defined(op, b):
        return
    expr, env = node(op), {"a": a, "b": b}
    value = expr.evaluate(env)
    assert compiled(expr)(env) == value
    assert int(evaluate_arrays(expr, {"a": np.array([a]), "b": b})[0] == value)
    always, ever = bounds(expr, {}, env)
    assert always == ever == value
    # The symbols of to_sympy are >= 0; here they may be anything.
    x, y = sympy.Symbol("a", integer=True), sympy.Symbol("b", integer=True)
    parts = (x > 0, y > 0) if op in LOGIC else (x, y)
    exact = OPERATORS[op].sympy(sympy, *parts).subs({x: a, y: b})
    assert (bool(exact) if exact in (True, False) else float(exact)) == value


@pytest.mark.parametrize("op", [op for op, each in OPERATORS.items() if each.opposite])
@given(a=numbers, b=numbers)
def test_the_opposite_and_the_mirrored_comparison_are_that(op: str, a: int, b: int) -> None:
    holds = OPERATORS[op].python(a, b)
    assert OPERATORS[OPERATORS[op].opposite].python(a, b) is not holds
    assert OPERATORS[OPERATORS[op].mirrored].python(b, a) is holds


def test_only_comparisons_have_an_opposite_and_orderings_are_those_of_them_that_are_no_equality() -> None:
    comparisons = {op for op, each in OPERATORS.items() if each.opposite}
    assert comparisons == {op for op, each in OPERATORS.items() if each.mirrored}
    assert comparisons == {*ORDERINGS, "==", "!="}


@pytest.mark.parametrize("op", OPERATORS)
@given(first=ranges, second=ranges, data=st.data())
def test_bounds_hold_for_all_values_within(
    op: str, first: list[int], second: list[int], data: st.DataObject
) -> None:
    a, b = data.draw(st.integers(*first)), data.draw(st.integers(*second))
    if not defined(op, b):
        return
    low, high = bounds(node(op), {"a": tuple(first), "b": tuple(second)}, {})
    assert low <= node(op).evaluate({"a": a, "b": b}) <= high
    open_ended = {"a": (first[0], math.inf), "b": (second[0], math.inf)}
    low, high = bounds(node(op), open_ended, {})
    assert low <= node(op).evaluate({"a": a, "b": b}) <= high


@pytest.mark.parametrize(
    ("expr", "wanted"),
    [
        (A % 16, (0, 16)), (A % B, (0, 8)), (Binary("ceil_div", A, B), (-5, 50)),
        (Binary("round_up", A, Const(16)), (0, 112)), (Binary("floor_div", A, Const(4)), (-3, 25)),
        ((A + 10) % 200, (0, 110)), (A * 0, (0, 0)),
    ],
    ids=str,
)  # fmt: skip
def test_bounds_are_near(expr: Expr, wanted: tuple[int, int]) -> None:
    """Bounds that are always infinite would pass the rest."""
    assert bounds(expr, {"a": (-10, 100), "b": (2, 8)}, {}) == wanted


def test_an_infinite_end_times_nothing_is_nothing() -> None:
    spans = {"a": (0, math.inf), "b": (0, math.inf)}
    assert bounds(A * B, spans, {}) == (0, math.inf)
    assert bounds(A // (B + 1), spans, {}) == (0, math.inf)
    assert bounds((A - A) * B, {"a": (3, 3), "b": (0, math.inf)}, {}) == (0, 0)


def test_narrow_elements_do_not_wrap() -> None:
    """Elements of a tensor are numbers, whatever their width."""
    flags = np.array([250, 3], np.uint8)
    for op in (*CALLS, "+", "-", "*", "//", "%"):
        expr = Binary(op, Load("flags", A), B)
        found = evaluate_arrays(expr, {"flags": flags, "a": np.arange(2), "b": 16})
        wanted = [expr.evaluate({"flags": flags, "a": at, "b": 16}) for at in range(2)]
        assert list(found) == wanted, op
