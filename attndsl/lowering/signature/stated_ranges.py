"""Between which numbers sizes and parameters lie, by declarations and by what a contract states of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attndsl.expr import Binary, Expr, Symbol
from attndsl.expr.intervals import Range
from attndsl.expr.proofs import Facts
from attndsl.lowering.signature.window_bounds import parameter_ranges
from attndsl.spec.contract.constraint import Constraint
from attndsl.spec.contract.contract import Contract

_OF_A_SCORE = ("B", "N", "K", "Q", "D", "E")
"""Axes that have an element wherever a score is."""
_OF_ITS_KEY = "T"
_STORED_ELSEWHERE = frozenset({"U", "G"})
"""Axes of keys that may lie in other tensors than those with an axis T."""


def plain_rules(operator: Contract) -> Iterator[Constraint]:
    """The constraints that a call must keep and that speak of no index."""
    return (rule for rule in operator.constraints if not rule.over and not rule.warns)


def stated_ranges(operator: Contract) -> dict[str, Range]:
    """The ranges of sizes and parameters in all calls in which a score is computed.

    These follow from declarations, as :func:`parameter_ranges` has them, from the constraints that hold
    whatever a call passes, and from the score itself: a size of 0 on one of its axes leaves none.
    """
    declared = parameter_ranges(operator)
    floats = frozenset(spec.name for spec in operator.params if spec.type is float)
    numbers = {name: found for name, found in declared.items() if isinstance(found[0], int | float)}
    facts = Facts({Symbol(name): found for name, found in numbers.items()}, floats=floats)
    for rule in plain_rules(operator):
        if rule.when is None:
            facts = facts.given(rule.condition)
    stated = {name: facts.ranges[Symbol(name)] for name in numbers}
    for name in _sizes_of_a_score(operator.axis_extents) & stated.keys():
        low, high = stated[name]
        stated[name] = max(low, 1), high
    return {**declared, **stated}


def _sizes_of_a_score(extents: Mapping[str, Expr]) -> frozenset[str]:
    """The sizes that are none of them 0 where there is a score."""
    axes = _OF_A_SCORE if _STORED_ELSEWHERE & extents.keys() else (*_OF_A_SCORE, _OF_ITS_KEY)
    return frozenset(name for axis in axes if axis in extents for name in _factors(extents[axis]))


def _factors(extent: Expr) -> Iterator[str]:
    if isinstance(extent, Symbol):
        yield extent.name
    elif isinstance(extent, Binary) and extent.op == "*":
        yield from _factors(extent.left)
        yield from _factors(extent.right)
