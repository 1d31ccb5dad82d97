"""The instruction set: each AscendC call with its operands, limits, meaning, cost and text side by side."""

from attndsl.tile.instructions.base import Instruction, Machine, Names
from attndsl.tile.instructions.cube import Fixpipe, LoadFractals, LoadNz, Mmad
from attndsl.tile.instructions.data_copy import LoadRows, StoreRows
from attndsl.tile.instructions.vector import (
    Binary,
    BroadcastRows,
    CompareWithScalar,
    Convert,
    Fill,
    FillLanes,
    RowReduce,
    SelectOrScalar,
    Unary,
    WithScalar,
)

__all__ = [
    "Binary",
    "BroadcastRows",
    "CompareWithScalar",
    "Convert",
    "Fill",
    "FillLanes",
    "Fixpipe",
    "Instruction",
    "LoadFractals",
    "LoadNz",
    "LoadRows",
    "Machine",
    "Mmad",
    "Names",
    "RowReduce",
    "SelectOrScalar",
    "StoreRows",
    "Unary",
    "WithScalar",
]
