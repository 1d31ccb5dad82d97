"""The text an instruction emits, compiled and run on the emulator, does what its NumPy meaning does.

Vector instructions one by one, each in a kernel of its own (frame.py); cube instructions as one product.
"""

from __future__ import annotations

import numpy as np
import pytest

from attndsl import emulator
from attndsl.expr import Const, as_expr
from attndsl.target import MemorySpace
from attndsl.tile.buffers import Buffer, GlobalTensor
from attndsl.tile.instructions import (
    Binary,
    BroadcastRows,
    CompareLanes,
    CompareWithScalar,
    Convert,
    Fill,
    FillLanes,
    Fixpipe,
    Instruction,
    LoadFractals,
    LoadNz,
    LoadRows,
    Mmad,
    RowReduce,
    SelectOrScalar,
    ShiftBits,
    StoreRows,
    Unary,
    WithScalar,
)

from .bench import Bench, buffer, tensor
from .frame import Frame, cube_kernel

ONE = Const(1)
X, Y, OUT = (buffer(name, "float32", 1024) for name in ("x", "y", "out"))
HALF, BF16 = buffer("half_", "float16", 1024), buffer("bf16_", "bfloat16", 1024)
BYTES = buffer("bytes", "uint8", 1024)
BLOCKS = buffer("blocks", "float32", 64)  # eight equal lanes a row
VECTOR_BUFFERS = (X, Y, OUT, HALF, BF16, BYTES, BLOCKS)
ROWS32, ROWS16 = tensor("rows32", "float32"), tensor("rows16", "float16")
STORED = tensor("stored", "float16", "output")
TENSORS = (ROWS32, ROWS16, STORED)


def grid(target: Buffer, rows: int, cols: int, pitch: int, offset: int = 0):
    return target.region(offset, rows, cols, pitch)


def line(target: Buffer, cols: int, offset: int = 0):
    return target.region(offset, 1, cols)


VECTOR: dict[str, Instruction] = {
    "fill": Fill(dst=line(OUT, 77, 8), value=Const(2.5)),
    "fill_half": Fill(dst=line(HALF, 30), value=Const(-1.0)),
    "fill_lanes": FillLanes(dst=grid(OUT, 5, 64, 128, 64), first_lane=as_expr(23), value=Const(-3.0e38)),
    "exp": Unary(op="Exp", dst=line(OUT, 130), src=line(X, 130, 16)),
    "abs_half": Unary(op="Abs", dst=line(HALF, 130), src=line(HALF, 130)),
    "sqrt": Unary(op="Sqrt", dst=line(OUT, 20), src=line(Y, 20)),
    "log": Unary(op="Ln", dst=line(OUT, 20), src=line(Y, 20)),
    "muls": WithScalar(op="Muls", dst=line(OUT, 65), src=line(X, 65), scalar=Const(0.3)),
    "adds": WithScalar(op="Adds", dst=line(OUT, 65), src=line(X, 65), scalar=Const(0.3)),
    "maxs": WithScalar(op="Maxs", dst=line(OUT, 65), src=line(X, 65), scalar=Const(0.3)),
    "mins": WithScalar(op="Mins", dst=line(OUT, 65), src=line(X, 65), scalar=Const(0.3)),
    "shift_left": ShiftBits(op="ShiftLeft", dst=line(OUT, 9), src=line(X, 9, 8), bits=9),
    "shift_right": ShiftBits(op="ShiftRight", dst=line(OUT, 65), src=line(X, 65), bits=23),
    "add_flat": Binary(op="Add", dst=line(OUT, 200), first=line(X, 200), second=line(Y, 200, 8)),
    "sub_rows": Binary(
        op="Sub", dst=grid(OUT, 5, 41, 72), first=grid(X, 5, 41, 128), second=grid(Y, 5, 41, 64)
    ),
    "max_rows": Binary(
        op="Max", dst=grid(OUT, 3, 64, 64), first=grid(OUT, 3, 64, 64), second=grid(Y, 3, 64, 128)
    ),
    "min_rows": Binary(
        op="Min", dst=grid(OUT, 3, 64, 64), first=grid(X, 3, 64, 64), second=grid(Y, 3, 64, 128)
    ),
    "mul_blocks": Binary(
        op="Mul", dst=grid(OUT, 7, 50, 64), first=grid(X, 7, 50, 64), second=grid(BLOCKS, 7, 8, 8),
        broadcast=True,
    ),
    "div_blocks": Binary(
        op="Div", dst=grid(OUT, 7, 64, 128), first=grid(X, 7, 64, 128), second=grid(BLOCKS, 7, 8, 8),
        broadcast=True,
    ),
    "div_one_row": Binary(
        op="Div", dst=grid(OUT, 1, 40, 64), first=grid(X, 1, 40, 64), second=grid(BLOCKS, 1, 8, 8),
        broadcast=True,
    ),
    "mul_unequal_blocks": Binary(
        op="Mul", dst=grid(OUT, 7, 50, 64), first=grid(X, 7, 50, 64), second=grid(Y, 7, 8, 8), broadcast=True
    ),
    "to_half": Convert(dst=line(HALF, 100), src=line(X, 100), mode="CAST_RINT"),
    "to_half_by_none": Convert(dst=line(HALF, 100), src=line(X, 100), mode="CAST_NONE"),
    "to_bf16": Convert(dst=line(BF16, 100), src=line(X, 100), mode="CAST_RINT"),
    "from_half": Convert(dst=line(OUT, 100), src=line(HALF, 100), mode="CAST_NONE"),
    "from_bf16": Convert(dst=line(OUT, 100), src=line(BF16, 100), mode="CAST_NONE"),
    "from_bytes": Convert(dst=line(HALF, 100), src=line(BYTES, 100), mode="CAST_NONE"),
    "row_max": RowReduce(op="Max", dst=line(OUT, 6), src=grid(X, 6, 64, 128)),
    "row_sum": RowReduce(op="Sum", dst=line(OUT, 6), src=grid(X, 6, 64, 64)),
    "row_sum_of_some": RowReduce(op="Sum", dst=line(OUT, 6), src=grid(X, 6, 37, 64)),
    "spread": BroadcastRows(dst=grid(OUT, 16, 8, 8), src=line(X, 16, 8)),
    "compare_half": CompareWithScalar(
        dst=line(BYTES, 32), src=line(HALF, 256), scalar=Const(0.0), mode="GT"
    ),
    "compare_equal": CompareWithScalar(dst=line(BYTES, 16), src=line(X, 128), scalar=Const(0.5), mode="EQ"),
    "compare_less": CompareWithScalar(dst=line(BYTES, 16), src=line(X, 128), scalar=Const(0.5), mode="LT"),
    **{
        f"compare_{mode}": CompareWithScalar(
            dst=line(BYTES, 16), src=line(X, 128), scalar=Const(0.5), mode=mode
        )
        for mode in ("NE", "GE", "LE")
    },
    **{
        f"compare_lanes_{mode}": CompareLanes(
            dst=line(BYTES, 16), first=line(X, 128), second=line(X, 128, 40), mode=mode
        )
        for mode in ("NE", "GT", "LE")
    },
    "select": SelectOrScalar(
        dst=line(OUT, 155), bits=line(BYTES, 32), src=line(X, 155), scalar=Const(-1e12)
    ),
    "load": LoadRows(dst=grid(X, 5, 19, 24), src=ROWS32.region(3, 5, 19, 23)),
    "load_half": LoadRows(dst=grid(HALF, 3, 33, 64, 16), src=ROWS16.region(1, 3, 33, 50)),
    "load_line": LoadRows(dst=line(X, 37), src=ROWS32.region(11, 1, 37)),
    "store": StoreRows(dst=STORED.region(5, 4, 21, 30), src=grid(HALF, 4, 21, 48)),
}  # fmt: skip

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
    assert not list(item.violations())
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

M, N, K = 20, 37, 50
M16, N16, K16 = 32, 48, 64
QUERY, KEYS, VALUES = (tensor(name, "float16") for name in ("query", "keys", "values"))
SCORES, SUMS = (tensor(name, "float32", "output") for name in ("scores", "sums"))
CUBE_TENSORS = (QUERY, KEYS, VALUES, SCORES, SUMS)
L1, L0A, L0B, L0C = MemorySpace.L1, MemorySpace.L0A, MemorySpace.L0B, MemorySpace.L0C
LEFT1, RIGHT1 = buffer("left1", "float16", 4096, L1), buffer("right1", "float16", 4096, L1)
LEFT0, RIGHT0 = buffer("left0", "float16", 4096, L0A), buffer("right0", "float16", 4096, L0B)
RESULT = buffer("result", "float32", 4096, L0C)


def _load(target: Buffer, source: GlobalTensor, rows: int, cols: int, padded: int) -> Instruction:
    return LoadNz(dst=target.region(), src=source.region(0, rows, cols, cols), padded_rows=as_expr(padded))


def _left(rows16: int, depth16: int) -> list[Instruction]:
    groups, depth = rows16 // 16, depth16 // 16
    return [
        LoadFractals(
            dst=LEFT0.region(group * depth * 256), src=LEFT1.region(group * 256), repeat=as_expr(depth),
            src_stride=as_expr(groups),
        )
        for group in range(groups)
    ]  # fmt: skip


def _multiply(m: int, n: int, k: int, initial: bool) -> Instruction:
    return Mmad(
        dst=RESULT.region(), a=LEFT0.region(), b=RIGHT0.region(), m=as_expr(m), n=as_expr(n), k=as_expr(k),
        initial=as_expr(initial),
    )  # fmt: skip


# scores = query . keys^T, computed twice into the same place; sums = query[:, :N] . values
CUBE: tuple[Instruction, ...] = (
    _load(LEFT1, QUERY, M, K, M16),
    _load(RIGHT1, KEYS, N, K, N16),
    *_left(M16, K16),
    LoadFractals(
        dst=RIGHT0.region(), src=RIGHT1.region(), repeat=as_expr(N16 * K16 // 256), src_stride=ONE
    ),
    _multiply(M16, N, K, True),
    _multiply(M16, N, K, False),
    Fixpipe(dst=SCORES.region(0, M, N16, N16), src=RESULT.region(), m=as_expr(M16)),
    _load(RIGHT1, VALUES, K, N, K16),
    *(
        LoadFractals(
            dst=RIGHT0.region(group * (N16 // 16) * 256), src=RIGHT1.region(group * 256),
            repeat=as_expr(N16 // 16), src_stride=as_expr(K16 // 16), transpose=True,
        )
        for group in range(K16 // 16)
    ),
    _multiply(M16, N, K, True),
    Fixpipe(dst=SUMS.region(0, M, N16, N16), src=RESULT.region(), m=as_expr(M16)),
)  # fmt: skip


def test_cube_instructions():
    rng, bench = np.random.default_rng(6), Bench(fill=0.0)
    shapes = {QUERY: (M, K), KEYS: (N, K), VALUES: (K, N)}
    values = {item: rng.integers(-4, 5, shape) for item, shape in shapes.items()}
    for item, array in values.items():
        bench.put(item, array)
    for item in (SCORES, SUMS):
        bench.put(item, np.zeros((M, N16)))
    args = [
        emulator.Argument(item.name, bench.tensor(item).copy(), output=item.role == "output")
        for item in CUBE_TENSORS
    ]
    report = cube_kernel(CUBE, (LEFT1, RIGHT1, LEFT0, RIGHT0, RESULT), CUBE_TENSORS).run(1, args)
    assert set(report.finding_counts) <= {"initcheck/undefined_value"}, report.findings[:3]
    for item in CUBE:
        assert not list(item.violations())
        item.run(bench)
    query, keys, cols = (values[item].astype(np.float32) for item in (QUERY, KEYS, VALUES))
    emulated = {arg.name: arg.array for arg in args}
    for item, expected in ((SCORES, 2 * query @ keys.T), (SUMS, query @ cols)):
        for got in (bench.tensor(item), emulated[item.name]):
            assert np.array_equal(got.reshape(M, N16)[:, :N], expected), item.name
