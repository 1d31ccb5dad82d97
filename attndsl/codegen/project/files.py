"""Writing generated files: beside their place first, then renamed into it, and only where they differ.

A manifest in the folder says which files were written and with which content, so that the next generation can
take away those it no longer has. A file that it does not list, or that somebody has changed since, stays.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from attndsl.base.errors import UserError

MANIFEST = ".attndsl.json"


class OutputNotWritable(UserError, OSError):
    """The output folder cannot be written."""

    def __init__(self, folder: Path, reason: str) -> None:
        super().__init__(f"cannot write to '{folder}': {reason}; choose another folder with --out")


def write_files(folder: Path, files: Mapping[str, str]) -> tuple[Path, ...]:
    """Bring ``folder`` in step with ``files``; returns the files that were written or removed.

    Everything is written into a temporary folder beside first, so that a full or read-only disk leaves
    the folder as it was. Files that already have their content are not touched. Removed are files of an
    earlier call that are not among ``files`` and hold what that call wrote; without ``files`` none.

    Raises:
        OutputNotWritable: naming the folder and the system's reason.
    """
    wanted = {**files, MANIFEST: _manifest(files)} if files else {}
    stale = {name: text for name, text in wanted.items() if _content(folder / name) != text}
    if not stale:
        return ()
    gone = tuple(_left_over(folder, files))
    staged: Path | None = None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        staged = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        for name, text in stale.items():
            target = staged / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
            if target.suffix == ".sh":
                target.chmod(0o755)
        for name in (each for each in stale if each != MANIFEST):
            _put(staged / name, folder / name)
        for path in gone:
            _remove(path, folder)
        # Last: whatever stops this, the next call knows what is left.
        _put(staged / MANIFEST, folder / MANIFEST)
    except OSError as error:
        raise OutputNotWritable(folder, error.strerror or str(error)) from error
    finally:
        if staged is not None:
            shutil.rmtree(staged, ignore_errors=True)
    written = (folder / name for name in stale if name != MANIFEST)
    return (*written, *gone)


def _manifest(files: Mapping[str, str]) -> str:
    about = "written by attndsl generate, which removes these files when it no longer writes them"
    digests = {name: _digest(text) for name, text in sorted(files.items())}
    return json.dumps({"about": about, "files": digests}, indent=1) + "\n"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _left_over(folder: Path, files: Mapping[str, str]) -> Iterator[Path]:
    """Files of the manifest that are not wanted any more and are as they were written."""
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
            yield path


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
