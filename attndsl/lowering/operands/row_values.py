"""Numbers that a query row has of its own, such as a slope of its head: scalars that vector cores read."""

from __future__ import annotations

from collections.abc import Callable

from attndsl.expr import Expr, maximum, minimum
from attndsl.graph import nodes
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.lookups import element, terms
from attndsl.lowering.emit.loop_scalars import HEAD
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.match.stored_inputs import stored_plain
from attndsl.tile.buffers import GlobalTensor


def has_keys(node: nodes.Node) -> bool:
    """Whether a value differs from key to key."""
    return "T" in getattr(node, "axes", ())


def is_row_value(node: nodes.Node) -> bool:
    """Whether :func:`row_value` has a rule for a value without a key axis."""
    if isinstance(node, nodes.Elementwise):
        return node.op in _ARITHMETIC and len(node.inputs) == 2 and all(map(is_row_value, node.inputs))
    return isinstance(node, nodes.Scalar | nodes.Lookup | nodes.Input)


def row_value(context: Context, node: nodes.Node) -> Expr:
    """A value without a key axis as the scalar that a row's ``head`` and ``queryIndex`` give.

    Raises:
        NotLowered: it is no scalar of a row.
    """
    if isinstance(node, nodes.Scalar):
        if not node.axes:
            return context.host(node.value)
        return context.in_kernel(node.value, context.rows.indices())
    if isinstance(node, nodes.Lookup):
        tensor = stored_plain(node.source)
        return _float(context, tensor).at(element(context, terms(context, node), context.rows.indices()))
    if isinstance(node, nodes.Input) and not {"D", "E"} & set(node.axes):
        query = context.rows.indices()["i"]
        return _float(context, node).at(context.rows.offset(context, node.name, HEAD, query))
    if isinstance(node, nodes.Elementwise) and node.op in _ARITHMETIC and len(node.inputs) == 2:
        left, right = (row_value(context, each) for each in node.inputs)
        return _ARITHMETIC[node.op](left, right)
    forms = (
        f"numbers of a row are float32 tensors without keys and channels, joined by {', '.join(_ARITHMETIC)}"
    )
    raise NotLowered(f"{type(node).__name__} for each row", node.where, forms)


_ARITHMETIC: dict[str, Callable[[Expr, Expr], Expr]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "minimum": minimum,
    "maximum": maximum,
}


def _float(context: Context, node: nodes.Input) -> GlobalTensor:
    tensor = context.parameter(node.name)
    if tensor.dtype != "float32":
        what = f"{node.name} of dtype {tensor.dtype}, which has a number for each head, row or batch row,"
        raise NotLowered(what, node.where, 'such numbers are float32: declare it with dtype="float32"')
    return tensor
