"""The tile program and the executed kernel against the oracles: every key source, int8 in and out, groups.

Calls are small; each feature meets tails, empty rows and several vector steps.
"""

import ml_dtypes
import numpy as np
import pytest

from attndsl.api import ops
from attndsl.compiler.prepare_launch import prepare
from attndsl.emulator.toolchain import find_compiler
from attndsl.execute.execute import execute
from tests.support import naive_incre, naive_relay

BACKENDS = [
    "tile",
    pytest.param("emulator", marks=pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler")),
]
HALF_ULP = {"float16": 2**-11, "bfloat16": 2**-8}


def incre_call(lengths, heads, kv_heads, size, keys, dtype=np.float16, layout="BNSD", int8=False, seed=0):
    rng = np.random.default_rng(seed)
    batch = len(lengths)
    cache = (batch, kv_heads, keys, size) if layout == "BNSD" else (batch, keys, kv_heads * size)
    query = rng.standard_normal((batch, heads, 1, size)).astype(dtype)
    if int8:
        key, value = (rng.integers(-128, 128, cache).astype(np.int8) for _ in range(2))
    else:
        key, value = (rng.standard_normal(cache).astype(dtype) for _ in range(2))
    options = {
        "num_heads": heads, "num_key_value_heads": kv_heads, "scale_value": size**-0.5,
        "input_layout": layout, "actual_seq_lengths": lengths,
    }  # fmt: skip
    if layout == "BSH":
        query = query.reshape(batch, 1, heads * size)
    return query, key, value, options, rng


def check_incre(backend, query, key, value, options, atol):
    expected = naive_incre.naive(query, key, value, **options)
    got = ops.incre_flash_attention(query, [key], [value], backend=backend, **options)
    np.testing.assert_allclose(got.astype(float), expected, rtol=2 * atol, atol=atol)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("layout", "block"), [("BNSD", 16), ("BSH", 48)])
def test_pages_in_any_order(backend, layout, block):
    lengths, keys = [130, 0, 33], 3 * 48
    query, _, _, options, rng = incre_call(lengths, 6, 2, 40, keys, layout=layout)
    columns = -(-keys // block)
    shape = (11, 2, block, 40) if layout == "BNSD" else (11, block, 80)
    shape = (3 * columns + 2, *shape[1:])
    key, value = (rng.standard_normal(shape).astype(np.float16) for _ in range(2))
    table = rng.permutation(shape[0])[: 3 * columns].reshape(3, columns).astype(np.int32)
    for row, length in enumerate(lengths):
        table[row, -(-length // block) :] = -1
    options |= {"block_table": table, "block_size": block}
    check_incre(backend, query, key, value, options, 2e-3)


@pytest.mark.parametrize("backend", BACKENDS)
def test_more_heads_than_a_task_holds(backend):
    query, key, value, options, _ = incre_call([41, 0], 130, 2, 16, 50)
    check_incre(backend, query, key, value, options, 2e-3)


@pytest.mark.sweep(fast=3)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("padding", [0, 7, 60])
def test_left_padding(backend, padding):
    """With 60, the longest row would begin in front of the cache: it has no keys."""
    query, key, value, options, rng = incre_call([41, 3, 0], 4, 2, 16, 100)
    options |= {"kv_padding_size": np.array([padding]), "attn_mask": rng.random((3, 100)) < 0.3}
    check_incre(backend, query, key, value, options, 2e-3)


@pytest.mark.parametrize("backend", BACKENDS)
def test_one_length_is_that_of_all_batch_rows(backend):
    query, key, value, options, _ = incre_call([33, 33, 33], 4, 2, 16, 100)
    expected = naive_incre.naive(query, key, value, **options)
    options["actual_seq_lengths"] = [33]
    got = ops.incre_flash_attention(query, [key], [value], backend=backend, **options)
    np.testing.assert_allclose(got.astype(float), expected, rtol=4e-3, atol=2e-3)


@pytest.mark.parametrize("backend", BACKENDS)
def test_rows_whose_scores_are_all_far_below_zero(backend):
    """Over several tiles of keys: a maximum that starts at some number instead of the lowest gives no
    weights, or even ones."""
    query, key, value, options, rng = incre_call([1300, 7], 2, 1, 16, 1300)
    query[...] = 8
    key[...] = -30 + 0.1 * rng.standard_normal(key.shape)
    options["scale_value"] = 1.0
    scores = query[:, :1].astype(float) @ key.astype(float).swapaxes(-1, -2)
    assert scores.max() < -3500 and scores[0].max() - scores[0].min() > 10
    check_incre(backend, query, key, value, options, 8e-3)


@pytest.mark.sweep(fast=3)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("dtype", "size", "layout", "offset"),
    [("float16", 48, "BNSD", False), ("bfloat16", 32, "BSH", True), ("float16", 72, "BSH", True)],
)
def test_int8_keys_and_values(backend, dtype, size, layout, offset):
    io = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    query, key, value, options, rng = incre_call([1, 67], 3, 1, size, 70, io, layout, int8=True)
    shape = (2, 1, 1, size) if layout == "BNSD" else (2, size)
    options["antiquant_scale"] = (rng.random(shape) * 0.02).astype(io)
    if offset:
        options["antiquant_offset"] = (rng.standard_normal(shape) * 9).astype(io)
    check_incre(backend, query, key, value, options, 24 * HALF_ULP[dtype])


@pytest.mark.sweep(fast=3)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("size", "channels", "offset"), [(32, False, True), (48, True, True), (64, True, False)]
)
def test_int8_results(backend, size, channels, offset):
    query, key, value, options, rng = incre_call([50, 9], 4, 2, size, 50)
    count = 4 * size if channels else 1
    options["quant_scale2"] = (rng.random(count) * 60 + 40).astype(np.float32)
    if offset:
        options["quant_offset2"] = (rng.random(count) * 9).astype(np.float32)
    expected = naive_incre.naive(query, key, value, **options)
    got = ops.incre_flash_attention(query, [key], [value], backend=backend, **options)
    assert got.dtype == np.int8
    assert np.abs(got - expected).max() <= 1  # the contract's acceptance
    assert (got == expected).mean() > 0.95


def relay_call(batch, groups, heads, kv_heads, size, own, shared, lengths, where, dtype=np.float16, seed=0):
    rng = np.random.default_rng(seed)

    def tensors(count, rows, merged):
        shape = (rows, kv_heads * size) if merged else (rows, kv_heads, size)
        return [rng.standard_normal(shape).astype(dtype) for _ in range(count)]

    query = rng.standard_normal((batch, heads * size)).astype(dtype)
    key, value = tensors(batch, own, False), tensors(batch, own, False)
    key_share, value_share = tensors(groups, shared, True), tensors(groups, shared, True)
    total = [int(rng.integers(0, own + 1)) + (lengths[g] if g >= 0 else 0) for g in where]
    total = [max(rows, 1) for rows in total]
    arrays = (query, key, value, key_share, value_share)
    return arrays, total, where, lengths, {"headNum": heads, "kvHeadNum": kv_heads, "qkScale": size**-0.5}


RELAY = [
    # several groups, one unused, one empty, rows without a group
    (relay_call(7, 4, 6, 2, 24, 40, 90, [90, 0, 33, 5], [0, 0, -1, 1, 2, 0, 2]), 2e-3),
    # more rows of a group than a task holds
    (relay_call(20, 1, 16, 2, 16, 9, 70, [70], [0] * 19 + [-1]), 2e-3),
    # no group at all
    (relay_call(2, 0, 4, 2, 16, 30, 0, [], [-1, -1]), 2e-3),
    # all rows on their own
    (relay_call(3, 1, 4, 4, 16, 30, 8, [8], [-1, -1, -1], ml_dtypes.bfloat16), 2e-2),
]


@pytest.mark.sweep(fast=4)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("call", "atol"), RELAY, ids=["groups", "many rows", "no list", "no group"])
def test_rows_of_a_group_share_a_task(backend, call, atol):
    arrays, total, where, lengths, options = call
    expected = naive_relay.naive(*arrays, total, where, lengths, **options)
    got = ops.relay_attention(*arrays, *reserved(arrays), total, where, lengths, backend=backend, **options)
    np.testing.assert_allclose(got.astype(float), expected, rtol=2 * atol, atol=atol)


def reserved(arrays):
    """The mask, whose content is ignored, and one query token a row."""
    return np.zeros(1, arrays[0].dtype), [1] * len(arrays[0])


@pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler")
def test_shared_keys_are_read_once_for_a_group():
    """Near twin: every row's own keys are read once a row."""
    arrays, _, where, lengths, options = relay_call(8, 1, 4, 1, 32, 20, 200, [200], [0] * 8)
    total = [220] * 8
    call = ops.relay_attention.bind(*arrays, *reserved(arrays), total, where, lengths, **options)
    read = execute(prepare(call)).counters["gm_read_bytes"]
    assert read["keyShare[0]"] == read["valueShare[0]"] == 200 * 32 * 2
    assert all(read[f"key[{row}]"] == 20 * 32 * 2 for row in range(8))


@pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler")
@pytest.mark.parametrize(
    ("batch", "heads", "shared", "runs"),
    [(6, 4, 2100, 1), (16, 16, 70, 1), (17, 16, 70, 2)],
    ids=["split keys", "a full task", "one row more"],
)
def test_shared_keys_are_read_once_for_128_rows(batch, heads, shared, runs):
    """Of two groups and two key/value heads, keys split over cores or not; again for each further task."""
    where = [0, 1] * batch
    call = relay_call(2 * batch, 2, heads, 2, 16, 3, shared, [shared, shared - 1], where)
    arrays, total, where, lengths, options = call
    bound = ops.relay_attention.bind(*arrays, *reserved(arrays), total, where, lengths, **options)
    launch = prepare(bound)
    assert (launch.tiling["splitsKeyShare"] > 1) == (shared > 2000)
    read = execute(launch).counters["gm_read_bytes"]
    for group, length in enumerate(lengths):
        assert read[f"keyShare[{group}]"] == read[f"valueShare[{group}]"] == runs * length * 2 * 16 * 2
