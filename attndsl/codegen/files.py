"""Writing generated files: beside their place first, then renamed into it, and only where they differ."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from attndsl.errors import UserError


class OutputNotWritable(UserError, OSError):
    """The output folder cannot be written."""

    def __init__(self, folder: Path, reason: str) -> None:
        super().__init__(f"cannot write to '{folder}': {reason}; choose another folder with --out")


def write_files(folder: Path, files: Mapping[str, str]) -> tuple[Path, ...]:
    """Bring ``folder`` in step with ``files``; returns the files that were written.

    Everything is written into a temporary folder beside first, so that a full or read-only disk leaves
    the folder as it was. Files that already have their content are not touched.

    Raises:
        OutputNotWritable: naming the folder and the system's reason.
    """
    stale = {name: text for name, text in files.items() if _content(folder / name) != text}
    if not stale:
        return ()
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
        for name in stale:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (staged / name).replace(folder / name)
    except OSError as error:
        raise OutputNotWritable(folder, error.strerror or str(error)) from error
    finally:
        if staged is not None:
            shutil.rmtree(staged, ignore_errors=True)
    return tuple(folder / name for name in stale)


def _content(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
