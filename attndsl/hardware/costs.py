"""What instructions cost on Atlas A2, in cycles of the core (1.8 GHz), as data.

Sources, by tag
    PTO   calibration notes of the pto-isa cost model, 910B3: head and slope of vector instructions
    KPP   mskpp ``resource910b.cpp``: rates measured on 910B1 and 910B3
    MODEL constants of the open pypto latency model, not measured
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cost:
    """``head + per_unit * units`` cycles; the unit is a 256-byte repeat, or a byte for copies."""

    head: float
    per_unit: float
    source: str


COSTS: dict[str, Cost] = {
    "Duplicate": Cost(24, 1.0, "KPP"),
    "Muls": Cost(26, 1.0, "PTO"),
    "Adds": Cost(24, 1.0, "KPP"),
    "Maxs": Cost(24, 1.0, "KPP"),
    "Add": Cost(24, 2.11, "PTO"),
    "Sub": Cost(24, 2.11, "PTO"),
    "Mul": Cost(25, 2.0, "PTO"),
    "Max": Cost(23, 2.01, "PTO"),
    "Div": Cost(31, 4.03, "PTO"),
    "Min": Cost(23, 2.01, "PTO"),
    "Mins": Cost(24, 1.0, "KPP"),
    "Abs": Cost(24, 1.0, "KPP"),
    "Ln": Cost(33, 2.0, "PTO"),
    "Sqrt": Cost(24, 2.0, "KPP"),
    "Exp": Cost(31, 2.0, "PTO"),
    "Cast": Cost(24, 1.0, "KPP"),
    "CompareScalar": Cost(24, 1.0, "KPP"),
    "Select": Cost(24, 2.0, "KPP"),
    "WholeReduceMax": Cost(24, 7.0, "KPP"),
    "WholeReduceSum": Cost(24, 3.0, "KPP"),
    "Brcb": Cost(24, 1.0, "KPP"),
    # GM to UB: 347 cycles of latency (MODEL), 187 GB/s at 1.8 GHz (KPP, 910B3).
    "DataCopyPad in": Cost(347, 1 / 104, "KPP"),
    "DataCopyPad out": Cost(203, 1 / 61, "KPP"),
    # GM to L1 with the ND to NZ change: 204 GB/s at 192 KiB (KPP).
    "DataCopy Nd2Nz": Cost(347, 1 / 113, "KPP"),
    "LoadData A": Cost(25, 1 / 243, "KPP"),
    "LoadData B": Cost(25, 1 / 122, "KPP"),
    # One 16x16x16 step a cycle behind a head (PTO); the unit here is such a step.
    "Mmad": Cost(6, 1.0, "PTO"),
    "Fixpipe": Cost(203, 1 / 109, "KPP"),
}
