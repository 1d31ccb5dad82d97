"""Runs of the C++ compiler over host code, remembered by what they read.

A run that succeeded without a word is not repeated for the same files, options and compiler. What is kept
is the library or program that it made; what is said of wrong code is never kept. It is an entry of the same
cache as the kernels of the emulator; as there, the standard library counts with the compiler's version.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from attndsl.base.disk_cache import content_key, find_entry, make_entry
from attndsl.emulator.toolchain import Compiler, find_compiler


def compile_once(arguments: Sequence[object], made: Path | None = None) -> tuple[int, str]:
    """Exit code and messages of the compiler; ``made`` is the file that it writes, by ``-o``.

    ``arguments`` name sources and folders of headers by absolute paths. A source is taken to read whatever
    its folder has, or the project that it is part of, and the folders that the arguments name.
    """
    compiler = find_compiler()
    assert compiler is not None
    words = [str(argument) for argument in arguments]
    name = f"test-{_key(compiler, words, made)}"
    entry = find_entry(name)
    if entry is not None:
        if made is not None:
            made.unlink(missing_ok=True)  # a library of this name may be loaded: it stays what it is
            shutil.copy(entry / "made", made)
        return 0, ""
    output = [] if made is None else ["-o", str(made)]
    done = subprocess.run([*compiler.command, *words, *output], capture_output=True, text=True)
    said = done.stderr or done.stdout
    if done.returncode == 0 and not said:
        make_entry(name, lambda folder: None if made is None else shutil.copy(made, folder / "made"))
    return done.returncode, said


def require_compiled(arguments: Sequence[object], made: Path | None = None) -> None:
    """As :func:`compile_once`, of code that has to compile."""
    code, said = compile_once(arguments, made)
    assert code == 0, said


def _key(compiler: Compiler, words: list[str], made: Path | None) -> str:
    parts = [compiler.path, compiler.version, str(made is None)]
    read: set[Path] = set()
    for word in words:
        path = Path(word)
        if not (path.is_absolute() and path.exists()):
            parts.append(word)
            continue
        parts.append(f"file {path.name}" if path.is_file() else "folder")
        read.add(path if path.is_dir() else _around(path))
    for folder in sorted(read):
        parts += _texts(folder)
    return content_key(*parts)


def _around(source: Path) -> Path:
    """The folder of a source, or the project that the folder belongs to."""
    project = source.parent.parent
    return project if (project / "op_host").is_dir() else source.parent


def _texts(folder: Path) -> Iterator[str]:
    """Names and contents of all sources in a folder."""
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".h", ".cpp", ".hpp") and path.is_file():
            yield str(path.relative_to(folder))
            yield path.read_text(errors="surrogateescape")
