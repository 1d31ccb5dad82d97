"""The whole way from an operator to a finished tile program: recognized, lowered, and through the passes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from attndsl.base.source_location import UNKNOWN_LINE
from attndsl.expr import Const
from attndsl.lowering.emit.field_names import NamesTaken
from attndsl.lowering.errors import DoesNotFit, IllegalScheduleValue, TooManyEvents
from attndsl.lowering.lower import lower
from attndsl.lowering.match.attention_pattern import Computation, recognize
from attndsl.lowering.match.required_options import RequiredOption, required_options
from attndsl.lowering.match.schedule_options import (
    BAND_ROWS,
    MANY_ROWS,
    Schedule,
    describe,
    resolve,
    smaller,
)
from attndsl.lowering.preconditions import candidate, check_lowerable
from attndsl.lowering.signature.kernel_signature import KernelSignature, kernel_signature_of
from attndsl.lowering.signature.specialization import Specialization, settings_of
from attndsl.passes.pass_manager import PASSES, run_passes
from attndsl.spec.contract.contract import Contract
from attndsl.spec.operator.operator import Operator
from attndsl.target import Architecture
from attndsl.tile.program import Program


@dataclass(frozen=True, kw_only=True)
class Compiled:
    """A finished tile program with what it came from; ``joint`` is the program before the core split.

    ``required``: the choices of the schedule that the computation made.
    """

    operator: Operator
    specialization: Specialization
    schedule: Schedule
    joint: Program
    program: Program
    required: tuple[RequiredOption, ...] = ()

    @property
    def schedule_text(self) -> str:
        """The schedule that holds, one choice a line, with who made it."""
        return describe(self.schedule, self.operator.schedule_choices, self.required)


def compile_operator(operator: Operator, specialization: Specialization) -> Compiled:
    """Lower, schedule and synchronize one specialization of an operator.

    What the author left out of the schedule shrinks until everything fits.

    Raises:
        ScheduleError: a choice is illegal, does not fit, or the graph has no lowering.
        InternalError: a pass got or gave what it must not, a defect of the compiler.
    """
    computation, signature = _recognized(operator, specialization)
    required = required_options(computation)
    stated = _stated(operator, required)
    rows = rows_of_a_task(signature, specialization.dtype)
    schedule = resolve(stated, operator.device, operator.schedule_lines, max_rows=rows)
    while True:
        try:
            joint, program = run_passes(lower(computation, signature, schedule, operator.device), PASSES)
        except NamesTaken as clash:
            if clash.names <= signature.taken_names:
                raise
            signature = replace(signature, taken_names=signature.taken_names | clash.names)
            continue
        except (DoesNotFit, TooManyEvents) as reason:
            smaller_one = _smaller(reason, schedule, stated, operator.device.architecture)
            if smaller_one is None:
                raise
            schedule = smaller_one
            continue
        except IllegalScheduleValue as error:
            raise error.at(operator.schedule_lines.get(error.name, UNKNOWN_LINE)) from None
        return Compiled(
            operator=operator,
            specialization=specialization,
            schedule=schedule,
            required=required,
            joint=joint,
            program=program,
        )


def rows_of_a_task(signature: KernelSignature, dtype: str) -> int:
    """Rows of a task at most, where nothing else is stated: prompts have many."""
    positions = not signature.extents.get("Q", Const(1)).same(Const(1))
    one_part = max(signature.padded_head_size, signature.padded_value_size) <= Schedule().base_k
    return MANY_ROWS if positions and one_part and dtype != "int8" else BAND_ROWS


def _smaller(
    reason: DoesNotFit | TooManyEvents,
    schedule: Schedule,
    stated: Mapping[str, object],
    architecture: Architecture,
) -> Schedule | None:
    """The next schedule to try; with single slots there are fewer events."""
    if isinstance(reason, DoesNotFit):
        return smaller(schedule, stated, architecture, reason.space)
    if schedule.slots > 1 and "slots" not in stated:
        return replace(schedule, slots=1)
    return smaller(schedule, stated, architecture)


def _stated(operator: Contract, required: tuple[RequiredOption, ...]) -> dict[str, object]:
    """The author's choices, but for those that the computation makes."""
    return {**operator.schedule_choices, **{choice.name: choice.value for choice in required}}


def _recognized(operator: Contract, specialization: Specialization) -> tuple[Computation, KernelSignature]:
    signature = signature_of(operator, specialization)
    settings = settings_of(operator, specialization)
    computation = recognize(operator.graph(signature.present, settings).outputs)
    sizes = (signature.padded_head_size, signature.padded_value_size)
    check_lowerable(
        candidate(operator, computation, specialization.dtype, signature.present, settings, head_sizes=sizes)
    )
    return computation, signature


@lru_cache(maxsize=256)
def signature_of(operator: Contract, special: Specialization) -> KernelSignature:
    """The operator's part of a lowering; described once a process, every launch asks for it."""
    return kernel_signature_of(
        operator,
        special.dtype,
        special.padded_head_size,
        special.features,
        special.padded_value_size,
        settings_of(operator, special),
    )
