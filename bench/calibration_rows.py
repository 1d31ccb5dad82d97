"""msKPP's measured rows of Atlas A2, read from a checkout: what one instruction took, by size.

The rows are somebody else's (MulanPSL-2.0): they are read, never stored here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PLACE = Path("csrc/prof_data/resource910b.cpp")
GIB = 2**30
KIB = 1024
CLOCKS = {"910b1": 1.85e9, "910b3": 1.8e9}
"""Cycles a second of the parts (INI); where a row states cycles, they are taken as they stand."""

# The device's operation, by the instruction's name.
VECTOR = {
    "VABS": "Abs", "VADDS": "Adds", "VADD": "Add", "VADDRELUCONV": "Compound", "VADDRELU": "AddRelu",
    "VAND": "And", "VAXPY": "Axpy", "VBRCB": "BroadcastBlocks", "VCADD": "ReduceRepeatsSum",
    "VCGADD": "ReduceBlocksSum", "VCGMAX": "ReduceBlocksExtreme", "VCGMIN": "ReduceBlocksExtreme",
    "VCMAX": "ReduceRepeatsExtreme", "VCMIN": "ReduceRepeatsExtreme", "VCMP": "MoveCompareMask",
    "VCMPV": "Compare", "VCMPVS": "CompareScalar", "VCONV": "Convert", "VCONVDEQ": "Convert",
    "VCOPY": "Copy", "VCPADD": "ReducePairs", "VDIV": "Div", "VECTORDUP": "Fill", "VEXP": "Exp",
    "VLN": "Ln", "VLRELU": "LeakyRelu", "VMADD": "FusedMulAdd", "VMAXS": "Maxs", "VMAX": "Max",
    "VMINS": "Mins", "VMIN": "Min", "VMRGSORT": "MergeSorted", "VMULS": "Muls", "VMUL": "Mul",
    "VNOT": "Not", "VOR": "Or", "VRELU": "Relu", "VREC": "Reciprocal", "VSUB": "Sub", "VSEL": "Select",
    "VSHL": "ShiftLeft", "VSHR": "ShiftRight", "VSQRT": "Sqrt", "VRSQRT": "Rsqrt",
    "VSUBRELUCONV": "Compound", "VSUBRELU": "SubRelu", "VMADDRELU": "FusedMulAddRelu",
    "VMLA": "MulAddDst", "VREDUCEV2": "GatherMask", "VMULCONV": "Compound", "VGATHER": "Gather",
    "VGATHERB": "GatherBlocks",
}  # fmt: skip
# An instruction that the model has no operation for.
UNUSED = ("VREDUCE_", "VCONVVDEQ_", "VCMP_")
MOVES = {
    "GM_TO_L1_910b1": "LoadL1", "GM_TO_L1_TRANS_910b1": "LoadL1Fractals", "GM_TO_UB_910b3": "LoadUB",
    "L0C_TO_GM_910b1": "WriteBack", "L0C_TO_GM_TRANS_910b1": "WriteBack", "L1_TO_BT_910b1": "LoadBias",
    "L1_TO_FB_910b1": "LoadQuantWords", "L1_TO_L0A_910b1": "LoadL0A", "L1_TO_L0B_910b1": "LoadL0B",
    "UB_TO_GM_910b1": "StoreUB", "UB_TO_UB_910b1": "CopyUB", "GM_TO_L0A_910b3": "LoadL0",
    "GM_TO_L0B_910b3": "LoadL0",
}  # fmt: skip
TYPES = {
    "FP16": "float16", "FP32": "float32", "BF16": "bfloat16", "INT4": "float16", "INT8": "int8",
    "UINT8": "uint8", "INT16": "int16", "UINT16": "uint16", "INT32": "int32", "UINT32": "uint32",
    "INT64": "int64",
}  # fmt: skip
TRANSPOSED_ROWS = 128
"""Rows of KPP's loads with a change of layout, an inference of ours: its times need it, nothing says so."""
SLOW = (
    "VADDS_FP16", "VCONV_FP16_FP32", "VCMAX_FP16", "VECTORDUP_FP16", "VEXP_FP16", "VLN_FP16",
)  # fmt: skip
"""Instructions whose cycles are microseconds by 1.8 GHz, an inference of ours: taken by the part's 1.85 GHz
each comes to a whole number a repeat, as all others do."""
DOUBTFUL = ("VCONV_FP32_FP16",)
"""Instructions whose rows would be 512 bytes of operands a cycle, twice as many as a repeat has."""
WHOLE_BLOCKS = {"Compare": 32, "CompareScalar": 32}
"""Bytes of result that an instruction fills; not modelled: rows that leave a part take 5 cycles more."""
RECORDS = {"float32": 64, "float16": 128}
"""Records of MergeSorted a repeat."""


def pieces_of(width: float) -> int:
    """Pieces of 512, 256 and 128 bytes in which a row is read, the last one whole."""
    row = round(width)
    return row // 512 + (row >> 8 & 1) + (row >> 7 & 1) + (row % 128 > 0)


@dataclass(frozen=True)
class Row:
    """What an amount of work took: cycles of its pipe, or until the result is there."""

    units: float
    cycles: float


@dataclass(frozen=True)
class Key:
    """An instruction of an element type, with its rows by size; ``whole``: the latency is in the cycles."""

    name: str
    operation: str
    dtype: str
    rows: tuple[Row, ...]
    whole: bool
    dropped: int = 0


def keys(checkout: Path) -> Iterator[Key]:
    """All instructions of the model that msKPP measured on 910B1 or 910B3."""
    text = (checkout / PLACE).read_text()
    for name, body in re.findall(r'"(\w+)",\s*\{((?:\s*\{[^{}]*\},?)+)', text):
        rows = [
            [float(each) for each in row.split(",") if each.strip()]
            for row in re.findall(r"\{([^{}]*)\}", body)
        ]
        if name in MOVES and len(rows[0]) > 2:
            yield _move(name, rows)
        elif name.startswith("MMAD") and not name.endswith("91095"):
            yield _product(name, rows)
        elif name.startswith("V") and not name.startswith((*UNUSED, *DOUBTFUL)):
            yield _vector(name, rows)


def _move(name: str, rows: list[list[float]]) -> Key:
    """Rows: KiB, GB/s of 2**30, GB in all, microseconds, cycles in all (or 0)."""
    clock, found = CLOCKS[name[-5:]], []
    for kib, rate, total, _, cycles, *_ in rows:
        repeats = round(total * GIB / (kib * KIB)) if total and cycles and name.startswith("GM") else 0
        taken = cycles / repeats if repeats else kib * KIB / (rate * GIB) * clock
        found.append(Row(kib * KIB, taken))
    operation = MOVES[name]
    whole = operation.startswith(("LoadL1", "LoadUB", "StoreUB")) or operation == "LoadL0"
    return Key(name, operation, "any", tuple(sorted(found, key=lambda row: row.units)), whole)


def _product(name: str, rows: list[list[float]]) -> Key:
    """Rows: number, m, k, n, operations a cycle; on 910B3 each product waits for the one before."""
    found = [Row(m * k * n / 4096, 2 * m * k * n / rate) for _, m, k, n, rate, *_ in rows]
    return Key(name, "Product", "any", tuple(found), whole=name.endswith("910b3"))


def _vector(name: str, rows: list[list[float]]) -> Key:
    """Rows: elements, rate, -, repeats, cycles (or 0; of one key a thousand times as many)."""
    instruction, dtype, *_ = name.split("_")
    slow = CLOCKS["910b1"] / CLOCKS["910b3"] if name.startswith(SLOW) else 1.0
    operation, dtype = VECTOR[instruction], TYPES[dtype]
    scale = RECORDS[dtype] if operation == "MergeSorted" else 1
    times = 1000 if min(row[-1] for row in rows) > 1000 else 1
    found = []
    for elements, rate, _, repeats, total in rows:
        found.append(Row(repeats * scale, (total / times or elements / rate) * slow))
    usual = sorted(row.cycles / (scale + row.units) for row in found)[len(found) // 2]
    kept = tuple(row for row in found if row.cycles < 4 * usual * (scale + row.units))
    if operation in WHOLE_BLOCKS:
        lanes = WHOLE_BLOCKS[operation] * 8 // (256 // {"float16": 2}.get(dtype, 4))
        kept = tuple(row for row in kept if row.units % lanes == 0)
    return Key(name, operation, dtype, kept, whole=False, dropped=len(found) - len(kept))
