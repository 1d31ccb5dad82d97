"""Elementwise functions of the library: near the true values, in the memory that their sizes promise."""

from __future__ import annotations

import math
import os
import subprocess

import numpy as np
import pytest

from attndsl.emulator.toolchain import INCLUDE, require_compiler
from tests.support.emulator_playground import IMAGE, run_image, vector_kernels

COUNT = 300  # no multiple of a repeat
FLOAT, HALF = np.float32, np.float16
X, Y, OUT, TMP = 0, 4096, 8192, 16384
erf, erfc = np.vectorize(math.erf), np.vectorize(math.erfc)


def logistic(x, factor=1.0):
    return x / (1 + np.exp(-factor * x))


def gelu(x):
    return logistic(x + 0.044715 * x**3, 2 * math.sqrt(2 / math.pi)) * x / (x + 0.044715 * x**3)


def gelu_fitted(x):
    return x * (np.sign(x) / 2 * (-0.1444 * (np.minimum(abs(x) * 0.70710678, 1.769) - 1.769) ** 2 + 1) + 0.5)


WIDE, UNIT, POSITIVE = (-20.0, 20.0), (-0.99, 0.99), (0.01, 50.0)
ONE = {
    "Sin": (np.sin, WIDE), "Cos": (np.cos, WIDE), "Tan": (np.tan, (-1.4, 1.4)),
    "Asin": (np.arcsin, (-1.0, 1.0)),
    "Acos": (np.arccos, (-1.0, 1.0)), "Atan": (np.arctan, (-200.0, 200.0)), "Sinh": (np.sinh, (-5.0, 5.0)),
    "Cosh": (np.cosh, (-5.0, 5.0)), "Tanh": (np.tanh, WIDE), "Asinh": (np.arcsinh, WIDE),
    "Acosh": (np.arccosh, (1.5, 50.0)), "Atanh": (np.arctanh, UNIT), "Log": (np.log, POSITIVE),
    "Log2": (np.log2, POSITIVE), "Log10": (np.log10, POSITIVE), "Ceil": (np.ceil, WIDE),
    "Floor": (np.floor, WIDE),
    "Trunc": (np.trunc, WIDE), "Round": (np.rint, WIDE), "Frac": (lambda x: x - np.trunc(x), WIDE),
    "Sign": (np.sign, WIDE), "Erf": (erf, (-4.0, 4.0)), "Erfc": (erfc, (-4.0, 4.0)),
    "Sigmoid": (lambda x: 1 / (1 + np.exp(-x)), WIDE), "Gelu": (gelu, (-6.0, 6.0)),
    "FasterGelu": (lambda x: logistic(x, 1.702), (-6.0, 6.0)), "FasterGeluV2": (gelu_fitted, (-6.0, 6.0)),
}  # fmt: skip
TWO = {
    "Fmod": (np.fmod, WIDE), "GeGLU": (lambda x, y: x * gelu(y), (-5.0, 5.0)),
    "ReGlu": (lambda x, y: x * np.maximum(y, 0), WIDE),
}  # fmt: skip
OTHER = {
    "Silu": ("Silu(d, x, n)", lambda x, y: logistic(x), (-8.0, 8.0)),
    "Swish": ("Swish(d, x, n, T(2))", lambda x, y: logistic(x, 2), (-4.0, 4.0)),
    "SwiGLU": ("SwiGLU(d, x, y, 1.5f, tmp, n)", lambda x, y: x * logistic(y, 1.5), (-5.0, 5.0)),
    "Power": ("Power<T>(d, x, y, tmp, n)", np.power, (0.5, 3.0)),
    "PowerTo": ("Power<T>(d, x, T(3), tmp, n)", lambda x, y: x**3, (-3.0, 3.0)),
    "PowerOf": ("Power<T>(d, T(3), y, tmp, n)", lambda x, y: 3.0**y, (-3.0, 3.0)),
    "ExpTaylor": ("Exp<T, 8>(d, x, tmp, n)", lambda x, y: np.exp(x), (-5.0, 5.0)),
    "ClampMax": ("ClampMax(d, x, tmp, T(1), n)", lambda x, y: np.minimum(x, 1), WIDE),
    "ClampMin": ("ClampMin(d, x, tmp, T(1), n)", lambda x, y: np.maximum(x, 1), WIDE),
}  # fmt: skip
CASES = {
    **{name: (f"{name}(d, x, tmp, n)", lambda x, y, f=f: f(x), span) for name, (f, span) in ONE.items()},
    **{name: (f"{name}(d, x, y, tmp, n)", f, span) for name, (f, span) in TWO.items()},
    **OTHER,
}
# halves take one of two ways, in float or as they are; compiling all functions twice takes long
ALSO_HALF = ("Sin", "Trunc", "Sigmoid", "Gelu", "Fmod", "Silu", "PowerTo")


def body(call, dtype, room):
    return f"""using T = {"half" if dtype is HALF else "float"};
      auto x = ub.at<T>({X}), y = ub.at<T>({Y}), d = ub.at<T>({OUT});
      auto tmp = ub.at<uint8_t>({TMP}); tmp.SetSize({room}); uint32_t n = {COUNT}; (void)n;
      {call};"""


@pytest.fixture(scope="module")
def kernels():
    bodies = {}
    for name, (call, _, _) in CASES.items():
        for dtype in (FLOAT, HALF) if name in ALSO_HALF else (FLOAT,):
            bodies[f"{name}_{dtype.__name__}"] = body(call, dtype, 4096)
    bodies["rest"] = body("Sin(d, x, n)", FLOAT, 0)
    bodies["whole"] = body("x.SetSize(n); Sin(d, x)", FLOAT, 0)
    bodies["small"] = body("Sin(d, x, tmp, n)", FLOAT, 736)
    bodies["least"] = body("Sin(d, x, tmp, n)", FLOAT, 768)
    bodies["beyond"] = body("d.SetSize(n - 1); Sin(d, x, tmp, n)", FLOAT, 4096)
    bodies[
        "exclusive"
    ] = f"""auto x = ub.at<int16_t>({X}), y = ub.at<int16_t>({Y}), d = ub.at<int16_t>({OUT});
      Xor(d, x, y, ub.at<uint8_t>({TMP}), {COUNT});"""
    for name, config, dtype in (
        ("down", "false, false, true", "float"),
        ("down_half", "false, false, true", "half"),
        ("along", "true, false, true", "float"),
        ("along_half", "true, false, true", "half"),
    ):
        bodies[name] = f"""static constexpr CumSumConfig config{{{config}}};
          auto x = ub.at<{dtype}>({X}), d = ub.at<{dtype}>({OUT}), last = ub.at<{dtype}>({Y});
          auto tmp = ub.at<uint8_t>({TMP});
          CumSum<{dtype}, config>(d, last, x, tmp, {{19, 16}});"""
    return vector_kernels(bodies)


def drawn(span, dtype, seed):
    return np.random.default_rng(seed).uniform(*span, COUNT).astype(dtype)


def run(kernel, x, y):
    image = np.zeros(IMAGE, np.uint8)
    for at, values in ((X, x), (Y, y)):
        image[at : at + values.nbytes] = values.view(np.uint8)
    out, report = run_image(kernel, image)
    return out[OUT : OUT + x.nbytes].view(x.dtype), report


@pytest.mark.parametrize(
    ("name", "dtype"), [*((name, FLOAT) for name in CASES), *((name, HALF) for name in ALSO_HALF)]
)
def test_values(kernels, name, dtype):
    _, function, span = CASES[name]
    x, y = drawn(span, dtype, 1), drawn(span, dtype, 2)
    found, report = run(kernels[f"{name}_{dtype.__name__}"], x, y)
    assert report.findings == ()
    expected = function(x.astype(np.float64), y.astype(np.float64))
    step = 2e-6 if dtype is FLOAT else 3e-3
    np.testing.assert_allclose(found.astype(np.float64), expected, rtol=4 * step, atol=4 * step)


@pytest.mark.parametrize("name", ["rest", "whole", "least"])
def test_memory_may_be_the_rest_of_ub_or_little(kernels, name):
    x = drawn(WIDE, FLOAT, 3)
    found, report = run(kernels[name], x, x)
    assert report.findings == ()
    np.testing.assert_allclose(found, np.sin(x.astype(np.float64)), atol=1e-5)


@pytest.mark.parametrize(("name", "rule"), [("small", "work_tensor_size"), ("beyond", "count_range")])
def test_too_little_memory_is_told(kernels, name, rule):
    x = drawn(WIDE, FLOAT, 3)
    found, report = run(kernels[name], x, x)
    assert [finding.rule for finding in report.findings] == [rule]
    assert not found.any()


def test_xor(kernels):
    draw = np.random.default_rng(4)
    x, y = (draw.integers(-(2**15), 2**15, COUNT).astype(np.int16) for _ in range(2))
    found, report = run(kernels["exclusive"], x, y)
    assert report.findings == ()
    assert (found == x ^ y).all()


@pytest.mark.parametrize("dtype", [FLOAT, HALF])
@pytest.mark.parametrize("axis", ["down", "along"])
def test_cumulative_sums(kernels, axis, dtype):
    x = np.random.default_rng(5).integers(-4, 5, (19, 16)).astype(dtype)
    image = np.zeros(IMAGE, np.uint8)
    image[: x.nbytes] = x.reshape(-1).view(np.uint8)
    out, report = run_image(kernels[axis if dtype is FLOAT else f"{axis}_half"], image)
    assert report.findings == ()
    expected = np.cumsum(x.astype(np.float64), axis=0 if axis == "down" else 1)
    assert (out[OUT : OUT + x.nbytes].view(dtype).reshape(x.shape) == expected).all()
    assert (out[Y : Y + x[0].nbytes].view(dtype) == expected[-1]).all()


HOST = """
#include <cstdio>
#include "tiling/tiling_api.h"
namespace optiling {
BEGIN_TILING_DATA_DEF(Data)
TILING_DATA_FIELD_DEF(uint32_t, rows);
TILING_DATA_FIELD_DEF(uint8_t, flag);
TILING_DATA_FIELD_DEF_ARR(float, 2, factors);
TILING_DATA_FIELD_DEF_STRUCT(TCubeTiling, product);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(Op, Data)
}
struct Plain { uint32_t rows; uint8_t flag; float factors[2]; TCubeTiling product; };
int main() {
  uint32_t most = 0, least = 0, tensors = 0, extra = 1;
  AscendC::TensorShape shape({3, 100}), one({1});
  AscendC::GetSinMaxMinTmpSize(shape, 4, false, most, least);
  std::printf("%u %u ", most, least);
  AscendC::GetSinMaxMinTmpSize(shape, 4, true, most, least);
  std::printf("%u %u ", most, least);
  AscendC::GetErfTmpBufferFactorSize(2, tensors, extra);
  std::printf("%u %u ", tensors, extra);
  AscendC::GetPowerMaxMinTmpSize(shape, one, false, 4, false, most, least);
  std::printf("%u %u ", most, least);
  AscendC::GetCumSumMaxMinTmpSize(AscendC::TensorShape({20, 16}), 2, true, false, most, least);
  std::printf("%u %u ", most, least);
  optiling::Data data;
  data.set_rows(7);
  data.set_flag(1);
  float factors[2] = {1, 2};
  data.set_factors(factors);
  data.product.set_M(5);
  Plain plain{};
  data.SaveToBuffer(&plain, sizeof plain);
  std::printf("%zu %u %d ", data.GetDataSize() - sizeof plain, plain.rows, plain.flag);
  std::printf("%g %d\\n", plain.factors[1], plain.product.M);
}
"""


def test_hosts_ask_for_the_same_sizes(tmp_path):
    (tmp_path / "host.cpp").write_text(HOST)
    flags = ["-std=c++17", "-I", str(INCLUDE), "host.cpp", "-o", "host"]
    subprocess.run([*require_compiler().command, *flags], cwd=tmp_path, check=True, env=os.environ)
    words = subprocess.run([tmp_path / "host"], capture_output=True, text=True, check=True).stdout
    assert words == "3600 768 2400 512 8 0 6256 1536 3072 1536 0 7 1 2 5\n"
