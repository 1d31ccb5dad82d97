"""What the lowering knows of a kind of masks; each kind has a module of its own, mask_rules.py the table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from attndsl.graph import nodes
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.context.modifiers import Modifier
from attndsl.lowering.masks.visible_interval import Interval

Floats = frozenset[str]
"""The parameters that are no integers."""


@dataclass(frozen=True, kw_only=True)
class MaskKind:
    """A kind of masks: scores that are replaced where a condition of one type holds.

    Attributes:
        name: what it is called in messages.
        lower: the step of a mask; raises NotLowered for one that no rule covers.
        visible: the interval of keys that a mask shows each row, so that tasks skip the others; None for a
            mask of which it is not known. The kind has none where its masks skip no keys.
    """

    name: str
    lower: Callable[[Context, nodes.Replace], Modifier]
    visible: Callable[[nodes.Replace, Floats], Interval | None] | None = None

    @property
    def skips_keys(self) -> bool:
        """Whether tasks may skip keys under a mask of this kind."""
        return self.visible is not None
