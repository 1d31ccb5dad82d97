"""A plugin of pytest: which lines of given files each test executes, with those of the fixtures that it uses.

``pytest -p reached_lines`` with ``REACHED_FILES`` (paths, one a line) and ``REACHED_OUT``, a file that gets a
JSON object: by test its seconds, its lines by file, and the specs whose operators or parameters it reads.
Jobs of a campaign run as threads of this process, so that their lines count. Tests end after
``REACHED_SECONDS`` of processor time; the one that runs then and those after it are not in the map.

The files are imported with a mark before each statement of a function: to trace each line took several
times as long as the tests.
"""

from __future__ import annotations

import ast
import builtins
import importlib.machinery
import json
import os
import signal
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

_NAME = "_reached_statements"
_BODIES = ("body", "orelse", "finalbody")


class _Marking(ast.NodeTransformer):
    """Puts a mark before each statement of a function."""

    def __init__(self, marks: _Marks, file: str) -> None:
        self._marks, self._file, self._inside = marks, file, False

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        outside, self._inside = self._inside, True
        self.generic_visit(node)
        self._inside = outside
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if self._inside and not isinstance(node, ast.ClassDef):
            for name in _BODIES:
                body = getattr(node, name, None)
                if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
                    setattr(node, name, [each for statement in body for each in self._marked(statement)])
        return node

    def _marked(self, statement: ast.stmt) -> list[ast.stmt]:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            return [statement]  # a docstring stays the first
        if isinstance(statement, ast.Global | ast.Nonlocal):
            return [statement]
        text = f"{_NAME}[{self._marks.number(self._file, statement.lineno)}] = 1"
        (mark,) = ast.parse(text).body
        for each in ast.walk(mark):
            ast.copy_location(each, statement)
        return [mark, statement]


class _Marks:
    """The statements of the wanted files, and which have run."""

    def __init__(self, files: frozenset[str]) -> None:
        self._places: list[tuple[str, int]] = []
        self._ran = bytearray()
        setattr(builtins, _NAME, self._ran)
        get_code = importlib.machinery.SourceFileLoader.get_code

        def code(loader: Any, name: str) -> CodeType | None:
            path = loader.get_filename(name)
            if path not in files:
                return get_code(loader, name)
            tree = _Marking(self, path).visit(ast.parse(Path(path).read_bytes()))
            return compile(tree, path, "exec", dont_inherit=True)

        importlib.machinery.SourceFileLoader.get_code = code  # type: ignore[method-assign]

    def number(self, file: str, line: int) -> int:
        """That of a further statement."""
        self._places.append((file, line))
        self._ran.append(0)
        return len(self._places) - 1

    def taken(self) -> set[int]:
        """Those that have run since the last time."""
        found, at = set[int](), self._ran.find(1)
        while at >= 0:
            found.add(at)
            self._ran[at] = 0
            at = self._ran.find(1, at + 1)
        return found

    def put_back(self, numbers: set[int]) -> None:
        """Let these have run."""
        for each in numbers:
            self._ran[each] = 1

    def lines(self, numbers: set[int]) -> dict[str, list[int]]:
        """By file the lines that these statements begin on."""
        found: dict[str, set[int]] = {}
        for each in numbers:
            file, line = self._places[each]
            found.setdefault(file, set()).add(line)
        return {file: sorted(lines) for file, lines in found.items()}


class _Plugin:
    def __init__(self) -> None:
        self._marks = _Marks(frozenset(os.environ["REACHED_FILES"].split("\n")))
        self._fixtures: dict[int, tuple[set[int], set[str]]] = {}
        self._specs: set[str] = set()
        self._tests: dict[str, dict[str, Any]] = {}

    def pytest_sessionstart(self) -> None:
        def end(*_: object) -> None:
            pytest.exit("the tests of this file take too long for a map of all")

        signal.signal(signal.SIGPROF, end)
        signal.setitimer(signal.ITIMER_PROF, float(os.environ["REACHED_SECONDS"]))
        from attndsl.campaign import jobs, runner
        from attndsl.spec.operator.operator import Operator

        runner.LocalProcesses = lambda: jobs.LocalThreads(1)  # type: ignore[misc, assignment]
        for name in ("graph", "bind"):
            whole = getattr(Operator, name)

            def noted(operator: Operator, /, *args: Any, _whole: Any = whole, **kwargs: Any) -> Any:
                self._specs.add(operator.spec)
                return _whole(operator, *args, **kwargs)

            setattr(Operator, name, noted)
        params = Operator.params

        def read(operator: Operator) -> Any:
            self._specs.add(operator.spec)
            kept = vars(operator)
            if "params" not in kept:
                kept["params"] = params.func(operator)  # type: ignore[attr-defined]
            return kept["params"]

        Operator.params = property(read)  # type: ignore[method-assign, assignment]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        self._specs = set()
        self._marks.taken()
        try:
            return (yield)
        finally:
            ran, specs = self._marks.taken(), set(self._specs)
            for definitions in item._fixtureinfo.name2fixturedefs.values():
                for each in definitions:
                    more, named = self._fixtures.get(id(each), (set(), set()))
                    specs |= named
                    ran |= more
            told = self._tests.setdefault(item.nodeid, {"seconds": 0.0})
            told |= {"lines": self._marks.lines(ran), "specs": sorted(specs)}

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Any:
        """What a fixture executes is kept for all who use it; it counts for the first of them anyway."""
        if fixturedef.scope == "function":
            return (yield)
        before, specs = self._marks.taken(), self._specs
        self._specs = set()
        try:
            return (yield)
        finally:
            own = self._marks.taken()
            self._fixtures[id(fixturedef)] = (own, self._specs)
            self._specs = specs | self._specs
            self._marks.put_back(before | own)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        told = self._tests.setdefault(report.nodeid, {"seconds": 0.0})
        told["seconds"] += report.duration
        if report.when == "call":
            told["passed"] = report.passed

    def pytest_sessionfinish(self) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)
        Path(os.environ["REACHED_OUT"]).write_text(json.dumps(self._tests))


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(_Plugin())
