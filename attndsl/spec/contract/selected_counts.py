"""What lists of selected blocks demand: of each list, as many entries count as it has at most."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attndsl.expr import Const, Expr, Load, Symbol
from attndsl.graph.nodes import INDEX_AXES, Input, Node, Selected
from attndsl.spec.contract.capacity import Shapes, is_element_of, over_batch
from attndsl.spec.contract.conditional_reads import ConditionalReads
from attndsl.spec.contract.constraint import Constraint
from attndsl.spec.contract.element_bounds import Extents
from attndsl.spec.contract.key_ranges import number_of
from attndsl.spec.contract.known_conditions import known_of
from attndsl.spec.contract.stated_rules import AT_LEAST, AT_MOST, StatedRules
from attndsl.spec.errors import LengthRangeError

_INDICES = {axis: symbol for symbol, axis in INDEX_AXES.items()} | {"K": "k", "H": "h", "S": "s"}


def selected_constraints(root: Node, extents: Extents, known: Iterable[Constraint]) -> Iterator[Constraint]:
    """That the counts of lists are neither negative nor more than their entries.

    What follows from the constraints in ``known`` is not demanded.
    """
    rules = list(known)
    for rows, when in ConditionalReads(root, lambda rows: rows.count is not None, Selected):
        found = _number(rows.count, extents)
        if found is None or "X" not in extents.axes:
            continue
        (count, over), most = found, _entries(rows.blocks, extents)
        stated, proof, met = StatedRules(rules), extents.proof(rules, when), known_of(when)
        is_it = is_element_of(count.source) if isinstance(count, Load) else count.same
        for ops, limit, room, condition in (
            (AT_LEAST, Const(0), count, count >= 0),
            (AT_MOST, most, most - count, count <= most),
        ):
            if stated.compares(ops, is_it, limit, met) or proof.holds(room):
                continue
            text = f"must be from 0 to {most}, the entries of a list"
            rule = Constraint(condition, text, LengthRangeError, when, over, where=rows.where)
            rules.append(rule)
            yield rule


def _entries(blocks: Node, extents: Extents) -> Expr:
    """How many entries each list has."""
    shape = extents.shapes.get(blocks.name, ()) if isinstance(blocks, Input) else ()
    axes: tuple[str, ...] = getattr(blocks, "axes", ())
    if len(shape) == len(axes) and "X" in axes:
        return shape[axes.index("X")]
    return extents.axes["X"]


def _number(count: Node | None, extents: Extents) -> tuple[Expr, dict[str, Expr]] | None:
    """A count as a number, and the extents of its indices; None where it has none."""
    if isinstance(count, Input) and count.name in extents.shapes:
        return _element(count.name, extents.shapes, extents)
    number = number_of(count)
    return None if number is None else (number, over_batch(number, extents.axes))


def _element(name: str, shapes: Shapes, extents: Extents) -> tuple[Expr, dict[str, Expr]]:
    """An element of a tensor: of each of them, whatever its dimensions are."""
    flat: Expr = Const(0)
    over: dict[str, Expr] = {}
    for place, size in enumerate(shapes[name]):
        if size.same(Const(1)):
            continue
        axis = next((axis for axis in _INDICES if axis in extents.axes and size.same(extents.axes[axis])), "")
        index = _INDICES.get(axis, "")
        index = index if index and index not in over else f"at{place}"
        flat, over[index] = (flat * size if over else flat) + Symbol(index), size
    return Load(name, flat), over
