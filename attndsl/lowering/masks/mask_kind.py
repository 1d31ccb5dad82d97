"""What the lowering knows of a kind of masks; each kind has a module of its own, mask_rules.py the list."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from attndsl.expr.intervals import Range
from attndsl.graph import nodes
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.context.modifiers import Modifier
from attndsl.lowering.masks.tile_tests import TileTest
from attndsl.lowering.masks.visible_interval import Interval


@dataclass(frozen=True, slots=True)
class KnownNumbers:
    """What is known of the numbers in a condition before a call.

    Attributes:
        floats: the parameters that are no integers.
        ranges: the smallest and the largest value of integer parameters and sizes where a score is.
        sizes: the names of sizes, which no declaration bounds.
    """

    floats: frozenset[str] = frozenset()
    ranges: Mapping[str, Range] = field(default_factory=dict)
    sizes: frozenset[str] = frozenset()


def known_numbers(context: Context) -> KnownNumbers:
    """What the signature of a kernel tells."""
    signature = context.signature
    return KnownNumbers(signature.float_params, signature.stated, signature.sizes)


def _unknown(node: nodes.Replace, known: KnownNumbers) -> Interval | None:
    return None


def _no_tests(node: nodes.Replace, known: KnownNumbers) -> tuple[TileTest, ...]:
    return ()


@dataclass(frozen=True, kw_only=True)
class MaskKind:
    """A kind of masks: nodes that replace scores where a condition holds.

    Attributes:
        name: what it is called in messages.
        form: how an author writes such a mask; the refusal of other masks names it.
        matches: whether a mask is of this kind, unless one before it in the list takes it.
        lower: what a mask loads and hides; raises NotLowered for one of the kind that no rule covers.
        visible: the interval of keys outside of which a mask hides all, so that tasks skip them; None for a
            mask of which none is known.
        tile_tests: what each key that a row sees passes, block of keys by block, so that tasks skip tiles
            between seen ones, too.
    """

    name: str
    form: str
    matches: Callable[[nodes.Replace, KnownNumbers], bool]
    lower: Callable[[Context, nodes.Replace], Modifier]
    visible: Callable[[nodes.Replace, KnownNumbers], Interval | None] = _unknown
    tile_tests: Callable[[nodes.Replace, KnownNumbers], tuple[TileTest, ...]] = _no_tests
