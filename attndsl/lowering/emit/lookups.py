"""Where the elements of an indexed tensor are."""

from __future__ import annotations

from collections.abc import Mapping

from attndsl.expr import Const, Expr, ExprLike, product
from attndsl.graph import nodes
from attndsl.lowering.emit.emitter import Emitter
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.match.stored_inputs import stored_plain


def pitches(emit: Emitter, node: nodes.Lookup) -> tuple[Expr, ...]:
    """Elements between neighbours along each dimension of an indexed tensor.

    Raises:
        NotLowered: its layout is not known when the kernel is made.
    """
    tensor = stored_plain(node.source)
    shapes = [each for each in emit.signature.layouts[tensor.name].shapes if len(each) == len(node.index)]
    if len(shapes) != 1:
        raise NotLowered(f"{tensor.name} in any of {len(shapes)} layouts", node.where)
    return tuple(
        emit.host(
            product(shapes[0][axis + 1 :]),
            f"elements between neighbours of {tensor.name} along dimension {axis}",
            stem=f"{tensor.name}Pitch{axis}",
        )
        for axis in range(len(node.index))
    )


def element(emit: Emitter, node: nodes.Lookup, indices: Mapping[str, ExprLike]) -> Expr:
    """The element that a lookup reads, counted from the start of its tensor."""
    found: Expr = Const(0)
    for part, pitch in zip(node.index, pitches(emit, node), strict=True):
        found = found + emit.in_kernel(part, indices) * pitch
    return found
