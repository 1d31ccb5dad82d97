"""Instructions whose text runs on the emulator: of the vector core, and one program of the cube."""

from __future__ import annotations

from attndsl.expr import Const, Symbol, as_expr
from attndsl.target import MemorySpace
from attndsl.tile.buffers import Buffer, GlobalTensor
from attndsl.tile.instructions import (
    AddScaled,
    Binary,
    BlockReduce,
    BroadcastRows,
    CompareLanes,
    CompareWithScalar,
    Convert,
    Fill,
    FillLanes,
    Fixpipe,
    Instruction,
    IsBeyond,
    LoadBlocks,
    LoadFractals,
    LoadNz,
    LoadRows,
    LoadTransposed,
    Mmad,
    RowReduce,
    SelectOrScalar,
    ShiftBits,
    StoreRows,
    Unary,
    WithScalar,
)

from .bench import buffer, tensor

ONE = Const(1)
X, Y, OUT = (buffer(name, "float32", 1024) for name in ("x", "y", "out"))
HALF, BF16 = buffer("half_", "float16", 1024), buffer("bf16_", "bfloat16", 1024)
BYTES = buffer("bytes", "uint8", 1024)
BLOCKS = buffer("blocks", "float32", 64)  # eight equal lanes a row
ROWS32, ROWS16 = tensor("rows32", "float32"), tensor("rows16", "float16")
STORED = tensor("stored", "float16", "output")


def grid(target: Buffer, rows: int, cols: int, pitch: int, offset: int = 0):
    return target.region(offset, rows, cols, pitch)


def line(target: Buffer, cols: int, offset: int = 0):
    return target.region(offset, 1, cols)


VECTOR: dict[str, Instruction] = {
    "fill": Fill(dst=line(OUT, 77, 8), value=Const(2.5)),
    "fill_half": Fill(dst=line(HALF, 30), value=Const(-1.0)),
    "fill_lanes": FillLanes(dst=grid(OUT, 5, 64, 128, 64), first_lane=as_expr(23), value=Const(-3.0e38)),
    "exp": Unary(op="Exp", dst=line(OUT, 130), src=line(X, 130, 16)),
    "exp_rows": Unary(op="Exp", dst=grid(OUT, 5, 41, 72), src=grid(X, 5, 41, 128, 16)),
    "muls_rows": WithScalar(op="Muls", dst=grid(X, 5, 64, 128), src=grid(X, 5, 64, 128), scalar=Const(0.3)),
    "cast_rows": Convert(dst=grid(HALF, 5, 64, 128), src=grid(X, 5, 64, 128), mode="CAST_RINT"),
    "abs_half": Unary(op="Abs", dst=line(HALF, 130), src=line(HALF, 130)),
    "sqrt": Unary(op="Sqrt", dst=line(OUT, 20), src=line(Y, 20)),
    "log": Unary(op="Ln", dst=line(OUT, 20), src=line(Y, 20)),
    "muls": WithScalar(op="Muls", dst=line(OUT, 65), src=line(X, 65), scalar=Const(0.3)),
    "adds": WithScalar(op="Adds", dst=line(OUT, 65), src=line(X, 65), scalar=Const(0.3)),
    "maxs": WithScalar(op="Maxs", dst=line(OUT, 65), src=line(X, 65), scalar=Const(0.3)),
    "mins": WithScalar(op="Mins", dst=line(OUT, 65), src=line(X, 65), scalar=Const(0.3)),
    # a power of two: a fused multiplication and addition rounds as two instructions do
    "axpy": AddScaled(dst=line(OUT, 65), src=line(X, 65, 8), scalar=Const(0.25)),
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
    "block_max": BlockReduce(op="Max", dst=grid(OUT, 6, 8, 8), src=grid(X, 6, 64, 128)),
    "block_sum": BlockReduce(op="Sum", dst=grid(OUT, 6, 8, 64), src=grid(X, 6, 64, 64)),
    "block_sum_of_one_repeat": BlockReduce(op="Sum", dst=line(OUT, 8), src=line(X, 64, 8)),
    "is_below": IsBeyond(symbol=Symbol("below"), src=X.region(5, 1, 1), bound=Const(0)),
    "spread": BroadcastRows(dst=grid(OUT, 2, 64, 64), src=line(X, 16, 8)),
    "spread_apart": BroadcastRows(dst=grid(OUT, 2, 64, 128), src=line(X, 16, 8)),
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

M, N, K = 20, 37, 50
M16, N16, K16 = 32, 48, 64
QUERY, KEYS, VALUES = (tensor(name, "float16") for name in ("query", "keys", "values"))
SCORES, SUMS = (tensor(name, "float32", "output") for name in ("scores", "sums"))
NARROW, EXACT = tensor("narrow", "float16", "output"), tensor("exact", "bfloat16", "output")
L1, L0A, L0B, L0C = MemorySpace.L1, MemorySpace.L0A, MemorySpace.L0B, MemorySpace.L0C
LEFT1, RIGHT1 = buffer("left1", "float16", 4096, L1), buffer("right1", "float16", 4096, L1)
LEFT0, RIGHT0 = buffer("left0", "float16", 4096, L0A), buffer("right0", "float16", 4096, L0B)
RESULT = buffer("result", "float32", M16 * N16, L0C)  # rows from the middle on end with the buffer


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


# scores = query . keys^T, computed twice into the same place; sums = query[:, :N] . values, which are an
# image in Nz from element 64 on, 32 elements between its column groups
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
    Fixpipe(dst=NARROW.region(0, M, N16, N16), src=RESULT.region(), m=as_expr(M16)),
    # some rows of a result, which has no columns beside its own
    Fixpipe(dst=EXACT.region(3 * N16, M - 3, N, N16), src=RESULT.region(3 * 16), m=as_expr(M16)),
    LoadBlocks(
        dst=RIGHT1.region(0, N16 // 16, K16 * 16, K16 * 16),
        src=VALUES.region(64, N16 // 16, K16 * 16, K16 * 16 + 32),
    ),
    LoadTransposed(
        dst=RIGHT0.region(), src=RIGHT1.region(),
        rows=as_expr(K16 // 16), columns=as_expr(N16 // 16), image_rows=as_expr(K16 // 16),
    ),
    _multiply(M16, N, K, True),
    Fixpipe(dst=SUMS.region(0, M, N16, N16), src=RESULT.region(), m=as_expr(M16)),
    # the second time the product is added to what is there
    Fixpipe(dst=SUMS.region(0, M, N16, N16), src=RESULT.region(), m=as_expr(M16), adds=Const(True)),
)  # fmt: skip
