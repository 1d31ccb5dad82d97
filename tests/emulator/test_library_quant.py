# ruff: noqa: E501  (C++ statements stay on one line)
"""Functions of the library that quantise, pick the largest, and pad rows."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.support.emulator_playground import IMAGE, get, put, run_image, vector_kernels

ROWS, COLUMNS = 4, 64
COUNT = ROWS * COLUMNS
HALF, FLOAT, BF16 = np.float16, np.float32, ml_dtypes.bfloat16
NAMES = {HALF: "half", FLOAT: "float", BF16: "bfloat16_t"}
A, OUT, SCALE, OFFSET, INDEX, FLAGS, TMP = (4096 * i for i in range(7))


def body(call, dtype, room=16384):
    return f"""using T = {NAMES[dtype]};
      auto a = ub.at<T>({A}), d = ub.at<T>({OUT}), scale = ub.at<T>({SCALE}), offset = ub.at<T>({OFFSET});
      auto q = ub.at<int8_t>({OUT}), stored = ub.at<int8_t>({A}); auto i = ub.at<int32_t>({A});
      auto four = ub.at<int4b_t>({A}); auto index = ub.at<int32_t>({INDEX}), given = ub.at<int32_t>({SCALE});
      auto words = ub.at<uint64_t>({SCALE}); auto flags = ub.at<bool>({FLAGS});
      auto tmp = ub.at<uint8_t>({TMP}); tmp.SetSize({room});
      a.SetSize({COUNT}); stored.SetSize({COUNT}); i.SetSize({COUNT}); four.SetSize({COUNT});
      scale.SetSize({COLUMNS}); offset.SetSize({COLUMNS}); words.SetSize({COLUMNS});
      TopkTiling topk; PadTiling pad; UnPadTiling unpad;
      pad.srcHeight = unpad.srcHeight = {ROWS}; unpad.srcWidth = pad.srcWidth = {COLUMNS};
      uint32_t line[2] = {{1, {COLUMNS}}}, column[2] = {{{ROWS}, 1}}, all[2] = {{{ROWS}, {COLUMNS}}};
      (void)line; (void)column; (void)all;
      {call};"""


QUANT = {
    "one": "AscendQuant(q, a, tmp, 2.0f, 0.9f, a.GetSize())",
    "row": "AscendQuant(q, a, tmp, scale, T(3), 64, 256)",
    "rows": "AscendQuant(q, a, tmp, scale, offset)",
    "rows_free": "AscendQuant(q, a, scale, offset)",
}
SHAPE = f"{{{ROWS}, {COLUMNS}, 40}}"
DEQUANT = {
    "tensor": f"AscendDequant(d, i, scale, tmp, {SHAPE})",
    "scalar": f"AscendDequant(d, i, T(1.5), tmp, {SHAPE})",
    "one_row": f"AscendDequant(d, i, scale, tmp, {{1, {COUNT}, {COLUMNS}}})",
    "old": "AscendDequant(d, i, scale, tmp)",
}
WORDS = f"AscendDequant(d, i, words, tmp, {SHAPE})"
ANTI = {
    "columns": f"AscendAntiQuant<int8_t, T, false>(d, stored, offset, scale, tmp, {ROWS}, {{1, 64, 1, 64}})",
    "turned": "AscendAntiQuant<int8_t, T, true>(d, stored, offset, scale, tmp, 64, {4, 1, 4, 1})",
    "unshifted": f"scale.SetShapeInfo(ShapeInfo(2, line)); AscendAntiQuant<int8_t, T, false>(d, stored, scale, tmp, {ROWS})",
    "one": "AscendAntiQuant<int8_t, T, false>(d, stored, T(5), T(1.5), tmp, 4)",
    "four": "AscendAntiQuant<int4b_t, T, false>(d, four, T(5), T(1.5), tmp, 4)",
}
INFO = f"TopKInfo{{{ROWS}, {COLUMNS}, 60}}"
# tensors begin at any block, as queues hand them out
MOVE = f"a = ub.at<T>({A + 32}); given = ub.at<int32_t>({SCALE + 32}); tmp = ub.at<uint8_t>({TMP + 32}); tmp.SetSize(8192);"
TOPK = {
    "largest": f"TopK<T>(d, index, a, given, flags, tmp, 5, topk, {INFO})",
    "smallest": f"TopK<T, true, true>(d, index, a, given, flags, tmp, 5, topk, {INFO}, false)",
    "small": "TopK<T, false, false, false, TopKMode::TOPK_NSMALL>(d, index, a, given, flags, tmp, 5, topk, TopKInfo{8, 32, 32})",
    "moved_largest": f"{MOVE} TopK<T, true>(d, index, a, given, flags, tmp, 5, topk, {INFO})",
    "small_moved": f"{MOVE} TopK<T, true, false, false, TopKMode::TOPK_NSMALL>(d, index, a, given, flags, tmp, 5, topk, TopKInfo{{8, 32, 32}})",
    "small_given": "TopK<T, true, false, false, TopKMode::TOPK_NSMALL>(d, index, a, given, flags, tmp, 31, topk, TopKInfo{8, 32, 32}, false)",
}
PAD = "PadParams p{%d, %d, 7}; Pad(d, a, p, tmp, pad)"
UNPAD = "UnPadParams p{0, %d}; UnPad(d, a, p, unpad)"
BYTES = {
    "spread": "BroadCast<int8_t, 2, 1>(q, stored, all, column, tmp)",
    "repeated": "BroadCast<int8_t, 2, 0>(q, stored, all, line)",
}
SYNC = "SetSyncBaseAddr(%s)"
# what is flagged, with the rule; its near twin is not
WRONG = {
    "quant_shape": ("AscendQuant(q, a, tmp, scale, T(3), 48, 240)", "AscendQuant(q, a, tmp, scale, T(3), 32, 224)"),
    "quant_shape_dequant": (
        f"AscendDequant(d, i, scale, tmp, {{{ROWS}, 60, 40}})", f"AscendDequant(d, i, scale, tmp, {{{ROWS}, 56, 40}})",
    ),
    "quant_shape_anti": (
        "AscendAntiQuant<int8_t, half, true>(ub.at<half>(4096), stored, ub.at<half>(8192), ub.at<half>(12288), tmp, 48, {4, 1, 4, 1})",
        "AscendAntiQuant<int8_t, half, true>(ub.at<half>(4096), stored, ub.at<half>(8192), ub.at<half>(12288), tmp, 32, {4, 1, 4, 1})",
    ),
    "work_tensor_size": (
        "tmp.SetSize(511); AscendQuant(q, a, tmp, 2.0f, 0.9f)", "tmp.SetSize(512); AscendQuant(q, a, tmp, 2.0f, 0.9f)",
    ),
    "work_tensor_size_topk": (
        f"tmp.SetSize(256 + 64 * 20 - 32); TopK<T>(d, index, a, given, flags, tmp, 5, topk, {INFO})",
        f"tmp.SetSize(256 + 64 * 20); TopK<T>(d, index, a, given, flags, tmp, 5, topk, {INFO})",
    ),
    "topk_shape": (
        "TopK<T>(d, index, a, given, flags, tmp, 61, topk, TopKInfo{4, 64, 60})",
        "TopK<T>(d, index, a, given, flags, tmp, 60, topk, TopKInfo{4, 64, 60})",
    ),
    "topk_shape_small": (
        "TopK<T, false, true, false, TopKMode::TOPK_NSMALL>(d, index, a, given, flags, tmp, 5, topk, TopKInfo{8, 32, 32})",
        "TopK<T, false, false, false, TopKMode::TOPK_NSMALL>(d, index, a, given, flags, tmp, 5, topk, TopKInfo{8, 32, 32})",
    ),
    "pad_shape": ("pad.srcWidth = 60; " + PAD % (1, 4), "pad.srcWidth = 60; " + PAD % (1, 3)),
    "pad_shape_unpad": (UNPAD % 8, UNPAD % 7),
    "sync_base": (SYNC % "0", SYNC % "0x40000000"),
}  # fmt: skip


@pytest.fixture(scope="module")
def kernels():
    bodies = {f"wrong_{name}": body(wrong, FLOAT) for name, (wrong, _) in WRONG.items()}
    bodies |= {f"right_{name}": body(right, FLOAT) for name, (_, right) in WRONG.items()}
    bodies["words"] = body(WORDS, HALF)
    for group, table, dtypes in (
        ("quant", QUANT, (HALF, FLOAT)), ("dequant", DEQUANT, (FLOAT, BF16)), ("anti", ANTI, (HALF, BF16)),
        ("topk", TOPK, (HALF, FLOAT)), ("bytes", BYTES, (HALF,)),
        ("pad", {"packed": "pad.srcWidth = 60; " + PAD % (1, 2), "whole": "pad.srcOriWidth = 61; " + PAD % (0, 2),
                 "un": UNPAD % 3}, (HALF, FLOAT)),
    ):  # fmt: skip
        bodies |= {
            f"{group}_{name}_{NAMES[dtype]}": body(call, dtype)
            for name, call in table.items()
            for dtype in dtypes
        }
    return vector_kernels(bodies)


@pytest.fixture
def draw():
    return np.random.default_rng(3)


def run(kernels, name, moved=0, **values):
    image = np.zeros(IMAGE, np.uint8)
    for at, array in values.items():
        put(image, {"a": A + moved, "scale": SCALE + moved, "offset": OFFSET, "flags": FLAGS}[at], array)
    out, report = run_image(kernels[name], image)
    assert report.findings == ()
    return out


@pytest.mark.parametrize("dtype", [HALF, FLOAT])
@pytest.mark.parametrize("name", QUANT)
def test_quantisation_rounds_in_half(kernels, draw, name, dtype):
    a = draw.uniform(-40, 40, (ROWS, COLUMNS)).astype(dtype)
    scale, offset = draw.uniform(1, 3, COLUMNS).astype(dtype), draw.uniform(-9, 9, COLUMNS).astype(dtype)
    found = get(
        run(kernels, f"quant_{name}_{NAMES[dtype]}", a=a, scale=scale, offset=offset), OUT, COUNT, np.int8
    )
    by = {"one": (HALF(2), HALF(0.9)), "row": (scale.astype(HALF), HALF(3))}
    factor, shift = by.get(name, (scale.astype(HALF), offset.astype(HALF)))
    want = np.clip(np.rint(a.astype(HALF) * factor + shift), -128, 127)
    assert (found.reshape(a.shape) == want).all()


@pytest.mark.parametrize("dtype", [FLOAT, BF16])
@pytest.mark.parametrize("name", DEQUANT)
def test_dequantisation_multiplies_in_float(kernels, draw, name, dtype):
    a = draw.integers(-(2**20), 2**20, (ROWS, COLUMNS)).astype(np.int32)
    scale = draw.uniform(-2, 2, COLUMNS).astype(dtype)
    out = run(kernels, f"dequant_{name}_{NAMES[dtype]}", a=a, scale=scale)
    found = get(out, OUT, COUNT, dtype).reshape(ROWS, COLUMNS)
    factor = FLOAT(1.5) if name == "scalar" else scale.astype(FLOAT)
    count = 40 if name in ("tensor", "scalar") else COLUMNS
    want = (a.astype(FLOAT) * factor).astype(dtype)
    assert (found[:, :count] == want[:, :count]).all()


def test_dequantisation_by_words(kernels, draw):
    a = draw.integers(-500, 500, (ROWS, COLUMNS)).astype(np.int32)
    scale = draw.uniform(-2, 2, COLUMNS).astype(FLOAT)
    words = scale.view(np.uint32).astype(np.uint64) | np.uint64(1 << 46)
    found = get(run(kernels, "words", a=a, scale=words), OUT, COUNT, HALF).reshape(ROWS, COLUMNS)
    assert (found[:, :40] == (a.astype(FLOAT) * scale).astype(HALF)[:, :40]).all()


@pytest.mark.parametrize("dtype", [HALF, BF16])
@pytest.mark.parametrize("name", ANTI)
def test_antiquantisation_adds_and_multiplies(kernels, draw, name, dtype):
    stored = draw.integers(-128, 128, COUNT).astype(np.int8)
    scale, offset = draw.uniform(1, 3, COLUMNS).astype(dtype), draw.uniform(-9, 9, COLUMNS).astype(dtype)
    out = run(kernels, f"anti_{name}_{NAMES[dtype]}", a=stored, scale=scale, offset=offset)
    wide = HALF if dtype is HALF else FLOAT
    x, factor, shift = stored.reshape(ROWS, COLUMNS).astype(wide), scale.astype(wide), offset.astype(wide)
    if name == "turned":
        factor, shift = factor[:ROWS, None], shift[:ROWS, None]
    elif name == "unshifted":
        shift = wide(0)
    elif name in ("one", "four"):
        factor, shift = wide(1.5), wide(5)
    if name == "four":
        low = stored.view(np.uint8)[: COUNT // 2]
        pairs = np.stack([low & 15, low >> 4], 1).reshape(ROWS, COLUMNS).astype(np.int8)
        x = np.where(pairs > 7, pairs - 16, pairs).astype(wide)
    want = ((x + shift) * factor).astype(dtype)
    assert (get(out, OUT, COUNT, dtype).reshape(x.shape) == want).all()


@pytest.mark.parametrize("dtype", [HALF, FLOAT])
@pytest.mark.parametrize("name", TOPK)
def test_the_largest_and_the_smallest(kernels, draw, name, dtype):
    small = name.startswith("small_") or name == "small"
    largest, given = name not in ("smallest", "small_given"), name not in ("largest", "small")
    rows, columns, k = (8, 32, 31 if name == "small_given" else 5) if small else (ROWS, COLUMNS, 5)
    a = draw.integers(-30, 30, (rows, columns)).astype(dtype)  # many are the same
    if not small:
        a[:, 60:] = -1000 if largest else 1000
    numbers = np.tile(np.arange(columns, dtype=np.int32) * 3, (rows, 1))
    flags = np.zeros(32, np.uint8)
    flags[1] = 1
    moved = 32 if "moved" in name else 0
    out = run(kernels, f"topk_{name}_{NAMES[dtype]}", moved, a=a, scale=numbers, flags=flags)
    order = np.argsort(-a if largest else a, axis=1, kind="stable")[:, :k]
    pitch, index_pitch = (k, k) if small else (-k // (32 // a.itemsize) * -(32 // a.itemsize), 8)
    values = get(out, OUT, rows * pitch, dtype).reshape(rows, pitch)[:, :k]
    index = get(out, INDEX, rows * index_pitch, np.int32).reshape(rows, index_pitch)[:, :k]
    want = order * (3 if given else 1)
    if name == "smallest":
        want[1] = 60
    assert (values == np.take_along_axis(a, order, 1)).all()
    assert (index == want).all()


@pytest.mark.parametrize("dtype", [HALF, FLOAT])
def test_rows_grow_and_shrink(kernels, draw, dtype):
    a = draw.uniform(-5, 5, COUNT).astype(dtype)
    packed = a[: ROWS * 60].reshape(ROWS, 60)
    found = get(run(kernels, f"pad_packed_{NAMES[dtype]}", a=a), OUT, COUNT, dtype).reshape(ROWS, COLUMNS)
    assert (found[:, 1:61] == packed).all() and (found[:, [0, 61, 62]] == 7).all()
    whole = a.reshape(ROWS, COLUMNS)
    found = get(run(kernels, f"pad_whole_{NAMES[dtype]}", a=a), OUT, COUNT, dtype).reshape(ROWS, COLUMNS)
    assert (found[:, :61] == whole[:, :61]).all() and (found[:, 61:63] == 7).all()
    found = get(run(kernels, f"pad_un_{NAMES[dtype]}", a=a), OUT, ROWS * 61, dtype)
    assert (found.reshape(ROWS, 61) == whole[:, :61]).all()


def test_bytes_are_broadcast(kernels, draw):
    a = draw.integers(-128, 128, COLUMNS).astype(np.int8)
    found = get(run(kernels, "bytes_spread_half", a=a), OUT, COUNT, np.int8).reshape(ROWS, COLUMNS)
    assert (found == a[:ROWS, None]).all()
    found = get(run(kernels, "bytes_repeated_half", a=a), OUT, COUNT, np.int8).reshape(ROWS, COLUMNS)
    assert (found == a).all()


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_fit_is_told(kernels, name):
    rule = next(
        rule
        for rule in ("quant_shape", "work_tensor_size", "topk_shape", "pad_shape", "sync_base")
        if name.startswith(rule)
    )
    image = np.zeros(IMAGE, np.uint8)
    assert [finding.rule for finding in run_image(kernels[f"wrong_{name}"], image)[1].findings] == [rule]
    assert run_image(kernels[f"right_{name}"], image)[1].findings == ()
