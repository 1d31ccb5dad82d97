"""Instructions of the cube on int8 that break a limit each, and their legal twins."""

from __future__ import annotations

from attndsl.expr import Const, as_expr
from attndsl.target import MemorySpace
from attndsl.tile.instructions import Fixpipe, LoadFractals, LoadNz, Mmad

from .bench import buffer, tensor

L1, L0A, L0B, L0C = MemorySpace.L1, MemorySpace.L0A, MemorySpace.L0B, MemorySpace.L0C
M16, N16, N32 = 32, 64, 64
QUERY, KEYS, PROB, VALUES = (tensor(name, "int8") for name in ("query", "keys", "prob", "values"))
SCORES, SUMS = (tensor(name, "int32", "output") for name in ("scores", "sums"))
LEFT1, RIGHT1 = buffer("left1", "int8", 4096, L1), buffer("right1", "int8", 4096, L1)
LEFT0, RIGHT0 = buffer("left0", "int8", 4096, L0A), buffer("right0", "int8", 4096, L0B)
RESULT = buffer("result", "int32", 4096, L0C)


def _multiply(n, k):
    return Mmad(
        dst=RESULT.region(), a=LEFT0.region(), b=RIGHT0.region(), m=as_expr(M16), n=as_expr(n), k=as_expr(k),
        initial=Const(True),
    )  # fmt: skip


def _matrices(count=2, pitch=64, step=1, row_step=1, padded=16):
    return LoadNz(
        dst=LEFT1.region(), src=QUERY.region(0, 2, 32, 64), padded_rows=as_expr(padded),
        matrices=as_expr(count), src_matrix_pitch=as_expr(pitch), matrix_step=as_expr(step),
        row_step=as_expr(row_step),
    )  # fmt: skip


LIMITS = {
    "4095 matrices": (_matrices(4096), _matrices(4095), "number of matrices is 4096, must be 0 to 4095"),
    "matrix pitches fit 16 bits": (_matrices(pitch=65536), _matrices(pitch=65535), "matrix pitch is 65536"),
    "matrix steps fit 16 bits of elements": (
        _matrices(step=2048), _matrices(step=2047), "matrix step in rows is 2048, must be 1 to 2047"
    ),
    "matrices are apart": (_matrices(step=0), _matrices(step=1), "matrix step in rows is 0"),
    "rows are apart": (_matrices(row_step=0), _matrices(row_step=16384), "row step is 0, must be 1 to 16384"),
    "images of 16384 rows": (_matrices(padded=16400), _matrices(padded=16384), "padded rows is 16400"),
    "Nz of int8 starts on 32 bytes": (
        LoadNz(dst=LEFT1.region(16), src=QUERY.region(0, 2, 32, 64), padded_rows=as_expr(16)),
        LoadNz(dst=LEFT1.region(32), src=QUERY.region(0, 2, 32, 64), padded_rows=as_expr(16)),
        "element offset is 16, needs a multiple of 32",
    ),
    "fractals of int8 hold 512": (
        LoadFractals(dst=LEFT0.region(256), src=LEFT1.region(), repeat=Const(1), src_stride=Const(1)),
        LoadFractals(dst=LEFT0.region(512), src=LEFT1.region(), repeat=Const(1), src_stride=Const(1)),
        "destination offset is 256, needs a multiple of 512",
    ),
    "loads to L0 change no dtype": (
        LoadFractals(
            dst=buffer("h", "float16", 512, L0A).region(), src=LEFT1.region(), repeat=Const(1),
            src_stride=Const(1),
        ),
        LoadFractals(dst=LEFT0.region(), src=LEFT1.region(), repeat=Const(1), src_stride=Const(1)),
        "destination is float16, needs int8",
    ),
    "int8 products are int32": (
        Mmad(
            dst=buffer("r", "float32", 4096, L0C).region(), a=LEFT0.region(), b=RIGHT0.region(),
            m=as_expr(16), n=as_expr(16), k=as_expr(32), initial=Const(True),
        ),
        _multiply(16, 32),
        "destination is float32, needs int32",
    ),
    "Fixpipe narrows no integers": (
        Fixpipe(
            dst=tensor("h", "float16", "workspace").region(0, 4, 16, 16), src=RESULT.region(), m=as_expr(16)
        ),
        Fixpipe(dst=SCORES.region(0, 4, 16, 16), src=RESULT.region(), m=as_expr(16)),
        "source is int32, needs float32",
    ),
    "Fixpipe makes no integers": (
        Fixpipe(
            dst=SCORES.region(0, 4, 16, 16), src=buffer("r", "float32", 4096, L0C).region(), m=as_expr(16)
        ),
        Fixpipe(dst=SCORES.region(0, 4, 16, 16), src=RESULT.region(), m=as_expr(16)),
        "source is float32, needs int32",
    ),
}  # fmt: skip
