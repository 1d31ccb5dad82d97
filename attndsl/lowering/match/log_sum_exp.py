"""Log-sum-exps among what is asked of row statistics: the maximum and the sum of a row in one number."""

from __future__ import annotations

from attndsl.graph import nodes
from attndsl.lowering.match.computation import Computation


def is_log_sum_exp(node: nodes.Node) -> bool:
    """Whether a node is the maximum of a row and the logarithm of its sum, added."""
    if not isinstance(node, nodes.Elementwise) or node.op != "add":
        return False
    of_logarithm = [each for each in node.inputs if isinstance(each, nodes.Elementwise) and each.op == "log"]
    top = [each for each in node.inputs if isinstance(each, nodes.RowMax)]
    return len(of_logarithm) == len(top) == 1 and isinstance(of_logarithm[0].inputs[0], nodes.RowSum)


def asks_statistics_alone(computation: Computation) -> bool:
    """Whether a result has the maximum or the sum of a row but in their log-sum-exp."""
    open_: list[nodes.Node] = [*(each.source for each in computation.statistics), *computation.epilogue]
    open_ += (each for term in computation.terms for each in term.operations)
    seen = set[nodes.Node]()
    while open_:
        node = open_.pop()
        if node in seen or is_log_sum_exp(node):
            continue
        if isinstance(node, nodes.RowMax | nodes.RowSum):
            return True
        seen.add(node)
        open_ += node.operands()
    return False
