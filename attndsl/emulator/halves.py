"""Sources that choose at compile time which half of a kernel is compiled.

The official compiler reads such a source once for the cube core and once for the vector cores.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from attndsl.emulator.launch_syntax import mask
from attndsl.emulator.toolchain import Compiler, run_compiler

_MACROS = {"cube": ("__DAV_C220_CUBE__", "__DAV_CUBE__"), "vector": ("__DAV_C220_VEC__", "__DAV_VEC__")}
_MENTION = re.compile(r"\b__DAV_(?:C220_)?(?:CUBE|VEC)__\b")
# the core's type where only a constant can stand: `if constexpr`, a template's argument or its default
_CONSTANT_TYPE = re.compile(r"\bconstexpr\s*\([^;{]*\bg_coreType\b|[<=,]\s*g_coreType\s*[>,]")
_TASK_TYPE = re.compile(r"\bKERNEL_TYPE_(\w+)")
_ALL_LOCAL = "{ local: *; };\n"
HOST_DEFINES = ("-DATTNEMU_HOST_READING",)
"""Compiler flags of the host's reading, where each half has one of its own."""


@dataclass(frozen=True)
class Half:
    """One reading of a source: for the ``cube`` core or for the ``vector`` cores."""

    name: str

    @property
    def defines(self) -> list[str]:
        """Compiler flags: the macros by which the source knows."""
        return [f"-D{macro}" for macro in _MACROS[self.name]]

    @property
    def shared_object(self) -> str:
        """The file beside the executable that holds it; see ``src/halves.cpp``."""
        return f"{self.name}_half.so"


def halves_of(
    texts: Iterable[str], defines: Sequence[str], kinds: Iterable[str], *, always: bool = False
) -> list[Half]:
    """The readings that a source needs; none where it does not choose, or the caller chose for it by a macro.

    `kinds`: names of KernelMetaType, without their prefix, of kernels whose bodies do not say their type.
    `always`: each half is read for itself, whatever the source says.
    """
    code = [mask(text) for text in texts]
    chooses = any(_MENTION.search(part) or _CONSTANT_TYPE.search(part) for part in code)
    if not always and (not chooses or any(_MENTION.match(macro) for macro in defines)):
        return []
    said = {kind for part in code for kind in _TASK_TYPE.findall(part)} or set(kinds)
    names = []
    if any(kind.startswith(("AIC", "MIX_AIC")) for kind in said):
        names.append("cube")
    if any(kind.startswith("AIV") or kind in ("MIX_AIV_1_0", "MIX_AIC_1_1", "MIX_AIC_1_2") for kind in said):
        names.append("vector")
    return [Half(name) for name in names]


def compile_half(
    compiler: Compiler, half: Half, jobs: Sequence[tuple[Sequence[str | Path], str]], what: str, folder: Path
) -> None:
    """Compiles and links the library of a half in `folder`.

    `jobs`: for each source the compiler's arguments, its path among them, and its name in messages.
    """
    parts = []
    for number, (arguments, name) in enumerate(jobs):
        parts.append(f"{half.name}{number}.o")
        command = [*arguments, *half.defines, "-fPIC", "-c", "-o", parts[-1]]
        run_compiler(compiler, command, f"{name} (its {half.name} half)", cwd=folder)
    # nothing of one half may stand in for its namesake in the other, or in the host program
    (folder / "all_local.map").write_text(_ALL_LOCAL)
    link = ["-shared", "-Wl,--version-script=all_local.map", *parts, "-o", half.shared_object]
    run_compiler(compiler, link, what, cwd=folder)
