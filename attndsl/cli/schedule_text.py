"""Why a kernel has its schedule, as ``attndsl show NAME --stage schedule`` tells it."""

from __future__ import annotations

from collections.abc import Iterator

from attndsl.cli.tune import bound_text, options_text
from attndsl.compiler.compile import Compiled
from attndsl.compiler.prepare_launch import specialization_of
from attndsl.compiler.stored_schedules import StoredSchedule, stale_text, stored_entry
from attndsl.expr import Symbol
from attndsl.spec.binding.call import Call
from attndsl.tuning.candidates import OF_WORK, Candidate, Candidates
from attndsl.verify.cases.shaped_call import ProfileError, call_of_shape

_RUNNERS_UP = 5
_MOST_COUNTED = 150_000
"""Parts of programs that are counted for the runners-up, a few seconds' work; prompts have the most."""


def schedule_explained(compiled: Compiled) -> str:
    """The schedule, who chose it, its bound for a call of usual sizes, and what the runners-up cost.

    Raises:
        StoredSchedulesError: the file of stored choices is no such file.
    """
    return "\n".join([compiled.schedule_text, "", *_explained(compiled)])


def _explained(compiled: Compiled) -> Iterator[str]:
    operator, special = compiled.operator, compiled.specialization
    entry = stored_entry(operator, special)
    yield from _who(compiled, entry)
    call = _usual_call(compiled, entry)
    if call is None:
        yield "  no call of usual sizes was found for this kernel, so there are no bounds"
        return
    candidates = Candidates(call)
    own = candidates.candidate(compiled.schedule)
    assert own is not None, "the schedule of a compiled kernel is legal"
    sizes = ", ".join(f"{name}={value}" for name, value in call.dims.items() if value)
    yield f"  bounds for {sizes} on {operator.device.title}; the emulator predicts times: attndsl tune"
    yield f"  {bound_text(own)}  (this one)"
    default = candidates.candidate(candidates.default.schedule)
    others = [default] if default is not None and own.options else []
    runners_up, left = _runners_up(candidates, own)
    for candidate in [*others, *runners_up]:
        yield f"  {bound_text(candidate)}  ({candidate.bounds.rank / own.bounds.rank:.3f} of this one's rank)"
    if left:
        yield f"  {left} more schedules differ in one option; to count their work takes long: attndsl tune"


def _who(compiled: Compiled, entry: StoredSchedule | None) -> Iterator[str]:
    stale = stale_text(compiled.operator, compiled.specialization)
    if stale:
        yield f"  {stale}"
    elif entry is not None:
        gain = entry.predicted_microseconds / entry.default_microseconds
        shape = ", ".join(f"{name}={value}" for name, value in entry.shape.items())
        yield (
            f"  stored: {options_text(entry.options)}; predicted {entry.predicted_microseconds:.1f} us, "
            f"{gain:.3f} of the default's time, for {shape or 'usual sizes'}"
        )
    else:
        stated = compiled.operator.schedule_choices
        options = {name: value for name, value in stated.items() if compiled.reasons[name] == "spec"}
        by_spec = f" but for what the spec states: {options_text(options)}" if options else ""
        yield f"  no choice is stored for this kernel: defaults{by_spec}"


def _usual_call(compiled: Compiled, entry: StoredSchedule | None) -> Call | None:
    """A call of the kernel: of the stored choice's sizes, or usual ones; None where none is found."""
    operator, special = compiled.operator, compiled.specialization
    head = operator.axis_extents["D"]
    sizes = {head.name: special.padded_head_size} if isinstance(head, Symbol) else {}
    for shape in (() if entry is None else (entry.shape,)) + (sizes, {}):
        try:
            call = call_of_shape(
                operator,
                shape,
                dtype=special.dtype,
                features=sorted(special.features),
                settings={name: value for name, value in special.settings if value is not None},
            )
        except ProfileError:
            continue
        if specialization_of(call) == special:
            return call
    return None


def _runners_up(candidates: Candidates, own: Candidate) -> tuple[list[Candidate], int]:
    """The best of the schedules that differ in one option, by rank, one of those with equal bounds; and how
    many are not among these because it would take long to count their work."""
    found: dict[float, Candidate] = {}
    counted, left = 0, 0
    for schedule in candidates.neighbours(own.schedule, OF_WORK):
        if max(counted, own.bounds.counted) > _MOST_COUNTED:  # each takes about as long as this one
            left += 1
            continue
        candidate = candidates.candidate(schedule)
        counted += 0 if candidate is None else candidate.bounds.counted
        if candidate is not None and candidate.bounds != own.bounds:
            found.setdefault(candidate.bounds.rank, candidate)
    return [found[rank] for rank in sorted(found)][:_RUNNERS_UP], left
