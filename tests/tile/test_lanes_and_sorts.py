"""Masks of lanes, gathers, running numbers, sorting, casts to integers: emitted text, meaning and the API.

Each instruction runs on the emulator and in NumPy, bit for bit alike; what it should do is written out once
more here, lane by lane.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from attndsl.expr import Const, Symbol
from attndsl.target.costs import COSTS
from attndsl.tile.instructions import (
    Binary,
    Convert,
    CopyLanes,
    FillInterval,
    Gather,
    Instruction,
    LoadRows,
    MergeSorted,
    SortGroups,
    SplitRecords,
    records,
)
from tests.support.devices import ARCHITECTURE

from .bench import Bench, Names
from .frame import Frame
from .lane_cases import (
    BF16,
    BITS,
    CASES,
    FOUND,
    GM_INT8,
    GM_INT32,
    HALF,
    HALVES,
    INT8,
    INT32,
    INTERVALS,
    LIMITS,
    MERGED,
    MORE,
    NUMBERS,
    OFFSETS,
    OUT,
    RUNS,
    TO_INT8,
    TO_INT32,
    UINT8,
    X,
    Y,
    fill,
    line,
)

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
TENSORS = (GM_INT8, GM_INT32, TO_INT8, TO_INT32)
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
    if isinstance(item, LoadRows) and not item.zero_tail and item.dst.buffer is target:
        block = 32 // found.itemsize if target.dtype == "int8" else 8
        rows, cols, pitch = (int(v.evaluate({})) for v in (item.dst.rows, item.dst.cols, item.dst.pitch))
        for row in range(rows):
            end = row * pitch + cols
            found[end : -(-end // block) * block] = True
    return found


@pytest.mark.parametrize("name", CASES)
def test_the_text_does_what_numpy_does(name):
    item, bench = CASES[name], _start()
    assert not list(item.violations(ARCHITECTURE))
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


def test_rows_of_int8_go_to_column_groups() -> None:
    bench = _start()
    stored, before = bench.slot(INT8).copy(), bench.slot(HALVES).copy()
    CASES["to_nz"].run(bench)
    wanted = before
    for row in range(5):
        for lane in range(48):
            wanted[32 + lane // 16 * 7 * 16 + row * 16 + lane % 16] = stored[32 + row * 64 + lane]
    assert np.array_equal(bench.slot(HALVES), wanted)


def test_pad_lanes_of_loaded_rows_are_zeros_where_that_is_asked_for() -> None:
    for name, pads in (("load_int8", False), ("load_int8_with_zeros", True)):
        bench = _start()
        before = bench.slot(INT8)[: 3 * 64].copy().reshape(3, 64)
        CASES[name].run(bench)
        got = bench.slot(INT8)[: 3 * 64].reshape(3, 64)
        rows = bench.tensor(GM_INT8)[7 : 7 + 3 * 51].reshape(3, 51)[:, :45]
        assert np.array_equal(got[:, :45], rows)
        assert np.array_equal(got[:, 45:], np.zeros((3, 19)) if pads else before[:, 45:])


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
    assert not list(merge.violations(ARCHITECTURE))
    merge.run(bench)
    assert bench.slot(MERGED)[:40].tobytes() == bench.slot(RUNS)[74:114].tobytes()
    assert (bench.slot(MERGED)[40:] == _start().slot(MERGED)[40:]).all()


@pytest.mark.parametrize(
    ("counts", "usual", "more"),
    [
        ((32, 32), "0b0011", {}),
        ((32, 32, 32, 32), "0b1111", {}),
        ((32, "a"), "0b0011", {}),
        ((32, 32, "a"), "0b0011", {2: "0b0111"}),
        ((32, 32, 32, "a"), "0b0111", {3: "0b1111"}),
        ((32, 32, "a", 32), "0b1111", {}),
        ((32, 32, "a", "b"), "0b0011", {3: "0b1111", 2: "0b0111"}),
    ],
)
def test_lists_that_may_be_empty_are_named_where_they_are_not(
    counts: tuple[int | str, ...], usual: str, more: dict[int, str]
):
    lists = [records(RUNS, 0, Symbol(each) if isinstance(each, str) else each) for each in counts]
    names = ("first", "second", "third", "fourth")
    text = MergeSorted(dst=line(MERGED, 256), **dict(zip(names, lists, strict=False))).text(Names())
    branches = [f"if (sizes[{place}] > 0) {{\n    validLists = {bits};\n}}" for place, bits in more.items()]
    assert f"false, {'validLists' if more else usual}, 1)" in text
    assert text.count("validLists = ") == len(more) + bool(more)
    assert not more or f"uint16_t validLists = {usual};\n{' else '.join(branches)}\n" in text


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


@pytest.mark.parametrize("name", LIMITS)
def test_a_limit_flags_its_breach_and_not_its_twin(name):
    broken, legal, says = LIMITS[name]
    assert any(says in problem for problem in broken.violations(ARCHITECTURE)), list(
        broken.violations(ARCHITECTURE)
    )
    assert list(legal.violations(ARCHITECTURE)) == []


@pytest.mark.parametrize("name", CASES)
def test_costs_and_descriptions(name):
    item = CASES[name]
    empty = isinstance(item, FillInterval) and item.begin.evaluate({}) >= item.end.evaluate({})
    assert item.cycles(Bench(), COSTS) >= COSTS[item.cost_key].head and (item.units(Bench()) > 0) != empty
    text = item.describe()
    assert "\n" not in text
    assert all(target.name in text for target in (*item.reads(), *item.writes()))
