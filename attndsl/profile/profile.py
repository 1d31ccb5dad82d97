"""Predicted time of one call's kernel: where it goes, and how far it is from the device's own bounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from attndsl.codegen.kernel_set.kernel_names import kernel_name
from attndsl.compiler.prepare_launch import Launch, prepare
from attndsl.emulator import Knobs
from attndsl.emulator.report import Report
from attndsl.execute.execute import execute, make_ready
from attndsl.expr import as_expr
from attndsl.profile.calibration_text import calibration_lines
from attndsl.profile.extrapolation import (
    LONGEST_RUN,
    Extrapolation,
    extrapolated,
    items_of_blocks,
    whole_because,
    whole_counters,
)
from attndsl.spec.binding.call import Call
from attndsl.target import Device
from attndsl.target.costs import Rate, cost_lines


@dataclass(frozen=True)
class Profile:
    """The prediction for one call; times in microseconds.

    ``bounds``: what each resource would take alone if it never waited: the pipes of the kind of core that has
    most of them busy, L2 for all bytes, memory for the bytes behind it. ``busy``: share of the time that the
    pipes of a kind of core are busy. ``worst``: the time if what is unknown is as bad as it may be.
    ``cube``: share of the part's cube that products take whose operands fill their fractals.
    ``critical_path``: what the time went to along the chain of events that ends last. ``block_ends``: when
    each block is done. ``bank_conflicts``: cycles of all cores by line of the kernel that vector instructions
    took longer. ``extrapolation``: how the call follows from the part of it that was simulated; None: it was
    simulated whole. ``whole_because``: why it was, of a call that was to be extrapolated; empty of others.
    """

    operator: str
    device: Device
    kernel: str
    sizes: Mapping[str, int]
    cores: tuple[int, int, int]
    time: float
    worst: float
    bounds: Mapping[str, float]
    busy: Mapping[str, Mapping[str, float]]
    bytes: Mapping[str, int]
    read_by_tensor: Mapping[str, int]
    cube: float
    critical_path: Mapping[str, float]
    block_ends: tuple[float, ...]
    bank_conflicts: Mapping[str, float]
    schedule: Mapping[str, int | str]
    extrapolation: Extrapolation | None = None
    whole_because: str = ""

    @property
    def limit(self) -> str:
        """The resource that would take longest alone."""
        return max(self.bounds, key=lambda name: self.bounds[name])

    @property
    def attained(self) -> float:
        """The share of the time that this resource would need alone."""
        return self.bounds[self.limit] / self.time if self.time else 0.0

    def hbm(self) -> dict[str, float]:
        """Bytes read from memory as shares of what the time allowed, and R in bytes a second.

        R: :meth:`attndsl.target.Device.readable`; ``of_peak`` is of the rate that documents quote.
        """
        device = self.device
        r = device.readable(device.rates)
        a_second = self.bytes["hbm_read"] / (self.time * 1e-6) if self.time else 0.0
        shares = {
            "of_r": r,
            "of_memory": device.memory_bandwidth.value,
            "of_peak": device.memory_peak.value,
        }
        return {"r": r, **{name: round(a_second / rate, 4) for name, rate in shares.items()}}

    def to_json(self) -> dict[str, Any]:
        """The document of ``attndsl profile --json``."""
        return {
            "operator": self.operator,
            "device": self.device.name,
            "kernel": self.kernel,
            "sizes": dict(self.sizes),
            "cores": list(self.cores),
            "predicted_microseconds": self.time,
            "worst_microseconds": self.worst,
            "extrapolated": None if self.extrapolation is None else self.extrapolation.to_json(),
            "simulated_whole_because": self.whole_because or None,
            "launch_microseconds": self.device.launch_microseconds,
            "bounds_microseconds": dict(self.bounds),
            "limited_by": self.limit,
            "attained": round(self.attained, 4),
            "busy_share": {kind: dict(pipes) for kind, pipes in self.busy.items()},
            "cube_utilization": round(self.cube, 4),
            "hbm_utilization": self.hbm(),
            "bytes": {**self.bytes, "hbm_read_by_tensor": dict(self.read_by_tensor)},
            "bank_conflict_cycles": round(sum(self.bank_conflicts.values()), 2),
            "bank_conflict_cycles_by_line": dict(self.bank_conflicts),
            "critical_path": dict(self.critical_path),
            "block_ends_microseconds": list(self.block_ends),
            "schedule": dict(self.schedule),
            "calibration_error": dict(self.device.calibration_error),
        }

    def lines(self) -> Iterator[str]:
        """The prediction as text."""
        sizes = ", ".join(f"{name}={value}" for name, value in self.sizes.items())
        blocks, cubes, vectors = self.cores
        yield f"{self.kernel}: {sizes}"
        empty = [name for name, value in self.sizes.items() if not value]
        if empty:
            yield f"    {' and '.join(empty)} of 0: the call has nothing to compute, its kernel only starts"
        yield f"    on {blocks} blocks of {cubes} AIC and {vectors} AIV of {self.device.title}"
        launch = self.device.launch_microseconds
        yield f"    predicted {self.time:.1f} us, at worst {self.worst:.1f}; a launch adds about {launch:g}"
        if self.extrapolation is not None:
            yield f"    {self.extrapolation.words}"
        elif self.whole_because:
            yield f"    simulated whole: {self.whole_because}"
        yield f"    {self.attained:.0%} of what {self.limit} allows; at best, by resource:"
        for name, bound in largest_first(self.bounds):
            yield f"        {name:12} {bound:10.1f} us"
        for kind, pipes in self.busy.items():
            shares = ", ".join(f"{pipe} {share:.0%}" for pipe, share in pipes.items() if share >= 0.005)
            yield f"    busy {kind}: {shares}"
        hbm = self.hbm()
        yield (
            f"    {self.cube:.1%} of the cube; {self.bytes['hbm_read'] / 1e6:.1f} MB from memory, "
            f"{hbm['of_r']:.1%} of the {hbm['r'] / 1e12:.2f} TB/s that loads reach, "
            f"{hbm['of_peak']:.1%} of the peak"
        )
        path = largest_first(self.critical_path)[:6]
        yield "    on the critical path: " + ", ".join(f"{what} {us:.1f} us" for what, us in path)
        conflicts = sum(self.bank_conflicts.values())
        if conflicts:
            where, most = max(self.bank_conflicts.items(), key=lambda item: item[1])
            yield f"    bank conflicts: {conflicts:.0f} cycles of all cores, {most:.0f} of them at {where}"
        yield from calibration_lines(self.device)


def largest_first(values: Mapping[str, float]) -> list[tuple[str, float]]:
    """Names with their values, the largest first."""
    return sorted(values.items(), key=lambda item: -item[1])


def profile_call(
    call: Call,
    *,
    cores: int | None = None,
    trace: Path | None = None,
    rates: Mapping[str, Rate] | None = None,
    most_core_cycles: int = 0,
) -> Profile:
    """Runs the call's kernel on the emulator without data and reads its timeline.

    ``cores``: blocks at most, None: all. ``rates``: numbers in place of some of the device's.
    ``most_core_cycles``: cycles of all cores together that are simulated of a call whose work can be counted
    beforehand, the rest is extrapolated; 0: all.

    Raises:
        FindingsError: the checks that need no data found a defect in the kernel.
        ScheduleError: the operator has no kernel for the call.
    """
    launch = prepare(call, cores)
    device = launch.compiled.program.device
    used = {**device.rates, **(rates or {})}
    costs = (cost_lines(device.costs, used), device.worst_costs(used))
    reason = whole_because(launch)
    report, (counters, worst), found = _simulated(launch, costs, trace, 0 if reason else most_core_cycles)
    counts = _core_counts(report)
    is_long = 0 < most_core_cycles < counters["total_cycles"] * sum(counts.values())
    total = max(counters["total_cycles"], 1e-9)
    return Profile(
        operator=call.operator.name,
        device=device,
        kernel=kernel_name(launch.compiled),
        sizes=_sizes(call),
        cores=report.cores,
        time=float(counters["microseconds"]),
        bounds=_bounds(counters, counts, device, used),
        busy={
            kind: {
                pipe: round(cycles / (total * counts[kind]), 4)
                for pipe, cycles in counters["busy_by_core"][kind].items()
            }
            for kind in counts
        },
        worst=max(float(worst["microseconds"]), float(counters["microseconds"])),
        bytes={
            "hbm_read": int(counters["memory_read_bytes"]),
            "hbm_write": int(counters["memory_bytes"] - counters["memory_read_bytes"]),
            "l2_read": int(sum(counters["gm_read_bytes"].values())),
            "l2_write": int(sum(counters["gm_write_bytes"].values())),
        },
        read_by_tensor={name: size for name, size in counters["memory_read_by_tensor"].items() if size},
        cube=counters["product_cycles"] / (total * device.aic),
        critical_path={
            what: device.microseconds(cycles) for what, cycles in counters["critical_path"].items() if cycles
        },
        block_ends=tuple(map(device.microseconds, counters["block_ends"])),
        bank_conflicts=counters["bank_conflicts"],
        schedule=asdict(launch.compiled.schedule),
        extrapolation=found if isinstance(found, Extrapolation) else None,
        whole_because="" if isinstance(found, Extrapolation) else found or (reason if is_long else ""),
    )


_Counters = Mapping[str, Any]


def _simulated(
    launch: Launch, costs: Sequence[str], trace: Path | None, most: int
) -> tuple[Report, list[_Counters], Extrapolation | str]:
    """The launch's report by the first of the costs, the whole call's counters by each, and how those were
    found, or why no part told them, if any was to. ``trace``: of the first.
    """
    reports = _side_by_side(launch, costs, trace, most)
    reports[0].raise_for_findings()
    counters = [report.counters for report in reports]
    stopped = [each["progress"] is not None for each in counters]
    if not any(stopped):
        return reports[0], counters, ""
    items = items_of_blocks(launch)
    found = [
        extrapolated(each, items) if is_part else "" for each, is_part in zip(counters, stopped, strict=True)
    ]
    reasons = [each for each in found if isinstance(each, str) and each]
    if reasons or not stopped[0]:
        report, whole, _ = _simulated(launch, costs, trace, 0)
        return report, whole, "".join(reasons[:1])
    device = launch.compiled.program.device
    whole_call = [
        each if isinstance(whole, str) else whole_counters(each, whole, device)
        for each, whole in zip(counters, found, strict=True)
    ]
    return reports[0], whole_call, found[0]


def _side_by_side(launch: Launch, costs: Sequence[str], trace: Path | None, most: int) -> list[Report]:
    """A run of the launch by each of the costs, all at once."""
    make_ready(launch)
    knobs, traces = Knobs(timing=True, most_core_cycles=most), [trace, *[None] * (len(costs) - 1)]
    with ThreadPoolExecutor(len(costs)) as pool:
        runs = [
            pool.submit(execute, launch, knobs, trace=file, costs=lines, timeout=LONGEST_RUN)
            for file, lines in zip(traces, costs, strict=True)
        ]
        return [run.result() for run in runs]


def _sizes(call: Call) -> dict[str, int]:
    """The sizes of the tensors that are passed; others are 0."""
    layouts = (call.operator.tensor(name).layouts[key] for name, key in call.layouts.items())
    measured = {name for layout in layouts for extent in layout.shape() for name in as_expr(extent).symbols()}
    return {name: int(value) for name, value in call.dims.items() if value or name in measured}


def _core_counts(report: Report) -> dict[str, int]:
    blocks, cubes, vectors = report.cores
    return {kind: count for kind, count in (("AIC", blocks * cubes), ("AIV", blocks * vectors)) if count}


def _bounds(
    counters: _Counters, cores: Mapping[str, int], device: Device, rates: Mapping[str, Rate]
) -> dict[str, float]:
    moved = sum(counters["gm_read_bytes"].values()) + sum(counters["gm_write_bytes"].values())
    found = {
        "memory": device.microseconds(counters["memory_bytes"] / rates["hbm"].value),
        "L2": device.microseconds(moved / rates["l2"].value),
    }
    # all cores of the part, not only those the launch used
    part = {"AIC": device.aic, "AIV": device.aiv}
    for kind in cores:
        for pipe, cycles in counters["busy_by_core"][kind].items():
            if cycles:
                found[f"{kind} {pipe}"] = device.microseconds(cycles / part[kind])
    return found
