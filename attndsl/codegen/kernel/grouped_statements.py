"""Statements of a block that are written together: neighbours that are one line, loop or branch of the text.

Nothing here writes but comments; the writer asks what belongs together (:mod:`statements`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from attndsl.expr import Const, Load, Symbol
from attndsl.tile.scalars import binds, defined
from attndsl.tile.statements import Barrier, If, Let, Seq, SetEvent, Statement, WaitEvent

_FEWEST_FOR_LOOP = 3
"""Events in a row that are set or awaited slot by slot in a loop."""


def grouped(body: Sequence[Statement]) -> Iterator[tuple[Statement, ...]]:
    """The statements one by one; together are runs of events whose slots are all set, or all awaited, and an
    event that is set and then awaited."""
    before: tuple[Statement, ...] = ()
    for group in _runs(body):
        if is_set_and_wait((*before, *group)):
            before = (*before, *group)
            continue
        if before:
            yield before
        before = group
    if before:
        yield before


def is_set_and_wait(group: Sequence[Statement]) -> bool:
    """Whether this is an event that is set and then awaited."""
    if len(group) != 2:
        return False
    first, second = group
    if not isinstance(second, WaitEvent) or type(first) is not SetEvent:
        return False
    return (first.name, first.slot, first.slot_of) == (second.name, second.slot, second.slot_of)


def _runs(body: Sequence[Statement]) -> Iterator[tuple[Statement, ...]]:
    """The statements one by one, but runs of events whose slots are all set, or all awaited, together."""
    runs: list[tuple[Statement, ...]] = []
    for _, same in groupby(body, key=lambda item: (type(item), getattr(item, "name", id(item)))):
        runs.append(tuple(same))
    for kind, group in groupby(runs, key=_kind):
        together = list(group)
        if kind is not None and len(together) >= _FEWEST_FOR_LOOP:
            yield tuple(item for run in together for item in run)
        else:
            yield from ((item,) for run in together for item in run)


def _kind(run: tuple[Statement, ...]) -> tuple[type, int] | None:
    """What a run of one event's slots, from 0 on, sets or awaits; None for anything else."""
    first = run[0]
    if not isinstance(first, SetEvent) or len(run) < 2:
        return None
    if [getattr(item, "slot", None) for item in run] != list(range(first.ids)):
        return None
    return type(first), len(run)


def is_same_scalar(let: Let, known: Let) -> bool:
    """Whether a scalar is another one that is defined before it, or is computed as that."""
    if isinstance(let.value, Symbol):
        return let.value.same(known.symbol)
    return not isinstance(let.value, Const) and let.value.same(known.value)


def with_joined_branches(body: Sequence[Statement]) -> Iterator[Statement]:
    """The statements, branches in a row that one condition decides as one."""
    before: If | None = None
    for item in body:
        if before is not None and type(item) is If and _joins(before, item):
            before = replace(before, then=Seq(body=(*before.then.body, *item.then.body)))
            continue
        if before is not None:
            yield before
        before = item if type(item) is If and item.otherwise is None else None
        if before is None:
            yield item
    if before is not None:
        yield before


def _joins(first: If, second: If) -> bool:
    """Whether one condition decides both, which the first does not change, and they define no scalar of the
    same name."""
    names = ({name for item in each.then.body for name in defined(item)} for each in (first, second))
    reads = any(isinstance(node, Load) for node in first.condition.walk())
    alike = second.otherwise is None and first.condition.same(second.condition)
    bound = {name for item in first.then.walk() for name in binds(item)}
    return alike and not reads and not bound & first.condition.symbols() and not set.intersection(*names)


def binds_again(body: Sequence[Statement], *symbols: Symbol) -> bool:
    """Whether a block of the body gives one of these names another meaning."""
    names = {symbol.name for symbol in symbols}
    return any(
        names.intersection(binds(inner))
        for item in body
        if not isinstance(item, Let)
        for inner in item.walk()
    )


def first_of_both(branch: If) -> Barrier | None:
    """The barrier that both alternatives begin with."""
    if branch.otherwise is None or not branch.then.body or not branch.otherwise.body:
        return None
    first, second = branch.then.body[0], branch.otherwise.body[0]
    if not isinstance(first, Barrier) or not isinstance(second, Barrier):
        return None
    whole = first.when is None and second.when is None
    return first if whole and first.pipe is second.pipe else None


def why_pipes_meet(branch: If) -> Iterator[str]:
    """The comment of a branch that does nothing but make pipes meet, or end a lifetime."""
    events = [item for item in branch.then.walk() if isinstance(item, SetEvent)]
    if not events or branch.otherwise is not None or len(events) != len(branch.then.body):
        return
    first, second = events[0].source.value, events[0].target.value
    if not events[0].name.endswith("Done"):
        names = " and ".join(dict.fromkeys(buffer.name for item in events for buffer in item.buffers))
        yield f"// The last use of {names}: its slot may be filled again."
        return
    yield f"// Without rows the loop does not order {first} before {second}; the flag below needs that order."


def is_handshake(first: SetEvent, second: Statement) -> bool:
    """Whether the events are those with which a flag waits for another pipe, and that pipe for the wait."""
    if not isinstance(second, SetEvent) or not first.name.endswith("Done"):
        return False
    return second.name == first.name.removesuffix("Done") + "Taken"


def why_pipes_wait(done: SetEvent) -> Iterator[str]:
    """The comment of such a pair."""
    pipe, own = done.source.value, done.target.value
    yield (
        f"// After the flag below the other core may overwrite what {pipe} works on, so {own} waits for it; "
        f"{pipe} waits back, so that the event is not set twice."
    )
