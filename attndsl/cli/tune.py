"""What ``attndsl tune`` tells: the schedules that were tried for a call, as lines and as a document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from attndsl.codegen.kernel_set.kernel_names import kernel_name
from attndsl.compiler.compile import Compiled
from attndsl.compiler.prepare_launch import launch_of
from attndsl.compiler.stored_schedules import StoredSchedule, condition_of, store, stored_entry
from attndsl.emulator import Knobs
from attndsl.execute.execute import execute
from attndsl.profile.calibration_text import calibration_lines
from attndsl.spec.binding.call import Call
from attndsl.target import Device
from attndsl.tuning.candidates import Candidate, Candidates
from attndsl.tuning.search import Search, Trial, search

_SHOWN = 5
"""Candidates that were not predicted, of those with the best rank."""


@dataclass(frozen=True)
class Tuned:
    """The search for a call's kernel.

    ``stored``: the entry that there was. ``written``: the file that was changed.
    """

    call: Call
    found: Search
    stored: StoredSchedule | None
    written: Path | None = None

    @property
    def device(self) -> Device:
        """The device that times are predicted for."""
        return self.found.default.compiled.program.device

    @property
    def sizes(self) -> dict[str, int]:
        """The call's sizes by name."""
        return {name: int(value) for name, value in self.call.dims.items() if value}

    @property
    def left_out(self) -> tuple[Candidate, ...]:
        """Candidates without a prediction, the best ranks first."""
        done = {trial.candidate.schedule for trial in self.found.trials}
        unfit = {candidate.schedule for candidate in self.found.unfit}
        return tuple(each for each in self.found.bounded if each.schedule not in done | unfit)

    def to_json(self) -> dict[str, Any]:
        """The document of ``attndsl tune --json``."""
        default, compiled = self.found.default, self.found.default.compiled
        return {
            "operator": compiled.operator.name,
            "device": self.device.name,
            "kernel": kernel_name(compiled),
            "specialization": condition_of(compiled.operator, compiled.specialization),
            "sizes": self.sizes,
            "model": self.device.model_version,
            "default_microseconds": default.predicted,
            "best_options": dict(self.found.best.candidate.options),
            "best_microseconds": self.found.best.predicted,
            "candidates": [
                *(self._row(trial.candidate, trial) for trial in self.found.trials),
                *(self._row(candidate, None) for candidate in self.left_out),
            ],
            "unfit": [dict(candidate.options) for candidate in self.found.unfit],
            "stored": None if self.stored is None else asdict(self.stored),
            "written": None if self.written is None else str(self.written),
            "calibration_error": dict(self.device.calibration_error),
        }

    def _row(self, candidate: Candidate, trial: Trial | None) -> dict[str, Any]:
        bounds, default = candidate.bounds, self.found.default.predicted
        return {
            "options": dict(candidate.options),
            "schedule": asdict(candidate.schedule),
            "bound_microseconds": bounds.least,
            "limited_by": bounds.limit,
            "bounds_microseconds": dict(bounds.microseconds),
            "rank_microseconds": bounds.rank,
            "predicted_microseconds": None if trial is None else trial.predicted,
            "ratio": None if trial is None else round(trial.predicted / default, 4),
        }

    def lines(self) -> Iterator[str]:
        """The search as text."""
        sizes = ", ".join(f"{name}={value}" for name, value in self.sizes.items())
        found = self.found
        yield f"{kernel_name(found.default.compiled)}: {sizes}"
        yield (
            f"    on {self.device.title}, model {self.device.model_version}: {len(found.bounded)} schedules "
            f"bounded, {len(found.trials)} of them predicted, {len(found.unfit)} do not fit"
        )
        yield f"    {'predicted':>12} {'ratio':>7} {'bound':>12}  {'limited by':10}  options"
        for trial in found.trials:
            ratio, mark = (
                trial.predicted / found.default.predicted,
                "  <- best" if trial is found.best else "",
            )
            yield f"    {trial.predicted:9.1f} us {ratio:7.3f} {bound_text(trial.candidate)}{mark}"
        for candidate in self.left_out[:_SHOWN]:
            yield f"    {'-':>12} {'-':>7} {bound_text(candidate)}"
        if len(self.left_out) > _SHOWN:
            yield f"    and {len(self.left_out) - _SHOWN} more with bounds alone; --top predicts more"
        if self.stored is not None:
            stale = "" if self.stored.model == self.device.model_version else ", of another model: not used"
            yield f"    stored: {options_text(self.stored.options)}{stale}"
        if self.written is not None:
            what = options_text(found.best.candidate.options) if found.best.candidate.options else "no entry"
            yield f"    {self.written}: {what}"
        yield from calibration_lines(self.device)


def bound_text(candidate: Candidate) -> str:
    """A candidate's bound, what limits it, and its options."""
    bounds = candidate.bounds
    return f"{bounds.least:9.1f} us  {bounds.limit:10}  {options_text(candidate.options)}"


def options_text(options: Mapping[str, int | str]) -> str:
    """Options as an author would state them."""
    return ", ".join(f"{name}={value!r}" for name, value in options.items()) or "default"


def tune_call(call: Call, top: int, *, write: Mapping[str, int] | None = None) -> Tuned:
    """Search for the best schedule of the kernel that a call needs.

    Args:
        top: schedules besides the default, and the stored one, that the emulator predicts.
        write: the sizes that were asked for, to store the best one with, or to take the entry away if nothing
            is faster than the default; None stores nothing.

    Raises:
        ScheduleError: the operator has no kernel for the call, or a stored choice is illegal.
        StoredSchedulesError: the stored choices cannot be read or written.
        FindingsError: the checks that need no data found a defect in a kernel.
    """
    candidates = Candidates(call)

    def measure(compiled: Compiled) -> float:
        report = execute(launch_of(call, compiled), Knobs(timing=True))
        report.raise_for_findings()
        return float(report.counters["microseconds"])

    known = stored_entry(candidates.operator, candidates.special)
    found = search(candidates, measure, top, None if known is None else known.options)
    tuned = Tuned(call, found, known)
    if write is None:
        return tuned
    entry = _entry(tuned, write) if found.best.candidate.options else None
    return Tuned(call, found, known, store(candidates.operator, candidates.special, entry))


def _entry(tuned: Tuned, shape: Mapping[str, int]) -> StoredSchedule:
    best, compiled = tuned.found.best, tuned.found.default.compiled
    return StoredSchedule(
        **condition_of(compiled.operator, compiled.specialization),
        options=dict(best.candidate.options),
        shape=dict(shape),
        predicted_microseconds=best.predicted,
        default_microseconds=tuned.found.default.predicted,
        model=tuned.device.model_version,
    )
