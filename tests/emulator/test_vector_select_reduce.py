# ruff: noqa: E501  (C++ statements stay on one line)
"""Compare, Select, reductions, Brcb and the gathers against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.emulator_playground import fresh_image, get, put, run_image, vector_kernels

A, B, M, OUT, WORK = 0, 8192, 16384, 24576, 49152
COMPARE = {
    "LT": np.less,
    "GT": np.greater,
    "EQ": np.equal,
    "LE": np.less_equal,
    "GE": np.greater_equal,
    "NE": np.not_equal,
}
SELECT = {
    "select_spr": (
        f"Select(ub.at<float>({OUT}), ub.at<uint8_t>({M}), ub.at<float>({A}), ub.at<float>({B}), SELMODE::VSEL_CMPMASK_SPR, 200);",
        True,
        None,
    ),
    "select_tensor": (
        f"Select(ub.at<float>({OUT}), ub.at<uint8_t>({M}), ub.at<float>({A}), ub.at<float>({B}), SELMODE::VSEL_TENSOR_TENSOR_MODE, 200);",
        False,
        None,
    ),
    "select_scalar": (
        f"Select(ub.at<float>({OUT}), ub.at<uint8_t>({M}), ub.at<float>({A}), -7.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, 200);",
        False,
        -7.0,
    ),
    "select_strided": (
        f"Select(ub.at<float>({OUT}), ub.at<uint8_t>({M}), ub.at<float>({A}), ub.at<float>({B}), SELMODE::VSEL_TENSOR_TENSOR_MODE, (uint64_t)64, 3, BinaryRepeatParams(1, 1, 1, 8, 8, 8));",
        False,
        None,
    ),
}


def _reductions(t: str) -> dict[str, str]:
    full = 128 if t == "half" else 64
    make = {
        "WholeReduceSum": f"WholeReduceSum(ub.at<{t}>({OUT}), ub.at<{t}>({A}), {full - 3}, 5, 1, 1, 8);",
        "WholeReduceMax": f"WholeReduceMax(ub.at<{t}>({OUT}), ub.at<{t}>({A}), {full - 3}, 5, 1, 1, 8);",
        "WholeReduceMin": f"WholeReduceMin(ub.at<{t}>({OUT}), ub.at<{t}>({A}), {full}, 5, 1, 1, 8, ReduceOrder::ORDER_ONLY_VALUE);",
        "index_value": f"WholeReduceMax(ub.at<{t}>({OUT}), ub.at<{t}>({A}), {full}, 5, 1, 1, 8, ReduceOrder::ORDER_INDEX_VALUE);",
        "only_index": f"WholeReduceMin(ub.at<{t}>({OUT}), ub.at<{t}>({A}), {full}, 5, 1, 1, 8, ReduceOrder::ORDER_ONLY_INDEX);",
        "BlockReduceSum": f"BlockReduceSum(ub.at<{t}>({OUT}), ub.at<{t}>({A}), 5, {full}, 1, 1, 8);",
        "BlockReduceMax": f"BlockReduceMax(ub.at<{t}>({OUT}), ub.at<{t}>({A}), 5, {full // 2}, 1, 1, 8);",
        "BlockReduceMin": f"BlockReduceMin(ub.at<{t}>({OUT}), ub.at<{t}>({A}), 5, {full}, 2, 1, 8);",
        "PairReduceSum": f"PairReduceSum(ub.at<{t}>({OUT}), ub.at<{t}>({A}), 5, {full}, 1, 1, 8);",
        "ReduceSum": f"ReduceSum(ub.at<{t}>({OUT}), ub.at<{t}>({A}), ub.at<{t}>({WORK}), 1000);",
        "ReduceMax": f"ReduceMax(ub.at<{t}>({OUT}), ub.at<{t}>({A}), ub.at<{t}>({WORK}), 1000, true);",
        "bits_min": f"uint64_t bits[2] = {{0xF4, 0}}; ReduceMin<{t}>(ub.at<{t}>({OUT}), ub.at<{t}>({A}), ub.at<{t}>({WORK}), bits, 3, 8, false);",
        "bits_max": f"uint64_t bits[2] = {{0xF4, 0}}; ReduceMax(ub.at<{t}>({OUT}), ub.at<{t}>({A}), ub.at<{t}>({WORK}), bits, 1, 8, true);",
        "bits_sum": f"uint64_t bits[2] = {{0xF4, 0}}; ReduceSum(ub.at<{t}>({OUT}), ub.at<{t}>({A}), ub.at<{t}>({WORK}), bits, 2, 8);",
        "ReduceMin": f"ReduceMin(ub.at<{t}>({OUT}), ub.at<{t}>({A}), ub.at<{t}>({WORK}), 1000);",
    }
    return {f"{name}_{t}": body for name, body in make.items()}


@pytest.fixture(scope="module")
def kernels():
    bodies = {name: body for name, (body, _, _) in SELECT.items()}
    for m in COMPARE:
        for t, n in (("float", 192), ("half", 256)):
            bodies[f"compare_{m}_{t}"] = (
                f"Compare(ub.at<uint8_t>({OUT}), ub.at<{t}>({A}), ub.at<{t}>({B}), CMPMODE::{m}, {n});"
                f"CompareScalar(ub.at<uint8_t>({OUT + 256}), ub.at<{t}>({A}), ({t})0.5, CMPMODE::{m}, {n});"
            )
    bodies["compare_int"] = (
        f"Compare(ub.at<uint8_t>({OUT}), ub.at<int32_t>({A}), ub.at<int32_t>({B}), CMPMODE::EQ, 128);"
    )
    bodies["compare_int_less"] = (
        f"Compare(ub.at<uint8_t>({OUT}), ub.at<int32_t>({A}), ub.at<int32_t>({B}), CMPMODE::LT, 128);"
    )
    bodies["compare_tail"] = (
        f"Compare(ub.at<uint8_t>({OUT}), ub.at<float>({A}), ub.at<float>({B}), CMPMODE::LT, 100);"
    )
    bodies["compare_register"] = (
        f"Compare(ub.at<float>({A}), ub.at<float>({B}), CMPMODE::LT, (uint64_t)64, BinaryRepeatParams(1, 1, 1, 8, 8, 8));"
        f"Select<float, SELMODE::VSEL_CMPMASK_SPR>(ub.at<float>({OUT}), ub.at<float>({A}), ub.at<float>({B}), 3, BinaryRepeatParams(1, 1, 1, 8, 8, 8));"
    )
    for t in ("half", "float"):
        bodies |= _reductions(t)
    for t in ("half", "float", "bfloat16_t", "int32_t"):
        bodies[f"brcb_{t}"] = f"Brcb(ub.at<{t}>({OUT}), ub.at<{t}>({A}), 3, BrcbRepeatParams(2, 24));"
        bodies[f"gather_{t}"] = f"Gather(ub.at<{t}>({OUT}), ub.at<{t}>({A}), ub.at<uint32_t>({B}), 64, 100);"
    bodies["gatherb"] = (
        f"Gatherb(ub.at<uint16_t>({OUT}), ub.at<uint16_t>({A}), ub.at<uint32_t>({B}), 2, GatherRepeatParams(1, 8));"
    )
    for p in range(1, 8):
        bodies[f"mask_{p}"] = (
            f"uint64_t n = 0; GatherMask(ub.at<half>({OUT}), ub.at<half>({A}), (uint8_t){p}, false, 0, GatherMaskParams(1, 3, 8, 0), n);"
            f"ub.at<uint32_t>({WORK}).SetValue(0, (uint32_t)n);"
        )
    bodies["mask_bits"] = (
        f"uint64_t n = 0; GatherMask(ub.at<float>({OUT}), ub.at<float>({A}), ub.at<uint32_t>({B}), true, 150, GatherMaskParams(1, 1, 8, 1), n);"
        f"ub.at<uint32_t>({WORK}).SetValue(0, (uint32_t)n);"
    )
    return vector_kernels(bodies)


def _image(dtype=np.float32, seed: int = 5) -> np.ndarray:
    image = fresh_image(seed)
    rng = np.random.default_rng(seed)
    n = 8192 // np.dtype(dtype).itemsize
    put(image, A, np.round(rng.standard_normal(n) * 4).astype(dtype) / dtype(4))
    put(image, B, np.round(rng.standard_normal(n) * 4).astype(dtype) / dtype(4))
    return image


@pytest.mark.parametrize("t", ["float", "half"])
@pytest.mark.parametrize("mode", COMPARE)
def test_compare(kernels, mode, t):
    dtype, n = (np.float32, 192) if t == "float" else (np.float16, 256)
    image = _image(dtype)
    put(image, A, np.array([np.nan, 0.5, -0.0], dtype))
    put(image, B, np.array([1.0, np.nan, 0.0], dtype))
    out, report = run_image(kernels[f"compare_{mode}_{t}"], image)
    assert report.ok, report.findings
    a, b = get(image, A, n, dtype), get(image, B, n, dtype)
    np.testing.assert_array_equal(
        get(out, OUT, n // 8, np.uint8), np.packbits(COMPARE[mode](a, b), bitorder="little")
    )
    np.testing.assert_array_equal(
        get(out, OUT + 256, n // 8, np.uint8), np.packbits(COMPARE[mode](a, dtype(0.5)), bitorder="little")
    )


def test_compare_int32_takes_equality_only(kernels):
    image = fresh_image()
    values = np.random.default_rng(0).integers(0, 3, (2, 128), dtype=np.int32)
    put(image, A, values[0])
    put(image, B, values[1])
    out, report = run_image(kernels["compare_int"], image)
    assert report.ok, report.findings
    np.testing.assert_array_equal(
        get(out, OUT, 16, np.uint8), np.packbits(values[0] == values[1], bitorder="little")
    )
    _, report = run_image(kernels["compare_int_less"], image)
    assert [f.rule for f in report.findings] == ["compare_mode"]


def test_compare_count_must_fill_repeats(kernels):
    _, report = run_image(kernels["compare_tail"], _image())
    assert [f.rule for f in report.findings] == ["compare_count"]


@pytest.mark.parametrize("name", SELECT)
def test_select(kernels, name):
    image = _image()
    mask = np.random.default_rng(9).integers(0, 256, 64, dtype=np.uint8)
    put(image, M, mask)
    out, report = run_image(kernels[name], image)
    assert report.ok, report.findings
    _, repeated, scalar = SELECT[name]
    n = 192 if name == "select_strided" else 200
    bits = np.unpackbits(mask, bitorder="little").astype(bool)
    bits = np.tile(bits[:64], 4)[:n] if repeated else bits[:n]
    other = get(image, B, n, np.float32) if scalar is None else np.float32(scalar)
    np.testing.assert_array_equal(
        get(out, OUT, n, np.float32), np.where(bits, get(image, A, n, np.float32), other)
    )
    np.testing.assert_array_equal(out[OUT + n * 4 :], image[OUT + n * 4 :])


def test_select_by_register(kernels):
    image = _image()
    out, report = run_image(kernels["compare_register"], image)
    assert report.ok, report.findings
    a, b = get(image, A, 192, np.float32), get(image, B, 192, np.float32)
    np.testing.assert_array_equal(get(out, OUT, 192, np.float32), np.where(np.tile(a[:64] < b[:64], 3), a, b))


def _tree(values: np.ndarray) -> np.ndarray:
    while values.shape[-1] > 1:
        values = values[..., 0::2] + values[..., 1::2]
    return values[..., 0]


def _prepared(t: str):
    dtype, full = (np.float16, 128) if t == "half" else (np.float32, 64)
    image = fresh_image(7)
    put(image, A, (np.random.default_rng(7).standard_normal(2048) * 3).astype(dtype))
    return dtype, full, image, get(image, A, full * 5, dtype).reshape(5, full)


@pytest.mark.parametrize("t", ["half", "float"])
def test_whole_reduce(kernels, t):
    dtype, full, image, rows = _prepared(t)
    index = np.uint16 if t == "half" else np.uint32
    out, report = run_image(kernels[f"WholeReduceSum_{t}"], image)
    assert report.ok, report.findings
    masked = rows.copy()
    masked[:, full - 3 :] = 0
    np.testing.assert_array_equal(get(out, OUT, 5, dtype), _tree(masked))
    out, report = run_image(kernels[f"WholeReduceMax_{t}"], image)
    assert report.ok, report.findings
    np.testing.assert_array_equal(get(out, OUT, 10, dtype)[0::2], rows[:, : full - 3].max(1))
    np.testing.assert_array_equal(get(out, OUT, 10, index)[1::2], rows[:, : full - 3].argmax(1))
    out, _ = run_image(kernels[f"WholeReduceMin_{t}"], image)
    np.testing.assert_array_equal(get(out, OUT, 5, dtype), rows.min(1))
    out, _ = run_image(kernels[f"index_value_{t}"], image)
    np.testing.assert_array_equal(get(out, OUT, 10, index)[0::2], rows.argmax(1))
    np.testing.assert_array_equal(get(out, OUT, 10, dtype)[1::2], rows.max(1))
    out, _ = run_image(kernels[f"only_index_{t}"], image)
    np.testing.assert_array_equal(get(out, OUT, 5, np.uint32), rows.argmin(1))


@pytest.mark.parametrize("t", ["half", "float"])
def test_block_and_pair_reduce(kernels, t):
    dtype, full, image, rows = _prepared(t)
    blocks = rows.reshape(5, 8, full // 8)
    out, report = run_image(kernels[f"BlockReduceSum_{t}"], image)
    assert report.ok, report.findings
    np.testing.assert_array_equal(get(out, OUT, 40, dtype).reshape(5, 8), _tree(blocks))
    out, _ = run_image(kernels[f"BlockReduceMax_{t}"], image)
    expected = get(image, OUT, 40, dtype).reshape(5, 8).copy()
    expected[:, :4] = blocks.max(2)[:, :4]  # blocks masked off keep what was there
    np.testing.assert_array_equal(get(out, OUT, 40, dtype).reshape(5, 8), expected)
    out, _ = run_image(kernels[f"BlockReduceMin_{t}"], image)
    np.testing.assert_array_equal(get(out, OUT, 80, dtype).reshape(5, 2, 8)[:, 0], blocks.min(2))
    out, _ = run_image(kernels[f"PairReduceSum_{t}"], image)
    np.testing.assert_array_equal(
        get(out, OUT, full * 5 // 2, dtype).reshape(5, -1), rows[:, 0::2] + rows[:, 1::2]
    )


@pytest.mark.parametrize("t", ["half", "float"])
def test_whole_tensor_reduce(kernels, t):
    dtype, full, image, _ = _prepared(t)
    values = get(image, A, 1000, dtype)
    out, report = run_image(kernels[f"ReduceMax_{t}"], image)
    # the work tensor is left undefined, and the image goes to an output
    assert {f.rule for f in report.findings} <= {"undefined_value"}
    index = np.uint16 if t == "half" else np.uint32
    assert get(out, OUT, 1, dtype)[0] == values.max()
    assert get(out, OUT, 2, index)[1] == values.argmax()
    out, _ = run_image(kernels[f"ReduceMin_{t}"], image)
    assert get(out, OUT, 1, dtype)[0] == values.min()
    padded = np.zeros(-(-1000 // full) * full, dtype)
    padded[:1000] = values
    partial = _tree(padded.reshape(-1, full))
    second = np.zeros(full, dtype)
    second[: partial.size] = partial
    out, _ = run_image(kernels[f"ReduceSum_{t}"], image)
    assert get(out, OUT, 1, dtype)[0] == _tree(second)


@pytest.mark.parametrize("t", ["half", "float"])
def test_whole_tensor_reduce_of_lanes_by_bits(kernels, t):
    dtype, full, image, _ = _prepared(t)
    lanes = [2, 4, 5, 6, 7]
    rows = get(image, A, 3 * full, dtype).reshape(3, full)[:, lanes]
    out, _ = run_image(kernels[f"bits_min_{t}"], image)
    assert get(out, OUT, 1, dtype)[0] == rows.min()
    out, _ = run_image(kernels[f"bits_max_{t}"], image)
    assert get(out, OUT, 1, dtype)[0] == rows[0].max()
    assert get(out, OUT, 2, np.uint16 if t == "half" else np.uint32)[1] == lanes[rows[0].argmax()]
    out, _ = run_image(kernels[f"bits_sum_{t}"], image)
    exact = rows[:2].astype(np.float64).sum()
    np.testing.assert_allclose(float(get(out, OUT, 1, dtype)[0]), exact, rtol=1e-2 if t == "half" else 1e-5)


@pytest.mark.parametrize("t", ["half", "float", "bfloat16_t", "int32_t"])
def test_broadcast_and_gather(kernels, t):
    raw = np.uint32 if t in ("float", "int32_t") else np.uint16
    size = np.dtype(raw).itemsize
    image = fresh_image(3)
    out, report = run_image(kernels[f"brcb_{t}"], image)
    assert report.ok, report.findings
    source = get(image, A, 24, raw)
    expected = image.copy()
    for r in range(3):
        for b in range(8):
            put(expected, OUT + (r * 24 + b * 2) * 32, np.full(32 // size, source[r * 8 + b], raw))
    np.testing.assert_array_equal(out, expected)
    offsets = np.random.default_rng(1).integers(0, 1000, 100).astype(np.uint32) * size
    put(image, B, offsets)
    out, report = run_image(kernels[f"gather_{t}"], image)
    assert report.ok, report.findings
    np.testing.assert_array_equal(get(out, OUT, 100, raw), get(image, A + 64, 1000, raw)[offsets // size])


def test_gather_blocks(kernels):
    image = fresh_image(3)
    offsets = np.random.default_rng(1).integers(0, 200, 16).astype(np.uint32) * 32
    put(image, B, offsets)
    out, report = run_image(kernels["gatherb"], image)
    assert report.ok, report.findings
    blocks = get(image, A, 200 * 32, np.uint8).reshape(200, 32)
    np.testing.assert_array_equal(get(out, OUT, 512, np.uint8).reshape(16, 32), blocks[offsets // 32])


@pytest.mark.parametrize("pattern", range(1, 8))
def test_gather_mask_patterns(kernels, pattern):
    image = fresh_image(4)
    out, report = run_image(kernels[f"mask_{pattern}"], image)
    assert report.ok, report.findings
    values = get(image, A, 384, np.uint16)
    step, first = {1: (2, 0), 2: (2, 1), 7: (1, 0)}.get(pattern, (4, pattern - 3))
    kept = values[first::step]
    assert get(out, WORK, 1, np.uint32)[0] == kept.size
    np.testing.assert_array_equal(get(out, OUT, kept.size, np.uint16), kept)


def test_gather_mask_bits(kernels):
    image = fresh_image(4)
    bits = np.random.default_rng(2).integers(0, 256, 3 * 32, dtype=np.uint8)
    put(image, B, bits)
    out, report = run_image(kernels["mask_bits"], image)
    assert report.ok, report.findings
    # one repeat of 150 elements: the bits go on without gaps, src1RepeatStride lies between repeats
    on = np.unpackbits(bits, bitorder="little")[:150].astype(bool)
    kept = get(image, A, 150, np.float32)[on]
    assert get(out, WORK, 1, np.uint32)[0] == kept.size
    np.testing.assert_array_equal(get(out, OUT, kept.size, np.float32), kept)
