# ruff: noqa: E501  (C++ statements stay on one line)
"""Loads to L0, Mmad and Fixpipe: whole small products against NumPy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from attndsl.emulator import Argument, build_all

_KERNEL = """
extern "C" __global__ __aicore__ void %(name)s(GM_ADDR a, GM_ADDR b, GM_ADDR c) {
  using A = %(a)s;
  using C = %(c)s;
  using L = %(l)s;
  constexpr uint32_t m = %(m)d, n = %(n)d, k = %(k)d;
  constexpr uint32_t m16 = (m + 15) / 16 * 16, n16 = (n + 15) / 16 * 16, k16 = (k + 15) / 16 * 16, c0 = 32 / sizeof(A), kc = (k + c0 - 1) / c0 * c0;
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  TPipe pipe;
  pipe.Destroy();
  TBuf<TPosition::A1> bufA;
  TBuf<TPosition::B1> bufB;
  TBuf<TPosition::A2> bufA0;
  TBuf<TPosition::B2> bufB0;
  TBuf<TPosition::CO1> bufC0;
  pipe.InitBuffer(bufA, 65536);
  pipe.InitBuffer(bufB, 65536);
  pipe.InitBuffer(bufA0, 65536);
  pipe.InitBuffer(bufB0, 65536);
  pipe.InitBuffer(bufC0, 65536);
  LocalTensor<A> a1 = bufA.Get<A>(), b1 = bufB.Get<A>(), a0 = bufA0.Get<A>(), b0 = bufB0.Get<A>();
  LocalTensor<L> c0t = bufC0.Get<L>();
  GlobalTensor<A> ga, gb;
  GlobalTensor<C> gc;
  ga.SetGlobalBuffer((__gm__ A*)a);
  gb.SetGlobalBuffer((__gm__ A*)b);
  gc.SetGlobalBuffer((__gm__ C*)c);
  %(body)s
}
"""
_BARRIER = "PipeBarrier<PIPE_ALL>();\n"
# A [m, k] and B^T [n, k], both row-major, to Zz and Zn by plain fractal loads
_LOAD_A = "DataCopy(a1, ga, Nd2NzParams(1, m, k, 0, k, m16, 1, 0));"
_TO_ZZ = "for (uint32_t i = 0; i < m16 / 16; ++i) LoadData(a0[i * 16 * kc], a1[i * 16 * c0], LoadData2DParams(0, kc / c0, m16 / 16, 0, 0, false, 0));"
_LOAD_BT = "DataCopy(b1, gb, Nd2NzParams(1, n, k, 0, k, n16, 1, 0));"
_TO_ZN = "LoadData(b0, b1, LoadData2DParams(0, kc * n16 / c0 / 16, 1, 0, 0, false, 0));"
# B [k, n] row-major: fractals transposed on the way
_LOAD_B = "DataCopy(b1, gb, Nd2NzParams(1, k, n, 0, n, k16, 1, 0));"
_TRANSPOSED = "for (uint32_t i = 0; i < k16 / 16; ++i) LoadDataWithTranspose(b0[i * 16 * n16], b1[i * 256], LoadData2dTransposeParams(0, n16 / 16, k16 / 16, 0, 0));"
_LOAD_DATA_TRANSPOSED = "for (uint32_t i = 0; i < k16 / 16; ++i) LoadData(b0[i * 16 * n16], b1[i * 256], LoadData2DParams(0, n16 / 16, k16 / 16, 0, 0, true, 0));"
_INT8_B = "DataCopy(b1, gb, Nd2NzParams(1, k, n, 0, n, (k + 31) / 32 * 32, 1, 0));"
# 32x32 blocks: two fractals of the result lie n16 / 16 fractals of 512 B... side by side in n
_INT8_TRANSPOSED = "for (uint32_t i = 0; i < (k + 31) / 32; ++i) LoadDataWithTranspose(b0[i * 32 * n16], b1[i * 1024], LoadData2dTransposeParams(0, (n + 31) / 32, (k + 31) / 32, 1, 0));"
_WINDOW = """
  LoadData3DParamsV2<A> wa;
  wa.l1H = 1; wa.l1W = m16; wa.channelSize = kc; wa.kExtension = kc; wa.mExtension = m16;
  LoadData(a0, a1, wa);
  LoadData3DParamsV2<A> wb;
  wb.l1H = 1; wb.l1W = k16; wb.channelSize = n16; wb.kExtension = n16; wb.mExtension = k16;
  LoadData(b0, b1, wb);
"""
_MMAD = "Mmad(c0t, a0, b0, MmadParams(m, n, k, 0, false, true));"


def _fixpipe(quant="NoQuant", extra="", pitch="n", config="CFG_ROW_MAJOR", n="n"):
    return f"FixpipeParamsV220 f({n}, m, m16, {pitch}, false); f.quantPre = QuantMode_t::{quant}; {extra} Fixpipe<C, L, {config}>(gc, c0t, f);"


def _steps(*parts):
    return _BARRIER.join(parts)


SHAPES = [(16, 16, 16), (32, 48, 64), (128, 128, 128), (20, 30, 40), (17, 100, 33), (2, 16, 16)]
_T = {
    "half": np.float16,
    "float": np.float32,
    "bfloat16_t": ml_dtypes.bfloat16,
    "int8_t": np.int8,
    "int32_t": np.int32,
}


def _cases():
    cases = {}

    def add(name, shape, a, acc, c, *parts):
        cases[name] = {
            "name": name, "m": shape[0], "n": shape[1], "k": shape[2], "a": a, "l": acc, "c": c, "body": _steps(*parts),
        }  # fmt: skip

    for shape in SHAPES:
        tag = "x".join(map(str, shape))
        for t in ("half", "bfloat16_t", "float"):
            add(
                f"nt_{t}_{tag}",
                shape,
                t,
                "float",
                "float",
                _LOAD_A + _LOAD_BT,
                _TO_ZZ + _TO_ZN,
                _MMAD,
                _fixpipe(),
            )
        add(
            f"nn_half_{tag}",
            shape,
            "half",
            "float",
            "float",
            _LOAD_A + _LOAD_B,
            _TO_ZZ + _TRANSPOSED,
            _MMAD,
            _fixpipe(),
        )
        add(
            f"nn2_half_{tag}",
            shape,
            "half",
            "float",
            "float",
            _LOAD_A + _LOAD_B,
            _TO_ZZ + _LOAD_DATA_TRANSPOSED,
            _MMAD,
            _fixpipe(),
        )
        add(
            f"window_half_{tag}",
            shape,
            "half",
            "float",
            "float",
            _LOAD_A + _LOAD_B,
            _WINDOW,
            _MMAD,
            _fixpipe(),
        )
        add(
            f"nt_int8_t_{tag}",
            shape,
            "int8_t",
            "int32_t",
            "int32_t",
            _LOAD_A + _LOAD_BT,
            _TO_ZZ + _TO_ZN,
            _MMAD,
            _fixpipe(),
        )
    shape = (32, 64, 64)
    add(
        "nn_int8",
        shape,
        "int8_t",
        "int32_t",
        "int32_t",
        _LOAD_A + _INT8_B,
        _TO_ZZ + _INT8_TRANSPOSED,
        _MMAD,
        _fixpipe(),
    )
    add(
        "to_half",
        shape,
        "half",
        "float",
        "half",
        _LOAD_A + _LOAD_BT,
        _TO_ZZ + _TO_ZN,
        _MMAD,
        _fixpipe("F322F16"),
    )
    add(
        "to_bf16",
        shape,
        "half",
        "float",
        "bfloat16_t",
        _LOAD_A + _LOAD_BT,
        _TO_ZZ + _TO_ZN,
        _MMAD,
        _fixpipe("F322BF16"),
    )
    add(
        "relu",
        shape,
        "half",
        "float",
        "float",
        _LOAD_A + _LOAD_BT,
        _TO_ZZ + _TO_ZN,
        _MMAD,
        _fixpipe(extra="f.reluEn = true;"),
    )
    add("accumulate", shape, "half", "float", "float", _LOAD_A + _LOAD_BT, _TO_ZZ + _TO_ZN, _MMAD,
        "Mmad(c0t, a0, b0, MmadParams(m, n, k, 0, false, false));", _fixpipe())  # fmt: skip
    add(
        "pitch",
        shape,
        "half",
        "float",
        "float",
        _LOAD_A + _LOAD_BT,
        _TO_ZZ + _TO_ZN,
        _MMAD,
        _fixpipe(pitch="100"),
    )
    add(
        "fractals",
        shape,
        "half",
        "float",
        "half",
        _LOAD_A + _LOAD_BT,
        _TO_ZZ + _TO_ZN,
        _MMAD,
        _fixpipe("F322F16", pitch="m16", config="CFG_NZ"),
    )
    add("matrices", shape, "half", "float", "float", _LOAD_A + _LOAD_BT, _TO_ZZ + _TO_ZN, _MMAD,
        _fixpipe(extra="f.ndNum = 2; f.srcNdStride = m16 / 16 * 2; f.dstNdStride = 32;", n="32"))  # fmt: skip
    add(
        "registers", shape, "half", "float", "half", _LOAD_A + _LOAD_BT, _TO_ZZ + _TO_ZN, _MMAD,
        "SetFixpipeNz2ndFlag(1, 0, 0); DataCopy(gc, c0t, DataCopyCO12DstParams(n, m, n, m16, QuantMode_t::F322F16, 0, false, true));",
    )  # fmt: skip
    scale = "float s = 0.37f; uint32_t bits; __builtin_memcpy(&bits, &s, 4); f.deqScalar = bits;"
    add(
        "dequant",
        shape,
        "int8_t",
        "int32_t",
        "half",
        _LOAD_A + _LOAD_BT,
        _TO_ZZ + _TO_ZN,
        _MMAD,
        _fixpipe("DEQF16", scale),
    )
    add(
        "requant",
        shape,
        "int8_t",
        "int32_t",
        "int8_t",
        _LOAD_A + _LOAD_BT,
        _TO_ZZ + _TO_ZN,
        _MMAD,
        _fixpipe("REQ8", scale.replace("0.37f", "0.001f")),
    )
    add("bias", shape, "half", "float", "float", _LOAD_A + _LOAD_BT + "TBuf<TPosition::C1> c1; TBuf<TPosition::C2> c2; pipe.InitBuffer(c1, 256); pipe.InitBuffer(c2, 256);"
        "GlobalTensor<float> gf; gf.SetGlobalBuffer((__gm__ float*)b); DataCopy(c1.Get<float>(), gf, 64);",
        "DataCopy(c2.Get<float>(), c1.Get<float>(), DataCopyParams(1, 4, 0, 0));" + _TO_ZZ + _TO_ZN,
        "Mmad(c0t, a0, b0, c2.Get<float>(), MmadParams(m, n, k, 0, false, true));", _fixpipe())  # fmt: skip
    add("bias_widened", shape, "half", "float", "float", _LOAD_A + _LOAD_BT + "TBuf<TPosition::C1> c1; TBuf<TPosition::C2> c2; pipe.InitBuffer(c1, 256); pipe.InitBuffer(c2, 256);"
        "DataCopy(c1.Get<half>(), gb, 64);",
        "DataCopy(c2.Get<float>(), c1.Get<half>(), DataCopyParams(1, 2, 0, 0));" + _TO_ZZ + _TO_ZN,
        "Mmad(c0t, a0, b0, c2.Get<float>(), MmadParams(m, n, k, 0, false, true));", _fixpipe())  # fmt: skip
    add("bias_widened_too_far", shape, "half", "float", "float", "TBuf<TPosition::C1> c1; TBuf<TPosition::C2> c2; pipe.InitBuffer(c1, 2048); pipe.InitBuffer(c2, 1024);",
        "DataCopy(c2.Get<float>(), c1.Get<half>(), DataCopyParams(1, 9, 0, 0));", "", "")  # fmt: skip
    return cases


CASES = _cases()


@pytest.fixture(scope="module")
def kernels():
    text = '#include "kernel_operator.h"\nusing namespace AscendC;\n' + "".join(
        _KERNEL % case for case in CASES.values()
    )
    return build_all(text, entries=list(CASES))


def _operands(case):
    rng = np.random.default_rng(11)
    t = np.dtype(_T[case["a"]])
    if t == np.int8:
        make = lambda *s: rng.integers(-128, 128, s, dtype=np.int8)  # noqa: E731
    else:
        make = lambda *s: rng.standard_normal(s).astype(np.float32).astype(t)  # noqa: E731
    return make(case["m"], case["k"]), make(case["n"], case["k"])


def _run(kernels, name, out, transposed_b=False):
    case = CASES[name]
    a, b = _operands(case)
    given = np.ascontiguousarray(b.T) if transposed_b else b
    report = kernels[name].run(1, [Argument("a", a), Argument("b", given), Argument("c", out, output=True)])
    assert report.ok, report.findings
    if a.dtype == np.int8:
        return a.astype(np.int32) @ b.astype(np.int32).T
    return a.astype(np.float64) @ b.astype(np.float64).T


PLAIN = [name for name in CASES if name.startswith(("nt_", "nn", "window"))]


@pytest.mark.parametrize("name", PLAIN)
def test_product(kernels, name):
    case = CASES[name]
    out = np.zeros((case["m"], case["n"]), _T[case["c"]])
    exact = _run(kernels, name, out, transposed_b=name.startswith(("nn", "window")))
    if out.dtype == np.int32:
        np.testing.assert_array_equal(out, exact)
    else:
        np.testing.assert_allclose(out, exact, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "dtype"), [("to_half", np.float16), ("registers", np.float16), ("to_bf16", ml_dtypes.bfloat16)]
)
def test_narrowing_write_back(kernels, name, dtype):
    out = np.zeros((32, 64), dtype)
    exact = _run(kernels, name, out)
    np.testing.assert_allclose(
        out.astype(np.float64), exact, rtol=2.0 ** (-10 if dtype is np.float16 else -8), atol=1e-3
    )


def test_relu_accumulate_and_pitch(kernels):
    out = np.zeros((32, 64), np.float32)
    exact = _run(kernels, "relu", out)
    np.testing.assert_allclose(out, np.maximum(exact, 0), rtol=1e-5, atol=1e-4)
    exact = _run(kernels, "accumulate", out)
    np.testing.assert_allclose(out, 2 * exact, rtol=1e-5, atol=2e-4)
    wide = np.full(31 * 100 + 64, 5, np.float32)
    case = CASES["pitch"]
    a, b = _operands(case)
    report = kernels["pitch"].run(1, [Argument("a", a), Argument("b", b), Argument("c", wide)])
    assert report.ok, report.findings
    padded = np.append(wide, np.full(36, 5, np.float32)).reshape(32, 100)
    np.testing.assert_allclose(padded[:, :64], exact, rtol=1e-5, atol=1e-4)
    np.testing.assert_array_equal(padded[:, 64:], 5)


def test_fractals_to_memory(kernels):
    out = np.zeros((4, 32, 16), np.float16)  # n1, m, n0
    exact = _run(kernels, "fractals", out)
    np.testing.assert_allclose(out.transpose(1, 0, 2).reshape(32, 64), exact, rtol=1e-3, atol=1e-3)


def test_two_matrices_in_one_write_back(kernels):
    # each matrix is 32 columns; with rows 32 apart the second lands beside... in the next 32 elements
    out = np.zeros(31 * 64 + 64, np.float32)
    case = CASES["matrices"]
    a, b = _operands(case)
    exact = a.astype(np.float64) @ b.astype(np.float64).T
    report = kernels["matrices"].run(1, [Argument("a", a), Argument("b", b), Argument("c", out, output=True)])
    assert report.ok, report.findings
    np.testing.assert_allclose(out.reshape(32, 64), exact, rtol=1e-5, atol=1e-4)


def _scale(value: float) -> np.float32:
    return (np.array([value], np.float32).view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)[0]


def test_quantising_write_back(kernels):
    out = np.zeros((32, 64), np.float16)
    exact = _run(kernels, "dequant", out)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(out, (exact.astype(np.float32) * _scale(0.37)).astype(np.float16))
    out8 = np.zeros((32, 64), np.int8)
    exact = _run(kernels, "requant", out8)
    np.testing.assert_array_equal(
        out8, np.clip(np.round(exact.astype(np.float32) * _scale(0.001)), -128, 127).astype(np.int8)
    )


def test_bias(kernels):
    out = np.zeros((32, 64), np.float32)
    case = CASES["bias"]
    a, _ = _operands(case)
    # the first 256 bytes of B serve as bias: small numbers as floats
    b = np.zeros((64, 64), np.float16)
    b[2:] = np.random.default_rng(0).standard_normal((62, 64)).astype(np.float16)
    b.reshape(-1).view(np.float32)[:64] = 0.0
    bias = b.reshape(-1).view(np.float32)[:64].copy()
    b.reshape(-1)[1:128:2] = np.float16(1.5)
    bias = b.reshape(-1).view(np.float32)[:64].copy()
    report = kernels["bias"].run(1, [Argument("a", a), Argument("b", b), Argument("c", out, output=True)])
    assert report.ok, report.findings
    exact = a.astype(np.float64) @ b.astype(np.float64).T + bias
    np.testing.assert_allclose(out, exact, rtol=1e-5, atol=1e-3)


def test_bias_of_halves_is_widened(kernels):
    out = np.zeros((32, 64), np.float32)
    a, b = _operands(CASES["bias_widened"])
    report = kernels["bias_widened"].run(
        1, [Argument("a", a), Argument("b", b), Argument("c", out, output=True)]
    )
    assert report.ok, report.findings
    exact = a.astype(np.float64) @ b.astype(np.float64).T + b.reshape(-1)[:64].astype(np.float64)
    np.testing.assert_allclose(out, exact, rtol=1e-5, atol=1e-3)
    report = kernels["bias_widened_too_far"].run(1, [Argument("a", a), Argument("b", b), Argument("c", out)])
    assert {finding.rule for finding in report.findings} == {"out_of_range"}
