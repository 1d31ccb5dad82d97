# ruff: noqa: E501  (C++ statements stay on one line)
"""Cast against an independent model of rounding: exact rationals, every mode."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from attndsl.emulator import CompileFailed
from tests.support.emulator_playground import fresh_image, get, put, run_image, vector_kernels

A, OUT, N = 0, 32768, 200
MODES = ("NONE", "RINT", "FLOOR", "CEIL", "ROUND", "TRUNC", "ODD")
DIRECTED = ("RINT", "FLOOR", "CEIL", "ROUND", "TRUNC")
DTYPES = {
    "half": np.float16, "float": np.float32, "bfloat16_t": ml_dtypes.bfloat16, "int8_t": np.int8, "uint8_t": np.uint8,
    "int16_t": np.int16, "int32_t": np.int32, "int64_t": np.int64,
}  # fmt: skip
CASES = [
    *[("half", t, "NONE") for t in ("int8_t", "uint8_t")],
    *[("float", t, "NONE") for t in ("half", "bfloat16_t", "int16_t")],
    *[("half", "float", m) for m in MODES],
    *[("bfloat16_t", "float", m) for m in DIRECTED],
    *[(to, "float", m) for to in ("int32_t", "int16_t", "int64_t", "float") for m in DIRECTED],
    *[(to, "half", m) for to in ("int32_t", "int16_t") for m in DIRECTED],
    *[(to, "half", m) for to in ("int8_t", "uint8_t") for m in ("NONE", *DIRECTED)],
    *[("int32_t", "bfloat16_t", m) for m in DIRECTED],
    *[("float", "int32_t", m) for m in ("NONE", *DIRECTED)],
    *[("float", "int64_t", m) for m in DIRECTED],
    *[("half", "int16_t", m) for m in ("NONE", *DIRECTED)],
    ("int64_t", "int32_t", "NONE"),
    ("int32_t", "int64_t", "NONE"),
    ("int16_t", "int32_t", "NONE"),
]


@pytest.fixture(scope="module")
def kernels():
    bodies = {
        f"{to}_{of}_{m}": f"Cast(ub.at<{to}>({OUT}), ub.at<{of}>({A}), RoundMode::CAST_{m}, {N});"
        for to, of, m in CASES
    }
    bodies["wide"] = (
        f"Cast(ub.at<float>({OUT}), ub.at<half>({A}), RoundMode::CAST_NONE, (uint64_t)40, 3, UnaryRepeatParams(1, 1, 16, 4));"
    )
    bodies["narrow"] = (
        f"Cast(ub.at<half>({OUT}), ub.at<float>({A}), RoundMode::CAST_RINT, (uint64_t)64, 2, UnaryRepeatParams(2, 1, 8, 8));"
    )
    bodies["in_place"] = f"Cast(ub.at<half>({A}), ub.at<float>({A}), RoundMode::CAST_RINT, 300);"
    bodies["scaled"] = (
        f"SetDeqScale((half)0.5); Cast(ub.at<half>({OUT}), ub.at<int32_t>({A}), RoundMode::CAST_NONE, {N});"
    )
    bodies["bad_mode"] = f"Cast(ub.at<bfloat16_t>({OUT}), ub.at<float>({A}), RoundMode::CAST_NONE, {N});"
    return vector_kernels(bodies)


def _values(t: str) -> np.ndarray:
    rng = np.random.default_rng(3)
    dtype = np.dtype(DTYPES[t])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        v = rng.integers(info.min, info.max, N, dtype=dtype, endpoint=True)
        v[:60] = rng.integers(max(info.min, -300), min(info.max, 300), 60)
        if t == "int32_t":
            v[60:80] = (1 << 24) + np.arange(20)
        return v
    v = rng.standard_normal(N) * 10.0 ** rng.integers(-9, 7, N)
    v[:40] = np.arange(-10, 10, 0.5)
    v[40:60] = 2048 + np.arange(20) * 0.5
    v[60:70] = [65504, 65519, 65520, 70000, -65519.9, -65520, 1e30, -1e30, 6e-8, 2.9e-8]
    v[70:74] = [np.inf, -np.inf, 0.0, -0.0]
    with np.errstate(over="ignore"):
        return v.astype(np.float32).astype(dtype)


def _integral(v: float, mode: str) -> float:
    if mode == "FLOOR":
        return np.floor(v)
    if mode == "CEIL":
        return np.ceil(v)
    if mode == "TRUNC":
        return np.trunc(v)
    if mode == "ROUND":
        return np.copysign(np.floor(abs(v) + 0.5), v) if abs(v) < 2**52 else v
    return np.round(v)


def _neighbours(v: float, to) -> tuple[float, float]:
    """Nearest values of a float type on both sides of v."""
    with np.errstate(over="ignore"):
        near = np.array(v).astype(to)
    low = high = near
    if float(near) > v:
        low = (
            np.nextafter(near, to(-np.inf), dtype=to)
            if to is not ml_dtypes.bfloat16
            else np.nextafter(near, to(-np.inf))
        )
    elif float(near) < v:
        high = (
            np.nextafter(near, to(np.inf), dtype=to)
            if to is not ml_dtypes.bfloat16
            else np.nextafter(near, to(np.inf))
        )
    return float(low), float(high)


def _rounded(v: float, to, mode: str) -> float:
    """v in a float type; None of the candidates is inf unless v rounds to nearest."""
    if not np.isfinite(v):
        return v
    low, high = _neighbours(v, to)
    if low == high:
        return low
    if mode in ("FLOOR", "CEIL", "TRUNC"):
        down = mode == "FLOOR" or (mode == "TRUNC" and v > 0)
        return low if down else high
    if mode == "ODD":
        inner = low if v > 0 else high
        outer = high if v > 0 else low
        odd = np.array(inner).astype(to).view(np.uint16) & 1
        return inner if odd or not np.isfinite(outer) else outer
    with np.errstate(over="ignore"):
        nearest = float(np.array(v).astype(to))
    if mode != "ROUND" or not np.isfinite(nearest):
        return nearest
    inner, outer = (low, high) if v > 0 else (high, low)
    return outer if abs(v - inner) == abs(outer - v) else nearest


def _expected(values: np.ndarray, to: str, mode: str) -> np.ndarray:
    dtype = np.dtype(DTYPES[to])
    exact = values.astype(np.float64)
    if dtype.kind in "iu":
        if values.dtype.kind in "iu":
            info = np.iinfo(dtype)
            return np.clip(values, info.min, info.max).astype(dtype)
        info = np.iinfo(dtype)
        whole = [_integral(v, mode) if np.isfinite(v) else v for v in exact]
        return np.array(
            [info.min if v <= info.min else info.max if v >= info.max else int(v) for v in whole], dtype
        )
    if to == "float" and values.dtype == np.float32:
        return np.array([_integral(v, mode) if np.isfinite(v) else v for v in exact], np.float32)
    wide = {"float": np.float32, "half": np.float16, "bfloat16_t": ml_dtypes.bfloat16}[to]
    with np.errstate(over="ignore"):
        return np.array([_rounded(v, wide, mode) for v in exact]).astype(wide)


@pytest.mark.parametrize(("to", "of", "mode"), CASES)
def test_conversion(kernels, to, of, mode):
    values = _values(of)
    if of == "int64_t" and to == "float":
        values = values >> 11  # exact as a double, which the expectation works in
    image = fresh_image()
    put(image, A, values)
    out, report = run_image(kernels[f"{to}_{of}_{mode}"], image)
    assert report.ok, report.findings
    actual = get(out, OUT, N, DTYPES[to])
    expected = _expected(values, to, mode)
    np.testing.assert_array_equal(actual.view(f"u{actual.itemsize}"), expected.view(f"u{actual.itemsize}"))


def test_saturation_switch(kernels):
    image = fresh_image()
    put(image, A, np.array([1e6, -1e6, np.nan, np.inf] * 50, np.float32))
    kept, _ = run_image(kernels["half_float_RINT"], image)
    clipped, _ = run_image(kernels["half_float_RINT"], image, saturate=True)
    np.testing.assert_array_equal(
        get(kept, OUT, 4, np.float16), np.array([np.inf, -np.inf, np.nan, np.inf], np.float16)
    )
    np.testing.assert_array_equal(
        get(clipped, OUT, 4, np.float16), np.array([65504, -65504, 0, 65504], np.float16)
    )


def test_strided_widening(kernels):
    image = fresh_image()
    values = np.random.default_rng(0).standard_normal(192).astype(np.float16)
    put(image, A, values)
    out, report = run_image(kernels["wide"], image)
    assert report.ok, report.findings
    for r in range(3):
        np.testing.assert_array_equal(
            get(out, OUT + r * 512, 40, np.float32), values[r * 64 : r * 64 + 40].astype(np.float32)
        )
        np.testing.assert_array_equal(
            get(out, OUT + r * 512 + 160, 24, np.float32), get(image, OUT + r * 512 + 160, 24, np.float32)
        )


def test_strided_narrowing(kernels):
    image = fresh_image()
    values = np.random.default_rng(0).standard_normal(128).astype(np.float32)
    put(image, A, values)
    out, report = run_image(kernels["narrow"], image)
    assert report.ok, report.findings
    for r in range(2):
        for b in range(4):
            part = values[r * 64 + b * 16 : r * 64 + b * 16 + 16].astype(np.float16)
            np.testing.assert_array_equal(get(out, OUT + r * 256 + b * 64, 16, np.float16), part)


def test_narrowing_in_place(kernels):
    image = fresh_image()
    values = np.random.default_rng(0).standard_normal(300).astype(np.float32)
    put(image, A, values)
    out, report = run_image(kernels["in_place"], image)
    assert report.ok, report.findings
    np.testing.assert_array_equal(get(out, A, 300, np.float16), values.astype(np.float16))


def test_scaled_int32_to_half(kernels):
    image = fresh_image()
    values = np.random.default_rng(0).integers(-3000, 3000, N, dtype=np.int32)
    put(image, A, values)
    out, report = run_image(kernels["scaled"], image)
    assert report.ok, report.findings
    np.testing.assert_array_equal(get(out, OUT, N, np.float16), (values * np.float32(0.5)).astype(np.float16))


def test_mode_that_a_conversion_does_not_take_is_found(kernels):
    _, report = run_image(kernels["bad_mode"], fresh_image())
    assert [f.rule for f in report.findings] == ["cast_mode"]


@pytest.mark.parametrize(("to", "of"), [("bfloat16_t", "half"), ("int8_t", "float"), ("int32_t", "int8_t")])
def test_absent_conversions_do_not_compile(to, of):
    with pytest.raises(CompileFailed, match="no such conversion"):
        vector_kernels({"absent": f"Cast(ub.at<{to}>({OUT}), ub.at<{of}>({A}), RoundMode::CAST_RINT, {N});"})
