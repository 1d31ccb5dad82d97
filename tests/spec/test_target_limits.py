"""Limits of the kernels on the target, from their documents, on both sides of each edge."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attndsl import ops
from attndsl.spec import errors
from attndsl.spec.binding.call import Call


def compressed(*, heads: int = 2, kv_heads: int = 1, size: int = 16, keys: int = 4, batch: int = 1) -> Call:
    """nsa_compress_attention of one token a batch row; rows of zeros."""
    rows = {"query": (batch, heads), "key": (batch * keys, kv_heads), "value": (batch * keys, kv_heads)}
    tensors = {name: np.zeros((*shape, size), np.float16) for name, shape in rows.items()}
    every = np.arange(1, batch + 1)
    lengths: dict[str, Any] = {
        "actual_seq_qlen": every.tolist(),
        "actual_cmp_seq_kvlen": (every * keys).tolist(),
        "actual_sel_seq_kvlen": (every * -(-keys // 4)).tolist(),
    }
    return ops.nsa_compress_attention.bind(
        *tensors.values(),
        scale_value=1.0,
        head_num=heads,
        compress_block_size=32,
        compress_stride=16,
        select_block_size=64,
        select_block_count=1,
        **lengths,
    )


@pytest.mark.parametrize(
    ("within", "beyond"),
    [
        ({"heads": 128, "kv_heads": 2}, {"heads": 256, "kv_heads": 2}),
        ({"heads": 64}, {"heads": 128}),
        ({"heads": 32}, {"heads": 24}),
        ({"size": 512}, {"size": 528}),
        ({"keys": 14000}, {"keys": 14001}),
        ({"batch": 4096}, {"batch": 4097}),
    ],
)
def test_limits_of_compressed_attention(within: dict[str, int], beyond: dict[str, int]) -> None:
    compressed(**within).check_target()
    with pytest.raises(errors.TargetLimitError):
        compressed(**beyond).check_target()
