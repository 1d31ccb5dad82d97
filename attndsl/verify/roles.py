"""What each tensor argument is for, read off the graph of a call: nothing here knows an argument's name."""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.graph.graph import Graph
from attndsl.graph.nodes import (
    Dense,
    Dequantize,
    Elementwise,
    Input,
    Node,
    Paged,
    Quantize,
    Replace,
    Rows,
    Scalar,
    Scores,
    Take,
    WeightedSum,
)
from attndsl.symbolic import Load

QUERY, KEY, VALUE = "query", "key", "value"
LENGTHS, TABLE, START, MASK, BIAS = "lengths", "table", "start", "mask", "bias"
IN_SCALE, IN_OFFSET, OUT_SCALE, OUT_OFFSET = "in scale", "in offset", "out scale", "out offset"


@dataclass(frozen=True)
class Roles:
    """``of``: the role of each tensor that the computation reads."""

    of: dict[str, str]

    def named(self, role: str) -> tuple[str, ...]:
        """The tensors with this role."""
        return tuple(name for name, found in self.of.items() if found == role)


@dataclass(frozen=True)
class Stored:
    """How a quantised tensor is dequantised: its scale and offset, and their entry along axis C, if any."""

    scale: str
    offset: str
    component: int | None


def stored(graph: Graph) -> dict[str, Stored]:
    """The dequantisation of each quantised tensor."""
    found = {}
    for node in graph.nodes:
        if isinstance(node, Dequantize) and isinstance(node.source, Input):
            taken = [each for each in node.scale.walk() if isinstance(each, Take) and each.axis == "C"]
            index = taken[0].index if taken else None
            component = index if isinstance(index, int) else None
            found[node.source.name] = Stored(_input(node.scale), _input(node.offset), component)
    return found


def _input(node: Node | None) -> str:
    return (
        next((each.name for each in node.walk() if isinstance(each, Input)), "") if node is not None else ""
    )


def roles(graph: Graph) -> Roles:
    """The roles of the tensors that ``graph`` reads; a tensor with several keeps the first."""
    found: dict[str, str] = {}

    def mark(node: Node | None, role: str) -> None:
        for each in node.walk() if node is not None else ():
            if isinstance(each, Input):
                found.setdefault(each.name, role)

    for node in graph.nodes:
        if isinstance(node, Rows):
            mark(node.length, LENGTHS)
        if isinstance(node, Paged):
            mark(node.table, TABLE)
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
    for node in graph.nodes:
        if isinstance(node, Scores):
            mark(node.query, QUERY)
            mark(node.keys, KEY)
        if isinstance(node, WeightedSum):
            mark(node.values, VALUE)
        if isinstance(node, Replace):
            mark(node.condition, MASK)
        if isinstance(node, Elementwise):
            for operand in node.inputs:
                if isinstance(operand, Input | Take) and "T" in node.axes:
                    mark(operand, BIAS)
    return Roles(found)


def scores_factor(graph: Graph, env: dict[str, object]) -> float:
    """The product of the scalars that multiply or divide the raw scores."""
    factor = 1.0
    for node in graph.nodes:
        if isinstance(node, Elementwise) and node.op in ("multiply", "divide") and "T" in node.axes:
            for operand in node.inputs:
                if isinstance(operand, Scalar) and not operand.axes:
                    value = float(operand.value.evaluate(env))
                    factor = factor * value if node.op == "multiply" else factor / value
    return factor
