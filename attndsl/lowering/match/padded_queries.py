"""Batch rows that are padded to one number of query positions: how many queries each has.

A spec says so by replacing the result rows at positions ``i >= queries`` by zeros.
"""

from __future__ import annotations

from attndsl.expr import Compare, Expr, Symbol, as_expr
from attndsl.graph import nodes
from attndsl.lowering.match.computation import Computation


def existing_queries(computation: Computation) -> nodes.Scalar | None:
    """The queries of each batch row, where results of further ones are replaced by zeros."""
    for node in computation.epilogue:
        bound = _first_padded(node)
        if bound is not None:
            return nodes.Scalar(value=bound, axes=("B",), where=node.where)
    return None


def pads_rows(node: nodes.Node) -> bool:
    """Whether an operation on results gives zeros to the positions after a batch row's last query."""
    return _first_padded(node) is not None


def _first_padded(node: nodes.Node) -> Expr | None:
    if not isinstance(node, nodes.Replace) or node.value != 0:
        return None
    if not isinstance(node.condition, nodes.IndexCondition):
        return None
    condition = node.condition.condition
    if not isinstance(condition, Compare) or condition.op != ">=":
        return None
    if not condition.left.same(Symbol("i")) or {"i", "j", "n"} & condition.right.symbols():
        return None
    return as_expr(condition.right)
