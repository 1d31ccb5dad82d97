"""The inputs under nodes that compute nothing: where in which tensor something is stored."""

from __future__ import annotations

from attndsl.expr import Const, Expr
from attndsl.graph import nodes
from attndsl.lowering.errors import NotLowered


def stored_node(rows: nodes.Rows) -> nodes.Node | None:
    """The tensor, or the list of tensors, that rows are read from; None where they are another source's."""
    return rows.tensors if isinstance(rows, nodes.Listed) else getattr(rows, "tensor", None)


def stored_plain(node: nodes.Node) -> nodes.Input:
    """The input that a node is, as a whole.

    Raises:
        NotLowered: it is a part of an input, or computed from one.
    """
    tensor, fixed = stored_in(node)
    if fixed:
        raise NotLowered(f"a part of {tensor.name}", node.where, "pass the part as an input of its own")
    return tensor


def stored_in(node: nodes.Node) -> tuple[nodes.Input, tuple[tuple[str, Expr], ...]]:
    """The input in which rows are stored, with the indices of axes that are taken from it.

    Of leading channels the input is that of all.

    Raises:
        NotLowered: something is computed with the tensor before its rows are read.
    """
    fixed: list[tuple[str, Expr]] = []
    while isinstance(node, nodes.Take | nodes.Leading):
        if isinstance(node, nodes.Take):
            index = node.index if isinstance(node.index, Expr) else Const(node.index)
            fixed.append((node.axis, index))
        node = node.source
    if not isinstance(node, nodes.Input):
        names = ", ".join(dict.fromkeys(each.name for each in node.walk() if isinstance(each, nodes.Input)))
        done = f"'{node.op}'" if isinstance(node, nodes.Elementwise) else type(node).__name__
        raise NotLowered(
            f"{done} of {names} before it is multiplied",
            node.where,
            "scale scores, as in attend.scores(query, keys) * scale, probabilities, as in (p * weight) @ "
            "values, or results",
        )
    return node, tuple(fixed)
