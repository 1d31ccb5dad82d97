"""Whether rows of an item may be partials, which are merged after all items."""

from __future__ import annotations

from attndsl.lowering.attention.seen_tiles import numbers_tiles
from attndsl.lowering.context.attention_context import Context


def may_split(context: Context) -> bool:
    """Whether rows may end as partials: the author allows splits, there are several attentions, or an item
    holds the numbers of so many tiles and no more."""
    several = len(context.computation.attentions) > 1
    return context.schedule.split_kv != 1 or several or numbers_tiles(context)
