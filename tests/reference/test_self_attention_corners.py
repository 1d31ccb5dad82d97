"""Corners of self_attention that generated cases found."""

import numpy as np

from attndsl.api import ops


def test_a_skipped_row_writes_nothing_even_where_its_offset_is_below_its_length():
    rng = np.random.default_rng(0)
    query, key, value = (rng.standard_normal((6, 16)).astype(np.float16) for _ in "qkv")
    caches = [rng.standard_normal((2, 8, 16)).astype(np.float16) for _ in "kv"]
    before = [cache.copy() for cache in caches]
    ops.self_attention(
        query=query,
        key=key,
        value=value,
        cacheK=caches[0],
        cacheV=caches[1],
        tokenOffset=[3, 1],
        seqLen=[3, 3],
        layerId=[0],
        batchStatus=[1, 0],
        headNum=1,
        batchRunStatusEnable=True,
    )
    for cache, old, new in zip(caches, before, (key, value), strict=True):
        assert (cache[1] == old[1]).all()
        assert (cache[0, :3] == new[:3]).all() and (cache[0, 3:] == old[0, 3:]).all()


def test_quantized_latent_attention_takes_padded_queries():
    rng = np.random.default_rng(0)
    query, key = (rng.integers(-9, 9, (2, 3, heads, 64)).astype(np.int8) for heads in (2, 1))
    scale, offset = np.full(2, 0.01, np.float32), np.zeros(2, np.int32)
    options = {
        "seqLen": [3, 3],
        "calcType": "PA_ENCODER",
        "headNum": 2,
        "kvHeadNum": 1,
        "quantType": 3,
        "mlaVHeadSize": 32,
        "outDataType": 1,
        "qkDescale": scale,
        "vpvDescale": scale,
        "qkOffset": offset,
        "vpvOffset": offset,
    }
    padded = ops.self_attention(query=query, key=key, **options)
    packed = ops.self_attention(query=query.reshape(6, 2, 64), key=key.reshape(6, 1, 64), **options)
    assert padded.dtype == packed.dtype == np.float16
    np.testing.assert_array_equal(padded.reshape(-1), packed.reshape(-1))
