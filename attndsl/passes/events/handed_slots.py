"""Order of a handed buffer: one that a stage fills for a later one of the same step of a continuous pipeline.

The race analysis knows neither which step a stage works for nor that two stages have work in the same steps.
It leaves these buffers out: their accesses clash with nothing there, and their events tell it nothing of
other buffers. What orders them is proved from the form of the program:

* One pipe writes a buffer, in the part that begins its lifetime; one other pipe reads it, in both parts. Each
  execution of a stage reaches its part once, and the two stages have work in the same steps.
* The reader waits for the writer in the first part ("ready"), so that it knows the content in the second.
* The writer waits until its slot is free, which the reader says at the end of the second part, after its
  last read. Steps take slots in turn. The second part of a step comes before the first part of the step that
  has the slot next, as there are more slots than steps between the parts.
* So each event of a slot is set and awaited in turn.

A :class:`Shared` lifetime goes on over the steps of a stage until ``last`` holds. Only the step in which
``first`` holds writes, after it has waited, and sees the content before it reads. The steps of a lifetime,
and lifetimes of one slot, follow each other: those of a half from its first tile to its last, those of a tile
from the first half to the last. What writes may stand in a stage of its own, before the one that reads, with
work in the same steps: the reader then waits for the writer there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from attndsl.base.errors import InternalError
from attndsl.expr import Expr
from attndsl.passes.events.access_sets import Group
from attndsl.passes.events.event_pairs import event_of_slots, wait_for
from attndsl.target import Pipe
from attndsl.tile.instructions import Instruction
from attndsl.tile.statements import (
    Alloc,
    Earlier,
    For,
    Handed,
    If,
    KeepScalars,
    Let,
    Seq,
    SetEvent,
    Shared,
    Stage,
    Statement,
    seq,
)


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a lifetime, and where it stands.

    Attributes:
        keep: the steps of its pipeline. ``back``: by how many steps its stage is behind.
        when: the condition under which its stage has work; None: always.
        slot: how the stage finds the slot; the name of the scalar that has it where the step does.
    """

    part: Handed
    keep: KeepScalars
    back: int
    when: Expr | None
    slot: str


def free_events(tree: Seq) -> dict[Group, SetEvent]:
    """For the buffers of each lifetime that goes from stage to stage the event that says that a slot is free.

    Raises:
        InternalError: the form of the program does not prove the order.
    """
    found: dict[Group, SetEvent] = {}
    by_group: dict[Group, list[_Part]] = {}
    count = 0
    for item in _parts(tree):
        if isinstance(item.part, Shared) and item.part.begins and item.part.ends:
            found[item.part.buffers] = _free_event(item.part.buffers, *_proved_to_be_shared(item.part))
            count += 1
            continue
        by_group.setdefault(item.part.buffers, []).append(item)
    if count + sum(map(len, by_group.values())) != sum(isinstance(item, Handed) for item in tree.walk()):
        raise InternalError("a stage does not reach its part of a lifetime once in each execution")
    for group, parts in by_group.items():
        proved = _proved_in_two_stages if isinstance(parts[0].part, Shared) else _proved
        found[group] = _free_event(group, *proved(group, parts))
    return found


def _free_event(group: Group, writer: Pipe, reader: Pipe) -> SetEvent:
    return event_of_slots(group, "Free", reader, writer)


def with_free_event(part: Handed, free: SetEvent) -> Statement:
    """A part of a lifetime with the wait for its slot, or with what says that it is free."""
    if isinstance(part, Shared):
        return _with_events_of_halves(part, free)
    body = seq(wait_for(free), part.body) if part.begins else seq(part.body, free)
    return part.with_children((body,))


def _with_events_of_halves(part: Shared, free: SetEvent) -> Statement:
    """The body of a lifetime that steps share: the first waits for the slot, fills it and sees it filled."""
    end = If(condition=part.last, then=seq(free))
    if not part.begins:
        return part.with_children((seq(part.body, end),))
    events = [each for each in part.body.body if _is_of(each, part.buffers)]
    if not part.ends:
        ready = event_of_slots(part.buffers, "Ready", free.target, free.source)
        events = [ready, wait_for(ready)]
    others = [each for each in part.body.body if not _is_of(each, part.buffers)]
    filled = [each for each in others if isinstance(each, If) and each.condition.same(part.first)]
    if len(filled) != 1 or others[0] is not filled[0]:
        raise InternalError(f"{part.buffers[0].name} is not filled first, once, in the first half")
    begin = replace(filled[0], then=seq(wait_for(free), filled[0].then, *events))
    return part.with_children((seq(begin, *others[1:], *([end] if part.ends else [])),))


def _is_of(statement: Statement, group: Group) -> bool:
    return isinstance(statement, SetEvent) and set(statement.buffers) <= set(group)


def _parts(tree: Seq) -> Iterator[_Part]:
    for loop in (item for item in tree.walk() if isinstance(item, For)):
        keep = next((item for item in loop.body.body if isinstance(item, KeepScalars)), None)
        if keep is None:
            continue
        for item in loop.body.body:
            if isinstance(item, Earlier):
                yield from _parts_of_stages(item.then, keep, item.back if item.keep is keep else -1)
            else:
                yield from _parts_of_stages(item, keep, 0)


def _parts_of_stages(
    statement: Statement, keep: KeepScalars, back: int, when: Expr | None = None
) -> Iterator[_Part]:
    if isinstance(statement, Seq):
        for child in statement.body:
            yield from _parts_of_stages(child, keep, back)
    elif type(statement) is If and statement.otherwise is None and when is None:
        for child in statement.then.body:
            yield from _parts_of_stages(child, keep, back, statement.condition)
    elif isinstance(statement, Stage):
        found = {item.symbol.name: str(item.value) for item in statement.walk() if isinstance(item, Let)}
        for part in _always_reached(statement.body):
            yield _Part(part, keep, back, when, found.get(part.slot.name, part.slot.name))


def _always_reached(statement: Statement) -> Iterator[Handed]:
    if isinstance(statement, Handed):
        yield statement
    elif isinstance(statement, Seq | Alloc):
        for child in statement.children():
            yield from _always_reached(child)


def _proved(group: Group, parts: list[_Part]) -> tuple[Pipe, Pipe]:
    """The pipe that writes the buffers and the one that reads them."""
    name, slots = group[0].name, group[0].slots
    if [each.part.begins for each in parts] != [True, False]:
        raise InternalError(f"{name} needs one stage that begins its lifetime, and a later one that ends it")
    begin, end = parts
    if begin.keep is not end.keep or begin.back or not 0 < end.back < slots:
        raise InternalError(f"{name} is handed over {end.back} steps later and has {slots} slots")
    steps = begin.keep.steps
    if int(steps.depth.value) != slots or not all(each.part.slot.same(steps.slot) for each in parts):
        raise InternalError(f"the slots of {name} are not those of the steps")
    if str(begin.when) != str(end.when):
        raise InternalError(f"the stages that hand over {name} have work in different steps")
    writers, readers = _pipes(begin.part, group)
    later = _pipes(end.part, group)
    if len(writers) != 1 or len(readers) != 1 or writers == readers or later != (set(), readers):
        raise InternalError(f"{name} needs one pipe that writes it first, and another one that reads it")
    return writers.pop(), readers.pop()


def _proved_to_be_shared(part: Shared) -> tuple[Pipe, Pipe]:
    """The pipe that writes the buffers of a lifetime that halves share, and the one that reads them.

    What writes stands under ``first``, which holds in one step of a lifetime, and one pipe reads.
    """
    _check_first_alone_writes(part)
    writers, readers = _pipes(part, part.buffers)
    return _one_of_each(part.buffers, writers, readers)


def _proved_in_two_stages(group: Group, parts: list[_Part]) -> tuple[Pipe, Pipe]:
    """The same where one stage writes and a later one reads, with work in the same steps and in one slot."""
    name, begin, end = group[0].name, parts[0], parts[-1]
    if [each.part.begins for each in parts] != [True, False]:
        raise InternalError(f"{name} needs one stage that fills it, and a later one that reads it")
    assert isinstance(begin.part, Shared) and isinstance(end.part, Shared)
    if begin.keep is not end.keep or begin.back or end.back or str(begin.when) != str(end.when):
        raise InternalError(f"the stages that share {name} have work in different steps")
    if begin.slot != end.slot or not begin.part.first.same(end.part.first):
        raise InternalError(f"the stages that share {name} have it in different slots or steps")
    _check_first_alone_writes(begin.part)
    (writers, early), (late, readers) = _pipes(begin.part, group), _pipes(end.part, group)
    if early or late:
        raise InternalError(f"{name} is read before it is complete, or written after that")
    return _one_of_each(group, writers, readers)


def _one_of_each(group: Group, writers: set[Pipe], readers: set[Pipe]) -> tuple[Pipe, Pipe]:
    if len(writers) != 1 or len(readers) != 1 or writers == readers:
        raise InternalError(
            f"{group[0].name} needs one pipe that writes it first, and another one that reads it"
        )
    return writers.pop(), readers.pop()


def _check_first_alone_writes(part: Shared) -> None:
    group, name = part.buffers, part.buffers[0].name
    under = [each for each in part.body.body if isinstance(each, If) and each.condition.same(part.first)]
    inside = {id(each) for branch in under for each in branch.then.walk()}
    for each in part.walk():
        if (
            isinstance(each, Instruction)
            and not set(group).isdisjoint(each.writes())
            and id(each) not in inside
        ):
            raise InternalError(f"{name} is written for other halves than the first")


def _pipes(part: Handed, group: Group) -> tuple[set[Pipe], set[Pipe]]:
    """The pipes that write buffers inside, and those that read them."""
    inside = [item for item in part.walk() if isinstance(item, Instruction)]
    writers = {item.pipe for item in inside if not set(group).isdisjoint(item.writes())}
    return writers, {item.pipe for item in inside if not set(group).isdisjoint(item.reads())}
