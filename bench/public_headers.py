"""Generated projects against the public headers of CANN: do kernels and hosts compile.

    python bench/public_headers.py --cann DIR [--asc-devkit DIR --asc-tools DIR] [NAME ...]

DIR is an installed CANN 8, or a copy of one that has headers alone; a checkout of asc-devkit (CANN 9); one
of asc-tools, whose ``cpudebug`` declares for CPU debugging what a checkout of asc-devkit lacks. They are
read where they are, and nothing is made of them but messages. For every project of generated/ and each set
of headers:

* ``cube`` and ``vector``: all kernels of the project, as the official compiler reads them for one kind of
  core, with the call that the build's text around a kernel makes ahead of it;
* ``cpu``: the same in CPU debugging mode, with CANN's own declarations of the instructions;
* ``host``: the operator's definition, shape inference and tiling (CANN 8 alone), warnings included.

Exit code 1 if anything does not compile.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from attndsl.emulator import VendorHeaders
from attndsl.emulator.errors import CompileFailed
from attndsl.emulator.halves import Half
from attndsl.emulator.toolchain import Compiler, require_compiler, run_compiler
from attndsl.emulator.vendor_headers import LINKED

GENERATED = Path(__file__).parents[1] / "generated"
_CPU = ("__CCE_AICORE__=220", "__DAV_C220__", "__CCE_KT_TEST__=1", "ASCENDC_CPU_DEBUG=1", "ASCENDC_DEBUG=1")
_WRAPPER = """
__aicore__ inline void AheadOfTheKernel(GM_ADDR workspace)
{
    if constexpr (g_coreType == AscendC::AIC) {
        matmul::clearWorkspace(workspace);
    }
}
"""
"""What the text that the build puts around a kernel of both kinds of core asks of the kernel's headers."""
_DECLARATIONS = "tools/tikicpulib/lib/include"
_HOST = ("*-linux/include", "include")


@dataclass(frozen=True)
class Reading:
    """One way to compile a project.

    Attributes:
        headers: whose, and ``mode``: which reading of a kernel, or the host's.
        flags: of the compiler.
        source: below the project's folder, with its name for {name}.
        wrapped: whether kernels are read with what the build puts around them.
    """

    headers: str
    mode: str
    flags: tuple[str, ...]
    source: str = "direct/{name}_custom_direct.cpp"
    wrapped: bool = False


def main(arguments: Sequence[str] | None = None) -> int:
    """Compile what the command line asks for, a line for each reading."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cann", type=Path, help="an installed CANN 8, or its headers")
    parser.add_argument("--asc-devkit", type=Path, help="a checkout of asc-devkit, or an installed CANN 9")
    parser.add_argument(
        "--asc-tools", type=Path, help="a checkout of asc-tools, for CPU debugging with asc-devkit"
    )
    parser.add_argument("--projects", type=Path, default=GENERATED, help="their folder; default: generated/")
    parser.add_argument("names", nargs="*", metavar="NAME", help="projects; default: all of the folder")
    given = parser.parse_args(arguments)
    if not (given.cann or given.asc_devkit):
        parser.error("name headers: --cann DIR, --asc-devkit DIR, or both")
    names = given.names or sorted(
        folder.name for folder in given.projects.iterdir() if (folder / "direct").is_dir()
    )
    compiler, failed = require_compiler(), 0
    with tempfile.TemporaryDirectory(prefix="attndsl-") as folder:
        for reading in _readings(given.cann, given.asc_devkit, given.asc_tools, Path(folder)):
            refused = [
                name
                for name in names
                if not _compiles(compiler, reading, given.projects.resolve() / name, Path(folder))
            ]
            failed += len(refused)
            print(
                f"{reading.headers:10} {reading.mode:7} {len(names) - len(refused)} of {len(names)}",
                flush=True,
            )
    return 1 if failed else 0


def _readings(cann: Path | None, devkit: Path | None, tools: Path | None, folder: Path) -> Iterator[Reading]:
    if cann:
        yield from _of_kernels("cann", VendorHeaders.at(cann))
        theirs = VendorHeaders.at(cann).folders
        yield Reading("cann", "cpu", _flags(_CPU, (cann / _DECLARATIONS, *theirs, LINKED)))
        hosts = [found for place in _HOST for found in sorted(cann.glob(place))]
        warnings = ("-std=c++17", "-Wall", "-Wextra", "-Werror")
        folders = _folders([*hosts, *theirs], "-isystem")
        yield Reading("cann", "host", (*warnings, *folders), "op_host/{name}_custom.cpp")
    if devkit:
        headers = VendorHeaders.at(devkit)
        yield from _of_kernels("asc-devkit", headers)
        if tools and cann:
            # the first header of the API with libraries left out, which need what an installation generates
            (folder / "kernel_operator.h").write_text(
                '#pragma once\n#include "basic_api/kernel_basic_intf.h"\n'
            )
            declared = (tools / "cpudebug" / "include", cann / _DECLARATIONS, LINKED)
            yield Reading(
                "asc-devkit",
                "cpu",
                _flags(
                    (*_CPU, "__NPU_ARCH__=2201", "ATTNEMU_BASIC_API"), (folder, *headers.folders, *declared)
                ),
            )


def _of_kernels(whose: str, headers: VendorHeaders) -> Iterator[Reading]:
    for half in (Half("cube"), Half("vector")):
        flags = ("-std=c++17", "-w", *headers.flags, *half.defines)
        yield Reading(whose, half.name, flags, wrapped=True)


def _flags(macros: Sequence[str], folders: Sequence[Path]) -> tuple[str, ...]:
    return ("-std=c++17", "-w", "-DTILING_KEY_VAR=0", *(f"-D{macro}" for macro in macros), *_folders(folders))


def _folders(folders: Sequence[Path], option: str = "-I") -> list[str]:
    return [part for folder in folders for part in (option, str(folder))]


def _compiles(compiler: Compiler, reading: Reading, project: Path, folder: Path) -> bool:
    name = project.name
    source = project / reading.source.format(name=name)
    if reading.wrapped:
        wrapper = folder / f"{name}_wrapped.cpp"
        wrapper.write_text(f'#include "{source}"\n{_WRAPPER}')
        source = wrapper
    try:
        run_compiler(compiler, [*reading.flags, "-fsyntax-only", source], f"{name} ({reading.mode})")
    except CompileFailed as failure:
        print(failure, file=sys.stderr)
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
