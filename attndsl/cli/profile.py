"""Predicted time of one call's kernel: where it goes, and how far it is from the device's own bounds."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from attndsl.base.errors import UserError
from attndsl.cli.calibration_text import calibration_lines
from attndsl.cli.shape_conflicts import default_in_the_way, rules_in_the_way
from attndsl.codegen.kernel_set.kernel_names import kernel_name
from attndsl.compiler.prepare_launch import prepare
from attndsl.emulator import Knobs
from attndsl.emulator.report import Report
from attndsl.execute.execute import execute
from attndsl.expr import Load, Symbol
from attndsl.expr.argument_facts import dtype_of, given, longest_of, passed
from attndsl.spec.binding.call import Call
from attndsl.spec.errors import CallError
from attndsl.spec.operator.covering import choosable, nearest_choice
from attndsl.spec.operator.operator import Operator
from attndsl.target import Device
from attndsl.target.costs import Rate, cost_lines
from attndsl.verify.cases.cases import spaces
from attndsl.verify.data.data import Filler
from attndsl.verify.data.integers import Integers
from attndsl.verify.space.solve import nearest, solve
from attndsl.verify.space.space import CaseSpace
from attndsl.verify.space.values import FILL, WORKLOAD, Values, fill_of

MOST_ELEMENTS = 1 << 33
MOST_SCORES = 1 << 40
"""Elements of a tensor, and scores, that a profile takes at most: sizes of calls that a device takes."""

_TRIES = 10


class ProfileError(UserError):
    """There is no call of that shape."""


@dataclass(frozen=True)
class Profile:
    """The prediction for one call; times in microseconds.

    ``bounds``: what each resource would take alone if it never waited: the pipes of the kind of core that has
    most of them busy, L2 for all bytes, memory for the bytes behind it. ``busy``: share of the time that the
    pipes of a kind of core are busy. ``worst``: the time if what is unknown is as bad as it may be.
    ``cube``: share of the part's cube that products take whose operands fill their fractals.
    ``critical_path``: what the time went to along the chain of events that ends last. ``block_ends``: when
    each block is done. ``bank_conflicts``:
    cycles of all cores by line of the kernel that vector instructions took longer.
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

        R is the smaller of what memory was measured to give and what the load paths of all cube cores take;
        ``of_peak`` is of the rate that documents quote.
        """
        device = self.device
        r = min(device.memory_bandwidth.value, device.aic * device.rates["miss"].value * device.clock)
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
        yield f"    on {blocks} blocks of {cubes} AIC and {vectors} AIV of {self.device.title}"
        launch = self.device.launch_microseconds
        yield f"    predicted {self.time:.1f} us, at worst {self.worst:.1f}; a launch adds about {launch:g}"
        yield f"    {self.attained:.0%} of what {self.limit} allows; at best, by resource:"
        for name, bound in sorted(self.bounds.items(), key=lambda item: -item[1]):
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
        path = sorted(self.critical_path.items(), key=lambda item: -item[1])
        yield "    on the critical path: " + ", ".join(f"{what} {us:.1f} us" for what, us in path[:6])
        conflicts = sum(self.bank_conflicts.values())
        if conflicts:
            where, most = max(self.bank_conflicts.items(), key=lambda item: item[1])
            yield f"    bank conflicts: {conflicts:.0f} cycles of all cores, {most:.0f} of them at {where}"
        yield from calibration_lines(self.device)


def profile_call(
    call: Call,
    *,
    cores: int | None = None,
    trace: Path | None = None,
    rates: Mapping[str, Rate] | None = None,
) -> Profile:
    """Runs the call's kernel on the emulator without data and reads its timeline.

    ``cores``: blocks at most, None: all. ``rates``: numbers in place of some of the device's.

    Raises:
        FindingsError: the checks that need no data found a defect in the kernel.
        ScheduleError: the operator has no kernel for the call.
    """
    launch = prepare(call, cores)
    device = launch.compiled.program.device
    used = {**device.rates, **(rates or {})}
    report = execute(launch, Knobs(timing=True), trace=trace, costs=cost_lines(device.costs, used))
    report.raise_for_findings()
    counters, counts = report.counters, _core_counts(report)
    worst = execute(launch, Knobs(timing=True), costs=device.worst_costs(used))
    total = max(counters["total_cycles"], 1e-9)
    return Profile(
        operator=call.operator.name,
        device=device,
        kernel=kernel_name(launch.compiled),
        sizes={name: int(value) for name, value in call.dims.items() if value},
        cores=report.cores,
        time=float(counters["microseconds"]),
        bounds=_bounds(report, device, used),
        busy={
            kind: {
                pipe: round(cycles / (total * counts[kind]), 4)
                for pipe, cycles in counters["busy_by_core"][kind].items()
            }
            for kind in counts
        },
        worst=max(float(worst.counters["microseconds"]), float(counters["microseconds"])),
        bytes={
            "hbm_read": int(counters["memory_read_bytes"]),
            "hbm_write": int(counters["memory_bytes"] - counters["memory_read_bytes"]),
            "l2_read": sum(counters["gm_read_bytes"].values()),
            "l2_write": sum(counters["gm_write_bytes"].values()),
        },
        read_by_tensor={name: size for name, size in counters["memory_read_by_tensor"].items() if size},
        cube=counters["product_cycles"] / (total * device.aic),
        critical_path={
            what: device.microseconds(cycles) for what, cycles in counters["critical_path"].items() if cycles
        },
        block_ends=tuple(map(device.microseconds, counters["block_ends"])),
        bank_conflicts=counters["bank_conflicts"],
        schedule=asdict(launch.compiled.schedule),
    )


def _core_counts(report: Report) -> dict[str, int]:
    blocks, cubes, vectors = report.cores
    return {kind: count for kind, count in (("AIC", blocks * cubes), ("AIV", blocks * vectors)) if count}


def _bounds(report: Report, device: Device, rates: Mapping[str, Rate]) -> dict[str, float]:
    counters = report.counters
    moved = sum(counters["gm_read_bytes"].values()) + sum(counters["gm_write_bytes"].values())
    found = {
        "memory": device.microseconds(counters["memory_bytes"] / rates["hbm"].value),
        "L2": device.microseconds(moved / rates["l2"].value),
    }
    # all cores of the part, not only those the launch used
    part = {"AIC": device.aic, "AIV": device.aiv}
    for kind in _core_counts(report):
        for pipe, cycles in counters["busy_by_core"][kind].items():
            if cycles:
                found[f"{kind} {pipe}"] = device.microseconds(cycles / part[kind])
    return found


# ------------------------------------------------------------------------------------------------
# A call of a given shape


_USUAL: dict[str, tuple[int, ...]] = {
    "B": (1,),
    "K": (8, 4, 2, 1),
    "N": (32, 16, 8, 64),
    "Q": (128, 1, 1024),
    "T": (4096, 2048, 1024, 512),
    "D": (128, 64, 256),
    "E": (128, 64, 256),
    "P": (128, 256, 64, 32),
    "R": (128, 64),
    "W": (32, 16),
    "Y": (1, 2, 4),
}
"""Sizes by role of axis for what a shape leaves open, the most usual first."""


class _Usual(Values):
    """What sizes are drawn from where a shape leaves them open."""

    def of_role(self, role: str, tile: int, ring: int) -> tuple[int, ...]:
        return _USUAL.get(role, tuple(range(1, 65)))


def call_of_shape(
    operator: Operator,
    shape: Mapping[str, int],
    *,
    dtype: str | None = None,
    features: Sequence[str] = (),
    settings: Mapping[str, Any] | None = None,
) -> Call:
    """A legal call with normal numbers: sizes and integer parameters of ``shape`` by the contract's names,
    and ``longest(x)`` of lengths.

    Optional tensors are passed when ``features`` names them. ``settings``: values of parameters, and of
    ``dtype(x)``, ``layout(x)``, ``split(x)`` and ``given(x)`` of tensors. What is left open is as near to
    the contract's defaults as it allows, sizes usual ones.

    Raises:
        ProfileError: a name is unknown, or no legal call has these values.
    """
    main = operator.tensor(operator.outputs[0].like)
    if dtype is not None and dtype not in main.dtypes:
        raise ProfileError(f"{main.name} is never {dtype}; its dtypes are {', '.join(main.dtypes)}")
    usual = _Usual(group=tuple(range(1, 129)), most_elements=MOST_ELEMENTS, most_scores=MOST_SCORES)
    modes = spaces(operator, usual)
    _known(shape, {name for mode in modes for name in _size_names(mode)}, "size")
    _legal_sizes(operator, shape)
    _known(features, {name for mode in modes for name in mode.optional}, "optional tensor")
    _agree(main.name, dtype, features, settings or {})
    pins = {dtype_of(main.name).name: dtype or main.dtypes[0], **shape, **(settings or {})}
    fitting = [
        mode for mode in modes if set(shape) <= _size_names(mode) and set(features) <= {*mode.optional}
    ]
    tried: list[_Tried] = []
    for mode in fitting:
        wanted = {given(name).name: True for name in features} | _lengths_of(mode, shape) | pins
        values = _usual_values(mode, wanted)
        tried.append(_Tried(operator, mode, shape, wanted, values))
        for left_open in (_usual_sizes(mode) | values, values):
            if (call := tried[-1].find(left_open)) is not None:
                return call
    asked = ", ".join(f"{name}={value}" for name, value in {**shape, **(settings or {})}.items())
    why = next((found for each in tried if (found := each.why())), "")
    sizes = [name for mode in modes for name in operator.dims_by_name if name in _size_names(mode)]
    missing = ", ".join(name for name in dict.fromkeys(sizes + _counts(operator)) if name not in shape)
    others = f"; left open were {missing}: give some of them" if missing and "--set" not in why else ""
    raise ProfileError(
        f"no legal call of {operator.name} was found with {asked or 'no sizes given'}{why}{others}; "
        f"see attndsl show {operator.in_commands} --stage contract"
    )


@dataclass(frozen=True)
class _Tried:
    """A search for a call of a mode: what was asked for, and ``values``, what is as near to the defaults."""

    operator: Operator
    mode: CaseSpace
    shape: Mapping[str, int]
    wanted: Mapping[str, Any]
    values: Mapping[str, Any]

    def find(self, left_open: Mapping[str, Any], tries: int = _TRIES) -> Call | None:
        """A legal call with the sizes asked for; ``left_open``: values of what was not asked for."""
        call = _find(self.operator, self.mode, {**left_open, **self.wanted}, tries)
        return call if call is not None and _has_sizes(call, self.shape) else None

    def why(self) -> str:
        """Why there is none, as far as one default or the rules of a search tell."""
        defaults = {
            name: each for name, each in self.values.items() if name not in self.wanted and each is not None
        }
        found = default_in_the_way(self.mode.operator, defaults, lambda each: self.find(each, 1))
        if found:
            return f"; {found}"
        pins = _normal(self.mode) | {**self.values, **self.wanted}
        _, broken = nearest(self.mode, np.random.default_rng(0), pins, walks=4)
        told = rules_in_the_way(self.mode.operator, {each.name for each in broken})
        return f"; {told}" if told else ""


def _has_sizes(call: Call, shape: Mapping[str, int]) -> bool:
    """Whether sizes that follow from others came out as they were asked for."""
    env = call.env()
    return all(env.get(name, size) == size for name, size in shape.items())


def _size_names(space: CaseSpace) -> set[str]:
    """Sizes, integer parameters and lengths that a shape may give; those that follow from others are none."""
    named = {*space.operator.dims_by_name, *(each.name for each in space.operator.params if each.type is int)}
    named |= {longest_of(spec.name).name for spec in space.operator.tensors}
    return {name for name in named if name in space.variables and name not in space.derived.bounded}


def _counts(operator: Operator) -> list[str]:
    """Parameters that are numbers by which sizes follow, such as those of heads."""
    used = {
        symbol
        for each in operator.dims_by_name.values()
        if each.definition is not None
        for symbol in each.definition.symbols()
    }
    used |= {symbol for extent in operator.axis_extents.values() for symbol in extent.symbols()}
    return [each.name for each in operator.params if each.name in used and each.type is int]


def _lengths_of(space: CaseSpace, shape: Mapping[str, int]) -> dict[str, int]:
    """The lengths whose longest is a size of the shape, where a call does not pass it otherwise."""
    found: dict[str, int] = {}
    for name in shape.keys() & space.operator.dims_by_name.keys():
        default = space.operator.dims_by_name[name].default
        loads = [node for node in default.walk() if isinstance(node, Load)] if default is not None else []
        found |= {longest_of(load.source).name: shape[name] for load in loads}
    return {name: value for name, value in found.items() if name in space.variables}


def _usual_values(space: CaseSpace, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Presence, parameters and layouts nearest to the contract's defaults that go with ``wanted``."""
    legal = choosable(space.operator)
    choice = nearest_choice(space.operator, {name: each for name, each in wanted.items() if name in legal})
    if choice is None:
        return passed(space.optional, ())
    params = space.operator.params
    counts = {each.name for each in params if each.type is int and not each.choices}
    told = space.variables.keys() - (counts - space.operator.specialization_parameters)
    return passed(space.optional, choice.present) | {
        name: each for name, each in choice.settings.items() if name in told
    }


def _usual_sizes(space: CaseSpace) -> dict[str, Any]:
    """The first of the usual values of each size that is a variable."""
    extents = space.operator.axis_extents.items()
    named = {extent.name: role for role, extent in extents if isinstance(extent, Symbol)}
    return {
        name: _USUAL[role][0] for name, role in named.items() if name in space.variables and role in _USUAL
    }


def _normal(space: CaseSpace) -> dict[str, Any]:
    """Numbers are normal, lengths full."""
    return {FILL: "normal", WORKLOAD: "any", **{fill_of(spec.name): "full" for spec in space.integers}}


class _LongRows(Integers):
    """Rows as long as the case allows; where rows share keys, all do, spread over the groups."""

    def __post_init__(self) -> None:
        super().__post_init__()
        groups = self.extents.get("G", 0)
        for name, rows in self.rows.items():
            axis = self.space.measures.get(name, "")
            if axis == "G" and groups:
                rows[:] = np.arange(rows.size) * groups // max(rows.size, 1)
            elif axis == "T" and groups:
                rows[:] = self.longest[name][:] = self.extents["T"] + self.extents.get("U", 0)


def _find(
    operator: Operator, space: CaseSpace, wanted: Mapping[str, Any], tries: int = _TRIES
) -> Call | None:
    """A call of a mode with these values of its variables."""
    pins = _normal(space) | {**wanted}
    rng = np.random.default_rng(0)
    for _ in range(tries):
        assignment = solve(space, rng, pins, walks=4)
        if assignment is None or any(assignment.get(name) != value for name, value in pins.items()):
            continue
        integers = _LongRows(space, assignment, rng).solve()
        if integers is None:
            continue
        try:
            return Filler(space, assignment, integers, rng).outline()
        except CallError:
            continue  # a constraint over elements: another try
    return None


def _legal_sizes(operator: Operator, shape: Mapping[str, int]) -> None:
    """Sizes and parameters within what the contract says of each alone."""
    for name, value in shape.items():
        param = operator.find_param(name)
        if param is None:
            if value < 0:
                raise ProfileError(f"size '{name}' is {value}; sizes are at least 0")
            continue
        if param.choices and value not in param.choices.values():
            legal = ", ".join(str(each) for each in dict.fromkeys(param.choices.values()))
            raise ProfileError(f"'{name}' is {value}; {operator.name} takes {legal}")
        for bound in param.bounds():
            if not bound.evaluate({name: value}):
                raise ProfileError(f"'{name}' is {value}; it must be {bound}{param.nearest(bound)}")


def _agree(main: str, dtype: str | None, features: Sequence[str], settings: Mapping[str, Any]) -> None:
    """Settings that say otherwise what the dtype or the features say."""
    told: dict[str, Any] = {given(name).name: True for name in features}
    if dtype is not None:
        told[dtype_of(main).name] = dtype
    for name, value in told.items():
        if settings.get(name, value) != value:
            raise ProfileError(
                f"{name} is {settings[name]} by the settings and {value} by the dtype and the features; "
                "give one of them"
            )


def _known(
    given_names: Sequence[str] | Mapping[str, Any], known: Sequence[str] | set[str], what: str
) -> None:
    for name in given_names:
        if name not in known:
            close = difflib.get_close_matches(name, list(known), 1)
            advice = f"did you mean '{close[0]}'?" if close else f"there are {', '.join(sorted(known))}"
            raise ProfileError(f"unknown {what} '{name}'; {advice}")
