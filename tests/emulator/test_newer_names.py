# ruff: noqa: E501  (C++ statements stay on one line)
"""asc-devkit's spellings, static tensors, full sorts and reduction registers: each against NumPy or its older twin."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.emulator_playground import fresh_image, get, put, run_image, vector_kernels

A, B, OUT, MORE = 0, 8192, 16384, 32768
RECORD = np.dtype([("score", np.float32), ("index", np.uint32)])
_MASK = "uint64_t ones[2] = {~0ull, 0};"
PAIRS = {
    "repeat_max": (
        f"ReduceRepeat<ReduceType::MAX>(ub.at<float>({OUT}), ub.at<float>({A}), 64, 4, 1, 1, 8);",
        f"WholeReduceMax(ub.at<float>({OUT}), ub.at<float>({A}), 64, 4, 1, 1, 8);",
    ),
    "repeat_sum": (
        _MASK + f"ReduceRepeat<ReduceType::SUM>(ub.at<float>({OUT}), ub.at<float>({A}), ones, 4, 1, 1, 8);",
        f"WholeReduceSum(ub.at<float>({OUT}), ub.at<float>({A}), 64, 4, 1, 1, 8);",
    ),
    # mask and repeat change places
    "block_min": (
        f"ReduceDataBlock<ReduceType::MIN>(ub.at<float>({OUT}), ub.at<float>({A}), 64, 3, 1, 1, 8);",
        f"BlockReduceMin(ub.at<float>({OUT}), ub.at<float>({A}), 3, 64, 1, 1, 8);",
    ),
    "pair": (
        f"ReducePairElem<ReduceType::SUM>(ub.at<float>({OUT}), ub.at<float>({A}), 64, 3, 1, 1, 8);",
        f"PairReduceSum(ub.at<float>({OUT}), ub.at<float>({A}), 3, 64, 1, 1, 8);",
    ),
    "compares": (
        f"Compares(ub.at<uint8_t>({OUT}), ub.at<float>({A}), 0.5f, CMPMODE::GT, 256);",
        f"CompareScalar(ub.at<uint8_t>({OUT}), ub.at<float>({A}), 0.5f, CMPMODE::GT, 256);",
    ),
    "mask_register": (
        f"Compare(ub.at<float>({A}), ub.at<float>({B}), CMPMODE::LT, 64, BinaryRepeatParams()); GetCmpMask(ub.at<uint8_t>({OUT}));",
        f"Compare(ub.at<uint8_t>({OUT}), ub.at<float>({A}), ub.at<float>({B}), CMPMODE::LT, 64);",
    ),
}


@pytest.fixture(scope="module")
def kernels():
    bodies = {f"new_{name}": new for name, (new, _) in PAIRS.items()}
    bodies |= {f"old_{name}": old for name, (_, old) in PAIRS.items()}
    for n in (1, 3, 4, 9):
        bodies[f"sort_{n}"] = (
            f"LocalTensor<float> concat, tmp = ub.at<float>({MORE}); Concat(concat, ub.at<float>({A}), tmp, {n});"
            f"Sort<float, true>(ub.at<float>({OUT}), concat, ub.at<uint32_t>({B}), tmp, {n});"
        )
    bodies["merge_counts"] = (
        f"MrgSortSrcList<float> list(ub.at<float>({A}), ub.at<float>({B}), ub.at<float>({A}), ub.at<float>({A}));"
        "uint16_t n[4] = {20, 10, 0, 0}; uint32_t taken[4];"
        f"MrgSort<float, true>(ub.at<float>({OUT}), list, n, taken, 3, 1); for (int i = 0; i < 2; ++i) ub.at<uint32_t>({MORE}).SetValue(i, taken[i]);"
    )
    bodies["registers"] = (
        f"WholeReduceMax(ub.at<float>({OUT}), ub.at<float>({A}), 64, 4, 1, 1, 8); PipeBarrier<PIPE_ALL>(); float v, i; GetReduceMaxMinCount(v, i);"
        f"ub.at<float>({MORE}).SetValue(0, v); ub.at<float>({MORE}).SetValue(1, i);"
        f"WholeReduceSum(ub.at<float>({OUT}), ub.at<float>({A}), 64, 4, 1, 1, 8); PipeBarrier<PIPE_ALL>(); ub.at<float>({MORE}).SetValue(2, GetAccVal<float>());"
    )
    bodies["progression"] = (
        f"Arange(ub.at<int32_t>({OUT}), 7, -3, 100); ArithProgression(ub.at<float>({MORE}), 0.5f, 0.25f, 100);"
    )
    bodies["static_ok"] = (
        "InitSocState(); LocalMemAllocator<Hardware::UB> ub_allocator;"
        "LocalTensor<float> x = ub_allocator.Alloc<float, 64>(); LocalTensor<float> y = ub_allocator.Alloc<TPosition::VECOUT, float>(64);"
        f"LocalTensor<float> z(TPosition::VECCALC, {OUT}, 64); Add(z, x, y, 64);"
    )
    bodies["static_full"] = (
        "LocalMemAllocator<Hardware::UB> ub_allocator; auto x = ub_allocator.Alloc<uint8_t>(196608); (void)x; auto y = ub_allocator.Alloc<uint8_t>(1); (void)y;"
    )
    bodies["static_fits"] = (
        "LocalMemAllocator<Hardware::UB> ub_allocator; auto x = ub_allocator.Alloc<uint8_t>(196607); (void)x; auto y = ub_allocator.Alloc<uint8_t>(1); (void)y;"
    )
    bodies["saturating"] = (
        "SetSaturationFlag<SaturationMode::FLOAT>(true);"
        f"Muls(ub.at<half>({OUT}), ub.at<half>({A}), (half)2, 128); SetSaturationFlag<SaturationMode::FLOAT>(false); PipeBarrier<PIPE_V>();"
        f"Muls(ub.at<half>({MORE}), ub.at<half>({A}), (half)2, 128);"
    )
    return vector_kernels(bodies)


def _image():
    image = fresh_image()
    put(image, A, np.random.default_rng(1).standard_normal(512).astype(np.float32))
    put(image, B, np.random.default_rng(2).standard_normal(512).astype(np.float32))
    return image


@pytest.mark.parametrize("name", PAIRS)
def test_new_spelling_does_what_the_old_one_does(kernels, name):
    new, new_report = run_image(kernels[f"new_{name}"], _image())
    old, old_report = run_image(kernels[f"old_{name}"], _image())
    assert new_report.ok and old_report.ok, (new_report.findings, old_report.findings)
    size = 8 if name == "mask_register" else 512
    np.testing.assert_array_equal(new[OUT : OUT + size], old[OUT : OUT + size])
    assert not np.array_equal(new[OUT : OUT + size], _image()[OUT : OUT + size])


@pytest.mark.parametrize("repeats", [1, 3, 4, 9])
def test_full_sort(kernels, repeats):
    image, n = fresh_image(), 32 * repeats
    scores = np.random.default_rng(0).integers(-20, 20, n).astype(np.float32)
    put(image, A, scores)
    put(image, B, np.arange(n, dtype=np.uint32))
    out, report = run_image(kernels[f"sort_{repeats}"], image)
    assert report.ok, report.findings
    order = np.argsort(-scores, kind="stable")
    records = get(out, OUT, n, RECORD)
    np.testing.assert_array_equal(records["score"], scores[order])
    np.testing.assert_array_equal(records["index"], order)


def test_merge_returns_what_it_consumed(kernels):
    image = fresh_image()
    lists = [np.zeros(20, RECORD), np.zeros(10, RECORD)]
    lists[0]["score"] = np.arange(20, 0, -1)
    lists[1]["score"] = np.arange(110, 100, -1)
    put(image, A, lists[0])
    put(image, B, lists[1])
    out, report = run_image(kernels["merge_counts"], image)
    assert report.ok, report.findings
    np.testing.assert_array_equal(get(out, MORE, 2, np.uint32), [0, 10])


def test_reduction_registers(kernels):
    out, report = run_image(kernels["registers"], _image())
    assert report.ok, report.findings
    x = get(_image(), A, 256, np.float32)
    assert get(out, MORE, 1, np.float32)[0] == x.max()
    assert get(out, MORE + 4, 1, np.uint32)[0] == x.argmax()
    np.testing.assert_allclose(get(out, MORE + 8, 1, np.float32)[0], x.sum(dtype=np.float64), rtol=1e-5)


def test_arithmetic_progression(kernels):
    out, report = run_image(kernels["progression"], fresh_image())
    assert report.ok, report.findings
    np.testing.assert_array_equal(get(out, OUT, 100, np.int32), 7 - 3 * np.arange(100))
    np.testing.assert_array_equal(
        get(out, MORE, 100, np.float32), 0.5 + 0.25 * np.arange(100, dtype=np.float32)
    )


def test_static_tensors(kernels):
    out, report = run_image(kernels["static_ok"], _image())
    assert report.ok, report.findings
    x = get(_image(), A, 128, np.float32)
    np.testing.assert_array_equal(get(out, OUT, 64, np.float32), x[:64] + x[64:])


def test_allocator_knows_the_capacity(kernels):
    _, full = run_image(kernels["static_full"], fresh_image())
    assert [f.rule for f in full.findings] == ["buffer_capacity"]
    _, fits = run_image(kernels["static_fits"], fresh_image())
    assert fits.ok, fits.findings


def test_saturation_is_a_switch(kernels):
    image = fresh_image()
    values = np.full(128, 40000, np.float16)
    values[1] = np.nan
    put(image, A, values)
    out, report = run_image(kernels["saturating"], image)
    assert report.ok, report.findings
    assert get(out, OUT, 2, np.float16).tolist() == [65504.0, 0.0]
    kept = get(out, MORE, 2, np.float16)
    assert np.isinf(kept[0]) and np.isnan(kept[1])
