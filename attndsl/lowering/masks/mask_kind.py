"""What the lowering knows of a kind of masks, and what kinds share; each kind has a module of its own,
mask_rules.py the list."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from attndsl.expr import Const, Expr, round_up
from attndsl.expr.intervals import Range
from attndsl.graph import nodes
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.context.modifiers import Modifier
from attndsl.lowering.emit.loop_scalars import KEYS, REPEAT_LANES
from attndsl.lowering.emit.shorthands import whole
from attndsl.lowering.emit.vector_buffers import vector_buffers
from attndsl.lowering.masks.tile_tests import TileTest
from attndsl.lowering.masks.visible_interval import Interval
from attndsl.tile.buffers import Region
from attndsl.tile.instructions import SelectOrScalar
from attndsl.tile.statements import Statement


@dataclass(frozen=True, slots=True)
class KnownNumbers:
    """What is known of the numbers in a condition before a call.

    Attributes:
        floats: the parameters that are no integers.
        ranges: the smallest and the largest value of integer parameters and sizes.
    """

    floats: frozenset[str] = frozenset()
    ranges: Mapping[str, Range] = field(default_factory=dict)


def known_numbers(context: Context) -> KnownNumbers:
    """What the signature of a kernel tells."""
    return KnownNumbers(context.signature.float_params, context.signature.ranges)


def score_lanes(context: Context, row: Expr) -> Region:
    """The scores of the tile's keys in a row of the step, whole repeats."""
    lanes = round_up(KEYS, REPEAT_LANES)
    return whole(vector_buffers(context).score, row * context.tile_keys, lanes)


def hide_lanes(context: Context, node: nodes.Replace, row: Expr, bits: Region) -> Statement:
    """A row of the step keeps the scores that these bits keep."""
    lanes, value = score_lanes(context, row), Const(float(node.value))
    return SelectOrScalar(dst=lanes, bits=bits, src=lanes, scalar=value, where=node.where)


def _shows_all(node: nodes.Replace, known: KnownNumbers) -> Interval | None:
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
    visible: Callable[[nodes.Replace, KnownNumbers], Interval | None] = _shows_all
    tile_tests: Callable[[nodes.Replace, KnownNumbers], tuple[TileTest, ...]] = _no_tests
