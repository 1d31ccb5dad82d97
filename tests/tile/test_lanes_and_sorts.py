"""Masks of lanes, gathers, running numbers, sorting, casts to integers: emitted text, meaning and the API.

Each instruction runs on the emulator and in NumPy, bit for bit alike; what it should do is written out once
more here, lane by lane.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from attndsl.expr import Const, Symbol, as_expr
from attndsl.target import MemorySpace
from attndsl.target.costs import COSTS
from attndsl.tile.instructions import (
    Binary,
    Bitwise,
    BitwiseNot,
    CompareLanes,
    Convert,
    CopyLanes,
    FillInterval,
    Gather,
    Instruction,
    LaneNumbers,
    LoadRows,
    MergeSorted,
    SelectLanes,
    SortGroups,
    SplitRecords,
    StoreRows,
    WithScalar,
    records,
)

from .bench import Bench, buffer, tensor
from .frame import Frame

X, Y, OUT = (buffer(name, "float32", 1024) for name in ("x", "y", "out"))
HALF, HALVES = (buffer(name, "float16", 512) for name in ("half_", "halves"))
BF16 = buffer("bf16_", "bfloat16", 512)
BITS, MORE = buffer("bits", "uint8", 128), buffer("more", "uint8", 128)
INT8, UINT8 = buffer("int8_", "int8", 512), buffer("uint8_", "uint8", 512)
INT32, NUMBERS, FOUND = (buffer(name, "int32", 512) for name in ("int32_", "numbers", "found"))
OFFSETS = buffer("offsets", "uint32", 256)
RUNS, MERGED = buffer("runs", "float32", 1024), buffer("merged", "float32", 1024)
BUFFERS = (
    X,
    Y,
    OUT,
    HALF,
    HALVES,
    BF16,
    BITS,
    MORE,
    INT8,
    UINT8,
    INT32,
    NUMBERS,
    FOUND,
    OFFSETS,
    RUNS,
    MERGED,
)
GM_INT8, GM_INT32 = tensor("gm_int8", "int8"), tensor("gm_int32", "int32")
TO_INT8, TO_INT32 = tensor("to_int8", "int8", "output"), tensor("to_int32", "int32", "output")
TENSORS = (GM_INT8, GM_INT32, TO_INT8, TO_INT32)


def line(target, cols, offset=0):
    return target.region(offset, 1, cols)


def fill(begin, end, rows=1, cols=300, pitch=304):
    region = OUT.region(8, rows, cols, pitch if rows > 1 else 0)
    return FillInterval(dst=region, begin=as_expr(begin), end=as_expr(end), value=Const(-1e12))


def cast(dst, src, mode, count=100):
    return Convert(dst=line(dst, count), src=line(src, count), mode=mode)


INTERVALS = [(0, 300), (5, 23), (64, 128), (63, 65), (70, 300), (128, 128), (200, 100), (1, 64), (299, 300)]
ROW_INTERVALS = [(0, 300), (5, 23), (63, 65), (70, 300), (128, 128), (200, 100)]
CASES: dict[str, Instruction] = {
    **{f"fill_{a}_{b}": fill(a, b) for a, b in INTERVALS},
    **{f"fill_rows_{a}_{b}": fill(a, b, rows=3) for a, b in ROW_INTERVALS},
    "compare": CompareLanes(dst=line(BITS, 32), first=line(X, 256), second=line(Y, 256, 8), mode="GE"),
    "compare_half": CompareLanes(
        dst=line(BITS, 16), first=line(HALF, 128), second=line(HALVES, 128), mode="LT"
    ),
    "compare_int": CompareLanes(
        dst=line(BITS, 8), first=line(INT32, 64), second=line(NUMBERS, 64), mode="EQ"
    ),
    "and": Bitwise(op="And", dst=line(BITS, 50), first=line(BITS, 50), second=line(MORE, 50, 32)),
    # destination and source of one repeat are the same or apart, so the destination stands behind all of it
    "or": Bitwise(op="Or", dst=line(BITS, 64, 64), first=line(BITS, 64), second=line(MORE, 64)),
    "not": BitwiseNot(dst=line(MORE, 18), src=line(BITS, 18)),
    "select": SelectLanes(
        dst=line(OUT, 155), bits=line(BITS, 32), first=line(X, 155), second=line(Y, 155, 8)
    ),
    "select_half": SelectLanes(
        dst=line(HALF, 100), bits=line(BITS, 32), first=line(HALF, 100), second=line(HALF, 100, 128)
    ),
    "gather": Gather(dst=line(OUT, 77), src=line(X, 256), offsets=line(OFFSETS, 77), base=Const(16)),
    "gather_half": Gather(dst=line(HALVES, 40), src=line(HALF, 512), offsets=line(INT32, 40)),
    "numbers": LaneNumbers(dst=line(NUMBERS, 320), first=Const(-7)),
    "numbers_float": LaneNumbers(dst=line(OUT, 64, 8), first=Const(1000)),
    "copy": CopyLanes(dst=line(OUT, 104, 16), src=line(X, 104)),
    "sort": SortGroups(dst=line(RUNS, 256), scores=line(X, 128), indices=line(NUMBERS, 128)),
    "merge2": MergeSorted(dst=line(MERGED, 90, 8), first=records(RUNS, 0, 32), second=records(RUNS, 33, 13)),
    "merge3": MergeSorted(
        dst=line(MERGED, 192), first=records(RUNS, 0, 32), second=records(RUNS, 32, 32),
        third=records(RUNS, 64, 32),
    ),
    "merge4": MergeSorted(
        dst=line(MERGED, 256), first=records(RUNS, 0, 32), second=records(RUNS, 32, 32),
        third=records(RUNS, 64, 32), fourth=records(RUNS, 96, 32),
    ),
    "split": SplitRecords(dst=line(OUT, 64), indices=line(FOUND, 64, 8), src=line(RUNS, 128, 64)),
    "int8_to_half": cast(HALF, INT8, "CAST_NONE"),
    "half_to_float": cast(OUT, HALF, "CAST_NONE"),
    "int32_to_float": cast(OUT, INT32, "CAST_NONE"),
    "int32_to_float_rint": cast(OUT, INT32, "CAST_RINT"),
    "float_to_bf16": cast(BF16, X, "CAST_RINT"),
    **{
        f"{name}_{mode}": cast(dst, src, f"CAST_{mode}")
        for mode in ("RINT", "FLOOR", "CEIL", "TRUNC")
        for name, dst, src in (
            ("half_to_int8", INT8, HALF), ("half_to_uint8", UINT8, HALF), ("float_to_int32", FOUND, X),
            ("float_to_whole", OUT, X),
        )
    },
    "add_int": Binary(op="Add", dst=line(FOUND, 70), first=line(INT32, 70), second=line(NUMBERS, 70)),
    "muls_int": WithScalar(op="Muls", dst=line(FOUND, 70), src=line(INT32, 70), scalar=Const(4)),
    "add_a_row": Binary(op="Add", dst=line(OUT, 72, 8), first=line(OUT, 72, 8), second=line(X, 72, 80)),
    "load_int8": LoadRows(dst=INT8.region(0, 3, 45, 64), src=GM_INT8.region(7, 3, 45, 51)),
    "load_int32": LoadRows(dst=INT32.region(0, 3, 11, 16), src=GM_INT32.region(7, 3, 11, 13)),
    "store_int8": StoreRows(dst=TO_INT8.region(3, 4, 33, 40), src=INT8.region(0, 4, 33, 64)),
    "store_int32": StoreRows(dst=TO_INT32.region(3, 4, 13, 20), src=INT32.region(0, 4, 13, 16)),
}  # fmt: skip
FRAME = Frame(CASES, BUFFERS, TENSORS)


def _start() -> Bench:
    """Ordinary numbers, with ties, halves, infinities and values beyond the integers' ranges."""
    rng, bench = np.random.default_rng(9), Bench()
    for target in BUFFERS:
        values = rng.standard_normal(target.elements) * 3
        if target.dtype in ("uint8", "int8", "int32"):
            values = rng.integers(0, 100, target.elements)
        bench.put(target, values)
    bench.put(X, rng.integers(-40, 40, 1024) / 4)
    bench.slot(X)[90:96] = [3e9, -3e9, 2147483520.0, np.inf, -np.inf, 0.5]
    bench.put(HALF, rng.integers(-600, 600, 512) / 4)
    bench.slot(INT8)[:] = rng.integers(-128, 128, 512)
    bench.slot(INT32)[:] *= 4
    bench.slot(INT32)[60:64] = [16777217, -16777219, 2**31 - 1, -(2**31)]
    bench.slot(NUMBERS)[::3] = bench.slot(INT32)[::3]
    bench.put(OFFSETS, rng.integers(0, 250, 256) * 4)
    scores = np.sort(rng.integers(-9, 9, (4, 32)).astype(np.float32), axis=1)[:, ::-1]
    bench.slot(RUNS)[:256:2] = scores.reshape(-1)
    bench.slot(RUNS)[1:256:2] = np.arange(128, dtype=np.uint32).view(np.float32)
    for item in TENSORS:
        bench.put(item, rng.integers(-100, 100, 400))
    return bench


def _padding(item: Instruction, target) -> np.ndarray:
    """Lanes whose content a copy leaves open: behind each row up to the next block."""
    found = np.zeros(target.elements, bool)
    if isinstance(item, LoadRows) and item.dst.buffer is target:
        block = 32 // found.itemsize if target.dtype == "int8" else 8
        rows, cols, pitch = (int(v.evaluate({})) for v in (item.dst.rows, item.dst.cols, item.dst.pitch))
        for row in range(rows):
            end = row * pitch + cols
            found[end : -(-end // block) * block] = True
    return found


@pytest.mark.parametrize("name", CASES)
def test_the_text_does_what_numpy_does(name):
    item, bench = CASES[name], _start()
    assert not list(item.violations())
    report, found = FRAME.emulate(name, bench)
    allowed = {"initcheck/undefined_value"} if name.startswith("load") else set()
    assert set(report.finding_counts) <= allowed, report.findings[:3]
    item.run(bench)
    for target in BUFFERS:
        same = found[target].view(np.uint8) == bench.slot(target).view(np.uint8)
        size = bench.slot(target).itemsize
        assert (same.reshape(-1, size).all(axis=1) | _padding(item, target)).all(), target.name
    for target in TENSORS:
        assert np.array_equal(found[target], bench.tensor(target)), target.name


@pytest.mark.parametrize(("begin", "end"), INTERVALS)
@pytest.mark.parametrize("rows", [1, 3])
def test_fill_interval(begin, end, rows):
    bench = Bench(b=begin, e=end)
    FillInterval(
        dst=OUT.region(8, rows, 300, 304), begin=Symbol("b"), end=Symbol("e"), value=Const(7.0)
    ).run(bench)  # fmt: skip
    for lane, value in enumerate(bench.slot(OUT)):
        row, col = divmod(lane - 8, 304)
        inside = lane >= 8 and row < rows and begin <= col < end
        assert value == (7.0 if inside else bench.fill), lane


def test_an_interval_beyond_the_row_is_an_error():
    with pytest.raises(IndexError, match="out: lanes 0 to 301 of 300 are filled"):
        fill(0, 301).run(Bench())


def test_bits_and_selection_lane_by_lane():
    bench = _start()
    for name in ("compare", "and", "not", "select"):
        CASES[name].run(bench)
    before = _start()
    x, y = before.slot(X), before.slot(Y)
    for lane in range(155):
        bit = bool(x[lane] >= y[lane + 8])
        bit &= bool(before.slot(MORE)[32 + lane // 8] >> lane % 8 & 1)
        assert bench.slot(BITS)[lane // 8] >> lane % 8 & 1 == bit
        assert bench.slot(OUT)[lane] == (x[lane] if bit else y[lane + 8])
        if lane < 144:
            assert bench.slot(MORE)[lane // 8] >> lane % 8 & 1 == (not bit)


def test_gather_reads_bytes_behind_a_base():
    bench = _start()
    CASES["gather"].run(bench)
    expected = [bench.slot(X)[(int(at) + 16) // 4] for at in bench.slot(OFFSETS)[:77]]
    assert bench.slot(OUT)[:77].tolist() == expected


@pytest.mark.parametrize("offset", [3, 1024, -4])
def test_a_gather_of_no_element_is_an_error(offset):
    bench = Bench()
    bench.put(INT32, np.full(512, offset))
    with pytest.raises(IndexError, match=rf"byte {offset} is gathered, of 1024"):
        Gather(dst=line(OUT, 1), src=line(X, 256), offsets=line(INT32, 1)).run(bench)


def test_lanes_are_copied_bit_for_bit_and_no_others():
    bench = Bench()
    bench.put(X, np.arange(1024, dtype=np.float32))
    bench.put(OUT, np.full(1024, np.nan, np.float32))
    CopyLanes(dst=line(OUT, 24, 16), src=line(X, 24, 8)).run(bench)
    assert bench.slot(OUT)[16:40].tolist() == list(range(8, 32))
    assert np.isnan(bench.slot(OUT)[:16]).all() and np.isnan(bench.slot(OUT)[40:]).all()


def test_lane_numbers():
    bench = _start()
    CASES["numbers"].run(bench)
    assert bench.slot(NUMBERS)[:320].tolist() == list(range(-7, 313))


def test_the_best_of_many_scores_with_equal_ones_in_order():
    """Sort groups of 32, merge them, take the first: a stable sort by falling score."""
    scores = np.random.default_rng(4).integers(0, 12, 128).astype(np.float32)
    bench = Bench()
    bench.put(X, scores)
    bench.put(NUMBERS, np.arange(128) + 5000)
    for name in ("sort", "merge4"):
        CASES[name].run(bench)
    SplitRecords(dst=line(OUT, 128), indices=line(FOUND, 128), src=line(MERGED, 256)).run(bench)
    wanted = sorted(range(128), key=lambda place: (-scores[place], place))
    assert (bench.slot(FOUND)[:128] - 5000).tolist() == wanted
    assert bench.slot(OUT)[:128].tolist() == [scores[place] for place in wanted]


def test_lists_of_any_length_at_any_record():
    """Run-time lengths, an empty list among them."""
    bench = _start()
    bench.scalars = {"n": 0, "m": 20}
    merge = MergeSorted(
        dst=MERGED.region(0, 1, 2 * (Symbol("m") + Symbol("n"))),
        first=records(RUNS, 32, Symbol("n")), second=records(RUNS, 37, Symbol("m")),
    )  # fmt: skip
    assert not list(merge.violations())
    merge.run(bench)
    assert bench.slot(MERGED)[:40].tobytes() == bench.slot(RUNS)[74:114].tobytes()
    assert (bench.slot(MERGED)[40:] == _start().slot(MERGED)[40:]).all()


def test_unsorted_lists_merge_head_by_head():
    bench = Bench()
    bench.put(RUNS, [1.0, 0, 9.0, 1, 5.0, 2, 2.0, 3])
    MergeSorted(dst=line(MERGED, 8), first=records(RUNS, 0, 2), second=records(RUNS, 2, 2)).run(bench)
    assert bench.slot(MERGED)[:8:2].tolist() == [5.0, 2.0, 1.0, 9.0]


def test_nans_come_first():
    bench = Bench()
    bench.put(X, [1.0, math.nan, 3.0] + [-1.0] * 29)
    bench.put(NUMBERS, np.arange(32))
    SortGroups(dst=line(RUNS, 64), scores=line(X, 32), indices=line(NUMBERS, 32)).run(bench)
    assert bench.slot(RUNS).view(np.int32)[1:7:2].tolist() == [1, 2, 0]


@pytest.mark.parametrize(
    ("mode", "wanted"),
    [
        ("CAST_RINT", [0, 2, 2, -2, 127, -128, 127, -128, 0]),
        ("CAST_FLOOR", [0, 1, 2, -2, 127, -128, 127, -128, 0]),
        ("CAST_CEIL", [1, 2, 3, -1, 127, -128, 127, -128, 0]),
        ("CAST_TRUNC", [0, 1, 2, -1, 127, -128, 127, -128, 0]),
    ],
)
def test_half_to_int8_rounds_and_saturates(mode, wanted):
    bench = Bench()
    bench.put(HALF, [0.5, 1.5, 2.5, -1.5, 127.5, -128.75, math.inf, -math.inf, math.nan])
    Convert(dst=line(INT8, 9), src=line(HALF, 9), mode=mode).run(bench)
    assert bench.slot(INT8)[:9].tolist() == wanted


def test_columns_are_summed_by_adding_rows():
    """dst == first, one row after the other; the text is Add on one row."""
    bench = Bench()
    matrix = np.random.default_rng(2).integers(-9, 9, (5, 72)).astype(np.float32)
    bench.put(X, np.pad(matrix, ((0, 0), (0, 8))))
    bench.put(OUT, np.zeros(72))
    total = line(OUT, 72)
    for row in range(5):
        Binary(op="Add", dst=total, first=total, second=line(X, 72, row * 80)).run(bench)
    assert np.array_equal(bench.slot(OUT)[:72], matrix.sum(axis=0))


UB_L1 = buffer("l1", "float32", 1024, MemorySpace.L1)
# What breaks a limit, its nearest legal twin, and what the message says.
LIMITS: dict[str, tuple[Instruction, Instruction, str]] = {
    "compares cover whole repeats": (
        CompareLanes(dst=line(BITS, 32), first=line(X, 100), second=line(Y, 100), mode="GE"),
        CompareLanes(dst=line(BITS, 32), first=line(X, 128), second=line(Y, 128), mode="GE"),
        "count is 100, needs a multiple of 64",
    ),
    "int32 by equality": (
        CompareLanes(dst=line(BITS, 32), first=line(INT32, 64), second=line(NUMBERS, 64), mode="GE"),
        CASES["compare_int"],
        "int32 is compared by EQ only, not by GE",
    ),
    "no such comparison": (
        CompareLanes(dst=line(BITS, 32), first=line(X, 64), second=line(Y, 64), mode="ABOUT"),
        CASES["compare"],
        "there is no comparison ABOUT",
    ),
    "one dtype to compare": (
        CompareLanes(dst=line(BITS, 32), first=line(X, 128), second=line(HALF, 128), mode="GE"),
        CASES["compare"],
        "second source is float16, needs float32",
    ),
    "words of 16 bits": (
        Bitwise(op="And", dst=line(BITS, 5), first=line(BITS, 5), second=line(MORE, 5)),
        Bitwise(op="And", dst=line(BITS, 6), first=line(BITS, 6), second=line(MORE, 6)),
        "count is 5, needs a multiple of 2",
    ),
    "logic on bits": (
        BitwiseNot(dst=line(OUT, 8), src=line(X, 8)), CASES["not"], "bits is float32, needs uint8 or uint16"
    ),
    "and, or": (
        Bitwise(op="Xor", dst=line(BITS, 6), first=line(BITS, 6), second=line(MORE, 6)),
        CASES["or"],
        "there is no bitwise Xor",
    ),
    "selection of floats": (
        SelectLanes(dst=line(INT32, 8), bits=line(BITS, 8), first=line(INT32, 8), second=line(FOUND, 8)),
        CASES["select"],
        "first source is int32",
    ),
    "one dtype to select": (
        SelectLanes(dst=line(HALF, 8), bits=line(BITS, 8), first=line(X, 8), second=line(Y, 8)),
        CASES["select_half"],
        "operands have different dtypes",
    ),
    "selection by bytes": (
        SelectLanes(dst=line(OUT, 8), bits=line(X, 8), first=line(X, 8), second=line(Y, 8)),
        CASES["select"],
        "bits is float32",
    ),
    "intervals of fp32": (
        FillInterval(dst=line(HALF, 32), begin=Const(0), end=Const(3), value=Const(0)),
        FillInterval(dst=line(OUT, 32), begin=Const(0), end=Const(3), value=Const(0)),
        "destination is float16",
    ),
    "rows of intervals a stride apart": (
        fill(0, 3, rows=3, cols=70, pitch=71), fill(0, 3, rows=3, cols=70, pitch=72), "row pitch is 71"
    ),
    "a gather has a place of its own": (
        Gather(dst=line(X, 8), src=line(X, 256), offsets=line(OFFSETS, 8)),
        Gather(dst=line(Y, 8), src=line(X, 256), offsets=line(OFFSETS, 8)),
        "x is gathered into itself",
    ),
    "offsets are 32 bits": (
        Gather(dst=line(Y, 8), src=line(X, 256), offsets=line(HALF, 8)),
        Gather(dst=line(Y, 8), src=line(X, 256), offsets=line(INT32, 8)),
        "offsets is float16",
    ),
    "bases are elements": (
        Gather(dst=line(Y, 8), src=line(X, 256), offsets=line(OFFSETS, 8), base=Const(2)),
        Gather(dst=line(Y, 8), src=line(X, 256), offsets=line(OFFSETS, 8), base=Const(4)),
        "base is 2, needs a multiple of 4",
    ),
    "no gather of bytes": (
        Gather(dst=line(INT8, 8), src=line(INT8, 256), offsets=line(OFFSETS, 8)),
        CASES["gather"],
        "source is int8",
    ),
    "numbers of whole repeats": (
        LaneNumbers(dst=line(NUMBERS, 60), first=Const(0)),
        LaneNumbers(dst=line(NUMBERS, 64), first=Const(0)),
        "count is 60, needs a multiple of 64",
    ),
    "numbers of a known count": (
        LaneNumbers(dst=NUMBERS.region(0, 1, Symbol("n")), first=Const(0)),
        LaneNumbers(dst=line(NUMBERS, 64), first=Symbol("n")),
        "count is n, needs a compile-time constant",
    ),
    "numbers of 32 bits": (
        LaneNumbers(dst=line(HALF, 128), first=Const(0)), CASES["numbers_float"], "destination is float16"
    ),
    "copies of blocks": (
        CopyLanes(dst=line(OUT, 12), src=line(X, 12)),
        CopyLanes(dst=line(OUT, 16), src=line(X, 16)),
        "count is 12, needs a multiple of 8",
    ),
    "copies of one dtype": (
        CopyLanes(dst=line(OUT, 8), src=line(INT32, 8)), CASES["copy"], "source is int32"
    ),
    "groups of 32": (
        SortGroups(dst=line(RUNS, 256), scores=line(X, 100), indices=line(NUMBERS, 100)),
        SortGroups(dst=line(RUNS, 256), scores=line(X, 96), indices=line(NUMBERS, 96)),
        "count is 100, needs a multiple of 32",
    ),
    "sorted groups start on 256 bytes": (
        SortGroups(dst=line(RUNS, 256, 32), scores=line(X, 96), indices=line(NUMBERS, 96)),
        SortGroups(dst=line(RUNS, 256, 64), scores=line(X, 96), indices=line(NUMBERS, 96)),
        "element offset is 32, needs a multiple of 64",
    ),
    "scores to sort start on 128 bytes": (
        SortGroups(dst=line(RUNS, 64), scores=line(X, 32, 8), indices=line(NUMBERS, 32)),
        SortGroups(dst=line(RUNS, 64), scores=line(X, 32, 32), indices=line(NUMBERS, 32)),
        "element offset is 8, needs a multiple of 32",
    ),
    "no sort in place": (
        SortGroups(dst=line(X, 64), scores=line(X, 32), indices=line(NUMBERS, 32)),
        CASES["sort"],
        "x is sorted in place",
    ),
    "scores are fp32": (
        SortGroups(dst=line(RUNS, 64), scores=line(HALF, 32), indices=line(NUMBERS, 32)),
        CASES["sort"],
        "scores is float16",
    ),
    "255 groups": (
        SortGroups(
            dst=buffer("big", "float32", 16384).region(), scores=buffer("s", "float32", 8192).region(),
            indices=buffer("i", "int32", 8192).region(),
        ),
        SortGroups(
            dst=buffer("big", "float32", 16320).region(), scores=buffer("s", "float32", 8160).region(),
            indices=buffer("i", "int32", 8160).region(),
        ),
        "number of groups is 256, must be 0 to 255",
    ),
    "lists of 4095 records": (
        MergeSorted(dst=line(MERGED, 8), first=records(RUNS, 0, 4096), second=records(RUNS, 0, 1)),
        MergeSorted(dst=line(MERGED, 8), first=records(RUNS, 0, 4095), second=records(RUNS, 0, 1)),
        "records of a list is 4096, must be 0 to 4095",
    ),
    "lists start on records": (
        MergeSorted(dst=line(MERGED, 8), first=line(RUNS, 8, 3), second=records(RUNS, 8, 4)),
        MergeSorted(dst=line(MERGED, 8), first=line(RUNS, 8, 2), second=records(RUNS, 8, 4)),
        "element offset is 3, needs a multiple of 2",
    ),
    "merged lists start on blocks": (
        MergeSorted(dst=line(MERGED, 8, 4), first=records(RUNS, 0, 1), second=records(RUNS, 8, 1)),
        MergeSorted(dst=line(MERGED, 8, 8), first=records(RUNS, 0, 1), second=records(RUNS, 8, 1)),
        "element offset is 4, needs a multiple of 8",
    ),
    "no merge in place": (
        MergeSorted(dst=line(RUNS, 8), first=records(RUNS, 0, 1), second=records(RUNS, 8, 1)),
        CASES["merge2"],
        "runs is merged in place",
    ),
    "a fourth list behind a third": (
        MergeSorted(
            dst=line(MERGED, 8), first=records(RUNS, 0, 1), second=records(RUNS, 8, 1),
            fourth=records(RUNS, 16, 1),
        ),
        CASES["merge3"],
        "a fourth list and no third",
    ),
    "groups are taken apart": (
        SplitRecords(dst=line(OUT, 40), indices=line(FOUND, 40), src=line(RUNS, 80)),
        CASES["split"],
        "count is 40, needs a multiple of 32",
    ),
    "taken apart elsewhere": (
        SplitRecords(dst=line(RUNS, 32), indices=line(FOUND, 32), src=line(RUNS, 64)),
        CASES["split"],
        "runs is taken apart in place",
    ),
    "indices in UB": (
        SplitRecords(dst=line(OUT, 32), indices=line(UB_L1, 32), src=line(RUNS, 64)),
        CASES["split"],
        "indices l1 is in L1, needs UB",
    ),
    "no cast from fp32 to int8": (
        cast(INT8, X, "CAST_RINT"), cast(INT8, HALF, "CAST_RINT"), "from float32 to int8"
    ),
    "integers become fp32 as they are": (
        cast(OUT, INT32, "CAST_FLOOR"), cast(OUT, INT32, "CAST_NONE"), "int32 to float32 has no CAST_FLOOR"
    ),
    "halves are rounded to integers by a mode": (
        cast(INT8, HALF, "CAST_NONE"), cast(INT8, HALF, "CAST_RINT"), "from float16 to int8 has no CAST_NONE"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LIMITS)
def test_a_limit_flags_its_breach_and_not_its_twin(name):
    broken, legal, says = LIMITS[name]
    assert any(says in problem for problem in broken.violations()), list(broken.violations())
    assert list(legal.violations()) == []


@pytest.mark.parametrize("name", CASES)
def test_costs_and_descriptions(name):
    item = CASES[name]
    empty = isinstance(item, FillInterval) and item.begin.evaluate({}) >= item.end.evaluate({})
    assert item.cycles(Bench()) >= COSTS[item.cost_key].head and (item.units(Bench()) > 0) != empty
    text = item.describe()
    assert "\n" not in text
    assert all(target.name in text for target in (*item.reads(), *item.writes()))
