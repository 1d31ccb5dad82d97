"""self_attention with calcType PA_ENCODER against the oracle, over random legal calls."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attndsl.api import ops
from tests.support.naive_self_attention import prompt
from tests.support.self_attention_calls import close, prompts, rounded_mask
from tests.support.self_attention_masks import (
    DTYPES,
    alibi_compressed,
    filled,
    full_alibi,
    hidden_by_window,
    slopes_of,
    window_width,
)

sa = ops.self_attention


def oracle(call):
    lengths = np.asarray(call["seqLen"]).astype(int)
    known = {k: v for k, v in call.items() if k not in ("isTriuMask", "scaleType")}
    return prompt(**(known | {"seqLen": lengths}))


@settings(max_examples=120, deadline=None)
@given(prompts())
def test_random_prompts_match_the_oracle(call):
    out = sa(**call)
    expected = oracle(call)
    assert out.dtype == call["query"].dtype
    assert out.shape == (expected.shape if call["query"].ndim == 3 else (expected.shape[0], expected[0].size))
    close(out, expected, out.dtype, rounded_mask(call))


@settings(max_examples=30, deadline=None)
@given(prompts(kinds=(0, 1, 2, 3, 4, 6, 7, 8)))
def test_float64_runs_are_exact(call):
    from attndsl.reference import run as reference

    (out,) = reference.run(sa.bind(**call), precision="float64", cast=False)
    np.testing.assert_allclose(out, oracle(call).reshape(out.shape), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("form", ["merged", "tokens", "padded", "padded query too"])
@pytest.mark.parametrize("kind", [0, 1, 7, 8])
def test_latent_attention_takes_values_from_keys(form, kind):
    rng = np.random.default_rng(kind)
    lens, heads, kv_heads, d, e = [3, 9], 4, 2, 48, 32
    q = rng.standard_normal((12, heads, d)).astype(np.float16)
    k = rng.standard_normal((12, kv_heads, d)).astype(np.float16)
    call = {"seqLen": np.array(lens, np.int32), "headNum": heads, "kvHeadNum": kv_heads, "calcType": 3}
    call |= {"mlaVHeadSize": e, "maskType": kind, "qkScale": 0.2}
    if kind:
        size = 512 if kind == 8 else 9
        call |= {"mask": filled(hidden_by_window(size, 4 if kind > 1 else 99), np.float16, False)}
        call |= {"windowSize": 4} if kind > 1 else {}
    expected = prompt(q, k, **call)
    padded = np.full((2, 11, kv_heads, d), np.nan, np.float16)
    padded_q = np.full((2, 10, heads, d), np.nan, np.float16)
    padded[0, :3], padded[1, :9], padded_q[0, :3], padded_q[1, :9] = k[:3], k[3:], q[:3], q[3:]
    if form == "merged":
        out = sa(q.reshape(12, -1), k.reshape(12, -1), **call).reshape(12, heads, e)
    elif form == "tokens":
        out = sa(q, k, **call)
    elif form == "padded":
        out = sa(q, padded, **call)
    else:
        whole = sa(padded_q, padded, **call)
        assert whole.shape == (2, 10, heads * e)
        whole = whole.reshape(2, 10, heads, e)
        assert not whole[0, 3:].any() and not whole[1, 9:].any()
        out = np.concatenate([whole[0, :3], whole[1, :9]])
    close(out, expected, np.float16)


def test_bnsd_prompts():
    rng = np.random.default_rng(3)
    q = rng.standard_normal((2, 4, 11, 16)).astype(np.float16)
    k, v = (rng.standard_normal((2, 2, 11, 16)).astype(np.float16) for _ in range(2))
    call = {
        "seqLen": [11, 5],
        "headNum": 4,
        "kvHeadNum": 2,
        "calcType": "PA_ENCODER",
        "inputLayout": "TYPE_BNSD",
    }
    out = sa(q, k, v, **call)
    expected = prompt(q, k, v, seqLen=[11, 5], headNum=4, kvHeadNum=2, inputLayout=1)
    assert out.shape == q.shape and not out[1, :, 5:].any()
    close(out, expected.transpose(0, 2, 1, 3), np.float16)


@st.composite
def int8_prompts(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    heads, kv_heads = draw(st.sampled_from([(1, 1), (4, 2)]))
    lens = [draw(st.sampled_from([1, 9, 150, 300])) for _ in range(draw(st.integers(1, 2)))]
    d = draw(st.sampled_from([32, 64]))
    mla = draw(st.booleans())

    def stored(count):
        return rng.integers(-127, 128, (sum(lens), count, d)).astype(np.int8)

    def factors(low, high):
        return rng.uniform(low, high, heads).astype(np.float32)

    call = {"query": stored(heads), "key": stored(kv_heads), "seqLen": np.array(lens, np.int32)}
    call |= {"mlaVHeadSize": 32} if mla else {"value": stored(kv_heads)}
    call |= {"qkDescale": factors(1e-4, 4e-4), "qkOffset": np.zeros(1, np.int32), "qkScale": 1.3}
    call |= {"vpvDescale": factors(0.01, 0.02), "vpvOffset": np.zeros(heads, np.int32)}
    call |= {
        "headNum": heads,
        "kvHeadNum": kv_heads,
        "calcType": 3,
        "outDataType": draw(st.sampled_from([1, 27])),
    }
    call["quantType"] = draw(st.sampled_from([2, 3]))
    if call["quantType"] == 2:
        call["pScale"] = factors(1 / 127, 3 / 127)
    if draw(st.booleans()):
        size = max(lens)
        binary = draw(st.booleans())
        dtype = DTYPES["bfloat16" if binary else "float16"]
        call |= {"maskType": 1, "mask": filled(rng.random((size, size)) < 0.4, dtype, binary)}
    return call


@settings(max_examples=30, deadline=None)
@given(int8_prompts())
def test_int8_prompts_match_the_oracle(call):
    from attndsl.reference import run as reference

    known = {name: value for name, value in call.items() if name != "outDataType"}
    if call.get("mask") is not None and call["mask"].dtype != np.float16:
        known["mask"] = np.where(call["mask"] == 1, -3e38, 0)
    expected = prompt(**known)
    (exact,) = reference.run(sa.bind(**call), precision="float64", cast=False)
    step = 2.0**-8 if call["outDataType"] == 27 else 2.0**-11
    scale = np.abs(expected).max()
    assert np.abs(exact - expected).max() <= step * max(1, scale)
    out = sa(**call)
    assert out.dtype == (DTYPES["bfloat16"] if call["outDataType"] == 27 else np.float16)
    # A probability next to a half rounds either way in float32: one step of one key.
    assert np.abs(out.astype(float) - expected).max() <= (step + 1 / 127) * max(1, scale)


def test_the_clamp_comes_before_the_mask_and_after_the_scale():
    q, k = np.ones((2, 1, 4), np.float16), np.ones((2, 1, 4), np.float16)
    v = np.array([1, 3], np.float16).reshape(2, 1, 1) * np.ones((2, 1, 4), np.float16)
    mask = np.array([[0, -10000], [0, 0.6931]], np.float16)
    call = {"seqLen": [2], "headNum": 1, "calcType": 3, "maskType": "NORM", "mask": mask}
    out = sa(q, k, v, **call, qkScale=5.0, clampType="MIN_MAX", clampMin=-1.0, clampMax=1.0)
    np.testing.assert_allclose(out[:, 0, 0], [1, 1 / 3 + 3 * 2 / 3], atol=2e-3)


@pytest.mark.parametrize(
    ("dtype", "kernel", "fill", "expected"),
    [
        ("float16", 0, -10000, "softmax"),
        ("float16", 1, 1, "mean"),
        ("bfloat16", 0, 1, "mean"),
        ("float16", 0, -np.inf, "zeros"),
    ],
)
def test_rows_that_are_masked_all_over(dtype, kernel, fill, expected):
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((5, 1, 8)).astype(DTYPES[dtype]) for _ in range(3))
    call = {"seqLen": [5], "headNum": 1, "calcType": 3, "kernelType": kernel}
    mask = np.full((7, 7), fill, DTYPES[dtype])
    out = sa(q, k, v, mask=mask, maskType=1, **call)
    if expected == "softmax":
        np.testing.assert_allclose(out.astype(float), sa(q, k, v, **call).astype(float), atol=1e-2)
    elif expected == "mean":
        mean = np.broadcast_to(v.astype(float).mean(0), v.shape)
        np.testing.assert_allclose(out.astype(float), mean, atol=1e-2)
    else:
        assert not out.any()


def test_long_causal_prompts_skip_hidden_blocks(monkeypatch):
    from attndsl.reference import streaming

    rng = np.random.default_rng(1)
    q, k, v = (rng.standard_normal((2100, 1, 16)).astype(np.float16) for _ in range(3))
    tile = filled(np.triu(np.ones((128, 128)), 1) > 0, np.float16, False)
    computed = []  # scores of each block
    original = streaming.Accumulator.add
    monkeypatch.setattr(
        streaming.Accumulator,
        "add",
        lambda self, scores, *args: (computed.append(scores.size), original(self, scores, *args))[1],
    )
    call = {"seqLen": [2100], "headNum": 1, "calcType": 3}
    causal = sa(q, k, v, mask=tile, maskType=3, isTriuMask=1, **call)
    visible = sum(computed)
    computed.clear()
    dense = sa(
        q, k, v, mask=filled(np.triu(np.ones((2100, 2100)), 1) > 0, np.float16, False), maskType=1, **call
    )
    np.testing.assert_allclose(causal, dense, atol=2e-3)
    assert sum(computed) == 2100**2
    assert visible < 0.6 * 2100**2
    computed.clear()
    wide = filled(hidden_by_window(512, 64), np.float16, False)
    sa(q, k, v, mask=wide, maskType=8, windowSize=64, **call)
    assert sum(computed) < 0.15 * 2100**2


@pytest.mark.parametrize("kind", range(9))
def test_prompts_of_many_blocks_of_keys_match_the_oracle(kind):
    """Lengths around and beyond the blocks in which keys are read, with a row that is hidden all over."""
    rng = np.random.default_rng(kind)
    dtype = DTYPES["bfloat16" if kind % 2 else "float16"]
    lens, d, size = [1100, 1, 513], 16, 1100
    call = {"headNum": 2, "kvHeadNum": 1, "qkScale": 0.3, "maskType": kind, "calcType": 3, "seqLen": lens}
    call |= {"query": rng.standard_normal((sum(lens), 2, d)).astype(dtype)}
    call |= {name: rng.standard_normal((sum(lens), 1, d)).astype(dtype) for name in ("key", "value")}
    zero_one = dtype is not np.float16
    if kind == 1:
        hidden = rng.random((size, size)) < 0.9
        hidden[700] = True
        call["mask"] = filled(hidden, dtype, zero_one)
    elif kind == 2:
        call["mask"] = full_alibi(2, size, size).astype(dtype)
    elif kind == 3:
        call |= {"mask": filled(np.triu(np.ones((128, 128)), 1) > 0, dtype, zero_one), "isTriuMask": 1}
    elif kind in (4, 5, 6):
        slopes = slopes_of(2) * (1 if kind == 6 else -1)
        call |= {"mask": alibi_compressed(kind, dtype), "slopes": slopes, "isTriuMask": 1, "kernelType": 1}
    elif kind in (7, 8):
        width = 600 if kind == 7 else window_width(600, d)
        hidden = hidden_by_window(size if kind == 7 else 512, width)
        call |= {"mask": filled(hidden, dtype, zero_one), "windowSize": 600}
    out = sa(**call)
    close(out, oracle(call), out.dtype, rounded_mask(call))
