"""Instructions on lanes, intervals and sorted records: legal ones, and twins that break a limit."""

from __future__ import annotations

from attndsl.expr import Const, Symbol, as_expr
from attndsl.target import MemorySpace
from attndsl.tile.instructions import (
    Binary,
    Bitwise,
    BitwiseNot,
    CompareLanes,
    Convert,
    ConvertToNz,
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

from .bench import buffer, tensor

X, Y, OUT = (buffer(name, "float32", 1024) for name in ("x", "y", "out"))
HALF, HALVES = (buffer(name, "float16", 512) for name in ("half_", "halves"))
BF16 = buffer("bf16_", "bfloat16", 512)
BITS, MORE = buffer("bits", "uint8", 128), buffer("more", "uint8", 128)
INT8, UINT8 = buffer("int8_", "int8", 512), buffer("uint8_", "uint8", 512)
INT32, NUMBERS, FOUND = (buffer(name, "int32", 512) for name in ("int32_", "numbers", "found"))
OFFSETS = buffer("offsets", "uint32", 256)
RUNS, MERGED = buffer("runs", "float32", 1024), buffer("merged", "float32", 1024)
GM_INT8, GM_INT32 = tensor("gm_int8", "int8"), tensor("gm_int32", "int32")
TO_INT8, TO_INT32 = tensor("to_int8", "int8", "output"), tensor("to_int32", "int32", "output")


def line(target, cols, offset=0):
    return target.region(offset, 1, cols)


def fill(begin, end, rows=1, cols=300, pitch=304):
    region = OUT.region(8, rows, cols, pitch if rows > 1 else 0)
    return FillInterval(dst=region, begin=as_expr(begin), end=as_expr(end), value=Const(-1e12))


def cast(dst, src, mode, count=100):
    return Convert(dst=line(dst, count), src=line(src, count), mode=mode)


def to_nz(rows=5, lanes=48, groups=3, dst=HALVES, src=INT8, pitch=7 * 16, mode="CAST_NONE", depth=16):
    target = dst.region(32, groups, rows * depth, pitch)
    return ConvertToNz(dst=target, src=src.region(32, rows, lanes, 64), mode=mode)


def rounded_to_nz(dst=HALVES, src=X, lanes=48, groups=3):
    return to_nz(dst=dst, src=src, lanes=lanes, groups=groups, mode="CAST_RINT")


def int8_to_nz(lanes=64, groups=2):
    return to_nz(3, lanes, groups, dst=INT8, src=HALF, pitch=5 * 32, mode="CAST_RINT", depth=32)


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
    "load_int8_with_zeros": LoadRows(
        dst=INT8.region(0, 3, 45, 64), src=GM_INT8.region(7, 3, 45, 51), zero_tail=True
    ),
    "load_an_int8_row_with_zeros": LoadRows(dst=line(INT8, 45), src=GM_INT8.region(7, 1, 45), zero_tail=True),
    "to_nz": to_nz(),
    "to_nz_of_fp32": rounded_to_nz(),
    "to_nz_of_fp32_in_bf16": rounded_to_nz(dst=BF16),
    "to_nz_in_int8": int8_to_nz(),
    "load_int32": LoadRows(dst=INT32.region(0, 3, 11, 16), src=GM_INT32.region(7, 3, 11, 13)),
    "store_int8": StoreRows(dst=TO_INT8.region(3, 4, 33, 40), src=INT8.region(0, 4, 33, 64)),
    "store_int32": StoreRows(dst=TO_INT32.region(3, 4, 13, 20), src=INT32.region(0, 4, 13, 16)),
}  # fmt: skip


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
    "bytes to halves in Nz": (to_nz(src=UINT8), to_nz(), "Cast from uint8 to float16 in Nz"),
    "halves of bytes in Nz": (to_nz(dst=BF16), to_nz(), "Cast from int8 to bfloat16 in Nz"),
    "bytes are not rounded in Nz": (to_nz(mode="CAST_RINT"), to_nz(), "float16 in Nz has no CAST_RINT"),
    "halves of fp32 in Nz are rounded": (
        to_nz(src=X),
        rounded_to_nz(),
        "Cast from float32 to float16 in Nz has no CAST_NONE",
    ),
    "a row of fp32 in Nz is one repeat": (
        rounded_to_nz(lanes=80, groups=5),
        rounded_to_nz(lanes=64, groups=4),
        "lanes a row is 80, must be 1 to 64",
    ),
    "column groups of int8 have 32 lanes": (
        int8_to_nz(lanes=48),
        int8_to_nz(),
        "lanes a row is 48, needs a multiple of 32",
    ),
    "column groups are blocks": (to_nz(lanes=40), to_nz(), "lanes a row is 40, needs a multiple of 16"),
    "a row in Nz is one repeat": (
        to_nz(rows=2, lanes=144, groups=9, pitch=48),
        to_nz(rows=2, lanes=128, groups=8, pitch=48),
        "lanes a row is 144, must be 1 to 128",
    ),
    "a column group for 16 lanes": (to_nz(groups=2), to_nz(), "2 column groups of 16 for 48 lanes"),
    "column groups whole blocks apart": (to_nz(pitch=104), to_nz(), "needs a multiple of 16"),
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
