"""The kinds of masks, by the type of their condition.

A new kind is a module here that defines a :class:`MaskKind`, a line in the table below, and its test.
"""

from __future__ import annotations

from attndsl.graph import nodes
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.context.modifiers import Modifier
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.masks.byte_masks import BYTE_MASK
from attndsl.lowering.masks.index_masks import INDEX_MASK
from attndsl.lowering.masks.lookup_masks import LOOKUP_MASK
from attndsl.lowering.masks.mask_kind import MaskKind

MASK_KINDS: dict[type[nodes.Node], MaskKind] = {
    nodes.IndexCondition: INDEX_MASK,
    nodes.Input: BYTE_MASK,
    nodes.Lookup: LOOKUP_MASK,
}


def mask_kind(node: nodes.Replace) -> MaskKind | None:
    """The kind of a mask; None where there is none for its condition."""
    return MASK_KINDS.get(type(node.condition))


def lower_mask(context: Context, node: nodes.Node) -> Modifier:
    """The step of a mask.

    Raises:
        NotLowered: no rule covers the condition.
    """
    assert isinstance(node, nodes.Replace)
    kind = mask_kind(node)
    if kind is None:
        raise NotLowered(f"a mask by {type(node.condition).__name__}", node.where)
    return kind.lower(context, node)
