"""relay_attention: the reference against an independent oracle, and identities between calls."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attndsl.api import ops
from attndsl.reference import run as reference
from tests.support.naive_relay import naive

relay = ops.relay_attention
DTYPES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}


@st.composite
def calls(draw):
    """Arguments of a legal call: groups unused or shared by many rows, empty own and shared parts."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    batch, groups = draw(st.integers(1, 6)), draw(st.integers(0, 3))
    kv_heads, group = draw(st.sampled_from([(1, 1), (1, 6), (2, 3), (8, 1), (3, 2)]))
    head, own, shared = draw(st.sampled_from([1, 7, 16])), draw(st.integers(0, 40)), draw(st.integers(0, 40))
    dtype = DTYPES[draw(st.sampled_from(sorted(DTYPES)))]
    heads = kv_heads * group

    def tensors(count, rows, merged):
        shape = (rows, kv_heads * head) if merged else (rows, kv_heads, head)
        return [rng.standard_normal(shape).astype(dtype) for _ in range(count)]

    share_len = rng.integers(0, shared + 1, groups)
    share_map = rng.integers(-1, groups, batch)
    total = np.zeros(batch, int)
    for b in range(batch):
        common = share_len[share_map[b]] if share_map[b] >= 0 else 0
        if common == 0 and own == 0:
            own = 1
        total[b] = common + rng.integers(0 if common else 1, own + 1)
    merged = draw(st.booleans()), draw(st.booleans())
    return {
        "query": rng.standard_normal((batch, heads * head)).astype(dtype),
        "key": tensors(batch, own, merged[0]),
        "value": tensors(batch, own, merged[0]),
        "keyShare": tensors(groups, shared, merged[1]),
        "valueShare": tensors(groups, shared, merged[1]),
        "kvSeqLen": total.astype(np.int32),
        "kvShareMap": share_map.astype(np.int32),
        "kvShareLen": share_len.astype(np.int32),
        "headNum": heads,
        "kvHeadNum": 0 if group == 1 and draw(st.booleans()) else kv_heads,
        "qkScale": draw(st.sampled_from([1.0, 0.3, -0.5, 0.0])),
    }


def rest(call):
    """The arguments that do not enter the computation."""
    batch = len(call["query"])
    return {"attentionMask": np.zeros(3, call["query"].dtype), "seqLen": np.ones(batch, np.int32)}


@settings(max_examples=100, deadline=None)
@given(calls())
def test_random_calls_match_the_oracle(call):
    out = relay(**call, **rest(call))
    expected = naive(**call)
    assert out.shape == call["query"].shape and out.dtype == call["query"].dtype
    step = 2.0**-11 if out.dtype == np.float16 else 2.0**-8
    assert (np.abs(out.astype(float) - expected) <= 1.5 * step * np.maximum(1, np.abs(expected))).all()


@settings(max_examples=30, deadline=None)
@given(calls())
def test_float64_run_is_exact_to_float64(call):
    (out,) = reference.run(relay.bind(**call, **rest(call)), precision="float64", cast=False)
    np.testing.assert_allclose(out, naive(**call), rtol=1e-12, atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(calls())
def test_relay_equals_attention_over_the_concatenation(call):
    """The shared part moved into each row's own tensor: nothing is left to merge."""
    flat = {**call, "key": [], "value": []}
    width = max(len(k) for k in call["key"]) + max([len(k) for k in call["keyShare"]], default=0)
    kv_heads = call["kvHeadNum"] or call["headNum"]
    head = call["query"].shape[1] // call["headNum"]
    for b, (g, total) in enumerate(zip(call["kvShareMap"], call["kvSeqLen"], strict=True)):
        shared = call["kvShareLen"][g] if g >= 0 else 0
        for own, common in (("key", "keyShare"), ("value", "valueShare")):
            parts = [call[own][b][: total - shared], *([call[common][g][:shared]] if g >= 0 else [])]
            parts = [part.reshape(len(part), kv_heads, head) for part in parts]
            rows = np.concatenate(parts)
            flat[own].append(np.pad(rows, ((0, width - len(rows)), (0, 0), (0, 0))))
    flat["kvShareMap"] = np.full_like(call["kvShareMap"], -1)
    (one,) = reference.run(relay.bind(**call, **rest(call)), cast=False)
    (two,) = reference.run(relay.bind(**flat, **rest(call)), cast=False)
    np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-5)


@settings(max_examples=30, deadline=None)
@given(calls())
def test_merged_and_unmerged_axes_agree_bit_for_bit(call):
    expected = relay(**call, **rest(call))
    kv_heads = call["kvHeadNum"] or call["headNum"]
    head = call["query"].shape[1] // call["headNum"]
    for shape in ((-1, kv_heads * head), (-1, kv_heads, head)):
        for names in (("key", "value"), ("keyShare", "valueShare")):
            other = {
                **call,
                **{name: [each.reshape(len(each), *shape[1:]) for each in call[name]] for name in names},
            }
            assert np.array_equal(relay(**other, **rest(call)), expected)


def micro(**changes):
    """The worked example of the contract: rows with both parts, without a group, without own keys."""
    rng = np.random.default_rng(0)

    def tensors(count, rows):
        return [rng.standard_normal((rows, 2, 2)).astype(np.float16) for _ in range(count)]

    call = {
        "query": rng.standard_normal((3, 8)).astype(np.float16),
        "key": tensors(3, 4),
        "value": tensors(3, 4),
        "keyShare": tensors(1, 3),
        "valueShare": tensors(1, 3),
        "attentionMask": np.zeros((1,), np.float16),
        "seqLen": [1, 1, 1],
        "kvSeqLen": [5, 4, 3],
        "kvShareMap": [0, -1, 0],
        "kvShareLen": [3],
        "headNum": 4,
        "kvHeadNum": 2,
    }
    return call | changes


def test_a_row_without_own_keys_attends_to_the_shared_part_alone():
    call = micro()
    out = relay(**call)
    alone = micro(
        key=call["keyShare"] * 3, value=call["valueShare"] * 3, kvSeqLen=[3] * 3, kvShareMap=[-1] * 3
    )
    assert np.array_equal(out[2], relay(**{**alone, "query": call["query"]})[2])
    assert out[2].any()


def test_nothing_beyond_the_lengths_is_read():
    call = micro(kvShareLen=[2], kvSeqLen=[5, 2, 2])
    expected = relay(**call)
    for name, ends in (("key", [3, 2, 0]), ("value", [3, 2, 0]), ("keyShare", [2]), ("valueShare", [2])):
        for tensor, end in zip(call[name], ends, strict=True):
            tensor[end:] = np.nan
    assert np.array_equal(relay(**call), expected)


def test_an_empty_shared_part_is_no_group_at_all():
    call = micro(kvShareLen=[0], kvSeqLen=[4, 3, 2])
    assert np.array_equal(relay(**call), relay(**{**call, "kvShareMap": [-1, -1, -1]}))


def test_no_group_at_all():
    call = micro(keyShare=[], valueShare=[], kvShareLen=[], kvShareMap=[-1] * 3, kvSeqLen=[4, 4, 1])
    assert np.array_equal(relay(**call), relay(**{**micro(), "kvShareMap": [-1] * 3, "kvSeqLen": [4, 4, 1]}))


def test_groups_that_nobody_uses_change_nothing():
    call = micro()
    junk = np.full((3, 2, 2), np.nan, np.float16)
    more = {"keyShare": [junk, *call["keyShare"]], "valueShare": [junk, *call["valueShare"]]}
    out = relay(**{**call, **more, "kvShareLen": [3, 3], "kvShareMap": [1, -1, 1]})
    assert np.array_equal(out, relay(**call))


def test_lists_may_be_tuples_stacked_arrays_or_one_tensor_repeated():
    call = micro()
    expected = relay(**call)
    names = ("key", "value", "keyShare", "valueShare")
    for kind in (tuple, np.stack):
        assert np.array_equal(relay(**{**call, **{name: kind(call[name]) for name in names}}), expected)
    same = relay(**{**call, "key": call["key"][:1] * 3, "value": call["value"][:1] * 3})
    copied = relay(**{**call, **{n: [call[n][0].copy() for _ in range(3)] for n in ("key", "value")}})
    assert np.array_equal(same, copied)


@pytest.mark.parametrize("mask", [np.zeros((0,)), np.full((3, 5), np.nan), np.ones((1, 1, 2, 2, 2, 2))])
def test_the_reserved_mask_is_not_looked_at(mask):
    expected = relay(**micro())
    assert np.array_equal(relay(**micro(attentionMask=mask.astype(np.float16))), expected)


@pytest.mark.parametrize("kind", [0, "UNDEFINED", "MASK_TYPE_UNDEFINED", np.int32(0)])
def test_spellings_of_the_enumeration_and_of_the_scale(kind):
    expected = relay(**micro(qkScale=2.0))
    assert np.array_equal(relay(**micro(qkscale=2, maskType=kind, rsv=bytes(32))), expected)
    assert np.array_equal(relay(**micro(qkScale=np.float32(2), rsv=[0] * 32)), expected)


def test_inputs_may_be_positional_in_the_order_of_the_document():
    call = micro()
    inputs = [call.pop(spec.name) for spec in relay.tensors]
    assert len(inputs) == 10
    assert np.array_equal(relay(*inputs, **call), relay(**micro()))


def test_large_scores_do_not_overflow_the_merge():
    call = micro(qkScale=3e4)
    call = {**call, "query": np.abs(call["query"]) + 1, "key": [np.abs(k) + 1 for k in call["key"]]}
    assert np.isfinite(relay(**call)).all()
    names = ("query", "key", "value", "keyShare", "valueShare", "kvSeqLen", "kvShareMap", "kvShareLen")
    expected = naive(*(call[name] for name in names), 4, 2, 3e4)
    np.testing.assert_allclose(relay(**call, precision="float64").astype(float), expected, atol=2e-3)
