"""Finished projects: all files as text, kept on disk under a key over all that decides them.

A second call with the same spec, request and sources compiles nothing and imports none of the compiler.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from attndsl.base.disk_cache import CacheNotWritable, content_key, find_entry, make_entry
from attndsl.base.package_files import sources_key
from attndsl.codegen.kernel_set.request import KernelRequest
from attndsl.codegen.project.files import write_files
from attndsl.spec.operator.operator import Operator

SWITCH = "ATTNDSL_STORE_PROGRAMS"
"""As in :mod:`attndsl.compiler.stored_programs`: set to 0, nothing is stored or found."""
_FILE = "projects.json"
_UNCONCERNED = frozenset({"cli", "campaign", "emulator", "execute"})
"""Packages that decide nothing about the files of a project."""


@dataclass(frozen=True, kw_only=True)
class FinishedProject:
    """A project as files.

    Attributes:
        operator: its name. ``folder``: of the project, in the folder for all.
        files: texts by path in the project; none where there is no kernel.
        not_lowered: features without a kernel. ``reason``: why there is no kernel at all, where that is so.
    """

    operator: str
    folder: str
    files: Mapping[str, str]
    not_lowered: tuple[str, ...]
    reason: str = ""

    def write(self, out: Path) -> tuple[Path, ...]:
        """Write the project to ``out/FOLDER``; returns the files that changed.

        Raises:
            OutputNotWritable: the folder cannot be written.
        """
        return write_files(out / self.folder, self.files)


def finished_projects(operator: Operator, request: KernelRequest) -> tuple[FinishedProject, ...]:
    """The projects of an operator and of its modes, from the disk where they are there.

    Raises:
        As :func:`attndsl.codegen.project.project.plan_projects`; failures are not stored.
    """
    name = _entry_name(operator, request)
    found = None if name is None else find_entry(name)
    if found is not None and (stored := _read(found)) is not None:
        return stored
    made = _made(operator, request)
    if name is not None:
        text = json.dumps([asdict(each) for each in made])
        with contextlib.suppress(CacheNotWritable):  # generating needs no cache
            make_entry(name, lambda folder: _write(folder, text))
    return made


def _made(operator: Operator, request: KernelRequest) -> tuple[FinishedProject, ...]:
    from attndsl.codegen.project.project import plan_projects  # late: a stored project needs no compiler

    with _seldom_collected():
        return tuple(
            FinishedProject(
                operator=each.operator.name,
                folder=each.folder,
                files=each.files(),
                not_lowered=each.not_lowered,
                reason=each.reason,
            )
            for each in plan_projects(operator, request)
        )


@contextlib.contextmanager
def _seldom_collected() -> Iterator[None]:
    """Few searches for garbage in cycles: each looks through all programs that are kept, and finds little."""
    before = gc.get_threshold()
    gc.set_threshold(50_000, 20, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _entry_name(operator: Operator, request: KernelRequest) -> str | None:
    if operator.content_key is None or os.environ.get(SWITCH) == "0":
        return None
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    told = (version, operator.content_key, operator.device.name, operator.in_commands, request.told)
    return f"projects/{content_key(sources_key(_UNCONCERNED), *told)}"


def _write(folder: Path, text: str) -> None:
    (folder / _FILE).write_text(text, encoding="utf-8")


def _read(folder: Path) -> tuple[FinishedProject, ...] | None:
    """The stored projects; None where the file cannot be read, or is not whole."""
    try:
        rows = json.loads((folder / _FILE).read_text(encoding="utf-8"))
        return tuple(FinishedProject(**{**row, "not_lowered": tuple(row["not_lowered"])}) for row in rows)
    except (OSError, ValueError, TypeError, KeyError):
        return None
