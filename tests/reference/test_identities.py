"""Identities between calls that must give the same values, whatever the numbers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attndsl.api import ops
from attndsl.expr import Const
from attndsl.spec import Expr, Operator, Value, attend, minimum

ifa = ops.incre_flash_attention


@st.composite
def problems(draw):
    batch, kv_heads = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    group, head, rows = (
        draw(st.sampled_from([1, 3])),
        draw(st.sampled_from([3, 16])),
        draw(st.integers(1, 80)),
    )
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    query = rng.standard_normal((batch, kv_heads * group, 1, head)).astype(np.float16)
    key, value = (rng.standard_normal((batch, kv_heads, rows, head)).astype(np.float16) for _ in range(2))
    return rng, query, key, value


def merged(tensor):
    """BNSD to BSH."""
    batch, heads, rows, head = tensor.shape
    return np.ascontiguousarray(tensor.transpose(0, 2, 1, 3)).reshape(batch, rows, heads * head)


def attend_to(query, key, value, **kwargs):
    return ifa(
        query,
        [key],
        [value],
        num_heads=query.shape[1],
        num_key_value_heads=key.shape[1],
        input_layout="BNSD",
        scale_value=0.5,
        **kwargs,
    )


@settings(max_examples=25, deadline=None)
@given(problems())
def test_layouts_agree(problem):
    _, query, key, value = problem
    out = ifa(
        merged(query),
        [merged(key)],
        [merged(value)],
        num_heads=query.shape[1],
        num_key_value_heads=key.shape[1],
        scale_value=0.5,
    )
    assert np.array_equal(out, merged(attend_to(query, key, value)))


@settings(max_examples=25, deadline=None)
@given(problems())
def test_grouped_heads_equal_repeated_heads(problem):
    _, query, key, value = problem
    group = query.shape[1] // key.shape[1]
    repeated = attend_to(query, key.repeat(group, axis=1), value.repeat(group, axis=1))
    np.testing.assert_allclose(attend_to(query, key, value), repeated, atol=2e-3)


@settings(max_examples=25, deadline=None)
@given(problems())
def test_length_equals_mask_and_cut(problem):
    rng, query, key, value = problem
    rows = key.shape[2]
    length = int(rng.integers(1, rows + 1))
    by_length = attend_to(query, key, value, actual_seq_lengths=[length])
    mask = np.broadcast_to(np.arange(rows) >= length, (query.shape[0], rows))
    np.testing.assert_allclose(by_length, attend_to(query, key, value, attn_mask=mask), atol=2e-3)
    assert np.array_equal(by_length, attend_to(query, key[:, :, :length], value[:, :, :length]))


@settings(max_examples=25, deadline=None)
@given(problems())
def test_left_padding_equals_the_shifted_cache(problem):
    rng, query, key, value = problem
    rows = key.shape[2]
    length = int(rng.integers(1, rows + 1))
    padding = int(rng.integers(0, rows - length + 1))
    out = attend_to(query, key, value, actual_seq_lengths=[length], kv_padding_size=np.array(padding))
    valid = slice(rows - padding - length, rows - padding)
    assert np.array_equal(out, attend_to(query, key[:, :, valid], value[:, :, valid]))


def test_left_padding_needs_lengths_and_a_contiguous_cache():
    rng = np.random.default_rng(0)
    query, key = (rng.standard_normal(shape).astype(np.float16) for shape in [(1, 1, 1, 4), (1, 1, 9, 4)])
    assert np.array_equal(
        attend_to(query, key, key, kv_padding_size=np.array([3])), attend_to(query, key, key)
    )


@settings(max_examples=25, deadline=None)
@given(problems(), st.booleans())
def test_paged_equals_dense(problem, four_d):
    rng, query, key, value = problem
    batch, kv_heads, rows, head = key.shape
    size = 16
    columns = -(-rows // size)
    order = rng.permutation(batch * columns)
    table = order.reshape(batch, columns).astype(np.int32)
    padded = [np.pad(each, ((0, 0), (0, 0), (0, columns * size - rows), (0, 0))) for each in (key, value)]
    caches = []
    for each in padded:
        blocks = each.reshape(batch, kv_heads, columns, size, head).transpose(0, 2, 1, 3, 4)
        cache = np.empty((batch * columns, kv_heads, size, head), np.float16)
        cache[order] = blocks.reshape(-1, kv_heads, size, head)
        caches.append(cache if four_d else merged(cache))
    out = ifa(
        query,
        [caches[0]],
        [caches[1]],
        num_heads=query.shape[1],
        num_key_value_heads=kv_heads,
        input_layout="BNSD",
        scale_value=0.5,
        block_table=table,
        block_size=size,
        actual_seq_lengths=[rows],
    )
    assert np.array_equal(out, attend_to(query, key, value, actual_seq_lengths=[rows]))


@settings(max_examples=25, deadline=None)
@given(problems())
def test_int8_with_unit_scales_equals_attention_over_integers(problem):
    rng, query, key, _ = problem
    small = rng.integers(-3, 4, key.shape).astype(np.int8)
    scale = np.ones((2, key.shape[1], 1, key.shape[3]), np.float16)
    floats = small.astype(np.float16)
    assert np.array_equal(
        attend_to(query, small, small, antiquant_scale=scale), attend_to(query, floats, floats)
    )


@settings(max_examples=25, deadline=None)
@given(problems())
def test_order_of_keys_does_not_matter(problem):
    rng, query, key, value = problem
    order = rng.permutation(key.shape[2])
    permuted = attend_to(query, key[:, :, order], value[:, :, order])
    np.testing.assert_allclose(permuted, attend_to(query, key, value), atol=2e-3)


def test_a_position_bias_of_minus_infinity_hides_like_a_mask():
    rng = np.random.default_rng(2)
    query, key = (rng.standard_normal(shape).astype(np.float16) for shape in [(1, 2, 1, 16), (1, 2, 9, 16)])
    mask = np.arange(9) % 3 == 0
    bias = np.where(mask, -np.inf, 0).astype(np.float16) * np.ones((1, 2, 1, 1), np.float16)
    hidden = attend_to(query, key, key, attn_mask=mask[None])
    np.testing.assert_allclose(attend_to(query, key, key, pse_shift=bias), hidden, atol=1e-3)
    assert not attend_to(query, key, key, pse_shift=np.full_like(bias, -np.inf)).any()


@pytest.mark.parametrize("threads", [1, 2])
def test_the_number_of_threads_does_not_change_a_bit(threads, monkeypatch):
    from attndsl.reference import streaming
    from attndsl.reference import threads as pool

    rng = np.random.default_rng(4)
    query, key = (rng.standard_normal(shape).astype(np.float16) for shape in [(5, 6, 1, 32), (5, 3, 99, 32)])
    expected = attend_to(query, key, key)
    monkeypatch.setattr(pool, "cores", lambda: threads)
    monkeypatch.setattr(streaming, "SCORES_WORTH_THREADS", 0)
    assert np.array_equal(attend_to(query, key, key), expected)


def in_parts():
    """An operator that attends to the keys below ``cut`` and to the others apart, and merges."""
    op = Operator("in_parts")
    B, N, kvN, S, T, D, E = op.dims("B N kvN S T D E")
    op.axes(B=B, N=N, K=kvN, Q=S, T=T, D=D, E=E)
    query = op.input("query", "B N S D", dtype=("float16", "float32"), axes="B N Q D")
    key = op.input("key", "B kvN T D", dtype=query, axes="B K T D")
    value = op.input("value", "B kvN T E", dtype=query, axes="B K T E")
    lengths = op.lengths("lengths", "B")
    cut = op.param("cut", int, ge=0)
    length = lengths[attend.BATCH]
    below = minimum(cut, length)

    def segment(start: Expr, count: Expr) -> Value:
        rows = [attend.window(attend.rows(each), start, length=count) for each in (key, value)]
        return attend.softmax(attend.scores(query, rows[0]) * 0.5) @ rows[1]

    op.output("out", attend.merge(segment(Const(0), below), segment(below, length - below)), like=query)
    op.check()
    return op


@settings(max_examples=40, deadline=None)
@given(problems(), st.integers(0, 90), st.sampled_from([np.float16, np.float32]))
def test_split_keys_merged_equal_the_whole(problem, cut, dtype):
    """Cuts before all keys and behind them leave one of the parts empty."""
    rng, query, key, value = problem
    lengths = rng.integers(0, key.shape[2] + 1, len(key)).tolist()
    whole = attend_to(query, key, value, actual_seq_lengths=lengths).astype(float)
    parts = in_parts()(*(x.astype(dtype) for x in (query, key, value)), lengths, cut)
    error = np.abs(parts - whole) / np.maximum(1, np.abs(whole))
    assert error.max() <= 2.0**-10
