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
from attndsl.lowering.match.choice_of_ways import Way

PREFETCHED_SCORES = Way[Context](
    option="score_slots",
    value="prefetch",
    other="ring",
    obstacles=(
        ("in a pipeline that drains", lambda context: context.schedule.pipeline == "drained"),
        # these come first in a step, so that scores have a lag of their own
        ("with widened rows", lambda context: context.widens),
    ),
)


def all_continuous(contexts: tuple[Context, ...]) -> tuple[Context, ...]:
    """The contexts of a computation, with continuous pipelines unless the schedule says otherwise.

    Raises:
        IllegalScheduleValue: the schedule asks for an early wait where there can be none.
    """
    waiting = [_waits_first(context) for context in contexts]
    if contexts[0].schedule.pipeline == "drained":
        return contexts
    return tuple(
        _continuous(context, waits_first) for context, waits_first in zip(contexts, waiting, strict=True)
    )


def _continuous(context: Context, waits_first: bool) -> Context:
    coming = (items_begun(context) + 1) % context.ring
    rows = context.rows.in_flight(context.ring, coming)
    return replace(context, continuous=True, rows=rows, waits_first=waits_first)


def _waits_first(context: Context) -> bool:
    """Whether score tiles have one slot less than the rings."""
    prompt = not context.rows.one_position
    return PREFETCHED_SCORES.is_taken(context.schedule, context, by_itself=prompt)
