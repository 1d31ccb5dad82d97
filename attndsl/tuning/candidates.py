"""The legal schedules of one specialization around its default, with their bounds for one call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property

from attndsl.compiler.compile import (
    Chosen,
    Compiled,
    check_chosen,
    compile_operator,
    lowered,
    recognized,
)
from attndsl.compiler.launch_scalars import launch_scalars
from attndsl.compiler.prepare_launch import specialization_of
from attndsl.lowering.errors import ScheduleError
from attndsl.lowering.match.option_couplings import COUPLINGS
from attndsl.lowering.match.required_options import required_options
from attndsl.lowering.match.resolve_schedule import resolve
from attndsl.lowering.match.schedule_options import Schedule
from attndsl.spec.binding.call import Call
from attndsl.spec.operator.operator import Operator
from attndsl.tile.printer import print_program
from attndsl.tile.program import Program
from attndsl.tuning.bounds import Bounds, bounds_of

TRIED = "tried by a search"
"""Who chose the options of a candidate."""

OF_WORK: Mapping[str, tuple[int | str, ...]] = {
    "max_rows": (64, 128, 256),
    "tile_k": (128, 256, 384, 512, 768, 1024),
    "rows": (8, 16, 32),
    "result_rows": ("auto", 8, 32),
    "base_n": (64, 128, 256),
    "base_k": (64, 128),
    "value_n": ("auto", 64, 128, 256),
    "value_width": ("auto", 256),
    "split_kv": ("auto", "idle", "even", 1, 2, 4),
    "task_rows": ("even", "most"),
    "value_source": ("auto", "memory", "keys"),
    "prob_layout": ("rows", "fractals"),
    "key_copies": ("parts", "whole"),
    "sums": ("auto", "vector", "workspace"),
    "halves": ("auto", "none"),
}
"""Values of the options that change how much work there is, so that bounds tell them apart."""

OF_ORDER: Mapping[str, tuple[int | str, ...]] = {
    "ring": (2, 3, 4, 5),
    "pipeline": ("auto", "drained"),
    "slots": (1, 2),
    "result_slots": (1, 2),
    "widen_lead": (0, 1, 2, 3),
    "query_slots": ("auto", 1, 2),
    "value_slots": ("auto", 1, 2),
    "item_order": ("auto", "splits", "tasks", "longest"),
    "score_slots": ("auto", "ring", "prefetch"),
    "first_stores": ("auto", "vector", "cube"),
    "few_keys": ("same", "auto"),
    "row_sums": ("auto", "blocks", "step"),
    "maxima": ("auto", "each"),
    "item_loops": ("auto", "separate"),
}
"""Values of the options that change who waits for whom: only the emulator tells them apart."""


@dataclass(frozen=True)
class Candidate:
    """A schedule with its bounds; ``options``: where it differs from the default."""

    schedule: Schedule
    options: Mapping[str, int | str]
    bounds: Bounds


class Candidates:
    """The schedules of the kernel that a call needs.

    Attributes:
        call: the call. ``special``: the specialization that it needs.
        default: this specialization, compiled without stored choices.

    Raises:
        ScheduleError: the operator has no kernel for the call.
        TargetLimitError: the call is beyond the limits of the target.
    """

    def __init__(self, call: Call) -> None:
        call.check_target()
        assert isinstance(call.operator, Operator)
        self.call, self.special, self.operator = call, specialization_of(call), call.operator
        self._computation, self._signature = recognized(self.operator, self.special)
        self._required = required_options(self._computation)
        self.default: Compiled = compile_operator(self.operator, self.special)
        self._scalars = launch_scalars(call, self._signature, self.operator.device.aic)
        self._known: dict[Schedule, Candidate | None] = {}

    @cached_property
    def open_options(self) -> frozenset[str]:
        """Options that neither the author nor the computation fixes."""
        fixed = {*self.operator.schedule_choices, *(each.name for each in self._required)}
        return frozenset(asdict(Schedule())) - fixed

    @property
    def known(self) -> list[Candidate]:
        """All candidates whose bounds were computed."""
        return [each for each in self._known.values() if each is not None]

    def candidate(self, schedule: Schedule) -> Candidate | None:
        """A schedule with its bounds; None where it is illegal, or a memory is too small for its buffers."""
        if schedule not in self._known:
            self._known[schedule] = self._bounded(schedule)
        return self._known[schedule]

    def with_options(self, options: Mapping[str, int | str]) -> Schedule:
        """The default with other values of some options.

        Raises:
            ScheduleError: an option is fixed otherwise.
        """
        check_chosen(options, self.operator, self._computation, self._required)
        return replace(self.default.schedule, **options)  # type: ignore[arg-type]

    def neighbours(
        self, schedule: Schedule, options: Mapping[str, tuple[int | str, ...]]
    ) -> Iterator[Schedule]:
        """The schedules that differ in one of these options, if it is open."""
        for name, values in options.items():
            if name not in self.open_options:
                continue
            for value in values:
                if value == getattr(schedule, name):
                    continue
                other = replace(schedule, **{name: value})  # type: ignore[arg-type]
                if other.columns != schedule.columns or name != "value_n":
                    yield self._in_keeping(other, name)

    def _in_keeping(self, schedule: Schedule, changed: str) -> Schedule:
        """Open options that others bound, as they would be by default."""
        for each in COUPLINGS:
            if each.option in self.open_options - {changed}:
                schedule = each.repair(schedule, self.operator.device.architecture)
        return schedule

    def compiled(self, candidate: Candidate) -> Compiled | None:
        """The candidate's program; None where its schedule does not fit as it is."""
        if not candidate.options:
            return self.default
        try:
            made = compile_operator(self.operator, self.special, Chosen(options=candidate.options, by=TRIED))
        except ScheduleError:
            return None
        return made if made.schedule == candidate.schedule else None

    def _bounded(self, schedule: Schedule) -> Candidate | None:
        default, device = asdict(self.default.schedule), self.operator.device
        options = {name: value for name, value in asdict(schedule).items() if value != default[name]}
        try:
            resolve(asdict(schedule), device)
            check_chosen(options, self.operator, self._computation, self._required)
            program = lowered(self._computation, self._signature, schedule, device)
        except ScheduleError:
            return None
        if not _fits(program):
            return None
        arguments = {**self.call.arrays, **self.call.lists}
        return Candidate(
            schedule, options, bounds_of(program, program.tiling_values(self._scalars), arguments)
        )


def same_kernel(one: Compiled, other: Compiled) -> bool:
    """Whether two compilations differ in nothing that a kernel does, whatever their options are called."""
    return _told(one.joint) == _told(other.joint)


def _told(program: Program) -> tuple[object, ...]:
    """What a program says of itself: statements, constants, buffers, and what the host computes."""
    return (
        print_program(program),
        [(each.named.name, each.named.value) for each in program.constants],
        [(each.name, each.elements, each.slots) for each in program.buffers()],
        [(each.name, str(each.value)) for each in program.tiling],
    )


def _fits(program: Program) -> bool:
    """Whether the buffers of each memory take no more bytes than it has; gaps between them are left open."""
    for memory in program.device.architecture.memories:
        buffers = (buffer for buffer in program.buffers() if buffer.space is memory.space)
        if sum(buffer.slots * program.slot_stride(buffer) for buffer in buffers) > memory.usable:
            return False
    return True
