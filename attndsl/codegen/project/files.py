"""Writing generated files: beside their place first, then renamed into it, and only where they differ.

A manifest in the folder says which files were written and with which content, so that the next generation can
take away those it no longer has. A file that it does not list, or that somebody has changed since, stays.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from attndsl.base.errors import UserError

MANIFEST = ".attndsl.json"


class OutputNotWritable(UserError, OSError):
    """The output folder cannot be written."""

    def __init__(self, folder: Path, reason: str) -> None:
        super().__init__(f"cannot write to '{folder}': {reason}; choose another folder with --out")


class FolderTaken(UserError, ValueError):
    """Two operators have the same folder: their names begin with the same letters."""

    def __init__(self, folder: Path, first: str, second: str) -> None:
        super().__init__(
            f"'{folder}' is the folder of '{first}' and of '{second}': long names are cut; rename one "
            "of them, or give it another folder with --out"
        )


@dataclass(frozen=True)
class Change:
    """What a folder lacks to be in step with the files of a project.

    Attributes:
        folder: of the project.
        texts: files that are to be written, by their path in the folder; the manifest is one of them.
        removed: paths in the folder of files of an earlier generation that are to go.
    """

    folder: Path
    texts: Mapping[str, str]
    removed: tuple[str, ...]

    @property
    def written(self) -> tuple[str, ...]:
        """Paths in the folder of the files that are to be written, without the manifest."""
        return tuple(name for name in self.texts if name != MANIFEST)

    def check(self) -> None:
        """Test all targets, so that no folder stays half changed for a reason that could be known before.

        Raises:
            OutputNotWritable: naming the first path that is in the way or cannot be written.
        """
        for name in (*self.texts, *self.removed):
            reason = _hindrance(self.folder / name)
            if reason:
                raise OutputNotWritable(self.folder, reason)

    def apply(self) -> tuple[Path, ...]:
        """Write and remove; returns the files that were written or removed.

        Everything is written into a temporary folder beside first, so that a full or read-only disk leaves
        the folder as it was.

        Raises:
            OutputNotWritable: naming the folder and the system's reason.
        """
        if not self.texts:
            return ()
        folder = self.folder
        staged: Path | None = None
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            staged = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
            for name, text in self.texts.items():
                _write(staged / name, text)
            for name in self.written:
                _put(staged / name, folder / name)
            for name in self.removed:
                _remove(folder / name, folder)
            # Last: whatever stops this, the next call knows what is left.
            _put(staged / MANIFEST, folder / MANIFEST)
        except OSError as error:
            raise OutputNotWritable(folder, error.strerror or str(error)) from error
        finally:
            if staged is not None:
                shutil.rmtree(staged, ignore_errors=True)
        return tuple(folder / name for name in (*self.written, *self.removed))

    def diff(self) -> Iterator[str]:
        """The lines of a unified diff of the files, the manifest left out, as ``patch -p0`` takes it."""
        for name in sorted((*self.written, *self.removed)):
            path = self.folder / name
            before, after = _content(path), self.texts.get(name)
            yield from _unified(str(path), before, after, exists=path.is_file())


def change_of(
    folder: Path, files: Mapping[str, str], requests: Sequence[Mapping[str, Any]] = (), operator: str = ""
) -> Change:
    """What ``folder`` lacks to be in step with ``files``.

    Removed are files of an earlier call that are not among ``files`` and hold what that call wrote; without
    ``files`` none. ``requests``: what the manifest is to remember, as plain data; nothing of the default one.
    ``operator``: whose project it is, which the manifest says if the folder has another name.
    """
    wanted = (
        {**files, MANIFEST: _manifest(files, requests, "" if operator == folder.name else operator)}
        if files
        else {}
    )
    stale = {name: text for name, text in wanted.items() if _content(folder / name) != text}
    gone = tuple(_left_over(folder, files)) if stale else ()
    return Change(folder, stale, gone)


def write_files(
    folder: Path, files: Mapping[str, str], requests: Sequence[Mapping[str, Any]] = (), operator: str = ""
) -> tuple[Path, ...]:
    """Bring ``folder`` in step with ``files``; returns the files that were written or removed.

    Files that already have their content are not touched. ``requests`` and ``operator`` are those of
    :func:`change_of`.

    Raises:
        OutputNotWritable: naming the folder and the system's reason.
    """
    change = change_of(folder, files, requests, operator)
    change.check()
    return change.apply()


def remembered_requests(folder: Path) -> list[Any] | None:
    """What the manifest in a folder remembers; empty where it was the default request alone, None without
    a manifest of ours."""
    try:
        found = json.loads(_content(folder / MANIFEST) or "")
        return list(found.get("requests", [])) if isinstance(found.get("files"), dict) else None
    except (ValueError, AttributeError, TypeError):
        return None


def owner_of(folder: Path) -> str:
    """The operator that the manifest in a folder names; empty if there is no manifest, or no name in it."""
    try:
        found = json.loads(_content(folder / MANIFEST) or "").get("operator", "")
    except (ValueError, AttributeError, TypeError):
        return ""
    return found if isinstance(found, str) else ""


def _hindrance(target: Path) -> str:
    """Why a file cannot be renamed to its place, or removed from it; empty where nothing is in the way."""
    if target.is_dir() and not target.is_symlink():
        return f"'{target}' is a folder, where a file is to be written"
    for parent in target.parents:
        if parent.is_dir():
            writable = os.access(parent, os.W_OK | os.X_OK)
            return "" if writable else f"the folder '{parent}' is not writable"
        if parent.exists() or parent.is_symlink():
            return f"'{parent}' is in the way: it is no folder"
    return ""


def _unified(path: str, before: str | None, after: str | None, *, exists: bool) -> Iterator[str]:
    if exists and before is None:
        yield f"Binary files {path} and {path} differ"
        return
    old, new = ((text or "").splitlines(keepends=True) for text in (before, after))
    names = (path if exists else os.devnull, os.devnull if after is None else path)
    for line in difflib.unified_diff(old, new, *names):
        if line.endswith("\n"):
            yield line[:-1]
        else:
            yield line
            yield "\\ No newline at end of file"


def _manifest(files: Mapping[str, str], requests: Sequence[Mapping[str, Any]], operator: str) -> str:
    about = "written by attndsl generate, which removes these files when it no longer writes them"
    digests = {name: _digest(text) for name, text in sorted(files.items())}
    whose = {"operator": operator} if operator else {}
    asked = {"requests": [*requests]} if requests else {}
    return json.dumps({"about": about, **whose, **asked, "files": digests}, indent=1) + "\n"


def _write(target: Path, text: str) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
    if target.suffix == ".sh":
        target.chmod(0o755)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _left_over(folder: Path, files: Mapping[str, str]) -> Iterator[str]:
    """Files of the manifest that are not wanted any more and are as they were written, by their paths."""
    try:
        listed = json.loads(_content(folder / MANIFEST) or "{}")["files"].items()
    except (ValueError, KeyError, AttributeError, TypeError):
        return  # it is none of ours
    for name, digest in sorted(listed):
        path, pure = folder / name, PurePosixPath(name)
        inside = not pure.is_absolute() and path.resolve().is_relative_to(folder.resolve())
        if name in files or not inside or path.is_symlink() or not path.is_file():
            continue
        text = _content(path)
        if text is not None and _digest(text) == digest:
            yield name


def _put(staged: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    staged.replace(target)


def _remove(path: Path, folder: Path) -> None:
    """The file, and the folders that are empty without it."""
    path.unlink()
    for parent in path.parents:
        if parent == folder:
            return
        with contextlib.suppress(OSError):
            parent.rmdir()


def _content(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
