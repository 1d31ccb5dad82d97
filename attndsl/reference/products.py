"""The matrix products of attention, into memory that is there already.

With few rows, as in decoding, the time goes into reading keys and values. OpenBLAS copies the operands of a
product into panels first, which then costs more than the product; below some size it does not. One call
of NumPy's matmul over a stack of such small products reads keys and values once, at the speed of memory.
"""

from __future__ import annotations

import numpy as np

from attndsl.spec.contract.layout import Array

FEW_ROWS = range(2, 33)  # one row is a product of matrix and vector, which is never copied
SCORES_IN_PRODUCT = 1024
WEIGHTS_IN_PRODUCT = 4096


def scores_of(queries: Array, keys: Array, out: Array) -> Array:
    """``queries . keys^T`` of (rows, channels) and (keys, channels), written to ``out`` (rows, keys)."""
    rows, count = out.shape
    piece = SCORES_IN_PRODUCT // rows if rows in FEW_ROWS else count
    whole = count // piece * piece if 0 < piece < count else 0
    if whole:
        stack = keys[:whole].reshape(-1, piece, keys.shape[1]).transpose(0, 2, 1)
        np.matmul(queries, stack, out=out[:, :whole].reshape(rows, -1, piece).transpose(1, 0, 2))
    if whole < count:
        np.matmul(queries, keys[whole:].T, out=out[:, whole:])
    return out


def weighted_values(weights: Array, values: Array, out: Array) -> Array:
    """``weights . values`` of (rows, keys) and (keys, channels), written to ``out`` (rows, channels)."""
    rows, count = weights.shape
    piece = WEIGHTS_IN_PRODUCT // rows if rows in FEW_ROWS else count
    whole = count // piece * piece if 0 < piece < count else 0
    np.matmul(weights[:, whole:], values[whole:], out=out)
    if whole:
        stack = weights[:, :whole].reshape(rows, -1, piece).transpose(1, 0, 2)
        out += np.add.reduce(stack @ values[:whole].reshape(-1, piece, values.shape[1]), axis=0)
    return out


def row_sums(weights: Array) -> Array:
    """The sum of each row of (rows, keys): a third of the time of NumPy's own sum, as exact."""
    sums: Array = weights @ np.ones(weights.shape[1], weights.dtype)
    return sums
