# ruff: noqa: E501  (C++ statements stay on one line)
"""LoadData 3D with filters, strides, padding and transposition, and transposing loads of words, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from attndsl.emulator import Argument, build_all

_KERNEL = """
extern "C" __global__ __aicore__ void %(name)s(GM_ADDR a, GM_ADDR b, GM_ADDR c) {
  using T = %(type)s;
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  InitSocState();
  constexpr uint32_t m = %(m)d, n = %(n)d, k = %(k)d, c0 = 32 / sizeof(T);
  LocalTensor<T> a1(TPosition::A1, 0, 32768), b1(TPosition::B1, 131072, 32768), a0(TPosition::A2, 0, 16384), b0(TPosition::B2, 0, 16384);
  LocalTensor<float> l0c(TPosition::CO1, 0, 16384);
  GlobalTensor<T> ga, gb;
  GlobalTensor<float> gc;
  ga.SetGlobalBuffer((__gm__ T*)a);
  gb.SetGlobalBuffer((__gm__ T*)b);
  gc.SetGlobalBuffer((__gm__ float*)c);
  %(load)s
  PipeBarrier<PIPE_ALL>();
  MmadParams p(m, n, k, 0, false, true);
  p.kDirectionAlign = %(align)s;
  Mmad(l0c, a0, b0, p);
  PipeBarrier<PIPE_ALL>();
  Fixpipe<float, float>(gc, l0c, FixpipeParamsV220(n, m, (m + 15) / 16 * 16, n, false));
  PipeBarrier<PIPE_ALL>();
}
"""
_SETUP = "LoadData3DParamsV2<T> w; w.l1H = %d; w.l1W = %d; w.channelSize = %d; w.kExtension = %d; w.mExtension = %d;"
# B^T [n, k] row-major through plain fractal loads
_PLAIN_B = "DataCopy(b1, gb, Nd2NzParams(1, n, k, 0, k, n, 1, 0)); PipeBarrier<PIPE_ALL>(); LoadData(b0, b1, LoadData2DParams(0, n / 16 * k / c0, 1, 0, 0, false, 0));"
_IMAGE = "DataCopy(a1, ga, 2 * 6 * 5 * 16); PipeBarrier<PIPE_ALL>();"
_CONV = (
    _PLAIN_B
    + _IMAGE
    + _SETUP % (6, 5, 32, 32 * 6, 16)
    + "w.filterH = 3; w.filterW = 2; w.strideH = 2; w.dilationFilterW = 2; w.padList[0] = 1; w.padList[1] = 1; w.padList[2] = 1; w.padList[3] = 1; w.padValue = (half)0.5; {tail} LoadData(a0, a1, w);"
)
# A^T [k, m] row-major, turned on the way to L0A
_TURNED_A = "DataCopy(a1, ga, Nd2NzParams(1, k, m, 0, m, k, 1, 0)); PipeBarrier<PIPE_ALL>();" + (
    "LoadData3DParamsV2<T> w; w.l1H = 1; w.l1W = k; w.channelSize = m; w.kExtension = m; w.mExtension = k; w.enTranspose = true; LoadData(a0, a1, w);"
)
_PLAIN_A = "DataCopy(a1, ga, Nd2NzParams(1, m, k, 0, k, m, 1, 0)); PipeBarrier<PIPE_ALL>(); for (uint32_t i = 0; i < m / 16; ++i) LoadData(a0[i * 16 * k], a1[i * 16 * c0], LoadData2DParams(0, k / c0, m / 16, 0, 0, false, 0));"
# B [k, n] row-major
_WORDS_B = "DataCopy(b1, gb, Nd2NzParams(1, k, n, 0, n, k, 1, 0)); PipeBarrier<PIPE_ALL>();"
_WINDOW_B = _WORDS_B + (
    "LoadData3DParamsV2<T> v; v.l1H = 1; v.l1W = k; v.channelSize = n; v.kExtension = n; v.mExtension = k; LoadData(b0, b1, v);"
)
_MATRIX_A = "DataCopy(a1, ga, Nd2NzParams(1, 64, 64, 0, 64, 64, 1, 0)); PipeBarrier<PIPE_ALL>();" + _SETUP % (
    1,
    64,
    64,
    32,
    16,
)
_WORDS_B_WIDE = "DataCopy(b1, gb, Nd2NzParams(1, k, 24, 0, 24, k, 1, 0)); PipeBarrier<PIPE_ALL>(); LoadData3DParamsV2<T> v; v.l1H = 1; v.l1W = k; v.channelSize = 24; v.mExtension = k;"
# sizes and padding from registers, the rest in two words
_WRAPPED = (
    "DataCopy(a1, ga, Nd2NzParams(1, 32, 32, 0, 32, 32, 1, 0)); PipeBarrier<PIPE_ALL>(); const uint8_t none[4] = {0, 0, 0, 0}; "
    "LoadData3DParamsV2Pro q; q.channelSize = 32; q.extConfig = ((uint64_t)32 << 16) | 32; SetFmatrix(32, 1, none, FmatrixMode::FMATRIX_LEFT); "
    "SetLoadDataBoundary(%d); LoadData(a0, a1, q);"
)
_PRO_TAIL = (
    "Load3DSetFMatrixCal(6, 5, w.padList); SetLoadDataPaddingValue((half)0.5); "
    "LoadData3DParamsV2Pro q(32, false, false, false, false, false, ((uint64_t)16 << 16) | 192, 0x010203020201ull);"
)
# k = 16 rows: the two fractals of a 16x16 block follow each other
_TURN_WORDS = (
    _WORDS_B + "LoadDataWithTranspose(b0, b1, LoadData2dTransposeParams(0, n / 16, 1, 0, n / 16 - 1));"
)
CASES = {
    # 6x5 image of 32 channels, 3x2 filter, stride 2 and 1, dilation 1 and 2, padding 1: 3 x 5 positions
    "conv": ("half", 15, 16, 192, _CONV.replace("{tail}", ""), "false"),
    "too_far": ("half", 15, 16, 192, _CONV.replace("{tail}", "w.kStartPt = 16;"), "false"),
    "turned_half": ("half", 32, 48, 64, _PLAIN_B + _TURNED_A, "false"),
    "turned_float": ("float", 32, 48, 32, _PLAIN_B + _TURNED_A, "true"),
    "window_float": ("float", 32, 48, 32, _PLAIN_A + _WINDOW_B, "false"),
    # two windows of 16 rows, 48 apart, of a matrix of 64: rows 0..15 and 48..63
    "rows_repeat": (
        "half",
        32,
        16,
        32,
        _PLAIN_B + _MATRIX_A + "SetLoadDataRepeat({3, 2, 0}); LoadData(a0, a1, w);",
        "false",
    ),
    # two windows of 16 columns, 32 apart, of a matrix of 64 columns: columns 16..31 and 48..63
    "columns_repeat": (
        "half",
        32,
        16,
        32,
        _PLAIN_B
        + _MATRIX_A
        + "w.mExtension = 32; w.kStartPt = 16; w.kExtension = 16; SetLoadDataRepeat({2, 2, 1}); LoadData(a0, a1, w);",
        "false",
    ),
    # two windows of 8 columns of words, turned on the way to L0B: 16 columns, as one
    "turned_repeat": (
        "float",
        32,
        16,
        32,
        _PLAIN_A + _WORDS_B_WIDE + "v.kExtension = 8; SetLoadDataRepeat({2, 2, 1}); LoadData(b0, b1, v);",
        "false",
    ),
    "no_repeat": (
        "half",
        32,
        16,
        32,
        _PLAIN_B
        + _MATRIX_A
        + "LoadDataRepeatParam none; none.repeatTime = 0; w.mExtension = 32; LoadData(a0, a1, w); SetLoadDataRepeat(none); w.mStartPt = 16; LoadData(a0, a1, w);",
        "false",
    ),
    # past 1 KiB of L1 (16 columns of 32 rows) the same rows come again
    "boundary": ("half", 32, 16, 32, _PLAIN_B + _WRAPPED % 1024, "false"),
    "boundary_too_low": ("half", 32, 16, 32, _PLAIN_B + _WRAPPED % 1023, "false"),
    "past_boundary": (
        "half",
        32,
        16,
        32,
        _PLAIN_B + _WRAPPED.replace("LoadData(a0, a1, q)", "LoadData(a0, a1[512], q)") % 1024,
        "false",
    ),
    "pro": (
        "half",
        15,
        16,
        192,
        _CONV.replace("{tail}", _PRO_TAIL).replace("LoadData(a0, a1, w)", "LoadData(a0, a1, q)"),
        "false",
    ),
    "words": ("float", 16, 48, 16, _PLAIN_A + _TURN_WORDS, "false"),
}


@pytest.fixture(scope="module")
def kernels():
    keys = ("type", "m", "n", "k", "load", "align")
    text = '#include "kernel_operator.h"\nusing namespace AscendC;\n'
    text += "".join(
        _KERNEL % {"name": name, **dict(zip(keys, case, strict=True))} for name, case in CASES.items()
    )
    return build_all(text, entries=list(CASES))


def _run(kernels, name, a, b):
    _, m, n, *_ = CASES[name]
    out = np.zeros((m, n), np.float32)
    report = kernels[name].run(1, [Argument("a", a), Argument("b", b), Argument("c", out, output=True)])
    return out, report


def _values(shape, dtype, seed):
    return np.random.default_rng(seed).integers(-8, 8, shape).astype(dtype)


def _columns(image):
    """The matrix of windows: rows are output positions, columns (group, filter row, filter column, channel)."""
    padded = np.full((2, 8, 7, 16), 0.5, np.float32)
    padded[:, 1:7, 1:6] = image
    rows = [
        np.stack([padded[g, 2 * y + i, x + 2 * j] for g in range(2) for i in range(3) for j in range(2)])
        for y in range(3)
        for x in range(5)
    ]
    return np.stack(rows).reshape(15, -1)


def test_convolution(kernels):
    image, filters = _values((2, 6, 5, 16), np.float16, 0), _values((16, 192), np.float16, 1)
    out, report = _run(kernels, "conv", image, filters)
    assert report.ok, report.findings
    np.testing.assert_array_equal(out, _columns(image) @ filters.astype(np.float32).T)


def test_columns_past_the_image_are_flagged(kernels):
    image, filters = _values((2, 6, 5, 16), np.float16, 0), _values((16, 192), np.float16, 1)
    _, report = _run(kernels, "too_far", image, filters)
    assert "window_range" in {f.rule for f in report.findings}


@pytest.mark.parametrize("name", ["turned_half", "turned_float"])
def test_transposing_the_left_operand(kernels, name):
    t, m, n, k, *_ = CASES[name]
    dtype = np.float16 if t == "half" else np.float32
    a, b = _values((k, m), dtype, 0), _values((n, k), dtype, 1)
    out, report = _run(kernels, name, a, b)
    assert report.ok, report.findings
    np.testing.assert_array_equal(out, a.T.astype(np.float32) @ b.T.astype(np.float32))


def test_packed_parameters_are_the_same_load(kernels):
    image, filters = _values((2, 6, 5, 16), np.float16, 0), _values((16, 192), np.float16, 1)
    out, report = _run(kernels, "pro", image, filters)
    assert report.ok, report.findings
    np.testing.assert_array_equal(out, _columns(image) @ filters.astype(np.float32).T)


@pytest.mark.parametrize(
    ("name", "taken"),
    [
        ("rows_repeat", (slice(0, 16), slice(48, 64), slice(0, 32), slice(0, 0))),
        ("columns_repeat", (slice(0, 32), slice(0, 0), slice(16, 32), slice(48, 64))),
        ("no_repeat", (slice(0, 32), slice(0, 0), slice(0, 32), slice(0, 0))),
    ],
)
def test_repeated_windows_are_one_matrix(kernels, name, taken):
    a, b = _values((64, 64), np.float16, 0), _values((16, 32), np.float16, 1)
    out, report = _run(kernels, name, a, b)
    assert report.ok, report.findings
    rows, columns = np.r_[taken[0], taken[1]], np.r_[taken[2], taken[3]]
    np.testing.assert_array_equal(out, a[np.ix_(rows, columns)].astype(np.float32) @ b.astype(np.float32).T)


def test_repeated_windows_are_turned_as_one(kernels):
    a, b = _values((32, 32), np.float32, 0), _values((32, 24), np.float32, 1)
    out, report = _run(kernels, "turned_repeat", a, b)
    assert report.ok, report.findings
    np.testing.assert_array_equal(out, a @ b[:, np.r_[0:8, 16:24]])


def test_what_lies_past_the_boundary_is_read_from_the_start(kernels):
    a, b = _values((32, 32), np.float16, 0), _values((16, 32), np.float16, 1)
    out, report = _run(kernels, "boundary", a, b)
    assert report.ok, report.findings
    wrapped = np.concatenate([a[:, :16], a[:, :16]], axis=1).astype(np.float32)
    np.testing.assert_array_equal(out, wrapped @ b.astype(np.float32).T)


@pytest.mark.parametrize("name", ["boundary_too_low", "past_boundary"])
def test_illegal_boundaries_are_flagged(kernels, name):
    a, b = _values((32, 32), np.float16, 0), _values((16, 32), np.float16, 1)
    _, report = _run(kernels, name, a, b)
    assert "load3d_range" in {f.rule for f in report.findings}


@pytest.mark.parametrize("name", ["window_float", "words"])
def test_transposing_words_of_the_right_operand(kernels, name):
    _, m, n, k, *_ = CASES[name]
    a, b = _values((m, k), np.float32, 0), _values((k, n), np.float32, 1)
    out, report = _run(kernels, name, a, b)
    assert report.ok, report.findings
    np.testing.assert_array_equal(out, a @ b)
