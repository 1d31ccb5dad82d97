"""An event and its wait."""

from __future__ import annotations

from attndsl.tile.statements import SetEvent, WaitEvent


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
