"""What a kernel library's CMake file defines for its kernels, where the official build rules read it."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

_DEFINITIONS = re.compile(r"^[ \t]*ascendc_compile_definitions\s*\(([^()]*)\)", re.MULTILINE)
_SCOPES = ("PUBLIC", "PRIVATE", "INTERFACE")
_COMMENT = re.compile(r"#[^\n]*")


def definitions_beside(file: Path) -> set[str]:
    """Macros that ``ascendc_compile_definitions`` of the CMakeLists.txt in a file's folder defines.

    ``NAME`` or ``NAME=VALUE``; none where there is no such file.
    """
    rules = file.parent / "CMakeLists.txt"
    if not rules.is_file():
        return set()
    found: set[str] = set()
    for words in _DEFINITIONS.findall(_COMMENT.sub("", rules.read_text(errors="replace"))):
        _, *rest = words.split() or [""]
        found |= {word.removeprefix("-D") for word in rest if word not in _SCOPES}
    return found


def workspace_place(definitions: Collection[str]) -> int:
    """Which parameter of a kernel function is its workspace, counted from the last one, 1; 0: none."""
    names = {definition.partition("=")[0] for definition in definitions}
    if "HAVE_WORKSPACE" not in names:
        return 0
    return 2 if "HAVE_TILING" in names else 1
