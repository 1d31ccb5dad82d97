"""Symbolic scalars evaluated over whole index ranges at once: symbols may be NumPy arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from attndsl.expr.expression import Expr
from attndsl.expr.nodes import Binary, Compare, Load, Logic, Select
from attndsl.expr.operators import OPERATORS


def evaluate_arrays(expr: Expr, env: Mapping[str, Any]) -> Any:
    """The value of ``expr`` where symbols of ``env`` may be arrays that broadcast against each other.

    Unlike :meth:`Expr.evaluate` both sides of a choice are computed. Indices of a :class:`Load` beyond its
    tensor read the nearest element: whoever asks must not use such a value.
    """
    if isinstance(expr, Binary | Compare | Logic):
        left, right = evaluate_arrays(expr.left, env), evaluate_arrays(expr.right, env)
        if isinstance(left, str | None) or isinstance(right, str | None):
            return (left == right) == (expr.op == "==")
        if isinstance(expr, Binary):
            left, right = _wide(left), _wide(right)
        return OPERATORS[expr.op].numpy(left, right)
    if isinstance(expr, Select):
        condition, then, otherwise = (evaluate_arrays(child, env) for child in expr.children())
        return np.where(condition, then, otherwise)
    if isinstance(expr, Load):
        flat = np.asarray(expr.array(env)).reshape(-1)
        index = np.asarray(evaluate_arrays(expr.index, env))
        if not flat.size:
            return np.zeros(index.shape, flat.dtype)
        values = flat[np.minimum(np.maximum(index, 0), flat.size - 1)]  # np.clip takes five times as long
        if values.dtype.kind in "iu" and values.dtype.itemsize >= 4:
            return values.astype(np.int64)  # as generated code computes: narrower types would wrap
        return values if values.dtype.kind in "biu" else values.astype(np.float64)
    return expr.evaluate(env)


def _wide(values: Any) -> Any:
    """Integers as int64, in which generated code computes: narrower types would wrap."""
    narrow = isinstance(values, np.ndarray | np.generic) and values.dtype.kind in "biu"
    return values.astype(np.int64, copy=False) if narrow else values
