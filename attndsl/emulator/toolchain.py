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
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from attndsl.base.child_processes import run_guarded
from attndsl.base.disk_cache import content_key, make_entry
from attndsl.emulator.errors import CompileFailed, CompilerMissing, EmulatorNotCompiled, WrongCompiler

LOGGER = logging.getLogger("attndsl")
HERE = Path(__file__).parent
INCLUDE = HERE / "include"
SOURCES = HERE / "src"
PRELUDE = "attnemu_prelude.h"
# -ffp-contract=off: results must not depend on which multiply-adds the compiler fuses
_COMMON = ("-std=c++17", "-ffp-contract=off", "-march=native", "-w")
RUNTIME_FLAGS = (*_COMMON, "-O2", "-fno-math-errno")
# kernels spend their time in the runtime: compiling fast matters more than what is compiled
KERNEL_FLAGS = (*_COMMON, "-Og")
# indices beyond a kernel's own arrays call back, see src/array_index.cpp; clang++ would trap
_GNU_KERNEL_FLAGS = ("-fsanitize=bounds",)
# halves of a kernel are libraries that call back into the executable
LINK_FLAGS = ("-rdynamic", "-ldl")
COMPILE_SECONDS = 300
"""A compiler that takes longer (endless templates) is stopped."""
COMPILE_BYTES = 8 << 30
"""Address space of a compiler's process; the largest kernels take a tenth of it."""
_OUT_OF_MEMORY = ("out of memory", "virtual memory exhausted", "Cannot allocate memory", "bad_alloc")
_ONLY_FOR_KERNELS = {"harness"}
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
    """A key over the C++ sources and headers of the emulator."""
    files = sorted([*INCLUDE.rglob("*.h"), *SOURCES.glob("*.cpp"), *SOURCES.glob("*.h")])
    return content_key(*(part for file in files for part in (file.name, file.read_bytes())))


def run_compiler(
    compiler: Compiler,
    arguments: Sequence[str | Path],
    what: str,
    cwd: Path | None = None,
    error: type[CompileFailed] = CompileFailed,
) -> None:
    """Runs the compiler; raises `error` with its messages when it fails, OSError on a full disk."""
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
        raise error(what, log)


def kernel_flags(compiler: Compiler) -> tuple[str, ...]:
    """The flags that kernels and programs are compiled with."""
    return (*KERNEL_FLAGS, *_GNU_KERNEL_FLAGS) if compiler.is_gnu else KERNEL_FLAGS


@dataclass(frozen=True)
class Runtime:
    """The compiled device model and where its headers are, precompiled for g++."""

    key: str
    objects: tuple[Path, ...]
    """Linked with a single kernel, whose launches come from Python."""
    include_flags: tuple[str, ...]
    host_objects: tuple[Path, ...] = ()
    """Linked with a program that has its own host ``main``."""


def _compile_all(compiler: Compiler, sources: Iterable[Path], into: Path) -> None:
    def run(arguments: Sequence[str | Path], what: str) -> None:
        run_compiler(compiler, arguments, f"the emulator's {what}", error=EmulatorNotCompiled)

    def one(source: Path) -> None:
        flags = (*RUNTIME_FLAGS, "-I", INCLUDE, "-c", source, "-o", into / (source.stem + ".o"))
        run(flags, source.name)

    def header() -> None:
        # a header of its own name: only as a translation unit's first include can it be precompiled
        prelude = into / "prelude" / PRELUDE
        prelude.parent.mkdir()
        prelude.write_text('#pragma once\n#include "kernel_operator.h"\n')
        if compiler.is_gnu:
            flags: tuple[str | Path, ...] = (*kernel_flags(compiler), "-I", INCLUDE)
            flags = (*flags, "-x", "c++-header", prelude)
            run((*flags, "-o", f"{prelude}.gch"), "kernel_operator.h")

    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        jobs = [pool.submit(header), *(pool.submit(one, source) for source in sources)]
        for job in jobs:
            job.result()


def runtime(compiler: Compiler) -> Runtime:
    """The emulator compiled by `compiler`, from the cache or made now (about ten seconds).

    Raises:
        EmulatorNotCompiled: its own sources or headers do not compile.
    """
    key = digest(
        compiler.path, compiler.version, " ".join(RUNTIME_FLAGS + kernel_flags(compiler)), own_sources_key()
    )
    sources = sorted(SOURCES.glob("*.cpp"))

    def compile_into(made: Path) -> None:
        LOGGER.info("building the emulator's runtime once (about 10 s) with %s", compiler.path)
        _compile_all(compiler, sources, made)

    target = make_entry(f"emulator-{key}", compile_into)
    made_of = {source.stem: target / (source.stem + ".o") for source in sources}
    objects = tuple(file for stem, file in made_of.items() if stem not in _ONLY_FOR_PROGRAMS)
    host_objects = tuple(file for stem, file in made_of.items() if stem not in _ONLY_FOR_KERNELS)
    return Runtime(key, objects, ("-I", str(target / "prelude"), "-I", str(INCLUDE)), host_objects)
