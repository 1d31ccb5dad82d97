"""Running cases on the backends and judging what comes back."""

from __future__ import annotations

import errno
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from attndsl.api.backends import BACKENDS, run_checked
from attndsl.base.disk_cache import CacheNotWritable, content_key
from attndsl.base.errors import InternalError, UserError
from attndsl.base.jobs import worker_count
from attndsl.base.package_files import sources_key
from attndsl.campaign.jobs import Job, Jobs, LocalProcesses, LocalThreads, results_of
from attndsl.campaign.results import BEYOND_TARGET, MISS, NOT_LOWERED, PASS, BackendResult, Row, Verification
from attndsl.compiler.prepare_launch import Launch, prepare
from attndsl.emulator.errors import CompilerMissing, EmulatorNotCompiled, WrongCompiler
from attndsl.emulator.report import Report
from attndsl.emulator.toolchain import find_compiler, own_sources_key
from attndsl.graph.nodes import BlockRequantize, Dequantize
from attndsl.lowering.errors import NotLowered
from attndsl.reference.threads import single_threaded_blas
from attndsl.spec.binding.call import Call
from attndsl.spec.contract.layout import Array
from attndsl.spec.errors import TargetLimitError
from attndsl.spec.operator.loader import load
from attndsl.spec.operator.operator import Operator
from attndsl.target import device as device_named
from attndsl.verify.cases.case import Case
from attndsl.verify.cases.cases import Stream, WantedKernel, spaces, stream_of
from attndsl.verify.cases.changed_case import with_changes
from attndsl.verify.cases.effects import effective_features
from attndsl.verify.cases.features import declared_features, features_of, work_of
from attndsl.verify.cases.stored_cases import stored_effects
from attndsl.verify.judge import benchmark
from attndsl.verify.judge.compare import (
    LEVELS,
    Comparison,
    Errors,
    Level,
    Ratios,
    compare,
    extended,
    index_text,
    tolerance,
)
from attndsl.verify.judge.golden import Golden, Result, golden, with_own_arrays
from attndsl.verify.judge.integral import compare_indices, compare_quantized
from attndsl.verify.space import argument_roles
from attndsl.verify.space.space import CaseSpace
from attndsl.verify.space.values import PROBE, SATURATED

Progress = Callable[[int, int], object]
Execute = Callable[[Launch], Report]
DEFAULT_CASES = 48
_OF_NO_CASE = (InternalError, CompilerMissing, WrongCompiler, CacheNotWritable, EmulatorNotCompiled)
"""What says nothing about a case, and would come again with each: the installation or attndsl is broken."""


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
    if (jobs is not None or journal is not None) and not travels(operator, execute):
        raise CannotTravel(operator.name)
    started = time.monotonic()
    chosen = tuple(name for name in BACKENDS if name == "reference" or name in set(backends))
    stream = stream_of(operator, seed, tuple(kernels))
    wanted = frozenset(only)
    count = max(wanted) + 1 if wanted else cases
    total = len(wanted) or cases
    local = jobs is None and not travels(operator, execute)
    with warnings.catch_warnings():  # here, for all threads: filters are one state of the process
        warnings.simplefilter("ignore")
        found = results_of(
            (
                _job_here(case, chosen, level, execute) if local else case_job(case, chosen, level)
                for case in _chosen(stream, count, bool(kernels), wanted, changes or {}, made)
            ),
            LocalThreads(worker_count()) if local else jobs or LocalProcesses(),
            journal,
            None if progress is None else lambda done: progress(done, total),
        )
    rows = sorted(found.values(), key=lambda row: row.case)
    rows = [replace(row, options=options) for row in rows]
    return Verification(
        operator=operator.name,
        seed=seed,
        backends=chosen,
        rows=tuple(rows),
        excluded=stream.excluded,
        seconds=time.monotonic() - started,
    )


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


def _job_here(case: Case, backends: tuple[str, ...], level: Level | None, execute: Execute | None) -> Job:
    """The job of a case for threads of this process."""
    return Job(str(case.number), run_case, (case, backends, level, execute))


class NotGenerated(UserError):
    """The case generator has no fill rule for some tensor of an operator yet."""

    def __init__(self, operator: str, reason: str) -> None:
        super().__init__(f"no cases can be generated for {operator} yet: {reason}")


def run_case(
    case: Case,
    backends: Iterable[str] = BACKENDS,
    level: Level | None = LEVELS[0],
    execute: Execute | None = None,
) -> Row:
    """One case on some backends; ``execute``: see :func:`verify`.

    BLAS uses one thread, because what it rounds depends on how many there are.
    """
    with single_threaded_blas():
        return _run_case(case, backends, level, execute)


def _run_case(case: Case, backends: Iterable[str], level: Level | None, execute: Execute | None) -> Row:
    call = case.call()
    wanted = wanted_of(case, call, level)
    results = tuple(judge(call, name, wanted, execute) for name in backends)
    extents, declared = call.extents, declared_features(call)
    return Row(
        operator=case.operator.name,
        source=case.operator.source,
        mode=call.operator.name,
        seed=case.seed,
        case=case.number,
        shape=" ".join(
            f"{role}{extents[role]}" for role in "BNKQTUDEPRW" if role in extents and _shown(extents, role)
        ),
        layout=" ".join(dict.fromkeys(key for key in call.layouts.values() if key)),
        features=features_of(case, call),
        declared=tuple(sorted(declared)),
        effective=tuple(sorted(_effective(case, call, declared))),
        dtype=call.dtype,
        computes_in=benchmark.io_dtype(call).name,
        padded_head_size=call.operator.device.architecture.whole_fractals(extents.get("D", 1)),
        data=case.data,
        work=work_of(case.space, call),
        results=results,
    )


def _effective(case: Case, call: Call, declared: set[str]) -> frozenset[str]:
    """Those of the features of a case that matter in it."""
    integers = [(name, str(array.dtype), array.tolist()) for name, array in sorted(case.integers.items())]
    values = [(name, str(value)) for name, value in sorted(case.assignment.items())]
    told = (case.space.operator.name, case.seed, case.number, case.attempt, values, integers)
    return stored_effects(case.operator, told, lambda: effective_features(call, declared))


def wanted_of(case: Case, call: Call, level: Level | None = LEVELS[0]) -> Wanted:
    """What the results of a case are judged by; ``call``: the case's, ``level``: see :func:`verify`."""
    return Wanted(golden(call), benchmark.run(call), _level(case, call, level), _reach(case, call))


def _level(case: Case, call: Call, level: Level | None) -> Level | None:
    """The limits of the ratios; of inputs that are no random sample, those of means alone.

    Where probabilities or keys come from int8 (which of two equally good roundings is taken decides the
    largest errors), that of the root mean square. Of probes too, by the most lenient level: a few classes of
    keys share their rounding errors, so that results are wrong together or not at all.
    """
    if level is None:
        return None
    if case.data == PROBE:
        return LEVELS[-1].of_squares()
    if any(isinstance(node, BlockRequantize | Dequantize) for node in call.graph.nodes):
        return level.of_squares()
    return level.of_means() if case.data == SATURATED else level


_INEXACT = (
    argument_roles.BIAS,
    argument_roles.SLOPE,
    argument_roles.SCORE_FACTOR,
    argument_roles.EARLIER,
)


def _reach(case: Case, call: Call) -> int:
    """How many bounds the benchmark's error may extend the bound to.

    Of probes four: a key that is lost changes more. Eight where weights are no powers of two, so that those
    of the same class are rounded differently in two tiles, and what cancels leaves that behind.
    """
    if case.data != PROBE:
        return 1
    found = argument_roles.roles_of(call.graph)
    return 8 if any(found.named(role) for role in _INEXACT) else 4


@dataclass(frozen=True)
class Wanted:
    """What results are judged by: golden ones, the benchmark's, the ratios' limits, and ``reach``: how many
    bounds the benchmark's error may extend the bound to."""

    golden: Golden
    benchmark: tuple[Array | None, ...]
    level: Level | None
    reach: int = 1


def judge(call: Call, backend: str, wanted: Wanted, execute: Execute | None = None) -> BackendResult:
    """One backend on one call; ``execute``: see :func:`verify`.

    Raises:
        InternalError, CompilerMissing, WrongCompiler, CacheNotWritable, EmulatorNotCompiled: no fault of
            the call.
    """
    started = time.monotonic()
    own = with_own_arrays(call)
    try:
        outputs, findings = _run(own, backend, execute)
    except _OF_NO_CASE:
        raise
    except NotLowered as gap:
        return BackendResult(backend=backend, status=NOT_LOWERED, message=str(gap))
    except TargetLimitError as limit:
        return BackendResult(backend=backend, status=BEYOND_TARGET, message=str(limit))
    except UserError as error:
        return _failed(backend, started, f"{type(error).__name__}: {error}")
    except Exception as error:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise  # a full disk says nothing about the case
        where = traceback.extract_tb(error.__traceback__)[-1]
        text = f"{type(error).__name__}: {error} ({where.filename.rpartition('/')[2]}:{where.lineno})"
        return _failed(backend, started, text)
    problems = [*findings, *_arguments_after(call, own, wanted.golden)]
    found: list[Comparison] = []
    if len(outputs) != len(wanted.golden.results):
        problems.append(f"{len(outputs)} results instead of {len(wanted.golden.results)}")
    for actual, want, base in zip(outputs, wanted.golden.results, wanted.benchmark, strict=False):
        found.append(_compared(call, actual, want, base, wanted))
        several = len(wanted.golden.results) > 1
        problems += [f"{want.name}: {text}" if several else text for text in found[-1].problems]
    return BackendResult(
        backend=backend,
        status=MISS if problems else PASS,
        error=max((each.error / each.bound for each in found), default=0.0),
        ratios=_worst([each.ratios for each in found if each.ratios is not None]),
        errors=_sum(each.errors for each in found),
        benchmark=_sum(each.benchmark for each in found),
        seconds=time.monotonic() - started,
        message="; ".join(problems),
        notes=tuple(each.note for each in found if each.note),
    )


def _compared(call: Call, actual: Array, want: Result, base: Array | None, wanted: Wanted) -> Comparison:
    """Judge one result by its kind."""
    if want.importance is not None:
        return compare_indices(actual, want.values, want.importance)
    assert base is not None
    sizes = want.row_sizes if wanted.reach > 1 else want.sizes
    keys = max(call.extents.get("T", 1), call.extents.get("U", 0) if "G" in call.extents else 0)
    if want.unrounded is not None and want.step is not None and sizes is not None:
        step = want.step * sizes
        bound = tolerance(benchmark.io_dtype(call).name, keys, dequantized=_dequantized(call))
        bound = extended(bound, _largest_before_rounding(base, want.unrounded, step), wanted.reach)
        return compare_quantized(
            actual,
            want.values,
            want.unrounded,
            step,
            bound,
            one_off=_dequantized(call),
            slack=want.slack,
        )
    precision = benchmark.precision(call, want.name)
    bound = tolerance(precision, keys, dequantized=_dequantized(call))
    return compare(
        actual,
        want.values,
        base,
        bound=bound,
        level=wanted.level,
        empty=want.exact,
        reach=wanted.reach,
        slack=want.slack,
        sizes=sizes,
        precision=precision,
    )


def _largest_before_rounding(values: Array, golden: Array, step: Array) -> float:
    """The largest error of a quantized result before rounding, in units of the float result's size."""
    told = np.isfinite(values) & (step > 0)
    error = np.abs(values - golden) / np.where(told, step, 1.0)
    return float(error[told].max(initial=0.0))


# ------------------------------------------------------------------------------------------------
# The backends: results and findings


def _run(call: Call, backend: str, execute: Execute | None) -> tuple[tuple[Array, ...], tuple[str, ...]]:
    if backend == "emulator" and execute is not None:
        launch = prepare(call)
        report = execute(launch)
        return launch.outputs(), report.first_findings()
    return _BACKENDS[backend](call)


_BACKENDS: dict[str, Callable[[Call], tuple[tuple[Array, ...], tuple[str, ...]]]] = {
    backend: partial(run_checked, backend=backend) for backend in BACKENDS
}


# ------------------------------------------------------------------------------------------------


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


def _failed(backend: str, started: float, message: str) -> BackendResult:
    return BackendResult(backend=backend, status=MISS, seconds=time.monotonic() - started, message=message)


def _arguments_after(call: Call, own: Call, wanted: Golden) -> list[str]:
    """Arguments that are not as they must be afterwards: updated ones, and all others as they were."""
    found = []
    for name, array in call.arrays.items():
        after = own.arrays[name]
        if name in wanted.updated:
            if after.tobytes() != wanted.updated[name].tobytes():
                found.append(_difference(name, after, wanted.updated[name], array))
        elif array.tobytes() != after.tobytes():
            found.append(f"input {name} was changed")
    for name, entries in call.lists.items():
        if any(a.tobytes() != b.tobytes() for a, b in zip(entries, own.lists[name], strict=True)):
            found.append(f"input {name} was changed")
    return found


def _difference(name: str, after: Array, wanted: Array, before: Array) -> str:
    """The first element of an updated argument that is not what it must be."""
    bits = f"u{after.dtype.itemsize}"
    wrong = after.view(bits) != wanted.view(bits)
    at = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
    written = after.view(bits) != before.view(bits)
    what = (
        "not updated"
        if not written[at]
        else "written though it should stay"
        if (wanted.view(bits)[at] == before.view(bits)[at])
        else "updated to another value"
    )
    count = int(wrong.sum())
    return f"{name}: {count} elements differ after the call, first [{index_text(at)}]: {what}"


def _dequantized(call: Call) -> bool:
    return any(isinstance(node, Dequantize) for node in call.graph.nodes)


def _shown(extents: dict[str, int], role: str) -> bool:
    """Whether a size tells something about this call."""
    if role in "PRW":
        return extents.get("W", 0) > 0
    if role == "E":
        return extents.get("E") not in (None, extents.get("D"))
    return role in extents and not (role == "Q" and extents["Q"] == 1)


def _worst(found: list[Ratios]) -> Ratios | None:
    if not found:
        return None
    return Ratios(**{part.name: max(getattr(each, part.name) for each in found) for part in fields(Ratios)})


def _sum(found: Iterable[Errors | None]) -> Errors | None:
    total: Errors | None = None
    for each in found:
        if each is not None:
            total = each if total is None else total + each
    return total
