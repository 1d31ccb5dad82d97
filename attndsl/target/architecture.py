"""NPU architectures: memories, pipes, units and the fields of instructions, which all their devices share.

Sources, by tag
    INI   CANN 8.1.RC1 ``platform_config/Ascend910B*.ini``
    GUIDE asc-devkit programming guide, "NPU architecture 2201" and the API reference
    H81   CANN 8.1.RC1 basic API headers
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Pipe(Enum):
    """Instruction queues of a core: in order within one, concurrent across (GUIDE).

    They stand in the order in which data pass them, those of the cube core first.
    """

    __hash__ = object.__hash__  # there is one of each; Enum hashes the name anew each time

    S = "S"
    MTE2 = "MTE2"
    MTE1 = "MTE1"
    M = "M"
    FIX = "FIX"
    V = "V"
    MTE3 = "MTE3"


class Core(Enum):
    """The two kinds of core; a block is one AIC with two AIVs (MIX 1:2)."""

    __hash__ = object.__hash__  # as of pipes

    AIC = "AIC"
    AIV = "AIV"

    @property
    def pipes(self) -> tuple[Pipe, ...]:
        """The pipes that it has, in the order in which data pass them."""
        without = {Core.AIC: (Pipe.V, Pipe.MTE3), Core.AIV: (Pipe.MTE1, Pipe.M, Pipe.FIX)}[self]
        return tuple(pipe for pipe in Pipe if pipe not in without)


class MemorySpace(Enum):
    """Where a buffer lives; the value is the name in printed programs."""

    GM = "GM"
    UB = "UB"
    L1 = "L1"
    L0A = "L0A"
    L0B = "L0B"
    L0C = "L0C"


@dataclass(frozen=True, slots=True)
class Memory:
    """One on-chip memory.

    ``usable``: bytes a kernel may plan with, from address 0. ``alignment``: bytes.
    ``position``: the AscendC TPosition that selects it.
    """

    space: MemorySpace
    core: Core
    size: int
    usable: int
    alignment: int
    position: str


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Architecture:
    """An NPU architecture. Sizes are bytes unless said otherwise.

    There is one object of each, a key of what is kept for it. Who needs two to be alike compares the
    attributes that matter, as :mod:`attndsl.tile.verifier` compares those that ``UNITS`` of the instructions
    names.

    Attributes:
        socs: the products that have it, as CANN's operator projects name them (INI).
        aiv_per_aic: vector cores of one block.
        memories: on-chip memories.
        block: bytes of a lane block, the unit of UB strides.
        repeat: bytes one repeat of a vector instruction covers.
        bank_row: bytes of UB with one block in each group of banks (GUIDE).
        bank_span: bytes of UB with one bank of each group (GUIDE).
        fractal: rows and columns (16-bit elements) of the cube's unit.
        event_ids: ids per ordered pipe pair (GUIDE).
        cross_core_flags: usable flag ids; 11-14 belong to SyncAll (GUIDE).
        cross_core_depth: highest value of a cross-core counter (GUIDE).
        max_repeat: highest repeat count of a vector instruction (GUIDE).
        max_repeat_stride: highest repeat stride, in blocks.
        max_nd2nz_pitch: highest srcDValue of an Nd2Nz copy, in elements (GUIDE).
        max_nd2nz_rows: highest nValue, dstNzC0Stride and dstNzNStride of an Nd2Nz copy (GUIDE).
        max_nd2nz_matrices: highest ndNum of an Nd2Nz copy (GUIDE).
        max_mmad_size: highest m, n and k of an Mmad (GUIDE).
        max_copy_blocks: highest blockCount of a DataCopyPad (GUIDE).
        max_half_word: highest number of a 16-bit field: srcStride of LoadData and of a Fixpipe (H81), blocks
            of a row and between rows of a DataCopy (asc-devkit, DataCopyParams).
        max_image_side: highest l1H and l1W of a LoadData of an image (asc-devkit, Load3Dv2).
        max_fixpipe_columns: highest nSize of a Fixpipe (GUIDE).
        max_fixpipe_rows: highest mSize of a Fixpipe to rows (GUIDE).
        max_merge_records: highest length of a list of MrgSort (GUIDE).
        mmad_overlap_fractals: fractals of a result from which a dependent Mmad needs no barrier (GUIDE).
        workspace_alignment: bytes; a Fixpipe to an unaligned row costs twice (GUIDE).
        system_workspace: bytes CANN reserves in front of the user's workspace (H81).
    """

    name: str
    socs: tuple[str, ...]
    aiv_per_aic: int
    memories: tuple[Memory, ...]
    block: int
    repeat: int
    bank_row: int
    bank_span: int
    fractal: int
    event_ids: int
    cross_core_flags: int
    cross_core_depth: int
    max_repeat: int
    max_repeat_stride: int
    max_nd2nz_pitch: int
    max_nd2nz_rows: int
    max_nd2nz_matrices: int
    max_mmad_size: int
    max_copy_blocks: int
    max_half_word: int
    max_image_side: int
    max_fixpipe_columns: int
    max_fixpipe_rows: int
    max_merge_records: int
    mmad_overlap_fractals: int
    workspace_alignment: int
    system_workspace: int

    @property
    def half_bank_row(self) -> int:
        """Bytes that are in one half of the groups of banks of UB: blocks in different halves do not meet."""
        return self.bank_row // 2

    def whole_fractals(self, size: int) -> int:
        """A size rounded up to whole fractals."""
        return -(-size // self.fractal) * self.fractal

    def memory(self, space: MemorySpace) -> Memory:
        """The on-chip memory of a space."""
        return next(memory for memory in self.memories if memory.space is space)


_KIB = 1024
DAV_2201 = Architecture(
    name="dav-2201",
    socs=("ascend910b", "ascend910_93"),
    aiv_per_aic=2,
    memories=(
        # The top 8 KiB of UB are scratch of Select and friends (H81: TMP_UB at 184 KiB).
        Memory(MemorySpace.UB, Core.AIV, 192 * _KIB, 184 * _KIB, 32, "VECCALC"),
        # The last 256 bytes of L1 are reserved (GUIDE).
        Memory(MemorySpace.L1, Core.AIC, 512 * _KIB, 512 * _KIB - 256, 32, "A1"),
        Memory(MemorySpace.L0A, Core.AIC, 64 * _KIB, 64 * _KIB, 512, "A2"),
        Memory(MemorySpace.L0B, Core.AIC, 64 * _KIB, 64 * _KIB, 512, "B2"),
        Memory(MemorySpace.L0C, Core.AIC, 128 * _KIB, 128 * _KIB, 1024, "CO1"),
    ),
    block=32,
    repeat=256,
    bank_row=512,
    bank_span=64 * _KIB,
    fractal=16,
    event_ids=8,
    cross_core_flags=11,
    cross_core_depth=15,
    max_repeat=255,
    max_repeat_stride=255,
    max_nd2nz_pitch=65535,
    max_nd2nz_rows=16384,
    max_nd2nz_matrices=4095,
    max_mmad_size=4095,
    max_copy_blocks=4095,
    max_half_word=65535,
    max_image_side=32767,
    max_fixpipe_columns=4095,
    max_fixpipe_rows=8192,
    max_merge_records=4095,
    mmad_overlap_fractals=10,
    workspace_alignment=512,
    system_workspace=16 * _KIB * _KIB,
)
"""Separate cube and vector cores: Ascend 910B (Atlas A2) and 910C (Atlas A3)."""
