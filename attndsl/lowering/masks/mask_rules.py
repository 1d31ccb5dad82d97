"""The kinds of masks, in order: a mask is of the first kind that matches.

A new kind is a module here that defines a :class:`MaskKind`, a line in the list below, and its test in
``tests/lowering/test_masks.py``.
"""

from __future__ import annotations

from attndsl.graph import nodes
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.context.modifiers import Modifier
from attndsl.lowering.masks.byte_masks import BYTE_MASK
from attndsl.lowering.masks.index_masks import INDEX_MASK
from attndsl.lowering.masks.key_masks import KEY_MASK
from attndsl.lowering.masks.mask_kind import KnownNumbers, MaskKind, known_numbers
from attndsl.lowering.masks.refused_masks import refuse_mask

_LOWERED: tuple[MaskKind, ...] = (
    INDEX_MASK,
    KEY_MASK,
    BYTE_MASK,
)


def _refused(context: Context, node: nodes.Replace) -> Modifier:
    refuse_mask(node, known_numbers(context), tuple(kind.form for kind in _LOWERED))


MASK_KINDS: tuple[MaskKind, ...] = (
    *_LOWERED,
    MaskKind(name="a mask of no kind", form="", matches=lambda node, known: True, lower=_refused),
)


def mask_kind(node: nodes.Replace, known: KnownNumbers) -> MaskKind:
    """The kind of a mask; the last one takes, and refuses, what no other does."""
    return next(kind for kind in MASK_KINDS if kind.matches(node, known))


def lower_mask(context: Context, node: nodes.Node) -> Modifier:
    """The lowered mask.

    Raises:
        NotLowered: no rule covers the condition.
    """
    assert isinstance(node, nodes.Replace)
    return mask_kind(node, known_numbers(context)).lower(context, node)
