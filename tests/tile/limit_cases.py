"""Instructions with a broken operand each, their legal twins, and what is said of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from attndsl.expr import Const, OneOf, Symbol, as_expr
from attndsl.target import MemorySpace
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import (
    AddScaled,
    Binary,
    BlockReduce,
    BroadcastRows,
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

L1, L0A, L0B, L0C = MemorySpace.L1, MemorySpace.L0A, MemorySpace.L0B, MemorySpace.L0C
f32, g32 = buffer("f32", "float32", 4096), buffer("g32", "float32", 4096)
f16, b16 = buffer("f16", "float16", 4096), buffer("b16", "bfloat16", 4096)
u8, i8 = buffer("u8", "uint8", 4096), buffer("i8", "int8", 4096)
gm32, gm16, gmb16 = (tensor(f"gm_{d}", d) for d in ("float32", "float16", "bfloat16"))
l1, l1_32 = buffer("l1", "float16", 4096, L1), buffer("l1_32", "float32", 4096, L1)
l0a, l0b, l0c = (
    buffer("l0a", "float16", 4096, L0A),
    buffer("l0b", "float16", 4096, L0B),
    buffer("l0c", "float32", 4096, L0C),
)
l0a_b16, l0b_b16 = buffer("l0a_b16", "bfloat16", 4096, L0A), buffer("l0b_b16", "bfloat16", 4096, L0B)
ONE = Const(1)


def row(b: Buffer, cols: int = 64, offset: int = 0):
    return b.region(offset, 1, cols)


def rows(b: Buffer, cols: int = 64, pitch: int = 64, count: int = 4, offset: int = 0):
    return b.region(offset, count, cols, pitch)


def add(dst, first, second):
    return Binary(op="Add", dst=dst, first=first, second=second)


def mmad(dst=None, a=None, b=None, m=16, n=16, k=16):
    return Mmad(
        dst=dst or l0c.region(), a=a or l0a.region(), b=b or l0b.region(),
        m=as_expr(m), n=as_expr(n), k=as_expr(k),
        initial=Const(True),
    )  # fmt: skip


def nz(dst=None, src=None, padded=16):
    return LoadNz(dst=dst or l1.region(), src=src or gm16.region(0, 16, 16, 16), padded_rows=as_expr(padded))


def blocks(cols=32, pitch=48, offset=0, source=None, rows=2):
    source = source or gm16
    return LoadBlocks(dst=l1.region(offset, rows, cols, 48), src=source.region(0, rows, cols, pitch))


def fractals(dst=None, src=None, repeat=1):
    return LoadFractals(
        dst=dst or l0a.region(), src=src or l1.region(), repeat=as_expr(repeat), src_stride=ONE
    )


def transposed(dst=None, src=None, rows=1, columns=1, image=1):
    return LoadTransposed(
        dst=dst or l0b.region(), src=src or l1.region(),
        rows=as_expr(rows), columns=as_expr(columns), image_rows=as_expr(image),
    )  # fmt: skip


def load(dst, src):
    return LoadRows(dst=dst, src=src)


def store(dst, src):
    return StoreRows(dst=dst, src=src)


def compare(src, bits=None, mode="EQ"):
    return CompareWithScalar(dst=bits or row(u8, 8), src=src, scalar=ONE, mode=mode)


def select(dst, bits):
    return SelectOrScalar(dst=dst, bits=bits, src=dst, scalar=ONE)


def fixpipe(dst, src):
    return Fixpipe(dst=dst, src=src, m=as_expr(16))


@dataclass(frozen=True)
class Limit:
    name: str
    broken: Instruction
    legal: Instruction
    says: str


LIMITS = (
    Limit(
        "rows of whole blocks",
        blocks(cols=24),
        blocks(cols=32),
        "elements a row is 24, needs a multiple of 16",
    ),
    Limit(
        "whole blocks apart", blocks(pitch=40), blocks(pitch=48), "row pitch is 40, needs a multiple of 16"
    ),
    Limit(
        "blocks between rows are 16 bits",
        blocks(pitch=16 * 65536),
        blocks(pitch=16 * 65535),
        "row pitch in blocks is 65536, must be 1 to 65535",
    ),
    Limit("blocks on a block", blocks(offset=8), blocks(offset=16), "element offset is 8"),
    Limit("blocks as they are", blocks(source=gm32), blocks(), "destination is float16, needs float32"),
    Limit("as many rows as a copy has", blocks(rows=4096), blocks(rows=4095), "number of rows is 4096"),
    Limit(
        "the scalar unit reads UB",
        IsBeyond(symbol=Symbol("below"), src=l1_32.region(0, 1, 1), bound=Const(0)),
        IsBeyond(symbol=Symbol("below"), src=f32.region(0, 1, 1), bound=Const(0)),
        "is in L1, needs UB",
    ),
    Limit(
        "the scalar unit compares fp32",
        IsBeyond(symbol=Symbol("below"), src=f16.region(0, 1, 1), bound=Const(0)),
        IsBeyond(symbol=Symbol("below"), src=f32.region(3, 1, 1), bound=Const(0)),
        "source is float16",
    ),
    Limit(
        "the scalar unit reads one number",
        IsBeyond(symbol=Symbol("below"), src=f32.region(0, 1, 2), bound=Const(0)),
        IsBeyond(symbol=Symbol("below"), src=f32.region(1, 1, 1), bound=Const(0)),
        "is more than one number",
    ),
    Limit(
        "vector operands live in UB",
        Fill(dst=row(l1), value=ONE),
        Fill(dst=row(f16), value=ONE),
        "is in L1, needs UB",
    ),
    Limit(
        "a source in UB",
        Unary(op="Exp", dst=row(f32), src=row(l0c)),
        Unary(op="Exp", dst=row(f32), src=row(g32)),
        "needs UB",
    ),
    Limit(
        "fp32 offsets are blocks of 8",
        Fill(dst=row(f32, 8, 4), value=ONE),
        Fill(dst=row(f32, 8, 8), value=ONE),
        "element offset is 4, needs a multiple of 8",
    ),
    Limit(
        "fp16 offsets are blocks of 16",
        Fill(dst=row(f16, 8, 8), value=ONE),
        Fill(dst=row(f16, 8, 16), value=ONE),
        "multiple of 16",
    ),
    Limit(
        "byte offsets are blocks of 32",
        compare(row(f32), row(u8, 8, 16)),
        compare(row(f32), row(u8, 8, 32)),
        "multiple of 32",
    ),
    Limit(
        "row pitches are whole blocks",
        add(rows(f32, 60, 60), rows(f32), rows(g32)),
        add(rows(f32, 60, 64), rows(f32), rows(g32)),
        "row pitch is 60, needs a multiple of 8",
    ),
    Limit(
        "as many rows of results as of operands",
        Unary(op="Exp", dst=rows(f32), src=row(g32)),
        Unary(op="Exp", dst=rows(f32), src=rows(g32)),
        "have different numbers of rows",
    ),
    Limit(
        "rows of one repeat of the wider dtype",
        Convert(dst=rows(f16, 72, 128), src=rows(f32, 72, 128), mode="CAST_RINT"),
        Convert(dst=rows(f16, 64, 128), src=rows(f32, 64, 128), mode="CAST_RINT"),
        "lanes a row is 72, must be 0 to 64",
    ),
    Limit(
        "a row pitch of two values",
        add(rows(f32, 60, OneOf("n", values=(Const(64), Const(60)))), rows(f32), rows(g32)),
        add(rows(f32, 60, OneOf("n", values=(Const(64), Const(72)))), rows(f32), rows(g32)),
        "row pitch is 60, needs a multiple of 8",
    ),
    Limit(
        "a row pitch of any value",
        add(rows(f32, 60, Symbol("n")), rows(f32), rows(g32)),
        add(rows(f32, 60, 64), rows(f32), rows(g32)),
        "row pitch n is no compile-time constant, nor one of several",
    ),
    Limit(
        "a repeat stride counts to 255",
        add(rows(f32, 64, 2048), rows(f32), rows(g32)),
        add(rows(f32, 64, 2040), rows(f32), rows(g32)),
        "row pitch in blocks is 256, must be 0 to 255",
    ),
    Limit(
        "a row is one repeat",
        add(rows(f32, 65, 128), rows(f32), rows(g32)),
        add(rows(f32, 64, 128), rows(f32), rows(g32)),
        "lanes a row is 65, must be 0 to 64",
    ),
    Limit(
        "a half row is 128 lanes",
        add(rows(f16, 136, 256), rows(f16, 128, 128), rows(f16, 128, 128)),
        add(rows(f16, 128, 256), rows(f16, 128, 128), rows(f16, 128, 128)),
        "lanes a row is 136, must be 0 to 128",
    ),
    Limit(
        "arithmetic has no bfloat16",
        add(row(b16), row(b16), row(b16)),
        add(row(f16), row(f16), row(f16)),
        "destination is bfloat16",
    ),
    Limit(
        "one dtype for all operands",
        add(row(f32), row(f32), row(f16)),
        add(row(f32), row(f32), row(g32)),
        "operands have different dtypes",
    ),
    Limit(
        "division is for floats",
        Binary(op="Div", dst=row(i8), first=row(i8), second=row(i8)),
        Binary(op="Div", dst=row(f16), first=row(f16), second=row(f16)),
        "destination is int8",
    ),
    Limit(
        "Exp is for floats",
        Unary(op="Exp", dst=row(b16), src=row(b16)),
        Unary(op="Exp", dst=row(f16), src=row(f16)),
        "destination is bfloat16",
    ),
    Limit(
        "a word has 32 bits",
        ShiftBits(op="ShiftLeft", dst=row(f32), src=row(f32), bits=32),
        ShiftBits(op="ShiftLeft", dst=row(f32), src=row(f32), bits=31),
        "shifted by 0 to 31, not by 32",
    ),
    Limit(
        "words of fp32 numbers are shifted",
        ShiftBits(op="ShiftRight", dst=row(f16), src=row(f16), bits=3),
        ShiftBits(op="ShiftRight", dst=row(f32), src=row(f32), bits=3),
        "destination is float16",
    ),
    Limit(
        "scalar forms have no bfloat16",
        WithScalar(op="Muls", dst=row(b16), src=row(b16), scalar=ONE),
        WithScalar(op="Muls", dst=row(f32), src=row(f32), scalar=ONE),
        "destination is bfloat16",
    ),
    Limit(
        "scaled sums are of one dtype",
        AddScaled(dst=row(f32), src=row(f16), scalar=ONE),
        AddScaled(dst=row(f32), src=row(g32), scalar=ONE),
        "source is float16",
    ),
    Limit(
        "bfloat16 is never cut off",
        Convert(dst=row(b16), src=row(f32), mode="CAST_NONE"),
        Convert(dst=row(b16), src=row(f32), mode="CAST_RINT"),
        "has no CAST_NONE",
    ),
    Limit(
        "no direct cast of bytes to fp32",
        Convert(dst=row(f32), src=row(u8), mode="CAST_NONE"),
        Convert(dst=row(f16), src=row(u8), mode="CAST_NONE"),
        "Cast from uint8 to float32",
    ),
    Limit(
        "away from zero has no meaning here",
        Convert(dst=row(f16), src=row(f32), mode="CAST_ROUND"),
        Convert(dst=row(f16), src=row(f32), mode="CAST_RINT"),
        "Cast from float32 to float16 has no CAST_ROUND",
    ),
    Limit(
        "reductions of fp32 rows",
        RowReduce(op="Sum", dst=row(f32, 4), src=rows(f16)),
        RowReduce(op="Sum", dst=row(f32, 4), src=rows(f32)),
        "source is float16",
    ),
    Limit(
        "reductions of fp32 blocks",
        BlockReduce(op="Sum", dst=rows(f32, 8, 8), src=rows(f16)),
        BlockReduce(op="Sum", dst=rows(f32, 8, 8), src=rows(g32)),
        "source is float16",
    ),
    Limit(
        "results of blocks are fp32",
        BlockReduce(op="Max", dst=rows(f16, 8, 16), src=rows(g32)),
        BlockReduce(op="Max", dst=rows(f32, 8, 16), src=rows(g32)),
        "destination is float16",
    ),
    Limit(
        "blocks of whole repeats",
        BlockReduce(op="Max", dst=rows(f32, 8, 8), src=rows(g32, 40, 64)),
        BlockReduce(op="Max", dst=rows(f32, 8, 8), src=rows(g32, 64, 64)),
        "a row of the source has 40 lanes, needs 64",
    ),
    Limit(
        "one result a block",
        BlockReduce(op="Max", dst=rows(f32, 16, 16), src=rows(g32)),
        BlockReduce(op="Max", dst=rows(f32, 8, 16), src=rows(g32)),
        "a row of the destination has 16 lanes, needs 8",
    ),
    Limit(
        "block broadcast of fp32",
        BroadcastRows(dst=rows(f32, 64, 64, 1), src=row(f16, 8)),
        BroadcastRows(dst=rows(f32, 64, 64, 1), src=row(g32, 8)),
        "source is float16",
    ),
    Limit(
        "block broadcast in whole repeats",
        BroadcastRows(dst=rows(f32, 8, 8, 8), src=row(g32, 8)),
        BroadcastRows(dst=rows(f32, 64, 128, 8), src=row(g32, 64)),
        "a row of the destination has 8 lanes, needs 64",
    ),
    Limit(
        "compare results are bits in bytes", compare(row(f32), row(i8, 8)), compare(row(f32)), "bits is int8"
    ),
    Limit("no compare of bfloat16", compare(row(b16)), compare(row(f16, 128)), "source is bfloat16"),
    Limit(
        "selection of floats",
        select(row(b16), row(u8, 8)),
        select(row(f32), row(u8, 8)),
        "source is bfloat16",
    ),
    Limit(
        "bit-masked fill of fp32",
        FillLanes(dst=rows(f16), first_lane=ONE, value=ONE),
        FillLanes(dst=rows(f32), first_lane=ONE, value=ONE),
        "destination is float16",
    ),
    Limit(
        "a repeat counter holds 255",
        add(rows(f32, 8, 8, 256), rows(f32, 8, 8, 256), rows(g32, 8, 8, 256)),
        add(rows(f32, 8, 8, 255), rows(f32, 8, 8, 255), rows(g32, 8, 8, 255)),
        "is 256, must be 0 to 255",
    ),
    Limit(
        "a copy has 4095 rows",
        load(rows(f32, 8, 8, 4096), gm32.region(0, 4096, 8, 8)),
        load(rows(f32, 8, 8, 4095), gm32.region(0, 4095, 8, 8)),
        "is 4096, must be 0 to 4095",
    ),
    Limit(
        "a copy changes no dtype",
        load(row(f32), gm16.region(0, 1, 64)),
        load(row(f16), gm16.region(0, 1, 64)),
        "gm_float16 is float16, f32 is float32",
    ),
    Limit(
        "stores change no dtype",
        store(gm16.region(0, 1, 64), row(b16)),
        store(gmb16.region(0, 1, 64), row(b16)),
        "gm_float16 is float16",
    ),
    Limit(
        "stored rows start on blocks",
        store(gm16.region(0, 4, 20, 20), rows(f16, 20, 24)),
        store(gm16.region(0, 4, 20, 20), rows(f16, 20, 32)),
        "row pitch is 24",
    ),
    Limit(
        "loads start on blocks",
        load(row(f32, 8, 12), gm32.region(0, 1, 8)),
        load(row(f32, 8, 16), gm32.region(0, 1, 8)),
        "element offset is 12",
    ),
    Limit("Nz goes to L1", nz(dst=f16.region()), nz(), "is in UB, needs L1"),
    Limit("Nz starts on a fractal row", nz(dst=l1.region(8)), nz(dst=l1.region(16)), "element offset is 8"),
    Limit(
        "Nz of 16-bit data",
        nz(src=gm32.region(0, 16, 16, 16)),
        nz(src=gmb16.region(0, 16, 16, 16), dst=buffer("l1b", "bfloat16", 4096, L1).region()),
        "source is float32",
    ),
    Limit(
        "Nz changes no dtype",
        nz(src=gmb16.region(0, 16, 16, 16)),
        nz(src=gm16.region(0, 16, 16, 16)),
        "destination is float16, needs bfloat16",
    ),
    Limit(
        "an Nz source pitch fits 16 bits",
        nz(src=gm16.region(0, 2, 16, 65536)),
        nz(src=gm16.region(0, 2, 16, 65535)),
        "row pitch is 65536, must be 1 to 65535",
    ),
    Limit(
        "an Nz source pitch is not zero",
        nz(src=gm16.region(0, 2, 16, 0)),
        nz(src=gm16.region(0, 2, 16, 1)),
        "row pitch is 0, must be 1 to 65535",
    ),
    Limit("operands come from L1", fractals(src=f16.region()), fractals(), "source f16 is in UB, needs L1"),
    Limit(
        "operands go to L0A or L0B",
        fractals(dst=l0c.region()),
        fractals(dst=l0b.region()),
        "needs L0A or L0B",
    ),
    Limit(
        "operands of 16-bit data",
        fractals(src=l1_32.region()),
        fractals(src=l1.region()),
        "source is float32",
    ),
    Limit(
        "fractals start on fractals",
        fractals(dst=l0a.region(128)),
        fractals(dst=l0a.region(256)),
        "destination offset is 128",
    ),
    Limit(
        "a load repeats 255 times",
        fractals(repeat=256),
        fractals(repeat=255),
        "repeat is 256, must be 0 to 255",
    ),
    Limit(
        "transposed operands go to L0B",
        transposed(dst=l0a.region()),
        transposed(),
        "destination l0a is in L0A",
    ),
    Limit(
        "an image begins with a channel",
        transposed(src=l1.region(8)),
        transposed(src=l1.region(16)),
        "source offset is 8",
    ),
    Limit(
        "an image has a side of 15 bits",
        transposed(image=2048),
        transposed(image=2047),
        "rows of the image is 32768",
    ),
    Limit("results are in L0C", mmad(dst=f32.region()), mmad(), "destination f32 is in UB, needs L0C"),
    Limit("left in L0A", mmad(a=l0b.region()), mmad(), "left operand l0b is in L0B"),
    Limit("right in L0B", mmad(b=l0a.region()), mmad(), "right operand l0a is in L0A"),
    Limit("m fits 12 bits", mmad(m=4096), mmad(m=4080), "m is 4096, must be 0 to 4095"),
    Limit("n fits 12 bits", mmad(n=4096), mmad(n=4095), "n is 4096"),
    Limit("k fits 12 bits", mmad(k=4096), mmad(k=4095), "k is 4096"),
    Limit(
        "results start on fractals",
        mmad(dst=l0c.region(128)),
        mmad(dst=l0c.region(256)),
        "destination offset is 128",
    ),
    Limit(
        "Fixpipe reads L0C",
        fixpipe(gm32.region(0, 4, 16, 16), f32.region()),
        fixpipe(gm32.region(0, 4, 16, 16), l0c.region()),
        "is in UB, needs L0C",
    ),
    Limit(
        "Fixpipe narrows to 16 bits alone",
        fixpipe(tensor("gm_int8", "int8").region(0, 4, 16, 16), l0c.region()),
        fixpipe(gmb16.region(0, 4, 16, 16), l0c.region()),
        "destination is int8",
    ),
    Limit(
        "Fixpipe adds fp32 alone",
        replace(fixpipe(gm16.region(0, 4, 16, 16), l0c.region()), adds=Symbol("tile") > 0),
        replace(fixpipe(gm32.region(0, 4, 16, 16), l0c.region()), adds=Symbol("tile") > 0),
        "what is added to is float16, needs float32",
    ),
    Limit(
        "Fixpipe writes whole column groups, but for results",
        fixpipe(gm32.region(0, 4, 20, 32), l0c.region()),
        fixpipe(tensor("result", "float32", "output").region(0, 4, 20, 32), l0c.region()),
        "columns is 20",
    ),
)


# Limits of the reference that no rule covers yet: each operand below is illegal, or means something else
# in the emitted text than in NumPy, and passes.
WITHOUT_TWIN = {
    "a count form has one row": Fill(dst=rows(f32), value=ONE),
    "a count form has one source row": AddScaled(dst=rows(f32), src=rows(g32), scalar=ONE),
    "rows without a pitch and short of a repeat": add(rows(f32, 32, 0), rows(f32, 32, 0), rows(g32, 32, 0)),
    "compares cover whole repeats": compare(row(f32, 40)),
    "bits to select by are bytes": select(row(f32), row(f32, 8)),
    "both factors have one dtype": mmad(a=l0a.region(), b=l0b_b16.region()),
    "products are fp32": mmad(dst=buffer("h", "float16", 256, L0C).region()),
    "a unary operator keeps the dtype": Unary(op="Exp", dst=row(f32), src=row(f16)),
    "a comparison has a mode": compare(row(f32), mode="ABOUT"),
}
