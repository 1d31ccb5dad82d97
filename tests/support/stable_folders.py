"""Temporary folders that have the same path in every run, so that what is compiled in them is found again.

The emulator's cache keeps programs by their text and by their path, which findings name. Pytest's own folders
have another path in each run. A folder here is named after its test, empty when the test gets it, and locked
while it is in use: a second run of the same tests at the same time gets folders of pytest's own.

``from tests.support.stable_folders import tmp_path, tmp_path_factory`` in a ``conftest.py`` puts them in the
place of pytest's fixtures.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

ROOT = Path(tempfile.gettempdir()) / f"attndsl-tests-{os.getuid()}"


@contextmanager
def claimed(*names: str) -> Iterator[Path | None]:
    """The empty folder of these names, or None where somebody else has it."""
    ROOT.mkdir(mode=0o700, exist_ok=True)
    if ROOT.stat().st_uid != os.getuid():
        yield None
        return
    readable = re.sub(r"\W+", "_", names[-1])[-30:].strip("_")
    key = hashlib.sha256("\0".join(names).encode()).hexdigest()[:16]
    folder = ROOT / f"{readable}-{key}"
    with (ROOT / f"{key}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield None
            return
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        yield folder


class Folders:
    """In the place of pytest's ``tmp_path_factory``, for the tests of one module."""

    def __init__(self, module: str, stack: ExitStack, other: pytest.TempPathFactory) -> None:
        self._module, self._stack, self._other = module, stack, other
        self._made: dict[str, int] = {}

    def mktemp(self, basename: str, numbered: bool = True) -> Path:
        """A folder for the rest of the module's tests."""
        number = self._made[basename] = self._made.get(basename, 0) + 1
        found = self._stack.enter_context(claimed(self._module, str(number), basename))
        return found or self._other.mktemp(basename, numbered)


@pytest.fixture(scope="module")
def tmp_path_factory(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Folders]:
    with ExitStack() as stack:
        module = f"{request.config.rootpath}/{request.node.nodeid}"
        yield Folders(module, stack, tmp_path_factory)


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: Folders) -> Iterator[Path]:
    with claimed(str(request.config.rootpath), request.node.nodeid) as folder:
        yield folder or tmp_path_factory.mktemp(request.node.name[:20])
