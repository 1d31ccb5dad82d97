"""Continuous pipelines: the cube begins an item's scores before the rows of the item before are finished.

A pipeline that drains at each item leaves both core kinds idle for some tiles. A continuous one does not:
at the first tiles of an item, stages with a lag work on the last tiles of the item before. Each step keeps
the scalars of its item for them. The loop over items has one turn more than the block has items
(``item_turns``); its steps finish the last item.
"""

from __future__ import annotations

from dataclasses import replace

from attndsl.lowering.attention.tile_slots import items_begun
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.errors import IllegalScheduleValue


def all_continuous(contexts: tuple[Context, ...]) -> tuple[Context, ...]:
    """The contexts of a computation, with continuous pipelines unless the schedule says otherwise.

    Raises:
        IllegalScheduleValue: the schedule asks for an early wait where there can be none.
    """
    schedule = contexts[0].schedule
    if schedule.pipeline != "drained":
        return tuple(_continuous(context) for context in contexts)
    if schedule.score_slots == "prefetch":
        legal = '"ring" or "auto" in a pipeline that drains'
        raise IllegalScheduleValue("score_slots", "prefetch", legal, "ring")
    return contexts


def _continuous(context: Context) -> Context:
    coming = (items_begun(context) + 1) % context.ring
    rows = context.rows.in_flight(context.ring, coming)
    return replace(context, continuous=True, rows=rows, waits_first=_waits_first(context))


def _waits_first(context: Context) -> bool:
    """Whether score tiles have one slot less than the rings.

    Rows that are widened come first in a step, so that scores have a lag of their own.
    """
    stated = context.schedule.score_slots
    if stated == "prefetch" and context.widens:
        raise IllegalScheduleValue("score_slots", stated, '"ring" with widened rows', "ring")
    if stated == "auto":
        return not context.rows.one_position and not context.widens
    return stated == "prefetch"
