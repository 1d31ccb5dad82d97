"""Lowering rules of masks (scores that are replaced where a condition holds), by the kind of condition."""

from __future__ import annotations

from collections.abc import Callable

from attndsl.graph import nodes
from attndsl.schedule.byte_masks import byte_mask
from attndsl.schedule.context import Context
from attndsl.schedule.errors import NotLowered
from attndsl.schedule.index_masks import index_mask
from attndsl.schedule.score_step import ScoreStep


def replace_rule(context: Context, node: nodes.Node) -> ScoreStep:
    """The step of a mask.

    Raises:
        NotLowered: no rule covers the condition.
    """
    assert isinstance(node, nodes.Replace)
    rule = _RULES.get(type(node.condition))
    if rule is None:
        raise NotLowered(f"a mask by {type(node.condition).__name__}", node.where)
    return rule(context, node)


_RULES: dict[type[nodes.Node], Callable[[Context, nodes.Replace], ScoreStep]] = {
    nodes.IndexCondition: index_mask,
    nodes.Input: byte_mask,
}
