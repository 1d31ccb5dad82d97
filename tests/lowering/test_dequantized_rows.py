"""int8 keys and values that stand for ``(stored + offset) * scale``: integers on the cube, the rest in fp32.

Against float64, not rounded: what a kernel may differ by is the rounding of its result, of queries to fp16
and of probabilities to fp16.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attndsl.api import ops
from attndsl.lowering.errors import NotLowered
from attndsl.reference import run as reference
from attndsl.spec.operator.loader import load_file
from attndsl.spec.operator.operator import Operator
from tests.support.authored import with_schedule

from .dequantized_calls import BF16, FP16, decoding

ROUNDING = {FP16: 2.0**-11, BF16: 2.0**-8}


def exact(operator: Operator, call: dict[str, Any]) -> Any:
    return reference.run(operator.bind(**call), precision="float64", cast=False)[0].astype(float)


def close(
    call: dict[str, Any], operator: Operator = ops.incre_flash_attention, backend: str = "tile"
) -> None:
    """Within the rounding of the result and 2^-10 of the largest number of the result."""
    got, wanted = operator(**call, backend=backend), exact(operator, call)
    assert np.isfinite(wanted).all() and np.isfinite(got.astype(float)).all()
    error = np.abs(got.astype(float) - wanted) - ROUNDING[got.dtype] * np.abs(wanted)
    assert error.max() <= 2.0**-10 * np.abs(wanted).max(), error.max() / np.abs(wanted).max()


OFFSETS = {"none": None, "integers' range": (-128.0, 128.0), "small fractions": (-3.0, 3.0)}


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("dtype", [BF16, FP16])
def test_no_key_or_value_is_rounded(dtype: Any, offset: str) -> None:
    for seed in range(4):
        close(decoding(np.random.default_rng(seed), dtype, offset=OFFSETS[offset]))


def test_scales_that_are_powers_of_two_round_no_score() -> None:
    """Scores of hundreds, of which the largest differ by less than 1: each rounding of a query would show."""
    rng = np.random.default_rng(5)
    call = decoding(rng, FP16, keys=12, size=256)
    call["antiquant_scale"] = 2.0 ** rng.integers(-6, -3, call["antiquant_scale"].shape).astype(FP16)
    call["antiquant_scale"] = call["antiquant_scale"].astype(FP16)
    got, wanted = ops.incre_flash_attention(**call | {"scale_value": 1.0}, backend="tile"), None
    wanted = exact(ops.incre_flash_attention, call | {"scale_value": 1.0})
    assert np.abs(got.astype(float) - wanted).max() <= 2.0**-10 * np.abs(wanted).max()


def test_numbers_beyond_float16_are_no_infinities() -> None:
    """Keys and values up to 2.4e6 in float16, of which the results are within its range."""
    rng = np.random.default_rng(0)
    call = decoding(rng, FP16, scale=(5000.0, 9000.0), offset=(-140.0, -120.0), query=1e-3)
    call["antiquant_scale"][1] = rng.uniform(10, 30, call["antiquant_scale"][1].shape)
    assert np.abs((call["key"][0] - 130.0) * 5000).max() > 65504
    close(call)
    call["value"][0][...] = rng.integers(-128, -126, call["value"][0].shape)
    call["antiquant_scale"][1], call["antiquant_offset"][1] = 30000.0, 127.5
    close(call)
    call["antiquant_scale"][0] = rng.uniform(1e-7, 6e-7, call["antiquant_scale"][0].shape)  # as far below
    call["antiquant_offset"][0] = 0
    call["value"][0][...] = rng.integers(-128, 128, call["value"][0].shape)
    call["antiquant_scale"][1] = 0.1
    close(call | {"scale_value": 4e6})


@pytest.mark.parametrize("dtype", [BF16, FP16])
def test_offsets_that_all_but_cancel_what_is_stored(dtype: Any) -> None:
    """Keys and values of -100 and -99 with offsets of 99 or 100: their sum is not lost in the roundings."""
    rng = np.random.default_rng(1)
    call = decoding(rng, dtype, scale=(1.0, 1.5), offset=(0.0, 1.0))
    for name in ("key", "value"):
        call[name] = [rng.integers(-100, -98, call[name][0].shape).astype(np.int8)]
    call["antiquant_offset"] = rng.integers(99, 101, call["antiquant_offset"].shape).astype(dtype)
    close(call | {"scale_value": 0.2})


SCHEDULES = [
    {"ring": 2},
    {"ring": 3},
    {"ring": 3, "widen_lead": 0},
    {"ring": 5, "widen_lead": 3},
    {"slots": 1},
]


@pytest.mark.sweep(fast=6)
@pytest.mark.parametrize("choices", SCHEDULES, ids=str)
@pytest.mark.parametrize("keys", [1, 130, 700])
def test_rows_that_are_widened_ahead_are_those_of_their_tile(
    tmp_path: Path, choices: dict[str, int], keys: int
) -> None:
    """One tile, fewer tiles than the ring has slots, and more; the second batch row has half the keys."""
    operator = with_schedule(tmp_path, tile_k=64, **choices)
    call = decoding(np.random.default_rng(3), FP16, offset=(-3.0, 3.0), keys=keys)
    close(call | {"actual_seq_lengths": [keys, (keys + 1) // 2]}, operator)


def test_rows_without_keys_are_zeros_and_one_key_is_itself() -> None:
    call = decoding(np.random.default_rng(2), FP16, offset=(50.0, 60.0), keys=40)
    call |= {"actual_seq_lengths": [0, 1]}
    out = ops.incre_flash_attention(**call, backend="tile")
    assert not out[0].any()
    scale, offset = call["antiquant_scale"][1].astype(float), call["antiquant_offset"][1].astype(float)
    one = ((call["value"][0][1, :, :1] + offset) * scale).repeat(3, axis=0)
    np.testing.assert_allclose(out[1].astype(float), one, rtol=2.0**-10)


def test_queries_that_are_no_numbers_or_zero() -> None:
    call = decoding(np.random.default_rng(3), FP16, offset=(-9.0, 9.0), keys=40)
    call["query"][0, 0] = 0
    call["query"][0, 1, 0, 5] = np.nan
    call["query"][1, 2, 0, 7] = np.inf
    out = ops.incre_flash_attention(**call, backend="tile")
    expected = ops.incre_flash_attention(**call)
    np.testing.assert_array_equal(np.isnan(out), np.isnan(expected))
    np.testing.assert_allclose(out, expected, rtol=2e-3, atol=2e-3 * np.nanmax(np.abs(expected)))


def paged(call: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """The call's cache in blocks of 32 rows."""
    blocks = -(-call["key"][0].shape[2] // 32)
    table = rng.permutation(2 * blocks).reshape(2, blocks).astype(np.int32)
    shape = (2 * blocks, 2, 32, call["key"][0].shape[3])
    caches = {name: [rng.integers(-128, 128, shape).astype(np.int8)] for name in ("key", "value")}
    lengths = [call["key"][0].shape[2], 33]
    return call | caches | {"block_table": table, "block_size": 32, "actual_seq_lengths": lengths}


def test_emulator_with_every_kind_of_factor() -> None:
    rng = np.random.default_rng(4)
    call = paged(decoding(rng, BF16, offset=(-30.0, 30.0), size=48, keys=70), rng)
    close(call, backend="emulator")
    call = decoding(rng, FP16, scale=(4000.0, 6000.0), size=72, keys=70, query=1e-3, group=1)
    call["antiquant_scale"][1] = 20.0
    close(call | {"attn_mask": rng.random((2, 70)) < 0.3}, backend="emulator")


SPEC = """
from attndsl.spec import attend, Operator
op = Operator("small_dequantized", summary="Small.")
B, N, K, Q, T, D, E = op.dims("B N K Q T D E")
op.axes(B=B, N=N, K=K, Q=Q, T=T, D=D, E=E, C=2)
query = op.input("query", "B Q N D", dtype=("float16", "bfloat16"), axes="B Q N D")
key = op.input("key", "B T K D", dtype="int8", axes="B T K D")
value = op.input("value", "B T K E", dtype="int8", axes="B T K E")
near = op.input("near", "B T K D", dtype={near}, axes="B T K D")
last = op.input("last", "B T K E", dtype={near}, axes="B T K E")
scale = op.input("scale", "2 K D", dtype={numbers}, axes="C K D")
offset = op.input("offset", "2 K D", dtype={numbers}, axes="C K D")
weight = op.input("weight", "2 K E", dtype={numbers}, axes="C K E")
shift = op.input("shift", "2 K E", dtype={numbers}, axes="C K E")
def part(keys, values, which):
    s = attend.scores({query}, attend.rows(keys)) * 0.01
    s = attend.minimum(s, 3.0).where(attend.KEY <= attend.QUERY * 20 + 30)
    return attend.softmax(s) @ attend.rows(values)
def meant(tensor, scales, offsets, which):
    return attend.dequantize(tensor, scales.part(which), offsets.part(which))
own = part(meant(key, scale, offset, 0), meant(value, weight, shift, 0), 0)
op.output("out", {result}, like=query)
"""
PLAIN = {"near": '"int8"', "query": "query", "result": "own", "numbers": "query"}
BOTH = "attend.merge(own, part(meant(near, scale, offset, 1), meant(last, weight, shift, 1), 1))"
MIXED = "attend.merge(own, part(near, last, 1))"


def small(tmp_path: Path, **changes: str) -> Operator:
    file = tmp_path / "small_dequantized.py"
    file.write_text(SPEC.format(**{**PLAIN, **changes}))
    return load_file(file)


def prompt(dtype: Any, stored: Any = np.int8) -> dict[str, Any]:
    rng = np.random.default_rng(7)

    def integers(*shape: int) -> Any:
        return rng.integers(-128, 128, shape).astype(np.int8)

    call = {"query": rng.standard_normal((2, 7, 4, 40)).astype(dtype)}
    call |= {"key": integers(2, 150, 2, 40), "value": integers(2, 150, 2, 72)}
    call |= {"near": integers(2, 150, 2, 40).astype(stored), "last": integers(2, 150, 2, 72).astype(stored)}
    for names, size in ((("scale", "offset"), 40), (("weight", "shift"), 72)):
        call[names[0]] = rng.uniform(0.01, 0.9, (2, 2, size)).astype(dtype)
        call[names[1]] = rng.uniform(-40, 40, (2, 2, size)).astype(dtype)
    return call


@pytest.mark.parametrize("dtype", [BF16, FP16])
def test_many_positions_and_scores_that_are_bounded(tmp_path: Path, dtype: Any) -> None:
    """The shift of the scores is there before a bound is."""
    close(prompt(dtype), small(tmp_path))


def test_scales_and_offsets_of_channels_in_fp32(tmp_path: Path) -> None:
    """Both are loaded as they are stored: an event for each was one more than there are ids."""
    call = prompt(BF16)
    call |= {name: call[name].astype(np.float32) for name in ("scale", "offset", "weight", "shift")}
    close(call, small(tmp_path, numbers='"float32"'))


def test_merged_attentions_have_shifts_of_their_own(tmp_path: Path) -> None:
    close(prompt(BF16), small(tmp_path, result=BOTH))


def test_rows_of_numbers_beside_rows_of_integers(tmp_path: Path) -> None:
    """The cube multiplies in float16, so that float16 rows may stand beside integers and bfloat16 may not."""
    mixed = small(tmp_path, result=MIXED, near="query")
    close(prompt(FP16, FP16), mixed)
    words = r"bfloat16 rows beside rows of integers .*; let all keys and values be attend\.dequantize\("
    with pytest.raises(NotLowered, match=rf"small_dequantized\.py:\d+: {words}"):
        mixed(**prompt(BF16, BF16), backend="tile")


def test_queries_that_are_rounded_first_are_refused(tmp_path: Path) -> None:
    words = r"queries that are rounded before they meet dequantized rows .*; multiply the scores instead"
    with pytest.raises(NotLowered, match=rf"small_dequantized\.py:\d+: {words}"):
        small(tmp_path, query="(query * 0.5).cast(query)")(**prompt(FP16), backend="tile")


FACTORS = """
from attndsl.spec import attend, Operator
op = Operator("small_factors", summary="An int8 cache in blocks.")
B, N, K, D, P, R, W = op.dims("B N K D P R W")
op.axes(B=B, N=N, K=K, Q=1, T=W * R, D=D, E=D, P=P, R=R, W=W)
query = op.input("query", "B N D", dtype=("float16", "bfloat16"), axes="B N D")
key = op.input("key", "P R K D", dtype="int8", axes="P R K D")
value = op.input("value", "P R K D", dtype="int8", axes="P R K E")
key_scale = op.input("key_scale", "{keys}", dtype={dtype}, axes="{keys}")
value_scale = op.input("value_scale", "{values}", dtype={dtype}, axes="{roles}")
table = op.input("table", "B W", dtype="int32", axes="B W")
keys = attend.paged(attend.dequantize(key, key_scale), table, R)
values = attend.paged(attend.dequantize(value, value_scale), table, R)
op.output("out", attend.softmax(attend.scores(query, keys) * 0.1) @ values, like=query)
"""
FP32, LIKE_QUERY = '"float32"', "query"


def with_factors(
    tmp_path: Path, keys: str, values: str, dtype: str = FP32, roles: str = ""
) -> tuple[Operator, dict[str, Any]]:
    """A decoding over an int8 cache with scales over such axes, and a call of it."""
    file = tmp_path / "small_factors.py"
    file.write_text(FACTORS.format(keys=keys, values=values, dtype=dtype, roles=roles or values))
    rng, sizes = np.random.default_rng(9), {"P": 6, "R": 16, "K": 2, "D": 24}
    call: dict[str, Any] = {"query": rng.standard_normal((2, 6, 24)).astype(FP16)}
    for name in ("key", "value"):
        call[name] = rng.integers(-128, 128, (6, 16, 2, 24)).astype(np.int8)
    for name, axes in (("key_scale", keys), ("value_scale", values)):
        numbers = rng.uniform(0.002, 0.05, [sizes[axis] for axis in axes.split()])
        call[name] = numbers.astype(np.float32 if dtype == FP32 else FP16)
    return load_file(file), call | {"table": rng.permutation(6).reshape(2, 3).astype(np.int32)}


@pytest.mark.sweep(fast=2)
@pytest.mark.parametrize(
    ("keys", "values", "roles", "dtype"),
    [
        ("K", "K", "K", FP32),
        ("K D", "K D", "K E", FP32),
        ("D", "K", "K", FP32),
        ("K D", "D", "E", LIKE_QUERY),
    ],
)
def test_scales_of_heads_and_of_channels(
    tmp_path: Path, keys: str, values: str, roles: str, dtype: str
) -> None:
    operator, call = with_factors(tmp_path, keys, values, dtype, roles)
    close(call, operator)


def test_a_scale_of_each_head_in_the_emitted_kernel(tmp_path: Path) -> None:
    operator, call = with_factors(tmp_path, "K", "K")
    close(call, operator, "emulator")


@pytest.mark.parametrize(
    ("keys", "dtype", "said"),
    [
        (
            "P R K",
            FP32,
            r"small_factors\.py:12: attend\.dequantize by key_scale, which differs along P and R, has no "
            r'lowering rule yet; give it the axes "K" or "K D": one number a head or a channel; a scale of '
            r'each token multiplies scores by it, s \* x, x over "B K T", beside one of 1.0 over "K"',
        ),
        (
            "K",
            LIKE_QUERY,
            r"small_factors\.py:12: attend\.dequantize by key_scale of dtype float16, bfloat16, one number a "
            r'head, has no lowering rule yet; declare it with dtype="float32"',
        ),
    ],
)
def test_scales_that_no_query_absorbs_are_refused(tmp_path: Path, keys: str, dtype: str, said: str) -> None:
    """The reference computes them all the same."""
    operator, call = with_factors(tmp_path, keys, "K D", dtype, "K E")
    assert np.isfinite(operator(**call).astype(float)).all()
    with pytest.raises(NotLowered, match=said):
        operator(**call, backend="tile")


def test_an_offset_is_added_as_often_as_probabilities_sum_up_to(tmp_path: Path) -> None:
    """Probabilities times numbers sum up to another number; without an offset that does not matter."""
    text = SPEC.format(**PLAIN).replace("attend.softmax(s) @", "(attend.softmax(s) * 0.5) @")
    file = tmp_path / "small_dequantized.py"
    file.write_text(text)
    with pytest.raises(NotLowered, match="an offset under weights that are probabilities times numbers"):
        load_file(file)(**prompt(FP16), backend="tile")
    file.write_text(text.replace(", offsets.part(which))", ")"))
    close(prompt(FP16), load_file(file))
