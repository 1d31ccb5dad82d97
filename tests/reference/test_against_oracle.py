"""The reference backend against an oracle that shares no code with it, over random legal calls."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attndsl.api import ops
from attndsl.reference import run as reference
from tests.support.naive_incre import naive

ifa = ops.incre_flash_attention
DTYPES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}


@st.composite
def calls(draw, features=("mask", "pse", "lengths", "padding", "paged", "int8", "post")):
    """Arguments of a legal call with a random set of features."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    use = {name: draw(st.booleans()) for name in features}
    layout = draw(st.sampled_from(["BSH", "BNSD"]))
    batch, kv_heads, group = (
        draw(st.integers(1, 3)),
        draw(st.integers(1, 3)),
        draw(st.sampled_from([1, 2, 5])),
    )
    head = draw(st.sampled_from([16, 48])) if use.get("pse") else draw(st.sampled_from([1, 7, 16, 40]))
    rows = draw(st.integers(0, 70))
    dtype = DTYPES[draw(st.sampled_from(sorted(DTYPES)))]
    heads = kv_heads * group
    paged, int8 = use.get("paged"), use.get("int8")
    kwargs = {
        "num_heads": heads,
        "num_key_value_heads": 0 if group == 1 else kv_heads,
        "input_layout": layout,
        "scale_value": draw(st.sampled_from([1.0, 0.3, -0.5, 0.0])),
    }

    def normal(*shape):
        return rng.standard_normal(shape).astype(dtype)

    def stored(*shape):
        return rng.integers(-128, 128, shape).astype(np.int8) if int8 else normal(*shape)

    query = normal(batch, 1, heads * head) if layout == "BSH" else normal(batch, heads, 1, head)
    if paged:
        size, columns, blocks = 32, draw(st.integers(1, 3)), 5
        rows = size * columns
        four_d = layout == "BNSD" and draw(st.booleans())
        shape = (blocks, kv_heads, size, head) if four_d else (blocks, size, kv_heads * head)
        lengths = rng.integers(0, rows + 1, batch)
        table = rng.integers(0, blocks, (batch, columns)).astype(np.int32)
        table[np.arange(columns)[None] * size >= lengths[:, None]] = -1
        kwargs |= {"block_table": table, "block_size": size, "actual_seq_lengths": lengths}
    else:
        shape = (batch, rows, kv_heads * head) if layout == "BSH" else (batch, kv_heads, rows, head)
        if use.get("lengths") or use.get("padding"):
            spread = rng.integers(0, rows + 1, batch if draw(st.booleans()) else 1)
            kwargs["actual_seq_lengths"] = draw(st.sampled_from([list, tuple, np.array]))(spread)
        if use.get("padding"):
            kwargs["kv_padding_size"] = np.array([draw(st.integers(-2, rows + 1))])
    key, value = stored(*shape), stored(*shape)
    if use.get("mask"):
        mask = rng.random((batch, rows)) < draw(st.sampled_from([0.3, 1.0]))
        form = draw(st.sampled_from([(batch, rows), (batch, 1, rows), (batch, 1, 1, rows)]))
        kwargs["attn_mask"] = mask.astype(draw(st.sampled_from([bool, np.int8, np.uint8]))).reshape(form)
    if use.get("pse"):
        kwargs["pse_shift"] = normal(draw(st.sampled_from([1, batch])), heads, 1, rows)
    if int8:
        factors = (2, kv_heads * head) if layout == "BSH" else (2, kv_heads, 1, head)
        kwargs["antiquant_scale"] = (0.02 * rng.random(factors)).astype(dtype)
        if draw(st.booleans()):
            kwargs["antiquant_offset"] = normal(*factors)
    if use.get("post"):
        count = 1 if paged or draw(st.booleans()) else heads * head
        kwargs["quant_scale2"] = rng.normal(0, 40, count).astype(np.float32)
        if draw(st.booleans()):
            kwargs["quant_offset2"] = rng.normal(0, 9, count).astype(np.float32)
    return query, key, value, kwargs


@settings(max_examples=150, deadline=None)
@given(calls())
def test_random_calls_match_the_oracle(call):
    query, key, value, kwargs = call
    out = ifa(query, [key], [value], **kwargs)
    expected = naive(query, key, value, **kwargs)
    assert out.shape == query.shape
    if "quant_scale2" in kwargs:
        assert out.dtype == np.int8
        assert np.abs(out.astype(float) - expected).max(initial=0) <= 1
    else:
        assert out.dtype == query.dtype
        step = 2.0**-11 if out.dtype == np.float16 else 2.0**-8
        error = np.abs(out.astype(float) - expected) / np.maximum(1, np.abs(expected))
        assert error.max(initial=0) <= 1.5 * step


@settings(max_examples=40, deadline=None)
@given(calls(features=("mask", "pse", "lengths", "paged", "int8")))
def test_float64_run_is_exact_to_float64(call):
    query, key, value, kwargs = call
    (out,) = reference.run(ifa.bind(query, [key], [value], **kwargs), precision="float64", cast=False)
    expected = naive(query, key, value, **kwargs)
    assert out.dtype == np.float64
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-12)


def test_one_lost_key_of_thousands_would_be_seen():
    """A probe key that carries all the weight: the comparison above would fail if it were skipped."""
    rng = np.random.default_rng(5)
    key = rng.standard_normal((1, 1, 9000, 16)).astype(np.float16)
    value = rng.standard_normal((1, 1, 9000, 16)).astype(np.float16)
    query = np.full((1, 1, 1, 16), 4, np.float16)
    for probe in (0, 4095, 4096, 8999):
        probed = key.copy()
        probed[0, 0, probe] = 8
        out = ifa(query, [probed], [value], input_layout="BNSD")
        np.testing.assert_allclose(out[0, 0, 0], value[0, 0, probe], rtol=1e-3)


def test_zero_length_rows_are_zero_and_their_quantized_form_is_the_offset():
    query, key = np.ones((2, 1, 8), np.float16), np.ones((2, 4, 8), np.float16)
    out = ifa(query, [key], [key], actual_seq_lengths=[0, 4])
    assert not out[0].any() and (out[1] == 1).all()
    scale, offset = np.array([10], np.float32), np.array([2.5], np.float32)
    out = ifa(query, [key], [key], actual_seq_lengths=[0, 4], quant_scale2=scale, quant_offset2=offset)
    assert out.dtype == np.int8
    assert (out[0] == 2).all() and (out[1] == 12).all()  # 2.5 and 12.5 round to even


def test_fully_masked_row_is_the_mean_over_its_valid_rows_only():
    rng = np.random.default_rng(1)
    query, key = rng.standard_normal((1, 1, 8)), rng.standard_normal((1, 6, 8))
    query, key = query.astype(np.float16), key.astype(np.float16)
    out = ifa(query, [key], [key], attn_mask=np.ones((1, 6), bool), actual_seq_lengths=[4])
    np.testing.assert_allclose(out[0, 0], key[0, :4].mean(axis=0, dtype=float), atol=1e-3)


def test_an_empty_cache_gives_zeros():
    query, key = np.ones((2, 1, 8), np.float16), np.ones((2, 0, 8), np.float16)
    assert not ifa(query, [key], [key]).any()


def test_nothing_beyond_the_length_is_read():
    query = np.ones((1, 1, 8), np.float16)
    key = np.full((1, 9, 8), np.nan, np.float16)
    key[:, :5] = 1
    assert np.isfinite(ifa(query, [key], [key], actual_seq_lengths=[5])).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_infinity_behave_as_in_numpy(bad):
    query = np.ones((1, 1, 8), np.float16)
    key, value = np.ones((1, 9, 8), np.float16), np.ones((1, 9, 8), np.float16)
    key[0, 3] = bad
    assert np.isnan(ifa(query, [key], [value])).all()
    value[0, 2, 1] = bad
    out = ifa(query, [np.ones_like(key)], [value])[0, 0]
    assert np.array_equal(out[1], np.float16(bad), equal_nan=True)
    assert (out[[0, 2, 3]] == 1).all()


def test_a_long_cache_fits_in_memory():
    rng = np.random.default_rng(3)
    key = rng.standard_normal((1, 1, 65536, 64), dtype=np.float32).astype(np.float16)
    query = rng.standard_normal((1, 4, 1, 64), dtype=np.float32).astype(np.float16)
    out = ifa(query, [key], [key], num_heads=4, num_key_value_heads=1, input_layout="BNSD", scale_value=0.125)
    scores = query[0, :, 0].astype(float) @ key[0, 0].T.astype(float) * 0.125
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    expected = weights / weights.sum(axis=1, keepdims=True) @ key[0, 0].astype(float)
    np.testing.assert_allclose(out[0, :, 0], expected, atol=1e-3)
