"""AscendC's own headers, of a CANN that the user has: where they are and how kernels include them.

Nothing of them is part of this package. They are compiled as the official compiler does it, once for the
cube core and once for the vector cores; what they call in the end are the compiler's own names for
instructions, which ``intrinsics/`` defines over the same device model as our own headers.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from attndsl.base.disk_cache import content_key
from attndsl.emulator.errors import NoHeaders
from attndsl.emulator.toolchain import INCLUDE, INTRINSICS

_ARCHITECTURE = ("__CCE_AICORE__=220", "__DAV_C220__")
_BARE_TEMPLATE_NAMES = "-Wno-missing-template-arg-list-after-template-kw"
"""CANN 8.1 writes ``template name(...)`` without a list of arguments, which clang++ 20 and later refuse."""
_INSTALLED = (
    "compiler/tikcpp/tikcfw",
    "tools/tikcpp/tikcfw",
    "ascendc_devkit/tikcpp/tikcfw",
    "*-linux/tikcpp/tikcfw",
    "*-linux/ascendc/include/basic_api",
)
"""Where CANN 8 keeps the headers of the basic API, below its root."""
LINKED = INTRINSICS / "linked"
"""Headers that an installation links to others of its own; copies of one lack them."""
_SPLIT = ("", "asc", "*-linux/asc")
"""Where CANN 9 keeps ``include`` and ``impl``, and where a checkout of asc-devkit has them."""


@dataclass(frozen=True)
class VendorHeaders:
    """Headers of one CANN.

    Attributes:
        root: as the user named it.
        folders: in the order that they are searched in.
        basic_only: the basic API is included alone (CANN 9), as libraries above it need files that only an
            installed CANN has.
    """

    root: Path
    folders: tuple[Path, ...]
    basic_only: bool

    @staticmethod
    def at(root: Path) -> VendorHeaders:
        """The headers below ``root``: an installed CANN 8, an installed CANN 9 or a checkout of asc-devkit.

        Raises:
            NoHeaders: there are none.
        """
        root = root.resolve()
        for place in _INSTALLED:
            for base in _matching(root, place):
                if (base / "kernel_operator.h").is_file() and (base / "impl" / "dav_c220").is_dir():
                    return VendorHeaders(
                        root, (base, base / "interface", base / "impl", *_library(base)), False
                    )
        for place in _SPLIT:
            for base in _matching(root, place) if place else (root,):
                if (base / "include" / "basic_api" / "kernel_basic_intf.h").is_file():
                    include, impl = base / "include", base / "impl"
                    folders = (
                        include,
                        include / "basic_api",
                        include / "utils",
                        impl,
                        impl / "basic_api",
                        base,
                    )
                    return VendorHeaders(root, folders, True)
        raise NoHeaders(root, (*_INSTALLED, "include/basic_api"))

    @property
    def flags(self) -> list[str]:
        """What the compiler is told, beside which half it reads."""
        macros = (*_ARCHITECTURE, *(("ATTNEMU_BASIC_API", "__NPU_ARCH__=2201") if self.basic_only else ()))
        # -g1: lines, which findings are told at
        found = ["-g1", _BARE_TEMPLATE_NAMES, *(f"-D{macro}" for macro in macros)]
        for folder in (INTRINSICS, *self.folders, LINKED):
            found += ["-I", str(folder)]
        # behind all of theirs: our own headers have the same names
        return [*found, "-idirafter", str(INCLUDE)]

    @property
    def key(self) -> str:
        """A key over all headers, and the instructions below: who edits one compiles again."""
        return _key((INTRINSICS, *self.folders))


@functools.lru_cache(maxsize=4)
def _key(folders: tuple[Path, ...]) -> str:
    return content_key(*(part for file in _files(folders) for part in (str(file), file.read_bytes())))


def _files(folders: tuple[Path, ...]) -> Iterator[Path]:
    seen: set[Path] = set()
    for folder in folders:
        for file in sorted(folder.rglob("*.h*")):
            if file.is_file() and file not in seen:
                seen.add(file)
                yield file


def _matching(root: Path, place: str) -> list[Path]:
    return sorted(root.glob(place))


def _library(base: Path) -> tuple[Path, ...]:
    """The folders of the libraries above the basic API, which its first header includes."""
    beside = base.parent / "highlevel_api"
    if beside.is_dir():
        return (beside, beside / "lib", beside / "impl")
    return (base / "lib",) if (base / "lib").is_dir() else ()
