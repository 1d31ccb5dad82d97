"""What each vector instruction and copy does, written out lane by lane from the API reference."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attndsl.expr import Const, Symbol, as_expr
from attndsl.tile.instructions import (
    AddScaled,
    Binary,
    Bitwise,
    BlockReduce,
    BroadcastRows,
    CompareLanes,
    CompareWithScalar,
    Convert,
    Fill,
    FillLanes,
    IsBeyond,
    LoadRows,
    RowReduce,
    SelectOrScalar,
    ShiftBits,
    StoreRows,
    Unary,
    WithScalar,
)

from .bench import Bench, buffer, tensor

RNG = np.random.default_rng(1)
ROWS, LANES = st.integers(1, 8), st.integers(1, 64)


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


SCALAR = {
    "Exp": math.exp, "Ln": math.log, "Abs": abs, "Sqrt": math.sqrt,
    "Add": lambda a, b: a + b, "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b, "Div": lambda a, b: a / b,
    "Max": max, "Min": min,
    "Adds": lambda a, b: a + b, "Muls": lambda a, b: a * b, "Maxs": max, "Mins": min,
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("op", ["Exp", "Ln", "Abs", "Sqrt"])
def test_unary(op, dtype):
    x, y = buffer("x", dtype, 80), buffer("y", dtype, 80)
    values = np.abs(normal(50)).astype(dtype) + np.ones(1, dtype)
    bench = Bench()
    bench.put(x, np.concatenate([np.zeros(16), values]))
    Unary(op=op, dst=y.region(0, 1, 50), src=x.region(16, 1, 50)).run(bench)
    expected = [SCALAR[op](float(v)) for v in values]
    got = bench.slot(y).astype(float)
    np.testing.assert_allclose(got[:50], expected, rtol=2e-7 if dtype == "float32" else 1e-3)
    assert (got[50:] == bench.fill).all()


@pytest.mark.parametrize("op", ["Adds", "Muls", "Maxs", "Mins"])
def test_with_scalar(op):
    x, y = buffer("x", "float32", 70), buffer("y", "float32", 70)
    values = normal(70)
    bench = Bench()
    bench.put(x, values)
    WithScalar(op=op, dst=y.region(8, 1, 33), src=x.region(0, 1, 33), scalar=Const(0.25)).run(bench)
    expected = np.array([SCALAR[op](float(v), 0.25) for v in values[:33]], np.float32)
    got = bench.slot(y)
    assert np.array_equal(got[8:41], expected)
    assert (got[:8] == bench.fill).all()
    assert (got[41:] == bench.fill).all()


def test_two_shifts_leave_the_power_of_two_of_a_number():
    x, y = buffer("x", "float32", 16), buffer("y", "float32", 16)
    values = np.array([1, 1.5, 0.7, 640, 2.0**-126, 0, np.inf], np.float32)
    bench = Bench()
    bench.put(x, values)
    ShiftBits(op="ShiftRight", dst=y.region(8, 1, 7), src=x.region(0, 1, 7), bits=23).run(bench)
    assert (bench.slot(y)[8:15].view(np.uint32) == [127, 127, 126, 136, 1, 0, 255]).all()
    ShiftBits(op="ShiftLeft", dst=y.region(8, 1, 7), src=y.region(8, 1, 7), bits=23).run(bench)
    assert (bench.slot(y)[8:15] == [1, 1, 0.5, 512, 2.0**-126, 0, np.inf]).all()
    assert (bench.slot(y)[[0, 15]] == bench.fill).all()


@settings(max_examples=30)
@given(op=st.sampled_from(["Add", "Sub", "Mul", "Div", "Max", "Min"]), rows=ROWS, cols=LANES)
def test_binary_on_rows(op, rows, cols):
    """Rows of different pitches; lanes outside ``cols`` keep what was there."""
    first, second, out = (buffer(n, "float32", 8 * p) for n, p in (("p", 64), ("q", 72), ("r", 128)))
    a, b = normal(8, 64), normal(8, 72)
    bench = Bench()
    bench.put(first, a)
    bench.put(second, b)
    Binary(
        op=op, dst=out.region(0, rows, cols, 128), first=first.region(0, rows, cols, 64),
        second=second.region(0, rows, cols, 72),
    ).run(bench)  # fmt: skip
    got = bench.slot(out).reshape(8, 128)
    for row, col in np.ndindex(8, 128):
        inside = row < rows and col < cols
        wanted = np.float32(SCALAR[op](float(a[row, col]), float(b[row, col]))) if inside else bench.fill
        assert got[row, col] == wanted


@settings(max_examples=20)
@given(rows=ROWS, cols=LANES)
def test_binary_with_a_block_a_row(rows, cols):
    """broadcast: lane 0 of the row's block meets every lane of the row."""
    x, blocks = buffer("x", "float32", 8 * 64), buffer("blocks", "float32", 64)
    a, statistic = normal(8, 64), normal(8)
    bench = Bench()
    bench.put(x, a)
    bench.put(blocks, np.repeat(statistic, 8))
    region = x.region(0, rows, cols, 64)
    Binary(op="Mul", dst=region, first=region, second=blocks.region(0, rows, 8, 8), broadcast=True).run(bench)
    expected = a.copy()
    for row in range(rows):
        expected[row, :cols] = a[row, :cols] * statistic[row]
    assert np.array_equal(bench.slot(x).reshape(8, 64), expected)


@settings(max_examples=30)
@given(rows=ROWS, cols=LANES, op=st.sampled_from(["Max", "Sum"]))
def test_row_reduce(rows, cols, op):
    x, out = buffer("x", "float32", 8 * 64), buffer("out", "float32", 8)
    values = RNG.integers(-99, 100, (8, 64)).astype(np.float32)
    bench = Bench()
    bench.put(x, values)
    RowReduce(op=op, dst=out.region(0, 1, rows), src=x.region(0, rows, cols, 64)).run(bench)
    expected = [(max if op == "Max" else sum)(float(v) for v in row[:cols]) for row in values[:rows]]
    assert bench.slot(out)[:rows].tolist() == expected
    assert (bench.slot(out)[rows:] == bench.fill).all()


@settings(max_examples=20)
@given(rows=ROWS, op=st.sampled_from(["Max", "Sum"]), pitch=st.sampled_from([8, 24, 64]))
def test_block_reduce(rows, op, pitch):
    """Each block of eight lanes gives one; what lies between the results of two rows stays."""
    x, out = buffer("x", "float32", 8 * 72), buffer("out", "float32", 8 * 64)
    values = RNG.integers(-99, 100, (8, 72)).astype(np.float32)
    bench = Bench()
    bench.put(x, values)
    BlockReduce(op=op, dst=out.region(0, rows, 8, pitch), src=x.region(0, rows, 64, 72)).run(bench)
    expected = np.full(8 * 64, bench.fill, np.float32)
    for row, block in np.ndindex(rows, 8):
        lanes = [float(values[row, 8 * block + lane]) for lane in range(8)]
        expected[row * pitch + block] = (max if op == "Max" else sum)(lanes)
    assert np.array_equal(bench.slot(out), expected)


def test_sums_are_added_pairwise():
    """1e8, then 63 ones: added left to right in fp32 every one is lost, in a tree of pairs seven."""
    x, out = buffer("x", "float32", 64), buffer("out", "float32", 8)
    bench = Bench()
    bench.put(x, [1e8] + [1.0] * 63)
    RowReduce(op="Sum", dst=out.region(0, 1, 1), src=x.region(0, 1, 64, 64)).run(bench)
    assert bench.slot(out)[0] == np.float32(1e8 + 56)  # what is lost: 1 at the first level, 2, then 4
    BlockReduce(op="Sum", dst=out.region(0, 1, 8), src=x.region(0, 1, 64)).run(bench)
    assert bench.slot(out).tolist() == [1e8] + [8.0] * 7  # 1, then 2, then 4 are lost: none is left


@pytest.mark.parametrize(("source", "target"), [("float32", "float16"), ("float32", "bfloat16")])
def test_narrowing_rounds_half_to_even(source, target):
    exact = {"float16": 11, "bfloat16": 8}[target]
    ulp = 2.0 ** (1 - exact)
    values = [1 + 0.5 * ulp, 1 + 1.5 * ulp, 1 + 0.5001 * ulp, -(1 + 0.5 * ulp), 1 + ulp, math.inf, 3e38]
    wanted = [1.0, 1 + 2 * ulp, 1 + ulp, -1.0, 1 + ulp, math.inf, math.inf if target == "float16" else None]
    x, y = buffer("x", source, 8), buffer("y", target, 16)
    bench = Bench()
    bench.put(x, values)
    with np.errstate(over="ignore"):
        Convert(dst=y.region(0, 1, 7), src=x.region(0, 1, 7), mode="CAST_RINT").run(bench)
    got = bench.slot(y).astype(float)[:7].tolist()
    assert got[:6] == wanted[:6]
    assert got[6] == (wanted[6] if target == "float16" else float(ml_dtypes.bfloat16(3e38)))


@pytest.mark.parametrize("narrow", ["float16", "bfloat16"])
def test_widening_is_exact(narrow):
    x, y = buffer("x", narrow, 64), buffer("y", "float32", 64)
    bench = Bench()
    bench.put(x, normal(64))
    Convert(dst=y.region(0, 1, 64), src=x.region(0, 1, 64), mode="CAST_NONE").run(bench)
    assert np.array_equal(bench.slot(y), bench.slot(x).astype(np.float32))


def test_bytes_to_half():
    x, y = buffer("x", "uint8", 256), buffer("y", "float16", 256)
    bench = Bench()
    bench.put(x, np.arange(256))
    Convert(dst=y.region(0, 1, 256), src=x.region(0, 1, 256), mode="CAST_NONE").run(bench)
    assert bench.slot(y).astype(int).tolist() == list(range(256))


@settings(max_examples=30)
@given(count=st.integers(1, 200))
def test_mask_to_bits_to_selection(count):
    """A byte mask becomes bits, lowest lane in bit 0; a set bit keeps its lane, the others get the scalar."""
    whole = -(-count // 128) * 128
    half, bits = buffer("half", "float16", whole), buffer("bits", "uint8", 64)
    score = buffer("score", "float32", 256)
    mask, values = RNG.integers(0, 2, whole), normal(count)
    bench = Bench()
    bench.put(half, mask)
    bench.put(score, values)
    CompareWithScalar(dst=bits.region(), src=half.region(0, 1, whole), scalar=Const(0), mode="EQ").run(bench)
    for lane in range(whole):
        assert (bench.slot(bits)[lane // 8] >> (lane % 8)) & 1 == (mask[lane] == 0)
    region = score.region(0, 1, count)
    SelectOrScalar(dst=region, bits=bits.region(), src=region, scalar=Const(-1e12)).run(bench)
    got = bench.slot(score)
    for lane in range(count):
        assert got[lane] == (values[lane] if mask[lane] == 0 else np.float32(-1e12))
    assert (got[count:] == bench.fill).all()


@pytest.mark.parametrize("lanes", [False, True])
@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("EQ", [0, 1, 0, 0]),
        ("NE", [1, 0, 1, 1]),
        ("GT", [0, 0, 1, 0]),
        ("LT", [1, 0, 0, 0]),
        ("GE", [0, 1, 1, 0]),
        ("LE", [1, 1, 0, 0]),
    ],
)
def test_comparisons(mode, expected, lanes):
    """The fourth lane is a NaN: unequal to everything."""
    x, two, bits = buffer("x", "float32", 64), buffer("two", "float32", 64), buffer("bits", "uint8", 32)
    bench = Bench()
    bench.put(x, [1.0, 2.0, 3.0, math.nan] + [2.0] * 60)
    bench.put(two, [2.0] * 64)
    source, dst = x.region(0, 1, 64), bits.region()
    if lanes:
        CompareLanes(dst=dst, first=source, second=two.region(0, 1, 64), mode=mode).run(bench)
    else:
        CompareWithScalar(dst=dst, src=source, scalar=Const(2), mode=mode).run(bench)
    assert [bench.slot(bits)[0] >> lane & 1 for lane in range(4)] == expected


@pytest.mark.parametrize(
    ("number", "below"), [(-1.0, True), (0.25, False), (0.5, False), (-math.inf, True), (math.nan, True)]
)
def test_a_number_below_a_bound(number: float, below: bool) -> None:
    bench, x = Bench(), buffer("x", "float32", 16)
    bench.put(x, [7.0] * 9 + [number] + [7.0] * 6)
    IsBeyond(symbol=Symbol("below"), src=x.region(9, 1, 1), bound=Const(0.25)).run(bench)
    assert bench.scalars["below"] is below


@pytest.mark.parametrize(
    ("number", "above"), [(1.0, True), (0.25, False), (0.0, False), (math.inf, True), (math.nan, True)]
)
def test_a_number_above_a_bound(number: float, above: bool) -> None:
    bench, x = Bench(), buffer("x", "float32", 16)
    bench.put(x, [-7.0] * 9 + [number] + [-7.0] * 6)
    IsBeyond(symbol=Symbol("above"), src=x.region(9, 1, 1), bound=Const(0.25), above=True).run(bench)
    assert bench.scalars["above"] is above


def test_a_scaled_sum_adds_to_what_is_there() -> None:
    bench, x, y = Bench(), buffer("x", "float32", 64), buffer("y", "float32", 64)
    bench.put(x, np.arange(64))
    bench.put(y, np.full(64, 100.0))
    AddScaled(dst=y.region(8, 1, 33), src=x.region(0, 1, 33), scalar=Const(-0.5)).run(bench)
    got = bench.slot(y)
    assert got[8:41].tolist() == [100 - 0.5 * lane for lane in range(33)]
    assert (got[:8] == 100).all() and (got[41:] == 100).all()


@pytest.mark.parametrize(("op", "expected"), [("And", 0b1000), ("Or", 0b1110)])
def test_bitwise(op, expected):
    first, second, out = (buffer(name, "uint8", 32) for name in ("p", "q", "r"))
    bench = Bench()
    bench.put(first, [0b1100] * 32)
    bench.put(second, [0b1010] * 32)
    Bitwise(op=op, dst=out.region(), first=first.region(), second=second.region()).run(bench)
    assert (bench.slot(out) == expected).all()


@pytest.mark.parametrize(
    ("source", "target"),
    [("float16", "int8"), ("float16", "uint8"), ("float32", "int32"), ("float32", "float32")],
)
@pytest.mark.parametrize(
    ("mode", "whole"),
    [("CAST_RINT", round), ("CAST_FLOOR", math.floor), ("CAST_CEIL", math.ceil), ("CAST_TRUNC", math.trunc)],
)
def test_rounding_to_whole_numbers(source, target, mode, whole):
    """Python rounds half to even, too; what the type cannot hold becomes the end of its range."""
    values = [-2.5, -1.5, -0.75, 0.5, 1.5, 2.25, 3.5, 1000.0]
    bounds = {"int8": (-128, 127), "uint8": (0, 255)}.get(target, (-(2**31), 2**31 - 1))
    x, y = buffer("x", source, 16), buffer("y", target, 32)
    bench = Bench()
    bench.put(x, values)
    Convert(dst=y.region(0, 1, 8), src=x.region(0, 1, 8), mode=mode).run(bench)
    expected = [min(max(whole(value), bounds[0]), bounds[1]) for value in values]
    assert bench.slot(y)[:8].tolist() == expected


@pytest.mark.parametrize(
    ("source", "target", "mode"),
    [("int8", "float16", "CAST_NONE"), ("int32", "float32", "CAST_NONE"), ("int32", "float32", "CAST_RINT")],
)
def test_integers_to_floats(source, target, mode):
    """Exactly where they fit, else the nearest, half to even."""
    values = [-128, -1, 0, 127] + ([2**24 + 1, 2**24 + 3] if source == "int32" else [])
    expected = [-128, -1, 0, 127] + ([2**24, 2**24 + 4] if source == "int32" else [])
    x, y = buffer("x", source, 32), buffer("y", target, 32)
    bench = Bench()
    bench.put(x, values)
    Convert(dst=y.region(0, 1, len(values)), src=x.region(0, 1, len(values)), mode=mode).run(bench)
    assert bench.slot(y)[: len(values)].astype(float).tolist() == expected


@settings(max_examples=20)
@given(rows=ROWS, first=st.integers(0, 63))
def test_fill_lanes(rows, first):
    x = buffer("x", "float32", 8 * 128)
    bench = Bench()
    FillLanes(dst=x.region(64, rows, 64, 128), first_lane=as_expr(first), value=Const(7.0)).run(bench)
    got = bench.slot(x).reshape(8, 128)
    for row, lane in np.ndindex(8, 128):
        assert got[row, lane] == (7.0 if row < rows and lane >= 64 + first else bench.fill)


def test_fill_and_broadcast_rows():
    x, blocks = buffer("x", "float32", 16), buffer("blocks", "float32", 256)
    bench = Bench(n=8)
    bench.put(x, np.arange(16))
    BroadcastRows(dst=blocks.region(64, 2, 64, 128), src=x.region(0, 1, 16)).run(bench)
    got = bench.slot(blocks).reshape(4, 8, 8)  # two repeats, 64 lanes apart
    assert got[1::2].reshape(16, 8).tolist() == [[float(row)] * 8 for row in range(16)]
    assert (got[::2] == bench.fill).all()
    Fill(dst=x.region(8, 1, 3), value=Const(-1)).run(bench)
    assert bench.slot(x).tolist() == [0, 1, 2, 3, 4, 5, 6, 7, -1, -1, -1, 11, 12, 13, 14, 15]


@settings(max_examples=30)
@given(rows=ROWS, cols=st.integers(1, 60), gap=st.integers(0, 7), offset=st.integers(0, 5))
def test_rows_in_and_out(rows, cols, gap, offset):
    """There and back: exactly the rows x cols elements move, whatever the pitches."""
    pitch = cols + gap
    source, target = tensor("source", "float16"), tensor("target", "float16", "output")
    ub = buffer("ub", "float16", 8 * 64)
    image = np.arange(offset + 8 * pitch, dtype=np.float32)
    bench = Bench()
    bench.put(source, image)
    bench.put(target, np.full(image.size, -1.0))
    inside = ub.region(0, rows, cols, 64)
    LoadRows(dst=inside, src=source.region(offset, rows, cols, pitch)).run(bench)
    StoreRows(dst=target.region(offset, rows, cols, pitch), src=inside).run(bench)
    got, expected = bench.tensor(target).astype(np.float32), np.full(image.size, -1.0, np.float32)
    for row in range(rows):
        start = offset + row * pitch
        expected[start : start + cols] = image[start : start + cols]
    assert np.array_equal(got, expected)


def test_reading_past_the_end_of_a_tensor_is_an_error():
    source, ub = tensor("source", "float16"), buffer("ub", "float16", 64)
    bench = Bench()
    bench.put(source, np.zeros(40))
    LoadRows(dst=ub.region(0, 2, 16, 32), src=source.region(0, 2, 16, 24)).run(bench)
    with pytest.raises(IndexError, match="source: elements 1 to 41 of 40"):
        LoadRows(dst=ub.region(0, 2, 16, 32), src=source.region(1, 2, 16, 24)).run(bench)
    with pytest.raises(IndexError, match="ub: elements 16 to 80 of 64"):
        LoadRows(dst=ub.region(16, 2, 16, 48), src=source.region(0, 2, 16, 16)).run(bench)
