"""Masks of no kind: refused, with the forms that lower."""

from __future__ import annotations

from typing import NoReturn

from attndsl.graph import nodes
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.masks.byte_axes import WITH_COLUMNS
from attndsl.lowering.masks.key_conditions import KeyConditions
from attndsl.lowering.masks.mask_kind import KnownNumbers


def refuse_mask(node: nodes.Replace, known: KnownNumbers, forms: tuple[str, ...]) -> NoReturn:
    """Says why no kind takes a mask, and which ``forms`` lower.

    Raises:
        NotLowered: always.
    """
    condition = node.condition.source if isinstance(node.condition, nodes.Opposite) else node.condition
    if isinstance(condition, nodes.IndexCondition):
        KeyConditions(known, node.where).visible(condition.condition)  # says which part does not lower
    if isinstance(condition, nodes.Lookup):
        name = ", ".join(each.name for each in condition.source.walk() if isinstance(each, nodes.Input))
        index = ", ".join(map(str, condition.index))
        what = f"a mask that is read by index, {name}[{index}],"
        at_keys = str(condition.index[-1]) == "j"
        as_condition = f"{name}[{index}] != 0 is a condition on indices; or " if at_keys else ""
        raise NotLowered(what, node.where, as_condition + WITH_COLUMNS)
    what = f"a mask by {type(condition).__name__}"
    raise NotLowered(what, node.where, f"write it as {' or as '.join(forms)}")
