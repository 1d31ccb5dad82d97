"""The text an instruction emits, compiled and run on the emulator, does what its NumPy meaning does.

Vector instructions one by one, each in a kernel of its own (frame.py); cube instructions as one product.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from attndsl import emulator
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import (
    Instruction,
    LoadRows,
    Unary,
)
from tests.support.devices import ARCHITECTURE

from .bench import Bench
from .emitted_cases import (
    BF16,
    BLOCKS,
    BYTES,
    CUBE,
    EXACT,
    HALF,
    K16,
    KEYS,
    LEFT0,
    LEFT1,
    N16,
    NARROW,
    OUT,
    QUERY,
    RESULT,
    RIGHT0,
    RIGHT1,
    ROWS16,
    ROWS32,
    SCORES,
    STORED,
    SUMS,
    VALUES,
    VECTOR,
    K,
    M,
    N,
    X,
    Y,
)
from .frame import Frame, cube_kernel

VECTOR_BUFFERS = (X, Y, OUT, HALF, BF16, BYTES, BLOCKS)
TENSORS = (ROWS32, ROWS16, STORED)

FRAME = Frame(VECTOR, VECTOR_BUFFERS, TENSORS)


def _start() -> Bench:
    """Memory full of ordinary numbers; Y and the bytes avoid zeros."""
    rng, bench = np.random.default_rng(5), Bench()
    for target in VECTOR_BUFFERS:
        values = rng.standard_normal(target.elements) * 3
        if target is Y:
            values = np.abs(values) + 0.25
        if target is BLOCKS:
            values = np.repeat(values[:8], 8)
        if target is BYTES:
            values = rng.integers(0, 256, target.elements)
        bench.put(target, values)
    bench.slot(X)[::5] = 0.5
    for item in TENSORS:
        bench.put(item, rng.standard_normal(400))
    return bench


@pytest.mark.parametrize("name", VECTOR)
def test_vector_instruction(name):
    item, bench = VECTOR[name], _start()
    assert not list(item.violations(ARCHITECTURE))
    report, found = FRAME.emulate(name, bench)
    assert set(report.finding_counts) <= _known_findings(name), report.findings[:3]
    item.run(bench)
    for target in VECTOR_BUFFERS:
        _same(found[target], bench.slot(target), target, item)
    for target in TENSORS:
        assert np.array_equal(found[target], bench.tensor(target)), target.name


def _known_findings(name: str) -> set[str]:
    """Loads without padding leave the pad lanes of a row undefined; storing the whole image shows them."""
    return {"initcheck/undefined_value"} if name.startswith("load") else set()


def _same(got: np.ndarray, expected: np.ndarray, target: Buffer, item: Instruction) -> None:
    keep = np.ones(got.size, bool)
    if isinstance(item, LoadRows) and item.dst.buffer is target:
        keep = _not_padding(item, got.size)
    assert np.isfinite(expected[keep].astype(np.float64)).all()
    if isinstance(item, Unary) and item.op in ("Exp", "Ln", "Sqrt"):
        # NumPy's and the C library's functions may differ in the last place
        np.testing.assert_allclose(got[keep].astype(float), expected[keep].astype(float), rtol=3e-7)
    else:
        assert np.array_equal(got[keep], expected[keep]), target.name


def _not_padding(item: LoadRows, size: int) -> np.ndarray:
    """Lanes other than those between the end of a row and the next 32-byte block."""
    region, keep = item.dst, np.ones(size, bool)
    block = 32 // np.dtype(item.dst.buffer.dtype).itemsize
    offset, rows, cols = (int(v.evaluate({})) for v in (region.offset, region.rows, region.cols))
    pitch = int(region.pitch.evaluate({})) or cols
    for row in range(rows):
        end = offset + row * pitch + cols
        keep[end : -(-end // block) * block] = False
    return keep


# A matrix product from row-major inputs to row-major output: every cube instruction, both ways of loading.
CUBE_TENSORS = (QUERY, KEYS, VALUES, SCORES, NARROW, EXACT, SUMS)


def test_cube_instructions():
    rng, bench = np.random.default_rng(6), Bench(fill=0.0)
    shapes = {QUERY: (M, K), KEYS: (N, K), VALUES: (K, N)}
    values = {item: rng.integers(-4, 5, shape) for item, shape in shapes.items()}
    values[QUERY] *= 50  # products of more digits than fp16 has
    image = np.zeros((N16 // 16, K16 * 16 + 32))
    for row, col in np.ndindex(K, N):
        image[col // 16, row * 16 + col % 16] = values[VALUES][row, col]
    for item, array in values.items():
        bench.put(item, array if item is not VALUES else np.append(np.zeros(64), image))
    for item in (SCORES, NARROW, EXACT, SUMS):
        bench.put(item, np.zeros((M, N16)))
    args = [
        emulator.Argument(item.name, bench.tensor(item).copy(), output=item.role == "output")
        for item in CUBE_TENSORS
    ]
    report = cube_kernel(CUBE, (LEFT1, RIGHT1, LEFT0, RIGHT0, RESULT), CUBE_TENSORS).run(1, args)
    assert set(report.finding_counts) <= {"initcheck/undefined_value"}, report.findings[:3]
    for item in CUBE:
        assert not list(item.violations(ARCHITECTURE))
        item.run(bench)
    query, keys, cols = (values[item].astype(np.float32) for item in (QUERY, KEYS, VALUES))
    emulated = {arg.name: arg.array for arg in args}
    scores = 2 * query @ keys.T
    assert not np.array_equal(scores.astype(np.float16), scores)
    for item, expected in ((SCORES, scores), (NARROW, scores.astype(np.float16)), (SUMS, 2 * query @ cols)):
        for got in (bench.tensor(item), emulated[item.name]):
            assert np.array_equal(got.reshape(M, N16)[:, :N], expected), item.name
    brief = scores.astype(ml_dtypes.bfloat16)
    assert not np.array_equal(brief.astype(np.float32), scores)
    for got in (bench.tensor(EXACT).reshape(M, N16), emulated[EXACT.name].reshape(M, N16)):
        assert np.array_equal(got[3:, :N], brief[3:])
        assert not got[:3].any() and not got[:, N:].any(), "what is beside them stays"
