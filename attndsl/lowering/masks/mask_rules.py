"""Lowering rules of masks (scores that are replaced where a condition holds), by the kind of condition."""

from __future__ import annotations

from collections.abc import Callable

from attndsl.graph import nodes
from attndsl.lowering.emit.context import Context
from attndsl.lowering.emit.modifiers import Modifier
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.masks.byte_masks import WITH_COLUMNS, byte_mask
from attndsl.lowering.masks.index_masks import index_mask
from attndsl.lowering.match.stored_inputs import stored_plain


def replace_rule(context: Context, node: nodes.Node) -> Modifier:
    """The step of a mask.

    Raises:
        NotLowered: no rule covers the condition.
    """
    assert isinstance(node, nodes.Replace)
    rule = _MASK_RULES.get(type(node.condition))
    if rule is None:
        raise NotLowered(f"a mask by {type(node.condition).__name__}", node.where)
    return rule(context, node)


def _read_by_index(context: Context, node: nodes.Replace) -> Modifier:
    """Refused: bytes are loaded as they lie, a column a key."""
    condition = node.condition
    assert isinstance(condition, nodes.Lookup)
    index = ", ".join(map(str, condition.index))
    raise NotLowered(
        f"a mask that is read by index, {stored_plain(condition.source).name}[{index}],",
        node.where,
        f"{WITH_COLUMNS}, or write a condition on indices",
    )


_MASK_RULES: dict[type[nodes.Node], Callable[[Context, nodes.Replace], Modifier]] = {
    nodes.IndexCondition: index_mask,
    nodes.Input: byte_mask,
    nodes.Lookup: _read_by_index,
}
