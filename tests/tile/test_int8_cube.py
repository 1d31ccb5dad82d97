"""int8 on the cube, and several matrices in one load: layouts element by element, then on the emulator.

Index formulas of the asc-devkit guide for 8-bit data, fractals of 16 x 32:

    Nz of [R, C] in L1     (c // 32) * R16 * 32 + r * 32 + c % 32
    Zz of A[M, K] in L0A   ((m // 16) * K1 + k // 32) * 512 + (m % 16) * 32 + k % 32
    Zn of B[K, N] in L0B   ((k // 32) * N1 + n // 16) * 512 + (n % 16) * 32 + k % 32
    Nz of C[M, N] in L0C   (n // 16) * M16 * 16 + m * 16 + n % 16, int32
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attndsl import emulator
from attndsl.expr import Const, as_expr
from attndsl.target.costs import COSTS
from attndsl.tile.instructions import Fixpipe, Instruction, LoadFractals, LoadNz, Mmad
from attndsl.tile_interpreter.disjoint_check import touched_elements
from tests.support.devices import ARCHITECTURE

from .bench import Bench, buffer, tensor
from .frame import cube_kernel
from .int8_limit_cases import (
    KEYS,
    L0A,
    L0B,
    L0C,
    L1,
    LEFT0,
    LEFT1,
    LIMITS,
    M16,
    N16,
    N32,
    PROB,
    QUERY,
    RESULT,
    RIGHT0,
    RIGHT1,
    SCORES,
    SUMS,
    VALUES,
    _multiply,
)

SIZES = st.integers(1, 70)


def up(value, unit):
    return -(-value // unit) * unit


def nz(row, col, rows16):
    return (col // 32) * rows16 * 32 + row * 32 + col % 32


def zz(m, k, depth):
    return ((m // 16) * (up(depth, 32) // 32) + k // 32) * 512 + (m % 16) * 32 + k % 32


def zn(k, n, width):
    return ((k // 32) * (up(width, 16) // 16) + n // 16) * 512 + (n % 16) * 32 + k % 32


def result_nz(m, n, rows16):
    return (n // 16) * rows16 * 16 + m * 16 + n % 16


def placed(index, matrix, size, extra, fill=0):
    flat = np.full(size, fill, np.int8)
    for i, j in np.ndindex(matrix.shape):
        flat[index(i, j, extra)] = matrix[i, j]
    return flat


def numbers(rows, cols, seed=0):
    return np.random.default_rng(seed).integers(-128, 128, (rows, cols)).astype(np.int8)


@settings(max_examples=25)
@given(rows=SIZES, cols=SIZES, gap=st.integers(0, 9))
def test_load_nz(rows, cols, gap):
    pitch, padded = cols + gap, up(rows, 16)
    matrix = numbers(rows, cols)
    source, l1 = tensor("source", "int8"), buffer("l1", "int8", up(cols, 32) * padded, L1)
    bench, image = Bench(), np.full((rows, pitch), 99, np.int8)
    image[:, :cols] = matrix
    bench.put(source, image)
    load = LoadNz(dst=l1.region(), src=source.region(0, rows, cols, pitch), padded_rows=as_expr(padded))
    touched = touched_elements(load, l1, bench)
    load.run(bench)
    expected = np.full(l1.elements, bench.fill, np.int8)
    for row in range(rows):
        for col in range(up(cols, 32)):
            expected[nz(row, col, padded)] = matrix[row, col] if col < cols else 0
            assert touched[nz(row, col, padded)]
    assert np.array_equal(bench.slot(l1), expected)
    assert touched.sum() == rows * up(cols, 32)


@settings(max_examples=15)
@given(m=SIZES, k=SIZES)
def test_left_operand(m, k):
    matrix = numbers(up(m, 16), up(k, 32))
    l1, l0 = buffer("l1", "int8", matrix.size, L1), buffer("l0", "int8", matrix.size, L0A)
    bench = Bench()
    bench.put(l1, placed(nz, matrix, matrix.size, up(m, 16)))
    depth, groups = up(k, 32) // 32, up(m, 16) // 16
    for group in range(groups):
        load = LoadFractals(
            dst=l0.region(group * depth * 512), src=l1.region(group * 512), repeat=as_expr(depth),
            src_stride=as_expr(groups),
        )  # fmt: skip
        assert touched_elements(load, l0, bench).sum() == depth * 512
        load.run(bench)
    assert np.array_equal(bench.slot(l0), placed(zz, matrix, matrix.size, up(k, 32)))


@settings(max_examples=15)
@given(n=SIZES, k=SIZES)
def test_keys_are_their_own_transpose(n, k):
    keys = numbers(up(n, 16), up(k, 32))
    l1, l0 = buffer("l1", "int8", keys.size, L1), buffer("l0", "int8", keys.size, L0B)
    bench = Bench()
    bench.put(l1, placed(nz, keys, keys.size, up(n, 16)))
    repeat = as_expr(keys.size // 512)
    LoadFractals(dst=l0.region(), src=l1.region(), repeat=repeat, src_stride=Const(1)).run(bench)
    assert np.array_equal(bench.slot(l0), placed(zn, keys.T, keys.size, up(n, 16)))


@settings(max_examples=15)
@given(k=SIZES, n=SIZES)
def test_values_are_transposed_block_by_block(k, n):
    """One row of 32 x 32 blocks a copy; both sides padded to 32."""
    values = numbers(up(k, 32), up(n, 32))
    l1, l0 = buffer("l1", "int8", values.size, L1), buffer("l0", "int8", values.size, L0B)
    bench = Bench()
    bench.put(l1, placed(nz, values, values.size, up(k, 32)))
    depth, columns = up(k, 32) // 32, up(n, 32) // 32
    for group in range(depth):
        load = LoadFractals(
            dst=l0.region(group * columns * 1024), src=l1.region(group * 1024), repeat=as_expr(columns),
            src_stride=as_expr(depth), transpose=True,
        )  # fmt: skip
        assert touched_elements(load, l1, bench).sum() == columns * 1024
        load.run(bench)
    assert np.array_equal(bench.slot(l0), placed(zn, values, values.size, up(n, 32)))


@settings(max_examples=25)
@given(rows=st.integers(1, 3), n=SIZES, k=SIZES, accumulate=st.booleans())
def test_mmad(rows, n, k, accumulate):
    """Sums in int32; pad lanes of the operands do not count."""
    m = 16 * rows
    left, right = numbers(m, k, 1), numbers(k, n, 2)
    a, b = buffer("a", "int8", m * up(k, 32), L0A), buffer("b", "int8", up(k, 32) * up(n, 16), L0B)
    c = buffer("c", "int32", m * up(n, 16), L0C)
    bench = Bench()
    bench.put(a, placed(zz, left, a.elements, k, fill=100))
    bench.put(b, placed(zn, right, b.elements, n, fill=100))
    multiply = Mmad(
        dst=c.region(), a=a.region(), b=b.region(), m=as_expr(m), n=as_expr(n), k=as_expr(k),
        initial=as_expr(not accumulate),
    )  # fmt: skip
    multiply.run(bench)
    assert not list(multiply.violations(ARCHITECTURE))
    expected = left.astype(np.int64) @ right.astype(np.int64) + (int(bench.fill) if accumulate else 0)
    for row, col in np.ndindex(m, n):
        assert bench.slot(c)[result_nz(row, col, m)] == expected[row, col]


HEADS, POSITIONS, DEPTH = 3, 5, 40


@pytest.mark.parametrize("dtype", ["int8", "float16"])
@pytest.mark.parametrize("by", ["position", "head"])
def test_rows_of_positions_and_heads_in_one_load(dtype, by):
    """Row position * HEADS + head of the image, from a (position, head, depth) tensor with gaps."""
    source, c0 = tensor("source", dtype), 32 // np.dtype(dtype).itemsize
    l1 = buffer("l1", dtype, 16 * up(DEPTH, c0), L1)
    head_pitch, position_pitch = DEPTH + 2, HEADS * (DEPTH + 2) + 7
    image = np.random.default_rng(1).integers(-9, 9, POSITIONS * position_pitch)
    bench = Bench()
    bench.put(source, image)
    if by == "position":
        load = LoadNz(
            dst=l1.region(), src=source.region(0, HEADS, DEPTH, head_pitch), padded_rows=as_expr(16),
            matrices=as_expr(POSITIONS), src_matrix_pitch=as_expr(position_pitch), matrix_step=as_expr(HEADS),
        )  # fmt: skip
    else:
        load = LoadNz(
            dst=l1.region(), src=source.region(0, POSITIONS, DEPTH, position_pitch), padded_rows=as_expr(16),
            matrices=as_expr(HEADS), src_matrix_pitch=as_expr(head_pitch), matrix_step=as_expr(1),
            row_step=as_expr(HEADS),
        )  # fmt: skip
    assert not list(load.violations(ARCHITECTURE))
    load.run(bench)
    expected = np.full(l1.elements, bench.fill, dtype)
    for position, head, col in np.ndindex(POSITIONS, HEADS, up(DEPTH, c0)):
        place = (col // c0) * 16 * c0 + (position * HEADS + head) * c0 + col % c0
        value = image[position * position_pitch + head * head_pitch + col] if col < DEPTH else 0
        expected[place] = value
        assert touched_elements(load, l1, bench)[place]
    assert np.array_equal(bench.slot(l1), expected)
    assert touched_elements(load, l1, bench).sum() == HEADS * POSITIONS * up(DEPTH, c0)


def test_matrices_beyond_their_memory_are_an_error():
    """And those that just fit are none."""
    source, bench = tensor("source", "int8"), Bench()
    bench.put(source, np.zeros(96))
    for elements, fits in ((96, True), (95, False)):
        l1 = buffer("l1", "int8", elements, L1)
        load = LoadNz(
            dst=l1.region(), src=source.region(0, 1, 32, 32), padded_rows=as_expr(16), matrices=as_expr(3),
            src_matrix_pitch=as_expr(32), matrix_step=as_expr(1),
        )  # fmt: skip
        if fits:
            load.run(bench)
        else:
            with pytest.raises(IndexError, match="l1: 32 elements from 64, slot has 95"):
                load.run(bench)


# scores = query . keys^T; sums = probabilities . values, the operands of both as decode attention has them:
# rows of several heads in one load, keys as they are, values transposed.

M, N, D = 20, 50, 64
GROUP = 4  # query rows: 5 positions of 4 heads
TENSORS = (QUERY, KEYS, PROB, VALUES, SCORES, SUMS)


def _left(depth):
    return [
        LoadFractals(
            dst=LEFT0.region(group * depth * 512), src=LEFT1.region(group * 512), repeat=as_expr(depth),
            src_stride=as_expr(M16 // 16),
        )
        for group in range(M16 // 16)
    ]  # fmt: skip


def _load(target, source, rows, cols, padded):
    return LoadNz(dst=target.region(), src=source.region(0, rows, cols, cols), padded_rows=as_expr(padded))


PROGRAM: tuple[Instruction, ...] = (
    LoadNz(
        dst=LEFT1.region(), src=QUERY.region(0, M // GROUP, D, GROUP * D), padded_rows=as_expr(M16),
        matrices=as_expr(GROUP), src_matrix_pitch=as_expr(D), matrix_step=as_expr(1), row_step=as_expr(GROUP),
    ),
    _load(RIGHT1, KEYS, N, D, N16),
    *_left(D // 32),
    LoadFractals(
        dst=RIGHT0.region(), src=RIGHT1.region(), repeat=as_expr(N16 * D // 512), src_stride=Const(1)
    ),
    _multiply(N, D),
    Fixpipe(dst=SCORES.region(0, M, N16, N16), src=RESULT.region(), m=as_expr(M16)),
    _load(LEFT1, PROB, M, N, M16),
    _load(RIGHT1, VALUES, N, D, N32),
    *_left(N32 // 32),
    *(
        LoadFractals(
            dst=RIGHT0.region(group * (D // 16) * 512), src=RIGHT1.region(group * 1024),
            repeat=as_expr(D // 32), src_stride=as_expr(N32 // 32), transpose=True,
        )
        for group in range(N32 // 32)
    ),
    _multiply(D, N),
    Fixpipe(dst=SUMS.region(0, M, D, D), src=RESULT.region(), m=as_expr(M16)),
)  # fmt: skip


def test_int8_products_on_the_emulator():
    shapes = {QUERY: (M, D), KEYS: (N, D), PROB: (M, N), VALUES: (N, D)}
    values = {item: numbers(*shape, seed) for seed, (item, shape) in enumerate(shapes.items())}
    bench = Bench(fill=0.0)
    for item, array in values.items():
        bench.put(item, array)
    bench.put(SCORES, np.zeros((M, N16)))
    bench.put(SUMS, np.zeros((M, D)))
    args = [
        emulator.Argument(item.name, bench.tensor(item).copy(), output=item.role == "output")
        for item in TENSORS
    ]
    report = cube_kernel(PROGRAM, (LEFT1, RIGHT1, LEFT0, RIGHT0, RESULT), TENSORS).run(1, args)
    assert set(report.finding_counts) <= {"initcheck/undefined_value"}, report.findings[:3]
    for item in PROGRAM:
        assert not list(item.violations(ARCHITECTURE))
        item.run(bench)
    wide = {item: array.astype(np.int32) for item, array in values.items()}
    emulated = {arg.name: arg.array for arg in args}
    for item, expected in ((SCORES, wide[QUERY] @ wide[KEYS].T), (SUMS, wide[PROB] @ wide[VALUES])):
        for got in (bench.tensor(item), emulated[item.name]):
            assert np.array_equal(got.reshape(M, -1)[:, : expected.shape[1]], expected), item.name


def test_int8_is_multiplied_32_deep_at_a_time():
    bench = Bench()
    deep, half = _multiply(N, 64), Mmad(
        dst=buffer("r", "float32", 4096, L0C).region(), a=buffer("a", "float16", 4096, L0A).region(),
        b=buffer("b", "float16", 4096, L0B).region(), m=as_expr(M16), n=as_expr(N), k=as_expr(64),
        initial=Const(True),
    )  # fmt: skip
    head = COSTS["Product"].head
    assert half.cycles(bench, COSTS) - head == pytest.approx(2 * (deep.cycles(bench, COSTS) - head))


@pytest.mark.parametrize("name", LIMITS)
def test_a_limit_flags_its_breach_and_not_its_twin(name):
    broken, legal, says = LIMITS[name]
    assert any(says in problem for problem in broken.violations(ARCHITECTURE)), list(
        broken.violations(ARCHITECTURE)
    )
    assert list(legal.violations(ARCHITECTURE)) == []
