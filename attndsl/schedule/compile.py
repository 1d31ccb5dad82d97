"""The whole way from an operator to a finished tile program, as a list of passes with a check behind each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from attndsl.schedule.choices import Schedule, resolve, smaller
from attndsl.schedule.cross_core import derive_flags
from attndsl.schedule.errors import DoesNotFit, TooManyEvents
from attndsl.schedule.events import synchronise
from attndsl.schedule.lower import Problem, lower
from attndsl.schedule.lowerable import check_lowerable
from attndsl.schedule.pattern import Attention, recognise
from attndsl.schedule.plan_memory import plan_memory
from attndsl.schedule.problem import candidate, describe_problem
from attndsl.schedule.split_cores import split_cores
from attndsl.spec.operator import Operator
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
    """What a kernel is specialised on: dtype, head-size bucket and the optional tensors in use."""

    dtype: str
    bucket: int
    features: frozenset[str] = frozenset()

    def suffix(self, order: tuple[str, ...]) -> str:
        """``float16_d128_attn_mask``: the part of a kernel's name that tells specialisations apart."""
        return "_".join((self.dtype, f"d{self.bucket}", *(name for name in order if name in self.features)))


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
    stated = operator.schedule_choices
    schedule = resolve(stated, operator.schedule_lines)
    problem = describe_problem(operator, specialisation.dtype, specialisation.bucket, specialisation.features)
    attention = recognise(operator.graph(problem.present).outputs)
    check_lowerable(candidate(operator, attention, specialisation.dtype, problem.present))
    while True:
        try:
            joint, program = _compile(attention, problem, schedule)
        except (DoesNotFit, TooManyEvents):
            smaller_one = smaller(schedule, stated)
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


def _compile(attention: Attention, problem: Problem, schedule: Schedule) -> tuple[Program, Program]:
    program = check(lower(attention, problem, schedule), "lower")
    joint = program
    for name, step in PASSES:
        program = check(step(program), name)
        if name == "derive_flags":
            joint = program
    return joint, program
