"""What is known of window sums before a call: bounds of their terms, from the ranges of the parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from attndsl.expr import Expr, minimum
from attndsl.expr.intervals import ANYTHING, Range, bounds
from attndsl.graph import nodes
from attndsl.spec.contract.contract import Contract
from attndsl.tile.instructions.units import block_elements

_BLOCK = block_elements("float32")
MOST_CARRIED = 64
"""Keys of a tile, at most, that windows of the next may reach back to: the smallest tile."""


@dataclass(frozen=True, slots=True)
class WindowLimits:
    """Of every call: keys before a tile that its windows read, and lanes after it that they may.

    Multiples of 8, so that what follows stays on a block.
    """

    before: int
    after: int


def parameter_ranges(operator: Contract) -> dict[str, Range]:
    """The values that integer parameters, parameters with choices and sizes can have."""
    found: dict[str, Range] = dict.fromkeys(operator.dims_by_name, (0, math.inf))
    for spec in operator.params:
        values = [value for value in spec.choices.values() if value is not None]
        if values and spec.type in (str, int):
            found[spec.name] = (min(values), max(values))
        elif spec.type is int:
            lows = (spec.ge, None if spec.gt is None else spec.gt + 1)
            highs = (spec.le, None if spec.lt is None else spec.lt - 1)
            low = max((each for each in lows if each is not None), default=-math.inf)
            found[spec.name] = (low, min((each for each in highs if each is not None), default=math.inf))
    return found


def range_of(value: Expr, ranges: Mapping[str, Range]) -> Range:
    """Between which numbers an expression of parameters and sizes lies."""
    try:
        return bounds(value, ranges, {})
    except KeyError:  # it depends on something else
        return ANYTHING


def window_limits(node: nodes.WindowSum, ranges: Mapping[str, Range]) -> WindowLimits | None:
    """The limits of a window sum; None where it is not bounded well enough, or has more than two counts."""
    if len(node.counts) > 2:
        return None
    terms = range_of(term_count(node), ranges)[1]
    low, high = range_of(node.last, ranges)
    step = range_of(node.step, ranges)[1]
    # A tile's first window may end as late as one that began at its end; later lanes read as far behind it.
    before, after = terms - 1 - min(low, 0), max(step - 1, 0) + max(high, 0)
    if max(before, after) > MOST_CARRIED:
        return None
    return WindowLimits(max(_BLOCK, _rounded(before)), _rounded(after))


def term_count(node: nodes.WindowSum) -> Expr:
    """Neighbouring keys that a window adds."""
    first, *others = node.counts
    total = first
    for count in others:
        total = total + count
    return total - len(others) if others else total


def term_weight(counts: tuple[Expr, ...], terms: Expr, term: Expr) -> Expr | None:
    """How often term ``term`` occurs among all ``m + n`` with m and n below the counts; None for once.

    The convolution of two rows of ones: min(i + 1, first, second, terms - i).
    """
    if len(counts) < 2:
        return None
    return minimum(minimum(term + 1, terms - term), minimum(*counts))


def _rounded(lanes: float) -> int:
    return -(-int(lanes) // _BLOCK) * _BLOCK
