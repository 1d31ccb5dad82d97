"""The NumPy meaning of each elementwise operation of the graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from attndsl.spec.layout import Array


def sigmoid(x: Array) -> Array:
    """``1 / (1 + exp(-x))``, without overflow for large negative x."""
    small = np.exp(-np.abs(x))
    result: Array = np.where(x >= 0, 1 / (1 + small), small / (1 + small))
    return result


OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "minimum": np.minimum,
    "maximum": np.maximum,
    "exp": np.exp,
    "log": np.log,
    "tanh": np.tanh,
    "sigmoid": sigmoid,
    "negate": np.negative,
}
