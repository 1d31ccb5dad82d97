"""What each tensor argument is for, read off the graph of a call: nothing here knows an argument's name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from attndsl.expr import Compare, Expr, Load, Select, Symbol
from attndsl.graph.graph import Graph
from attndsl.graph.nodes import (
    BlockRequantize,
    Dense,
    Dequantize,
    EarlierPartial,
    Elementwise,
    IndexCondition,
    Input,
    Listed,
    Lookup,
    Node,
    Opposite,
    Packed,
    PackedQueries,
    Paged,
    Quantize,
    Replace,
    Rows,
    Scalar,
    Scores,
    Selected,
    Softmax,
    Take,
    TopK,
    WeightedSum,
)

QUERY, TABLE, START = "query", "table", "start"
LISTS, COUNT = "lists of blocks", "entries of a list"
LIMIT = "limit of keys"
MASK, ADDED, FORCED, BIAS = "mask", "added mask", "forced", "bias"
SLOPE, SCORE_FACTOR, OUT_FACTOR, STEP = "slope", "score factor", "out factor", "step"
KEY_FACTOR = "score factor of each key"
_FACTORS = ("multiply", "divide")
PROBABILITY_FACTOR = "probability factor"
EARLIER = "earlier partial"
IN_SCALE, IN_OFFSET, OUT_SCALE, OUT_OFFSET = "in scale", "in offset", "out scale", "out offset"
_KEY = "j"


@dataclass(frozen=True)
class ArgumentRoles:
    """``of``: the role of each tensor that the computation reads."""

    of: dict[str, str]

    def named(self, role: str) -> tuple[str, ...]:
        """The tensors with this role."""
        return tuple(name for name, found in self.of.items() if found == role)


@dataclass(frozen=True)
class Dequantization:
    """How a quantized tensor is dequantized: its scale and offset, and their entry along axis C, if any."""

    scale: str
    offset: str
    component: int | None


def dequantizations(graph: Graph) -> dict[str, Dequantization]:
    """The dequantization of each quantized tensor."""
    found = {}
    for node in graph.nodes:
        if isinstance(node, Dequantize):
            taken = [each for each in node.scale.walk() if isinstance(each, Take) and each.axis == "C"]
            index = taken[0].index if taken else None
            component = index if isinstance(index, int) else None
            found[input_name(node.source)] = Dequantization(
                input_name(node.scale), input_name(node.offset), component
            )
    return found


def measures(graph: Graph, integers: frozenset[str]) -> dict[str, str]:
    """What each of the ``integers`` counts: queries (Q), keys of a row (T), keys of a group (U), blocks (J),
    the number of a group (G), or keys that a mask compares with. Those that count none of these are left
    out."""
    found: dict[str, str] = {}

    def mark(node: Node | None, axis: str) -> None:
        for name in dict.fromkeys(integers_of(node)):
            if name in integers:
                found.setdefault(name, axis)

    nodes = graph.nodes
    for node in nodes:
        if isinstance(node, Listed):
            mark(node.index, "G")
        if isinstance(node, PackedQueries):
            mark(node.length, "Q")
            mark(node.ends, "Q")
        if isinstance(node, TopK):
            mark(node.length, "J")
    for along in ("U", "T"):
        for node in nodes:
            if isinstance(node, Rows) and (along == "U") == _by_group(node):
                mark(node.length, along)
                mark(getattr(node, "ends", None), along)
    for name in _limits_of(graph):
        if name in integers:
            found.setdefault(name, LIMIT)
    return found


def _limits_of(graph: Graph) -> Iterator[str]:
    """The integers that conditions compare numbers of keys with, as in ``j < prefix[b]``."""
    for node in graph.nodes:
        for part in node.condition.walk() if isinstance(node, IndexCondition) else ():
            if isinstance(part, Compare) and any(map(_is_number_of_key, part.children())):
                yield from (name for side in part.children() for name in _counted(side))


def _is_number_of_key(expr: Expr) -> bool:
    """Whether an expression is made of the number of a key: no element at one, no truth."""
    if isinstance(expr, Load) or expr.holds_truth():
        return False
    if isinstance(expr, Symbol):
        return expr.name == _KEY
    return any(map(_is_number_of_key, expr.children()))


def _by_group(rows: Rows) -> bool:
    """Whether rows are counted along U: those of a tensor that groups share."""
    if not isinstance(rows, Listed) or rows.index is None:
        return False
    return "U" in getattr(rows.tensors, "axes", ())


def totals(graph: Graph) -> dict[str, str]:
    """The tensors that hold the ends of packed rows, each with the axis of these: of keys U, of queries S."""
    return {
        node.ends.name: "U" if isinstance(node, Packed) else "S"
        for node in graph.nodes
        if isinstance(node, Packed | PackedQueries) and isinstance(node.ends, Input)
    }


def integers_of(node: Node | None) -> Iterator[str]:
    """The tensors that a number, such as that of the keys of a row, is made of."""
    for each in node.walk() if node is not None else ():
        if isinstance(each, Input):
            yield each.name
        if isinstance(each, Scalar):
            yield from _counted(each.value)


def _counted(expr: Expr) -> Iterator[str]:
    """The tensors whose elements ``expr`` counts with; what only decides between values is a flag."""
    if isinstance(expr, Load):
        yield expr.source
    for part in expr.children()[isinstance(expr, Select) :]:
        yield from _counted(part)


def input_name(node: Node | None) -> str:
    """The first tensor that a node reads; empty if it reads none."""
    return (
        next((each.name for each in node.walk() if isinstance(each, Input)), "") if node is not None else ""
    )


def roles_of(graph: Graph) -> ArgumentRoles:
    """The roles of the tensors that ``graph`` reads; a tensor with several keeps the first."""
    found: dict[str, str] = {}

    def mark(node: Node | None, role: str) -> None:
        for each in node.walk() if node is not None else ():
            if isinstance(each, Input):
                found.setdefault(each.name, role)

    for node in graph.nodes:
        if isinstance(node, Paged):
            mark(node.table, TABLE)
        if isinstance(node, Selected):
            mark(node.blocks, LISTS)
            mark(node.count, COUNT)
        if isinstance(node, Dense) and isinstance(node.start, Scalar):
            for part in node.start.value.walk():
                if isinstance(part, Load):
                    found.setdefault(part.source, START)
        if isinstance(node, Quantize):
            mark(node.scale, OUT_SCALE)
            mark(node.offset, OUT_OFFSET)
        if isinstance(node, Dequantize):
            mark(node.scale, IN_SCALE)
            mark(node.offset, IN_OFFSET)
        if isinstance(node, BlockRequantize):
            mark(node.scale, STEP)
        if isinstance(node, TopK):
            mark(node.forced, FORCED)
        if isinstance(node, EarlierPartial):
            mark(node.out, EARLIER)
            mark(node.lse, EARLIER)
        if isinstance(node, Scores):
            mark(node.query, QUERY)
        if isinstance(node, Replace) and "T" in node.axes:
            mark(node.condition, MASK)
    for node in graph.nodes:
        if isinstance(node, Elementwise):
            _mark_operands(node, found)
    for name in _limits_of(graph):
        found.setdefault(name, LIMIT)
    return ArgumentRoles(found)


def shows_keys(graph: Graph) -> frozenset[str]:
    """The masks that are not zero where keys are visible."""
    return frozenset(
        input_name(node.condition)
        for node in graph.nodes
        if isinstance(node, Replace) and isinstance(node.condition, Opposite)
    )


def _mark_operands(node: Elementwise, found: dict[str, str]) -> None:
    """The roles of what scores, probabilities or results are multiplied with, or of what is added to them."""
    below = [set(map(type, each.walk())) for each in node.inputs]
    on_scores = any(Scores in kinds and WeightedSum not in kinds for kinds in below)
    on_results = any(WeightedSum in kinds for kinds in below)
    on_probabilities = any(Softmax in kinds and WeightedSum not in kinds for kinds in below)
    for operand in node.inputs:
        source = operand.source if isinstance(operand, Lookup) else operand
        if not isinstance(source, Input | Take):
            continue
        keys = "T" in getattr(operand, "axes", ())
        if on_probabilities and node.op == "multiply":
            role = PROBABILITY_FACTOR
        elif on_scores and node.op in _FACTORS:
            role = KEY_FACTOR if keys else SCORE_FACTOR
        elif keys:
            role = ADDED if isinstance(operand, Lookup) else BIAS
        elif node.op in _FACTORS:
            role = OUT_FACTOR if on_results else SLOPE
        else:
            continue
        name = input_name(source)
        if name:
            found.setdefault(name, role)


def scale_parameter(graph: Graph) -> str | None:
    """The parameter that raw scores are multiplied by as it is."""
    for node in graph.nodes:
        if isinstance(node, Elementwise) and node.op == "multiply":
            raw = any(isinstance(each, Scores) for each in node.inputs)
            for operand in node.inputs if raw else ():
                if isinstance(operand, Scalar) and isinstance(operand.value, Symbol):
                    return operand.value.name
    return None
