"""Recognising the structure that the lowering rules cover: attention over one key source.

    output = softmax(modifiers(query . keys^T)) . values

Every graph of that shape lowers, whatever its operator; anything else is reported with the spec line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from attndsl.graph import nodes
from attndsl.schedule.errors import NotLowered


@dataclass(frozen=True, slots=True)
class Attention:
    """One attention computation; ``modifiers`` act on the scores in this order."""

    query: nodes.Input
    keys: nodes.Dense
    values: nodes.Dense
    modifiers: tuple[nodes.Node, ...]
    output: nodes.Output


def recognise(outputs: tuple[nodes.Output, ...]) -> Attention:
    """The attention that the outputs ask for.

    Raises:
        NotLowered: naming the first node that has no lowering rule.
    """
    if len(outputs) != 1:
        raise NotLowered(f"output '{outputs[1].name}'", outputs[1].where)
    output = outputs[0]
    weighted = _expect(output.source, nodes.WeightedSum)
    softmax = _expect(weighted.weights, nodes.Softmax)
    modifiers, scores = _unwind(softmax.scores)
    return Attention(
        query=_expect(scores.query, nodes.Input),
        keys=_dense(scores.keys),
        values=_dense(weighted.values),
        modifiers=modifiers,
        output=output,
    )


def _unwind(node: nodes.Node) -> tuple[tuple[nodes.Node, ...], nodes.Scores]:
    chain: list[nodes.Node] = []
    while not isinstance(node, nodes.Scores):
        chain.append(node)
        node = score_operand(node)
    return tuple(reversed(chain)), node


def score_operand(node: nodes.Node) -> nodes.Node:
    """The operand of a modifier that is the running score."""
    for operand in node.operands():
        if any(isinstance(inner, nodes.Scores) for inner in operand.walk()):
            return operand
    raise NotLowered(type(node).__name__, node.where)


def other_operand(node: nodes.Elementwise) -> nodes.Node | None:
    """The operand of a two-operand modifier that is not the running score; None where there is none."""
    score = score_operand(node)
    return next((operand for operand in node.inputs if operand is not score), None)


def _dense(rows: nodes.Rows) -> nodes.Dense:
    dense = _expect(rows, nodes.Dense)
    if dense.start is not None:
        raise NotLowered("a first key row (left padding)", dense.where)
    _expect(dense.tensor, nodes.Input)
    return dense


_Kind = TypeVar("_Kind", bound=nodes.Node)


def _expect(node: nodes.Node, kind: type[_Kind]) -> _Kind:
    if not isinstance(node, kind):
        raise NotLowered(f"{type(node).__name__} in place of {kind.__name__}", node.where)
    return node
