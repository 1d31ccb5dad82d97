"""Conversions between the logical and the stored order of row statistics of packed (TND) operators.

The logical order is [token, head, copy]. Devices store the statistics of one batch row after the other,
each head by head: (heads, tokens of the row, copies), all of them in one buffer of the same size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def to_stored_order(values: Array, ends: Sequence[int]) -> Array:
    """``values`` [token, head, copy] in the order of devices, in an array of the same shape.

    Args:
        values: shape (tokens, heads, copies), any dtype.
        ends: prefix sums of the tokens of each batch row.

    Raises:
        ValueError: the prefix sums do not end at the number of tokens.
    """
    parts = [values[start:end].swapaxes(0, 1).reshape(-1) for start, end in _rows(values, ends)]
    return np.concatenate([*parts, values[:0].reshape(-1)]).reshape(values.shape)


def from_stored_order(stored: Array, ends: Sequence[int]) -> Array:
    """The inverse of :func:`to_stored_order`: what a device stored as [token, head, copy].

    Args:
        stored: shape (tokens, heads, copies) as declared, any dtype.
        ends: prefix sums of the tokens of each batch row.

    Raises:
        ValueError: the prefix sums do not end at the number of tokens.
    """
    _, heads, copies = stored.shape
    flat, values = stored.reshape(-1), np.empty_like(stored)
    for start, end in _rows(stored, ends):
        part = flat[start * heads * copies : end * heads * copies]
        values[start:end] = part.reshape(heads, end - start, copies).swapaxes(0, 1)
    return values


def _rows(values: Array, ends: Sequence[int]) -> Iterator[tuple[int, int]]:
    if values.ndim != 3:
        raise ValueError(f"values: shape {list(values.shape)} must be (tokens, heads, copies)")
    starts = [0, *ends[:-1]]
    if not ends or ends[-1] != len(values) or any(a > b for a, b in zip(starts, ends, strict=True)):
        raise ValueError(
            f"ends: {list(ends)} are no prefix sums of {len(values)} tokens; the last must be {len(values)}"
        )
    yield from zip(starts, ends, strict=True)
