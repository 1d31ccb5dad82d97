"""Recognizing the structure that the lowering rules cover: attention over one or more key sources.

    attention   softmax(modifiers(query . keys^T)) . values, or modifiers(query . keys^T) . values; the
                probabilities of a softmax may be multiplied by factors first
    output      epilogue(attention), epilogue(log-sum-exp merge of several attentions and of earlier
                partials), or epilogue(sums and differences of functions of one attention each)

Beside it stand results made of the same probabilities: row statistics, and a selection of key blocks. Every
graph of that shape lowers, whatever its operator; anything else is reported with the spec line.

An example, with the graph upside down, as data flows::

    s = (attend.scores(query, attend.rows(key)) * scale).where(j <= i)
    r = attend.scores(query, attend.rows(memory))
    out = attend.tanh(attend.softmax(s) @ attend.rows(value) - (attend.relu(r) @ attend.rows(past)) * lam)

    Scores(query, key)                        Scores(query, memory)        |
      Elementwise multiply, scale               Elementwise relu           | modifiers
      Replace, j <= i                                                      |
      Softmax                                                              | softmax; the second has none
      WeightedSum, value                        WeightedSum, past          | attentions
                                                Elementwise multiply, lam  | operations of a term
              \\_______________________________________/
                       Elementwise subtract                                | core: terms +, -
                       Elementwise tanh                                    | epilogue
                       Output out

Of one attention alone the core is its WeightedSum, of ``attend.merge`` the LogSumExpMerge; terms are empty
then. tests/lowering/test_attention_pattern.py has this example.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeVar

from attndsl.graph import nodes
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.match.computation import Attention, Computation, Term
from attndsl.lowering.match.operation_chains import (
    STATISTICS,
    Chain,
    chain_to_attention,
    chain_to_scores,
    has_scores,
    has_statistics,
    has_weighted_sum,
    operands_with_attention,
)

_ADDED = ("add", "subtract")
_Kind = TypeVar("_Kind", bound=nodes.Node)


def recognize(outputs: tuple[nodes.Output, ...]) -> Computation:
    """The computation that the outputs ask for.

    Raises:
        NotLowered: naming the first node that has no lowering rule.
    """
    main, statistics, selection = _by_kind(outputs)
    epilogue, core = _to_core(main.source)
    terms, parts = _joined(core)
    found = Computation(_attentions(parts, core), epilogue, main, statistics, selection, terms)
    _check_shared_softmax(found, core)
    return found


def _by_kind(
    outputs: tuple[nodes.Output, ...],
) -> tuple[nodes.Output, tuple[nodes.Output, ...], nodes.Output | None]:
    """The attention result, the row statistics and the selection among outputs."""
    main: nodes.Output | None = None
    statistics: list[nodes.Output] = []
    selection: nodes.Output | None = None
    for output in outputs:
        if has_statistics(output.source) and not has_weighted_sum(output.source):
            statistics.append(output)
        elif isinstance(output.source, nodes.TopK) and selection is None:
            selection = output
        elif main is None:
            main = output
        else:
            raise NotLowered(
                f"'{output.name}', a second attention result beside '{main.name}',",
                output.where,
                "write an operator for each; a kernel has one, row statistics such as p.lse, and a selection",
            )
    if main is None:
        raise NotLowered(
            f"'{outputs[0].name}' without an attention result beside it",
            outputs[0].where,
            "add an output of weights @ values, such as attend.softmax(s) @ attend.rows(value)",
        )
    return main, tuple(statistics), selection


# The result: an epilogue on a core ----------------------------------------------------------------------


def _to_core(node: nodes.Node) -> Chain:
    """The operations on a result, and the core that they act on: an attention, a merge, or a sum or
    difference of functions of different ones."""
    chain: list[nodes.Node] = []
    while len(operands := operands_with_attention(node)) == 1:
        chain.append(node)
        node = operands[0]
    if len(operands) < 2 or _have_one_attention(node):
        inner, core = chain_to_attention(node)
        return (*inner, *reversed(chain)), core
    if not isinstance(node, nodes.Elementwise) or node.op not in _ADDED:
        name = f"'{node.op}'" if isinstance(node, nodes.Elementwise) else type(node).__name__
        raise NotLowered(
            f"{name} of several attentions", node.where, "attentions are joined by +, - and attend.merge(...)"
        )
    return tuple(reversed(chain)), node


def _have_one_attention(node: nodes.Node) -> bool:
    """Whether all operands of a node are functions of one attention or merge."""
    try:
        chain_to_attention(node)
    except NotLowered:
        return False
    return True


def _joined(core: nodes.Node) -> tuple[tuple[Term, ...], tuple[nodes.Node, ...]]:
    """The terms of a sum, else none, and the attentions and earlier partials that a core joins."""
    if isinstance(core, nodes.LogSumExpMerge):
        return (), core.parts
    if not isinstance(core, nodes.Elementwise):
        return (), (core,)
    added = tuple(_terms(core))
    return tuple(term for term, _ in added), tuple(part for _, part in added)


def _terms(node: nodes.Node, *, negative: bool = False) -> Iterator[tuple[Term, nodes.Node]]:
    """What a sum adds or takes, with the attention that it is a function of."""
    operations, core = _to_core(node)
    if not isinstance(core, nodes.Elementwise):
        yield Term(operations, negative), core
        return
    if operations:
        what = f"'{type(operations[0]).__name__}' of a sum of attentions within another sum"
        raise NotLowered(what, operations[0].where, "let it act on each attention of the inner sum")
    left, right = core.inputs
    yield from _terms(left, negative=negative)
    yield from _terms(right, negative=negative != (core.op == "subtract"))


# Attentions ---------------------------------------------------------------------------------------------


def _attentions(parts: tuple[nodes.Node, ...], core: nodes.Node) -> tuple[Attention, ...]:
    """The attentions among what a core joins, each once; earlier partials are given to one of them."""
    earlier = tuple(part for part in parts if isinstance(part, nodes.EarlierPartial))
    attended = (part for part in parts if not isinstance(part, nodes.EarlierPartial))
    found = tuple(_attention(_expect(part, nodes.WeightedSum)) for part in attended)
    if any(each in found[:at] for at, each in enumerate(found)):
        raise NotLowered(
            "one attention twice among the parts of a result",
            core.where,
            "give each part keys, scores or a mask of its own, or multiply the result",
        )
    return _with_earlier(found, earlier)


def _attention(weighted: nodes.WeightedSum) -> Attention:
    weights, requantize = weighted.weights, None
    if isinstance(weights, nodes.BlockRequantize):
        requantize, weights = weights, weights.source
    chain, scores = chain_to_scores(weights)
    modifiers, softmax, factors = _around_softmax(chain)
    return Attention(
        query=_expect(scores, nodes.Scores).query,
        keys=_expect(scores, nodes.Scores).keys,
        values=weighted.values,
        modifiers=modifiers,
        weights=weighted.weights,
        softmax=softmax,
        requantize=requantize,
        where=weighted.where,
        factors=factors,
    )


def _around_softmax(
    chain: tuple[nodes.Node, ...],
) -> tuple[tuple[nodes.Node, ...], nodes.Softmax | None, tuple[nodes.Node, ...]]:
    """What acts on scores, their softmax, if there is one, and what multiplies its probabilities.

    Raises:
        NotLowered: anything else acts on them.
    """
    at = next((at for at, node in enumerate(chain) if isinstance(node, nodes.Softmax)), None)
    if at is None:
        return chain, None, ()
    softmax, factors = chain[at], chain[at + 1 :]
    assert isinstance(softmax, nodes.Softmax)
    for node in factors:
        if not _is_factor(node):
            several = isinstance(node, nodes.Elementwise) and sum(map(has_scores, node.inputs)) > 1
            acting = f"{_acting(node)} the probabilities of attend.softmax"
            raise NotLowered(acting, node.where, _FUNCTIONS if several else _FACTORS)
    return chain[:at], softmax, factors


def _is_factor(node: nodes.Node) -> bool:
    """Whether a node multiplies probabilities by what is no function of scores, or divides them by it."""
    if not isinstance(node, nodes.Elementwise) or sum(map(has_scores, node.inputs)) != 1:
        return False
    return node.op == "multiply" or (node.op == "divide" and has_scores(node.inputs[0]))


def _acting(node: nodes.Node) -> str:
    """What a node does, for messages."""
    if isinstance(node, nodes.Elementwise):
        of_two = sum(map(has_scores, node.inputs)) > 1
        return f"'{node.op}' of two functions of" if of_two else f"'{node.op}' of"
    return "a mask on" if isinstance(node, nodes.Replace) else f"{type(node).__name__} of"


_FACTORS = (
    "multiply them by what is no function of scores, as in (p * weight) @ values; let all else act on the "
    "scores in front, or on the result of p @ values"
)
_FUNCTIONS = (
    "numbers of a row that a kernel has are p.row_max, p.row_sum and p.lse, of which attend.exp(p.row_max - "
    "p.lse) is the largest probability; an entropy there is not"
)


def _expect(node: nodes.Node, kind: type[_Kind]) -> _Kind:
    if not isinstance(node, kind):
        raise NotLowered(
            f"{type(node).__name__} in place of {kind.__name__}",
            node.where,
            "attention is attend.softmax(s) @ values of functions s of attend.scores(query, keys)",
        )
    return node


def _with_earlier(
    attentions: tuple[Attention, ...], earlier: tuple[nodes.EarlierPartial, ...]
) -> tuple[Attention, ...]:
    """The attentions, the first of which with an item for each row takes the earlier partials."""
    if not earlier:
        return attentions
    taking = next((each for each in attentions if each.reaches_all_rows), attentions[0])
    return tuple(replace(each, earlier=earlier) if each is taking else each for each in attentions)


def _check_shared_softmax(found: Computation, core: nodes.Node) -> None:
    """Row statistics are those of the whole result, a selection those of the only attention."""
    earlier = any(each.earlier for each in found.attentions)
    if found.selection is not None:
        softmaxes = {node for node in found.selection.walk() if isinstance(node, nodes.Softmax)}
        if len(found.attentions) > 1 or earlier or softmaxes != {found.attentions[0].softmax}:
            raise NotLowered(
                f"output '{found.selection.name}' of other probabilities",
                found.selection.where,
                "select by those of the one attention that is the result",
            )
    alone = len(found.attentions) == 1 and not earlier
    own = {core, *(each.softmax for each in found.attentions if alone)}
    for output in (found.output, *found.statistics):
        for node in output.walk():
            if isinstance(node, STATISTICS) and node.softmax not in own:
                raise NotLowered(
                    f"row statistics of other probabilities than those of '{found.output.name}'",
                    node.where,
                    "a kernel has those of its result: of attend.softmax(...) that it is made of, of several "
                    "parts those of their merge, as in m = attend.merge(...), m.lse",
                )
