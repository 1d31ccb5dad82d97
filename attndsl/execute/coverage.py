"""Which statements of kernels have run, over the launches of a verification."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

from attndsl.base.errors import UserError
from attndsl.codegen.samples.device_files import RUNTIME
from attndsl.compiler.prepare_launch import Launch
from attndsl.emulator.kernel import MOST_STATEMENTS
from attndsl.emulator.knobs import Knobs
from attndsl.emulator.report import Report
from attndsl.emulator.statements import NotUnderstood, Statement, instrument
from attndsl.execute.execute import execute, stored, written

_SUFFIXES = frozenset({".h", ".hpp", ".cpp"})


class TooManyStatements(UserError):
    """A folder has more statements than the emulator can tell apart."""


@dataclass(frozen=True, kw_only=True)
class KernelCoverage:
    """One file of kernels. ``statements``: all of them; ``missed``: those that no launch reached, in order;
    ``launches``: how many reached any."""

    file: Path
    statements: tuple[Statement, ...]
    missed: tuple[Statement, ...]
    launches: int

    @property
    def reached(self) -> int:
        """How many statements ran."""
        return len(self.statements) - len(self.missed)

    def place(self, statement: Statement) -> str:
        """``file.h:12``."""
        return f"{self.file.name}:{statement.line}"

    def to_json(self) -> dict[str, object]:
        """As plain data."""
        return {
            "file": str(self.file),
            "statements": len(self.statements),
            "reached": self.reached,
            "cases": self.launches,
            "missed": [asdict(each) for each in self.missed],
        }


@dataclass(frozen=True)
class _Instrumented:
    """A folder of kernels, and in the cache its copy in which each statement of a header is marked."""

    folder: Path
    files: dict[str, str]
    parts: dict[str, tuple[int, tuple[Statement, ...]]]
    """By file, the number of its first statement, and all of them."""

    @staticmethod
    def of(folder: Path) -> _Instrumented:
        files: dict[str, str] = {}
        parts: dict[str, tuple[int, tuple[Statement, ...]]] = {}
        count = 0
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder).as_posix()
            if path.suffix not in _SUFFIXES or name.split("/")[0] not in ("op_kernel", "op_host"):
                continue
            files[name] = path.read_text(encoding="utf-8")
            if name.startswith("op_kernel/") and path.suffix != ".cpp" and name not in RUNTIME:
                try:
                    files[name], found = instrument(files[name], count)
                except NotUnderstood as error:
                    raise NotUnderstood(f"{path}: {error}") from error
                parts[name] = (count, found)
                count += len(found)
        if count > MOST_STATEMENTS:
            raise TooManyStatements(
                f"{folder}: {count} statements are more than the {MOST_STATEMENTS} whose coverage can be "
                "kept; take kernels out of op_kernel"
            )
        return _Instrumented(folder, files, parts)

    @cached_property
    def marked(self) -> Path:
        return stored(self.files)


class Coverage:
    """What launches have reached; several threads may run launches at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[Path, _Instrumented] = {}
        self._reached: dict[Path, set[int]] = {}
        self._launches: dict[tuple[Path, str], int] = {}

    def execute(self, launch: Launch, knobs: Knobs | None = None) -> Report:
        """As :func:`attndsl.execute.execute.execute`, with its statements noted."""
        folder = written(launch.compiled)
        report = execute(launch, knobs, folder=self.marked(folder))
        self.note(folder, report)
        return report

    def marked(self, folder: Path) -> Path:
        """The copy of a folder of kernels that is to be run for :meth:`note`.

        Raises:
            NotUnderstood: the statements of a file cannot be told, naming file and line.
            TooManyStatements: there are more of them than can be kept.
        """
        with self._lock:
            if folder not in self._known:
                self._known[folder] = _Instrumented.of(folder)
            return self._known[folder].marked

    def note(self, folder: Path, report: Report) -> None:
        """Keep what a launch of a folder's copy reached."""
        now = set(report.reached)
        with self._lock:
            self._reached.setdefault(folder, set()).update(now)
            for name, (first, statements) in self._known[folder].parts.items():
                if not now.isdisjoint(range(first, first + len(statements))):
                    self._launches[folder, name] = self._launches.get((folder, name), 0) + 1

    def kernels(self) -> tuple[KernelCoverage, ...]:
        """Each file with statements, sorted by name."""
        found = []
        for folder, instrumented in self._known.items():
            seen = self._reached.get(folder, set())
            for name, (first, statements) in instrumented.parts.items():
                if statements:
                    missed = tuple(each for i, each in enumerate(statements, first) if i not in seen)
                    launches = self._launches.get((folder, name), 0)
                    path = folder / name
                    found.append(
                        KernelCoverage(file=path, statements=statements, missed=missed, launches=launches)
                    )
        return tuple(sorted(found, key=lambda each: (each.file.name, each.file)))

    def never(self) -> tuple[tuple[KernelCoverage, Statement], ...]:
        """The statements that ran in no kernel, each in the first that has it; those of one function that
        read alike and stand in branches that do are one."""
        kernels = self.kernels()
        ran = {_alike(each) for kernel in kernels for each in set(kernel.statements) - set(kernel.missed)}
        found: dict[tuple[str, ...], tuple[KernelCoverage, Statement]] = {}
        for kernel in kernels:
            for each in kernel.missed:
                if _alike(each) not in ran:
                    found.setdefault(_alike(each), (kernel, each))
        return tuple(found.values())

    def to_json(self) -> dict[str, object]:
        """As plain data."""
        return {
            "kernels": [kernel.to_json() for kernel in self.kernels()],
            "never": [{"file": str(kernel.file), **asdict(each)} for kernel, each in self.never()],
        }

    def lines(self) -> Iterator[str]:
        """As text: each kernel with the statements that no case reached, then those that ran in no kernel."""
        kernels, never = self.kernels(), self.never()
        for kernel in kernels:
            cases = f"{kernel.launches} case{'s' if kernel.launches != 1 else ''}"
            total = len(kernel.statements)
            yield f"{kernel.file}: {kernel.reached} of {total} statements reached by {cases}"
            yield from (f"    {kernel.place(each)}: {each.text}" for each in kernel.missed)
        yield f"coverage: {len(never)} statements were reached in none of {len(kernels)} kernels"
        yield from (f"    {kernel.place(each)} in {each.function}: {each.text}" for kernel, each in never)


def _alike(statement: Statement) -> tuple[str, ...]:
    return statement.function, statement.within, statement.text
