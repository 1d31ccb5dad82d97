"""The whole way from an operator to a finished tile program: recognized, lowered, and through the passes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from attndsl.base.garbage import seldom_collected
from attndsl.base.source_location import UNKNOWN_LINE
from attndsl.expr import Const
from attndsl.graph import nodes
from attndsl.lowering.emit.field_names import NamesTaken, check_field_names
from attndsl.lowering.errors import (
    DoesNotFit,
    IllegalScheduleValue,
    NotLowered,
    ScheduleError,
    StoredScheduleRefused,
    TooManyEvents,
)
from attndsl.lowering.lower import first_draft, gathers_sums, lower
from attndsl.lowering.match.attention_pattern import recognize
from attndsl.lowering.match.computation import Computation
from attndsl.lowering.match.required_options import least_options, required_options
from attndsl.lowering.match.resolve_schedule import resolve
from attndsl.lowering.match.schedule_options import (
    BAND_ROWS,
    BY_AUTHOR_ALONE,
    LONG_ROW,
    MANY_ROWS,
    NARROW_HEAD,
    OF_LATENT_ROWS,
    OF_LONG_KEYS,
    OF_LONG_PROMPTS,
    OF_NARROW_SCORES,
    OF_SELECTIONS,
    TILE_STEP,
    RequiredOption,
    Schedule,
    describe,
    reasons,
)
from attndsl.lowering.match.shrink_schedule import Room, smaller, with_fewer_events
from attndsl.lowering.match.values_of_keys import reads_keys_again
from attndsl.lowering.preconditions import candidate, check_lowerable
from attndsl.lowering.signature.kernel_signature import KernelSignature, kernel_signature_of
from attndsl.lowering.signature.specialization import Specialization, settings_of
from attndsl.passes.plan_memory import check_room
from attndsl.passes.twin_programs import Finish, Finished, TwinPasses, all_passes
from attndsl.spec.contract.contract import Contract
from attndsl.spec.operator.operator import Operator
from attndsl.target import Device
from attndsl.tile.program import Program


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """Schedule options that neither the author nor a default chose.

    Attributes:
        options: values by name. ``by``: who chose them, for readers of the schedule.
        entry: the entry of a file that states them, for messages; empty for those of a search.
    """

    options: Mapping[str, object]
    by: str
    entry: str = ""


@dataclass(frozen=True, eq=False, kw_only=True)
class Compiled:
    """A finished tile program with what it came from; ``joint`` is the program before the core split.

    Equal to itself alone, so that what is made of it can be kept by it.

    ``begun``: the schedule that was tried first. ``required``: the choices of the schedule that the
    computation made. ``chosen``: those that were stored, or that a search tries.
    """

    operator: Operator
    specialization: Specialization
    begun: Schedule
    schedule: Schedule
    joint: Program
    program: Program
    required: tuple[RequiredOption, ...] = ()
    chosen: Chosen | None = None

    @property
    def reasons(self) -> dict[str, str]:
        """Who chose each schedule option."""
        return reasons(self.schedule, self.operator.schedule_choices, self.required, self._chosen_by)

    @property
    def schedule_text(self) -> str:
        """The schedule that holds, one choice a line, with who made it."""
        return describe(self.schedule, self.operator.schedule_choices, self.required, self._chosen_by)

    @property
    def _chosen_by(self) -> dict[str, str]:
        return {} if self.chosen is None else dict.fromkeys(self.chosen.options, self.chosen.by)


def compile_operator(
    operator: Operator,
    specialization: Specialization,
    chosen: Chosen | None = None,
    finish: Finish = all_passes,
    like: Compiled | None = None,
) -> Compiled:
    """Lower, schedule and synchronize one specialization of an operator.

    What nobody states of the schedule shrinks until everything fits.

    Args:
        operator: what is compiled.
        specialization: for which calls.
        chosen: schedule options that hold beside the author's.
        finish: runs the passes; a :class:`TwinPasses` that is given for a specialization and then for its
            twin runs them once.
        like: a kernel that may be the twin. Where it is, as the drafts with its schedule tell, its search for
            a schedule is not repeated.

    Raises:
        ScheduleError: a choice is illegal, does not fit, or the graph has no lowering.
        InternalError: a pass got or gave what it must not, a defect of the compiler.
    """
    try:
        with seldom_collected():
            return _compile(operator, specialization, chosen, finish, like)
    except NotLowered:
        raise
    except ScheduleError as error:
        if chosen is None or not chosen.entry:
            raise
        raise StoredScheduleRefused(chosen.entry, error) from error


def _compile(
    operator: Operator,
    specialization: Specialization,
    chosen: Chosen | None,
    finish: Finish,
    like: Compiled | None,
) -> Compiled:
    computation, signature = recognized(operator, specialization)
    required = required_options(computation)
    options = {} if chosen is None else chosen.options
    check_chosen(options, operator, computation, required)
    stated = {**options, **_stated(operator, required)}
    begun = schedule = resolved(operator, computation, signature, specialization, stated)
    least = {each.name: each.value for each in least_options(computation)}
    room = Room(
        architecture=operator.device.architecture,
        stated=frozenset(stated),
        least=least,
        gathers=lambda schedule: gathers_sums(computation, signature, schedule, operator.device),
    )
    found: Finished | None = None
    if like is not None and (like.begun, like.required, like.chosen) == (begun, required, chosen):
        found = _as_twin(like, computation, signature, finish)
        schedule = like.schedule if found else begun
    while found is None:
        try:
            found = finish(_draft_with_room(computation, signature, schedule, operator.device))
            check_field_names(found[1])
        except NamesTaken as clash:
            found, signature = None, _with_other_names(signature, clash)
        except (DoesNotFit, TooManyEvents) as reason:
            smaller_one = _smaller(reason, schedule, room)
            if smaller_one is None:
                raise
            schedule = smaller_one
        except IllegalScheduleValue as error:
            raise error.at(operator.schedule_lines.get(error.name, UNKNOWN_LINE)) from None
    joint, program = found
    return Compiled(
        operator=operator,
        specialization=specialization,
        begun=begun,
        schedule=schedule,
        required=required,
        chosen=chosen,
        joint=joint,
        program=program,
    )


def _draft_with_room(
    computation: Computation, signature: KernelSignature, schedule: Schedule, device: Device
) -> Program:
    """The first draft of a lowering, whose buffers have room.

    Raises:
        DoesNotFit: they have none.
        As :func:`attndsl.lowering.lower.first_draft`.
    """
    draft = check_field_names(first_draft(computation, signature, schedule, device))
    check_room(draft)
    return draft


def _as_twin(
    like: Compiled, computation: Computation, signature: KernelSignature, finish: Finish
) -> Finished | None:
    """What passes make of a kernel that is the twin of another; None where it is not.

    Twins have buffers of the same sizes, so that the search for their schedules takes the same way; where
    drafts with the last schedule are equal but for dtypes, that way is not gone again.
    """
    if not isinstance(finish, TwinPasses) or not finish.made(like.program):
        return None
    try:
        draft = _draft_with_room(computation, signature, like.schedule, like.operator.device)
        found = finish.twin_of(like.program, draft)
        if found is not None:
            check_field_names(found[1])
        return found
    except (ScheduleError, NamesTaken):
        return None


def lowered(
    computation: Computation, signature: KernelSignature, schedule: Schedule, device: Device
) -> Program:
    """The joint tile program of a schedule; its fields have names that nothing else has.

    Raises:
        As :func:`attndsl.lowering.lower.lower`.
    """
    while True:
        try:
            return check_field_names(lower(computation, signature, schedule, device))
        except NamesTaken as clash:
            signature = _with_other_names(signature, clash)


def _with_other_names(signature: KernelSignature, clash: NamesTaken) -> KernelSignature:
    """The signature whose tiling fields leave the names alone that the kernel needs for itself."""
    if clash.names <= signature.taken_names:
        raise clash
    return replace(signature, taken_names=signature.taken_names | clash.names)


def check_chosen(
    options: Mapping[str, object],
    operator: Contract,
    computation: Computation,
    required: tuple[RequiredOption, ...],
) -> None:
    """Options beside the author's: they leave alone what he states or he alone may, and what the computation
    fixes.

    Raises:
        IllegalScheduleValue: naming the value that holds.
    """
    fixed = {name: (value, "the spec states it") for name, value in operator.schedule_choices.items()}
    fixed |= {each.name: (each.value, f"needed: {each.why}") for each in required}
    for name, value in options.items():
        if name in fixed and fixed[name][0] != value:
            known, why = fixed[name]
            raise IllegalScheduleValue(name, value, f"{known!r}, {why}", known)
        if name in BY_AUTHOR_ALONE and name not in fixed:
            known = getattr(Schedule(), name)
            raise IllegalScheduleValue(name, value, f"{known!r} unless the spec states it", known)
    for least in least_options(computation):
        value = options.get(least.name, least.value)
        if isinstance(value, int) and value < least.value:
            rule = f"at least {least.value}, as {least.why}"
            raise IllegalScheduleValue(least.name, value, rule, least.value)


def resolved(
    operator: Contract,
    computation: Computation,
    signature: KernelSignature,
    specialization: Specialization,
    stated: Mapping[str, object],
) -> Schedule:
    """The schedule that is tried first: what is stated, and defaults for this computation.

    Raises:
        UnknownScheduleChoice, IllegalScheduleValue: naming the nearest legal choice.
    """
    defaults: dict[str, int | str] = {"max_rows": rows_of_a_task(signature, specialization.dtype)}
    if signature.padded_value_size >= LONG_ROW and all(map(reads_keys_again, computation.attentions)):
        defaults |= OF_LATENT_ROWS
    elif signature.padded_head_size > Schedule().base_k:
        defaults |= OF_LONG_KEYS
    if computation.selection is not None:
        defaults |= OF_SELECTIONS
    blocks = [size for each in computation.attentions if (size := each.block_of_keys) is not None]
    if blocks:
        tile = max(-(-size // TILE_STEP) * TILE_STEP for size in blocks)
        defaults |= {"max_rows": BAND_ROWS, "tile_k": min(tile, Schedule().tile_k)}
    if _copies_limit(computation, signature, many_rows=defaults["max_rows"] == MANY_ROWS):
        defaults |= OF_LONG_PROMPTS
    if defaults["max_rows"] == MANY_ROWS and stated.get("score_dtype") == "float16":
        defaults |= OF_NARROW_SCORES
    return resolve(stated, operator.device, operator.schedule_lines, defaults)


def _copies_limit(computation: Computation, signature: KernelSignature, *, many_rows: bool) -> bool:
    """Whether copies to the cube limit prompts, or selections, so that probabilities travel as fractals.

    Not where weights of integers are added up rounded.
    """
    walked = (node for each in computation.attentions for node in each.values.walk())
    if any(isinstance(node, nodes.Dequantize) for node in walked):
        return False
    if computation.selection is not None:
        return True
    return many_rows and min(signature.padded_head_size, signature.padded_value_size) > NARROW_HEAD


def rows_of_a_task(signature: KernelSignature, dtype: str) -> int:
    """Rows of a task at most, where nothing else is stated: prompts have many."""
    positions = not signature.extents.get("Q", Const(1)).same(Const(1))
    one_part = max(signature.padded_head_size, signature.padded_value_size) <= Schedule().base_k
    return MANY_ROWS if positions and one_part and dtype != "int8" else BAND_ROWS


def _smaller(reason: DoesNotFit | TooManyEvents, schedule: Schedule, room: Room) -> Schedule | None:
    """The next schedule to try; with single slots there are fewer events."""
    if isinstance(reason, DoesNotFit):
        return smaller(schedule, room, reason.space)
    return with_fewer_events(schedule, room)


def _stated(operator: Contract, required: tuple[RequiredOption, ...]) -> dict[str, object]:
    """The author's choices, but for those that the computation makes."""
    return {**operator.schedule_choices, **{choice.name: choice.value for choice in required}}


def recognized(operator: Contract, specialization: Specialization) -> tuple[Computation, KernelSignature]:
    """What the graph of a specialization computes, and the signature of its kernel.

    Raises:
        NotLowered: the graph has no lowering.
    """
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
