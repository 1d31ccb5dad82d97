"""A plugin of pytest: which lines of given files each test executes, with those of the fixtures that it uses.

``pytest -p reached_lines`` with ``REACHED_FILES`` (paths, one a line) and ``REACHED_OUT``, a file that gets a
JSON object: by test its seconds, its lines by file, and the specs whose operators it binds or reads. Jobs of
a campaign run as threads of this process, so that their lines count.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections import defaultdict
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

Lines = dict[str, set[int]]


class _Tracer:
    """Collects executed lines of the wanted files into ``lines``."""

    def __init__(self, files: frozenset[str]) -> None:
        self._files = files
        self.lines: Lines = defaultdict(set)
        self._left: dict[CodeType, set[int]] = {}

    def collect(self, lines: Lines) -> None:
        """From now on, into these."""
        self.lines, self._left = lines, {}

    def start(self) -> None:
        threading.settrace(self._call)
        sys.settrace(self._call)

    def stop(self) -> None:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]

    def _call(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        if code.co_filename not in self._files:
            return None
        left = self._left.get(code)
        if left is None:
            left = self._left[code] = {line for _, _, line in code.co_lines() if line}
            left.discard(code.co_firstlineno)
            self.lines[code.co_filename].add(code.co_firstlineno)
        if not left:
            return None
        mine = self.lines[code.co_filename]

        def line(frame: FrameType, event: str, argument: Any) -> Any:
            if event == "line":
                mine.add(frame.f_lineno)
                left.discard(frame.f_lineno)
            return line if left else None

        return line


class _Plugin:
    def __init__(self) -> None:
        self._tracer = _Tracer(frozenset(os.environ["REACHED_FILES"].split("\n")))
        self._fixtures: dict[int, tuple[Lines, set[str]]] = {}
        self._specs: set[str] = set()
        self._tests: dict[str, dict[str, Any]] = {}

    def pytest_sessionstart(self) -> None:
        from attndsl.campaign import jobs, runner
        from attndsl.spec.operator.operator import Operator

        runner.LocalProcesses = lambda: jobs.LocalThreads(1)  # type: ignore[misc, assignment]
        for name in ("graph", "bind"):
            whole = getattr(Operator, name)

            def noted(operator: Operator, /, *args: Any, _whole: Any = whole, **kwargs: Any) -> Any:
                self._specs.add(operator.spec)
                return _whole(operator, *args, **kwargs)

            setattr(Operator, name, noted)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        lines: Lines = defaultdict(set)
        self._specs = set()
        self._tracer.collect(lines)
        self._tracer.start()
        try:
            return (yield)
        finally:
            self._tracer.stop()
            specs = set(self._specs)
            for definitions in item._fixtureinfo.name2fixturedefs.values():
                for each in definitions:
                    more, named = self._fixtures.get(id(each), ({}, set()))
                    specs |= named
                    for file, numbers in more.items():
                        lines[file] |= numbers
            told = self._tests.setdefault(item.nodeid, {"seconds": 0.0})
            told |= {"lines": {file: sorted(found) for file, found in lines.items()}, "specs": sorted(specs)}

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Any:
        """What a fixture executes is kept for all who use it; it counts for the first of them anyway."""
        if fixturedef.scope == "function":
            return (yield)
        own, before, specs = defaultdict(set), self._tracer.lines, self._specs
        self._specs = set()
        self._tracer.collect(own)
        try:
            return (yield)
        finally:
            for file, numbers in own.items():
                before[file] |= numbers
            self._fixtures[id(fixturedef)] = (own, self._specs)
            self._specs = specs | self._specs
            self._tracer.collect(before)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        told = self._tests.setdefault(report.nodeid, {"seconds": 0.0})
        told["seconds"] += report.duration
        if report.when == "call":
            told["passed"] = report.passed

    def pytest_sessionfinish(self) -> None:
        Path(os.environ["REACHED_OUT"]).write_text(json.dumps(self._tests))


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(_Plugin())
