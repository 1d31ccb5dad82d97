"""Memory that a thread uses over and over.

A fresh array of some hundred kilobytes comes from the system page by page, and every page costs a fault: more
than the arithmetic on it. Blocks of the score space therefore live in buffers that stay.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Hashable
from typing import Any

import numpy as np

from attndsl.spec.contract.layout import Array

CACHE_LINE = 64  # bytes


class Scratch(threading.local):
    """Buffers by the name of their owner; every thread sees its own."""

    def __init__(self) -> None:
        self._buffers: dict[Hashable, Array] = {}
        self._arrays: dict[Hashable, Array] = {}

    def array(self, owner: Hashable, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """An array of this shape, contiguous, with undefined elements.

        It holds until the same thread asks again for the same ``owner``.
        """
        found = self._arrays.get((owner, shape, dtype))
        if found is None:
            found = self._arrays[owner, shape, dtype] = self._cut(owner, shape, dtype)
        return found

    def _cut(self, owner: Hashable, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        size = math.prod(shape)
        buffer = self._buffers.get(owner)
        if buffer is None or buffer.size < size or buffer.dtype != dtype:
            buffer = self._buffers[owner] = _aligned(size, dtype)
            self._arrays.clear()  # those of the old buffer would keep it
        return buffer[:size].reshape(shape)


def _aligned(size: int, dtype: np.dtype[Any]) -> Array:
    """Undefined elements from the start of a cache line on."""
    memory = np.empty(size * dtype.itemsize + CACHE_LINE, np.uint8)
    start = -memory.ctypes.data % CACHE_LINE
    return memory[start : start + size * dtype.itemsize].view(dtype)
