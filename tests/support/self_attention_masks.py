"""Building blocks of self_attention calls for tests: masks in every form, random calls of every mode."""

import ml_dtypes
import numpy as np

DTYPES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}


def slopes_of(heads):
    """The ALiBi slopes of the contract."""
    n = 2 ** int(np.floor(np.log2(heads)))
    first = [(2.0 ** (-8 / n)) ** k for k in range(1, n + 1)]
    rest = [(2.0 ** (-4 / n)) ** k for k in range(1, 2 * (heads - n), 2)]
    return np.array(first + rest, np.float32)


def distance(rows, columns):
    return np.subtract.outer(np.arange(rows), np.arange(columns))


def alibi_compressed(kind, dtype):
    """The [256, 256] mask of maskType 4, 5 or 6."""
    d = distance(256, 256).astype(float)
    if kind == 6:
        return np.where(d < 0, -np.inf, np.arange(256.0)).astype(dtype)
    base = d if kind == 4 else np.sign(d) * np.sqrt(np.abs(d))
    return (base + 60000.0 * (d < 0)).astype(dtype)


def window_width(window, head):
    part = 128 if head <= 128 else 64
    if window <= 3 * part:
        return window
    return 3 * part if window % part == 0 else 2 * part + window % part


def hidden_by_window(size, window):
    d = distance(size, size)
    return (d < 0) | (d >= window)


def filled(hidden, dtype, zero_one):
    return np.where(hidden, 1.0 if zero_one else -10000.0, 0.0).astype(dtype)


def full_alibi(heads, rows, columns):
    """Dense ALiBi: slope * (j - i), -10000 above the diagonal."""
    d = distance(rows, columns)
    return np.where(d < 0, -10000.0, -slopes_of(heads)[:, None, None] * d)
