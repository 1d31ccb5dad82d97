# ruff: noqa: E501  (C++ statements stay on one line)
"""DataCopy, DataCopyPad, Nd2Nz and atomics against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from attndsl.emulator import Argument, build_all

_VECTOR = """
extern "C" __global__ __aicore__ void %(name)s(GM_ADDR in, GM_ADDR out) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 32768);
  LocalTensor<%(t)s> ub = buffer.Get<%(t)s>();
  GlobalTensor<%(t)s> from, to;
  from.SetGlobalBuffer((__gm__ %(t)s*)in);
  to.SetGlobalBuffer((__gm__ %(t)s*)out);
  Duplicate(ub.template ReinterpretCast<uint16_t>(), (uint16_t)0x3131, 16384);
  PipeBarrier<PIPE_ALL>();
  %(load)s
  PipeBarrier<PIPE_ALL>();
  %(store)s
}
"""
_CUBE = """
extern "C" __global__ __aicore__ void %(name)s(GM_ADDR in, GM_ADDR out) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  TPipe pipe;
  TBuf<TPosition::A1> buffer;
  pipe.InitBuffer(buffer, 65536);
  LocalTensor<%(t)s> l1 = buffer.Get<%(t)s>();
  GlobalTensor<%(t)s> from, to;
  from.SetGlobalBuffer((__gm__ %(t)s*)in);
  to.SetGlobalBuffer((__gm__ %(t)s*)out);
  InitConstValue(l1.template ReinterpretCast<half>(), InitConstValueParams<half>(1, 2048, 0, (half)1));
  PipeBarrier<PIPE_ALL>();
  %(load)s
  PipeBarrier<PIPE_ALL>();
  DataCopy(to, l1, 65536 / sizeof(%(t)s));
}
"""
WHOLE = "DataCopy(to, ub, 32768 / sizeof({t}));"
PADDED = {
    # rows, bytes a row, gap in GM bytes, gap in UB blocks, isPad, left, right
    "plain_half": ("half", 3, 10, 7, 2, False, 0, 0),
    "pad_half": ("half", 3, 10, 7, 0, True, 3, 2),
    "wide_half": ("half", 2, 50, 0, 1, True, 0, 5),
    "exact_float": ("float", 4, 16, 8, 0, False, 0, 0),
    "pad_float": ("float", 5, 7, 3, 0, True, 1, 0),
    "bytes": ("uint8_t", 3, 45, 9, 1, True, 0, 3),
}
NZ = {
    # rows, columns, pitch, C0 stride, row stride
    "nz_half": ("half", 20, 40, 48, 32, 1),
    "nz_exact": ("half", 16, 32, 32, 16, 1),
    "nz_float": ("float", 9, 20, 21, 16, 1),
    "nz_int8": ("int8_t", 17, 70, 80, 32, 1),
    "nz_spaced": ("half", 8, 16, 16, 64, 2),
}


@pytest.fixture(scope="module")
def kernels():
    text, names = ['#include "kernel_operator.h"\nusing namespace AscendC;\n'], []

    def add(template, name, t, load, store=""):
        names.append(name)
        text.append(template % {"name": name, "t": t, "load": load, "store": store})

    for name, (t, rows, count, gap, ub_gap, pad, left, right) in PADDED.items():
        add(
            _VECTOR, name, t,
            f"DataCopyPad(ub, from, DataCopyExtParams({rows}, {count} * sizeof({t}), {gap} * sizeof({t}), {ub_gap}, 0), DataCopyPadExtParams<{t}>({str(pad).lower()}, {left}, {right}, ({t})9));",
            WHOLE.format(t=t),
        )  # fmt: skip
    add(
        _VECTOR,
        "store_pad",
        "half",
        "DataCopy(ub, from, 1024);",
        "DataCopyPad(to, ub, DataCopyExtParams(5, 22, 1, 6, 0));",
    )
    add(
        _VECTOR,
        "strided",
        "float",
        "DataCopy(ub, from, DataCopyParams(4, 3, 2, 1));",
        "DataCopy(to, ub, DataCopyParams(4, 3, 1, 5));",
    )
    add(_VECTOR, "past_the_end", "float", "DataCopy(ub, from, 24);", "DataCopy(to, ub, 24);")
    for t in ("half", "float", "int32_t"):
        add(
            _VECTOR,
            f"atomic_{t}",
            t,
            "DataCopy(ub, from, 256);",
            f"SetAtomicAdd<{t}>(); DataCopy(to, ub, 256); PipeBarrier<PIPE_MTE3>(); DataCopyPad(to, ub, DataCopyExtParams(1, 10 * sizeof({t}), 0, 0, 0)); SetAtomicNone();",
        )
    for name, (t, rows, columns, pitch, c0, step) in NZ.items():
        add(
            _CUBE,
            name,
            t,
            f"DataCopy(l1, from, Nd2NzParams(1, {rows}, {columns}, 0, {pitch}, {c0}, {step}, 0));",
        )
    add(_CUBE, "nz_several", "half", "DataCopy(l1, from, Nd2NzParams(3, 16, 16, 700, 32, 16, 1, 512));")
    return build_all("".join(text), entries=names)


DTYPES = {
    "half": np.float16,
    "float": np.float32,
    "uint8_t": np.uint8,
    "int8_t": np.int8,
    "int32_t": np.int32,
}


def _input(t: str, bytes_: int = 8192) -> np.ndarray:
    dtype = np.dtype(DTYPES[t])
    return (
        np.random.default_rng(0)
        .integers(-100 if dtype.kind != "u" else 0, 100, bytes_ // dtype.itemsize)
        .astype(dtype)
    )


@pytest.mark.parametrize("name", PADDED)
def test_load_with_padding(kernels, name):
    t, rows, count, gap, ub_gap, pad, left, right = PADDED[name]
    source = _input(t)
    out = np.zeros(32768 // source.itemsize, source.dtype)
    # pads without a value and the dummy fill are undefined: the output argument here is a workspace
    report = kernels[name].run(1, [Argument("in", source), Argument("out", out, scratch=True)])
    assert report.ok, report.findings
    line = -(-(left + count + right) * source.itemsize // 32) * 32 // source.itemsize
    per_block = 32 // source.itemsize
    for r in range(rows):
        at = r * (line + ub_gap * per_block)
        row = source[r * (count + gap) :][:count]
        np.testing.assert_array_equal(out[at + left : at + left + count], row)
        if pad:
            np.testing.assert_array_equal(out[at : at + left], 9)
            np.testing.assert_array_equal(out[at + left + count : at + left + count + right], 9)
        elif left == right == 0:
            np.testing.assert_array_equal(out[at + count : at + line], row[0])
        between = out[at + line : at + line + ub_gap * per_block]
        np.testing.assert_array_equal(between.view(np.uint8), 0x31)


def test_store_of_unaligned_rows(kernels):
    source = _input("half")
    out = np.full(200, -1, np.float16)
    report = kernels["store_pad"].run(1, [Argument("in", source), Argument("out", out)])
    assert report.ok, report.findings
    expected = np.full(200, -1, np.float16)
    for r in range(5):
        expected[r * 14 : r * 14 + 11] = source[r * 32 : r * 32 + 11]
    np.testing.assert_array_equal(out, expected)


def test_what_lies_behind_an_array_is_poison(kernels):
    source = _input("float", 80)
    out = np.zeros(24, np.float32)
    report = kernels["past_the_end"].run(1, [Argument("in", source), Argument("out", out, output=True)])
    assert {f.rule for f in report.findings} == {"out_of_range", "undefined_value"}
    np.testing.assert_array_equal(out[:20], source)
    assert np.isnan(out[20:]).all()
    # nor does what is stored there stay in the next array
    kept = np.zeros(20, np.float32)
    report = kernels["past_the_end"].run(1, [Argument("in", _input("float")), Argument("out", kept)])
    assert {f.rule for f in report.findings} == {"out_of_range"}
    np.testing.assert_array_equal(kept, _input("float")[:20])


def test_strided_blocks(kernels):
    source = _input("float")
    out = np.zeros(1024, np.float32)
    report = kernels["strided"].run(1, [Argument("in", source), Argument("out", out)])
    assert report.ok, report.findings
    expected = np.zeros(1024, np.float32)
    for r in range(4):
        expected[r * 64 : r * 64 + 24] = source[r * 40 : r * 40 + 24]
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("t", ["half", "float", "int32_t"])
def test_atomic_add(kernels, t):
    source = _input(t)
    out = _input(t)[::-1].copy()
    expected = out.copy()
    expected[:256] += source[:256]
    expected[:10] += source[:10]
    report = kernels[f"atomic_{t}"].run(2, [Argument("in", source), Argument("out", out)])
    expected[:256] += source[:256]
    expected[:10] += source[:10]
    assert report.ok, report.findings  # atomics of two blocks do not race
    np.testing.assert_array_equal(out, expected)


def _nz(source, rows, columns, pitch, c0_stride, step, size):
    per = 32 // source.itemsize
    image = np.full(size, np.float16(1)).view(source.dtype).copy()
    for g in range(-(-columns // per)):
        for r in range(rows):
            at = (g * c0_stride + r * step) * per
            part = source[r * pitch + g * per : r * pitch + min(columns, (g + 1) * per)]
            image[at : at + per] = 0
            image[at : at + part.size] = part
    return image


@pytest.mark.parametrize("name", NZ)
def test_rows_to_fractals(kernels, name):
    t, rows, columns, pitch, c0, step = NZ[name]
    source = _input(t)
    out = np.zeros(65536 // source.itemsize, source.dtype)
    report = kernels[name].run(1, [Argument("in", source), Argument("out", out, output=True)])
    assert report.ok, report.findings
    np.testing.assert_array_equal(out, _nz(source, rows, columns, pitch, c0, step, 32768))


def test_several_matrices_to_fractals(kernels):
    source = _input("half")
    out = np.zeros(32768, np.float16)
    report = kernels["nz_several"].run(1, [Argument("in", source), Argument("out", out, output=True)])
    assert report.ok, report.findings
    for m in range(3):
        rows = np.stack([source[m * 700 + r * 32 :][:16] for r in range(16)])
        np.testing.assert_array_equal(out[m * 512 : m * 512 + 256].reshape(16, 16), rows)
