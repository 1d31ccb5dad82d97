"""The units that layouts, lanes and texts of the instructions are written in.

They are constants, because the instructions are those of one architecture: another has other layouts and
instructions of its own. That the architecture of a program's device has these units is a rule of the
verifier. Limits of operands, sizes of memories and costs are the device's, and are passed.
"""

from __future__ import annotations

from attndsl.expr import Named
from attndsl.target.architecture import DAV_2201 as ARCHITECTURE
from attndsl.tile.buffers import item_bytes

BLOCK = ARCHITECTURE.block
"""Bytes of a lane block, which the API calls a data block."""
REPEAT = ARCHITECTURE.repeat
"""Bytes of one repeat of a vector instruction."""
REPEAT_BLOCKS = REPEAT // BLOCK
"""Blocks of one repeat."""
BLOCKS_OF_REPEAT = Named(REPEAT_BLOCKS, "repeatBlocks")
"""The same as texts name it."""
VECTOR_CORES = Named(ARCHITECTURE.aiv_per_aic, "vectorCores")
"""Vector cores of a block."""
BLOCK_LANES = Named(BLOCK // item_bytes("float32"), "blockLanes")
"""Lanes of fp32, or of int32, of one lane block."""
BLOCK_HALVES = Named(BLOCK // item_bytes("float16"), "blockHalves")
"""Lanes of 16 bits of one lane block."""
ORDERED_FRACTALS = Named(ARCHITECTURE.mmad_overlap_fractals, "orderedFractals")
"""Fractals of a result from which the cube orders what it adds to it."""
FRACTAL = ARCHITECTURE.fractal
"""Rows of a fractal, and its columns of 16 bits."""
UNITS = {
    name: getattr(ARCHITECTURE, name)
    for name in ("aiv_per_aic", "block", "repeat", "fractal", "mmad_overlap_fractals")
}
"""What an architecture must have for these instructions, by its attributes."""

__all__ = [
    "ARCHITECTURE",
    "BLOCK",
    "BLOCKS_OF_REPEAT",
    "BLOCK_HALVES",
    "BLOCK_LANES",
    "FRACTAL",
    "ORDERED_FRACTALS",
    "REPEAT",
    "REPEAT_BLOCKS",
    "UNITS",
    "VECTOR_CORES",
    "block_elements",
    "repeat_elements",
    "whole_fractals",
]


def block_elements(dtype: str) -> int:
    """Elements of one lane block."""
    return BLOCK // item_bytes(dtype)


def repeat_elements(dtype: str) -> int:
    """Elements of one repeat of a vector instruction."""
    return REPEAT // item_bytes(dtype)


def whole_fractals(size: int) -> int:
    """A size rounded up to whole fractals."""
    return ARCHITECTURE.whole_fractals(size)
