"""The C++ compiler, and the emulator's own parts compiled once and kept.

Everything compiled is cached by content (:mod:`attndsl.base.disk_cache`).
"""

from __future__ import annotations

import errno
import functools
import hashlib
import importlib.util
import logging
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from attndsl.base.child_processes import run_guarded
from attndsl.base.disk_cache import content_key, make_entry
from attndsl.emulator.errors import CompileFailed, CompilerMissing, EmulatorNotCompiled, WrongCompiler

LOGGER = logging.getLogger("attndsl")
HERE = Path(__file__).parent
INCLUDE = HERE / "include"
INTRINSICS = HERE / "intrinsics"
SOURCES = HERE / "src"
PRELUDE = "attnemu_prelude.h"
# -ffp-contract=off: results must not depend on which multiply-adds the compiler fuses
_COMMON = ("-std=c++17", "-ffp-contract=off", "-march=native", "-w")
_RUNTIME = (*_COMMON, "-fno-math-errno")
RUNTIME_FLAGS = (*_RUNTIME, "-O2")
# of sources in which runs spend little: a third faster compiled
RARE_FLAGS = (*_RUNTIME, "-O1")
# kernels spend their time in the runtime: compiling fast matters more than what is compiled
KERNEL_FLAGS = (*_COMMON, "-O0")
# programs have work of their own on the host
PROGRAM_FLAGS = (*_COMMON, "-Og")
# indices beyond a kernel's own arrays call back, see src/array_index.cpp; clang++ would trap
_GNU_KERNEL_FLAGS = ("-fsanitize=bounds",)
# halves of a kernel are libraries that call back into the executable
_LINK_FLAGS = ("-rdynamic", "-ldl")
_GOLD = "-fuse-ld=gold"
"""A linker that takes a quarter of the default one's time, which is a tenth of a kernel's compilation."""
COMPILE_SECONDS = 300
"""A compiler that takes longer (endless templates) is stopped."""
COMPILE_BYTES = 8 << 30
"""Address space of a compiler's process; the largest kernels take a tenth of it."""
_OUT_OF_MEMORY = ("out of memory", "virtual memory exhausted", "Cannot allocate memory", "bad_alloc")
_LEAN_LIBRARY = "#include <cstddef>\n#undef _GLIBCXX_USE_STD_SPEC_FUNCS\n"
"""Before other headers: libstdc++ instantiates the special functions of C++17 in each file that knows
of them, a twelfth of what compiling a kernel takes. No kernel calls them; programs, whose host code is
anybody's, may."""
_SHARED_HEADERS = """#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>
#include "attnemu/cube.h"
#include "attnemu/findings.h"
#include "attnemu/machine.h"
#include "attnemu/report.h"
#include "attnemu/vector.h"
"""
"""What most sources of the runtime include: precompiled, the runtime takes half the time."""
_BUSY = {
    "convert",
    "core",
    "elementwise",
    "instruction",
    "lanes",
    "memory",
    "numeric",
    "product",
    "race",
    "select",
}
"""Sources in which runs spend their time. With these optimized in full and all others less, runs take as long
as with all optimized in full; with none, 6 % longer."""
_UNITS = {"busy": 3, "rare": 5}
"""The runtime's sources go to the compiler in so many units of about equal size: it reads the headers again
for each, which was a quarter of the time that all sources took one by one."""
_ONLY_FOR_KERNELS = {"harness"}
_ALONE = _ONLY_FOR_KERNELS | {"kernel_instances"}
"""Units of their own: what not every program is linked with, and what reads headers otherwise."""
_ONLY_FOR_PROGRAMS = {"acl_runtime", "cpu_debug", "host_process", "host_runtime"}


@dataclass(frozen=True)
class Compiler:
    """A usable C++17 compiler: the command that starts it, its version line, and its kind."""

    command: tuple[str, ...]
    version: str

    @property
    def path(self) -> str:
        """The command as one would type it."""
        return " ".join(self.command)

    @property
    def is_gnu(self) -> bool:
        """Whether it is g++, which takes precompiled headers from the include path."""
        return "clang" not in self.version.lower() and "zig" not in self.path


def _candidates() -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = [("g++",), ("clang++",)]
    if importlib.util.find_spec("ziglang") is not None:
        found.append((sys.executable, "-m", "ziglang", "c++"))
    return found


@functools.lru_cache(maxsize=8)
def _version(command: tuple[str, ...]) -> str | None:
    if shutil.which(command[0]) is None:
        return None
    try:
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.splitlines()[0] if done.returncode == 0 and done.stdout else None


def find_compiler() -> Compiler | None:
    """The compiler the emulator uses: ``$CXX``, or the first of g++, clang++ and ziglang; ``None`` when there
    is none.

    Raises:
        WrongCompiler: ``CXX`` is set to what cannot be started; nothing else is used in its place.
    """
    stated = os.environ.get("CXX", "").strip()
    if stated:
        return _stated(stated)
    for command in _candidates():
        version = _version(command)
        if version is not None:
            return Compiler(command, version)
    return None


def _stated(text: str) -> Compiler:
    try:
        command = tuple(shlex.split(text))
    except ValueError as error:
        raise WrongCompiler(text, str(error)) from error
    if not command or shutil.which(command[0]) is None:
        raise WrongCompiler(text, "there is no such program")
    version = _version(command)
    if version is None:
        raise WrongCompiler(text, "it does not answer to --version")
    return Compiler(command, version)


def require_compiler() -> Compiler:
    """As `find_compiler`; raises `CompilerMissing` instead of returning ``None``."""
    compiler = find_compiler()
    if compiler is None:
        raise CompilerMissing(tuple(" ".join(command) for command in _candidates()))
    return compiler


@functools.lru_cache(maxsize=1)
def _processor() -> str:
    # -march=native: code of one processor must not be taken from the cache on another
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    flags = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return platform.machine() + platform.processor() + flags


def digest(*parts: str | bytes) -> str:
    """A key over all parts and the processor."""
    sha = hashlib.sha256(_processor().encode())
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        sha.update(str(len(data)).encode() + b":" + data)
    return sha.hexdigest()[:32]


@functools.lru_cache(maxsize=1)
def preparation() -> str:
    """A key over the modules that prepare a text for the compiler: they are part of what is compiled."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return digest(*(part for file in files for part in (file.name, file.read_bytes())))


@functools.lru_cache(maxsize=1)
def own_sources_key() -> str:
    """A key over the C++ sources and headers of the emulator, but for those of a second face."""
    files = sorted([*INCLUDE.rglob("*.h"), *SOURCES.glob("*.cpp"), *SOURCES.glob("*.h")])
    return content_key(*(part for file in files for part in (file.name, file.read_bytes())))


def run_compiler(
    compiler: Compiler,
    arguments: Sequence[str | Path],
    what: str,
    cwd: Path | None = None,
    error: type[CompileFailed] = CompileFailed,
) -> None:
    """Runs the compiler; raises `error` with its messages when it fails, OSError on a full disk.

    Raises:
        WrongCompiler: it refuses an option that ``CXX`` states.
    """
    command = [*compiler.command, *map(str, arguments)]
    try:
        done = run_guarded(command, seconds=COMPILE_SECONDS, memory=COMPILE_BYTES, cwd=cwd)
    except subprocess.TimeoutExpired:
        raise error(what, f"error: the compiler did not end within {COMPILE_SECONDS} s") from None
    if done.returncode != 0:
        log = done.stderr or done.stdout
        if os.strerror(errno.ENOSPC) in log:  # that is no fault of the source
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), f"the compiler's output for {what}")
        if any(words in log for words in _OUT_OF_MEMORY):
            log += f"\nerror: the compiler asked for more than the {COMPILE_BYTES >> 20} MiB it may have"
        if refusal := _refused_option(compiler, log):
            raise WrongCompiler(compiler.path, refusal)
        raise error(what, log)


def _refused_option(compiler: Compiler, log: str) -> str:
    """What a compiler says of an option that is part of its own command; nothing where it takes them all."""
    stated = [f"'{word}'" for word in compiler.command[1:] if word.startswith("-") and word != "-m"]
    lines = [line.replace("\u2018", "'").replace("\u2019", "'") for line in log.splitlines()]
    told = (line for line in lines if "error: " in line and ("option" in line or "argument" in line))
    return next((line for line in told if any(word in line for word in stated)), "")


def kernel_flags(compiler: Compiler) -> tuple[str, ...]:
    """The flags that kernels by themselves are compiled with, unless they need an optimizer."""
    return (*KERNEL_FLAGS, *_GNU_KERNEL_FLAGS) if compiler.is_gnu else KERNEL_FLAGS


def program_flags(compiler: Compiler) -> tuple[str, ...]:
    """The flags that programs and halves of kernels are compiled with."""
    return (*PROGRAM_FLAGS, *_GNU_KERNEL_FLAGS) if compiler.is_gnu else PROGRAM_FLAGS


def link_flags(compiler: Compiler) -> tuple[str, ...]:
    """The flags that executables of kernels and programs are linked with."""
    stated = any(word.startswith("-fuse-ld") for word in compiler.command)
    return (*_LINK_FLAGS, _GOLD) if not stated and _links_with_gold(compiler) else _LINK_FLAGS


@functools.lru_cache(maxsize=8)
def _links_with_gold(compiler: Compiler) -> bool:
    if not compiler.is_gnu:
        return False
    try:
        asked = [*compiler.command, _GOLD, "-Wl,--version"]
        done = subprocess.run(asked, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 and done.stdout.startswith("GNU gold")


@dataclass(frozen=True)
class Runtime:
    """The compiled device model and where its headers are, precompiled for g++."""

    key: str
    objects: tuple[Path, ...]
    """Linked with a single kernel, whose launches come from Python."""
    include_flags: tuple[str, ...]
    host_objects: tuple[Path, ...] = ()
    """Linked with a program that has its own host ``main``; none where nobody asked for them."""


def _compile(compiler: Compiler, arguments: Sequence[str | Path], what: str) -> None:
    run_compiler(compiler, arguments, f"the emulator's {what}", error=EmulatorNotCompiled)


def _compile_sources(compiler: Compiler, sources: Iterable[Path], into: Path, header: Path | None) -> None:
    """The objects of some sources, those of the longest first; ``header``: one that all of them include."""
    shared = () if header is None else ("-include", header)

    def one(source: Path) -> None:
        chosen = RUNTIME_FLAGS if source.stem.startswith("busy") else RARE_FLAGS
        flags = (*chosen, "-I", INCLUDE, *shared, "-c", source, "-o", into / (source.stem + ".o"))
        _compile(compiler, flags, source.name)

    _in_parallel([partial(one, source) for source in sorted(sources, key=lambda each: -each.stat().st_size)])


def _units(sources: Iterable[Path]) -> dict[str, list[Path]]:
    """Sources by the name of the object that they become together; busy ones first: of functions that several
    objects have, linkers take the first."""
    found: dict[str, list[Path]] = {}
    sizes = {f"{kind}{number}": 0 for kind, count in _UNITS.items() for number in range(count)}
    for source in sorted(sources, key=lambda each: (-each.stat().st_size, each.name)):
        kind = "busy" if source.stem in _BUSY else "rare"
        least = min((name for name in sizes if name.startswith(kind)), key=sizes.__getitem__)
        name = source.stem if source.stem in _ALONE else least
        found.setdefault(name, []).append(source)
        if name == least:
            sizes[name] += source.stat().st_size
    return dict(sorted(found.items(), key=lambda unit: (not unit[0].startswith("busy"), unit[0])))


def _compile_units(compiler: Compiler, sources: Iterable[Path], into: Path, header: Path | None) -> None:
    """As :func:`_compile_sources`, to the objects of :func:`_units`."""
    with tempfile.TemporaryDirectory() as folder:
        units = []
        for name, together in _units(sources).items():
            units.append(Path(folder) / f"{name}.cpp")
            units[-1].write_text("".join(f'#include "{source}"\n' for source in together))
        _compile_sources(compiler, units, into, header)


def _in_parallel(work: Sequence[Callable[[], None]]) -> None:
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        jobs = [pool.submit(each) for each in work]
        for job in jobs:
            job.result()


def _write_prelude(into: Path, before: str = "") -> Path:
    """The header of kernels, of a name of its own: only a unit's first include can be precompiled."""
    prelude = into / "prelude" / PRELUDE
    prelude.parent.mkdir()
    prelude.write_text(f'#pragma once\n{before}#include "kernel_operator.h"\n')
    return prelude


def _precompile(compiler: Compiler, header: Path, flags: Sequence[str], what: str) -> None:
    made = f"{header}.gch"
    _compile(compiler, (*flags, "-I", INCLUDE, "-x", "c++-header", header, "-o", made), what)


def _compile_for_kernels(compiler: Compiler, sources: Iterable[Path], into: Path) -> None:
    """The headers of kernels, and the objects that each kernel is linked with."""
    prelude, shared = _write_prelude(into, _LEAN_LIBRARY), into / "attnemu_shared.h"
    if not compiler.is_gnu:
        _compile_units(compiler, sources, into, None)
        return
    shared.write_text(f"#pragma once\n{_LEAN_LIBRARY}{_SHARED_HEADERS}")
    headers = ((prelude, kernel_flags(compiler), "kernel_operator.h"), (shared, RUNTIME_FLAGS, "headers"))
    _in_parallel([partial(_precompile, compiler, *each) for each in headers])
    _compile_units(compiler, sources, into, shared)
    for file in (shared, Path(f"{shared}.gch")):
        file.unlink()


def _compile_for_programs(compiler: Compiler, sources: Iterable[Path], into: Path) -> None:
    """The headers of programs, and the objects that they are linked with beside those of kernels."""
    prelude = _write_prelude(into)
    if compiler.is_gnu:
        _precompile(compiler, prelude, program_flags(compiler), "kernel_operator.h")
    _compile_sources(compiler, sources, into, None)


def runtime(compiler: Compiler, *, programs: bool = False) -> Runtime:
    """The emulator compiled by `compiler`, from the cache or made now (about ten seconds).

    ``programs``: with what programs that have a host ``main`` are linked with.

    Raises:
        EmulatorNotCompiled: its own sources or headers do not compile.
    """
    options = " ".join(RUNTIME_FLAGS + RARE_FLAGS + kernel_flags(compiler) + program_flags(compiler))
    sources = {source.stem: source for source in sorted(SOURCES.glob("*.cpp"))}
    of_hosts = [source for stem, source in sources.items() if stem in _ONLY_FOR_PROGRAMS]
    of_kernels = [source for stem, source in sources.items() if stem not in _ONLY_FOR_PROGRAMS]
    units = " ".join(_units(of_kernels))
    key = digest(compiler.path, compiler.version, options, own_sources_key(), units)

    def compile_into(made: Path) -> None:
        LOGGER.info("building the emulator's runtime once (about 10 s) with %s", compiler.path)
        _compile_for_kernels(compiler, of_kernels, made)

    target = make_entry(f"emulator-{key}", compile_into)
    objects = tuple(target / f"{name}.o" for name in _units(of_kernels))
    if not programs:
        return Runtime(key, objects, _include_flags(target))
    host = make_entry(f"emulator-host-{key}", lambda made: _compile_for_programs(compiler, of_hosts, made))
    shared = tuple(file for file in objects if file.stem not in _ONLY_FOR_KERNELS)
    of_programs = (*shared, *(host / f"{source.stem}.o" for source in of_hosts))
    return Runtime(key, objects, _include_flags(host), of_programs)


def _include_flags(entry: Path) -> tuple[str, ...]:
    return ("-I", str(entry / "prelude"), "-I", str(INCLUDE))
