# ruff: noqa: E501  (C++ statements stay on one line)
"""Compound instructions, 4-bit elements, pools, slices, fills, polling, scalar helpers, printing, vector times matrix."""

from __future__ import annotations

import numpy as np
import pytest

from attndsl.emulator import Argument, Knobs, LaunchError, build_all

_HEAD = """
#include "kernel_operator.h"
using namespace AscendC;
#define KERNEL(name, kind) extern "C" __global__ __aicore__ void name(GM_ADDR a, GM_ADDR o) { KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_##kind);
#define ALL PipeBarrier<PIPE_ALL>();
#define CLEAN DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(word);
template <class T> GlobalTensor<T> gm(GM_ADDR p) { GlobalTensor<T> g; g.SetGlobalBuffer((__gm__ T*)p); return g; }
"""
# bodies see 4096 bytes of the input at byte 0 of UB, and store the 4096 bytes at byte 4096
_VECTOR = """KERNEL(%s, AIV_ONLY) TPipe pipe; TBuf<TPosition::VECCALC> buf; pipe.InitBuffer(buf, 32768); LocalTensor<uint8_t> ub = buf.Get<uint8_t>();
  DataCopy(ub, gm<uint8_t>(a), 4096); Duplicate(ub[4096].ReinterpretCast<uint16_t>(), (uint16_t)0, 2048); ALL
  LocalTensor<half> h0 = ub.ReinterpretCast<half>(), h1 = ub[1024].ReinterpretCast<half>(), h2 = ub[4096].ReinterpretCast<half>();
  LocalTensor<float> f0 = ub.ReinterpretCast<float>(), f1 = ub[1024].ReinterpretCast<float>(), f2 = ub[4096].ReinterpretCast<float>();
  LocalTensor<int32_t> i0 = ub.ReinterpretCast<int32_t>(), i1 = ub[1024].ReinterpretCast<int32_t>(), i2 = ub[4096].ReinterpretCast<int32_t>();
  LocalTensor<int8_t> b2 = ub[4096].ReinterpretCast<int8_t>(); LocalTensor<int4b_t> n2 = ub[4096].ReinterpretCast<int4b_t>();
  %s ALL DataCopy(gm<uint8_t>(o), ub[4096], 4096); ALL }
"""
VECTOR = {
    "add_relu_cast": "AddReluCast(b2, h0, h1, 200);",
    "sub_relu_cast": "SubReluCast(h2, f0, f1, 200);",
    "mul_cast": "MulCast(b2, h0, h1, (uint64_t)100, 2, BinaryRepeatParams(1, 1, 1, 4, 8, 8));",
    "add_deq_relu": "SetDeqScale((half)0.5); AddDeqRelu(h2, i0, i1, 100);",
    "mul_add_relu": "Duplicate(f2, 2.0f, 64); ALL MulAddRelu(f2, f0, f1, 64);",
    "to_nibbles": "Cast(n2, h0, RoundMode::CAST_RINT, 200);",
    "from_nibbles": "Cast(h2, ub.ReinterpretCast<int4b_t>(), RoundMode::CAST_NONE, 200);",
    "nchw": "Transpose(h2, h0, ub[16384], TransposeParamsExt(2, 3, 4, 8, TransposeType::TRANSPOSE_NCHW2NHWC));",
    "nhwc": "Transpose(f2, f0, ub[16384], TransposeParamsExt(2, 5, 2, 4, TransposeType::TRANSPOSE_NHWC2NCHW));",
    "slices": "SliceInfo f[] = {{16, 70, 7, 3, 87}, {0, 2, 1, 1, 3}}, t[] = {{0, 47, 0, 3, 48}, {0, 1, 0, 1, 2}}; DataCopy(f2, gm<float>(a), t, f, 2);",
    "pads": "SetPadValue(7.0f); DataCopyPad(f2, gm<float>(a), DataCopyExtParams(1, 20, 0, 0, 0), DataCopyPadExtParams<float>(false, 0, 3, 0));",
    "scalars": "i2.SetValue(0, GetBitCount<1>(0xF0)); i2.SetValue(1, CountLeadingZero(1)); i2.SetValue(2, CountBitsCntSameAsSignBit(1)); i2.SetValue(3, GetSFFValue<0>(0xFF));"
    " i2.SetValue(4, ScalarCast<float, int32_t, RoundMode::CAST_RINT>(2.5f)); i2.SetValue(5, CeilDivision(7, 2)); i2.SetValue(6, GetCtrlSpr<48, 48>());",
    "notes": "f2.SetUserTag(7); uint32_t s[] = {4, 8}; LocalTensor<float> other = f2; other.SetShapeInfo(ShapeInfo(2, s));"
    " i2.SetValue(0, other.GetUserTag()); i2.SetValue(1, GetShapeSize(other.GetShapeInfo())); i2.SetValue(2, f2.GetShapeInfo().shapeDim);",
    "pools": "TBufPool<TPosition::VECCALC> p1, p2; pipe.InitBufPool(p1, 1024); pipe.InitBufPool(p2, 1024, p1); TQue<TPosition::VECIN, 1> q1, q2; p1.InitBuffer(q1, 1, 512);"
    " auto t1 = q1.AllocTensor<float>(); DataCopy(t1, gm<float>(a), 64); q1.EnQue(t1); t1 = q1.DeQue<float>(); Adds(f2, t1, 1.0f, 64); q1.FreeTensor(t1); p1.Reset();"
    " p2.InitBuffer(q2, 1, 512); auto t2 = q2.AllocTensor<float>(); DataCopy(t2, gm<float>(a), 64); q2.EnQue(t2); t2 = q2.DeQue<float>(); Adds(f2[64], t2, 2.0f, 64); q2.FreeTensor(t2);"
    " p2.Reset(); i2.SetValue(128, t1.GetPhyAddr() == t2.GetPhyAddr());",
}  # fmt: skip
OTHER = """
KERNEL(fill, AIV_ONLY) TPipe pipe; InitOutput(gm<half>(o), 1000, (half)3); Fill(gm<int8_t>(o)[2000], 2096, (int8_t)-1); ALL }
KERNEL(poll, AIV_ONLY) auto words = (__gm__ int32_t*)a;
  if (GetBlockIdx() == 1) { WriteGmByPassDCache<int32_t>(words + 16, 5); DataSyncBarrier<MemDsbT::DDR>(); WriteGmByPassDCache<int32_t>(words, -1); return; }
  while (ReadGmByPassDCache<int32_t>(words) != -1) {}
  WriteGmByPassDCache<int32_t>((__gm__ int32_t*)o, ReadGmByPassDCache<int32_t>(words + 16)); }
KERNEL(poll_cached, AIV_ONLY) GlobalTensor<int32_t> word = gm<int32_t>(a); TPipe pipe; TBuf<TPosition::VECCALC> buf; pipe.InitBuffer(buf, 64); auto t = buf.Get<int32_t>();
  if (GetBlockIdx() == 1) { Duplicate(t, 6, 8); ALL DataCopy(gm<int32_t>(o), t, 8); ORDER word.SetValue(0, -1); CLEAN return; }
  do { CLEAN } while (word.GetValue(0) != -1);
  DataCopy(t, gm<int32_t>(o), 8); ALL DataCopy(gm<int32_t>(o)[16], t, 8); ALL }
KERNEL(poll_for_ever, AIV_ONLY) while (ReadGmByPassDCache<int32_t>((__gm__ int32_t*)a) != -1) {} }
KERNEL(group, AIV_ONLY) TPipe pipe; TBuf<TPosition::VECCALC> buf; pipe.InitBuffer(buf, 64); auto t = buf.Get<int32_t>(); GroupBarrier<PipeMode::MTE3_MODE> g(a, 2, 1);
  if (GetBlockIdx() < 2) { Duplicate(t, (int32_t)GetBlockIdx() + 1, 8); ALL DataCopy(gm<int32_t>(o)[64 + GetBlockIdx() * 8], t, 8); ALL g.Arrive(GetBlockIdx()); }
  else { WAIT DataCopy(t, gm<int32_t>(o)[64], 16); ALL DataCopy(gm<int32_t>(o), t, 16); ALL } }
"""
_ORDER = "SetFlag<HardEvent::MTE3_S>(0); WaitFlag<HardEvent::MTE3_S>(0);"
OTHER = OTHER.replace(
    "ALL DataCopy(gm<int32_t>(o), t, 8); ORDER", "ALL DataCopy(gm<int32_t>(o), t, 8); " + _ORDER
)
GROUPS = OTHER.replace("WAIT", "g.Wait(0);") + OTHER[OTHER.index("KERNEL(group") :].replace(
    "WAIT", ""
).replace("group,", "no_group,")
ASSERTS = """KERNEL(asserts, AIV_ONLY) ascendc_assert(GetBlockNum() == 1, "blocks are %d", (int)GetBlockNum()); }
KERNEL(vector_matrix, AIC_ONLY) TPipe pipe; pipe.Destroy(); TBuf<TPosition::A1> l1; TBuf<TPosition::A2> l0a; TBuf<TPosition::B2> l0b; TBuf<TPosition::CO1> l0c;
  pipe.InitBuffer(l1, 8192); pipe.InitBuffer(l0a, 512); pipe.InitBuffer(l0b, 4096); pipe.InitBuffer(l0c, 4096); auto h = l1.Get<half>(); auto x = l0a.Get<half>(), w = l0b.Get<half>(); auto c = l0c.Get<float>();
  DataCopy(h, gm<half>(a), 256); DataCopy(h[256], gm<half>(a)[256], Nd2NzParams(1, 16, 100, 0, 100, 16, 1, 0)); ALL
  LoadData(x, h, LoadData2DParams(0, 1, 1, 0, 0, false, 0)); LoadData(w, h[256], LoadData2DParams(0, 7, 1, 0, 0, false, 0)); ALL
  Mmad(c, x, w, MmadParams(1, 16, 100, 0, false, true)); ALL Fixpipe<float, float, CFG_ROW_MAJOR>(gm<float>(o), c, FixpipeParamsV220(16, 1, 16, 16, false)); ALL }
"""
NAMES = ["fill", "poll", "poll_cached", "poll_for_ever", "group", "no_group", "asserts", "vector_matrix"]


@pytest.fixture(scope="module")
def kernels():
    text = _HEAD + "".join(_VECTOR % item for item in VECTOR.items()) + GROUPS + ASSERTS
    return build_all(text, entries=[*VECTOR, *NAMES])


def run(kernel, values, dtype, blocks=1, output=True, **knobs):
    given = np.zeros(4096, np.uint8)
    raw = np.ascontiguousarray(values).view(np.uint8).reshape(-1)
    given[: raw.size] = raw
    out = np.zeros(4096, np.uint8)
    report = kernel.run(
        blocks, [Argument("a", given), Argument("o", out, output=output)], knobs=Knobs(**knobs)
    )
    return out.view(dtype), report


def two(first, second, dtype):
    """Operands at bytes 0 and 1024."""
    both = np.zeros((2, 1024 // np.dtype(dtype).itemsize), dtype)
    both[0, : len(first)], both[1, : len(second)] = first, second
    return both


@pytest.fixture
def floats():
    rng = np.random.default_rng(5)
    return rng.uniform(-100, 100, (2, 200)).astype(np.float16)


def test_an_operation_and_a_conversion_at_once(kernels, floats):
    a, b = floats
    out, report = run(kernels["add_relu_cast"], two(a, b, np.float16), np.int8)
    assert report.ok, report.findings
    np.testing.assert_array_equal(out[:200], np.clip(np.rint(np.maximum(a + b, 0)), -128, 127))
    out, _ = run(kernels["sub_relu_cast"], two(a, b, np.float32), np.float16)
    np.testing.assert_array_equal(
        out[:200], np.maximum(a.astype(np.float32) - b.astype(np.float32), 0).astype(np.float16)
    )
    out, _ = run(kernels["mul_cast"], two(a / 10, b / 10, np.float16), np.int8)
    product = np.clip(np.rint((a / 10) * (b / 10)), -128, 127)
    np.testing.assert_array_equal(out[:100], product[:100])
    np.testing.assert_array_equal(
        out[128:200], product[128:]
    )  # the second repeat has 100 of its 128 lanes on
    ints = np.arange(-50, 50, dtype=np.int32) * 7
    out, _ = run(kernels["add_deq_relu"], two(ints, ints[::-1] * 2, np.int32), np.float16)
    np.testing.assert_array_equal(out[:100], np.maximum((ints + ints[::-1] * 2) * 0.5, 0).astype(np.float16))
    x = a[:64].astype(np.float32)
    out, _ = run(kernels["mul_add_relu"], two(x, x + 1, np.float32), np.float32)
    np.testing.assert_array_equal(out[:64], np.maximum(x * np.float32(2) + (x + 1), 0))


def test_elements_of_four_bits(kernels, floats):
    values = floats[0] / 8
    out, report = run(kernels["to_nibbles"], values, np.uint8)
    assert report.ok, report.findings
    nibbles = np.stack([out[:100] & 15, out[:100] >> 4], 1).reshape(-1).astype(np.int8)
    want = np.clip(np.rint(values.astype(np.float32)), -8, 7)
    np.testing.assert_array_equal(np.where(nibbles > 7, nibbles - 16, nibbles), want)
    assert not out[100:].any()
    out, report = run(kernels["from_nibbles"], out[:100].copy(), np.float16)
    assert report.ok, report.findings
    np.testing.assert_array_equal(out[:200], want)


def test_images_change_their_order(kernels):
    images = np.arange(2 * 3 * 32).reshape(2, 3, 4, 8).astype(np.float16)
    out, report = run(kernels["nchw"], images, np.float16)
    assert report.ok, report.findings
    np.testing.assert_array_equal(out[: images.size], images.transpose(0, 2, 3, 1).reshape(-1))
    images = np.arange(2 * 8 * 5).reshape(2, 2, 4, 5).astype(np.float32)
    out, report = run(kernels["nhwc"], images, np.float32)
    assert report.ok, report.findings
    np.testing.assert_array_equal(out[: images.size], images.transpose(0, 3, 1, 2).reshape(-1))


def test_slices_and_pads(kernels):
    x = np.arange(3 * 87, dtype=np.float32)
    out, report = run(kernels["slices"], x, np.float32)
    assert report.ok, report.findings
    rows = x.reshape(3, 87)
    want = [rows[i, s : s + 24] for i in (0, 2) for s in (16, 47)]
    np.testing.assert_array_equal(out[:96], np.concatenate(want))
    out, report = run(kernels["pads"], x, np.float32)
    assert report.ok, report.findings
    np.testing.assert_array_equal(out[:8], [0, 1, 2, 3, 4, 7, 7, 7])


def test_what_the_scalar_unit_computes(kernels):
    out, report = run(kernels["scalars"], np.zeros(1), np.int32)
    assert report.ok, report.findings
    np.testing.assert_array_equal(out[:7], [4, 63, 62, 8, 2, 4, 1])
    out, _ = run(kernels["scalars"], np.zeros(1), np.int32, saturate=True)
    assert out[6] == 0
    out, _ = run(kernels["notes"], np.zeros(1), np.int32)
    np.testing.assert_array_equal(out[:3], [7, 32, 0])


def test_two_pools_share_memory(kernels):
    x = np.arange(64, dtype=np.float32)
    out, report = run(kernels["pools"], x, np.float32)
    assert report.ok, report.findings
    np.testing.assert_array_equal(out[:128], np.concatenate([x + 1, x + 2]))
    assert out.view(np.int32)[128] == 1


def test_fills_of_global_memory(kernels):
    out, report = run(kernels["fill"], np.zeros(1), np.uint8)
    assert report.ok, report.findings
    np.testing.assert_array_equal(out[:2000].view(np.float16), np.full(1000, 3))
    assert (out[2000:] == 0xFF).all()


@pytest.mark.parametrize("seed", range(3))
def test_a_word_that_is_polled(kernels, seed):
    out, report = run(kernels["poll"], np.zeros(1), np.int32, blocks=2, output=False, seed=seed)
    assert report.ok, report.findings
    assert out[0] == 5


@pytest.mark.parametrize("seed", range(3))
def test_a_word_that_is_polled_through_the_cache(kernels, seed):
    out, report = run(kernels["poll_cached"], np.zeros(1), np.int32, blocks=2, output=False, seed=seed)
    assert report.ok, report.findings
    assert (out[16:24] == 6).all()


def test_polling_for_ever_is_a_deadlock(kernels):
    _, report = run(kernels["poll_for_ever"], np.zeros(1), np.int32, output=False)
    (finding,) = report.findings
    assert finding.rule == "deadlock" and "the word it polls" in finding.message


@pytest.mark.parametrize("seed", range(3))
def test_a_group_waits_for_another(kernels, seed):
    out, report = run(kernels["group"], np.zeros(1), np.int32, blocks=3, output=False, seed=seed)
    assert report.ok, report.findings
    np.testing.assert_array_equal(out[:16], np.repeat([1, 2], 8))
    _, report = run(kernels["no_group"], np.zeros(1), np.int32, blocks=3, output=False, seed=seed)
    assert {f.check for f in report.findings} == {"racecheck"}


def test_an_assertion_ends_the_run(kernels):
    _, report = run(kernels["asserts"], np.zeros(1), np.int32, output=False)
    assert report.ok
    with pytest.raises(LaunchError, match="blocks are 2 failed on block 0"):
        run(kernels["asserts"], np.zeros(1), np.int32, blocks=2, output=False)


def test_one_row_times_a_matrix(kernels):
    rng = np.random.default_rng(7)
    x = np.zeros(256, np.float16)
    x[:100] = rng.integers(-4, 5, 100)
    w = rng.integers(-4, 5, (16, 100)).astype(np.float16)
    out, report = run(kernels["vector_matrix"], np.concatenate([x, w.reshape(-1)])[:1856], np.float32)
    assert report.ok, report.findings
    np.testing.assert_array_equal(out[:16], w.astype(np.float32) @ x[:100].astype(np.float32))
