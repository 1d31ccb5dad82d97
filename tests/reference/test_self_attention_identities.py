"""Identities between calls of self_attention that must give the same values, whatever the numbers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attndsl.api import ops
from attndsl.base.errors import UserError
from attndsl.spec import Operator, attend, errors
from tests.support.self_attention_masks import (
    alibi_compressed,
    distance,
    filled,
    full_alibi,
    hidden_by_window,
    slopes_of,
    window_width,
)

sa = ops.self_attention


@st.composite
def tokens(draw, sizes=(1, 5, 40, 150)):
    """Lengths, heads and packed float16 query, key and value."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    lens = [draw(st.sampled_from(sizes)) for _ in range(draw(st.integers(1, 3)))]
    heads, kv_heads = draw(st.sampled_from([(1, 1), (4, 2)]))
    query, key, value = (
        rng.standard_normal((sum(lens), count, 16)).astype(np.float16)
        for count in (heads, kv_heads, kv_heads)
    )
    params = {"headNum": heads, "kvHeadNum": kv_heads, "qkScale": 0.3}
    return rng, lens, params, query, key, value


def prompt(case, **changes):
    _, lens, params, query, key, value = case
    return sa(query, key, value, seqLen=lens, calcType="PA_ENCODER", **(params | changes))


@settings(max_examples=25, deadline=None)
@given(tokens(), st.sampled_from([1, 4, 130, 384, 400, 512]))
def test_windows_equal_masks(case, window):
    size = max(case[1])
    dense = filled(hidden_by_window(size, window), np.float16, False)
    expected = prompt(case, maskType="NORM", mask=dense)
    out = prompt(case, maskType="SLIDING_WINDOW_NORM", windowSize=window, mask=dense)
    np.testing.assert_allclose(out, expected, atol=2e-3)
    short = filled(hidden_by_window(512, window_width(window, 16)), np.float16, False)
    out = prompt(case, maskType="SLIDING_WINDOW_COMPRESS", windowSize=window, mask=short)
    np.testing.assert_allclose(out, expected, atol=2e-3)


@settings(max_examples=25, deadline=None)
@given(tokens())
def test_compressed_masks_equal_dense_ones(case):
    size, heads = max(case[1]), case[2]["headNum"]
    hidden = distance(size, size) < 0
    tile = filled(distance(128, 128) < 0, np.float16, False)
    expected = prompt(case, maskType="NORM", mask=filled(hidden, np.float16, False))
    causal = prompt(case, maskType="NORM_COMPRESS", isTriuMask=1, mask=tile)
    np.testing.assert_allclose(causal, expected, atol=2e-3)

    slopes = slopes_of(heads)
    wide = {"isTriuMask": 1, "kernelType": "HIGH_PRECISION"}
    forms = {
        "ALIBI_COMPRESS": (-slopes, -distance(size, size).astype(float)),
        "ALIBI_COMPRESS_SQRT": (-slopes, -np.sqrt(np.maximum(distance(size, size), 0))),
        "ALIBI_COMPRESS_LEFT_ALIGN": (slopes, np.broadcast_to(np.arange(float(size)), (size, size))),
    }
    for kind, (name, (given_slopes, shape)) in enumerate(forms.items(), start=4):
        mask = alibi_compressed(kind, np.float16)
        out = prompt(case, maskType=name, mask=mask, slopes=given_slopes, **wide)
        bias = np.where(hidden, -10000, slopes[:, None, None] * shape).astype(np.float16)
        # The dense bias is rounded to float16, so scores differ by up to 2^-11 of it.
        loose = 3e-3 + 2.0**-10 * np.abs(np.where(hidden, 0, bias.astype(float))).max()
        np.testing.assert_allclose(out, prompt(case, maskType="ALIBI", mask=bias), atol=loose)


@settings(max_examples=25, deadline=None)
@given(tokens())
def test_alibi_columns_equal_the_square_form(case):
    heads, size = case[2]["headNum"], max(case[1])
    wide = {"isTriuMask": 1, "kernelType": 1, "slopes": -slopes_of(heads), "maskType": "ALIBI_COMPRESS"}
    columns = full_alibi(heads, size, 128).astype(np.float16)
    square = prompt(case, mask=alibi_compressed(4, np.float16), **wide)
    np.testing.assert_allclose(prompt(case, mask=columns, **wide), square, atol=0.05)


def with_cache(case, capacity, layers=2):
    rng, lens, params, _, key, _ = case
    shape = (layers, len(lens), capacity, key.shape[1] * 16)
    caches = {name: rng.standard_normal(shape).astype(np.float16) for name in ("cacheK", "cacheV")}
    return caches | params | {"layerId": [layers - 1]}


def causal(size):
    return filled(distance(size, size) < 0, np.float16, False)


@settings(max_examples=25, deadline=None)
@given(tokens(sizes=(1, 3, 9)))
def test_appending_token_by_token_equals_the_prompt(case):
    """Decoding every token with the cache gives what a causal prompt gives at once."""
    _, lens, _, query, key, value = case
    size = max(lens)
    expected = prompt(case, maskType="NORM", mask=causal(size)).reshape(sum(lens), -1)
    whole, step = with_cache(case, size + 1), with_cache(case, size + 1)
    flat = {"query": query.reshape(len(query), -1), "key": key.reshape(len(key), -1)}
    flat["value"] = value.reshape(len(value), -1)
    out = sa(**flat, **whole, seqLen=lens, tokenOffset=lens, maskType="NORM", attentionMask=causal(size))
    assert np.array_equal(out, expected)

    starts = np.cumsum([0, *lens[:-1]])
    rows = {"batchRunStatusEnable": True, "calcType": "DECODER", "seqLen": [1] * len(lens)}
    layer = {name: np.ascontiguousarray(step[name][-1]) for name in ("cacheK", "cacheV")}
    for t in range(size):
        at = [start + min(t, length - 1) for start, length in zip(starts, lens, strict=True)]
        runs = [int(t < length) for length in lens]
        one = {name: flat[name][at] for name in flat}
        got = sa(**one, **(step | layer), **rows, batchStatus=runs, tokenOffset=[t + 1] * len(lens))
        for b, place in enumerate(at):
            if runs[b]:
                np.testing.assert_allclose(got[b], expected[place], atol=2e-3)
            else:
                assert not got[b].any()
    for name in ("cacheK", "cacheV"):
        for b, length in enumerate(lens):
            assert np.array_equal(layer[name][b, :length], whole[name][-1, b, :length])


@settings(max_examples=25, deadline=None)
@given(tokens(sizes=(1, 3, 9)), st.integers(0, 20))
def test_bypass_equals_append(case, before):
    _, lens, _, query, key, value = case
    offsets = [length + before for length in lens]
    call = with_cache(case, max(offsets)) | {"seqLen": lens, "tokenOffset": offsets}
    call["query"] = query.reshape(len(query), -1)
    new = {"key": key.reshape(len(key), -1), "value": value.reshape(len(value), -1)}
    appended = sa(**call, **new)
    assert np.array_equal(sa(**call, kvcacheCfg="K_BYPASS_V_BYPASS"), appended)


@settings(max_examples=25, deadline=None)
@given(tokens(sizes=(1,)), st.integers(1, 6), st.integers(1, 14))
def test_a_ring_equals_the_last_rows_of_a_linear_cache(case, window, steps):
    """Tokens that are decoded one by one into a ring see the same window as with a cache of all rows."""
    rng, lens, params, _, _, _ = case
    linear = with_cache(case, steps)
    ring = linear | {name: np.zeros_like(linear[name][:, :, :window]) for name in ("cacheK", "cacheV")}
    if window > steps:
        ring |= {name: linear[name].copy() for name in ("cacheK", "cacheV")}
    common = {"seqLen": lens, "calcType": "DECODER", "maskType": "SLIDING_WINDOW_NORM", "windowSize": window}
    for t in range(steps):
        new = {
            name: rng.standard_normal((len(lens), params[heads] * 16)).astype(np.float16)
            for name, heads in (("query", "headNum"), ("key", "kvHeadNum"), ("value", "kvHeadNum"))
        }
        offsets = {"tokenOffset": [t + 1] * len(lens)}
        expected = sa(**new, **linear, **offsets, **common)
        np.testing.assert_allclose(
            sa(**new, **ring, **offsets, **common, cacheType="SWA"), expected, atol=2e-3
        )


@settings(max_examples=20, deadline=None)
@given(tokens(sizes=(1, 40, 150)), st.integers(0, 2))
def test_a_paged_prefix_equals_the_end_of_a_prompt(case, blocks_before):
    rng, lens, params, query, _, _ = case
    kv_heads, block = params["kvHeadNum"], 32
    kv = [length + 128 * blocks_before for length in lens]
    columns = -(-max(kv) // block)
    order = rng.permutation(len(lens) * columns).astype(np.int32)
    pages = {
        n: rng.standard_normal((len(order), block, kv_heads, 16)).astype(np.float16) for n in ("key", "value")
    }
    table = order.reshape(len(lens), columns)
    out = sa(
        query,
        **pages,
        blockTables=table,
        seqLen=lens,
        kvSeqLen=kv,
        calcType="PREFIX_ENCODER",
        maskType="CAUSAL_MASK",
        isTriuMask=1,
        kernelType=1,
        **params,
    )
    start = 0
    for b, (length, keys) in enumerate(zip(lens, kv, strict=True)):
        rows = {n: pages[n][table[b]].reshape(-1, kv_heads, 16)[:keys] for n in pages}
        padded = np.zeros((keys, params["headNum"], 16), np.float16)
        padded[keys - length :] = query[start : start + length]
        tile = filled(distance(128, 128) < 0, np.float16, False)
        whole = sa(padded, **rows, seqLen=[keys], calcType=3, maskType=3, isTriuMask=1, mask=tile, **params)
        np.testing.assert_allclose(out[start : start + length], whole[keys - length :], atol=2e-3)
        start += length


@settings(max_examples=20, deadline=None)
@given(tokens(sizes=(1, 9, 200)), st.sampled_from([2, 3]))
def test_int8_with_unit_scales_equals_attention_over_integers(case, kind):
    """One visible key has the probability 1, which the step 1/127 represents exactly."""
    rng, lens, params, query, key, value = case
    small = [rng.integers(-9, 10, (len(x), x.shape[1], 32)).astype(np.int8) for x in (query, key, value)]
    size, heads = max(lens), params["headNum"]
    diagonal = filled(distance(size, size) != 0, np.float16, False)
    ones, zeros = np.ones(heads, np.float32), np.zeros(heads, np.int32)
    scales = {"qkDescale": ones, "qkOffset": zeros, "vpvDescale": ones, "vpvOffset": zeros}
    scales |= {"pScale": ones / np.float32(127)} if kind == 2 else {}
    common = {"seqLen": lens, "calcType": 3, "maskType": 1, "mask": diagonal, "headNum": heads}
    common |= {"kvHeadNum": params["kvHeadNum"], "qkScale": 0.01}
    out = sa(*small, **scales, **common, quantType=kind, outDataType=1)
    floats = sa(*(x.astype(np.float16) for x in small), **common)
    np.testing.assert_allclose(out, floats, atol=4e-3)
    # With scores below 0.4 each p is in [e^-0.8, 1] and off by 1/254 at most, their mean by e^0.8/254.
    common |= {"mask": np.zeros_like(diagonal), "qkScale": 0.4 / (81 * 32)}
    out = sa(*small, **scales, **common, quantType=kind, outDataType=1)
    floats = sa(*(x.astype(np.float16) for x in small), **common)
    np.testing.assert_allclose(out, floats, atol=9 * np.exp(0.8) / 254 + 5e-3)


def test_all_forms_of_a_prompt_agree():
    rng = np.random.default_rng(0)
    case = (rng, [4, 4], {"headNum": 2, "kvHeadNum": 1, "qkScale": 0.3})
    query = rng.standard_normal((8, 2, 16)).astype(np.float16)
    key, value = (rng.standard_normal((8, 1, 16)).astype(np.float16) for _ in range(2))
    expected = prompt((*case, query, key, value))
    merged = prompt((*case, *(x.reshape(8, -1) for x in (query, key, value))))
    assert np.array_equal(merged.reshape(expected.shape), expected)
    rows = [np.ascontiguousarray(x.reshape(2, 4, -1, 16).transpose(0, 2, 1, 3)) for x in (query, key, value)]
    bnsd = prompt((*case, *rows), inputLayout="BNSD")
    assert np.array_equal(bnsd.transpose(0, 2, 1, 3).reshape(expected.shape), expected)


# General properties of what this operator brought along ---------------------------------------------


def two_modes():
    op = Operator("twice")
    other = op.mode("halved", by="kind", value=1)
    for each, factor in ((op, 2.0), (other, 0.5)):
        B, N, S, T, D = each.dims("B N S T D")
        each.axes(B=B, N=N, K=N, Q=S, T=T, D=D, E=D)
        q = each.input("q", "B N S D", dtype="float32")
        k = each.input("k", "B N T D", dtype=q, axes="B K T D")
        each.keyword_only()
        each.enum("kind", "TWICE HALVED")
        v = attend.rows(each.input("v", "B N T D", dtype=q, axes="B K T E"))
        each.output("out", (attend.softmax(attend.scores(q, k)) @ v) * factor, like=q)
    op.check()
    return op


def test_modes_are_chosen_by_their_parameter():
    op = two_modes()
    q = np.ones((1, 1, 2, 3), np.float32)
    assert (op(q, q, q) == 2).all() and (op(q, q, q, kind="TWICE") == 2).all()
    assert (op(q, q, q, kind="HALVED") == 0.5).all() and (op(q, q, q, kind=np.int64(1)) == 0.5).all()
    with pytest.raises(errors.ChoiceError, match="kind"):
        op(q, q, q, kind=2)
    with pytest.raises(errors.DuplicateNameError, match="declared twice"):
        op.mode("again", by="kind", value=1)


values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 2**40),
    st.floats(),
    st.text(max_size=3),
    st.lists(st.integers(-2, 9), max_size=3),
    st.builds(
        lambda shape, dtype: np.zeros(shape, dtype),
        st.lists(st.sampled_from([0, 1, 2, 7, 9, 32, 128]), max_size=4),
        st.sampled_from([np.float16, np.float32, np.int8, np.int32, object]),
    ),
)
NAMES = sorted({spec.name for each in (sa, *sa.modes) for spec in each.parameters})
LEGAL = {
    0: {"cacheK": np.zeros((1, 2, 9, 32), np.float16), "cacheV": np.zeros((1, 2, 9, 32), np.float16)}
    | {"tokenOffset": [5, 4], "layerId": [0]},
    3: {"key": np.zeros((7, 32), np.float16), "value": np.zeros((7, 32), np.float16)},
    4: {
        "key": np.zeros((3, 128, 32), np.float16),
        "value": np.zeros((3, 128, 32), np.float16),
        "kernelType": 1,
    }
    | {"blockTables": np.zeros((2, 2), np.int32), "kvSeqLen": [3, 4], "maskType": 9, "isTriuMask": 1},
}
LEGAL[0] |= {"key": LEGAL[3]["key"], "value": LEGAL[3]["value"]}


@pytest.mark.filterwarnings("ignore::attndsl.spec.errors.IgnoredParameterWarning")
@settings(max_examples=300, deadline=None)
@given(st.sampled_from([0, 3, 4]), st.dictionaries(st.sampled_from(NAMES), values, max_size=2))
def test_whatever_is_passed_only_our_own_errors_come_out(mode, changes):
    base = {"query": np.zeros((7, 32), np.float16), "seqLen": [3, 4], "headNum": 2, "calcType": mode}
    try:
        out = sa(**(base | LEGAL[mode] | changes))
    except UserError as error:
        assert "\n" not in str(error)
    else:
        assert out.dtype == np.float16
