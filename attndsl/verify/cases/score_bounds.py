"""Parameters that bound scores, such as those of a clamp or the cap of a tanh, far from what scores are.

Between bounds around 0 scores are neither far below 0, nor do their maxima rise from tile to tile: what a
case is asked to show does not show.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attndsl.base.facts import kept
from attndsl.graph.nodes import Elementwise, Scalar, Scores
from attndsl.verify.space.space import Assignment, CaseSpace

FAR = 1024.0
"""Farther from 0 than any score of a case that steps from tile to tile."""
_BOUNDED = ("tanh", "sigmoid")


def unbounded(space: CaseSpace, assignment: Assignment) -> Assignment:
    """The assignment with the bounds of scores far away, each where the contract allows it."""
    legal = {spec.name: spec.bounds() for spec in space.operator.params}
    found, bounds = assignment, _bounds(space, assignment) if _may_bound(space) else {}
    for name, value in bounds.items():
        wanted = {**found, name: value}
        in_bounds = all(each.evaluate({name: value}) for each in legal[name])
        if in_bounds and not space.violated(space.environment(wanted)):
            found = wanted
    return found


@kept
def _may_bound(space: CaseSpace) -> bool:
    ops = (node.op for node in space.nodes if isinstance(node, Elementwise))
    return any(op in ("maximum", "minimum", *_BOUNDED) for op in ops)


def _bounds(space: CaseSpace, assignment: Assignment) -> dict[str, Any]:
    """Float parameters that bound the scores of such calls, with values that bound none."""
    operator, env = space.operator, space.environment(assignment)
    present = frozenset(spec.name for spec in space.present(env))
    floats = {spec.name for spec in operator.params if spec.type is float and spec.name in assignment}
    found: dict[str, Any] = {}
    for node in operator.graph(present, env).nodes:
        if not isinstance(node, Elementwise) or not any(isinstance(each, Scores) for each in node.walk()):
            continue
        sign = {"maximum": -1.0, "minimum": 1.0}.get(node.op)
        capped = node.op in ("multiply", "divide") and _is_capped(node)
        for name in _parameters(node) if sign or capped else ():
            if name in floats:
                found[name] = (sign or 1.0) * FAR
    return found


def _is_capped(node: Elementwise) -> bool:
    """Whether it scales what a bounded function gives."""
    return any(isinstance(each, Elementwise) and each.op in _BOUNDED for each in node.walk())


def _parameters(node: Elementwise) -> Iterator[str]:
    """The names in scalar operands of a node."""
    for operand in node.inputs:
        if isinstance(operand, Scalar):
            yield from sorted(operand.value.symbols())
