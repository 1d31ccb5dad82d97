"""Bounds of window sums from the ranges of parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest

from attndsl.expr import Const, Expr, Symbol
from attndsl.expr.intervals import ANYTHING, Range
from attndsl.graph import nodes
from attndsl.lowering.signature.window_bounds import (
    MOST_CARRIED,
    WindowLimits,
    parameter_ranges,
    range_of,
    term_count,
    term_weight,
    window_limits,
)
from attndsl.spec import Operator
from tests.support.builders import tensor

M, N, STEP = Symbol("m"), Symbol("n"), Symbol("step")


def window(*counts: Expr | int, step: Expr | int = 1, last: Expr | int = 0) -> nodes.WindowSum:
    def number(value: Expr | int) -> Expr:
        return value if isinstance(value, Expr) else Const(value)

    source = tensor("source", ("B", "N", "Q", "T"))
    return nodes.WindowSum(
        source=source, step=number(step), last=number(last), counts=tuple(map(number, counts))
    )


@pytest.mark.parametrize(
    ("node", "limits"),
    [
        (window(1), WindowLimits(8, 0)),
        (window(9), WindowLimits(8, 0)),
        (window(10), WindowLimits(16, 0)),
        (window(4, 6), WindowLimits(8, 0)),
        (window(5, 6), WindowLimits(16, 0)),
        (window(1, step=9), WindowLimits(8, 8)),
        (window(1, last=17), WindowLimits(8, 24)),
        (window(1, last=-9), WindowLimits(16, 0)),
        (window(MOST_CARRIED + 1), WindowLimits(MOST_CARRIED, 0)),
    ],
)
def test_keys_that_windows_read_around_a_tile_are_whole_blocks(
    node: nodes.WindowSum, limits: WindowLimits
) -> None:
    assert window_limits(node, {}) == limits


@pytest.mark.parametrize(
    "node",
    [
        window(MOST_CARRIED + 2),
        window(1, step=MOST_CARRIED + 2),
        window(1, last=MOST_CARRIED + 1),
        window(1, 1, 1),
    ],
    ids=["too long", "too far apart", "too far behind", "three counts"],
)
def test_windows_that_reach_further_than_a_tile_have_no_limits(node: nodes.WindowSum) -> None:
    assert window_limits(node, {}) is None


def test_parameters_bound_by_their_largest_value_and_nothing_else() -> None:
    ranges: Mapping[str, Range] = {"m": (1, 8), "n": (1, 3), "step": (1, 16)}
    assert window_limits(window(M, N, step=STEP), ranges) == WindowLimits(16, 16)
    assert window_limits(window(M, N, step=STEP), {**ranges, "n": (1, math.inf)}) is None
    assert window_limits(window(Symbol("unknown")), ranges) is None
    assert range_of(Symbol("unknown"), ranges) == ANYTHING


def test_terms_are_counted_and_weighted_as_in_a_convolution_of_rows_of_ones() -> None:
    for first in range(1, 6):
        for second in range(1, 6):
            counts: tuple[Expr, ...] = (Const(first), Const(second))
            terms = int(term_count(window(*counts)).evaluate({}))
            assert terms == first + second - 1
            weights = [0] * terms
            for m in range(first):
                for n in range(second):
                    weights[m + n] += 1
            weight = term_weight(counts, Const(terms), Symbol("i"))
            assert weight is not None
            assert [weight.evaluate({"i": place}) for place in range(terms)] == weights
    assert term_weight((Const(7),), Const(7), Symbol("i")) is None


def test_ranges_of_parameters_are_what_they_are_declared_to_be() -> None:
    op = Operator("ranges", summary="Parameters alone.")
    op.dims("T")
    op.param("bounded", int, default=1, ge=1, lt=9)
    op.param("above", int, default=1, gt=0)
    op.param("chosen", int, default=4, choices=(4, 16, 8))
    op.param("any", int, default=0)
    op.param("real", float, default=0.5)
    found = parameter_ranges(op)
    assert found == {
        "T": (0, math.inf),
        "bounded": (1, 8),
        "above": (1, math.inf),
        "chosen": (4, 16),
        "any": (-math.inf, math.inf),
    }
