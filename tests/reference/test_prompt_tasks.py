"""Prompts with tasks of two sizes, the small ones first, against attention written out in NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest

from attndsl.compiler.prepare_launch import prepare
from attndsl.execute import execute
from attndsl.spec.operator.loader import load
from attndsl.tile_interpreter import run as tile

BACKENDS = {"tile": tile.run, "emulator": execute.run}
SIZE = 16


def attended(query, key, value, lengths, causal):
    found, begin = np.empty(query.shape), 0
    for length in lengths:
        q, k, v = (each[begin : begin + length].astype(float) for each in (query, key, value))
        scores = np.einsum("qnd,knd->nqk", q, k) / math.sqrt(SIZE)
        if causal:
            scores = np.where(np.tril(np.ones((length, length), bool)), scores, -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        found[begin : begin + length] = np.einsum("nqk,knd->qnd", weights, v)
        begin += length
    return found


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("lengths", "heads", "cores", "causal"),
    [([700], 3, 2, False), ([900, 300], 2, 3, True), ([1100, 300], 2, 2, True)],
)
def test_tasks_of_two_sizes_and_of_two_halves(backend, lengths, heads, cores, causal):
    rng = np.random.default_rng(3)
    rows = sum(lengths)
    query, key, value = (rng.normal(size=(rows, heads, SIZE)).astype(np.float16) for _ in range(3))
    hidden = np.triu(np.full((128, 128), -10000.0, np.float16), 1)
    mask = {"mask": hidden, "maskType": "NORM_COMPRESS", "isTriuMask": 1} if causal else {}
    call = (
        load("self_attention")
        .mode_named("PA_ENCODER")
        .bind(
            query=query,
            key=key,
            value=value,
            seqLen=np.array(lengths, np.int32),
            headNum=heads,
            kvHeadNum=heads,
            qkScale=1 / math.sqrt(SIZE),
            **mask,
        )
    )
    tiling = prepare(call, cores).tiling
    if causal:
        assert 0 < tiling["largeTasks"] < tiling["tasks"]
        # in two rounds, behind 256 positions of small tasks
        assert tiling["queriesPerTask"] == (256 if cores == 3 else (1100 - 256) / 2)
    else:
        assert tiling["largeTasks"] == tiling["tasks"] and tiling["queriesPerTask"] == lengths[0] / 2
    (got,) = BACKENDS[backend](call, cores=cores)
    expected = attended(query, key, value, lengths, causal)
    np.testing.assert_allclose(np.asarray(got, float), expected, rtol=4e-3, atol=2e-3)
