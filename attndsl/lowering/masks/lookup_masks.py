"""Masks in bytes that are read by index: refused, as bytes are loaded as they lie, a column a key."""

from __future__ import annotations

from attndsl.graph import nodes
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.context.modifiers import Modifier
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.masks.byte_axes import WITH_COLUMNS
from attndsl.lowering.masks.mask_kind import MaskKind
from attndsl.lowering.match.stored_inputs import stored_plain


def _refused(context: Context, node: nodes.Replace) -> Modifier:
    condition = node.condition
    assert isinstance(condition, nodes.Lookup)
    index = ", ".join(map(str, condition.index))
    raise NotLowered(
        f"a mask that is read by index, {stored_plain(condition.source).name}[{index}],",
        node.where,
        f"{WITH_COLUMNS}, or write a condition on indices",
    )


LOOKUP_MASK = MaskKind(name="a mask that is read by index", lower=_refused)
