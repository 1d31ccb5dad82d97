"""Answers of commands on disk, each under a key over all that decides it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import attndsl
from attndsl.base.disk_cache import (
    content_key,
    stored_or_made,
    stores_programs,
)
from attndsl.base.package_files import specs_dir, templates_dir

_FILE = "answer.json"
_DECIDING = frozenset({".py", ".h", ".hpp", ".cpp", ".j2", ".in", ".json"})


def stored_answer(parts: Sequence[str | bytes], make: Callable[[], Any]) -> Any:
    """What ``make`` gives, as JSON keeps it: from the disk where ``parts`` are those of an earlier call.

    Raises:
        As ``make``; failures are not stored.
    """
    name = f"answers/{content_key(*parts)}" if stores_programs() else None
    return stored_or_made(name, make, _read, _write)


def everything_shipped() -> Iterator[bytes]:
    """All files of this installation that decide what its operators are and what was checked of them."""
    package = Path(attndsl.__file__).parent
    for folder in (package, specs_dir(), templates_dir()):
        for path in sorted(folder.rglob("*")):
            if path.suffix in _DECIDING and path.is_file():
                yield path.name.encode()
                yield path.read_bytes()


def _read(folder: Path) -> Any:
    """The stored answer; None where the file is damaged."""
    with contextlib.suppress(OSError, ValueError):
        return json.loads((folder / _FILE).read_text(encoding="utf-8"))
    return None


def _write(folder: Path, answer: Any) -> None:
    (folder / _FILE).write_text(json.dumps(answer), encoding="utf-8")
