"""Numbers of the host's C++: float parameters, literals with the suffix f, quotients of double."""

from __future__ import annotations

import numpy as np
import pytest

from attndsl.expr import Const, Expr, Symbol, select
from attndsl.expr.single_precision import in_single_precision

X, N = Symbol("x"), Symbol("N")
F = np.float32


@pytest.mark.parametrize(
    ("expr", "wanted"),
    [
        (1 - X, F(1) - F(0.8)),  # and not float32(0.2)
        (X, F(0.8)),
        (X * 3, F(0.8) * F(3)),
        (0.1 + X * Const(0.3), F(0.1) + F(0.8) * F(0.3)),
        (1 / X, F(1.0 / float(F(0.8)))),
        (N / 3 * X, F(np.float64(N.evaluate({"N": 16777217}) / 3) * np.float64(F(0.8)))),
        (N + 1 - 16777216, F(2)),  # integers are exact
        (N * X, F(16777217) * F(0.8)),
        (select(X > 0.8, 1.0, 2 - X), F(2) - F(0.8)),  # float(0.8) is not above 0.8f
        (select((X > 0) & (N > 0), X, 0.0), F(0.8)),
    ],
    ids=str,
)
def test_each_operation_rounds_as_the_host_does(expr: Expr, wanted: np.float32) -> None:
    assert in_single_precision(expr, {"x": 0.8, "N": 16777217}) == float(wanted)


def test_a_quotient_by_zero_is_what_floats_have() -> None:
    assert in_single_precision(1 / X, {"x": 0.0}) == float("inf")
