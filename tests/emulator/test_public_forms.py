# ruff: noqa: E501  (C++ statements stay on one line)
"""Overloads of the public headers: bit masks beside counts, operators on tensors, elements, dequantisation, SPM buffers, HF32."""

from __future__ import annotations

import numpy as np
import pytest

from attndsl.emulator import Argument, Knobs, build_all
from attndsl.emulator.program import build_program
from tests.support.emulator_playground import fresh_image, get, put, run_image, vector_kernels

A, B, OUT, MORE = 0, 8192, 16384, 32768
F = "LocalTensor<float> a = ub.at<float>(0), b = ub.at<float>(8192), d = ub.at<float>(16384);"
H = "LocalTensor<half> a = ub.at<half>(0), b = ub.at<half>(8192), d = ub.at<half>(16384);"
S = "LocalTensor<int16_t> a = ub.at<int16_t>(0), b = ub.at<int16_t>(8192), d = ub.at<int16_t>(16384);"
ALL = "PipeBarrier<PIPE_ALL>();"
_BITS = "uint64_t m[2] = {0xFFFFFF, 0};"  # 24 lanes
_CMP = F + "LocalTensor<uint8_t> bits = ub.at<uint8_t>(32768);"
# a form with bits, and the one with a count that means the same
MASKED = {
    "axpy": F + "Axpy(d, a, 2.0f, %s, 2, UnaryRepeatParams());",
    "axpy_widening": F + "Axpy(d, ub.at<half>(8192), (half)2, %s, 2, UnaryRepeatParams(1, 1, 8, 4));",
    "mul_add_dst": F + "MulAddDst(d, a, b, %s, 2, BinaryRepeatParams());",
    "index": F + "CreateVecIndex(d, 3.0f, %s, 2, 1, 8);",
    "shift": S + "ShiftRight(d, a, (int16_t)3, %s, 2, UnaryRepeatParams(), true);",
    "reduce_max": F + "ReduceMax(d, a, LocalTensor<float>(TPosition::VECCALC, 98304, 64), %s, 3, 8, true);",
    "reduce_min": F + "ReduceMin(d, a, LocalTensor<float>(TPosition::VECCALC, 98304, 64), %s, 3, 8, true);",
    "reduce_sum": F + "ReduceSum(d, a, LocalTensor<float>(TPosition::VECCALC, 98304, 64), %s, 3, 8);",
    "gather": F + "CreateVecIndex(b.ReinterpretCast<int32_t>(), 0, 256); " + ALL
    + "Muls(b.ReinterpretCast<int32_t>(), b.ReinterpretCast<int32_t>(), 4, 256); " + ALL
    + "Gather(d, a, b.ReinterpretCast<uint32_t>(), 64, %s, 2, 8);",
    "compare_register": _CMP + "Compare(a, b, CMPMODE::LT, %s, BinaryRepeatParams()); GetCmpMask(d);",
    "compare_scalar": _CMP + "CompareScalar(d.ReinterpretCast<uint8_t>(), a, 0.5f, CMPMODE::LT, %s, 2, UnaryRepeatParams());",
    "select": _CMP + "Select(d, bits, a, b, SELMODE::VSEL_TENSOR_TENSOR_MODE, %s, 2, BinaryRepeatParams());",
    "select_scalar": _CMP + "Select(d, bits, a, 4.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, %s, 2, BinaryRepeatParams());",
    "deq": S + "SetDeqScale(0.5f, (int16_t)3, true); CastDequant<int8_t, int16_t, true, false, true>(d.ReinterpretCast<int8_t>(), a, %s, 2, UnaryRepeatParams());",
}  # fmt: skip
OPERATORS = {
    "add": "d = a + b;", "sub": "d = a - b;", "mul": "d = a * b;", "div": "d = a / b;",
    "less": "bits = a < b;", "greater": "bits = a > b;", "equal": "bits = a == b;", "unequal": "bits = a != b;",
    "at_most": "bits = a <= b;", "at_least": "bits = a >= b;",
}  # fmt: skip
_WORDS = (
    "LocalTensor<uint64_t> words = ub.at<uint64_t>(32768); VdeqInfo info; for (int i = 0; i < 16; ++i) { info.vdeqScale[i] = 0.25f * i; info.vdeqOffset[i] = i - 8; info.vdeqSignMode[i] = true; }"
    " SetDeqScale(words, info); "
)
OTHER = {
    "and_or": S + "a.SetSize(64); b.SetSize(64); d.SetSize(64); d = a & b; LocalTensor<int16_t> e = d[64]; e.SetSize(64); e = a | b;",
    "elements": F + "d(1) = a(0) + 1.0f; d(2) = a(1); d(2) += 2; d(3) = d(2);",
    "shift_rounds": S + "ShiftRight(d, a, (int16_t)5, 128, 1, UnaryRepeatParams(), true); ShiftRight(d[128], a, (int16_t)5, 128, 1, UnaryRepeatParams(), false);"
    " ShiftRight(d[256].ReinterpretCast<uint16_t>(), a.ReinterpretCast<uint16_t>(), (uint16_t)5, 128, 1, UnaryRepeatParams(), true);",
    "deq_scalar": S + "SetDeqScale(0.3f, (int16_t)-7, true); CastDeq<int8_t, int16_t, false, false>(d.ReinterpretCast<int8_t>(), a, 200);"
    " CastDeq<int8_t, int16_t, false, true>(d.ReinterpretCast<int8_t>(), b, 200);",
    "deq_unsigned": S + "SetDeqScale(0.3f, (int16_t)100, false); CastDequant<uint8_t, int16_t, false, false>(d.ReinterpretCast<uint8_t>(), a, 200);",
    "deq_words": S + _WORDS + "SetFlag<HardEvent::S_V>(0); WaitFlag<HardEvent::S_V>(0); CastDequant<int8_t, int16_t>(d.ReinterpretCast<int8_t>(), a, 200);",
    "deq_words_unordered": S + _WORDS + "CastDequant<int8_t, int16_t>(d.ReinterpretCast<int8_t>(), a, 200);",
    "deq_mixed_up": S + "SetDeqScale(0.3f, (int16_t)0, true); CastDequant<int8_t, int16_t>(d.ReinterpretCast<int8_t>(), a, 200);",
    "deq_sign": S + "SetDeqScale(0.3f, (int16_t)0, true); CastDequant<uint8_t, int16_t, false>(d.ReinterpretCast<uint8_t>(), a, 200);",
    "deq_half": "SetDeqScale((half)0.5); CastDequant<half, int32_t>(ub.at<half>(16384), ub.at<int32_t>(0), 100);",
    "select_register": _CMP + "LocalTensor<float> s = ub.at<float>(40960); Duplicate(s, 7.0f, 8); PipeBarrier<PIPE_V>(); SetCmpMask(s); PipeBarrier<PIPE_V>(); SetVectorMask<float>(0, 0xFFFFFF); Select(d, bits, a, 2, BinaryRepeatParams());",
    "pipes_by_name": F + "TQueSync<PIPE_V, PIPE_S> s; Adds(d, a, 1.0f, 64); s.SetFlag(2); s.WaitFlag(2); d.SetValue(64, d.GetValue(0));",
    "transpose": H + "LocalTensor<uint64_t> too = ub.at<uint64_t>(32768), frm = ub.at<uint64_t>(33024); for (int i = 0; i < 16; ++i) { too.SetValue(i, d[i * 16].GetPhyAddr()); frm.SetValue(i, a[i * 16].GetPhyAddr()); }"
    " TransDataTo5HD<half>(too, frm, TransDataTo5HDParams(false, false, 1, 0, 0));",
    "fractals": "LocalTensor<half> h = ub.at<half>(16384); GlobalTensor<half> g; g.SetGlobalBuffer((__gm__ half*)in); DataCopy(h, g, Nd2NzParams(2, 5, 40, 512, 64, 7, 1, 512));",
    "rows": "GlobalTensor<float> g; g.SetGlobalBuffer((__gm__ float*)out + 4096); DataCopy(g, ub.at<float>(0), Nz2NdParamsFull(2, 5, 32, 2, 6, 48, 256)); PipeBarrier<PIPE_ALL>();"
    " LocalTensor<float> back = ub.at<float>(16384); DataCopy(back, g, 512);",
    "rows_too_near": "GlobalTensor<float> g; g.SetGlobalBuffer((__gm__ float*)out + 4096); DataCopy(g, ub.at<float>(0), Nz2NdParamsFull(1, 5, 24, 1, 6, 48, 0));",
    "remaining": F + "uint64_t kept = 0; GatherMask(d, a, (uint8_t)1, false, 0, GatherMaskParams(1, 2, 8, 0), kept); PipeBarrier<PIPE_ALL>(); ub.at<int32_t>(32768).SetValue(0, (int32_t)GetGatherMaskRemainCount());",
}  # fmt: skip


@pytest.fixture(scope="module")
def kernels():
    bodies = {}
    for name, body in MASKED.items():
        bodies[f"bits_{name}"] = _BITS + body % "m"
        bodies[f"count_{name}"] = body % "(uint64_t)24"
    for name, statement in OPERATORS.items():
        bodies[f"operator_{name}"] = (
            F
            + f"LocalTensor<uint8_t> bits = d.ReinterpretCast<uint8_t>(); a.SetSize(256); b.SetSize(256); d.SetSize(256); {statement}"
        )
    return vector_kernels(bodies | OTHER)


@pytest.mark.parametrize("name", MASKED)
def test_bits_mean_what_a_count_means(kernels, name):
    image = fresh_image()
    bits, report = run_image(kernels[f"bits_{name}"], image)
    assert report.ok, report.findings
    count, _ = run_image(kernels[f"count_{name}"], image)
    assert not np.array_equal(bits[OUT : OUT + 4096], image[OUT : OUT + 4096]), "the instruction did nothing"
    np.testing.assert_array_equal(bits, count)


@pytest.fixture
def floats():
    image = fresh_image(1)
    rng = np.random.default_rng(1)
    a, b = rng.integers(-4, 5, (2, 256)).astype(np.float32)
    b[b == 0] = 3
    put(image, A, a)
    put(image, B, b)
    return image, a, b


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_on_tensors(kernels, floats, name):
    image, a, b = floats
    out, report = run_image(kernels[f"operator_{name}"], image)
    assert report.ok, report.findings
    by_name = {
        "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "less": np.less, "greater": np.greater,
        "equal": np.equal, "unequal": np.not_equal, "at_most": np.less_equal, "at_least": np.greater_equal,
    }  # fmt: skip
    want = by_name[name](a, b)
    if want.dtype == bool:
        np.testing.assert_array_equal(get(out, OUT, 32, np.uint8), np.packbits(want, bitorder="little"))
    else:
        np.testing.assert_array_equal(get(out, OUT, 256, np.float32), want)


def test_operators_say_their_line() -> None:
    text = _HEAD + (
        'extern "C" __global__ __aicore__ void k(GM_ADDR x) {\n  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);\n'
        "  LocalTensor<float> a(TPosition::VECCALC, 0, 64), d(TPosition::VECCALC, 16, 64);\n  Duplicate(a, 1.0f, 64); ALL\n"
        "  d = a + a;\n}\n"
    )
    report = build_all(text, entries=["k"])["k"].run(1, [Argument("x", np.zeros(8, np.float32))])
    line = text.splitlines().index("  d = a + a;") + 1
    assert [(f.rule, f.source) for f in report.findings][:1] == [("misaligned", f"kernel.cpp:{line}")]


def test_integer_operators_and_elements(kernels):
    image = fresh_image(2)
    out, report = run_image(kernels["and_or"], image)
    assert report.ok, report.findings
    a, b = get(image, A, 64, np.int16), get(image, B, 64, np.int16)
    np.testing.assert_array_equal(get(out, OUT, 128, np.int16), np.concatenate([a & b, a | b]))
    out, report = run_image(kernels["elements"], image)
    assert report.ok, report.findings
    given, got = get(image, A, 4, np.float32), get(out, OUT, 4, np.float32)
    np.testing.assert_array_equal(got[1:], [given[0] + np.float32(1), given[1] + np.float32(2), given[1] + np.float32(2)])  # fmt: skip


def test_shifts_round_signed_values_only(kernels):
    image = fresh_image(3)
    put(image, A, np.arange(-64, 64, dtype=np.int16) * 499)
    out, report = run_image(kernels["shift_rounds"], image)
    assert report.ok, report.findings
    v = get(image, A, 128, np.int16).astype(np.int32)
    np.testing.assert_array_equal(get(out, OUT, 128, np.int16), (v >> 5) + (v >> 4 & 1))
    np.testing.assert_array_equal(get(out, OUT + 256, 128, np.int16), v >> 5)
    np.testing.assert_array_equal(get(out, OUT + 512, 128, np.uint16), get(image, A, 128, np.uint16) >> 5)


def _cut(scale: np.ndarray) -> np.ndarray:
    """A float with 10 of its 23 fraction bits."""
    return (np.asarray(scale, np.float32).view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)


def _halves(out: np.ndarray, dtype: type, high: bool) -> np.ndarray:
    return get(out, OUT, 13 * 32, dtype).reshape(13, 2, 16)[:, int(high)].reshape(-1)


def test_dequantisation(kernels):
    image = fresh_image(4)
    rng = np.random.default_rng(4)
    a, b = rng.integers(-700, 700, (2, 208)).astype(np.int16)
    put(image, A, a)
    put(image, B, b)
    before = _halves(image, np.int8, False)[200:]
    out, report = run_image(kernels["deq_scalar"], image)
    assert report.ok, report.findings
    for given, high in ((a, False), (b, True)):
        want = np.clip(np.rint(given.astype(np.float32) * _cut([0.3])) - 7, -128, 127)
        np.testing.assert_array_equal(_halves(out, np.int8, high)[:200], want[:200])
    np.testing.assert_array_equal(_halves(out, np.int8, False)[200:], before)
    out, report = run_image(kernels["deq_unsigned"], image)
    assert report.ok, report.findings
    want = np.clip(np.rint(a.astype(np.float32) * _cut([0.3])) + 100, 0, 255)
    np.testing.assert_array_equal(_halves(out, np.uint8, False)[:200], want[:200])
    out, report = run_image(kernels["deq_words"], image)
    assert report.ok, report.findings
    lanes = np.arange(208) % 16
    want = np.clip(np.rint(a * _cut(np.float32(0.25) * lanes)) + lanes - 8, -128, 127)
    np.testing.assert_array_equal(_halves(out, np.int8, True)[:200], want[:200])
    put(image, A, rng.integers(-(2**20), 2**20, 100).astype(np.int32))
    out, report = run_image(kernels["deq_half"], image, saturate=True)
    assert report.ok, report.findings
    want = np.clip(get(image, A, 100, np.int32) * np.float32(0.5), -65504, 65504).astype(np.float16)
    np.testing.assert_array_equal(get(out, OUT, 100, np.float16), want)


@pytest.mark.parametrize(
    ("name", "finding"),
    [
        ("deq_words_unordered", "racecheck/read_after_write"),
        ("deq_mixed_up", "memcheck/deq_scale"),
        ("deq_sign", "memcheck/deq_scale"),
    ],
)
def test_dequantisation_is_checked(kernels, name, finding):
    report = run_image(kernels[name], fresh_image())[1]
    assert finding in report.finding_counts, report.findings


def test_the_comparison_register_holds_a_scalar(kernels):
    image = fresh_image(5)
    out, report = run_image(kernels["select_register"], image)
    assert report.ok, report.findings
    bits = np.unpackbits(get(image, MORE, 16, np.uint8), bitorder="little").reshape(2, 64)
    want = get(image, OUT, 128, np.float32).reshape(2, 64).copy()
    given = get(image, A, 128, np.float32).reshape(2, 64)
    want[:, :24] = np.where(bits[:, :24], given[:, :24], np.float32(7))
    np.testing.assert_array_equal(get(out, OUT, 128, np.float32).reshape(2, 64), want)


def test_events_addresses_and_counts(kernels):
    image = fresh_image(6)
    out, report = run_image(kernels["pipes_by_name"], image)
    assert report.ok, report.findings
    assert get(out, OUT, 65, np.float32)[64] == get(image, A, 1, np.float32)[0] + np.float32(1)
    out, report = run_image(kernels["transpose"], image)
    assert report.ok, report.findings
    np.testing.assert_array_equal(
        get(out, OUT, 256, np.uint16).reshape(16, 16), get(image, A, 256, np.uint16).reshape(16, 16).T
    )
    out, report = run_image(kernels["remaining"], image)
    assert report.ok, report.findings
    assert get(out, MORE, 1, np.int32)[0] == 64


_HEAD = """
#include "kernel_operator.h"
using namespace AscendC;
#define ALL PipeBarrier<PIPE_ALL>();
template <class T> GlobalTensor<T> gm(GM_ADDR p) { GlobalTensor<T> g; g.SetGlobalBuffer((__gm__ T*)p); return g; }
"""
_SPM = """extern "C" __global__ __aicore__ void %s(GM_ADDR x, GM_ADDR w, GM_ADDR o) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY); TPipe pipe; TBuf<TPosition::VECCALC> buf; pipe.InitBuffer(buf, 1024); auto t = buf.Get<float>();
  pipe.InitSpmBuffer(gm<float>(w), 512); DataCopy(t, gm<float>(x), 64); pipe.WriteSpmBuffer(t, 64, %s); Duplicate(t, 0.0f, 64); pipe.ReadSpmBuffer(t, DataCopyParams(2, 2, 2, 0), 16);
  DataCopy(gm<float>(o), t, 32); ALL }
"""
_PRODUCT = """extern "C" __global__ __aicore__ void product(GM_ADDR x, GM_ADDR w, GM_ADDR o) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY); TPipe pipe; pipe.Destroy(); TBuf<TPosition::A1> l1; TBuf<TPosition::A2> l0a; TBuf<TPosition::B2> l0b; TBuf<TPosition::CO1> l0c; TBuf<TPosition::C2> bt;
  pipe.InitBuffer(l1, 4096); pipe.InitBuffer(l0a, 512); pipe.InitBuffer(l0b, 512); pipe.InitBuffer(l0c, 1024); pipe.InitBuffer(bt, 64); auto c = l0c.Get<float>();
  auto left = l1.Get<float>(), right = left[128], bias = left[256];
  DataCopy(left, gm<float>(x), 128); DataCopy(right, gm<float>(w), 144); ALL
  LoadData(l0a.Get<float>(), left, LoadData2DParams(0, 1, 1, 0, 0, false, 0)); LoadData(l0b.Get<float>(), right, LoadData2DParams(0, 1, 1, 0, 0, false, 0)); DataCopy(bt.Get<float>(), bias, 16); ALL
  for (int i = 0; i < 3; ++i) {
    if (i) { SetHF32Mode(HF32Mode::ENABLE); SetHF32TransMode(i == 1 ? HF32TransMode::NEAREST_EVEN : HF32TransMode::NEAREST_ZERO); }
    Mmad(c, l0a.Get<float>(), l0b.Get<float>(), bt.Get<float>(), MmadParams(16, 16, 8, 0, false, true)); ALL
    Fixpipe<float, float, CFG_ROW_MAJOR>(gm<float>(o)[i * 256], c, FixpipeParamsV220(16, 16, 16, 16, false)); ALL
  }
}
"""


@pytest.fixture(scope="module")
def others():
    text = _HEAD + _SPM % ("spm", "32") + _SPM % ("spm_outside", "72") + _PRODUCT
    return build_all(text, entries=["spm", "spm_outside", "product"])


def test_spm_buffers_keep_what_they_are_given(others):
    x, w, o = np.arange(64, dtype=np.float32), np.zeros(128, np.float32), np.zeros(32, np.float32)
    args = [Argument("x", x), Argument("w", w, output=True), Argument("o", o, output=True)]
    report = others["spm"].run(1, args, knobs=Knobs(initcheck=False))
    assert report.ok, report.findings
    np.testing.assert_array_equal(w[32:96], x)
    np.testing.assert_array_equal(o, w[16:].reshape(-1, 16)[[0, 2]].reshape(-1))
    report = others["spm_outside"].run(1, args, knobs=Knobs())
    assert "memcheck/spm_range" in report.finding_counts, report.findings


def test_products_of_fp32_round_their_operands_in_hf32_mode(others):
    rng = np.random.default_rng(8)
    x, w = rng.standard_normal((2, 16, 8)).astype(np.float32)
    x[0, 0] = np.float32(1 + 2**-12)  # a tie between two HF32 numbers
    bias = rng.standard_normal(16).astype(np.float32)
    o = np.zeros((3, 16, 16), np.float32)
    given = np.concatenate([w.reshape(-1), bias])
    args = [Argument("x", x), Argument("w", given), Argument("o", o, output=True)]
    report = others["product"].run(1, args, knobs=Knobs())
    assert report.ok, report.findings

    def hf32(v: np.ndarray, tie_up: np.ndarray) -> np.ndarray:
        bits = v.view(np.uint32).astype(np.uint64)
        rounded = (bits + 0x7FF + tie_up) & ~np.uint64(0xFFF)
        return rounded.astype(np.uint32).view(np.float32)

    def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        total = np.broadcast_to(bias, (16, 16)).copy()
        for k in range(8):
            total = (total + (a[:, k, None] * b[None, :, k]).astype(np.float32)).astype(np.float32)
        return total

    odd = [v.view(np.uint32).astype(np.uint64) >> np.uint64(12) & np.uint64(1) for v in (x, w)]
    np.testing.assert_array_equal(o[0], product(x, w))
    np.testing.assert_array_equal(o[1], product(hf32(x, odd[0]), hf32(w, odd[1])))
    zero = np.uint64(0)
    np.testing.assert_array_equal(o[2], product(hf32(x, zero), hf32(w, zero)))
    assert not np.array_equal(o[0], o[1])


def test_layouts_that_the_library_puts_together(kernels):
    image = fresh_image(9)
    out, report = run_image(kernels["fractals"], image)
    assert report.ok, report.findings
    given = get(image, 0, 1024, np.float16).view(np.uint16)
    want = get(image, OUT, 1024, np.uint16).copy()
    for m in range(2):
        rows = np.lib.stride_tricks.as_strided(given[m * 512 :], (5, 40), (128, 2))
        padded = np.zeros((5, 48), np.uint16)
        padded[:, :40] = rows
        for c in range(3):
            for r in range(5):
                at = m * 512 + (c * 7 + r) * 16
                want[at : at + 16] = padded[r, c * 16 : c * 16 + 16]
    np.testing.assert_array_equal(get(out, OUT, 1024, np.uint16), want)
    out, report = run_image(kernels["rows"], image, initcheck=False)
    assert report.ok, report.findings
    given = get(image, 0, 4096, np.float32)
    back = get(out, OUT, 512, np.float32)
    for m in range(2):
        for r in range(5):
            for c in range(2):
                place = m * 512 + (c * 6 + r) * 16
                to = m * 256 + r * 48 + c * 16
                np.testing.assert_array_equal(back[to : to + 16], given[place : place + 16])
    report = run_image(kernels["rows_too_near"], image)[1]
    assert "memcheck/nz2nd_range" in report.finding_counts, report.findings


_PRINTS = """#include "kernel_operator.h"
#include "acl/acl.h"
using namespace AscendC;
__global__ __vector__ void shows(__gm__ float* x, bool write) {
  LocalTensor<float> t(TPosition::VECCALC, 0, 16); GlobalTensor<float> g; g.SetGlobalBuffer(x);
  DataCopy(t, g, 16); PipeBarrier<PIPE_ALL>();
  t.Print(10); printf("%d %d\\n", t.ToFile("shown.bin"), t.ToFile("no/such/folder/shown.bin"));
}
int main() {
  aclInit(nullptr); aclrtSetDevice(0); aclrtStream stream; aclrtCreateStream(&stream);
  float host[16]; for (int i = 0; i < 16; ++i) host[i] = i * 0.5f;
  float* x; aclrtMalloc((void**)&x, 64, ACL_MEM_MALLOC_HUGE_FIRST); aclrtMemcpy(x, 64, host, 64, ACL_MEMCPY_HOST_TO_DEVICE);
  shows<<<1, nullptr, stream>>>(x, true); aclrtSynchronizeStream(stream);
}
"""


def test_tensors_print_themselves(tmp_path, monkeypatch):
    (tmp_path / "shows.asc").write_text(_PRINTS)
    monkeypatch.chdir(tmp_path)
    report = build_program(tmp_path / "shows.asc").run()
    assert report.ok, report
    rows = report.stdout.splitlines()
    assert rows[0].split() == ["0000", ":", *(f"{i / 2:f}" for i in range(8))]
    assert rows[1].split() == ["0008", ":", "4.000000", "4.500000"]
    assert rows[2] == "0 1"
    np.testing.assert_array_equal(np.fromfile("shown.bin", np.float32), np.arange(16) / 2)
