"""self_attention with a cache (UNDEFINED, ENCODER, DECODER) and with a paged prefix, against the oracle."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_self_attention import flash, prefixed
from self_attention_cases import (
    DTYPES,
    alibi_compressed,
    filled,
    full_alibi,
    hidden_by_window,
    slopes_of,
    window_width,
)
from test_self_attention_prompt import close, rounded_mask

from attndsl.api import ops

sa = ops.self_attention


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


def oracle(call):
    known = {k: v for k, v in call.items() if k not in ("isTriuMask", "scaleType")}
    return flash(**(known | {"seqLen": call["seqLen"].astype(int)}))


@settings(max_examples=150, deadline=None)
@given(cached())
def test_random_calls_match_the_oracle_and_update_the_cache(call):
    expected, cache_k, cache_v = oracle(call)
    out = sa(**call)
    if call["inputLayout"]:
        expected = expected.transpose(0, 2, 1, 3)
        assert out.shape == expected.shape
    else:
        assert out.shape == (*expected.shape[:-2], expected.shape[-2] * expected.shape[-1])
    assert out.dtype == call["query"].dtype
    close(out, expected, out.dtype)
    assert np.array_equal(call["cacheK"], cache_k) and np.array_equal(call["cacheV"], cache_v)


@settings(max_examples=25, deadline=None)
@given(cached())
def test_float64_runs_are_exact(call):
    from attndsl.reference import run as reference

    expected, _, _ = oracle(call)
    expected = expected.transpose(0, 2, 1, 3) if call["inputLayout"] else expected
    (out,) = reference.run(sa.bind(**call), precision="float64", cast=False)
    np.testing.assert_allclose(out, expected.reshape(out.shape), rtol=1e-6, atol=1e-7)


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


@settings(max_examples=60, deadline=None)
@given(paged())
def test_prefixes_match_the_oracle(call):
    out = sa(**call)
    known = {k: v for k, v in call.items() if k not in ("isTriuMask", "calcType")}
    assert out.shape == call["query"].shape and out.dtype == call["query"].dtype
    close(out, prefixed(**known), out.dtype, rounded_mask(call))


def decode_case(**changes):
    rng = np.random.default_rng(5)
    call = {
        "query": rng.standard_normal((2, 32)).astype(np.float16),
        "key": rng.standard_normal((2, 32)).astype(np.float16),
        "value": rng.standard_normal((2, 32)).astype(np.float16),
        "cacheK": rng.standard_normal((1, 2, 9, 32)).astype(np.float16),
        "cacheV": rng.standard_normal((1, 2, 9, 32)).astype(np.float16),
        "tokenOffset": [4, 9],
        "seqLen": [1, 1],
        "layerId": [0],
        "headNum": 2,
        "calcType": "DECODER",
    }
    return call | changes


def test_caches_that_are_not_contiguous_are_updated_too():
    plain, strided = decode_case(), decode_case()
    for name in ("cacheK", "cacheV"):
        wide = np.zeros((1, 2, 9, 64), np.float16)
        wide[..., ::2] = strided[name]
        strided[name] = wide[..., ::2]
    assert not strided["cacheK"].flags.c_contiguous
    assert np.array_equal(sa(**plain), sa(**strided))
    assert np.array_equal(plain["cacheK"], strided["cacheK"])
    assert np.array_equal(strided["cacheK"][0, 1, 8], strided["key"][1])


def test_a_bad_call_leaves_the_cache_alone():
    call = decode_case(tokenOffset=[4, 10])
    before = call["cacheK"].copy()
    with pytest.raises(ValueError, match="must be at most the rows of the cache"):
        sa(**call)
    assert np.array_equal(call["cacheK"], before)


def test_a_bypassed_cache_is_not_written_and_may_be_read_only():
    call = decode_case(key=None, value=None, kvcacheCfg="K_BYPASS_V_BYPASS")
    before = {name: call[name].copy() for name in ("cacheK", "cacheV")}
    for name in before:
        call[name].flags.writeable = False
    sa(**call)
    assert all(np.array_equal(call[name], rows) for name, rows in before.items())


def test_skipped_rows_are_zero_and_their_cache_is_kept():
    call = decode_case(batchRunStatusEnable=True, batchStatus=[0, 1])
    call |= {name: np.ascontiguousarray(call[name][0]) for name in ("cacheK", "cacheV")}
    before = call["cacheK"].copy()
    out = sa(**call)
    assert not out[0].any() and out[1].any()
    assert np.array_equal(call["cacheK"][0], before[0]) and np.array_equal(
        call["cacheK"][1, 8], call["key"][1]
    )


def test_the_fifth_token_of_a_window_of_four_overwrites_the_first():
    call = decode_case(maskType="SLIDING_WINDOW_NORM", windowSize=4, cacheType="SWA", tokenOffset=[5, 4])
    call |= {name: np.ascontiguousarray(call[name][:, :, :4]) for name in ("cacheK", "cacheV")}
    before = call["cacheK"].copy()
    sa(**call)
    assert np.array_equal(call["cacheK"][0, 0, 0], call["key"][0])
    assert np.array_equal(call["cacheK"][0, 0, 1:], before[0, 0, 1:])
    assert np.array_equal(call["cacheK"][0, 1, 3], call["key"][1])


def test_a_split_cache_is_a_list_of_one_tensor_a_batch_row():
    call = decode_case(key=None, value=None, kvcacheCfg=1)
    expected = sa(**call)
    split = {name: list(call[name][0]) for name in ("cacheK", "cacheV")}
    assert np.array_equal(sa(**(call | split)), expected)
    with_layer = {name: [row[None] for row in call[name][0]] for name in ("cacheK", "cacheV")}
    assert np.array_equal(sa(**(call | with_layer)), expected)
