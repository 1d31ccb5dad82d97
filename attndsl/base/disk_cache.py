"""The cache on disk: one folder of entries, each named by the content that decides it.

An entry is a folder that is written beside its place and then renamed into it, so that concurrent processes
never see half of one. One process makes an entry, others that want it wait. A use renews an entry; beyond
:func:`size_limit` those that were used least recently go, but none that was used within
:data:`KEPT_SECONDS`, because a process may still read it.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from attndsl.base.errors import UserError
from attndsl.base.file_lock import Held, file_lock

FOLDER_VARIABLE, LIMIT_VARIABLE = "ATTNDSL_CACHE_DIR", "ATTNDSL_CACHE_BYTES"
STORE_VARIABLE = "ATTNDSL_STORE_PROGRAMS"
"""Set to 0, nothing that the compiler made is stored or found: for those who change it while it runs,
as tests do."""
DEFAULT_LIMIT = 4 << 30
"""Bytes that entries may take together."""
KEPT_SECONDS = 3600.0
_TRIM_SECONDS = 600.0
_WAIT_SECONDS = 600.0
"""How long an entry is waited for that another process makes; it may be one that was stopped."""
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})
"""What the system says of a disk that takes nothing more, or nothing at all."""
_STAMP, _MAKING, _LOCK = ".trimmed", ".making-", ".lock-"
TAG = "CACHEDIR.TAG"
"""Marks a folder as a cache, for us and for backup programs (https://bford.info/cachedir)."""
_TAG_TEXT = "Signature: 8a477f597d28d172789f06886806bc55\n# This file marks the cache folder of attndsl.\n"


Made = TypeVar("Made")


class CacheNotWritable(UserError):
    """The cache folder cannot be made or written."""

    def __init__(self, folder: object, reason: str) -> None:
        super().__init__(
            f"cannot write the cache '{folder}': {reason}; set {FOLDER_VARIABLE} to another folder"
        )


class WrongCacheLimit(UserError, ValueError):
    """The bound on the cache is no number of bytes."""

    def __init__(self, text: str) -> None:
        super().__init__(f"{LIMIT_VARIABLE}={text!r} is no number of bytes; the default is {DEFAULT_LIMIT}")


class ForeignFolder(UserError):
    """The cache folder holds what somebody else put there, so that nothing is taken away from it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"'{folder}' was not empty when {FOLDER_VARIABLE} made it the cache, so nothing there is "
            f"removed; set {FOLDER_VARIABLE} to a folder of its own, or, if all of it may go, make an empty "
            f"file '{folder / TAG}'"
        )


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry: its folder, its size in bytes, and when it was last used, in seconds since the epoch."""

    path: Path
    bytes: int
    used: float


def cache_dir() -> Path:
    """The cache folder, an absolute path; created when missing.

    ``$ATTNDSL_CACHE_DIR``, else the user's cache folder (``$XDG_CACHE_HOME/attndsl`` on Linux).

    Raises:
        CacheNotWritable: naming the folder and the system's reason.
    """
    path = cache_place()
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CacheNotWritable(path, error.strerror or str(error)) from error
    if not os.access(path, os.W_OK):
        raise CacheNotWritable(path, "it is read-only")
    if not (path / TAG).is_file() and not _is_foreign(path):
        with contextlib.suppress(OSError):
            (path / TAG).write_text(_TAG_TEXT)
    return path


def _is_foreign(root: Path) -> bool:
    """Whether the folder was stated and held something before it was a cache: it may be anybody's."""
    if not os.environ.get(FOLDER_VARIABLE) or not root.is_dir() or (root / TAG).is_file():
        return False
    return any(root.iterdir())


def cache_place() -> Path:
    """Where the cache folder is, whether it exists or not."""
    stated = os.environ.get(FOLDER_VARIABLE)
    if stated:
        return Path(stated).absolute()
    import platformdirs  # imported late: commands that use no cache do not pay for it

    return Path(platformdirs.user_cache_dir("attndsl", appauthor=False))


def size_limit() -> int:
    """Bytes that entries may take together: ``$ATTNDSL_CACHE_BYTES``, or 4 GiB.

    Raises:
        WrongCacheLimit: the variable holds no number of bytes.
    """
    text = os.environ.get(LIMIT_VARIABLE, "")
    if not text:
        return DEFAULT_LIMIT
    if not (text.isascii() and text.isdigit()):
        raise WrongCacheLimit(text)
    return int(text)


def stores_programs() -> bool:
    """Whether what the compiler made may be stored and found."""
    return os.environ.get(STORE_VARIABLE) != "0"


def content_key(*parts: str | bytes) -> str:
    """A name for what these parts decide; no two lists of parts share one."""
    sha = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        sha.update(str(len(data)).encode() + b":" + data)
    return sha.hexdigest()[:32]


def find_entry(name: str) -> Path | None:
    """The entry of this name, renewed by this use; None if there is none."""
    path = cache_place() / name
    if not path.is_dir():
        return None
    with contextlib.suppress(OSError):
        os.utime(path)
    return path


def make_entry(name: str, fill: Callable[[Path], object]) -> Path:
    """The entry of this name; where there is none, ``fill`` writes it into the empty folder that it gets.

    Of several processes and threads that want one entry, one makes it.

    Raises:
        CacheNotWritable: naming the folder and the system's reason.
        WrongCacheLimit: the bound on the cache is no number.
        As ``fill``; then there is no entry.
    """
    found = find_entry(name)
    if found is not None:
        return found
    root = cache_dir()
    size_limit()  # a wrong bound is told at once, and not when the cache is trimmed next
    try:
        with _making(root, name):
            if find_entry(name) is None:
                _fill_entry(root, root / name, fill)
    except OSError as error:
        ours = error.filename is None or str(error.filename).startswith(str(root))
        if error.errno in _NO_ROOM and ours:
            raise CacheNotWritable(root, error.strerror or str(error)) from error
        raise
    trim_now_and_then(root)
    return root / name


def stored_or_made(
    name: str | None,
    make: Callable[[], Made],
    read: Callable[[Path], Made | None],
    write: Callable[[Path, Made], object],
) -> Made:
    """What the entry of this name holds, or what is made now and stored where the disk takes it.

    Args:
        name: of the entry; None where nothing may be stored or found.
        make: makes it.
        read: reads it from the entry's folder; None where that is damaged.
        write: writes it into the entry's empty folder.

    Raises:
        WrongCacheLimit: the bound on the cache is no number.
        As ``make``; failures are not stored.
    """
    found = None if name is None else find_entry(name)
    if found is not None and (stored := read(found)) is not None:
        return stored
    made = make()
    if name is not None:
        with contextlib.suppress(CacheNotWritable):  # what is made needs no disk
            make_entry(name, lambda folder: write(folder, made))
    return made


_made_here = threading.local()
"""``names``: the entries that this thread is making."""


@contextlib.contextmanager
def _making(root: Path, name: str) -> Iterator[None]:
    """Nobody else makes the entry meanwhile, unless its maker takes very long."""
    names: set[str] = vars(_made_here).setdefault("names", set())
    with contextlib.ExitStack() as held:
        if name not in names:
            with contextlib.suppress(Held):
                held.enter_context(file_lock(root / f"{_LOCK}{name.replace('/', '-')}", _WAIT_SECONDS))
        names.add(name)
        try:
            yield
        finally:
            names.discard(name)


def _fill_entry(root: Path, target: Path, fill: Callable[[Path], object]) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    making = Path(tempfile.mkdtemp(prefix=_MAKING, dir=root))
    try:
        fill(making)
        publish(making, target)
    finally:
        shutil.rmtree(making, ignore_errors=True)


def publish(made: Path, target: Path) -> None:
    """Move a finished folder to its place; another process may have been faster."""
    try:
        made.rename(target)
    except OSError:
        if not target.is_dir():
            raise
        shutil.rmtree(made, ignore_errors=True)


def entries(root: Path | None = None) -> Iterator[Entry]:
    """All entries, whole ones and those that a killed process left unfinished."""
    for path in _folders(root or cache_place()):
        with contextlib.suppress(OSError):  # another process may take it away
            sizes = sum(each.stat().st_size for each in path.rglob("*") if each.is_file())
            yield Entry(path, sizes, path.stat().st_mtime)


def clean() -> int:
    """Take all entries away, also those in use; returns their bytes.

    Raises:
        ForeignFolder: the folder was not empty when it became the cache.
    """
    root = cache_place()
    if _is_foreign(root):
        raise ForeignFolder(root)
    found = list(entries())
    for each in found:
        _remove(each.path)
    for lock in root.glob(f"{_LOCK}*"):  # of processes that were killed
        lock.unlink(missing_ok=True)
    return sum(each.bytes for each in found)


def trim_now_and_then(root: Path) -> None:
    """:func:`trim`, unless some process did so within the last minutes."""
    stamp = root / _STAMP
    with contextlib.suppress(OSError):
        if time.time() - stamp.stat().st_mtime < _TRIM_SECONDS:
            return
    with contextlib.suppress(OSError):
        stamp.touch()
        trim(root)


def trim(root: Path, *, now: float | None = None) -> int:
    """Keep the bound on the size; returns the bytes that went. ``now``: seconds since the epoch.

    A folder that held something before it was the cache is left alone.
    """
    if _is_foreign(root):
        return 0
    moment = time.time() if now is None else now
    found = sorted(entries(root), key=lambda each: each.used)
    over = sum(each.bytes for each in found) - size_limit()
    gone = 0
    for each in found:
        if gone >= over or moment - each.used < KEPT_SECONDS:
            break
        _remove(each.path)
        gone += each.bytes
    return gone


def _folders(root: Path) -> Iterator[Path]:
    """Folders of entries: those in the root, and those one level down in a folder that groups them."""
    if not root.is_dir():
        return
    for path in sorted(root.iterdir()):
        if path.is_dir() and path.name in GROUPS:
            yield from sorted(each for each in path.iterdir() if each.is_dir())
        elif path.is_dir():
            yield path


GROUPS = frozenset({"answers", "cases", "folders", "generated", "projects", "programs"})
"""Folders of the cache whose folders are the entries."""


def _remove(path: Path) -> None:
    """Rename first: nobody finds an entry of which a part is gone."""
    doomed = path.with_name(f"{_MAKING}gone-{path.name}-{os.getpid()}")
    with contextlib.suppress(OSError):
        path.rename(doomed)
        path = doomed
    shutil.rmtree(path, ignore_errors=True)
