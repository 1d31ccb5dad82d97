"""Whether a kernel reads a tensor along each axis that it has.

Rules ask for the strides that they know. A rule that is given a tensor with one axis more would read the same
elements for all places along it: such a kernel is refused here, whichever rule it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

from attndsl.expr import Const
from attndsl.graph import nodes
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.match.computation import Computation
from attndsl.lowering.signature.kernel_signature import KernelSignature

_ONE = Const(1)


def check_axes_are_read(
    computation: Computation, signature: KernelSignature, asked: Mapping[str, Set[str]]
) -> None:
    """``asked``: by tensor the axes whose strides the rules of a kernel asked for.

    Neighbours along an axis of stride 1 are read as runs, for which nothing is asked.

    Raises:
        NotLowered: an input has an axis of several elements along which the kernel does not go.
    """
    for node in _inputs(computation):
        if node.name in signature.present:
            unread = unread_axes(signature, node.name, asked.get(node.name, frozenset()))
            if unread:
                along = " and ".join(axis for axis in nodes.AXIS_ORDER if axis in unread)
                what = f"{node.name} with elements along {along}, as it is used,"
                raise NotLowered(what, node.where, f"declare it without {along}, or in another place")


def unread_axes(signature: KernelSignature, tensor: str, asked: Set[str]) -> frozenset[str]:
    """Axes of several elements whose strides nobody asked for; of several layouts those of the best."""
    layout = signature.layouts[tensor]
    sizes = {**signature.extents, **layout.own}
    unread = [
        frozenset(
            axis
            for axis, stride in strides.items()
            if axis not in asked and not stride.same(_ONE) and not sizes.get(axis, stride).same(_ONE)
        )
        for strides in layout.strides
    ]
    return min(unread, key=len, default=frozenset())


def _inputs(computation: Computation) -> Iterator[nodes.Input]:
    """The tensors that are read along axes: a lookup has an index for each dimension."""
    further = () if computation.selection is None else (computation.selection,)
    roots = (computation.output, *computation.statistics, *further)
    found = {node for root in roots for node in root.walk()}
    sources = (node.source for node in found if isinstance(node, nodes.Lookup))
    looked_up = {
        inner.name for source in sources for inner in source.walk() if isinstance(inner, nodes.Input)
    }
    inputs = (node for node in found if isinstance(node, nodes.Input) and node.name not in looked_up)
    yield from sorted(inputs, key=lambda node: node.name)
