"""The instruction set: each AscendC call with its operands, limits, meaning, cost and text side by side."""

from collections.abc import Mapping

from attndsl.tile.instructions.arithmetic import (
    AddScaled,
    Binary,
    Fill,
    FillLanes,
    ShiftBits,
    Unary,
    WithScalar,
)
from attndsl.tile.instructions.base import Instruction, Machine, Names
from attndsl.tile.instructions.conversions import Convert, ConvertToNz
from attndsl.tile.instructions.cube import Fixpipe, LoadFractals, LoadNz, LoadTransposed, Mmad
from attndsl.tile.instructions.data_copy import LoadBlocks, LoadRows, StoreRows
from attndsl.tile.instructions.gather import CopyLanes, Gather, LaneNumbers
from attndsl.tile.instructions.masks import (
    Bitwise,
    BitwiseNot,
    CompareLanes,
    CompareWithScalar,
    FillInterval,
    SelectLanes,
    SelectOrScalar,
)
from attndsl.tile.instructions.reductions import BlockReduce, BroadcastRows, RowReduce
from attndsl.tile.instructions.scalar_unit import IsBeyond
from attndsl.tile.instructions.sort import MergeSorted, SortGroups, SplitRecords, records

__all__ = [
    "AddScaled",
    "Binary",
    "Bitwise",
    "BitwiseNot",
    "BlockReduce",
    "BroadcastRows",
    "CompareLanes",
    "CompareWithScalar",
    "Convert",
    "ConvertToNz",
    "CopyLanes",
    "Fill",
    "FillInterval",
    "FillLanes",
    "Fixpipe",
    "Gather",
    "Instruction",
    "IsBeyond",
    "LaneNumbers",
    "LoadBlocks",
    "LoadFractals",
    "LoadNz",
    "LoadRows",
    "LoadTransposed",
    "Machine",
    "MergeSorted",
    "Mmad",
    "Names",
    "RowReduce",
    "SelectLanes",
    "SelectOrScalar",
    "ShiftBits",
    "SortGroups",
    "SplitRecords",
    "StoreRows",
    "Unary",
    "WithScalar",
    "instruction_classes",
    "records",
]


def instruction_classes() -> Mapping[str, type[Instruction]]:
    """The class of each kind of instruction, by its name."""
    found = {name: globals()[name] for name in __all__}
    return {
        name: each
        for name, each in found.items()
        if isinstance(each, type) and issubclass(each, Instruction) and each is not Instruction
    }
