"""Operations of the graph on special numbers."""

import numpy as np
import pytest

from attndsl.reference.arithmetic import OPERATIONS, sigmoid


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sigmoid_is_exact_where_it_must_be_and_never_overflows(dtype):
    x = np.array([-np.inf, -1e4, -0.0, 0.0, 1e4, np.inf, np.nan, -2.0, 2.0], dtype)
    with np.errstate(over="raise", divide="raise"):
        found = sigmoid(x.copy(), out=(out := np.empty_like(x)))
    assert found is out and found.dtype == dtype
    assert found[:6].tolist() == [0, 0, 0.5, 0.5, 1, 1] and np.isnan(found[6])
    small = np.exp(dtype(-2))
    assert found[7:].tolist() == [small / (1 + small), 1 / (1 + small)]
    assert sigmoid(dtype(2)) == found[8]  # a number without axes


def test_every_operation_does_what_it_is_called():
    two = {"add": 2.5, "subtract": 1.5, "multiply": 1.0, "divide": 4.0, "minimum": 0.5, "maximum": 2.0}
    one = {"exp": np.e**2, "log": np.log(2), "sqrt": 2**0.5, "tanh": (np.e**4 - 1) / (np.e**4 + 1)}
    one |= {"sigmoid": np.e**2 / (np.e**2 + 1), "negate": -2.0, "abs": 2.0}
    found = {name: each(2.0, 0.5) if name in two else each(2.0) for name, each in OPERATIONS.items()}
    assert found == pytest.approx(two | one, rel=1e-14)
    assert OPERATIONS["abs"](-2.0) == 2
