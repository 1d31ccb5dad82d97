"""Which scalars are integers whatever their symbols are."""

from __future__ import annotations

import pytest

from attndsl.expr import Const, Expr, Symbol, ceil_div, maximum
from attndsl.expr.intervals import is_integral

N, SCALE = Symbol("n"), Symbol("scale")


@pytest.mark.parametrize("expr", [Const(2), N, N // 2, ceil_div(N, 3), maximum(N, 1) - 4, SCALE < 0.5])
def test_integers(expr: Expr) -> None:
    assert is_integral(expr, {"scale"})


@pytest.mark.parametrize("expr", [Const(2.0), SCALE, N + 0.5, N * SCALE, N / 2, maximum(N, SCALE)])
def test_other_numbers(expr: Expr) -> None:
    assert not is_integral(expr, {"scale"})
