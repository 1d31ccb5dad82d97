"""Cube instructions against the documented layouts, element by element.

Index formulas of the asc-devkit guide ("matrix data layouts"), 16-bit data, fractals of 16 x 16:

    Nz of [R, C] in L1     (c // 16) * R16 * 16 + r * 16 + c % 16
    Zz of A[M, K] in L0A   ((m // 16) * K1 + k // 16) * 256 + (m % 16) * 16 + k % 16
    Zn of B[K, N] in L0B   ((k // 16) * N1 + n // 16) * 256 + (n % 16) * 16 + k % 16
    Nz of C[M, N] in L0C   (n // 16) * M16 * 16 + m * 16 + n % 16

with R16, M16 rounded up to 16 and K1, N1 the numbers of fractals.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attndsl.expr import Const, Symbol, as_expr, round_up
from attndsl.target import MemorySpace
from attndsl.tile.instructions import Fixpipe, LoadBlocks, LoadFractals, LoadNz, LoadTransposed, Mmad
from attndsl.tile.instructions.cube import FRACTAL_SIZE, padded
from tests.support.devices import ARCHITECTURE

from .bench import Bench, buffer, tensor

SIZES = st.integers(1, 50)


def up16(value):
    return -(-value // 16) * 16


def nz(row, col, rows16):
    return (col // 16) * rows16 * 16 + row * 16 + col % 16


def zz(m, k, depth):
    return ((m // 16) * (up16(depth) // 16) + k // 16) * 256 + (m % 16) * 16 + k % 16


def zn(k, n, width):
    return ((k // 16) * (up16(width) // 16) + n // 16) * 256 + (n % 16) * 16 + k % 16


def placed(index, matrix, size, extra, fill=0.0):
    """A flat memory holding ``matrix[i, j]`` at ``index(i, j, extra)``."""
    flat = np.full(size, fill, np.float32)
    for i, j in np.ndindex(matrix.shape):
        flat[index(i, j, extra)] = matrix[i, j]
    return flat


def numbers(rows, cols, seed=0):
    """Small integers: exact in every dtype, and exact when summed."""
    return np.random.default_rng(seed).integers(-8, 9, (rows, cols)).astype(np.float32)


@settings(max_examples=40)
@given(rows=SIZES, cols=SIZES, gap=st.integers(0, 9), spare=st.integers(0, 2))
def test_load_nz(rows, cols, gap, spare):
    """Row-major to Nz; pad columns become zero, pad rows keep what was there."""
    pitch, padded = cols + gap, up16(rows) + 16 * spare
    matrix = numbers(rows, cols)
    source, l1 = tensor("source", "float16"), buffer("l1", "float16", up16(cols) * padded, MemorySpace.L1)
    bench = Bench()
    image = np.full((rows, pitch), 99.0)
    image[:, :cols] = matrix
    bench.put(source, image)
    LoadNz(dst=l1.region(), src=source.region(0, rows, cols, pitch), padded_rows=as_expr(padded)).run(bench)
    got = bench.slot(l1).astype(np.float32)
    expected = np.full(got.size, bench.fill, np.float32)
    for row in range(rows):
        for col in range(up16(cols)):
            expected[nz(row, col, padded)] = matrix[row, col] if col < cols else 0
    assert np.array_equal(got, expected)


@settings(max_examples=25)
@given(m=SIZES, k=SIZES)
def test_left_operand_from_nz_to_zz(m, k):
    """One row of fractals a copy, source stride of a fractal column: A in Nz becomes A in Zz."""
    matrix = numbers(up16(m), up16(k))
    l1 = buffer("l1", "float16", matrix.size, MemorySpace.L1)
    l0 = buffer("l0", "float16", matrix.size, MemorySpace.L0A)
    bench = Bench()
    bench.put(l1, placed(nz, matrix, matrix.size, up16(m)))
    depth_groups, row_groups = up16(k) // 16, up16(m) // 16
    for group in range(row_groups):
        LoadFractals(
            dst=l0.region(group * depth_groups * 256),
            src=l1.region(group * 256),
            repeat=as_expr(depth_groups),
            src_stride=as_expr(row_groups),
        ).run(bench)
    assert np.array_equal(bench.slot(l0).astype(np.float32), placed(zz, matrix, matrix.size, up16(k)))


@settings(max_examples=25)
@given(n=SIZES, k=SIZES)
def test_keys_are_their_own_transpose(n, k):
    """Nz of keys [N, K] is Zn of B = keys^T [K, N]: one contiguous copy."""
    keys = numbers(up16(n), up16(k))
    l1 = buffer("l1", "float16", keys.size, MemorySpace.L1)
    l0 = buffer("l0", "float16", keys.size, MemorySpace.L0B)
    bench = Bench()
    bench.put(l1, placed(nz, keys, keys.size, up16(n)))
    repeat = as_expr(keys.size // 256)
    LoadFractals(dst=l0.region(), src=l1.region(), repeat=repeat, src_stride=Const(1)).run(bench)
    assert np.array_equal(bench.slot(l0).astype(np.float32), placed(zn, keys.T, keys.size, up16(n)))


@settings(max_examples=25)
@given(k=SIZES, n=SIZES)
def test_values_are_transposed_fractal_by_fractal(k, n):
    """Nz of values [K, N] becomes Zn of B = values [K, N], one row of fractals a copy, or all at once."""
    values = numbers(up16(k), up16(n))
    l1 = buffer("l1", "float16", values.size, MemorySpace.L1)
    l0 = buffer("l0", "float16", values.size, MemorySpace.L0B)
    bench = Bench()
    bench.put(l1, placed(nz, values, values.size, up16(k)))
    depth_groups, column_groups = up16(k) // 16, up16(n) // 16
    for group in range(depth_groups):
        LoadFractals(
            dst=l0.region(group * column_groups * 256),
            src=l1.region(group * 256),
            repeat=as_expr(column_groups),
            src_stride=as_expr(depth_groups),
            transpose=True,
        ).run(bench)
    expected = placed(zn, values, values.size, up16(n))
    assert np.array_equal(bench.slot(l0).astype(np.float32), expected)
    bench.slot(l0)[...] = 0
    sizes = map(as_expr, (depth_groups, column_groups, depth_groups))
    transposed(l0.region(), l1.region(), *sizes).run(bench)
    assert np.array_equal(bench.slot(l0).astype(np.float32), expected)


def transposed(dst, src, rows, columns, image_rows):
    return LoadTransposed(dst=dst, src=src, rows=rows, columns=columns, image_rows=image_rows)


@settings(max_examples=25)
@given(above=st.integers(0, 3), below=st.integers(0, 3), k=st.integers(1, 3), n=st.integers(1, 3))
def test_a_block_of_an_image_is_transposed_alone(above, below, k, n):
    """Fractals of the image above and below the block are left out."""
    image = numbers((above + k + below) * 16, n * 16)
    l1 = buffer("l1", "float16", image.size, MemorySpace.L1)
    l0 = buffer("l0", "float16", k * n * 256, MemorySpace.L0B)
    bench = Bench()
    bench.put(l1, placed(nz, image, image.size, len(image)))
    sizes = map(as_expr, (k, n, above + k + below))
    transposed(l0.region(), l1.region(above * 256), *sizes).run(bench)
    block = image[above * 16 : (above + k) * 16]
    assert np.array_equal(bench.slot(l0).astype(np.float32), placed(zn, block, block.size, n * 16))


def test_what_an_image_holds_is_read_and_no_more():
    l1, l0 = buffer("l1", "float16", 6 * 256, MemorySpace.L1), buffer("l0", "float16", 1024, MemorySpace.L0B)
    bench = Bench()
    bench.put(l1, numbers(6, 256).reshape(-1))
    transposed(l0.region(), l1.region(256), as_expr(2), as_expr(2), as_expr(3)).run(bench)
    with pytest.raises(IndexError, match=r"1280 elements are read, 1024 are left"):
        transposed(l0.region(), l1.region(512), as_expr(2), as_expr(2), as_expr(3)).run(bench)


def test_limits_of_transposed_blocks():
    l1, l0 = buffer("l1", "float16", 4096, MemorySpace.L1), buffer("l0", "float16", 4096, MemorySpace.L0B)
    legal = transposed(l0.region(256), l1.region(16), as_expr(2), as_expr(2), as_expr(2047))
    assert not list(legal.violations(ARCHITECTURE))
    b1, b0 = (buffer(each.name, "int8", 4096, each.space) for each in (l1, l0))
    two = as_expr(2)
    for wrong, text in (
        (transposed(l0.region(16), l1.region(16), two, two, two), "multiple of 256"),
        (transposed(l0.region(), l1.region(), two, two, as_expr(2048)), "rows of the image is"),
        (transposed(b0.region(), b1.region(), two, two, two), "source is int8"),
        (transposed(l1.region(), l0.region(), two, two, two), "needs L0B"),
    ):
        assert any(text in each for each in wrong.violations(ARCHITECTURE)), text


@settings(max_examples=25)
@given(groups=st.integers(1, 4), blocks=st.integers(1, 20), gap=st.integers(0, 9), spare=st.integers(0, 9))
def test_load_blocks(groups, blocks, gap, spare):
    """Column groups of an image: what stands between them on either side stays."""
    source, l1 = tensor("source", "float16"), buffer("l1", "float16", 4096, MemorySpace.L1)
    size, pitch, wide = blocks * 16, (blocks + gap) * 16, (blocks + spare) * 16
    image, bench = numbers(groups, pitch), Bench()
    bench.put(source, image)
    LoadBlocks(dst=l1.region(16, groups, size, wide), src=source.region(0, groups, size, pitch)).run(bench)
    expected = np.full(4096, bench.fill, np.float32)
    for group in range(groups):
        start = 16 + group * wide
        expected[start : start + size] = image[group, :size]
    assert np.array_equal(bench.slot(l1).astype(np.float32), expected)


@settings(max_examples=40)
@given(rows=st.integers(1, 3), n=SIZES, k=SIZES, accumulate=st.booleans())
def test_mmad(rows, n, k, accumulate):
    """Only the true k counts: what stands in the pad lanes of the operands is ignored."""
    m = 16 * rows
    left, right = numbers(m, k, 1), numbers(k, n, 2)
    a = buffer("a", "float16", m * up16(k), MemorySpace.L0A)
    b = buffer("b", "float16", up16(k) * up16(n), MemorySpace.L0B)
    c = buffer("c", "float32", m * up16(n), MemorySpace.L0C)
    bench = Bench()
    bench.put(a, placed(zz, left, a.elements, k, fill=500.0))
    bench.put(b, placed(zn, right, b.elements, n, fill=500.0))
    start = numbers(m, up16(n), 3)
    bench.put(c, placed(nz, start, c.elements, m))
    Mmad(
        dst=c.region(), a=a.region(), b=b.region(), m=as_expr(m), n=as_expr(n), k=as_expr(k),
        initial=as_expr(not accumulate),
    ).run(bench)  # fmt: skip
    expected = left @ right + (start[:, :n] if accumulate else 0)
    got = bench.slot(c)
    for row, col in np.ndindex(m, n):
        assert got[nz(row, col, m)] == expected[row, col]


@settings(max_examples=25)
@given(rows=st.integers(1, 40), groups=st.integers(1, 3), gap=st.integers(0, 9))
def test_fixpipe(rows, groups, gap):
    """Nz of L0C to row-major; only the rows asked for are written."""
    cols, m = 16 * groups, up16(rows)
    matrix = numbers(m, cols)
    c, out = buffer("c", "float32", m * cols, MemorySpace.L0C), tensor("out", "float32", "workspace")
    bench = Bench()
    bench.put(c, placed(nz, matrix, matrix.size, m))
    bench.put(out, np.full((rows + 1, cols + gap), 5.0))
    Fixpipe(dst=out.region(0, rows, cols, cols + gap), src=c.region(), m=as_expr(m)).run(bench)
    got = bench.tensor(out).reshape(rows + 1, cols + gap)
    assert np.array_equal(got[:rows, :cols], matrix[:rows])
    assert (got[:rows, cols:] == 5).all()
    assert (got[rows] == 5).all()
    before, region = bench.tensor(out).copy(), out.region(0, rows, cols, cols + gap)
    for adds, factor in ((Symbol("tile") > 1, 0), (Symbol("tile") > 0, 1)):
        bench.scalars["tile"] = 1
        Fixpipe(dst=region, src=c.region(), m=as_expr(m), adds=adds).run(bench)
        added = bench.tensor(out).reshape(rows + 1, cols + gap) - before.reshape(rows + 1, cols + gap)
        assert np.array_equal(added[:rows, :cols], factor * matrix[:rows]), "added where the condition holds"
        assert not added[:rows, cols:].any() and not added[rows].any()


def test_offsets_into_the_accumulator():
    """Two results in one L0C slot: the text says ``c[512]``, so the meaning has to."""
    left, right = numbers(16, 16, 1), numbers(16, 32, 2)
    a, b = buffer("a", "float16", 256, MemorySpace.L0A), buffer("b", "float16", 512, MemorySpace.L0B)
    c, out = buffer("c", "float32", 1024, MemorySpace.L0C), tensor("out", "float32", "workspace")
    bench = Bench()
    bench.put(a, placed(zz, left, 256, 16))
    bench.put(b, placed(zn, right, 512, 32))
    bench.put(out, np.zeros((16, 32)))
    Mmad(
        dst=c.region(512), a=a.region(), b=b.region(), m=as_expr(16), n=as_expr(32), k=as_expr(16),
        initial=Const(True),
    ).run(bench)  # fmt: skip
    assert (bench.slot(c)[:512] == bench.fill).all()
    Fixpipe(dst=out.region(0, 16, 32, 32), src=c.region(512), m=as_expr(16)).run(bench)
    assert np.array_equal(bench.tensor(out).reshape(16, 32), left @ right)


def test_a_copy_beyond_its_memory_is_an_error():
    """And one that just fits is none."""
    source = tensor("source", "float16")
    bench = Bench()
    bench.put(source, np.zeros((17, 16)))
    for elements, fits in ((256 + 16, True), (256 + 15, False)):
        l1 = buffer("l1", "float16", elements, MemorySpace.L1)
        load = LoadNz(dst=l1.region(), src=source.region(0, 17, 16, 16), padded_rows=as_expr(32))
        if fits:
            load.run(bench)
        else:
            with pytest.raises(IndexError, match="l1: 272 elements from 0, slot has 271"):
                load.run(bench)
    too_far = LoadNz(dst=l1.region(), src=source.region(16, 17, 16, 16), padded_rows=as_expr(32))
    with pytest.raises(IndexError, match="source: elements 16 to 288 of 272"):
        too_far.run(bench)


def test_a_number_of_fractals_is_padded_already():
    rows = Symbol("rows")
    assert padded(rows * FRACTAL_SIZE).same(rows * FRACTAL_SIZE)
    assert padded(rows).same(round_up(rows, FRACTAL_SIZE))
    assert padded(rows * 8).same(round_up(rows * 8, FRACTAL_SIZE))
