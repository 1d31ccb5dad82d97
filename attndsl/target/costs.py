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

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Cost:
    """Cycles that an operation takes its pipe, and how much later its results are there.

    The pipe is taken for ``head + per_unit * units`` cycles, at least for ``least``, and, where a copy
    reorders a matrix, for ``per_row`` a row and ``per_piece`` a piece of a row (of 512, 256 or 128 bytes).
    Results are there ``latency`` cycles after that. At most four of these are set. The unit is a 256-byte
    repeat of the widest operand for vector instructions, a byte for moves (in global memory of pieces of
    128), a 16x16 step of the cube's depth for products; single things else. ``of_type``: head, per_unit and
    least of element types that have numbers of their own.
    """

    head: float
    per_unit: float
    source: str
    latency: float = 0.0
    least: float = 0.0
    per_row: float = 0.0
    per_piece: float = 0.0
    of_type: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)

    def cycles(self, units: float) -> float:
        """Cycles of its pipe for an amount of work in rows of no consequence."""
        return max(self.least, self.head + self.per_unit * units)


@cache
def measurements() -> Mapping[str, Any]:
    """What ``bench/calibration.py`` fitted to public measurements, and how far predictions are from them."""
    document: Mapping[str, Any] = json.loads(Path(__file__).with_name("measured.json").read_text())
    return document


_ALIKE = (("float32", "int32", "uint32"), ("float16", "bfloat16", "int16", "uint16"))
"""Types of one width: what was measured of none takes the numbers of the first of them that was."""


def _measured(name: str, source: str = "KPP", *, latency: float | None = None, least: float = 0.0) -> Cost:
    """An operation that KPP has; ``latency`` and ``least`` where its rows do not tell them."""
    entry: Mapping[str, Mapping[str, float]] = measurements()["costs"][name]
    main = next(entry[each] for each in ("any", *_ALIKE[0], *_ALIKE[1]) if each in entry)
    of_type: dict[str, Mapping[str, float]] = {}
    for alike in _ALIKE:
        if known := next((entry[each] for each in alike if each in entry), None):
            of_type |= dict.fromkeys(alike, known)
    of_type |= entry
    return Cost(
        main.get("head", 0.0),
        main["per_unit"],
        source,
        latency=main.get("latency", 0.0) if latency is None else latency,
        least=main.get("least", least),
        per_row=main.get("per_row", 0.0),
        per_piece=main.get("per_piece", 0.0),
        of_type={
            each: (own.get("head", 0.0), own["per_unit"], own.get("least", 0.0))
            for each, own in sorted(of_type.items())
            if own is not main
        },
    )


_LATENCY = 24.0
"""What a vector instruction waits for whose operand is the result of the one before.

1000 additions onto one result take 24 cycles each more than their repeats (DEVKIT, with the barriers that the
compiler puts between them). Instructions that do not need each other's results follow without a gap (KPP).
"""


def _lanes(name: str, source: str = "KPP, DEVKIT", latency: float = _LATENCY) -> Cost:
    return _measured(name, source, latency=latency)


def _estimate(per_unit: float, source: str) -> Cost:
    """A vector instruction that KPP does not have; three cycles at least, as most."""
    return Cost(0.0, per_unit, source, latency=_LATENCY, least=3.0)


# Two operands: a repeat a cycle when all banks differ, see RATES["bank"].
_LANES = {
    "Add": _lanes("Add"),
    "Sub": _lanes("Sub"),
    "Mul": _lanes("Mul", "KPP, PTO", 25),
    "Max": _lanes("Max", "KPP, PTO", 23),
    "Min": _lanes("Min", "KPP, PTO", 23),
    "And": _lanes("And"),
    "Or": _lanes("Or"),
    "AddRelu": _lanes("AddRelu"),
    "SubRelu": _lanes("SubRelu"),
    "Div": _lanes("Div", "KPP, PTO", 31),
    "MulAddDst": _lanes("MulAddDst"),
    "FusedMulAdd": _lanes("FusedMulAdd"),
    "FusedMulAddRelu": _lanes("FusedMulAddRelu"),
    "Axpy": _lanes("Axpy"),
    "Exp": _lanes("Exp", "KPP, PTO", 31),
    "Ln": _lanes("Ln", "KPP, PTO", 33),
    "Sqrt": _lanes("Sqrt"),
    "Abs": _lanes("Abs"),
    "Rsqrt": _lanes("Rsqrt"),
    "Reciprocal": _lanes("Reciprocal"),
    "Relu": _lanes("Relu"),
    "Not": _lanes("Not"),
    # a scalar operand goes as in Muls and Maxs
    "Adds": _lanes("Adds"),
    "Muls": _lanes("Muls", "KPP, PTO", 26),
    "Maxs": _lanes("Maxs"),
    "Mins": _lanes("Mins"),
    "ShiftLeft": _lanes("ShiftLeft"),
    "ShiftRight": _lanes("ShiftRight"),
    "LeakyRelu": _lanes("LeakyRelu"),
    "Fill": _lanes("Fill"),
    "Index": _estimate(1.0, "EST"),
    "Copy": _lanes("Copy"),
}

_VECTOR = {
    "Convert": _lanes("Convert"),
    "Compound": _lanes("Compound"),
    "Compare": _lanes("Compare"),
    "CompareScalar": _lanes("CompareScalar"),
    "MoveCompareMask": _estimate(1.0, "EST"),
    "Select": _lanes("Select"),
    "ReduceRepeatsSum": _lanes("ReduceRepeatsSum"),
    "ReduceRepeatsExtreme": _lanes("ReduceRepeatsExtreme"),
    "ReduceBlocksSum": _lanes("ReduceBlocksSum"),
    "ReduceBlocksExtreme": _lanes("ReduceBlocksExtreme"),
    "ReducePairs": _lanes("ReducePairs"),
    "BroadcastBlocks": _lanes("BroadcastBlocks"),
    # 64 elements of 32 bits, 128 of 16 bits a repeat
    "Gather": _lanes("Gather"),
    "GatherBlocks": _lanes("GatherBlocks"),
    "GatherMask": _lanes("GatherMask"),
    # two elements a cycle, 32 a repeat
    "Sort32": _estimate(16.0, "DEVKIT"),
    # the unit is a record
    "MergeSorted": _lanes("MergeSorted"),
    # 32 records of 8 bytes; taken as two passes of GatherMask
    "SplitRecords": _estimate(28.0, "EST"),
    # 16 blocks of 32 bytes at 128 bytes a cycle
    "TransposeBlocks": _estimate(4.0, "MODEL"),
}

# Loads follow each other without waiting for the data: of 128 bytes, one takes 20.6 cycles (DEVKIT,
# data_copy, case 1); one alone takes its latency besides (KPP). What is not in L2 comes at RATES["miss"].
# Rows to fractals: 341 cycles for 64 rows of 128 bytes (DEVKIT, data_copy, GM to L1, case 1), which KPP's fit
# meets if its loads were 128 rows; it does not say so.
_MOVES = {
    "LoadUB": _measured("LoadUB", "KPP, DEVKIT", least=20),
    "LoadL1": _measured("LoadL1", "KPP, DEVKIT", least=20),
    "LoadL1Fractals": _measured("LoadL1Fractals", "KPP, DEVKIT"),
    "LoadL0": _measured("LoadL0", "KPP, DEVKIT", least=20),
    "StoreUB": _measured("StoreUB", "KPP, EST", least=20),
    "StoreL1": _measured("StoreUB", "EST", least=20),
    "CopyUB": _measured("CopyUB", latency=_LATENCY),
    "LoadL0A": _measured("LoadL0A", "KPP, MODEL", latency=16),
    "LoadL0B": _measured("LoadL0B", "KPP, MODEL", latency=16),
    # the matmul sample's loads take a quarter longer than at the rate of L0B
    "LoadL0Transposed": Cost(9, 1 / 97, "DEVKIT, MODEL", latency=16),
    "LoadL0Window": Cost(27, 1 / 122, "KPP, MODEL", latency=16),
    "LoadBias": _measured("LoadBias", latency=_LATENCY),
    "LoadQuantWords": _measured("LoadQuantWords", latency=_LATENCY),
    "FillL1": Cost(24, 1 / 256, "EST"),
    "FillL0": Cost(24, 1 / 256, "EST"),
    # bytes of the result in L0C
    "WriteBack": _measured("WriteBack"),
    "WriteBackL1": Cost(18, 1 / 256, "EST"),
}

_CUBE = {
    # a 16x16x16 step of 16-bit elements a cycle (32 deep for 8 bits, 4 for fp32); see RATES["accumulate"]
    "Product": _measured("Product"),
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
    # bytes a cycle of one core that go to lines which L2 does not have: first stores of 8 KiB take 295
    # cycles, on one core as on 48, of 32 KiB 1243 (DEVKIT, Add, cases 1 to 3); KPP's 244 are of one place
    "miss_write": Rate(27, "DEVKIT"),
    # times that a byte passes L2 that is added to global memory: once, as if it were stored
    "atomic": Rate(1.0, "EST"),
    # cycles by which a product that adds to L0C takes longer: the matmul sample's 3082.2 us are 10 cycles a
    # product more than its steps, of which KPP's independent products take 2.1
    "accumulate": Rate(7.9, "DEVKIT, KPP"),
    # cycles a row of a UB bank group is taken: two operands in one group take two (KPP 2.00, DEVKIT 2.03)
    "bank": Rate(1.0, "KPP, DEVKIT"),
    # cycles of a repeat that reads and writes the same bank at different addresses
    "read_write": Rate(1.79, "DEVKIT"),
    # instructions that a pipe's queue holds; documented for MTE1 and M, taken for all
    "queue": Rate(32, "DEVKIT"),
}
"""Those of 910B, which devices have that state no others; the clock and bandwidths are each device's own."""

LAUNCH_MICROSECONDS = 20.0
"""What a launch on all cores takes before the kernel works (DEVKIT: 20 to 21); not part of the timeline."""


UNKNOWN = (
    "sums in global memory are taken as plain stores",
    "flags between cores take 200 cycles",
    "cores that read the same lines of L2 at once do not slow each other",
    "rows at addresses that are no multiple of 32 bytes cost as others",
    "what a program computes between calls costs nothing",
    "products come to their results column by column of fractals until a kernel says otherwise",
)
"""What no public measurement tells; predictions name it."""


def at_their_worst(costs: Mapping[str, Cost], rates: Mapping[str, Rate]) -> str:
    """:func:`cost_lines` with the first two of :data:`UNKNOWN` as bad as they may be."""
    slow = replace(costs["CrossCoreSet"], latency=500.0)
    return cost_lines({**costs, "CrossCoreSet": slow}, {**rates, "atomic": Rate(2.0, "EST")})


def cost_lines(costs: Mapping[str, Cost], rates: Mapping[str, Rate]) -> str:
    """The tables as the emulator reads them.

    ``cost OP TYPE HEAD PER_UNIT LATENCY LEAST PER_ROW
    PER_PIECE``, ``rate NAME VALUE``."""
    lines = []
    for name, cost in costs.items():
        kinds = {"any": (cost.head, cost.per_unit, cost.least), **cost.of_type}
        lines += [
            f"cost {name} {kind} {head!r} {per_unit!r} {cost.latency!r} {least!r} {cost.per_row!r} "
            f"{cost.per_piece!r}"
            for kind, (head, per_unit, least) in kinds.items()
        ]
    lines += [f"rate {name} {rate.value!r}" for name, rate in rates.items()]
    return "\n".join(lines) + "\n"
