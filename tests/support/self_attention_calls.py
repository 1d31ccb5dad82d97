"""Random legal calls of self_attention: prompts, calls with a cache, paged prefixes; one causal prompt."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.support.self_attention_masks import (
    DTYPES,
    alibi_compressed,
    filled,
    full_alibi,
    hidden_by_window,
    slopes_of,
    window_width,
)


def close(out, expected, dtype, loose=1.0):
    step = 2.0**-11 if dtype == np.float16 else 2.0**-8
    error = np.abs(out.astype(float) - expected.reshape(out.shape)) / np.maximum(
        1, np.abs(expected.reshape(out.shape))
    )
    assert error.max(initial=0) <= 1.5 * step * loose, error.max()


@st.composite
def prompts(draw, kinds=(0, 1, 2, 3, 4, 5, 6, 7, 8)):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    dtype = DTYPES[draw(st.sampled_from(sorted(DTYPES)))]
    kind = draw(st.sampled_from(kinds))
    kv_heads, group = draw(st.integers(1, 2)), draw(st.sampled_from([1, 2]))
    heads, batch = kv_heads * group, draw(st.integers(1, 3))
    d = draw(st.sampled_from([4, 16, 40]))
    e = d if kind >= 4 else draw(st.sampled_from([d, 8, 24]))
    lens = [draw(st.sampled_from([1, 2, 7, 33, 140])) for _ in range(batch)]
    keys = list(lens)
    two = draw(st.booleans())
    if two:
        keys = [draw(st.integers(1, 50)) if length == 1 else length for length in lens]
        keys[0] = max(keys[0], max(lens)) if lens[0] == 1 else keys[0]
        if max(keys) < max(lens):
            keys = list(lens)
    precise = bool(kind in (4, 5, 6)) or (kind < 7 and draw(st.booleans()))
    call = {
        "headNum": heads,
        "kvHeadNum": draw(st.sampled_from([kv_heads, 0])) if group == 1 else kv_heads,
        "qkScale": draw(st.sampled_from([1.0, 0.3, -0.2])),
        "maskType": kind,
        "kernelType": int(precise),
        "isTriuMask": int(kind == 3 or (kind > 0 and draw(st.booleans()))),
        "calcType": 3,
    }
    if kind < 7 and draw(st.booleans()):
        call |= {"clampType": 1, "clampMin": -0.7, "clampMax": 0.4}
    size, wide = max(*lens, *keys), max(keys)
    zero_one = dtype is not np.float16 or precise
    if kind == 1:
        shape = draw(st.sampled_from([(), (batch,), (batch, heads)]))
        hidden = rng.random((*shape, size + 3, wide + 2)) < draw(st.sampled_from([0.4, 1.0]))
        call["mask"] = filled(hidden, dtype, zero_one and len(shape) < 2)
    elif kind == 2:
        dense = full_alibi(heads, size, size)
        form = draw(st.sampled_from(["head", "full"]))
        call["mask"] = (
            dense if form == "head" else np.stack([dense * (1 + b) for b in range(batch)])
        ).astype(dtype)
    elif kind == 3:
        call["mask"] = filled(np.triu(np.ones((128, 128)), 1) > 0, dtype, zero_one)
    elif kind in (4, 5, 6):
        call["slopes"] = slopes_of(heads) * (1 if kind == 6 else -1)
        if kind < 6 and draw(st.booleans()):
            full = full_alibi(heads, size, max(size, 128))
            call["mask"] = full[:, :, :128].astype(dtype)
        else:
            call["mask"] = alibi_compressed(kind, dtype)
    elif kind in (7, 8):
        call["windowSize"] = window = draw(st.sampled_from([1, 3, 20, 128, 500]))
        width = window if kind == 7 else window_width(window, d)
        call["mask"] = filled(hidden_by_window(size if kind == 7 else 512, width), dtype, zero_one)
    elif draw(st.booleans()):
        call |= {"scaleType": 1, "kernelType": 1, "logN": (1 + rng.random(size + 2)).astype(np.float32)}
        e = d

    def normal(*shape):
        return rng.standard_normal(shape).astype(dtype)

    q, k, v = normal(sum(lens), heads, d), normal(sum(keys), kv_heads, d), normal(sum(keys), kv_heads, e)
    if draw(st.booleans()):
        q, k, v = (x.reshape(x.shape[0], -1) for x in (q, k, v))
    lengths = np.array([lens, keys]) if two else np.array(lens)
    call["seqLen"] = lengths.astype(draw(st.sampled_from([np.int32, np.uint32])))
    return {"query": q, "key": k, "value": v} | call


def rounded_mask(call):
    """How much a mask costs in accuracy, as a factor on the bound.

    The root in a compressed mask is rounded to its dtype; the reference takes it from indices. Behind a
    mask of -10000 fp32 keeps 2^-10 of a score: rows that are masked everywhere are the softmax of those.
    """
    if call["maskType"] == 5:
        return 6.0
    mask = call.get("mask")
    return 4.0 if mask is not None and np.asarray(mask, np.float64).min(initial=0) <= -1e4 else 1.0


@st.composite
def cached(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    dtype = DTYPES[draw(st.sampled_from(sorted(DTYPES)))]
    mode = draw(st.sampled_from([0, 1, 2]))
    kind = draw(st.sampled_from([0, 1, 2, 3, 7] if mode == 2 else [0, 1, 2, 3, 7, 8]))
    window = draw(st.sampled_from([1, 3, 16, 200])) if kind in (7, 8) else 0
    ring = bool(window) and draw(st.booleans())
    bypass = draw(st.booleans())
    bnsd = bypass and kind in (1, 2, 3) and draw(st.booleans())
    dynamic = not window and not bnsd and draw(st.booleans())
    log_n = not window and not bnsd and draw(st.booleans())
    kv_heads, group = draw(st.integers(1, 2)), draw(st.sampled_from([1, 2]))
    heads, batch = kv_heads * group, draw(st.integers(1, 3))
    d = draw(st.sampled_from([16, 32]))
    e = d if window or bnsd or log_n else draw(st.sampled_from([d, 48]))
    ql = [1 if mode == 2 else draw(st.integers(1, 30)) for _ in range(batch)]
    kl = [length + draw(st.integers(0, 40)) for length in ql]
    capacity = max(kl) + draw(st.integers(0, 3))
    if ring and (mode == 2 or not bypass):
        capacity = max(window if draw(st.booleans()) else 0, min(window, max(kl)))
    precise = not window and draw(st.booleans())

    def normal(*shape):
        return rng.standard_normal(shape).astype(dtype)

    call = {"headNum": heads, "kvHeadNum": kv_heads, "calcType": mode, "maskType": kind}
    call |= {"kernelType": int(precise), "windowSize": window, "cacheType": int(ring)}
    call |= {"qScale": draw(st.sampled_from([1.0, 0.37])), "qkScale": draw(st.sampled_from([1.0, 0.21]))}
    call |= {"isTriuMask": int(kind == 3), "kvcacheCfg": int(bypass), "inputLayout": int(bnsd)}
    if not window and draw(st.booleans()):
        call |= {"clampType": 1, "clampMin": -0.5, "clampMax": 0.6}
    padded = bnsd or draw(st.booleans())
    rows = max(ql) + draw(st.integers(0, 2))
    q = normal(batch, rows, heads, d) if padded else normal(sum(ql), heads * d)
    call["query"] = np.ascontiguousarray(q.transpose(0, 2, 1, 3)) if bnsd else q
    if not bypass:
        if draw(st.booleans()):
            call |= {"key": normal(batch, rows, kv_heads, d), "value": normal(batch, rows, kv_heads, e)}
        else:
            call |= {"key": normal(sum(ql), kv_heads * d), "value": normal(sum(ql), kv_heads * e)}
    layers = draw(st.integers(1, 3))
    for name, size in (("cacheK", d), ("cacheV", e)):
        if bnsd:
            call[name] = normal(layers, batch, kv_heads, capacity, size)
        else:
            call[name] = normal(*(() if dynamic else (layers,)), batch, capacity, kv_heads * size)
    call["layerId"] = np.array([draw(st.integers(0, layers - 1))], np.int32)
    call |= {"tokenOffset": np.array(kl, np.int32), "seqLen": np.array(ql, np.uint32)}
    if dynamic:
        call |= {"batchRunStatusEnable": True, "batchStatus": rng.integers(0, 2, batch).astype(np.int32)}
    if log_n:
        call |= {"scaleType": 1, "logN": (1 + rng.random(batch if mode == 2 else max(ql))).astype(np.float32)}
    zero_one = dtype is not np.float16 or (precise and mode != 2)
    size = max(kl) + 1
    if kind == 1:
        shape = draw(st.sampled_from([(), (batch,), (batch, heads)]))
        hidden = rng.random((*shape, size, size)) < 0.4
        call["attentionMask"] = filled(hidden, dtype, zero_one and len(shape) < 2)
        if mode == 2 and len(shape) == 1:
            call["attentionMask"] = call["attentionMask"][:, :1]
    elif kind == 2:
        call["attentionMask"] = np.stack([full_alibi(heads, size, size)] * batch).astype(dtype)
    elif kind == 3:
        call["attentionMask"] = filled(np.triu(np.ones((128, 128)), 1) > 0, dtype, zero_one)
    elif kind == 8 or (kind == 7 and mode != 2):
        width = window if kind == 7 else window_width(window, d)
        call["attentionMask"] = filled(hidden_by_window(size if kind == 7 else 512, width), dtype, zero_one)
    return call


@st.composite
def paged(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    dtype = DTYPES[draw(st.sampled_from(sorted(DTYPES)))]
    kind = draw(st.sampled_from([3, 4, 5, 9]))
    kv_heads, group = draw(st.integers(1, 2)), draw(st.sampled_from([1, 2]))
    heads, batch, d = kv_heads * group, draw(st.integers(1, 3)), draw(st.sampled_from([16, 32]))
    block = draw(st.sampled_from([16, 128]))
    ql = [draw(st.sampled_from([1, 5, 60, 140])) for _ in range(batch)]
    kl = [length + 128 * draw(st.integers(0, 2)) for length in ql]
    columns, blocks = -(-max(kl) // block) + 1, 7

    def normal(*shape):
        return rng.standard_normal(shape).astype(dtype)

    merged = draw(st.booleans())
    pages = (blocks, block, kv_heads * d) if merged else (blocks, block, kv_heads, d)
    table = rng.integers(0, blocks, (batch, columns)).astype(np.int32)
    table[np.arange(columns) * block >= np.array(kl)[:, None]] = draw(st.sampled_from([0, -1, 99]))
    query = normal(sum(ql), heads * d) if draw(st.booleans()) else normal(sum(ql), heads, d)
    call = {"query": query, "key": normal(*pages), "value": normal(*pages), "blockTables": table}
    call |= {"seqLen": np.array(ql, np.int32), "kvSeqLen": np.array(kl, np.int32), "qkScale": 0.3}
    call |= {"calcType": "PREFIX_ENCODER", "headNum": heads, "kvHeadNum": kv_heads, "maskType": kind}
    call |= {"kernelType": 1, "isTriuMask": 1}
    if kind == 3:
        call["mask"] = filled(np.triu(np.ones((128, 128)), 1) > 0, dtype, dtype is not np.float16)
    elif kind != 9:
        call |= {"mask": alibi_compressed(kind, dtype), "slopes": -slopes_of(heads)}
        if draw(st.booleans()):
            call["mask"] = full_alibi(heads, max(kl), 128).astype(dtype)
    return call


def causal(length: int, heads: int = 2, dim: int = 16) -> dict[str, Any]:
    rng = np.random.default_rng(length)
    mask = np.where(np.triu(np.ones((128, 128)), 1) > 0, -10000.0, 0.0).astype(np.float16)
    tokens = {
        n: rng.standard_normal((length, heads, dim)).astype(np.float16) for n in ("query", "key", "value")
    }
    call = {"seqLen": np.array([length], np.int32), "headNum": heads, "kvHeadNum": heads, "calcType": 3}
    return tokens | call | {"maskType": 3, "isTriuMask": 1, "mask": mask, "qkScale": 0.25}
