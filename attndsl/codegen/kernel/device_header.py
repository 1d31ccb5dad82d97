"""The header of a device's constants, which kernels, their schedule headers and the plan compute with."""

from __future__ import annotations

from collections.abc import Iterator

from attndsl.base.errors import InternalError
from attndsl.codegen.kernel.constant_text import ConstantText
from attndsl.codegen.names.members import constant
from attndsl.target import Device, Memory, MemorySpace
from attndsl.tile.buffers import item_bytes
from attndsl.tile.program import Program

DEVICE_HEADER = "attndsl_device.h"
SCOPE = "attndsl"
"""The namespace of the constants."""
HALF_BANK_ROW = "kHalfBankRow"
"""The constant for the bytes of half a row of banks."""
_KIB = 1024


def device_constants(device: Device) -> tuple[ConstantText, ...]:
    """The constants of a device."""
    chip = device.architecture
    return (
        *_numbers(
            ("vectorCores", chip.aiv_per_aic, "vector cores of a block"),
            ("blockBytes", chip.block, "bytes of a data block"),
            ("blockLanes", chip.block // item_bytes("float32"), "fp32 lanes of a data block (32 B)"),
            ("blockHalves", chip.block // item_bytes("float16"), "16-bit lanes of a data block"),
            ("repeatBlocks", chip.repeat // chip.block, "data blocks of one vector repeat"),
            ("repeatLanes", chip.repeat // item_bytes("float32"), "fp32 lanes of one vector repeat"),
            ("fractal", chip.fractal, "rows of a cube fractal, and its columns of 16 bits"),
            ("orderedFractals", chip.mmad_overlap_fractals, "fractals of L0C from which Mmad adds in order"),
            ("int8Depth", chip.block, "columns of a cube fractal of int8"),
            ("maxNd2NzPitch", chip.max_nd2nz_pitch, "elements from row to row of a copy to Nz, at most"),
        ),
        ConstantText(
            "uint32_t",
            HALF_BANK_ROW,
            str(chip.half_bank_row),
            "bytes; operands of one instruction begin in different halves",
        ),
        *(
            ConstantText("uint32_t", capacity_of(memory), _bytes(memory), _told(memory))
            for memory in chip.memories
        ),
    )


def _numbers(*rows: tuple[str, int, str]) -> Iterator[ConstantText]:
    for name, value, meaning in rows:
        yield ConstantText("int64_t", constant(name), str(value), meaning)


def capacity_of(memory: Memory) -> str:
    """The constant for the bytes of a memory that kernels may use."""
    return f"{constant(memory.space.value.lower())}Bytes"


def _bytes(memory: Memory) -> str:
    """The usable bytes as KiB, less what is left free where that is none."""
    whole, free = memory.usable // _KIB, -memory.usable % _KIB
    return f"{whole} * {_KIB}" if not free else f"{whole + 1} * {_KIB} - {free}"


def _told(memory: Memory) -> str:
    """What the constant of a memory leaves out."""
    if memory.space is not MemorySpace.UB:
        return f"bytes of {memory.space.value}"
    return f"bytes of UB but for its top {(memory.size - memory.usable) // _KIB} KiB, scratch of Select"


def constants_of_device(program: Program) -> tuple[str, ...]:
    """The names of the device's constants that a program computes with.

    Raises:
        InternalError: the program has another value of one.
    """
    known = {each.name: each.value for each in device_constants(program.device)}
    own = {constant(item.named.name): str(item.named.value) for item in program.constants if item.of_device}
    for name, value in own.items():
        if known.get(name) != value:
            raise InternalError(f"{name} is {value}, and {known.get(name)} in {DEVICE_HEADER}")
    return tuple(sorted((*own, HALF_BANK_ROW)))
