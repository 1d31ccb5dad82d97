"""Runs of public kernels and of ours on the same numbers, and what is said of them."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
from public_programs import run_with_files

from attndsl.base.errors import AttnDslError
from attndsl.campaign.judging import bound_of
from attndsl.compiler.prepare_launch import prepare
from attndsl.emulator.program import Program
from attndsl.execute.execute import execute
from attndsl.spec.binding.call import Call
from attndsl.target import DEFAULT_DEVICE, device
from attndsl.verify.judge import benchmark
from attndsl.verify.judge.compare import Comparison, compare, tolerance
from attndsl.verify.judge.golden import Result, golden
from attndsl.verify.judge.integral import compare_quantized

Array = npt.NDArray[Any]
DTYPES: Mapping[str, Any] = {"half": np.float16, "bf16": ml_dtypes.bfloat16}


@dataclass(frozen=True)
class PublicRun:
    """A command of a public program, in a folder with its files.

    Attributes:
        build: compiles it.
        arguments: of its command line.
        files: what it reads: NAME.bin of each.
        explained: why it may miss or have findings, where documents say so; a miss then is no failure.
        noted: why it may have findings; its result is judged all the same.
    """

    build: Callable[[], Program]
    arguments: tuple[str, ...]
    files: Mapping[str, Array]
    explained: str = ""
    noted: str = ""


@dataclass(frozen=True)
class Problem:
    """A call of ours, whose first result public programs compute from the same numbers.

    ``from_public``: their result in the layout of ours.
    """

    name: str
    call: Call
    from_public: Callable[[Array], Array]
    public: dict[str, PublicRun] = field(default_factory=dict)


@dataclass(frozen=True)
class Ran:
    """What a kernel gave. ``microseconds``: predicted, of all its launches; ``says``: what it printed."""

    values: Array
    findings: tuple[str, ...]
    microseconds: float
    says: str = ""


@dataclass(frozen=True)
class Expected:
    """The first result of a call in float64, and a plain computation of it in its dtype."""

    call: Call
    golden: Result
    plain: Array

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the result."""
        quantized = self.golden.unrounded is not None
        return self.golden.values.dtype if quantized else self.plain.dtype


def numbers(seed: int, dtype: str, *shape: int) -> Array:
    """Numbers between -1 and 1; ``dtype``: "half" or "bf16"."""
    return np.random.default_rng(seed).uniform(-1.0, 1.0, shape).astype(DTYPES[dtype])


def run_ours(call: Call) -> Ran:
    """Our kernel on the emulator."""
    launch = prepare(call)
    report = execute(launch)
    on = launch.compiled.program.device
    return Ran(launch.outputs()[0], report.first_findings(), on.microseconds(report.counters["total_cycles"]))


def run_public(run: PublicRun, expected: Expected) -> Ran:
    """A public program on the emulator: what it copies to the host last is its result.

    Examples of catlass compare it with golden.bin, in float32, and one with cpu_low.bin, in the io dtype.

    Raises:
        EmulatorError: it does not compile, or is refused.
        RuntimeError: it launches nothing, copies nothing or something else than a result, or does not end by
            itself.
    """
    on = device(DEFAULT_DEVICE)
    program = run.build()
    own = {"golden": expected.golden.values.astype(np.float32), "cpu_low": expected.plain}
    with tempfile.TemporaryDirectory() as copies:
        report = run_with_files(program, run.arguments, {**run.files, **own}, on, copies=Path(copies))
        found = sorted(Path(copies).iterdir())
        if report.error:  # what it copied before may be another run's result
            raise RuntimeError(report.error)
        if not found:
            raise RuntimeError(f"{program.path.name} copied nothing: {report.stdout}")
        values = np.fromfile(found[-1], expected.dtype)
        if values.size != expected.plain.size:
            raise RuntimeError(f"{program.path.name} copied {values.size} numbers, not {expected.plain.size}")
    cycles = sum(launch["cycles"] for launch in report.launches)
    findings = tuple(str(each) for each in report.findings)
    return Ran(values, findings, on.microseconds(cycles), report.stdout.strip())


def expected_of(call: Call) -> Expected:
    """What the first result of a call should be."""
    plain = benchmark.run(call)[0]
    assert plain is not None
    return Expected(call, golden(call).results[0], plain)


def judged(expected: Expected, values: Array) -> Comparison:
    """A result, as ``verify`` judges it element by element."""
    call, want = expected.call, expected.golden
    if want.unrounded is not None and want.step is not None and want.sizes is not None:
        bound = tolerance(benchmark.io_dtype(call).name, call.extents["T"])
        return compare_quantized(values, want.values, want.unrounded, want.step * want.sizes, bound)
    return compare(
        values,
        want.values,
        expected.plain,
        bound=bound_of(call, want.name),
        level=None,
        empty=want.exact,
        sizes=want.sizes,
        precision=benchmark.precision(call, want.name),
    )


def joined(problems: Iterable[Problem]) -> list[Problem]:
    """Problems of one name as one, with the public runs of all."""
    found: dict[str, Problem] = {}
    for each in problems:
        found.setdefault(each.name, each).public.update(each.public)
    return list(found.values())


def compare_problem(problem: Problem) -> bool:
    """Prints a problem's results side by side; whether all are right, and ours without findings.

    A kernel that does not compile, dies or copies nothing is a row of its own, and the others run.
    """
    print(problem.name, flush=True)
    expected = expected_of(problem.call)
    ours = _attempt("ours", lambda: run_ours(problem.call))
    right = ours is not None and _told("ours", expected, ours) and not ours.findings
    for name, run in problem.public.items():
        theirs = _attempt(name, partial(run_public, run, expected))
        if theirs is None:
            right = False
            continue
        good = _told(name, expected, replace(theirs, values=problem.from_public(theirs.values)), ours)
        if run.explained or (theirs.findings and run.noted):
            print(f"    explained: {run.explained or run.noted}")
        right &= good or bool(run.explained)
    return right


def _attempt(name: str, run: Callable[[], Ran]) -> Ran | None:
    """What a kernel gave, or a row that says why it gave nothing."""
    try:
        return run()
    except (AttnDslError, RuntimeError) as error:
        first, *more = str(error).splitlines() or [type(error).__name__]
        print(f"  {name:<11} does not run: {first}")
        for line in more:
            print(f"    {line}")
        sys.stdout.flush()
        return None


def _told(name: str, expected: Expected, ran: Ran, ours: Ran | None = None) -> bool:
    comparison = judged(expected, ran.values)
    verdict = "right" if comparison.ok else "; ".join(comparison.problems)
    beside = f", ours {ours.microseconds / ran.microseconds:.2f} of it" if ours else ""
    print(
        f"  {name:<11} {verdict}: off by {comparison.error:.1e} of {comparison.bound:.1e} allowed, "
        f"{ran.microseconds:.1f} us{beside}"
    )
    for line in (*ran.says.splitlines(), *ran.findings):
        print(f"    {line}")
    sys.stdout.flush()
    return comparison.ok
