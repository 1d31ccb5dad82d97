"""Proof that the checks of the checks can fail: seeded defects in ``verify``, ``reference`` and specs.

A defect is put into one source, and the fast tests that reach its line run on it, the quickest first, until
one fails. Which test executes which line is measured once for each test file, and kept in attndsl's cache;
what a line at the level of a module defines is reached by tests that execute a function with that name in it
or name it themselves,
a spec by tests that bind or read its operator. Tests that compare digests of sources or whole generated
files are left out: they would see any change. Defects that do not load do not count; others are drawn.

    python bench/check_mutants.py --mutants 200 --journal checks.jsonl     (goes on where it stopped)
    python bench/check_mutants.py --all-classes                            (ordinary mistakes, too)
    python bench/check_mutants.py --only 3f2a90c1d4                        (one of them again)
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import runpy
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from python_mutants import CLASSES, OF_CHECKS, PythonMutant, drawn, mutants_of
from warm_processes import forget_specs, run_tests, warm

from attndsl.base.disk_cache import content_key, stored_or_made
from attndsl.campaign.jobs import Job, LocalProcesses, results_of

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("attndsl/verify", "attndsl/reference", "attndsl/campaign/judging.py", "specs/*.py")
TESTS = (
    "tests/verify",
    "tests/reference",
    "tests/diagnosis",
    "tests/spec",
    "tests/lowering/test_softmax_off.py",
    "tests/lowering/test_score_functions.py",
    "tests/lowering/test_sums_of_attentions.py",
)
_SEE_ANY_CHANGE = ("test_committed_records_hold", "test_generated_is_in_step", "test_all_tile_programs")
_NO_TESTS_OF_SOURCES = ("test_cases_lower", "test_campaign_jobs", "test_records", "fuzz")
"""Parts of names of test files that take longest and reach nothing that others do not."""
BUDGET = 45.0
"""Seconds of tests, as measured alone, that a mutant runs at most."""
FAST = 30.0
"""Seconds of processor time that the tests of a file may take; those after it are not fast ones."""
_HANGS, _MEASURE_SECONDS = 240.0, 3600.0
_FIRST_TESTS, _QUICK = 40, 0.5
"""Of the quickest tests so many, of a few files, run before all others; none takes so many seconds."""
CHANGING = ("attndsl.verify", "attndsl.reference", "attndsl.campaign.judging")
_NOT_COLLECTED = 2
"""The exit code of pytest where a file of tests cannot be imported."""
_GROUPS = ("defects of checks", "ordinary mistakes")
KILLED, SURVIVED, NOT_LOADED = "killed", "survived", "not loaded"


@dataclass(frozen=True)
class Reached:
    """Tests with their seconds, the lines that each executes by file, and the specs that it uses."""

    tests: Mapping[str, Mapping[str, Any]]

    def by(self, mutant: PythonMutant) -> list[str]:
        """The tests that reach a mutant, the quickest first."""
        if mutant.file.startswith("specs/"):
            spec = Path(mutant.file).stem
            found = {test for test, told in self.tests.items() if spec in told["specs"]}
        elif mutant.names:
            found = self._at(_users(mutant.names)) | self._naming(frozenset(mutant.names))
        else:
            found = self._at({mutant.file: set(range(mutant.lines[0], mutant.lines[1] + 1))})
        return sorted(found, key=lambda test: self.tests[test]["seconds"])

    def _naming(self, names: frozenset[str]) -> set[str]:
        """The tests that read such a name themselves."""
        return {test for test in self.tests if names & _names_in(test.split("[")[0])}

    def _at(self, places: Mapping[str, set[int]]) -> set[str]:
        return {
            test
            for test, told in self.tests.items()
            if any(lines & set(told["lines"].get(file, ())) for file, lines in places.items())
        }


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant: ``by`` the test that failed; ``tests``: how many were there to run."""

    status: str
    by: str
    tests: int
    seconds: float


def sources(of: Sequence[str] = SOURCES) -> list[str]:
    """The files that are changed."""
    found: list[Path] = []
    for each in of:
        path = ROOT / each
        found += ROOT.glob(each) if "*" in each else path.rglob("*.py") if path.is_dir() else [path]
    return sorted(str(path.relative_to(ROOT)) for path in found)


def test_files(folders: Sequence[str]) -> list[str]:
    """The files of the tests that may see a mutant."""
    found = [
        path
        for each in folders
        for path in ([ROOT / each] if each.endswith(".py") else sorted((ROOT / each).rglob("test_*.py")))
    ]
    return [
        str(path.relative_to(ROOT)) for path in found if not any(n in path.name for n in _NO_TESTS_OF_SOURCES)
    ]


# Which test reaches what ------------------------------------------------------------------------------------


def measured(file: str, key: str, seconds: float) -> dict[str, dict[str, Any]]:
    """The job of measuring the tests of a file; from the cache where it is there."""

    def read(folder: Path) -> dict[str, dict[str, Any]] | None:
        try:
            found: dict[str, dict[str, Any]] = json.loads((folder / "tests.json").read_text())
        except (OSError, ValueError):
            return None
        return found

    return stored_or_made(
        f"reached-{key}",
        lambda: _measure(file, seconds),
        read,
        lambda folder, made: (folder / "tests.json").write_text(json.dumps(made)),
    )


def _measure(file: str, seconds: float) -> dict[str, dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="attndsl-") as folder:
        out, said = Path(folder) / "tests.json", Path(folder) / "said"
        environment = {
            "REACHED_FILES": "\n".join(str(ROOT / each) for each in sources()),
            "REACHED_OUT": str(out),
            "REACHED_SECONDS": str(seconds),
        }
        arguments = ["-q", "-n", "0", "-p", "reached_lines", "-p", "no:cacheprovider", "--tb=no", file]
        run_tests(arguments, environment, CHANGING, said, _MEASURE_SECONDS)
        if not out.is_file():
            raise SystemExit(f"{file} cannot be measured:\n{said.read_text(errors='replace')}")
        found: dict[str, dict[str, Any]] = json.loads(out.read_text())
    return {test: {**told, "lines": _relative(told["lines"])} for test, told in found.items()}


def _relative(lines: Mapping[str, Any]) -> dict[str, Any]:
    """By the places of files in the project: what one checkout has measured is right in another."""
    return {str(Path(file).relative_to(ROOT)): numbers for file, numbers in lines.items()}


def reached(files: Iterable[str], told: str, seconds: float = FAST) -> Reached:
    """What the tests reach, measured in processes."""
    read = (*sources(), "bench/reached_lines.py")
    texts = content_key(*(part for each in read for part in (each, (ROOT / each).read_text())), "relative")
    keys = {file: content_key(texts, file, (ROOT / file).read_text(), str(seconds)) for file in files}
    show = _progress(told, len(keys))
    found = results_of(
        (Job(key, measured, (file, key, seconds)) for file, key in keys.items()),
        LocalProcesses(),
        progress=show,
    )
    tests = {
        test: each
        for key in keys.values()
        for test, each in found[key].items()
        if each.get("passed") and not any(name in test for name in _SEE_ANY_CHANGE)
    }
    return Reached(tests)


@cache
def _trees() -> dict[str, ast.Module]:
    return {file: ast.parse((ROOT / file).read_text()) for file in sources()}


def _users(names: Iterable[str]) -> dict[str, set[int]]:
    """Lines of the functions that use names of modules or classes, also by way of other such names."""
    trees = _trees()
    wanted = set(names)
    while True:
        more = {
            target.id
            for tree in trees.values()
            for statement in ast.walk(tree)
            if isinstance(statement, ast.Assign) and statement.col_offset == 0 and _uses(statement, wanted)
            for target in statement.targets
            if isinstance(target, ast.Name)
        }
        if more <= wanted:
            break
        wanted |= more
    found: dict[str, set[int]] = {}
    for file, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and _uses(node, wanted):
                lines = range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)
                found.setdefault(file, set()).update(lines)
    return found


@cache
def _names_in(test: str) -> frozenset[str]:
    """The names that a test function reads, by ``file::function``."""
    file, _, function = test.rpartition("::")
    return _names_by_function(file.split("::")[0]).get(function, frozenset())


@cache
def _names_by_function(file: str) -> dict[str, frozenset[str]]:
    path = ROOT / file
    tree = ast.parse(path.read_text()) if path.is_file() else ast.parse("")
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    return {each.name: frozenset(_read_in(each)) for each in functions}


def _read_in(node: ast.AST) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Name | ast.Attribute):
            yield each.id if isinstance(each, ast.Name) else each.attr


def _uses(node: ast.AST, names: set[str]) -> bool:
    return not names.isdisjoint(_read_in(node))


# Mutants ----------------------------------------------------------------------------------------------------


def tried(mutant: PythonMutant, tests: Sequence[str], seconds: Mapping[str, float]) -> Outcome:
    """The job of trying a mutant on tests, as many as the budget allows."""
    started, chosen, total = time.monotonic(), [], 0.0
    for test in tests:
        total += seconds[test]
        if chosen and total > BUDGET:
            break
        chosen.append(test)
    if not chosen:
        return Outcome(SURVIVED, "no test reaches it", 0, 0.0)
    with tempfile.TemporaryDirectory(prefix="attndsl-") as folder:
        text = Path(folder) / "text.py"
        text.write_text(mutant.text(ROOT))
        environment = {
            "PYTHONPATH": str(ROOT / "bench" / "mutated"),
            "ATTNDSL_MUTATED": str(ROOT / mutant.file),
            "ATTNDSL_MUTATED_TEXT": str(text),
            "ATTNDSL_STORE_PROGRAMS": "0",
        }
        said = Path(folder) / "said"
        printed = ""
        for part in _parts(chosen, seconds):
            (Path(folder) / "tests.txt").write_text("\n".join(part))
            arguments = ["-q", "-x", "-n", "0", "-p", "no:cacheprovider", "--tb=no", "-rfE"]
            arguments.append(f"@{folder}/tests.txt")
            code = run_tests(arguments, environment, CHANGING, said, _HANGS, _change_source)
            if code is None:
                return Outcome(KILLED, "it does not end", len(tests), time.monotonic() - started)
            printed = said.read_text(errors="replace")
            if code != 0:
                break
        if code == _NOT_COLLECTED and not _loads(mutant, {**os.environ, **environment}):
            return Outcome(NOT_LOADED, "", len(tests), time.monotonic() - started)
    told = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", printed, re.MULTILINE)
    status = SURVIVED if code == 0 else KILLED
    by = told[1] if told else "" if status == SURVIVED else f"exit code {code}"
    return Outcome(status, by, len(tests), time.monotonic() - started)


def _parts(tests: Sequence[str], seconds: Mapping[str, float]) -> list[list[str]]:
    """Tests in the order that they have, those that end most mutants apart: to collect a file takes longer
    than most of its tests."""
    first = [test for test in tests[:_FIRST_TESTS] if seconds[test] < _QUICK]
    files = {test.split("::")[0] for test in first[: max(1, _FIRST_TESTS // 10)]}
    first = [test for test in first if test.split("::")[0] in files]
    rest = [test for test in tests if test not in set(first)]
    return [part for part in (first, rest) if part]


def _change_source() -> None:
    """Give this process the changed text, as Python's start does to others; a spec may be what changed."""
    if Path(os.environ["ATTNDSL_MUTATED"]).is_relative_to(ROOT / "specs"):
        forget_specs()
    runpy.run_path(str(ROOT / "bench" / "mutated" / "sitecustomize.py"))


def _loads(mutant: PythonMutant, environment: Mapping[str, str]) -> bool:
    """Whether the source can be imported, or the spec loaded."""
    if mutant.file.startswith("specs/"):
        code = f"from attndsl.spec.operator.loader import load; load({Path(mutant.file).stem!r})"
    else:
        code = "import " + mutant.file.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True)
    return done.returncode == 0


def _progress(what: str, total: int) -> Any:
    def show(done: int) -> None:
        print(f"\r{what}: {done} of {total}", end="" if done < total else "\n", file=sys.stderr, flush=True)

    return show


def campaign(
    mutants: Iterator[PythonMutant], count: int, tests: Reached, journal: Path | None
) -> list[tuple[PythonMutant, Outcome]]:
    """The first mutants that load, with what became of them."""
    seconds = {test: told["seconds"] for test, told in tests.tests.items()}
    found: list[tuple[PythonMutant, Outcome]] = []
    while missing := count - len(found):
        batch = [mutant for mutant, _ in zip(mutants, range(missing), strict=False)]
        if not batch:
            break
        jobs, chosen = [], {}
        for each in batch:
            of_it = tests.by(each)
            key = content_key(each.name, each.text(ROOT), *of_it, *_test_texts(of_it))
            chosen[key] = each
            jobs.append(Job(key, tried, (each, of_it, {test: seconds[test] for test in of_it})))
        done = results_of(jobs, LocalProcesses(), journal, _progress("mutants", len(jobs)))
        found += [(chosen[job.key], done[job.key]) for job in jobs if done[job.key].status != NOT_LOADED]
    return found


def _test_texts(tests: Iterable[str]) -> list[str]:
    files = sorted({test.split("::")[0] for test in tests})
    return [(ROOT / file).read_text() for file in files]


def _group(mutant: PythonMutant) -> str:
    return _GROUPS[mutant.kind not in OF_CHECKS]


def report(found: Sequence[tuple[PythonMutant, Outcome]], seconds: float) -> Iterator[str]:
    """Counts by class, those of defects of checks apart from ordinary mistakes, then the survivors."""
    total, killed = Counter[str](), Counter[str]()
    for mutant, outcome in found:
        for name in (mutant.kind, _group(mutant)):
            total[name] += 1
            killed[name] += outcome.status == KILLED
    for kind in (*sorted(total.keys() - set(_GROUPS)), *(each for each in _GROUPS if total[each])):
        rate = 100 * killed[kind] / total[kind]
        yield f"{kind:<18} {killed[kind]:>4} of {total[kind]:>4} ({rate:.1f} %)"
    each = sum(outcome.seconds for _, outcome in found) / max(len(found), 1)
    yield f"{seconds:.0f} s, {each:.1f} s a mutant"
    for mutant, outcome in found:
        if outcome.status == SURVIVED:
            yield f"survived {mutant.name} {mutant.kind} {mutant.file}:{mutant.line} ({outcome.tests} tests)"
            yield f"    {mutant.shown(ROOT)}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--mutants", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--all-classes", action="store_true", help="ordinary mistakes, too")
    parser.add_argument("--only", action="append", default=[], metavar="ID")
    parser.add_argument("--sources", nargs="*", default=SOURCES, metavar="PATH")
    parser.add_argument("--tests", nargs="*", default=TESTS, metavar="PATH")
    parser.add_argument("--fast", type=float, default=FAST, help="seconds of tests that a file may have")
    parser.add_argument("--journal", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    started = time.monotonic()
    warm(CHANGING)
    every = [mutant for file in sources(options.sources) for mutant in mutants_of(ROOT, file)]
    chosen = drawn([m for m in every if options.all_classes or m.kind in OF_CHECKS], options.seed)
    if options.only:
        chosen = iter([mutant for mutant in every if mutant.name in options.only])
    tests = reached(test_files(options.tests), "test files", options.fast)
    found = campaign(chosen, len(options.only) or options.mutants, tests, options.journal)
    if options.json:
        rows = [
            {
                "id": m.name,
                "class": m.kind,
                "file": m.file,
                "line": m.line,
                "change": m.shown(ROOT),
                **vars(o),
            }
            for m, o in found
        ]
        print(json.dumps({"classes": sorted(CLASSES), "mutants": rows}, indent=1))
    else:
        print("\n".join(report(found, time.monotonic() - started)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
