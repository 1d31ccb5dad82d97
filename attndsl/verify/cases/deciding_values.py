"""Values of other variables with which a choice decides what is computed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from attndsl.expr import Compare, Expr, Logic, Select
from attndsl.graph.nodes import INDEX_AXES, Conditional, Node, expressions_of
from attndsl.verify.space.space import CaseSpace

_TRIES = 60


def branch_conditions(roots: Iterable[Node]) -> tuple[Expr, ...]:
    """The conditions that decide what is computed, each once: of nodes, of numbers, and those that a mask
    joins with what it compares at each key."""
    kept = tuple(roots)
    found = [node.condition for root in kept for node in root.walk() if isinstance(node, Conditional)]
    for expr in expressions_of(kept):
        found += [part.condition for part in expr.walk() if isinstance(part, Select)]
        joined = [side for part in expr.walk() if isinstance(part, Logic) for side in part.children()]
        found += [part for part in joined if isinstance(part, Compare) and _is_same_for_all(part)]
    return tuple({each.structure(): each for each in found}.values())


def _is_same_for_all(condition: Expr) -> bool:
    """Whether a condition is none of batch rows, heads, queries or keys."""
    return not condition.symbols() & INDEX_AXES.keys()


def conditions_on(roots: Iterable[Node], name: str) -> tuple[Expr, ...]:
    """Those of them that ask for a parameter."""
    return tuple(each for each in branch_conditions(roots) if name in each.symbols())


def values_for(
    space: CaseSpace, condition: Expr, rng: np.random.Generator, *, holds: bool
) -> dict[str, Any] | None:
    """Values of the variables that a condition asks for, with which it holds or does not; None where none
    were found. Values of sizes that follow from others are not known here: what asks for one is left open."""
    asked = sorted(condition.symbols() & space.variables.keys())
    for _ in range(_TRIES):
        drawn = {each: _one_of(space.variables[each], rng) for each in asked}
        try:
            if bool(condition.evaluate(drawn)) is holds:
                return drawn
        except (KeyError, TypeError):
            return {}
    return None


def deciding_values(space: CaseSpace, pins: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Values of the variables beside a choice in one of these conditions, with which another value of the
    choice turns it over. Drawn at random; empty where ``pins`` are no single choice, or none were found, and
    where the choice decides alone.

    Few calls have them by chance: whether a mask of ones hides or is added asks for the precision, the kind
    of mask, its layout and the dtype.
    """
    if len(pins) != 1:
        return {}
    (name,) = pins
    others = space.variables.keys() - {name}
    conditions = [each for each in conditions_on(space.operator.roots, name) if each.symbols() & others]
    for _ in range(_TRIES if conditions else 0):
        condition = conditions[int(rng.integers(len(conditions)))]
        beside = sorted(condition.symbols() & others)
        drawn = {each: _one_of(space.variables[each], rng) for each in beside}
        if len(set(_answers(condition, drawn, name, space.variables[name]))) > 1:
            return drawn
    return {}


def _answers(condition: Expr, drawn: Mapping[str, Any], name: str, values: Iterable[Any]) -> Iterator[bool]:
    for value in values:
        try:
            yield bool(condition.evaluate({**drawn, name: value}))
        except (KeyError, TypeError):  # it asks for elements or sizes
            return


def _one_of(values: tuple[Any, ...], rng: np.random.Generator) -> Any:
    return values[int(rng.integers(len(values)))]
