"""Calls of incre_flash_attention with int8 keys and values that stand for numbers."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

FP16 = np.dtype(np.float16)
BF16 = np.dtype(ml_dtypes.bfloat16)


def decoding(
    rng: np.random.Generator,
    dtype: Any,
    *,
    scale: tuple[float, float] = (0.005, 0.05),
    offset: tuple[float, float] | None = None,
    group: int = 3,
    size: int = 80,
    keys: int = 300,
    query: float = 1.0,
    **more: Any,
) -> dict[str, Any]:
    """Two batch rows, two key/value heads; ``scale``, ``offset``: ranges of the channels' numbers."""
    stored = rng.integers(-128, 128, (2, 2, 2, keys, size)).astype(np.int8)
    scales = rng.uniform(*scale, (2, 2, 1, size)).astype(dtype)
    call: dict[str, Any] = {"query": (rng.standard_normal((2, 2 * group, 1, size)) * query).astype(dtype)}
    call |= {"key": [stored[0]], "value": [stored[1]], "antiquant_scale": scales}
    if offset is not None:
        call["antiquant_offset"] = rng.uniform(*offset, (2, 2, 1, size)).astype(dtype)
    call |= {"num_heads": 2 * group, "num_key_value_heads": 2, "input_layout": "BNSD"}
    return call | {"scale_value": 2 / (size**0.5 * query * 75 * float(np.mean(scale)))} | more
