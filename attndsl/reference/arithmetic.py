"""The NumPy meaning of each elementwise operation of the graph."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from attndsl.spec.contract.layout import Array

LOG2_E = math.log2(math.e)
SAMPLE = 499  # elements; for so few NumPy does not let other threads at the interpreter
LN_SMALLEST = -126 * math.log(2)  # exp of less is subnormal in float32


def sigmoid(x: Array, out: Array | None = None) -> Array:
    """``1 / (1 + exp(-x))``, without overflow for large negative x; written to ``out``, if given."""
    small = np.asarray(np.exp(-np.abs(x)))  # at most 1
    numerator = np.maximum(small, x >= 0)
    result: Array = np.divide(numerator, np.add(small, 1, out=small), out=out)
    return result


def exp_in_place(x: Array) -> Array:
    """exp, written over ``x``.

    In float32 NumPy's exp2 takes half the time of its exp, for one more rounding; but where results
    are 0 or subnormal it takes ten or a hundred times as long. A sample tells whether to expect such.
    """
    sample = x.ravel(order="K")[:: x.size // SAMPLE + 1]
    if x.dtype == np.float32 and x.size and np.minimum.reduce(sample) > LN_SMALLEST:
        np.multiply(x, np.float32(LOG2_E), out=x)
        np.exp2(x, out=x)
    else:
        np.exp(x, out=x)
    return x


OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "minimum": np.minimum,
    "maximum": np.maximum,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "tanh": np.tanh,
    "sigmoid": sigmoid,
    "negate": np.negative,
    "abs": np.abs,
}
