"""Values a block of keys each, of a small spec of every kind of them, against NumPy at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from attndsl.reference.run import run
from attndsl.spec import Operator, attend

B, N, K, Q, T, D, J, X = 2, 4, 2, 3, 7, 8, 4, 3
LENGTHS = np.array([4, 2])


def operator() -> Operator:
    """Sums of probabilities and of masked scores by head; the largest sums by head and by group."""
    op = Operator("blocks_of_keys")
    b, n, k, q, t, d, j = op.dims("B N K Q T D J")
    x = op.param("X", int, default=X)
    op.axes(B=b, N=n, K=k, Q=q, T=t, D=d, E=d, J=j, X=x)
    query = op.input("query", "B N Q D", dtype="float32")
    key = op.input("key", "B K T D", dtype=query)
    ranks = op.input("ranks", "B N J", dtype="float32", axes="B N J")
    forced = op.input("forced", "Q J", dtype="bool", axes="Q J")
    lengths = op.input("lengths", "B", dtype="int64", axes="B")
    scores = attend.scores(query, attend.rows(key)) * 0.5
    weights = attend.softmax(scores)
    sums = weights.window_sum(step=2, last=1, counts=(2,))
    by_score = scores.window_sum(step=2, last=1, counts=(2,))
    op.output("sums", sums, like=query, layouts="B N Q J", dtype="float32")
    op.output("by_score", by_score, like=query, layouts="B N Q J", dtype="float32")
    ranked = sums * 2.0 + ranks
    op.output("of_heads", ranked.top(x), like=query, layouts="B N Q X", dtype="int32")
    of_groups = sums.sum_over_group().top(x, forced=forced, length=lengths)
    op.output("of_groups", of_groups, like=query, layouts="B K Q X", dtype="int32")
    return op


def largest(values: Any, count: int) -> Any:
    return np.argsort(-values, axis=-1, kind="stable")[..., :count]


def test_what_blocks_of_keys_hold_is_what_numpy_finds() -> None:
    rng = np.random.default_rng(3)
    query, key = (rng.standard_normal(shape).astype(np.float32) for shape in ((B, N, Q, D), (B, K, T, D)))
    ranks = rng.standard_normal((B, N, J)).astype(np.float32)
    forced = np.zeros((Q, J), bool)
    forced[1, 1] = True
    arrays = {"query": query, "key": key, "ranks": ranks, "forced": forced}
    found = run(operator().bind(**arrays, lengths=LENGTHS), "float64", cast=False)
    exact = 0.5 * np.einsum("bnqd,bntd->bnqt", query, key.repeat(N // K, 1), dtype=np.float64)
    weights = np.exp(exact) / np.exp(exact).sum(axis=-1, keepdims=True)
    sums, by_score = (
        np.pad(each, [(0, 0)] * 3 + [(0, 1)]).reshape(B, N, Q, J, 2).sum(axis=-1) for each in (weights, exact)
    )
    np.testing.assert_allclose(found[0], sums, rtol=1e-12)
    np.testing.assert_allclose(found[1], by_score, rtol=1e-12)
    assert np.array_equal(found[2], largest(2 * sums + ranks[:, :, None], X))
    of_groups = sums.reshape(B, K, N // K, Q, J).sum(axis=2)
    of_groups[:, :, 1, 1] = np.inf
    for b, length in enumerate(LENGTHS):
        chosen = largest(of_groups[b, ..., :length], X)
        assert np.array_equal(found[3][b, ..., : min(X, length)], chosen)
        assert (found[3][b, ..., length:] == -1).all()
