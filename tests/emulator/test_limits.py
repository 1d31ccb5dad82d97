"""The device model's numbers are those of the compiler's device."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import attndsl.emulator
from attndsl.target import MemorySpace
from tests.support.devices import ARCHITECTURE

ROOT = Path(attndsl.emulator.__file__).parent
LIMITS = ROOT / "include" / "attnemu" / "limits.h"
SIZES = {
    "kUbBytes": MemorySpace.UB,
    "kL1Bytes": MemorySpace.L1,
    "kL0aBytes": MemorySpace.L0A,
    "kL0bBytes": MemorySpace.L0B,
    "kL0cBytes": MemorySpace.L0C,
}
EXPECTED = {name: ARCHITECTURE.memory(space).size for name, space in SIZES.items()} | {
    "kSelectScratch": ARCHITECTURE.memory(MemorySpace.UB).usable,
    "kSystemWorkspace": ARCHITECTURE.system_workspace,
    "kBlock": ARCHITECTURE.block,
    "kRepeatBytes": ARCHITECTURE.repeat,
    "kFractal": ARCHITECTURE.fractal * ARCHITECTURE.block,
    "kEventIds": ARCHITECTURE.event_ids,
    "kCrossCoreFlags": ARCHITECTURE.cross_core_flags,
    "kCounterMax": ARCHITECTURE.cross_core_depth,
    "kMaxRepeat": ARCHITECTURE.max_repeat,
    "kMaxNd2NzPitch": ARCHITECTURE.max_nd2nz_pitch,
    "kMaxNd2NzRows": ARCHITECTURE.max_nd2nz_rows,
    "kMaxNd2NzMatrices": ARCHITECTURE.max_nd2nz_matrices,
    "kMaxMmadSize": ARCHITECTURE.max_mmad_size,
    "kMaxCopyBlocks": ARCHITECTURE.max_copy_blocks,
    "kMaxHalfWord": ARCHITECTURE.max_half_word,
    "kMaxFixpipeColumns": ARCHITECTURE.max_fixpipe_columns,
    "kMaxFixpipeRows": ARCHITECTURE.max_fixpipe_rows,
    "kMaxMergeRecords": ARCHITECTURE.max_merge_records,
    "kMmadOverlapFractals": ARCHITECTURE.mmad_overlap_fractals,
}
CONSTANT = re.compile(r"^constexpr \w+ (k\w+) = ([\d *]+);", re.MULTILINE)
SPELLED = re.compile(
    r"\b(?:4095|16384|65535)\b"
    r"|\b(?:64|128|184|192|512)u? (?:\* 1024|<< 10)\b"
    r"|\b16u? (?:\* 1024 \* 1024|<< 20)\b"
)


def test_limits_are_those_of_the_device() -> None:
    text = LIMITS.read_text()
    found = {name: eval(value) for name, value in CONSTANT.findall(text)}
    assert len(found) == text.count("constexpr")
    assert found == EXPECTED


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_limits_are_used(name: str) -> None:
    texts = [file.read_text() for file in ROOT.rglob("*") if file.suffix in (".h", ".cpp") and file != LIMITS]
    assert any(re.search(rf"\b{name}\b", text) for text in texts)


def test_limits_stand_nowhere_else() -> None:
    """Some numbers only happen to be equal: blocks of a launch, source lines, banks, 12-bit fields."""
    own = {"host_runtime.cpp", "machine.cpp", "lanes.cpp", "constants.h", "limits.h"}
    files = [file for file in ROOT.rglob("*") if file.suffix in (".h", ".cpp") and file.name not in own]
    assert files and not [file.name for file in files if SPELLED.search(file.read_text())]


@pytest.mark.parametrize(
    ("limit", "other"),
    [
        ("p.n <= 4095", "p.n <= 40950"),
        ("size = 192 * 1024;", "size = 192 * 10240;"),
        ("size = (192u << 10) - kReserved;", "size = (8u << 10) << kind;"),
        ("kL0C = 128 << 10,", "kL2 = 192 << 20,"),
        ("return 16u << 20;", "kIndexBytes = 16 << 10;"),
    ],
)
def test_a_limit_is_found_however_it_is_spelled(limit: str, other: str) -> None:
    assert SPELLED.search(limit) and not SPELLED.search(other)
