"""Shared fixtures: golden files, and hypothesis without deadlines (the machine's load is not under test)."""

from __future__ import annotations

import difflib
import gc
import os
import random
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

# Tests change the compiler while it runs; nothing that such a compiler makes may be stored or found.
os.environ["ATTNDSL_STORE_PROGRAMS"] = "0"

# Tests start Python many hundred times. Where the environment keeps no bytecode it is kept apart from the
# sources: without any, to compile the package is most of what a command does.
if sys.dont_write_bytecode:
    kept = Path(__file__).parents[1] / ".pytest_cache" / "bytecode"
    sys.dont_write_bytecode, sys.pycache_prefix = False, str(kept)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix

# What is kept for other tests is no garbage: to search it was a twentieth of the time.
gc.set_threshold(50_000, 20, 20)

_SHARED = {
    "drawn cases": (
        "tests/verify/",
        "tests/diagnosis/test_rounding.py",
        "tests/compiler/test_tiling_proofs.py",
    ),
    "mutants": ("tests/mutate/",),
}
"""What asks for drawn cases, or for the kernel whose mutants are tried, is one piece of work: whoever has it
makes them once."""
_LONG_SCOPES = (
    "drawn cases",
    "tests/test_variants.py",
    "tests/cli/test_cli.py",
    "tests/tuning/test_search.py",
    "tests/test_generated.py",
)
"""What takes longest, for a first run, which knows of no other one."""

GOLDEN = Path(__file__).parent / "golden"

# Helpers say what differs as tests do.
pytest.register_assert_rewrite("tests.support", "tests.passes.trees")

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
        config.option.loadscopereorder = False
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Stopwatch(config))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Files go to workers as they are, but for those that share drawn cases."""
    if config.option.dist != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return _scope(nodeid)

    return Scheduling(config, log)


def _scope(nodeid: str) -> str:
    file = nodeid.split("::", 1)[0]
    return next((name for name, files in _SHARED.items() if file.startswith(files)), file)


class _Stopwatch:
    """Keeps how long each test took: the next run on several workers begins with the longest files."""

    KEPT = "attndsl/seconds"

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._seconds: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[report.nodeid] = self._seconds.get(report.nodeid, 0.0) + report.duration

    def pytest_sessionfinish(self) -> None:
        cache = getattr(self._config, "cache", None)
        if cache is not None and self._seconds:
            cache.set(self.KEPT, {**cache.get(self.KEPT, {}), **self._seconds})


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their markers
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """On a worker the files whose tests took longest come first; nobody is left alone with one at the end."""
    gc.freeze()
    _leave_sweeps_to_the_long_suite(items)
    if not hasattr(config, "workerinput"):
        return
    cache = getattr(config, "cache", None)
    known = {} if cache is None else cache.get(_Stopwatch.KEPT, {})
    seconds: dict[str, float] = dict.fromkeys(_LONG_SCOPES, 1e-6)  # a first run knows no more of them
    for item in items:
        scope = _scope(item.nodeid)
        seconds[scope] = seconds.get(scope, 0.0) + known.get(item.nodeid, 0.0)
    items.sort(key=lambda item: -seconds[_scope(item.nodeid)])


def _leave_sweeps_to_the_long_suite(items: list[pytest.Item]) -> None:
    """Of a test that is marked as a sweep, all but some parameter sets are long. Its name picks them: neither
    the first, which are alike, nor others in each run."""
    sweeps: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sweep") is not None:
            sweeps.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for name, sets in sweeps.items():
        marker = sets[0].get_closest_marker("sweep")
        assert marker is not None
        order = random.Random(name).sample(sets, len(sets))
        for item in order[marker.kwargs["fast"] :]:
            item.add_marker(pytest.mark.long)


def pytest_make_parametrize_id(val: object) -> str | None:
    """Values that pytest would number are told: what a case passes, which shape or dtype it has."""
    if val is None or isinstance(val, str | int | float | bytes | type | FunctionType | BaseException):
        return None
    text = _told(val)
    if text is None or " at 0x" in text:
        return None
    return text if len(text) <= 60 else f"{text[:57]}..."


def _told(val: object) -> str | None:
    """A value in a few words, the same in every process."""
    if isinstance(val, Mapping):
        return ", ".join(f"{key}={_told(item)}" for key, item in val.items()) or "nothing"
    if isinstance(val, set | frozenset):
        return ", ".join(sorted(str(_told(item)) for item in val)) or "nothing"
    if isinstance(val, list | tuple):
        return f"({', '.join(str(_told(item)) for item in val)})"
    if isinstance(val, np.ndarray):
        return f"{val.dtype.name}{list(val.shape)}"
    return getattr(val, "__name__", None) or str(val)


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
