"""The line of a kernel that led to a finding, where headers that know no lines issued the instruction."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attndsl.emulator.toolchain import INCLUDE, INTRINSICS
from attndsl.emulator.vendor_headers import VendorHeaders

_SECONDS = 60


def tell_lines(
    findings: Sequence[dict[str, Any]], folder: Path, headers: VendorHeaders | None, source_dir: str
) -> None:
    """Moves each finding to the kernel's line, and its message names the header's.

    ``findings``: as the harness wrote them, changed in place. ``folder``: of the halves' libraries. Without
    ``addr2line`` of the binutils findings stay where they are.
    """
    called = {id(finding): finding.pop("calls", "") for finding in findings}
    if headers is None or shutil.which("addr2line") is None:
        return
    theirs = tuple(str(place.resolve()) for place in (*headers.folders, INCLUDE, INTRINSICS))
    places: dict[str, set[str]] = {}
    for calls in called.values():
        for library, _, offset in (call.partition(":") for call in calls.split()):
            places.setdefault(library, set()).add(offset)
    lines = {name: _lines(folder / name, sorted(offsets)) for name, offsets in places.items()}
    for finding in findings:
        if line := _own_line(called[id(finding)], lines, theirs):
            # a source given as text lay in a folder that has been renamed since
            line = line.removeprefix(source_dir.rstrip("/") + "/") if source_dir else Path(line).name
            if line != finding["source"]:
                finding["message"] += f" (issued at {_short(finding['source'], theirs)})"
            finding["source"] = line


def _own_line(
    calls: str, lines: Mapping[str, Mapping[str, Sequence[str]]], theirs: tuple[str, ...]
) -> str | None:
    """The innermost line of a chain of calls that is in no header of AscendC's."""
    for library, _, offset in (call.partition(":") for call in calls.split()):
        for line in lines[library].get(offset, ()):
            file, _, number = line.rpartition(":")
            if file != "??" and number.isdigit() and not str(Path(file).resolve()).startswith(theirs):
                return line
    return None


def _lines(library: Path, offsets: Sequence[str]) -> dict[str, list[str]]:
    """``file:line`` of each offset, of inlined calls the innermost first."""
    command = ["addr2line", "-a", "-i", "-e", str(library), *offsets]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return {}
    found: dict[str, list[str]] = {}
    at = ""
    for line in done.stdout.splitlines():
        if line.startswith("0x"):
            at = f"{int(line, 16):x}"
        else:
            found.setdefault(at, []).append(line.partition(" (")[0])
    return found


def _short(place: str, theirs: tuple[str, ...]) -> str:
    """A place in a header, below the folder that it was found in."""
    file, colon, number = place.rpartition(":")
    path = str(Path(file).resolve())
    below = max((len(folder) + 1 for folder in theirs if path.startswith(folder + "/")), default=0)
    return path[below:] + colon + number
