"""One mutant on the calls that execute its line, cheapest first, until one shows it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from attndsl import emulator
from attndsl.campaign.results import PASS
from attndsl.compiler.prepare_launch import Launch
from attndsl.emulator.errors import CompileFailed, KernelCrashed, KernelTimeout
from attndsl.emulator.kernel import build_in
from attndsl.emulator.report import Report
from attndsl.execute.user_project import ProjectPlan, UserProject
from attndsl.mutate.asked_plans import differing_plans
from attndsl.mutate.bench import RUNTIME_HEADER, Bench, KernelFiles, Trial

KILLED, SURVIVED, NOT_COMPILED, NOT_REACHED = "killed", "survived", "not compiled", "not reached"
TIMEOUT, CRASH = "timeout", "crash"
"""What a mutant came to. A mutant that ran out of time or crashed the emulator is no killed one: no check has
named its defect. One whose line no case executes is a hole in the cases."""
FINDING, VALUE, STATIC, REFUSED = "finding", "value", "static check", "refused"
"""What killed a mutant: a check of the emulator, a result, an assertion or the comparison of the plan with
the compiled program, or the launch, which could not be made."""
_ASSERTIONS = ("static assertion failed", "static_assert")
_MOST = 200
"""Characters that are kept of a message."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a mutant.

    Attributes:
        status: KILLED, SURVIVED, NOT_COMPILED, NOT_REACHED, TIMEOUT or CRASH.
        by: of one that is killed, FINDING, VALUE, STATIC or REFUSED.
        message: the finding, or what else was told.
        case: the number of the case that showed it, None without one.
        cases: how many ran.
    """

    status: str
    by: str = ""
    message: str = ""
    case: int | None = None
    cases: int = 0

    def then(self, other: Outcome) -> Outcome:
        """What became of a mutant that no case of this run has killed, with that of its further cases.

        A run that stopped says more than cases that passed, these more than none.
        """
        said = max((self, other), key=lambda each: _SAYS.index(each.status))
        return replace(said, cases=self.cases + other.cases)


_SAYS = (NOT_REACHED, SURVIVED, CRASH, TIMEOUT, NOT_COMPILED, KILLED)


@dataclass
class _Run:
    """What one launch of a mutant left."""

    report: Report | None = None
    stopped: str = ""
    static: str = ""


def try_mutant(files: KernelFiles, file: str, text: str, trials: Sequence[Trial]) -> Outcome:
    """Run a mutant.

    Args:
        files: the kernel as it is.
        file, text: the file that is changed, and what it is changed to.
        trials: the cases that execute the changed line, cheapest first.
    """
    if not trials:
        return Outcome(status=NOT_REACHED)
    with tempfile.TemporaryDirectory(prefix="attndsl-mutant-") as name:
        try:
            mutant = _Mutant(files, file, text, Path(name))
        except CompileFailed as error:
            asserted = any(words in error.log for words in _ASSERTIONS)
            status = KILLED if asserted else NOT_COMPILED
            return Outcome(status=status, by=STATIC if asserted else "", message=_short(str(error)))
        return mutant.judged(trials)


class _Mutant:
    """A changed kernel or plan, compiled.

    Raises:
        CompileFailed: it does not compile.
    """

    def __init__(self, files: KernelFiles, file: str, text: str, folder: Path) -> None:
        self.files, self.file, self._bench = files, file, Bench(files)
        mode, entry = self._bench.mode, self._bench.entry_file
        whole = self._bench.folder()
        self._before = UserProject(whole, mode)
        changed = files.changed(file, text).files
        self._project = UserProject(self._bench.folder(changed), mode) if self._is_planned else self._before
        if file == files.plan:
            self._kernel = emulator.build(whole / entry, entry=Path(entry).stem)
        else:
            source = folder / entry
            for path, content in {**changed, entry: (whole / entry).read_text()}.items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_text(content)
            self._kernel = build_in(folder, source, entry=source.stem)
        self._project.compiled_plan()  # now: what does not compile is no mutant, not a failed case

    @property
    def _is_planned(self) -> bool:
        """Whether the plan depends on the changed file."""
        return self.file not in (self.files.header, RUNTIME_HEADER)

    def judged(self, trials: Sequence[Trial]) -> Outcome:
        """What the cases make of it."""
        stopped = None
        for count, trial in enumerate(trials, 1):
            run = _Run()
            result = self._bench.judged(trial.data, lambda launch: self._execute(launch, trial, run))  # noqa: B023
            told = partial(Outcome, case=trial.data.number, cases=count)
            if result.status != PASS and not run.stopped:
                by = self._by(run)
                message = str(run.report.findings[0]) if by == FINDING and run.report else result.message
                return told(status=KILLED, by=by, message=_short(message))
            if run.stopped and stopped is None:
                stopped = told(status=run.stopped, message=_short(result.message))
            if run.static:
                return told(status=KILLED, by=STATIC, message=_short(run.static))
        return stopped or Outcome(status=SURVIVED, cases=len(trials))

    @staticmethod
    def _by(run: _Run) -> str:
        if run.report is None:
            return REFUSED
        return VALUE if run.report.ok else FINDING

    def _execute(self, launch: Launch, trial: Trial, run: _Run) -> Report:
        plan = self._project.plan(launch)
        if self._is_planned:
            run.static = next(self._differing(launch, plan), "")
        try:
            run.report = plan.run(self._kernel, launch, trial.patience)
        except KernelTimeout:
            run.stopped = TIMEOUT
            raise
        except KernelCrashed:
            run.stopped = CRASH
            raise
        return run.report

    def _differing(self, launch: Launch, plan: ProjectPlan) -> Iterator[str]:
        """Where the plan is another one than the compiled program's, unless the project's own is, too: asked
        for as long as somebody wants to know."""
        yield from differing_plans(self._before, self._project, launch)
        before, after = self._before.keys_at_edges(launch), self._project.keys_at_edges(launch)
        for size, key in after.items():
            if key != before[size] and plan.key in (key, before[size]):
                yield f"{size} goes to the kernel with key {key}, not {before[size]}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MOST else line[: _MOST - 3] + "..."
