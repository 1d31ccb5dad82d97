"""A lock on a project's folder: one process at a time brings it in step with its spec."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from attndsl.base.errors import UserError
from attndsl.codegen.project.files import OutputNotWritable

try:
    import fcntl
except ImportError:  # a system without it has no processes to fork either: there is no lock
    fcntl = None  # type: ignore[assignment]


class FolderLocked(UserError):
    """Another process writes the folder now."""

    def __init__(self, folder: Path, holder: str) -> None:
        super().__init__(
            f"'{folder}' is being written by process {holder}; wait for its end, or choose another folder "
            "with --out"
        )


@contextlib.contextmanager
def locked(folders: Sequence[Path]) -> Iterator[None]:
    """Hold the locks of all these folders.

    A lock is the system's on a file ``.NAME.lock`` beside the folder. It ends with its process, however that
    ends, so that a file which a dead process has left behind stops nobody.

    Raises:
        FolderLocked: naming the folder and the process that holds its lock.
        OutputNotWritable: the lock's file cannot be made.
    """
    with contextlib.ExitStack() as held:
        for folder in sorted(folders):
            held.enter_context(_locked(folder))
        yield


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    if fcntl is None:
        yield
        return
    path = folder.absolute()
    path = path.with_name(f".{path.name}.lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = _acquired(path, folder)
    except OSError as error:
        raise OutputNotWritable(folder, error.strerror or str(error)) from error
    try:
        os.truncate(file, 0)
        os.pwrite(file, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        with contextlib.suppress(OSError):
            path.unlink()
        os.close(file)


def _acquired(path: Path, folder: Path) -> int:
    """The open file of the lock, which is ours and still stands at its path."""
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Whoever held it before us has removed the file: then another may have made a new one.
            if path.exists() and os.path.samestat(os.fstat(file), path.stat()):
                return file
        except BlockingIOError:
            holder = os.pread(file, 32, 0).decode(errors="replace").strip()
            os.close(file)
            raise FolderLocked(folder, holder or "that has just begun") from None
        except BaseException:
            os.close(file)
            raise
        os.close(file)
