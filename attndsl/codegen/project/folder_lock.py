"""A lock on a project's folder: one process at a time brings it in step with its spec."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from attndsl.base.errors import UserError
from attndsl.base.file_lock import Held, file_lock
from attndsl.codegen.project.files import OutputNotWritable


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

    A lock is the system's on a file ``.NAME.lock`` beside the folder.

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
    path = folder.absolute()
    path = path.with_name(f".{path.name}.lock")
    with contextlib.ExitStack() as held:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            held.enter_context(file_lock(path))
        except Held as other:
            raise FolderLocked(folder, other.holder) from None
        except OSError as error:
            raise OutputNotWritable(folder, error.strerror or str(error)) from error
        yield
