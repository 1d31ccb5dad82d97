"""Recognizing the structure that the lowering rules cover: attention over one or more key sources.

    attention   softmax(modifiers(query . keys^T)) . values
    output      epilogue(attention), or epilogue(log-sum-exp merge of several attentions)

Beside it stand results made of the same probabilities: row statistics, and a selection of key blocks. Every
graph of that shape lowers, whatever its operator; anything else is reported with the spec line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from attndsl.base.source_location import SourceLine
from attndsl.graph import nodes
from attndsl.lowering.errors import NotLowered


@dataclass(frozen=True, slots=True)
class Attention:
    """One softmax over one key source; ``modifiers`` act on the scores in this order."""

    query: nodes.Node
    keys: nodes.Rows
    values: nodes.Rows
    modifiers: tuple[nodes.Node, ...]
    softmax: nodes.Softmax
    requantize: nodes.BlockRequantize | None
    where: SourceLine


@dataclass(frozen=True, slots=True)
class Computation:
    """All that the outputs ask for.

    Attributes:
        attentions: the parts of a log-sum-exp merge, or the only one.
        epilogue: operations on result rows, in this order.
        statistics: results that are row maxima or sums.
        selection: the result that names the key blocks that matter most.
    """

    attentions: tuple[Attention, ...]
    epilogue: tuple[nodes.Node, ...]
    output: nodes.Output
    statistics: tuple[nodes.Output, ...] = ()
    selection: nodes.Output | None = None


def recognize(outputs: tuple[nodes.Output, ...]) -> Computation:
    """The computation that the outputs ask for.

    Raises:
        NotLowered: naming the first node that has no lowering rule.
    """
    main: nodes.Output | None = None
    statistics: list[nodes.Output] = []
    selection: nodes.Output | None = None
    for output in outputs:
        if _is_statistic(output.source):
            statistics.append(output)
        elif isinstance(output.source, nodes.TopK) and selection is None:
            selection = output
        elif main is None:
            main = output
        else:
            raise NotLowered(f"output '{output.name}'", output.where)
    if main is None:
        raise NotLowered("a graph without an attention result", outputs[0].where)
    epilogue, core = _unwind(main.source, (nodes.WeightedSum, nodes.LogSumExpMerge))
    parts = core.parts if isinstance(core, nodes.LogSumExpMerge) else (core,)
    attentions = tuple(_attention(_expect(part, nodes.WeightedSum)) for part in parts)
    found = Computation(attentions, epilogue, main, tuple(statistics), selection)
    _check_shared_softmax(found)
    return found


def has_scores(node: nodes.Node) -> bool:
    """Whether a value is a function of scores."""
    return any(isinstance(each, nodes.Scores) for each in node.walk())


def score_operand(node: nodes.Node) -> nodes.Node:
    """The running score that a modifier acts on: what all its operands that have scores are functions of."""
    return _operand_with(node, (nodes.Scores,))


def other_operand(node: nodes.Elementwise) -> nodes.Node | None:
    """The operand of a two-operand modifier that is not the running score; None where there is none."""
    score = score_operand(node)
    return next((operand for operand in node.inputs if operand is not score), None)


def _attention(weighted: nodes.WeightedSum) -> Attention:
    weights, requantize = weighted.weights, None
    if isinstance(weights, nodes.BlockRequantize):
        requantize, weights = weights, weights.source
    softmax = _expect(weights, nodes.Softmax)
    modifiers, scores = _unwind(softmax.scores, (nodes.Scores,))
    return Attention(
        query=_expect(scores, nodes.Scores).query,
        keys=_expect(scores, nodes.Scores).keys,
        values=weighted.values,
        modifiers=modifiers,
        softmax=softmax,
        requantize=requantize,
        where=weighted.where,
    )


def _is_statistic(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Repeat) and isinstance(node.source, nodes.RowMax | nodes.RowSum)


def _check_shared_softmax(found: Computation) -> None:
    """Statistics and selection come from the probabilities of the only attention."""
    for output in (*found.statistics, *((found.selection,) if found.selection else ())):
        softmaxes = {id(node) for node in output.walk() if isinstance(node, nodes.Softmax)}
        if len(found.attentions) > 1 or softmaxes != {id(found.attentions[0].softmax)}:
            raise NotLowered(f"output '{output.name}' of other probabilities", output.where)


def _unwind(
    node: nodes.Node, ends: tuple[type[nodes.Node], ...]
) -> tuple[tuple[nodes.Node, ...], nodes.Node]:
    """The chain of nodes above the first of one of the types ``ends``, innermost first, and that node."""
    chain: list[nodes.Node] = []
    while not isinstance(node, ends):
        chain.append(node)
        node = _operand_with(node, ends)
    return tuple(reversed(chain)), node


def _operand_with(node: nodes.Node, kinds: tuple[type[nodes.Node], ...]) -> nodes.Node:
    """The operand that has one of ``kinds`` below it; of several, what all of them are functions of."""
    operands = {
        id(operand): operand
        for operand in node.operands()
        if any(isinstance(inner, kinds) for inner in operand.walk())
    }
    if not operands:
        raise NotLowered(type(node).__name__, node.where)
    first, *others = operands.values()
    if not others:
        return first
    below = [{id(each) for each in _below(other, kinds)} for other in others]
    common = (each for each in _below(first, kinds) if all(id(each) in found for found in below))
    found = next(common, None)
    if found is None:
        raise NotLowered(f"{type(node).__name__} of several {kinds[0].__name__}", node.where)
    return found


def _below(node: nodes.Node, kinds: tuple[type[nodes.Node], ...]) -> tuple[nodes.Node, ...]:
    """``node`` and what it is a function of, down to the first of ``kinds``."""
    chain, end = _unwind(node, kinds)
    return (*reversed(chain), end)


_Kind = TypeVar("_Kind", bound=nodes.Node)


def _expect(node: nodes.Node, kind: type[_Kind]) -> _Kind:
    if not isinstance(node, kind):
        raise NotLowered(f"{type(node).__name__} in place of {kind.__name__}", node.where)
    return node
