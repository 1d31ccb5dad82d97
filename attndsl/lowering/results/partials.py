"""Whether rows of an item may be partials, which are merged after all items."""

from __future__ import annotations

from attndsl.lowering.context.attention_context import Context


def may_split(context: Context) -> bool:
    """Whether rows may end as partials: the author allows splits, or there are several attentions."""
    return context.schedule.split_kv != 1 or len(context.computation.attentions) > 1
