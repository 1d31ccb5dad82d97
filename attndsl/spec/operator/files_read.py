"""The files that a spec reads while it is loaded: what is kept of it on disk is only as fresh as they are."""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import sys
import sysconfig
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).resolve().parents[2]
_INSTALLED = tuple(
    str(Path(path).resolve())
    for name, path in sysconfig.get_paths().items()
    if name in ("stdlib", "platstdlib", "purelib", "platlib")
)
"""Folders whose files change with an installation, not with a spec."""


class _Recorder(threading.local):
    """What the thread that loads a spec has opened; None where it loads none."""

    opened: set[str] | None = None


_recorder = _Recorder()


def _on_event(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and _recorder.opened is not None and isinstance(arguments[0], str):
        _recorder.opened.add(arguments[0])


_hooked = False


@contextlib.contextmanager
def recorded_reads() -> Iterator[set[Path]]:
    """The files that the block opens, as a set that is complete when the block ends.

    A module that was imported earlier is not opened again: it is found by the import statements of the
    files that are. Files of the Python installation and of attndsl are left out.
    """
    global _hooked
    if not _hooked:
        sys.addaudithook(_on_event)  # for the life of the process; outside such a block it does nothing
        _hooked = True
    outer, _recorder.opened = _recorder.opened, set()
    found: set[Path] = set()
    try:
        yield found
    finally:
        opened, _recorder.opened = _recorder.opened, outer
        found |= _with_imports({path for name in opened if (path := _own(name)) is not None})
        if outer is not None:
            outer |= opened


def is_own(name: str) -> bool:
    """Whether a file is neither of the installation nor of attndsl."""
    return _own(name) is not None


def _own(name: str) -> Path | None:
    """The path of a file that is neither of the installation nor of attndsl; None for these."""
    path = Path(name).resolve()
    if path.suffix == ".pyc":
        try:
            path = Path(importlib.util.source_from_cache(str(path)))
        except ValueError:
            return None
    installed = str(path).startswith(_INSTALLED) or _PACKAGE in path.parents
    return None if installed or not path.is_file() else path


def _with_imports(files: set[Path]) -> set[Path]:
    """The files, and those of the modules that they import, and so on."""
    found, open_ = set[Path](), set(files)
    while open_:
        path = open_.pop()
        found.add(path)
        if path.suffix == ".py":
            open_ |= set(_imported(path)) - found
    return found


def _imported(path: Path) -> Iterator[Path]:
    """The files of loaded modules that the import statements of a file may name."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return  # the loader says what is wrong with it
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            file = getattr(sys.modules.get(name), "__file__", None)
            own = _own(file) if isinstance(file, str) else None
            if own is not None:
                yield own
