"""Decoding with a sliding window reads the last keys, of a cache of any length and of one that wraps."""

from __future__ import annotations

import numpy as np
import pytest

from attndsl import ops
from attndsl.spec.contract.layout import Array

HEADS, SIZE = 2, 16
RNG = np.random.default_rng(4)


def some(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float16)


def attended(query: Array, keys: Array, values: Array) -> Array:
    """One token over rows (T, heads, channels), in float64."""
    scores = np.einsum("nd,tnd->nt", query.astype(float), keys.astype(float)) * 0.25
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(
        np.einsum("nt,tnd->nd", weights / weights.sum(axis=1, keepdims=True), values.astype(float))
    )


def decoded(query: Array, keys: Array, values: Array, tokens: int, **more: object) -> Array:
    call = {
        "query": query.reshape(1, -1),
        "cacheK": keys.reshape(1, 1, len(keys), -1).copy(),
        "cacheV": values.reshape(1, 1, len(values), -1).copy(),
        "tokenOffset": [tokens],
        "seqLen": [1],
        "layerId": [0],
        "headNum": HEADS,
        "calcType": "DECODER",
        "kvcacheCfg": "K_BYPASS_V_BYPASS",
        "maskType": "SLIDING_WINDOW_NORM",
        "qkScale": 0.25,
    }
    return np.asarray(ops.self_attention(**(call | more)), float).reshape(HEADS, SIZE)


@pytest.mark.parametrize(("tokens", "window"), [(9, 3), (9, 9), (9, 40), (5, 4), (1, 1)])
def test_the_last_keys_of_a_cache_are_read(tokens: int, window: int) -> None:
    query, keys, values = some(HEADS, SIZE), some(9, HEADS, SIZE), some(9, HEADS, SIZE)
    first = max(tokens - window, 0)
    wanted = attended(query, keys[first:tokens], values[first:tokens])
    found = decoded(query, keys, values, tokens, windowSize=window)
    np.testing.assert_allclose(found, wanted, atol=4e-3)


@pytest.mark.parametrize(
    ("tokens", "window", "rows"), [(9, 4, 4), (9, 4, 6), (8, 4, 4), (3, 4, 4), (23, 5, 5)]
)
def test_a_cache_that_wraps_holds_the_last_keys_in_turn(tokens: int, window: int, rows: int) -> None:
    """Token t lies in row t modulo the window; rows behind it are not read."""
    query, keys, values = some(HEADS, SIZE), some(tokens, HEADS, SIZE), some(tokens, HEADS, SIZE)
    ring = [np.full((rows, HEADS, SIZE), np.nan, np.float16) for _ in range(2)]
    for t in range(max(tokens - window, 0), tokens):
        ring[0][t % window], ring[1][t % window] = keys[t], values[t]
    first = max(tokens - window, 0)
    wanted = attended(query, keys[first:], values[first:])
    found = decoded(query, *ring, tokens, windowSize=window, cacheType="SWA")
    np.testing.assert_allclose(found, wanted, atol=4e-3)


@pytest.mark.parametrize("tokens", [1, 4, 6, 11])
def test_a_new_token_is_appended_where_the_oldest_lay(tokens: int) -> None:
    window, key, value = 4, some(HEADS, SIZE), some(HEADS, SIZE)
    query, old = some(HEADS, SIZE), [some(tokens, HEADS, SIZE) for _ in range(2)]
    ring = [np.full((window, HEADS, SIZE), np.nan, np.float16) for _ in range(2)]
    for t in range(max(tokens - 1 - window, 0), tokens - 1):
        ring[0][t % window], ring[1][t % window] = old[0][t], old[1][t]
    old[0][-1], old[1][-1] = key, value
    first = max(tokens - window, 0)
    appended = {"key": key.reshape(1, -1), "value": value.reshape(1, -1), "kvcacheCfg": "K_CACHE_V_CACHE"}
    found = decoded(query, *ring, tokens, windowSize=window, cacheType="SWA", **appended)
    np.testing.assert_allclose(found, attended(query, old[0][first:], old[1][first:]), atol=4e-3)
