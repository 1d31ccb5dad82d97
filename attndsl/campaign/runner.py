"""Verification runs: the cases of an operator, each as a job that runs here or elsewhere."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from attndsl.api.backends import BACKENDS
from attndsl.base.disk_cache import content_key
from attndsl.base.errors import UserError
from attndsl.base.jobs import worker_count
from attndsl.base.package_files import sources_key
from attndsl.campaign.jobs import Job, Jobs, LocalProcesses, LocalThreads, results_of
from attndsl.campaign.judging import Execute, run_case
from attndsl.campaign.results import Row, Verification
from attndsl.emulator.toolchain import find_compiler, own_sources_key
from attndsl.spec.contract.layout import Array
from attndsl.spec.operator.loader import load
from attndsl.spec.operator.operator import Operator
from attndsl.target import device as device_named
from attndsl.verify.cases.case import Case
from attndsl.verify.cases.cases import Stream, spaces, stream_of
from attndsl.verify.cases.changed_case import with_changes
from attndsl.verify.cases.wanted_kernel import WantedKernel
from attndsl.verify.judge.compare import LEVELS, Level
from attndsl.verify.space.space import CaseSpace

Progress = Callable[[int, int], object]
DEFAULT_CASES = 48


def verify(
    operator: Operator,
    *,
    cases: int = DEFAULT_CASES,
    seed: int = 0,
    backends: Iterable[str] = BACKENDS,
    progress: Progress | None = None,
    only: Iterable[int] = (),
    changes: Mapping[str, str] | None = None,
    level: Level | None = LEVELS[0],
    execute: Execute | None = None,
    kernels: Sequence[WantedKernel] = (),
    options: str = "",
    jobs: Jobs | None = None,
    journal: Path | None = None,
    made: dict[int, Case] | None = None,
) -> Verification:
    """Compare backends with the float64 run of the executable spec over generated cases.

    Args:
        operator: what to verify.
        cases: how many cases of the seed's stream.
        seed: of the stream; the same seed gives the same cases.
        backends: of ``"reference"`` (its float32 run, always included), ``"tile"`` and ``"emulator"``.
        progress: called with (cases done, cases in all) after each case.
        only: numbers of the cases to run, instead of the first ``cases``.
        changes: variables that have other values than in these cases, by the texts of their values.
        level: limits of the double benchmark, None to measure only. Of the probes, whose inputs are no
            random sample, only the root mean square is judged, by the most lenient level; their elementwise
            bound shows each key.
        execute: runs a launch on the emulator, in place of :func:`attndsl.execute.execute.execute`.
        kernels: what the cases are for; without them for all that the operator may have.
        options: of the command that runs a case again, where it has any beyond seed and number.
        jobs: who runs the cases; by default processes on this machine, and threads of this process where
            ``execute`` is given or no file declares the operator.
        journal: a file of finished cases, which are not run again; what is missing is added.
        made: receives the cases that run, by number.

    Raises:
        WrongChange: ``changes`` fit no case, or make none.
        NotGenerated: no cases can be made for the operator, or for one of ``kernels``.
        InternalError: a pass or a backend broke its own rules, or the installation is incomplete.
        CompilerMissing, WrongCompiler, CacheNotWritable, EmulatorNotCompiled: the emulator cannot be used.
        CannotTravel: ``jobs`` or ``journal`` with cases that only this process can run.
        WrongJournal, WorkersLost: as :mod:`attndsl.campaign.jobs`.
    """
    anywhere = travels(operator, execute)
    if (jobs is not None or journal is not None) and not anywhere:
        raise CannotTravel(operator.name)
    started = time.monotonic()
    chosen = tuple(name for name in BACKENDS if name == "reference" or name in set(backends))
    stream, wanted = stream_of(operator, seed, tuple(kernels)), frozenset(only)
    found = _chosen(stream, max(wanted) + 1 if wanted else cases, bool(kernels), wanted, changes or {}, made)
    work = (_job(case, chosen, level, execute, anywhere) for case in found)
    by = jobs or (LocalProcesses() if anywhere else LocalThreads(worker_count()))
    rows = _rows(work, by, journal, _told(progress, len(wanted) or cases))
    return Verification(
        operator=operator.name,
        seed=seed,
        backends=chosen,
        rows=tuple(replace(row, options=options) for row in rows),
        excluded=stream.excluded,
        seconds=time.monotonic() - started,
    )


def _told(progress: Progress | None, total: int) -> Callable[[int], object] | None:
    """``progress`` as jobs tell it: without the number of all cases."""
    return None if progress is None else lambda done: progress(done, total)


def _rows(
    work: Iterable[Job], jobs: Jobs, journal: Path | None, progress: Callable[[int], object] | None
) -> list[Row]:
    """The results of cases, in their order."""
    with warnings.catch_warnings():  # here, for all threads: filters are one state of the process
        warnings.simplefilter("ignore")
        found = results_of(work, jobs, journal, progress)
    return sorted(found.values(), key=lambda row: row.case)


def _chosen(
    stream: Stream,
    count: int,
    wanted_kernels: bool,
    wanted: frozenset[int],
    changes: Mapping[str, str],
    made: dict[int, Case] | None,
) -> Iterator[Case]:
    """The cases to run, changed where that is asked for."""
    for case in _cases(stream, count, wanted_kernels):
        if wanted and case.number not in wanted:
            continue
        chosen = with_changes(case, changes) if changes else case
        if made is not None:
            made[case.number] = chosen
        yield chosen


def _cases(stream: Stream, count: int, wanted_kernels: bool) -> Iterator[Case]:
    """The first cases of a stream, each as soon as it is made.

    Raises:
        NotGenerated: one cannot be made.
    """
    for number in range(count):
        try:
            case = stream.take(number + 1)[number]
        except (LookupError, StopIteration) as error:  # no rule for a role, an axis or a layout
            raise NotGenerated(stream.operator.name, f"{type(error).__name__}: {error}") from error
        except RuntimeError as error:
            if not wanted_kernels:
                raise
            raise NotGenerated(stream.operator.name, str(error)) from error
        yield case


def _job(
    case: Case, backends: tuple[str, ...], level: Level | None, execute: Execute | None, anywhere: bool
) -> Job:
    """The job of a case: for any process if it can run ``anywhere``, else for threads of this one."""
    if anywhere:
        return case_job(case, backends, level)
    return Job(str(case.number), run_case, (case, backends, level, execute))


class NotGenerated(UserError):
    """The case generator has no fill rule for some tensor of an operator yet."""

    def __init__(self, operator: str, reason: str) -> None:
        super().__init__(f"no cases can be generated for {operator} yet: {reason}")


# ------------------------------------------------------------------------------------------------
# A case as a job of another process


@dataclass(frozen=True, kw_only=True)
class CaseData:
    """What a case is made of, as it travels; ``device``: the name of the one that its kernels are for;
    ``content``: of the files that declare its operator."""

    source: str
    device: str
    content: str
    mode: str
    seed: int
    number: int
    attempt: int
    assignment: Mapping[str, Any]
    integers: Mapping[str, Array]

    def case(self) -> Case:
        """The case.

        Raises:
            SpecDiffers: the spec of this process is another one.
        """
        operator, members = operator_of(self.source, self.device)
        if operator.content_key != self.content:  # perhaps another file had this name when it was read
            operator_of.cache_clear()
            operator, members = operator_of(self.source, self.device)
        if operator.content_key != self.content:
            raise SpecDiffers(self.source)
        return Case(
            operator, members[self.mode], self.seed, self.number, self.assignment, self.integers, self.attempt
        )


class SpecDiffers(UserError):
    """A process that shall run a case has another spec than the one that made it."""

    def __init__(self, source: str) -> None:
        super().__init__(f"the spec '{source}' has changed, or is another one where the case runs")


class CannotTravel(UserError):
    """Cases of an operator that no file declares, or of a project, run in this process alone."""

    def __init__(self, operator: str) -> None:
        super().__init__(
            f"the cases of {operator} run in this process alone: a scheduler and a journal need an operator "
            "that a file declares, without --coverage and --project"
        )


def travels(operator: Operator, execute: Execute | None) -> bool:
    """Whether other processes can make the cases of an operator."""
    return execute is None and operator.content_key is not None


def case_job(case: Case, backends: tuple[str, ...], level: Level | None) -> Job:
    """The job of running a case anywhere; its key says all that decides the row but the compiler."""
    data = case_data(case)
    told = (data.source, data.seed, data.number, backends, level, sorted(data.assignment.items()))
    key = content_key(sources_key(), data.content, repr(told))
    return Job(
        f"{case.operator.name}-{data.seed}-{data.number}-{key[:16]}", run_case_data, (data, backends, level)
    )


def case_data(case: Case) -> CaseData:
    """What a case is made of; its operator is one that a file declares."""
    content = case.operator.content_key
    assert content is not None, "asked of operators that travel"
    return CaseData(
        source=case.operator.source,
        device=case.operator.device.name,
        content=content,
        mode=case.space.operator.name,
        seed=case.seed,
        number=case.number,
        attempt=case.attempt,
        assignment=dict(case.assignment),
        integers=dict(case.integers),
    )


def run_case_data(data: CaseData, backends: tuple[str, ...], level: Level | None) -> Row:
    """The row of a case that another process made."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return run_case(data.case(), backends, level)


def emulator_identity() -> tuple[str, str]:
    """A key over the emulator's own sources, and the version of the compiler, "none" without one."""
    compiler = find_compiler()
    return own_sources_key(), compiler.version if compiler else "none"


@lru_cache(maxsize=8)
def operator_of(source: str, device: str) -> tuple[Operator, dict[str, CaseSpace]]:
    """An operator on a device and its case spaces by mode, once a process."""
    operator = load(source).on(device_named(device))
    return operator, {space.operator.name: space for space in spaces(operator)}
