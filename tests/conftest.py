"""Shared fixtures: golden files, and hypothesis without deadlines (the machine's load is not under test)."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

# Tests change the compiler while it runs; nothing that such a compiler makes may be stored or found.
os.environ["ATTNDSL_STORE_PROGRAMS"] = "0"

GOLDEN = Path(__file__).parent / "golden"

# The same examples in every run; `--hypothesis-profile=search` looks for new ones.
settings.register_profile("attndsl", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None)
settings.load_profile("attndsl")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the files of tests/golden")


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """``-n 2`` keeps a file on one worker: what its tests share, compiled or searched for, is made once."""
    if getattr(config.option, "dist", "no") == "load":
        config.option.dist = "loadfile"


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """``golden(name, text)``: the text equals the file ``tests/golden/name``.

    With ``--update-golden`` the file is written instead; the change is then read in the diff.
    """
    update: bool = request.config.getoption("--update-golden")

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            return
        if not path.is_file():
            pytest.fail(f"{path} is missing; run pytest --update-golden and review it")
        expected = path.read_text()
        if text != expected:
            lines = difflib.unified_diff(
                expected.splitlines(), text.splitlines(), name, "now", lineterm="", n=1
            )
            pytest.fail("\n".join([*lines][:60]) + "\n(pytest --update-golden accepts this)")

    return compare
