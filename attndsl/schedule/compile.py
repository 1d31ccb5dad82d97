"""The whole way from an operator to a finished tile program, as a list of passes with a check behind each."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from attndsl.schedule.choices import Schedule, resolve, smaller
from attndsl.schedule.cross_core import derive_flags
from attndsl.schedule.errors import DoesNotFit, TooManyEvents
from attndsl.schedule.events import synchronise
from attndsl.schedule.field_names import NamesTaken, check_field_names
from attndsl.schedule.lower import lower
from attndsl.schedule.lowerable import check_lowerable, meant_choices
from attndsl.schedule.pattern import Computation, recognise
from attndsl.schedule.plan_memory import plan_memory
from attndsl.schedule.problem import Problem, candidate, describe_problem
from attndsl.schedule.split_cores import split_cores
from attndsl.spec.operator import Operator
from attndsl.spec.settings import first_settings
from attndsl.tile.program import Program
from attndsl.tile.rules import check

Pass = Callable[[Program], Program]
PASSES: tuple[tuple[str, Pass], ...] = (
    ("derive_flags", derive_flags),
    ("split_cores", split_cores),
    ("plan_memory", plan_memory),
    ("synchronise", synchronise),
)


@dataclass(frozen=True, kw_only=True)
class Specialisation:
    """What a kernel is specialised on.

    Attributes:
        dtype: the io dtype. ``bucket``: head size, a multiple of 16.
        features: the optional tensors in use.
        value_bucket: head size of values where it is one of its own.
        settings: values of the parameters, dtypes and layouts on which the computation depends, by name,
            where they are not the defaults.
    """

    dtype: str
    bucket: int
    features: frozenset[str] = frozenset()
    value_bucket: int | None = None
    settings: tuple[tuple[str, Any], ...] = ()

    def suffix(self, order: tuple[str, ...]) -> str:
        """``float16_d128_attn_mask``: the part of a kernel's name that tells specialisations apart."""
        values = () if self.value_bucket is None else (f"e{self.value_bucket}",)
        chosen = tuple(_word(name, value, self.dtype) for name, value in self.settings)
        features = (name for name in order if name in self.features)
        return "_".join(
            (self.dtype, f"d{self.bucket}", *values, *features, *(word for word in chosen if word))
        )


def _word(name: str, value: Any, dtype: str) -> str:
    """A setting in a kernel's name; none where dtype and features tell it already."""
    kind, _, argument = name.rstrip(")").partition("(")
    if argument and (value is None or (kind == "dtype" and value == dtype)):
        return ""
    text = f"minus{-value}" if isinstance(value, int | float) and value < 0 else str(value)
    word = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")
    if isinstance(value, str) and (word != value or not word):  # what was replaced may tell two values apart
        word = f"{word or 'word'}_{zlib.crc32(value.encode()):08x}"
    return f"{argument or name}_{word}"


@dataclass(frozen=True, kw_only=True)
class Compiled:
    """A finished tile program with what it came from; ``joint`` is the program before the core split."""

    operator: Operator
    specialisation: Specialisation
    schedule: Schedule
    joint: Program
    program: Program


def compile_operator(operator: Operator, specialisation: Specialisation) -> Compiled:
    """Lower, schedule and synchronise one specialisation of an operator.

    What the author left out of the schedule shrinks until everything fits.

    Raises:
        ScheduleError: a choice is illegal, does not fit, or the graph has no lowering.
    """
    computation, problem = _recognised(operator, specialisation)
    stated = _stated(operator, computation)
    schedule = resolve(stated, operator.schedule_lines)
    while True:
        try:
            joint, program = _compile(computation, problem, schedule)
        except NamesTaken as clash:
            if clash.names <= problem.taken_names:
                raise
            problem = replace(problem, taken_names=problem.taken_names | clash.names)
            continue
        except (DoesNotFit, TooManyEvents) as reason:
            single = isinstance(reason, TooManyEvents) and schedule.slots > 1 and "slots" not in stated
            smaller_one = replace(schedule, slots=1) if single else smaller(schedule, stated)
            if smaller_one is None:
                raise
            schedule = smaller_one
            continue
        return Compiled(
            operator=operator,
            specialisation=specialisation,
            schedule=schedule,
            joint=joint,
            program=program,
        )


def check_lowers(operator: Operator, specialisation: Specialisation) -> None:
    """Whether one specialisation has a lowering, without the passes behind it, which take most of the time.

    Raises:
        NotLowered: it has none.
        ScheduleError: a choice is illegal or, where the lowering itself sees it, does not fit.
    """
    computation, problem = _recognised(operator, specialisation)
    schedule = resolve(_stated(operator, computation), operator.schedule_lines)
    try:
        lower(computation, problem, schedule)
    except (DoesNotFit, NamesTaken):  # another schedule or other names will do
        compile_operator(operator, specialisation)


def _stated(operator: Operator, computation: Computation) -> dict[str, object]:
    """The author's choices, and those that the computation leaves no choice in."""
    return {**operator.schedule_choices, **meant_choices(computation)}


def _recognised(operator: Operator, specialisation: Specialisation) -> tuple[Computation, Problem]:
    problem = problem_of(operator, specialisation)
    settings = settings_of(operator, specialisation)
    computation = recognise(operator.graph(problem.present, settings).outputs)
    sizes = (problem.bucket, problem.value_bucket)
    check_lowerable(
        candidate(operator, computation, specialisation.dtype, problem.present, settings, head_sizes=sizes)
    )
    return computation, problem


@lru_cache(maxsize=256)
def problem_of(operator: Operator, special: Specialisation) -> Problem:
    """The operator's part of a lowering; described once a process, every launch asks for it."""
    return describe_problem(
        operator,
        special.dtype,
        special.bucket,
        special.features,
        special.value_bucket,
        settings_of(operator, special),
    )


def settings_of(operator: Operator, special: Specialisation) -> dict[str, Any]:
    """The values that conditions of the graph ask for."""
    known = {name: value for name, value in first_settings(operator).items() if name in operator.settings}
    return {**known, **dict(special.settings)}


def _compile(computation: Computation, problem: Problem, schedule: Schedule) -> tuple[Program, Program]:
    program = check(check_field_names(lower(computation, problem, schedule)), "lower")
    joint = program
    for name, step in PASSES:
        program = check(check_field_names(step(program)), name)
        if name == "derive_flags":
            joint = program
    return joint, program
