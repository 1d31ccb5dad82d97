"""What operations cost on devices of NPU architecture 2201, in cycles: the one home of these numbers.

Operations are those of the device, not of an API: the emulator's model lists them (``attnemu/ops.h``) and
takes this table with every launch; instructions of the tile IR name their operation by ``cost_key``.

Sources, by tag
    DEVKIT asc-devkit: tables of theoretical performance; samples of Add, copies, banks, matmul
    PTO    calibration notes of the pto-isa cost model, 910B3: latency and slope of vector instructions
    KPP    mskpp ``resource910b.cpp``: rows measured on 910B1 at 1.85 GHz and on 910B3 at 1.8 GHz, GB of 2**30
    INI    CANN 8.1.RC1 ``platform_config/Ascend910B*.ini``
    MODEL  constants of the open pypto latency model, not measured
    EST    an estimate of ours: nothing public was found
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Cost:
    """Cycles that an operation takes its pipe, and how much later its results are there.

    The pipe is taken for ``head + per_unit * units`` cycles, at least for ``least`` and for ``per_row`` a row
    of a matrix that it reorders; results are there ``latency`` cycles after that. At most four of these are
    set. The unit is a 256-byte repeat of the widest operand for vector instructions, a byte for moves (in
    global memory of pieces of 128), a 16x16 step of the cube's depth for products; single things else.
    ``of_type``: head and per_unit of element types that have numbers of their own.
    """

    head: float
    per_unit: float
    source: str
    latency: float = 0.0
    least: float = 0.0
    per_row: float = 0.0
    of_type: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def cycles(self, units: float) -> float:
        """Cycles of its pipe for an amount of work in rows of no consequence."""
        return max(self.least, self.head + self.per_unit * units)


_FIRST = 3.0
"""Cycles of the vector pipe for an instruction of one to three repeats (KPP: 3.0 at 1, 16.03 at 16)."""


def _lanes(
    per_unit: float,
    source: str,
    *,
    latency: float = 24.0,
    head: float = 0.0,
    least: float = _FIRST,
    half: tuple[float, float] | None = None,
) -> Cost:
    """A vector instruction; ``half``: head and per_unit of float16.

    Instructions that do not need each other's results follow without a gap (KPP). One that does waits for
    ``latency``: 1000 additions onto one result take 24 cycles more each (DEVKIT, with the barriers that the
    compiler puts between them).
    """
    of_type = {"float16": half} if half is not None else {}
    return Cost(head, per_unit, source, latency=latency, least=least, of_type=of_type)


# Two operands: a repeat a cycle when all banks differ, see RATES["bank"].
_LANES = {
    "Add": _lanes(1.007, "DEVKIT, KPP"),
    "Sub": _lanes(1.007, "DEVKIT, KPP"),
    "Mul": _lanes(1.007, "PTO, DEVKIT, KPP", latency=25),
    "Max": _lanes(1.007, "PTO, DEVKIT, KPP", latency=23),
    "Min": _lanes(1.007, "PTO, DEVKIT, KPP", latency=23),
    "And": _lanes(1.007, "DEVKIT, KPP"),
    "Or": _lanes(1.007, "DEVKIT, KPP"),
    "AddRelu": _lanes(1.007, "DEVKIT, KPP"),
    "SubRelu": _lanes(1.007, "DEVKIT, KPP"),
    "Div": _lanes(4.0, "PTO, KPP", latency=31, half=(4.0, 4.0)),
    "MulAddDst": _lanes(6.0, "KPP"),
    "FusedMulAdd": _lanes(6.0, "KPP"),
    "FusedMulAddRelu": _lanes(6.0, "KPP"),
    "Axpy": _lanes(2.0, "KPP"),
    "Exp": _lanes(2.0, "PTO, KPP", latency=31, half=(0.0, 3.9)),
    "Ln": _lanes(2.0, "PTO, KPP", latency=33, half=(0.0, 3.9)),
    "Sqrt": _lanes(2.0, "KPP", half=(0.0, 4.0)),
    "Abs": _lanes(1.0, "KPP"),
    "Rsqrt": _lanes(1.0, "KPP"),
    "Reciprocal": _lanes(1.0, "KPP"),
    "Relu": _lanes(1.0, "KPP"),
    "Not": _lanes(1.0, "KPP"),
    "Adds": _lanes(1.0, "KPP"),
    "Muls": _lanes(1.0, "PTO, KPP", latency=26),
    "Maxs": _lanes(1.0, "KPP"),
    "Mins": _lanes(1.0, "KPP"),
    "ShiftLeft": _lanes(1.0, "KPP", least=4.0),
    "ShiftRight": _lanes(1.0, "KPP", least=4.0),
    "LeakyRelu": _lanes(1.0, "KPP"),
    "Fill": _lanes(1.0, "KPP"),
    "Index": _lanes(1.0, "EST"),
    "Copy": _lanes(1.0, "KPP"),
}

_VECTOR = {
    "Convert": _lanes(1.0, "KPP"),
    # an operation and a conversion at once; taken as two sources and no more
    "Compound": _lanes(1.007, "KPP, EST"),
    "Compare": _lanes(1.007, "DEVKIT, KPP"),
    "CompareScalar": _lanes(1.0, "KPP"),
    "MoveCompareMask": _lanes(1.0, "EST"),
    "Select": _lanes(2.0, "KPP"),
    "ReduceRepeatsSum": _lanes(3.0, "KPP", half=(0.0, 7.0)),
    "ReduceRepeatsExtreme": _lanes(7.0, "KPP"),
    "ReduceBlocksSum": _lanes(1.0, "KPP", half=(0.0, 7.0)),
    "ReduceBlocksExtreme": _lanes(1.0, "KPP", half=(0.0, 7.0)),
    "ReducePairs": _lanes(1.0, "KPP"),
    "BroadcastBlocks": _lanes(1.0, "KPP"),
    # 64 elements of 32 bits, 128 of 16 bits a repeat
    "Gather": Cost(
        2, 12.06, "KPP", latency=24, of_type=dict.fromkeys(("float16", "int16", "uint16"), (3.0, 24.0))
    ),
    "GatherBlocks": Cost(9, 1.8, "KPP", latency=24),
    "GatherMask": _lanes(14.0, "KPP"),
    # two elements a cycle, 32 a repeat
    "Sort32": _lanes(16.0, "DEVKIT"),
    # the unit is a record: 6 cycles and 16 for 64 records of fp32 or 128 of fp16
    "MergeSorted": _lanes(16.0 / 64, "KPP", head=6.0, half=(6.0, 16.0 / 128)),
    # 32 records of 8 bytes; taken as two passes of GatherMask
    "SplitRecords": _lanes(28.0, "EST"),
    # 16 blocks of 32 bytes at 128 bytes a cycle
    "TransposeBlocks": _lanes(4.0, "MODEL"),
}

# Loads follow each other without waiting for the data: 128 bytes at a time, one takes 20.6 cycles (DEVKIT,
# data_copy, case 1). One alone takes a byte's share and the latency (KPP; cycles at 1, 16, 64 and 192 KiB:
# LoadUB 217, 300, 747, 1766, predicted 200, 322, 712, 1753; LoadL1 at 1, 16, 64, 512 KiB: 173, 295, 623,
# 3356, predicted 193, 283, 570, 3253). What is not in L2 comes at RATES["miss"]. Rows to fractals: 341 cycles
# for 64 rows of 128 bytes, 1154 for 64 rows of 2048 bytes in L2 (DEVKIT, data_copy, GM to L1, cases 1 and 5);
# KPP's 803, 847, 1181, 1657 for 4, 64, 128, 192 KiB are met if they were 128 rows, which it does not say.
_MOVES = {
    "LoadUB": Cost(0, 1 / 126, "KPP, DEVKIT", latency=192, least=20),
    "LoadL1": Cost(0, 1 / 171, "KPP, DEVKIT", latency=187, least=20),
    "LoadL1Fractals": Cost(0, 1 / 128, "KPP, DEVKIT", latency=157, least=20, per_row=5.2),
    "LoadL0": Cost(0, 1 / 140, "KPP", latency=189, least=20),
    # 155 cycles at 1 KiB, 244 at 8, 1020 at 64 (KPP); predicted 137, 230, 972
    "StoreUB": Cost(0, 1 / 77.3, "KPP, EST", latency=124, least=20),
    "StoreL1": Cost(0, 1 / 77.3, "EST", latency=124, least=20),
    "CopyUB": Cost(0, 1 / 256, "KPP", latency=24),
    # 6.2 cycles at 1 KiB, 258 at 64 to L0A, 10.1 and 514 to L0B (KPP)
    "LoadL0A": Cost(2.1, 1 / 256, "KPP, MODEL", latency=16),
    "LoadL0B": Cost(2.1, 1 / 128, "KPP, MODEL", latency=16),
    # the matmul sample's loads take a quarter longer than at the rate of L0B
    "LoadL0Transposed": Cost(9, 1 / 97, "DEVKIT, MODEL", latency=16),
    "LoadL0Window": Cost(27, 1 / 122, "KPP, MODEL", latency=16),
    "LoadBias": Cost(0, 1 / 32, "KPP", least=3.1, latency=24),
    "LoadQuantWords": Cost(15, 1 / 32, "KPP", latency=24),
    "FillL1": Cost(24, 1 / 256, "EST"),
    "FillL0": Cost(24, 1 / 256, "EST"),
    # bytes of the result in L0C: 85 cycles at 1 KiB, 101 at 11, 280 at 32, 1147 at 128 (KPP)
    "WriteBack": Cost(0, 1 / 116.3, "KPP", least=87.7),
    "WriteBackL1": Cost(18, 1 / 256, "KPP"),
}

_CUBE = {
    # a 16x16x16 step of 16-bit elements a cycle (32 deep for 8 bits, 4 for fp32); 10 cycles of head fit the
    # matmul sample's 3082.2 us
    "Product": Cost(10, 1.0, "DEVKIT"),
}

_SCALAR = {
    "Issue": Cost(4, 0, "EST"),
    "ScalarLoad": Cost(6, 0, "MODEL"),
    "ScalarStore": Cost(4, 0, "MODEL"),
    "ScalarLoadGlobal": Cost(6, 0, "MODEL"),
    "ScalarStoreGlobal": Cost(4, 0, "MODEL"),
    "ScalarMiss": Cost(347, 0, "MODEL"),
    "CleanCache": Cost(203, 0, "MODEL"),
    "SetFlag": Cost(1, 0, "PTO"),
    "WaitFlag": Cost(1, 0, "PTO"),
    "Barrier": Cost(1, 0, "PTO"),
    "CrossCoreSet": Cost(1, 0, "EST", latency=200),
    "CrossCoreWait": Cost(1, 0, "EST"),
    "SoftSync": Cost(700, 0, "EST"),
}

COSTS: dict[str, Cost] = {**_LANES, **_VECTOR, **_MOVES, **_CUBE, **_SCALAR}


@dataclass(frozen=True, slots=True)
class Rate:
    """A number of a device that belongs to no single operation."""

    value: float
    source: str


RATES: dict[str, Rate] = {
    # bytes a cycle of one core that are not in L2: 24 cores sustain 31.7 (DEVKIT, data_copy to L1, case 2)
    "miss": Rate(32, "INI, DEVKIT"),
    # cycles a row of a UB bank group is taken: two operands in one group 2.034, 1.007 where groups differ
    "bank": Rate(1.017, "DEVKIT"),
    # cycles of a repeat that reads and writes the same bank at different addresses
    "read_write": Rate(1.79, "DEVKIT"),
    # instructions that a pipe's queue holds; documented for MTE1 and M, taken for all
    "queue": Rate(32, "DEVKIT"),
}
"""Those that all devices share; the clock and bandwidths are each device's own."""

LAUNCH_MICROSECONDS = 20.0
"""What a launch on all cores takes before the kernel works (DEVKIT: 20 to 21); not part of the timeline."""


def cost_lines(costs: Mapping[str, Cost], rates: Mapping[str, Rate]) -> str:
    """The tables as the emulator reads them.

    ``cost OP TYPE HEAD PER_UNIT LATENCY LEAST PER_ROW``, ``rate NAME VALUE``."""
    lines = []
    for name, cost in costs.items():
        kinds = {"any": (cost.head, cost.per_unit), **cost.of_type}
        lines += [
            f"cost {name} {kind} {head!r} {per_unit!r} {cost.latency!r} {cost.least!r} {cost.per_row!r}"
            for kind, (head, per_unit) in kinds.items()
        ]
    lines += [f"rate {name} {rate.value!r}" for name, rate in rates.items()]
    return "\n".join(lines) + "\n"
