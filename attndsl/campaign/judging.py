"""One case on some backends; what comes back is judged by the rules of :mod:`attndsl.verify.judge`."""

from __future__ import annotations

import errno
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any

import numpy as np

from attndsl.api.backends import BACKENDS, run_checked
from attndsl.base.disk_cache import CacheNotWritable
from attndsl.base.errors import InternalError, OutsideError, UserError
from attndsl.base.provenance import noted
from attndsl.campaign.less_l2 import call_of
from attndsl.campaign.results import (
    BEYOND_TARGET,
    MEASURED,
    MISS,
    NARROW_SCORES,
    NOT_LOWERED,
    PASS,
    BackendResult,
    Row,
)
from attndsl.compiler.prepare_launch import Launch, prepare
from attndsl.emulator.errors import CompilerMissing, EmulatorNotCompiled, WrongCompiler
from attndsl.emulator.report import Report
from attndsl.graph.nodes import BlockRequantize, Dequantize, LogSumExpMerge
from attndsl.lowering.errors import NotLowered
from attndsl.reference.state import rounded
from attndsl.reference.threads import single_threaded_blas
from attndsl.spec.binding.call import Call
from attndsl.spec.contract.layout import Array
from attndsl.spec.errors import TargetLimitError
from attndsl.tile_interpreter.run_facts import counted_runs
from attndsl.verify.cases.case import Case
from attndsl.verify.cases.effects import effective_features
from attndsl.verify.cases.features import declared_features, features_of, work_of
from attndsl.verify.cases.situations import situations
from attndsl.verify.cases.stored_cases import stored_effects
from attndsl.verify.judge import benchmark
from attndsl.verify.judge.compare import (
    LEVELS,
    Comparison,
    Errors,
    Level,
    Ratios,
    Shared,
    compare,
    extended,
    index_text,
    tolerance,
)
from attndsl.verify.judge.golden import Golden, Result, golden, with_own_arrays
from attndsl.verify.judge.integral import compare_indices, compare_quantized
from attndsl.verify.judge.narrow_scores import narrows_scores
from attndsl.verify.judge.open_ranges import range_advice
from attndsl.verify.space import argument_roles
from attndsl.verify.space.values import PROBE, SATURATED, SUNK

Execute = Callable[[Launch], Report]
ENGINES = {"reference": "reference in float32", "tile": "tile interpreter", "emulator": "emulator"}
"""By backend, what alone may compute its results (:mod:`attndsl.base.provenance`)."""
_ORACLE = "reference in float64"
_OF_NO_CASE = (InternalError, CompilerMissing, WrongCompiler, CacheNotWritable, EmulatorNotCompiled)
"""What says nothing about a case, and would come again with each: the installation or attndsl is broken."""


def run_case(
    case: Case,
    backends: Iterable[str] = BACKENDS,
    level: Level | None = LEVELS[0],
    execute: Execute | None = None,
) -> Row:
    """One case on some backends; ``execute``: see :func:`attndsl.campaign.runner.verify`.

    BLAS uses one thread, because what it rounds depends on how many there are.
    """
    with single_threaded_blas():
        return _run_case(case, backends, level, execute)


def _run_case(case: Case, backends: Iterable[str], level: Level | None, execute: Execute | None) -> Row:
    call = call_of(case)
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
        situations={each.name: each.holds(call) for each in situations(case.space)},
        results=results,
        accuracy=_accuracy(call, wanted),
        unjudged=sum(
            int(np.isnan(each.slack).sum()) for each in wanted.golden.results if each.slack is not None
        ),
        parameters={name: _plain(value) for name, value in call.params.items()},
        stated=tuple(
            each.name
            for each in call.operator.params
            if not each.optional or call.params[each.name] != each.default
        ),
    )


def _accuracy(call: Call, wanted: Wanted) -> str:
    """What the results of a case are judged by beside their elementwise bound."""
    if narrows_scores(call):
        return NARROW_SCORES
    return MEASURED if wanted.level is None else wanted.level.name


def _plain(value: Any) -> Any:
    """The value of a parameter as JSON has it: reserved bytes as numbers."""
    return list(value) if isinstance(value, bytes) else value


def _effective(case: Case, call: Call, declared: set[str]) -> frozenset[str]:
    """Those of the features of a case that matter in it."""
    integers = [(name, str(array.dtype), array.tolist()) for name, array in sorted(case.integers.items())]
    values = [(name, str(value)) for name, value in sorted(case.assignment.items())]
    told = (case.space.operator.name, case.seed, case.number, case.attempt, values, integers)
    return stored_effects(case.operator, told, lambda: effective_features(call, declared))


def wanted_of(case: Case, call: Call, level: Level | None = LEVELS[0]) -> Wanted:
    """What the results of a case are judged by.

    ``call``: the case's; ``level``: see :func:`attndsl.campaign.runner.verify`.
    """
    return Wanted(oracle(call), benchmark.run(call), _level(case, call, level), _reach(case, call))


def oracle(call: Call) -> Golden:
    """The golden results of a call, computed in float64.

    Raises:
        InternalError: they are not.
    """
    with noted() as engines:
        found = golden(call)
    if _ORACLE not in engines:
        raise InternalError(f"golden results are computed by {_spoken(engines)}")
    return found


def _level(case: Case, call: Call, level: Level | None) -> Level | None:
    """The limits of the ratios; of inputs that are no random sample, those of means alone.

    Sunk scores, too, are no random sample where parts are merged: in the benchmark parts weigh by the scores
    of the float32 reference, so that of single keys it has the rounding errors of these alone, of scores of
    the order 100; another order of summation has others.

    Where probabilities or keys come from int8 (which of two equally good roundings is taken decides the
    largest errors), that of the root mean square. Of probes too, by the most lenient level: a few classes of
    keys share their rounding errors, so that results are wrong together or not at all.

    None where scores pass in float16: what rounding makes of them is in the golden results' slack
    (:mod:`attndsl.verify.judge.narrow_scores`).
    """
    if level is None or narrows_scores(call):
        return None
    if case.data == PROBE:
        return LEVELS[-1].of_squares()
    if any(isinstance(node, BlockRequantize | Dequantize) for node in call.graph.nodes):
        return level.of_squares()
    merges = any(isinstance(node, LogSumExpMerge) for node in call.graph.nodes)
    large = case.data == SATURATED or (case.data == SUNK and merges)
    return level.of_means() if large else level


_INEXACT = (
    argument_roles.BIAS,
    argument_roles.SLOPE,
    argument_roles.SCORE_FACTOR,
    argument_roles.KEY_FACTOR,
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
    bounds the benchmark's error may extend the bound to. ``shared``: what judging one backend has found that
    holds for the others, by result."""

    golden: Golden
    benchmark: tuple[Array | None, ...]
    level: Level | None
    reach: int = 1
    shared: dict[str, Shared] = field(default_factory=dict, init=False)


def judge(call: Call, backend: str, wanted: Wanted, execute: Execute | None = None) -> BackendResult:
    """One backend on one call; ``execute``: see :func:`attndsl.campaign.runner.verify`.

    Raises:
        InternalError, CompilerMissing, WrongCompiler, CacheNotWritable, EmulatorNotCompiled: no fault of
            the call.
    """
    started = time.monotonic()
    own = with_own_arrays(call)
    try:
        with noted() as engines, counted_runs() as runs:
            outputs, findings = _run(own, backend, execute)
    except _OF_NO_CASE:
        raise
    except NotLowered as gap:
        return BackendResult(backend=backend, status=NOT_LOWERED, message=str(gap))
    except TargetLimitError as limit:
        return BackendResult(backend=backend, status=BEYOND_TARGET, message=str(limit))
    except (UserError, OutsideError) as error:
        return _failed(backend, started, f"{type(error).__name__}: {error}")
    except Exception as error:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise  # a full disk says nothing about the case
        where = traceback.extract_tb(error.__traceback__)[-1]
        text = f"{type(error).__name__}: {error} ({where.filename.rpartition('/')[2]}:{where.lineno})"
        return _failed(backend, started, text)
    problems = [*findings, *_of_others(backend, engines), *_arguments_after(call, own, wanted.golden)]
    found: list[Comparison] = []
    if len(outputs) != len(wanted.golden.results):
        problems.append(f"{len(outputs)} results instead of {len(wanted.golden.results)}")
    for actual, want, base in zip(outputs, wanted.golden.results, wanted.benchmark, strict=False):
        found.append(_compared(call, actual, want, base, wanted))
        several = len(wanted.golden.results) > 1
        problems += [f"{want.name}: {text}" if several else text for text in found[-1].problems]
    if found and problems and backend == "reference" and (advice := range_advice(call)):
        problems.append(advice)
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
        facts=runs[0] if runs else None,
    )


def _of_others(backend: str, engines: list[str]) -> list[str]:
    """Whether anyone else had a part in the results of a backend, or it had none: they would say nothing."""
    if engines == [ENGINES[backend]]:
        return []
    return [f"these are no results of the {backend} backend: {_spoken(engines)} ran"]


def _spoken(engines: list[str]) -> str:
    return " and ".join(f"the {each}" for each in engines) or "nothing"


def _compared(call: Call, actual: Array, want: Result, base: Array | None, wanted: Wanted) -> Comparison:
    """Judge one result by its kind."""
    if want.importance is not None:
        return compare_indices(actual, want.values, want.importance)
    actual, want = _specified(actual, want)
    assert base is not None
    sizes = want.row_sizes if wanted.reach > 1 else want.sizes
    if want.step is not None and sizes is not None:
        assert want.unrounded is not None  # they come together
        step = want.step * sizes
        bound = tolerance(benchmark.io_dtype(call).name, _keys(call), dequantized=_dequantized(call))
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
    return compare(
        actual,
        want.values,
        base,
        bound=bound_of(call, want.name),
        level=wanted.level,
        empty=want.exact,
        reach=wanted.reach,
        slack=want.slack,
        sizes=sizes,
        precision=benchmark.precision(call, want.name),
        shared=wanted.shared.setdefault(want.name, Shared()),
    )


def _specified(actual: Array, want: Result) -> tuple[Array, Result]:
    """A result and what it must be; what a score or weight beyond its dtype makes of elements is
    right whatever it is."""
    if want.slack is None or actual.shape != want.slack.shape or not (beyond := np.isnan(want.slack)).any():
        return actual, want
    found = np.where(beyond, rounded(want.values, actual.dtype), actual)
    return found, replace(want, slack=np.where(beyond, 0.0, want.slack))


def bound_of(call: Call, result: str) -> float:
    """How far elements of a result may be off, in units of their size, as :func:`compare` takes it."""
    return tolerance(benchmark.precision(call, result), _keys(call), dequantized=_dequantized(call))


def _keys(call: Call) -> int:
    """The keys that a row may have: of a batch row, or of a group that shares them."""
    return max(call.extents.get("T", 1), call.extents.get("U", 0) if "G" in call.extents else 0)


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
