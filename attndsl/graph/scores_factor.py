"""What scores are multiplied by as a whole."""

from __future__ import annotations

from attndsl.graph.graph import Graph
from attndsl.graph.nodes import Elementwise, Scalar, Scores, WeightedSum


def scores_factor(graph: Graph, env: dict[str, object]) -> float:
    """The product of the scalars that multiply or divide the queries or the raw scores, of the first scores
    where there are several: those of each segment have their own factor."""
    first = next((node for node in graph.nodes if isinstance(node, Scores)), None)
    queries = set() if first is None else {id(each) for each in first.query.walk()}
    factor = 1.0
    for node in graph.nodes:
        on_scores = isinstance(node, Elementwise) and any(each is first for each in node.walk())
        above = any(isinstance(each, WeightedSum) for each in node.walk())
        if not isinstance(node, Elementwise) or above or not (on_scores or id(node) in queries):
            continue
        if node.op in ("multiply", "divide"):
            for operand in node.inputs:
                if isinstance(operand, Scalar) and not operand.axes:
                    value = float(operand.value.evaluate(env))
                    if node.op == "multiply":
                        factor *= value
                    elif value:  # scores divided by 0 are infinite, whatever the queries hold
                        factor /= value
    return factor
