"""Calls of nsa_compress_attention, and a check of selected blocks by their values in float64."""

from __future__ import annotations

import warnings
from typing import Any

import ml_dtypes
import numpy as np

from attndsl.api import ops

nsa = ops.nsa_compress_attention
DTYPES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
WINDOWS = [
    (size, stride, select)
    for stride in (16, 32, 48, 64)
    for size in range(stride + -stride % 16, 129, 16)
    for select in range(stride, 129, stride)
    if select >= size and select % 16 == 0
]
LOWEST = float(np.finfo(np.float32).min)
_LAST = {"op": lambda m: m, "paper": lambda m: m - 1, "literal0": lambda m: 0}


def arguments(
    queries: list[int], keys: list[int], *, kv_heads: int = 1, group: int = 1,
    sizes: tuple[int, int] = (16, 16), window: tuple[int, int, int] = (32, 16, 64), count: int = 8,
    dtype: str = "float16", reading: str = "op",
    hidden: float | None = None, forced: float | None = None, more_blocks: int = 0, wider: int = 0,
    scale: float = 0.5, seed: int = 0,
) -> dict[str, Any]:  # fmt: skip
    """A call with random numbers. ``hidden``, ``forced``: shares of the masks; ``more_blocks``: beyond the
    keys of a batch row; ``wider``: by how much masks are larger than needed."""
    rng = np.random.default_rng(seed)
    size, stride, select = window
    blocks = -(-np.array(keys) // (select // stride)) + more_blocks

    def normal(*shape: int) -> Any:
        return rng.standard_normal(shape).astype(DTYPES[dtype])

    found: dict[str, Any] = {
        "query": normal(sum(queries), kv_heads * group, sizes[0]),
        "key": normal(sum(keys), kv_heads, sizes[0]),
        "value": normal(sum(keys), kv_heads, sizes[1]),
        "scale_value": scale,
        "head_num": kv_heads * group,
        "compress_block_size": size,
        "compress_stride": stride,
        "select_block_size": select,
        "select_block_count": int(min(count, blocks.min())),
        "actual_seq_qlen": np.cumsum(queries).tolist(),
        "actual_cmp_seq_kvlen": np.cumsum(keys).tolist(),
        "actual_sel_seq_kvlen": np.cumsum(blocks).tolist(),
        "index_reading": reading,
        "relaxed": bool(sizes[0] % 16 or sizes[1] % 16),
    }
    if hidden is not None:
        found["atten_mask"] = rng.random((max(queries) + wider, max(keys) + wider)) < hidden
    if forced is not None:
        chosen = rng.random((max(queries) + wider, int(blocks.max()) + wider)) < forced
        found["topk_mask"] = chosen.astype(np.uint8) * np.uint8(rng.integers(1, 255))
    return found


def random_case(rng: np.random.Generator) -> dict[str, Any]:
    """Keyword arguments of :func:`arguments`: any legal windows, sizes and masks."""
    batch, group = rng.integers(1, 4), int(rng.choice([1, 2, 4, 8, 16, 32, 64]))
    queries = rng.integers(0, 12 if group > 8 else 40, batch)
    queries[rng.integers(batch)] += 1
    size = int(rng.choice([16, 64, 128, int(rng.integers(1, 100))]))
    legal = [each for each in (16, 32, 64, 128) if each <= size]
    value_size = int(rng.choice(legal)) if size % 16 == 0 else int(rng.integers(1, size + 1))
    return {
        "queries": queries.tolist(),
        "keys": rng.integers(1, rng.choice([40, 300, 1500]), batch).tolist(),
        "kv_heads": 1 if group >= 32 else int(rng.integers(1, 4)),
        "group": group,
        "sizes": (size, value_size),
        "window": WINDOWS[rng.integers(len(WINDOWS))],
        "count": int(rng.integers(1, 33)),
        "dtype": str(rng.choice(sorted(DTYPES))),
        "reading": str(rng.choice(sorted(_LAST))),
        "hidden": [None, 0.3, 0.95, 1.0][rng.integers(4)],
        "forced": [None, 0.01, 0.2, 1.0][rng.integers(4)],
        "more_blocks": int(rng.choice([0, 0, 3, 100])),
        "wider": int(rng.choice([0, 5])),
        "scale": float(size) ** -0.5,
        "seed": int(rng.integers(1 << 30)),
    }


def block_scores(call: dict[str, Any]) -> list[Any]:
    """The importance of every block in float64, (queries, kv heads, blocks) for each batch row."""
    query, key = call["query"].astype(float), call["key"].astype(float)
    group, stride = query.shape[1] // key.shape[1], call["compress_stride"]
    per_block, per_window = call["select_block_size"] // stride, call["compress_block_size"] // stride
    weights = np.convolve(np.ones(per_block), np.ones(per_window))
    last = _LAST[call["index_reading"]](per_block)
    found = []
    names = ("actual_seq_qlen", "actual_cmp_seq_kvlen", "actual_sel_seq_kvlen")
    starts = np.array([[0, *call[name][:-1]] for name in names]).T
    for (q, k, j), (q_end, k_end, j_end) in zip(
        starts, np.array([call[name] for name in names]).T, strict=True
    ):
        scores = np.einsum("ihd,chd->hic", query[q:q_end], np.repeat(key[k:k_end], group, axis=1))
        scores *= np.float32(call["scale_value"])
        if "atten_mask" in call:
            scores = np.where(call["atten_mask"][: q_end - q, : k_end - k], LOWEST, scores)
        p = np.exp(scores - scores.max(axis=-1, keepdims=True))
        p /= p.sum(axis=-1, keepdims=True)
        p = p.reshape(key.shape[1], group, *p.shape[1:]).sum(axis=1)
        values = np.zeros((*p.shape[:2], j_end - j))
        for block in range(j_end - j):
            for term, weight in enumerate(weights):
                at = per_block * block + last - term
                if 0 <= at < k_end - k:
                    values[..., block] += weight * p[..., at]
        found.append(values.transpose(1, 0, 2))
    return found


def wrong_rows(call: dict[str, Any], indices: Any) -> list[str]:
    """Every selection that is none of the best blocks, in order, forced ones first."""
    found, start = [], 0
    for scores, end in zip(block_scores(call), call["actual_seq_qlen"], strict=True):
        for row, kv_head in np.ndindex(end - start, indices.shape[1]):
            got, values = indices[start + row, kv_head], scores[row, kv_head].copy()
            if len(set(got.tolist())) < len(got) or got.min() < 0 or got.max() >= len(values):
                found.append(f"token {start + row}, head {kv_head}: {got.tolist()}")
                continue
            if "topk_mask" in call:
                values[call["topk_mask"][row, : len(values)] != 0] = np.inf
            best = np.sort(values)[::-1][: len(got)]
            close = np.allclose(values[got], best, rtol=3e-5, atol=1e-7)
            ties = [got[values[got] == value] for value in (np.inf, 0.0)]
            if not close or any((np.diff(tie) < 0).any() for tie in ties):
                found.append(f"token {start + row}, head {kv_head}: {got.tolist()} {values[got]} {best}")
        start = end
    return found


def check(call: dict[str, Any], results: tuple[Any, ...]) -> None:
    """All results of a kernel against the reference in float64, the selection by its values."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # blocks beyond the keys
        want = nsa(**call, precision="float64")
    step = 2.0**-6 if call["query"].dtype == ml_dtypes.bfloat16 else 2.0**-9
    out, indices, top, total = results
    np.testing.assert_allclose(out.astype(float), want[0].astype(float), rtol=step, atol=step)
    np.testing.assert_allclose(top, want[2], rtol=1e-5, atol=2e-5)
    np.testing.assert_allclose(total, want[3], rtol=1e-4)
    assert not wrong_rows(call, indices)
