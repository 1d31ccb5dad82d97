"""The files that a spec reads while it is loaded: what is kept of it on disk is only as fresh as they are."""

from __future__ import annotations

import contextlib
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

    Of modules all that are imported by then, whichever spec asked for them first. Files of the Python
    installation and of attndsl are left out.
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
        modules = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
        names = {*opened, *(name for name in modules if isinstance(name, str))}
        found |= {path for name in names if (path := _own(name)) is not None}
        if outer is not None:
            outer |= opened


def _own(name: str) -> Path | None:
    """The path of a file that is neither of the installation nor of attndsl; None for these."""
    path = Path(name).resolve()
    installed = str(path).startswith(_INSTALLED) or _PACKAGE in path.parents or path.suffix == ".pyc"
    return None if installed or not path.is_file() else path
