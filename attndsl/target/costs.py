"""What operations cost on devices of NPU architecture 2201, in cycles: the one home of these numbers.

Operations are those of the device, not of an API: the emulator's model lists them (``attnemu/ops.h``) and
takes this table with every launch; instructions of the tile IR name their operation by ``cost_key``.

Sources, by tag
    DEVKIT asc-devkit: tables of theoretical performance; measured samples of Add, bank conflicts and matmul
    PTO    calibration notes of the pto-isa cost model, 910B3: head and slope of vector instructions
    KPP    mskpp ``resource910b.cpp``: rates measured on 910B1 and 910B3; a head is the rest at small sizes
    MODEL  constants of the open pypto latency model, not measured
    EST    an estimate of ours: nothing public was found
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Cost:
    """The pipe is taken for ``head + per_unit * units`` cycles; results are there ``latency`` cycles later.

    The unit is a 256-byte repeat of the widest operand for vector instructions, a byte for moves (in global
    memory of pieces of 128), a 16x16 step of the cube's depth for products; single things else. ``of_type``:
    head and per_unit of element types that have numbers of their own.
    """

    head: float
    per_unit: float
    source: str
    latency: float = 0.0
    of_type: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def cycles(self, units: float) -> float:
        """Cycles of its pipe for an amount of work."""
        return self.head + self.per_unit * units


def _half(per_unit: float, head: float = 24) -> dict[str, tuple[float, float]]:
    return {"float16": (head, per_unit)}


# Two operands: a repeat a cycle when all banks differ, see RATES["bank"]; 24 cycles of head (1000 Adds).
_LANES = {
    "Add": Cost(24, 1.007, "DEVKIT"),
    "Sub": Cost(24, 1.007, "DEVKIT"),
    "Mul": Cost(25, 1.007, "PTO, DEVKIT"),
    "Max": Cost(23, 1.007, "PTO, DEVKIT"),
    "Min": Cost(23, 1.007, "PTO, DEVKIT"),
    "And": Cost(24, 1.007, "DEVKIT"),
    "Or": Cost(24, 1.007, "DEVKIT"),
    "AddRelu": Cost(24, 1.007, "DEVKIT"),
    "SubRelu": Cost(24, 1.007, "DEVKIT"),
    "Div": Cost(31, 4.03, "PTO", of_type=_half(4.0, 31)),
    "MulAddDst": Cost(24, 6.0, "KPP"),
    "FusedMulAdd": Cost(24, 6.0, "KPP"),
    "FusedMulAddRelu": Cost(24, 6.0, "KPP"),
    "Axpy": Cost(24, 2.0, "KPP"),
    "Exp": Cost(31, 2.0, "PTO", of_type=_half(4.0, 31)),
    "Ln": Cost(33, 2.0, "PTO", of_type=_half(4.0, 33)),
    "Sqrt": Cost(24, 2.0, "KPP", of_type=_half(4.0)),
    "Abs": Cost(24, 1.0, "KPP"),
    "Rsqrt": Cost(24, 1.0, "KPP"),
    "Reciprocal": Cost(24, 1.0, "KPP"),
    "Relu": Cost(24, 1.0, "KPP"),
    "Not": Cost(24, 1.0, "KPP"),
    "Adds": Cost(24, 1.0, "KPP"),
    "Muls": Cost(26, 1.0, "PTO"),
    "Maxs": Cost(24, 1.0, "KPP"),
    "Mins": Cost(24, 1.0, "KPP"),
    "ShiftLeft": Cost(24, 1.0, "KPP"),
    "ShiftRight": Cost(24, 1.0, "KPP"),
    "LeakyRelu": Cost(24, 1.0, "KPP"),
    "Fill": Cost(24, 1.0, "KPP"),
    "Index": Cost(24, 1.0, "EST"),
    "Copy": Cost(24, 1.0, "KPP"),
}

_VECTOR = {
    "Convert": Cost(24, 1.0, "KPP"),
    # an operation and a conversion at once; taken as two sources and no more
    "Compound": Cost(24, 1.007, "EST"),
    "Compare": Cost(24, 1.007, "DEVKIT"),
    "CompareScalar": Cost(24, 1.0, "KPP"),
    "MoveCompareMask": Cost(24, 1.0, "EST"),
    "Select": Cost(24, 2.0, "KPP"),
    "ReduceRepeatsSum": Cost(24, 3.0, "KPP", of_type=_half(7.0)),
    "ReduceRepeatsExtreme": Cost(24, 7.0, "KPP"),
    "ReduceBlocksSum": Cost(24, 1.0, "KPP", of_type=_half(7.0)),
    "ReduceBlocksExtreme": Cost(24, 1.0, "KPP", of_type=_half(7.0)),
    "ReducePairs": Cost(24, 1.0, "KPP"),
    "BroadcastBlocks": Cost(24, 1.0, "KPP"),
    # 64 elements of 32 bits, 128 of 16 bits a repeat
    "Gather": Cost(24, 12.2, "KPP", of_type=dict.fromkeys(("float16", "int16", "uint16"), (24.0, 24.0))),
    "GatherBlocks": Cost(33, 2.0, "KPP"),
    "GatherMask": Cost(24, 14.0, "KPP"),
    # two elements a cycle, 32 a repeat
    "Sort32": Cost(24, 16.0, "DEVKIT"),
    # the unit is a record: 16.4 cycles for 64 records of fp32 and 128 of fp16
    "MergeSorted": Cost(24, 16.4 / 64, "KPP", of_type=_half(16.4 / 128)),
    # 32 records of 8 bytes; taken as two passes of GatherMask
    "SplitRecords": Cost(48, 28.0, "EST"),
    # 16 blocks of 32 bytes at 128 bytes a cycle
    "TransposeBlocks": Cost(24, 4.0, "MODEL"),
}

# A load takes 184 cycles and a byte's share (KPP). asc-devkit's Add sample, 8 KiB a time on one core, shows
# that the pipe is taken for all of it: two loads in a row take twice as long (350 cycles each, from memory).
# Its stores take 295 cycles; 160 and 80 bytes a cycle lie between that and KPP (299 at 13 KiB, 110 GB/s).
_MOVES = {
    "LoadUB": Cost(184, 1 / 115, "KPP, DEVKIT"),
    "LoadL1": Cost(177, 1 / 155, "KPP"),
    "LoadL1Fractals": Cost(460, 1 / 155, "KPP"),
    "LoadL0": Cost(177, 1 / 128, "KPP, EST"),
    "StoreUB": Cost(160, 1 / 80, "KPP, DEVKIT"),
    "StoreL1": Cost(160, 1 / 80, "EST"),
    "CopyUB": Cost(24, 1 / 244, "KPP"),
    "LoadL0A": Cost(9, 1 / 243, "KPP, MODEL", latency=16),
    "LoadL0B": Cost(9, 1 / 122, "KPP, MODEL", latency=16),
    # the matmul sample's loads take a quarter longer than at the rate of L0B
    "LoadL0Transposed": Cost(9, 1 / 97, "DEVKIT, MODEL", latency=16),
    "LoadL0Window": Cost(27, 1 / 122, "KPP, MODEL", latency=16),
    "LoadBias": Cost(24, 1 / 30, "KPP"),
    "LoadQuantWords": Cost(24, 1 / 20, "KPP"),
    "FillL1": Cost(24, 1 / 256, "EST"),
    "FillL0": Cost(24, 1 / 256, "EST"),
    # bytes of the result in L0C; 161 GB/s at 8 KiB, 200 at most
    "WriteBack": Cost(18, 1 / 111, "KPP"),
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
    # how many times longer a core's bytes take when they are not in L2
    "miss": Rate(2.0, "KPP"),
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
    """The tables as the emulator reads them: ``cost OP TYPE HEAD PER_UNIT LATENCY``, ``rate NAME VALUE``."""
    lines = []
    for name, cost in costs.items():
        kinds = {"any": (cost.head, cost.per_unit), **cost.of_type}
        lines += [
            f"cost {name} {kind} {head!r} {per_unit!r} {cost.latency!r}"
            for kind, (head, per_unit) in kinds.items()
        ]
    lines += [f"rate {name} {rate.value!r}" for name, rate in rates.items()]
    return "\n".join(lines) + "\n"
