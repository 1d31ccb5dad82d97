"""self_attention with a cache (UNDEFINED, ENCODER, DECODER) and with a paged prefix, against the oracle."""

import numpy as np
import pytest
from hypothesis import given, settings

from attndsl.api import ops
from tests.support.naive_self_attention import flash, prefixed
from tests.support.self_attention_calls import cached, close, paged, rounded_mask

sa = ops.self_attention


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
