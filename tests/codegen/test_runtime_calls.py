"""Loops and branches become calls of the runtime header only where the call does exactly the same."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from attndsl.codegen.kernel.device_header import DEVICE_HEADER
from attndsl.codegen.kernel.runtime_calls import call_of_branch, call_of_instruction, call_of_loop
from attndsl.codegen.names.spelling import Spelling
from attndsl.codegen.samples.device_files import runtime_files
from attndsl.expr import Const, Expr, Symbol, as_expr, ceil_div, compare, maximum, minimum, select
from attndsl.lowering.emit.loop_scalars import REPEAT_LANES
from attndsl.target import MemorySpace
from attndsl.tile.buffers import Buffer, GlobalTensor
from attndsl.tile.instructions import (
    Binary,
    BlockReduce,
    BroadcastRows,
    LoadFractals,
    LoadNz,
    StoreRows,
    WithScalar,
)
from attndsl.tile.instructions.cube import FRACTAL_SIZE, INT8_DEPTH
from attndsl.tile.instructions.units import (
    ORDERED_FRACTALS,
    REPEAT_BLOCKS,
    VECTOR_CORES,
    block_elements,
    repeat_elements,
)
from attndsl.tile.program import Program
from attndsl.tile.statements import For, If, Let, Seq, seq
from tests.support.devices import DEVICE

COL, R8, ROWS, STEP_ROWS, KEYS = (Symbol(name) for name in ("i", "r8", "groupRows", "stepRows", "keys"))
NAMES = Spelling(
    Program(
        name="hand_made", summary="", dtype="float16", parameters=(), workspace=(), tiling=(),
        device=DEVICE, constants=(), body=seq(),
    )
)  # fmt: skip
FULL = FRACTAL_SIZE * FRACTAL_SIZE
FREE = REPEAT_LANES - COL % (2 * REPEAT_LANES)


def buffer(name: str, space: MemorySpace = MemorySpace.UB, dtype: str = "float32") -> Buffer:
    return Buffer(name=name, space=space, dtype=dtype, size=Const(1 << 12))


ROWS_OF, BLOCKS, LANES, STATS = (buffer(name) for name in ("x", "blocks", "lanes", "stats"))
L1, L0A, L0B = (buffer(name, MemorySpace[name], "float16") for name in ("L1", "L0A", "L0B"))
NARROW1, NARROWB = buffer("n1", MemorySpace.L1, "int8"), buffer("nb", MemorySpace.L0B, "int8")
KEY = GlobalTensor(name="key", dtype="float16", role="input")


def repeats(body: Seq, end: Expr = KEYS, **other: Expr) -> For:
    return For(var=COL, end=end, step=other.get("step", REPEAT_LANES), body=body)


def by_blocks(op: str = "Mul", second: Expr = FREE, pitch: int = 128, moved: Expr | int = 0) -> Binary:
    rows = ROWS_OF.region(COL + moved, STEP_ROWS, REPEAT_LANES, pitch)
    blocks = BLOCKS.region(second, STEP_ROWS, 8, 8)
    return Binary(op=op, dst=rows, first=rows, second=blocks, broadcast=True)


def by_eights(rows: Expr = ROWS, apart: int = 128, blocks: int = 16) -> For:
    lanes = ROWS_OF.region(COL + R8 * apart, rows, REPEAT_LANES, 128)
    item = Binary(
        op="Mul", dst=lanes, first=lanes, second=BLOCKS.region(R8 * blocks + FREE, rows, 8, 8), broadcast=True
    )
    body = seq(Let(symbol=ROWS, value=minimum(8, STEP_ROWS - R8)), item)
    return repeats(seq(For(var=R8, end=STEP_ROWS, step=Const(8), body=body)))


def reduced(results: Expr) -> For:
    item = BlockReduce(
        op="Max",
        dst=LANES.region(results, STEP_ROWS, 8, 16),
        src=ROWS_OF.region(COL, STEP_ROWS, REPEAT_LANES, 128),
    )
    return repeats(seq(item))


def spread(copies: int, start: Expr = COL) -> For:
    item = BroadcastRows(dst=BLOCKS.region(start, 2, REPEAT_LANES, copies * 64), src=STATS.region(4, 1, 16))
    return repeats(seq(item), Const(128))


def fractals(dst: Expr, src: Expr, repeat: Expr, *, transpose: bool = False, narrow: bool = False) -> For:
    source, target = (NARROW1, NARROWB) if narrow else (L1, L0B if transpose else L0A)
    item = LoadFractals(
        dst=target.region(dst), src=source.region(src), repeat=repeat, src_stride=KEYS, transpose=transpose
    )
    return For(var=COL, end=STEP_ROWS, body=seq(item))


COLUMNS = Symbol("columns")
LEFT = fractals(7 + COL * COLUMNS * FULL, (STEP_ROWS + COL) * FULL, COLUMNS)
SQUARES = COLUMNS * FRACTAL_SIZE // INT8_DEPTH
NARROW = FRACTAL_SIZE * INT8_DEPTH


@pytest.mark.parametrize(
    ("loop", "text"),
    [
        (repeats(seq(by_blocks())), "MulRows<2>(x_, blocks_, stepRows, keys, 128);"),
        (
            repeats(seq(by_blocks("Div", Const(0), moved=32))),
            "DivRows<1>(x_[32], blocks_, stepRows, keys, 128);",
        ),
        (repeats(seq(by_blocks("Sub"))), "SubRows<2>(x_, blocks_, stepRows, keys, 128);"),
        (by_eights(), "MulRows<2>(x_, blocks_, stepRows, keys, 128);"),
        (reduced(COL // 8), "MaxOfBlocks(lanes_, x_, stepRows, keys, 16, 128);"),
        (spread(2), "SpreadOverBlocks<2>(blocks_, stats_[4], 16);"),
        (LEFT, "LoadLeft(L0A_[7], L1_[stepRows * (kFractal * kFractal)], stepRows, columns, keys);"),
        (
            fractals(
                COL * COLUMNS * NARROW, COL * (INT8_DEPTH * INT8_DEPTH), SQUARES, transpose=True, narrow=True
            ),
            "LoadTransposedInt8(nb_, n1_, stepRows, columns, keys);",
        ),
    ],
)
def test_loops_that_the_header_has(loop: For, text: str) -> None:
    assert call_of_loop(loop, NAMES) == text


@pytest.mark.parametrize(
    "loop",
    [
        repeats(seq(by_blocks("Max"))),
        repeats(seq(by_blocks()), step=Const(32)),
        repeats(seq(replace(by_blocks(), broadcast=False))),
        repeats(seq(by_blocks(second=COL))),
        repeats(seq(replace(by_blocks(), first=LANES.region(COL, STEP_ROWS, REPEAT_LANES, 128)))),
        repeats(seq(by_blocks(moved=COL))),
        repeats(seq(by_blocks(), by_blocks())),
        by_eights(apart=64),
        by_eights(blocks=8),
        by_eights(rows=STEP_ROWS),
        reduced(COL // 4),
        spread(3),
        spread(2, COL + 8),
        fractals(COL * COLUMNS * FULL, COL * FULL, COLUMNS + 1),
        fractals(COL * COLUMNS * FULL, COL * FULL * 2, COLUMNS),
        fractals(COL * COL * FULL, COL * FULL, COLUMNS),
        fractals(COL * COLUMNS * FULL, COL * FULL, COLUMNS, transpose=True),
        fractals(COL * COLUMNS * FULL, COL * FULL, SQUARES, transpose=True),
        replace(LEFT, begin=Const(1)),
        replace(LEFT, step=Const(2)),
    ],
)
def test_loops_that_do_anything_else_are_written_out(loop: For) -> None:
    assert call_of_loop(loop, NAMES) is None


PITCH = Symbol("pitch")


def matrix(limit: int = 65535, **row: Expr | int) -> If:
    def load(at: Expr | int, offset: Expr | int, rows: Expr | int, pitch: Expr | int) -> LoadNz:
        region = KEY.region(offset, rows, COLUMNS, pitch)
        return LoadNz(dst=L1.region(at), src=region, padded_rows=as_expr(KEYS))

    at, offset = row.get("at", (3 + COL) * FRACTAL_SIZE), row.get("offset", 5 + COL * PITCH)
    one = load(at, offset, row.get("rows", 1), row.get("pitch", COLUMNS))
    loop = For(var=COL, end=as_expr(row.get("end", STEP_ROWS)), body=seq(one))
    whole = load(Const(3) * FRACTAL_SIZE, 5, STEP_ROWS, PITCH)
    return If(condition=compare("<=", PITCH, limit), then=seq(whole), otherwise=seq(loop))


def test_a_matrix_of_any_pitch_is_one_call() -> None:
    text = "LoadNzOfAnyPitch(L1_[3 * kFractal], keyGm_[5], stepRows, columns, pitch, keys);"
    assert call_of_branch(matrix(), NAMES, DEVICE.architecture) == text


@pytest.mark.parametrize(
    "make",
    [
        lambda: matrix(limit=65536),
        lambda: matrix(at=(3 + COL) * 8),
        lambda: matrix(offset=5 + COL * COLUMNS),
        lambda: matrix(rows=2),
        lambda: matrix(pitch=PITCH),
        lambda: matrix(end=KEYS),
        lambda: replace(matrix(), otherwise=None),
    ],
)
def test_other_branches_are_written_out(make: Callable[[], If]) -> None:
    assert call_of_branch(make(), NAMES, DEVICE.architecture) is None


HEADS, POSITIONS, HEAD_PITCH = (Symbol(name) for name in ("heads", "positions", "headPitch"))


def positions(limit: int = 65535, single: int = 1, **changed: Any) -> If:
    """The heads of some positions, in one copy or in one each."""

    def load(at: Expr, offset: Expr, rows: Expr, pitch: Expr, **several: Expr) -> LoadNz:
        region = KEY.region(offset, rows, COLUMNS, pitch)
        return LoadNz(dst=L1.region(at), src=region, padded_rows=as_expr(KEYS), **several)

    fits, start, first = compare("<=", PITCH, limit), Const(3) * FRACTAL_SIZE, Const(5)
    one = load(start, first, changed.get("whole", POSITIONS), PITCH)
    every = {"matrices": POSITIONS, "src_matrix_pitch": PITCH, "matrix_step": changed.get("step", HEADS)}
    several = load(start, first, HEADS, HEAD_PITCH, **every)
    at = start + COL * changed.get("apart", HEADS) * FRACTAL_SIZE
    row = load(at, first + COL * PITCH, HEADS, changed.get("pitch", HEAD_PITCH))
    loop = For(var=COL, end=changed.get("end", POSITIONS), body=seq(row))
    other = If(condition=fits, then=seq(several), otherwise=seq(loop))
    return If(condition=compare("==", HEADS, single) & fits, then=seq(one), otherwise=seq(other))


def test_the_heads_of_some_positions_are_one_call() -> None:
    text = "LoadPositions(L1_[3 * kFractal], keyGm_[5], positions, heads, columns, pitch, headPitch, keys);"
    assert call_of_branch(positions(), NAMES, DEVICE.architecture) == text


@pytest.mark.parametrize(
    "changed",
    [
        {"limit": 65536},
        {"single": 2},
        {"whole": HEADS},
        {"step": POSITIONS},
        {"apart": POSITIONS},
        {"pitch": PITCH},
        {"end": HEADS},
    ],
)
def test_positions_that_are_loaded_otherwise_are_written_out(changed: dict[str, Any]) -> None:
    assert call_of_branch(positions(**changed), NAMES, DEVICE.architecture) is None


FIRST, LENGTH, ROW, COUNT, HEAD, POSITION = (
    Symbol(name) for name in ("first", "length", "row", "count", "head", "position")
)


def stored_runs(**changed: Any) -> For:
    """Rows of a task, stored by its heads and positions."""

    def given(name: str, usual: Expr | int) -> Expr:
        return as_expr(changed.get(name, usual))

    step, head_pitch = given("step", STEP_ROWS), given("head_pitch", HEAD_PITCH)
    pitch = given("pitch", select(compare("==", HEADS, changed.get("single", 1)), PITCH, HEAD_PITCH))
    offset = given("offset", (KEYS + POSITION) * PITCH + HEAD * head_pitch)
    store = StoreRows(
        dst=KEY.region(offset, COUNT, COLUMNS, pitch),
        src=ROWS_OF.region(7 + ROW * given("apart", 128), given("rows", COUNT), COLUMNS, 128),
    )
    body = seq(
        Let(symbol=ROW, value=given("row", maximum(0, R8 * LENGTH - FIRST))),
        Let(symbol=COUNT, value=given("count", minimum(STEP_ROWS, (R8 + 1) * LENGTH - FIRST) - ROW)),
        Let(symbol=HEAD, value=3 + (FIRST + ROW) % given("heads", HEADS)),
        Let(symbol=POSITION, value=5 + given("of_position", FIRST + ROW) // HEADS),
        store,
        *changed.get("more", ()),
    )
    return For(var=R8, begin=FIRST // LENGTH, end=ceil_div(FIRST + step, LENGTH), body=body)


def test_rows_that_are_stored_by_runs_are_one_call() -> None:
    place = "keyGm_[(keys + 5) * pitch + 3 * headPitch], x_[7]"
    sizes = "first, stepRows, length, heads, columns, headPitch, pitch, 128"
    assert call_of_loop(stored_runs(), NAMES) == f"StoreRuns({place}, {sizes});"


@pytest.mark.parametrize(
    "changed",
    [
        {"single": 2},
        {"step": KEYS},
        {"head_pitch": PITCH},
        {"pitch": HEAD_PITCH},
        {"offset": POSITION * PITCH * HEAD},
        {"offset": POSITION * PITCH + HEAD * HEAD_PITCH + ROW},
        {"apart": 64},
        {"rows": STEP_ROWS},
        {"row": maximum(0, R8 * LENGTH)},
        {"count": minimum(STEP_ROWS, R8 * LENGTH - FIRST) - ROW},
        {"heads": COLUMNS},
        {"of_position": ROW},
        {"more": [Let(symbol=KEYS, value=ROW)]},
    ],
)
def test_rows_that_are_stored_otherwise_are_written_out(changed: dict[str, Any]) -> None:
    assert call_of_loop(stored_runs(**changed), NAMES) is None


def test_numbers_of_the_header_are_those_that_calls_are_chosen_by() -> None:
    """A branch is a call if it asks for the device's limit, which the functions that are called name."""
    files = runtime_files(DEVICE)
    found = dict(re.findall(r"^constexpr int64_t (k\w+) = (\d+);", files[f"op_kernel/{DEVICE_HEADER}"], re.M))
    wanted = {
        "kBlockBytes": block_elements("int8"),
        "kBlockLanes": block_elements("float32"),
        "kBlockHalves": block_elements("float16"),
        "kRepeatBlocks": REPEAT_BLOCKS,
        "kOrderedFractals": ORDERED_FRACTALS.value,
        "kRepeatLanes": repeat_elements("float32"),
        "kVectorCores": VECTOR_CORES.value,
        "kFractal": FRACTAL_SIZE.value,
        "kInt8Depth": INT8_DEPTH.value,
        "kMaxNd2NzPitch": DEVICE.architecture.max_nd2nz_pitch,
    }
    assert found == {name: str(number) for name, number in wanted.items()}
    assert not re.findall(r"^constexpr", files["op_kernel/attndsl_kernel.h"], re.M), "one number, one home"


def test_a_copy_of_lanes_is_named_and_another_sum_is_not() -> None:
    """Adds with 0 copies; DataCopy would move whole blocks."""
    copy = WithScalar(op="Adds", dst=LANES.region(8, 1, 5), src=STATS.region(0, 1, 5), scalar=Const(0))
    assert call_of_instruction(copy, NAMES) == "CopyLanes(lanes_[8], stats_, 5);"
    assert call_of_instruction(replace(copy, scalar=Const(1)), NAMES) is None
    assert call_of_instruction(replace(copy, op="Muls"), NAMES) is None
