"""Events between the lifetimes of a buffer group; an event and its wait."""

from __future__ import annotations

from attndsl.passes.events.access_sets import Group
from attndsl.target import Pipe
from attndsl.tile.statements import SetEvent, WaitEvent


def event_of_slots(group: Group, what: str, source: Pipe, target: Pipe) -> SetEvent:
    """The event that says ``what`` of a slot of a group, such as "Free"; one id a slot."""
    return SetEvent(
        name=f"{group[0].name}{what}{source.value}{target.value}",
        source=source,
        target=target,
        ids=group[0].slots,
        slot_of=group[0],
        reuse=what == "Free",
        buffers=group,
        where=group[0].where,
    )


def wait_for(event: SetEvent) -> WaitEvent:
    """The wait of an event."""
    return WaitEvent(
        name=event.name,
        source=event.source,
        target=event.target,
        ids=event.ids,
        slot_of=event.slot_of,
        slot=event.slot,
        reuse=event.reuse,
        buffers=event.buffers,
        also=event.also,
        where=event.where,
    )
