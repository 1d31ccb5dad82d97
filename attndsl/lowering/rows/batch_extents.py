"""Numbers of a batch row as cores compute them: how many rows it has, and where they begin."""

from __future__ import annotations

from attndsl.expr import Expr, Load, Select, Symbol, minimum, select
from attndsl.expr.reductions import Fold
from attndsl.graph import nodes
from attndsl.lowering.emit.emitter import Emitter
from attndsl.lowering.emit.loop_scalars import BATCH
from attndsl.lowering.errors import NotLowered

_BEFORE = Symbol("b")


def batch_scalar(emit: Emitter, node: nodes.Node | None, default: Expr) -> Expr:
    """A number of the batch row, such as its length: an entry of a tensor, or computed from entries.

    Entries of a tensor that a call may leave out are ``default`` then.
    """
    if node is None:
        return default
    if isinstance(node, nodes.Input):
        one = emit.entry(node.name, BATCH)
        return select(emit.count(node.name) == 0, default, one) if node.optional else one
    if isinstance(node, nodes.Scalar):
        return emit.in_kernel(node.value, {"b": BATCH})
    raise NotLowered(
        f"{type(node).__name__} for each batch row",
        node.where,
        "lengths are op.lengths(...), or arithmetic of these",
    )


def batch_count(emit: Emitter, node: nodes.Node | None, most: Expr) -> Expr:
    """How many rows, positions or blocks a batch row has: :func:`batch_scalar`, ``most`` if nothing tells.

    The host has not seen what tensors on the device hold. A core takes no entry above ``most``, the size of
    the tensors, so that a wrong one reads nothing outside of them.
    """
    if isinstance(node, nodes.Input) and node.optional:
        return select(emit.count(node.name) == 0, most, minimum(emit.entry(node.name, BATCH), most))
    found = batch_scalar(emit, node, most)
    reads = any(isinstance(part, Load | Fold) for part in found.walk())
    return minimum(found, most) if reads else found


def packed_start(
    emit: Emitter, ends: nodes.Node | None, lengths: nodes.Node | None, what: str = "Keys"
) -> Expr:
    """First row of a batch row where those of all batch rows are back to back; ``what`` rows, for a name."""
    if isinstance(ends, nodes.Input):
        return select(BATCH == 0, 0, emit.entry(ends.name, BATCH - 1))
    if isinstance(lengths, nodes.Scalar | nodes.Input):
        one = lengths.value if isinstance(lengths, nodes.Scalar) else Load(lengths.name, _BEFORE)
        return _sum_before(emit, emit.in_kernel(one, {_BEFORE.name: _BEFORE}), f"{what}Before")
    where = ends.where if ends is not None else emit.where
    raise NotLowered("packed rows without lengths", where, 'declare op.prefix_sums("ends", "B", total=S)')


def _sum_before(emit: Emitter, lengths: Expr, title: str) -> Expr:
    """The sum of the lengths of the batch rows before this one.

    Lengths that a launch takes from one of two places are summed at each, if there is a sum of one already:
    keys without lengths of their own begin where the queries do.
    """
    if isinstance(lengths, Select) and not any(
        isinstance(node, Load | Fold) or node.same(_BEFORE) for node in lengths.condition.walk()
    ):
        sides = [Fold("sum", side, _BEFORE.name, BATCH) for side in (lengths.then, lengths.otherwise)]
        if any(map(emit.inventory.has_sum, sides)):
            then, otherwise = (_sum_before(emit, side.body, title) for side in sides)
            return select(lengths.condition, then, otherwise)
    return emit.inventory.running_sum(Fold("sum", lengths, _BEFORE.name, BATCH, title))


def packed_length(ends: nodes.Node | None, length: nodes.Node | None) -> nodes.Node | None:
    """The rows of each batch row, from their ends where no lengths are given."""
    if not isinstance(ends, nodes.Input) or length is not None:
        return length
    b = Symbol("b")
    before = select(b == 0, 0, Load(ends.name, b - 1))
    return nodes.Scalar(value=Load(ends.name, b) - before, axes=("B",), where=ends.where)
