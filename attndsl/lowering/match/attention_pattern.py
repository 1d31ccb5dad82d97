"""Recognizing the structure that the lowering rules cover: attention over one or more key sources.

    attention   softmax(modifiers(query . keys^T)) . values, or modifiers(query . keys^T) . values
    output      epilogue(attention), epilogue(log-sum-exp merge of several attentions and of earlier
                partials), or epilogue(sums and differences of functions of one attention each)

Beside it stand results made of the same probabilities: row statistics, and a selection of key blocks. Every
graph of that shape lowers, whatever its operator; anything else is reported with the spec line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TypeVar

from attndsl.base.facts import kept_upwards
from attndsl.base.source_location import SourceLine
from attndsl.expr import Const, Expr
from attndsl.graph import nodes
from attndsl.lowering.errors import NotLowered

USUAL_BLOCK = 128
"""Rows of a block of keys, where nothing tells how many they are."""


@dataclass(frozen=True, slots=True)
class Attention:
    """One softmax over one key source; ``modifiers`` act on the scores in this order.

    ``softmax``: None where the weights are what the modifiers make of the scores. ``weights``: the node that
    values are multiplied with. ``earlier``: partials of earlier calls that its rows are merged with.
    """

    query: nodes.Node
    keys: nodes.Rows
    values: nodes.Rows
    modifiers: tuple[nodes.Node, ...]
    weights: nodes.Node
    softmax: nodes.Softmax | None
    requantize: nodes.BlockRequantize | None
    where: SourceLine
    earlier: tuple[nodes.EarlierPartial, ...] = ()

    @property
    def selected(self) -> nodes.Selected | None:
        """The lists that its keys are selected by."""
        return next((each for each in self.keys.walk() if isinstance(each, nodes.Selected)), None)

    @property
    def block_of_keys(self) -> int | None:
        """The rows of a selected block of keys; those of a usual one where calls differ in them, None where
        nothing is selected."""
        if self.selected is None:
            return None
        size = self.selected.size
        return int(size.value) if isinstance(size, Const) else USUAL_BLOCK

    @property
    def reaches_all_rows(self) -> bool:
        """Whether each row has an item; those that name no tensor of a list have none."""
        return not any(isinstance(each, nodes.Listed) and each.index for each in self.keys.walk())


@dataclass(frozen=True, slots=True)
class Term:
    """What is added to a result, or taken from it: ``operations`` on the rows of one attention."""

    operations: tuple[nodes.Node, ...]
    negative: bool


@dataclass(frozen=True, slots=True)
class Computation:
    """All that the outputs ask for.

    Attributes:
        attentions: the parts of a log-sum-exp merge or of a sum, or the only one.
        epilogue: operations on result rows, in this order.
        statistics: results that are functions of row maxima and sums.
        selection: the result that names the key blocks that matter most.
    """

    attentions: tuple[Attention, ...]
    epilogue: tuple[nodes.Node, ...]
    output: nodes.Output
    statistics: tuple[nodes.Output, ...] = ()
    selection: nodes.Output | None = None
    terms: tuple[Term, ...] = ()
    """Of a sum of attentions: what each adds to it."""


def recognize(outputs: tuple[nodes.Output, ...]) -> Computation:
    """The computation that the outputs ask for.

    Raises:
        NotLowered: naming the first node that has no lowering rule.
    """
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
    epilogue, core = _to_sum(main.source)
    terms: tuple[Term, ...] = ()
    parts = core.parts if isinstance(core, nodes.LogSumExpMerge) else (core,)
    if isinstance(core, nodes.Elementwise):
        added = tuple(_terms(core))
        terms, parts = tuple(term for term, _ in added), tuple(part for _, part in added)
    earlier = tuple(part for part in parts if isinstance(part, nodes.EarlierPartial))
    attended = (part for part in parts if not isinstance(part, nodes.EarlierPartial))
    attentions = tuple(_attention(_expect(part, nodes.WeightedSum)) for part in attended)
    for at, each in enumerate(attentions):
        if each in attentions[:at]:
            raise NotLowered(
                "one attention twice among the parts of a result",
                core.where,
                "give each part keys, scores or a mask of its own, or multiply the result",
            )
    attentions = _with_earlier(attentions, earlier)
    found = Computation(attentions, epilogue, main, tuple(statistics), selection, terms)
    _check_shared_softmax(found, core)
    return found


def reads_keys_again(attention: Attention) -> bool:
    """Whether its values are channels of its keys, as they are stored."""
    keys, values = (
        {each.name for each in rows.walk() if isinstance(each, nodes.Input)}
        for rows in (attention.keys, attention.values)
    )
    plain = not any(isinstance(each, nodes.Dequantize) for each in attention.keys.walk())
    return plain and values <= keys


def values_are_channels(attention: Attention) -> bool:
    """Whether its values are the first channels of its keys, row by row the same."""
    return reads_keys_again(attention) and _same_but_leading(attention.keys, attention.values)


def _same_but_leading(keys: object, values: object) -> bool:
    """Whether two graphs differ in nothing but that the second takes leading channels."""
    if keys is values:
        return True
    if isinstance(values, nodes.Leading) and not isinstance(keys, nodes.Leading):
        return _same_but_leading(keys, values.source)
    if isinstance(keys, Expr) and isinstance(values, Expr):
        return keys.same(values)
    if isinstance(keys, tuple) and isinstance(values, tuple):
        return len(keys) == len(values) and all(map(_same_but_leading, keys, values))
    if type(keys) is not type(values) or not isinstance(keys, nodes.Node):
        return bool(keys == values)
    if isinstance(keys, nodes.Input) and isinstance(values, nodes.Input):
        return keys.name == values.name
    told = (field.name for field in fields(keys) if field.name not in ("where", "axes"))
    return all(_same_but_leading(getattr(keys, name), getattr(values, name)) for name in told)


def has_scores(node: nodes.Node) -> bool:
    """Whether a value is a function of scores."""
    return nodes.Scores in _ends_below(node)


def has_weighted_sum(node: nodes.Node) -> bool:
    """Whether a value is a function of an attention's result."""
    return nodes.WeightedSum in _ends_below(node)


def has_statistics(node: nodes.Node) -> bool:
    """Whether a value is a function of row maxima or sums."""
    return any(isinstance(each, _STATISTICS) for each in node.walk())


def score_operand(node: nodes.Node) -> nodes.Node:
    """The running score that a modifier acts on: what all its operands that have scores are functions of."""
    return _of_step(node, _to_scores(node))


def other_operand(node: nodes.Elementwise) -> nodes.Node | None:
    """The operand of a two-operand modifier that is not the running score; None where there is none."""
    score = score_operand(node)
    return next((operand for operand in node.inputs if operand is not score), None)


def _attention(weighted: nodes.WeightedSum) -> Attention:
    weights, requantize = weighted.weights, None
    if isinstance(weights, nodes.BlockRequantize):
        requantize, weights = weights, weights.source
    softmax = weights if isinstance(weights, nodes.Softmax) else None
    modifiers, scores = _unwind(weights if softmax is None else softmax.scores, _to_scores)
    return Attention(
        query=_expect(scores, nodes.Scores).query,
        keys=_expect(scores, nodes.Scores).keys,
        values=weighted.values,
        modifiers=modifiers,
        weights=weighted.weights,
        softmax=softmax,
        requantize=requantize,
        where=weighted.where,
    )


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
            raise NotLowered(f"output '{found.selection.name}' of other probabilities", found.selection.where)
    alone = len(found.attentions) == 1 and not earlier
    own = {core, *(each.softmax for each in found.attentions if alone)}
    for output in (found.output, *found.statistics):
        for node in output.walk():
            if isinstance(node, _STATISTICS) and node.softmax not in own:
                raise NotLowered(
                    f"row statistics of other probabilities than those of '{found.output.name}'",
                    node.where,
                    "a kernel has those of its result: of attend.softmax(...) that it is made of, of several "
                    "parts those of their merge, as in m = attend.merge(...), m.lse",
                )


_ADDED = ("add", "subtract")
_WITHOUT: dict[type[nodes.Node], str] = {
    nodes.Scores: "scores are attend.scores(query, keys)",
    nodes.WeightedSum: "results are made of weights @ values",
}
"""What a chain of operations has to begin with."""


def _to_sum(node: nodes.Node) -> tuple[tuple[nodes.Node, ...], nodes.Node]:
    """The operations on a result, innermost first, and what they act on: an attention, a merge, or a sum or
    difference of functions of different ones."""
    chain: list[nodes.Node] = []
    while len(operands := _operands_with(_SUMS, node)) == 1:
        chain.append(node)
        node = operands[0]
    if len(operands) < 2 or _have_one_source(node):
        inner, core = _unwind(node, _to_sums)
        return (*inner, *reversed(chain)), core
    if not isinstance(node, nodes.Elementwise) or node.op not in _ADDED:
        raise NotLowered(
            f"'{node.op}' of several attentions"
            if isinstance(node, nodes.Elementwise)
            else f"{type(node).__name__} of several attentions",
            node.where,
            "attentions are joined by +, - and attend.merge(...)",
        )
    return tuple(reversed(chain)), node


def _have_one_source(node: nodes.Node) -> bool:
    """Whether all operands of a node are functions of one attention or merge."""
    try:
        _to_sums(node)
    except NotLowered:
        return False
    return True


def _terms(node: nodes.Node, *, negative: bool = False) -> Iterator[tuple[Term, nodes.Node]]:
    """What a sum adds or takes, with the attention that it is a function of."""
    operations, core = _to_sum(node)
    if not isinstance(core, nodes.Elementwise):
        yield Term(operations, negative), core
        return
    if operations:
        what = f"'{type(operations[0]).__name__}' of a sum of attentions within another sum"
        raise NotLowered(what, operations[0].where, "let it act on each attention of the inner sum")
    left, right = core.inputs
    yield from _terms(left, negative=negative)
    yield from _terms(right, negative=negative != (core.op == "subtract"))


_SCORES = (nodes.Scores,)
_SUMS = (nodes.WeightedSum, nodes.LogSumExpMerge)
_STATISTICS = (nodes.RowMax, nodes.RowSum)
_Step = tuple[nodes.Node | None, int]
"""What a node is a function of next, on the way down to the first of some types, and how many such steps
there are; of a node of these types nothing, and 0."""


@kept_upwards(nodes.Node.operands)
def _ends_below(node: nodes.Node) -> frozenset[type[nodes.Node]]:
    """The types among those that chains end in that are found in a node, or below it.

    A row statistic is a number of its row, whatever it was computed from.
    """
    if isinstance(node, _STATISTICS):
        return frozenset()
    own = {kind for kind in (*_SCORES, *_SUMS) if isinstance(node, kind)}
    return frozenset(own).union(*(_ends_below(operand) for operand in node.operands()))


def _operands_with(kinds: tuple[type[nodes.Node], ...], node: nodes.Node) -> tuple[nodes.Node, ...]:
    """The operands that have one of ``kinds`` below them; none of a node that is one itself."""
    if isinstance(node, kinds):
        return ()
    found = (each for each in node.operands() if not _ends_below(each).isdisjoint(kinds))
    return tuple(dict.fromkeys(found))


@kept_upwards(partial(_operands_with, _SCORES))
def _to_scores(node: nodes.Node) -> _Step:
    return _step(node, _SCORES, _to_scores)


@kept_upwards(partial(_operands_with, _SUMS))
def _to_sums(node: nodes.Node) -> _Step:
    return _step(node, _SUMS, _to_sums)


def _step(
    node: nodes.Node, kinds: tuple[type[nodes.Node], ...], known: Callable[[nodes.Node], _Step]
) -> _Step:
    """The operand that has one of ``kinds`` below it; of several, what all of them are functions of."""
    if isinstance(node, kinds):
        return None, 0
    operands = _operands_with(kinds, node)
    if not operands:
        needed = _WITHOUT.get(kinds[0], "")
        raise NotLowered(f"{type(node).__name__} without {kinds[0].__name__} below it", node.where, needed)
    common: nodes.Node | None = operands[0]
    for other in operands[1:]:
        common = None if common is None else _common(common, other, known)
    if common is None:
        raise NotLowered(f"{type(node).__name__} of several {kinds[0].__name__}", node.where)
    return common, known(common)[1] + 1


def _common(first: nodes.Node, second: nodes.Node, known: Callable[[nodes.Node], _Step]) -> nodes.Node | None:
    """The first node that both are functions of."""
    while first is not second:
        (one, depth), (other, its_depth) = known(first), known(second)
        if depth >= its_depth and one is not None:
            first = one
        elif other is not None:
            second = other
        else:
            return None
    return first


def _of_step(node: nodes.Node, step: _Step) -> nodes.Node:
    below, _ = step
    return node if below is None else below


def _unwind(
    node: nodes.Node, known: Callable[[nodes.Node], _Step]
) -> tuple[tuple[nodes.Node, ...], nodes.Node]:
    """The chain of nodes above the first of the types that ``known`` ends in, innermost first, and that
    node."""
    chain: list[nodes.Node] = []
    while (below := known(node)[0]) is not None:
        chain.append(node)
        node = below
    return tuple(reversed(chain)), node


_Kind = TypeVar("_Kind", bound=nodes.Node)


def _expect(node: nodes.Node, kind: type[_Kind]) -> _Kind:
    if not isinstance(node, kind):
        raise NotLowered(f"{type(node).__name__} in place of {kind.__name__}", node.where)
    return node
