"""What the names of a kernel's events and flags mean: a sentence for each kind that the kernel has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from attndsl.codegen.names.members import constant
from attndsl.lowering.emit.workspace_rings import AWAIT_PROBABILITIES
from attndsl.tile.program import Program
from attndsl.tile.statements import SetEvent, Stage, WaitCrossFlag

_CONTENT = "Ready: the content may be read"
_REUSE = "Free: the slot may be written again"
_TOLD_APART = "FreeXY: pipe X no longer uses the slot, Y may begin."
_TAKEN = (
    "TakenYX answers FreeXY: Y took it. An event holds one signal. Where X could set FreeXY a second time "
    "before Y has waited for the first, Y sets TakenYX right after its wait, and X waits for it before it "
    "sets FreeXY again."
)
_TAKEN_OF_SLOTS = (
    "With two slots X may write one before it waits for that slot's TakenYX: Y set the other slot's, which X "
    "waited for in the turn before, after all its work on this one."
)
_HANDSHAKE = (
    "Done/Taken: before any cross-core flag of this pair of pipes one waits for the other, which then waits "
    "for it; named after the first such flag."
)
_SHARED = "Buffers with one lifetime share an event, named after the first."


_FLAGS = "Cross-core flags. Ready: a slot of the ring is written."
_KINDS: tuple[tuple[Callable[[str], bool], str], ...] = (
    (
        lambda name: name.endswith("Rescaled"),
        "Rescaled: the sums in a slot are rescaled where a maximum grew: the cube may add the next tile's.",
    ),
    (lambda name: name.endswith("Warm"), "Warm: L2 holds a slot, to which vector cores stored zeros."),
    (
        lambda name: name.startswith("before"),
        "Before: all cores of a kind have done what comes before a stage.",
    ),
)
_IN_ORDER = "in the order of the stages it is read before it is written again."


def flag_legend(program: Program) -> str:
    """The comment on the cross-core flags of a program, without line breaks."""
    waiting = (
        item for item in program.statements() if isinstance(item, Stage) and item.stem == AWAIT_PROBABILITIES
    )
    waits = (each for item in waiting for each in item.walk() if isinstance(each, WaitCrossFlag))
    flags = dict.fromkeys(constant(each.name) for each in waits)
    told = [text for applies, text in _KINDS if any(map(applies, program.flags))]
    kinds = " ".join([_FLAGS, *told])
    if not flags:
        return f"{kinds} None says that a slot is free: {_IN_ORDER}"
    also = f"{' and '.join(flags)} also {'frees' if len(flags) == 1 else 'free'}"
    slot = "the tile's slot of the score ring, which has kPrefetch slots"
    return f"{kinds} {also} {slot}. No other flag frees a slot: {_IN_ORDER}"


def event_legend(program: Program, spelled: Mapping[str, str]) -> str:
    """The comment on the events of a program, without line breaks; ``spelled``: their constants by name."""
    return " ".join(_sentences(program, spelled))


def _sentences(program: Program, spelled: Mapping[str, str]) -> Iterator[str]:
    events = tuple(item for item in program.statements() if isinstance(item, SetEvent))
    slots = [each for each in events if each.buffers]
    taken = any(each.name == _name(each, "Taken") for each in slots)
    yield f"Event ids by pipe pair. {_CONTENT}; {_REUSE}."
    if taken or any(
        each.reuse and spelled[each.name] != constant(f"{each.buffers[0].name}Free") for each in slots
    ):
        yield _TOLD_APART
    if taken:
        yield _TAKEN
    if any(each.name == _name(each, "Taken") and each.ids > 1 for each in slots):
        yield _TAKEN_OF_SLOTS
    if len(slots) < len(events):
        yield _HANDSHAKE
    if any(len(each.buffers) > 1 for each in slots):
        yield _SHARED


def _name(event: SetEvent, what: str) -> str:
    """What an event of its buffers and pipes is called that says ``what``."""
    return f"{event.buffers[0].name}{what}{event.source.value}{event.target.value}"
