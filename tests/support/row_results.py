"""Results made of rows and of numbers of rows: pieces of specs, and the comparison with the reference."""

from __future__ import annotations

from typing import Any

import numpy as np

from attndsl.spec.operator.operator import Operator

PACKED = "p = attend.softmax(s)\nout = p @ attend.packed(value, keys)"
OUT = 'op.output("out", out, like=query)'


def check(op: Operator, backend: str, **arguments: Any) -> list[Any]:
    """Each result against the reference in float64; the numbers found, as the backend gives them."""
    want, found = op(**arguments, precision="float64"), op(**arguments, backend=backend)
    want, found = (each if isinstance(each, tuple) else (each,) for each in (want, found))
    for expected, actual in zip(want, found, strict=True):
        tolerance = 4e-3 if actual.dtype == np.float16 else 2e-5
        np.testing.assert_allclose(np.asarray(actual, np.float64), expected, rtol=tolerance, atol=tolerance)
    return list(found)
