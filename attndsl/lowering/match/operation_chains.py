"""Chains of operations: the nodes between a value and the scores, or attentions, that it is computed from.

    s = attend.scores(query, keys)
    attend.tanh(s / cap) * cap             the chain  s, divide, tanh, multiply
    s * attend.sigmoid(s + 1)              the chain  s, multiply: sigmoid and add are beside it

A chain has the nodes that all paths from the scores to the value go through: the value's *dominators*, where
data flows from the scores up. The next node of the chain is the immediate dominator; of a node with several
operands that are functions of scores it is the first that all of these have in common. Each node keeps its
answer, so that a chain is walked in linear time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from attndsl.base.facts import kept_upwards
from attndsl.graph import nodes
from attndsl.lowering.errors import NotLowered

STATISTICS = (nodes.RowMax, nodes.RowSum)
_SCORES = (nodes.Scores,)
_ATTENTIONS = (nodes.WeightedSum, nodes.LogSumExpMerge)
_NEEDED: dict[type[nodes.Node], str] = {
    nodes.Scores: "scores are attend.scores(query, keys)",
    nodes.WeightedSum: "results are made of weights @ values",
}
"""What authors are told of a value that has no such node below it."""

_SEVERAL: dict[type[nodes.Node], tuple[str, str]] = {
    nodes.Scores: (
        "the scores, or probabilities, of two products",
        "join results: attend.softmax(s1) @ values - (attend.softmax(s2) @ values) * number; channels in "
        "parts are joined in the caller, to one query and one key",
    ),
    nodes.WeightedSum: ("several attentions", "attentions are joined by +, - and attend.merge(...)"),
}
"""What authors are told of a value that has several such nodes below it: what it is, and what lowers."""

Chain = tuple[tuple[nodes.Node, ...], nodes.Node]
"""Operations, innermost first, and the node that the first of them acts on."""


def chain_to_scores(node: nodes.Node) -> Chain:
    """The operations between the scores and a value.

    Raises:
        NotLowered: it is a function of no scores, or of several.
    """
    return _chain(node, _scores_dominator)


def chain_to_attention(node: nodes.Node) -> Chain:
    """The operations between an attention, or a merge of several, and a value.

    Raises:
        NotLowered: it is a function of no attention, or of several.
    """
    return _chain(node, _attention_dominator)


def operands_with_attention(node: nodes.Node) -> tuple[nodes.Node, ...]:
    """The operands that are functions of attentions; none of an attention or a merge."""
    return _operands_with(_ATTENTIONS, node)


def has_scores(node: nodes.Node) -> bool:
    """Whether a value is a function of scores."""
    return nodes.Scores in _ends_below(node)


def has_weighted_sum(node: nodes.Node) -> bool:
    """Whether a value is a function of an attention's result."""
    return nodes.WeightedSum in _ends_below(node)


def has_statistics(node: nodes.Node) -> bool:
    """Whether a value is a function of row maxima or sums."""
    return any(isinstance(each, STATISTICS) for each in node.walk())


def running_score(node: nodes.Node) -> nodes.Node:
    """The running score that a modifier acts on: the node before it in the chain; of scores, themselves."""
    return _scores_dominator(node).node or node


def other_operand(node: nodes.Elementwise) -> nodes.Node | None:
    """The operand of a two-operand modifier that is not the running score; None where there is none."""
    score = running_score(node)
    return next((operand for operand in node.inputs if operand is not score), None)


@kept_upwards(nodes.Node.operands)
def _ends_below(node: nodes.Node) -> frozenset[type[nodes.Node]]:
    """The types of nodes in which chains end that a node is a function of, its own included.

    A row statistic is a number of its row, whatever it was computed from.
    """
    if isinstance(node, STATISTICS):
        return frozenset()
    own = {kind for kind in (*_SCORES, *_ATTENTIONS) if isinstance(node, kind)}
    return frozenset(own).union(*(_ends_below(operand) for operand in node.operands()))


def _operands_with(ends: tuple[type[nodes.Node], ...], node: nodes.Node) -> tuple[nodes.Node, ...]:
    """The operands that are functions of one of ``ends``; none of a node that is one itself."""
    if isinstance(node, ends):
        return ()
    found = (each for each in node.operands() if not _ends_below(each).isdisjoint(ends))
    return tuple(dict.fromkeys(found))


class _Dominator(NamedTuple):
    """The immediate dominator of a node, and the node's depth in the tree of dominators.

    Where chains end there is none, and the depth is 0.
    """

    node: nodes.Node | None
    depth: int


_DominatorOf = Callable[[nodes.Node], _Dominator]


@kept_upwards(partial(_operands_with, _SCORES))
def _scores_dominator(node: nodes.Node) -> _Dominator:
    return _dominator(node, _SCORES, _scores_dominator)


@kept_upwards(partial(_operands_with, _ATTENTIONS))
def _attention_dominator(node: nodes.Node) -> _Dominator:
    return _dominator(node, _ATTENTIONS, _attention_dominator)


def _dominator(node: nodes.Node, ends: tuple[type[nodes.Node], ...], known: _DominatorOf) -> _Dominator:
    """The immediate dominator of a node; ``known``: those of its operands."""
    if isinstance(node, ends):
        return _Dominator(None, 0)
    operands = _operands_with(ends, node)
    if not operands:
        needed = _NEEDED.get(ends[0], "")
        raise NotLowered(f"{type(node).__name__} without {ends[0].__name__} below it", node.where, needed)
    common: nodes.Node | None = operands[0]
    for other in operands[1:]:
        common = None if common is None else _common_dominator(common, other, known)
    if common is None:
        done = f"'{node.op}'" if isinstance(node, nodes.Elementwise) else type(node).__name__
        of, instead = _SEVERAL[ends[0]]
        raise NotLowered(f"{done} of {of}", node.where, instead)
    return _Dominator(common, known(common).depth + 1)


def _common_dominator(first: nodes.Node, second: nodes.Node, known: _DominatorOf) -> nodes.Node | None:
    """The nearest node that dominates both, or is one of them; None of functions of different ends."""
    while first is not second:
        (one, depth), (other, its_depth) = known(first), known(second)
        if depth >= its_depth and one is not None:
            first = one
        elif other is not None:
            second = other
        else:
            return None
    return first


def _chain(node: nodes.Node, known: _DominatorOf) -> Chain:
    chain: list[nodes.Node] = []
    while (below := known(node).node) is not None:
        chain.append(node)
        node = below
    return tuple(reversed(chain)), node
