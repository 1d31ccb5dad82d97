"""What weights become of scores that a mask has replaced: where they are 0, the key adds nothing.

Of a softmax the replaced scores are -inf. Weights that are no softmax are functions of the scores; which of
them are 0 at -inf is found by following the value through the operations after the mask.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from attndsl.expr import Const
from attndsl.graph import nodes
from attndsl.lowering.match.operation_chains import has_scores

_ANY = math.nan
"""A value that is not known before a call."""


def vanishing_masks(modifiers: Sequence[nodes.Node]) -> list[nodes.Replace]:
    """The masks whose hidden keys get the weight 0, whatever other masks do; the last one first."""
    found: list[nodes.Replace] = []
    for at in reversed(range(len(modifiers))):
        node = modifiers[at]
        if isinstance(node, nodes.Replace):
            if value_after(modifiers[at + 1 :], node.value) != 0:
                break
            found.append(node)
    return found


def value_after(modifiers: Sequence[nodes.Node], value: float) -> float:
    """What ``modifiers`` make of a score of this value where no further mask replaces it; NaN if unknown, as
    it is of every modifier that is not known here."""
    for node in modifiers:
        if isinstance(node, nodes.Elementwise):
            value = _applied(node, value)
        elif not isinstance(node, nodes.Replace):
            return _ANY
    return value


def _applied(node: nodes.Elementwise, value: float) -> float:
    others = [each for each in node.inputs if not has_scores(each)]
    if len(node.inputs) - len(others) != 1 or any(not isinstance(each, nodes.Scalar) for each in others):
        return _ANY
    if not others:
        return _OF_ONE[node.op](value) if node.op in _OF_ONE else _ANY
    other = others[0]
    assert isinstance(other, nodes.Scalar)
    number = float(other.value.value) if isinstance(other.value, Const) else None
    rule = _OF_TWO.get(node.op)
    return _ANY if rule is None or node.inputs[0] is other else rule(value, number)


def _sum(value: float, number: float | None) -> float:
    return value if math.isinf(value) else _ANY


def _product(value: float, number: float | None) -> float:
    if value == 0:
        return 0.0
    return value if number is not None and number > 0 and math.isinf(value) else _ANY


_OF_ONE: dict[str, Callable[[float], float]] = {
    "sigmoid": lambda x: 0.0 if x == -math.inf else _ANY,
    "exp": lambda x: 0.0 if x == -math.inf else _ANY,
    "tanh": lambda x: 0.0 if x == 0 else _ANY,
    "abs": abs,
    "sqrt": lambda x: 0.0 if x == 0 else _ANY,
    "negate": lambda x: 0.0 if x == 0 else -x,
}
_OF_TWO: dict[str, Callable[[float, float | None], float]] = {
    "add": _sum,
    "subtract": _sum,
    "multiply": _product,
    "divide": lambda value, number: _ANY if not number else _product(value, number),
    "maximum": lambda value, number: _ANY if number is None else max(value, number),
    "minimum": lambda value, number: -math.inf if value == -math.inf else _ANY,
}
"""The value, and the number beside it if it is a literal."""
