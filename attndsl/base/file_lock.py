"""Locks between processes: the system's on a file, which ends with its process, however that ends."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # a system without it has no processes to fork either: there is no lock
    fcntl = None  # type: ignore[assignment]

_PAUSE_SECONDS = 0.02
"""Between two looks at a lock that another process holds."""


class Held(Exception):
    """Another process holds the lock; ``holder``: its number, as text."""

    def __init__(self, holder: str) -> None:
        super().__init__(holder)
        self.holder = holder


@contextlib.contextmanager
def file_lock(path: Path, wait_seconds: float = 0.0) -> Iterator[None]:
    """Hold the lock of the file ``path``, which is made for it and removed after it.

    A file that a dead process has left behind stops nobody.

    Args:
        path: of the lock's file; its folder exists.
        wait_seconds: how long another holder is waited for.

    Raises:
        Held: another process, or another thread, holds it.
        OSError: the file cannot be made.
    """
    if fcntl is None:
        yield
        return
    file = _acquired(path, time.monotonic() + wait_seconds)
    try:
        os.truncate(file, 0)
        os.pwrite(file, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        with contextlib.suppress(OSError):
            path.unlink()
        os.close(file)


def _acquired(path: Path, end: float) -> int:
    """The open file of the lock, which is ours and still stands at its path."""
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Whoever held it before us has removed the file: then another may have made a new one.
            if path.exists() and os.path.samestat(os.fstat(file), path.stat()):
                return file
        except BlockingIOError:
            if time.monotonic() >= end:
                holder = os.pread(file, 32, 0).decode(errors="replace").strip()
                os.close(file)
                raise Held(holder or "that has just begun") from None
            time.sleep(_PAUSE_SECONDS)
        except BaseException:
            os.close(file)
            raise
        os.close(file)
