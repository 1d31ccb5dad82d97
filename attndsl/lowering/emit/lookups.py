"""Where the elements of an indexed tensor are."""

from __future__ import annotations

from collections.abc import Mapping

from attndsl.expr import Const, Expr, ExprLike, Symbol, product
from attndsl.graph import nodes
from attndsl.lowering.emit.emitter import Emitter
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.match.stored_inputs import stored_plain
from attndsl.lowering.signature.looked_up_rows import row_of
from attndsl.tile.naming import camel

Term = tuple[Expr, Expr]
"""An index, and the elements between neighbours along it."""
_AXES = {"b": "B", "n": "N", "i": "Q"}


def terms(emit: Emitter, node: nodes.Lookup) -> tuple[Term, ...]:
    """The index of each dimension of an indexed tensor, with the elements between neighbours.

    Raises:
        NotLowered: its layout is not known when the kernel is made.
    """
    tensor = stored_plain(node.source)
    return tuple(
        (
            part,
            emit.host(
                pitch,
                f"elements between neighbours of {tensor.name} along dimension {axis}",
                stem=f"{tensor.name}Pitch{axis}",
            ),
        )
        for axis, (part, pitch) in enumerate(zip(node.index, _pitches(emit, node), strict=True))
    )


def row_terms(emit: Emitter, node: nodes.Lookup) -> tuple[Term, ...]:
    """Those of a row of keys, the last dimension.

    Rows told apart by batch row, head and query alone have a tiling field for each. Where all batch rows have
    the same rows, and other layouts do not, the stride of a batch row is 0 in the call: both are one program.

    Raises:
        As :func:`terms`.
    """
    tensor, own = stored_plain(node.source).name, row_of(node)
    indices = emit.signature.row_indices.get(tensor)
    if own is None or indices is None:
        return terms(emit, node)[:-1]
    known = dict(zip(own, _pitches(emit, node)[:-1], strict=True))
    return tuple((Symbol(each), _stride(emit, tensor, each, known.get(each, Const(0)))) for each in indices)


def _stride(emit: Emitter, tensor: str, index: str, pitch: Expr) -> Expr:
    axis = _AXES[index]
    meaning = f"elements between neighbours of {tensor} along {axis}; 0: all have the same"
    layout = emit.signature.layouts[tensor].choice
    return emit.inventory.field(f"{camel(tensor)}Stride{axis}", emit.settled(pitch), meaning, layout=layout)


def _pitches(emit: Emitter, node: nodes.Lookup) -> tuple[Expr, ...]:
    """Elements between neighbours along each dimension."""
    tensor = stored_plain(node.source)
    shapes = [each for each in emit.signature.layouts[tensor.name].shapes if len(each) == len(node.index)]
    if len(shapes) != 1:
        raise NotLowered(f"{tensor.name} in any of {len(shapes)} layouts", node.where)
    (shape,) = shapes
    return tuple(product(shape[axis + 1 :]) for axis in range(len(shape)))


def element(emit: Emitter, found: tuple[Term, ...], indices: Mapping[str, ExprLike]) -> Expr:
    """The element at these terms, counted from the start of the tensor."""
    total: Expr = Const(0)
    for part, pitch in found:
        total = total + emit.in_kernel(part, indices) * pitch
    return total
