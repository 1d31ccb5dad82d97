"""What reads by index demand of sizes: an element that is read at each query or key has to be there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from attndsl.base.source_location import SourceLine
from attndsl.expr import Binary, Const, Expr, Load, Symbol
from attndsl.graph.nodes import INDEX_AXES, IndexCondition, Input, Lookup, Node, Scalar
from attndsl.spec.contract.constraint import Constraint
from attndsl.spec.errors import ShapeError, SpecError

Shapes = Mapping[str, Sequence[Expr]]
"""The sizes of tensors that have one layout, by name."""
_COMPUTED = ("i", "j")
_B = "b"


class NoSuchElementError(SpecError):
    """A tensor is read where it has no element, whatever its sizes are."""


def element_constraints(
    root: Node, shapes: Shapes, axes: Mapping[str, Expr], known: Iterable[Constraint]
) -> Iterator[Constraint]:
    """That indices made of positions, such as ``i // 64`` or ``j - i + S - 1``, lie within their tensors.

    A size of which a constraint in ``known`` says something is left to the author.

    Raises:
        NoSuchElementError: an index lies outside in each call.
    """
    said = frozenset[str]().union(*(rule.symbols() for rule in known if rule.text))
    extents = {symbol: axes[axis] for symbol, axis in INDEX_AXES.items() if axis in axes}
    seen = set[tuple[str, int, str]]()
    for node in root.walk():
        for name, index in _reads(node, shapes):
            for place, (part, size) in enumerate(zip(index, shapes[name], strict=True)):
                key = (name, place, str(part))
                if key in seen or isinstance(part, Symbol) or not part.symbols() & {*_COMPUTED}:
                    continue
                seen.add(key)
                yield from _within(name, place, part, size, extents, said, node.where)


def _within(
    name: str,
    place: int,
    part: Expr,
    size: Expr,
    extents: Mapping[str, Expr],
    said: frozenset[str],
    where: SourceLine,
) -> Iterator[Constraint]:
    low, high = _end(part, extents, low=True), _end(part, extents, low=False)
    if high is not None and _loads(high):
        high = None  # what is counted by an element ends with it, not with the sizes
    for bound, room in ((low, low), (high, None if high is None else size - 1 - high)):
        room = None if room is None else _collected(room)
        if bound is None or room is None:
            continue
        bound = _collected(bound)
        if isinstance(room, Const):
            if float(room.value) < 0:
                raise NoSuchElementError(
                    f"'{name}' is read at {part} in its dimension {place}, which goes as far as {bound}, and "
                    f"has the size {size}; let the index stay within it, or declare a larger one",
                    where,
                )
            continue
        if not size.symbols() & said:
            text = f"is read at {part} in dimension {place}, as far as {bound}"
            counted = _loads(room)
            over = {_B: extents[_B]} if counted and _B in extents else {}
            if not counted or over:
                blamed = counted[0].source if counted else name
                yield Constraint(
                    room >= 0,
                    f"'{name}' {text}" if counted else text,
                    ShapeError,
                    over=over,
                    argument=blamed,
                    hint=f"let {name} have an element for each key, and read it at j" if counted else "",
                    where=where,
                )


def _reads(node: Node, shapes: Shapes) -> Iterator[tuple[str, Sequence[Expr]]]:
    """The tensors that a node reads by index, with the index of each dimension."""
    if isinstance(node, Lookup) and isinstance(node.source, Input):
        if len(shapes.get(node.source.name, ())) == len(node.index):
            yield node.source.name, node.index
        return
    expr = (
        node.condition
        if isinstance(node, IndexCondition)
        else node.value
        if isinstance(node, Scalar)
        else None
    )
    for part in expr.walk() if expr is not None else ():
        if isinstance(part, Load) and part.source in shapes:
            index = _parts(part.index, shapes[part.source])
            if index is not None:
                yield part.source, index


def _parts(flat: Expr, shape: Sequence[Expr]) -> list[Expr] | None:
    """The index of each dimension, from that of an element among all; None where it is told otherwise."""
    found: list[Expr] = []
    for size in reversed(shape[1:]):
        if isinstance(flat, Binary) and flat.op == "+" and _is_row(flat.left, size):
            assert isinstance(flat.left, Binary)
            found.append(flat.right)
            flat = flat.left.left
        else:
            return None
    return [flat, *reversed(found)]


def _is_row(expr: Expr, size: Expr) -> bool:
    return isinstance(expr, Binary) and expr.op == "*" and expr.right.same(size)


def _end(expr: Expr, extents: Mapping[str, Expr], *, low: bool) -> Expr | None:
    """The smallest or the largest value of an index over all positions; None where that is not known."""
    if isinstance(expr, Load):
        return expr if expr.index.same(Symbol(_B)) else None
    if not expr.symbols() & INDEX_AXES.keys():
        return None if _loads(expr) else expr
    if isinstance(expr, Symbol):
        extent = extents.get(expr.name)
        return None if extent is None else Const(0) if low else extent - 1
    if not isinstance(expr, Binary):
        return None
    same = not expr.right.symbols() & INDEX_AXES.keys()
    if expr.op == "%" and same:
        return Const(0) if low else expr.right - 1
    if expr.op == "//" and same:
        inner = _end(expr.left, extents, low=low)
        return None if inner is None else inner // expr.right
    if expr.op in ("+", "-"):
        left = _end(expr.left, extents, low=low)
        right = _end(expr.right, extents, low=low if expr.op == "+" else not low)
        if left is None or right is None:
            return None
        return left + right if expr.op == "+" else left - right
    return None


def _loads(expr: Expr) -> list[Load]:
    return [each for each in expr.walk() if isinstance(each, Load)]


def _collected(expr: Expr) -> Expr:
    """A sum with each term once: what is added and taken away again is left out."""
    terms = dict[str, tuple[Expr, int]]()
    constant = 0

    def add(part: Expr, sign: int) -> None:
        nonlocal constant
        if isinstance(part, Binary) and part.op in ("+", "-"):
            add(part.left, sign)
            add(part.right, sign if part.op == "+" else -sign)
        elif isinstance(part, Const) and isinstance(part.value, int):
            constant += sign * part.value
        elif isinstance(part, Binary) and part.op == "*" and isinstance(part.left, Const):
            factor = int(part.left.value)
            terms[str(part.right)] = part.right, terms.get(str(part.right), (part, 0))[1] + sign * factor
        else:
            terms[str(part)] = part, terms.get(str(part), (part, 0))[1] + sign

    add(expr, 1)
    found: Expr = Const(0)
    for part, factor in sorted(terms.values(), key=lambda term: term[1] < 0):
        if factor:
            size = part if abs(factor) == 1 else part * abs(factor)
            found = found + size if factor > 0 else found - size
    return found + constant if constant >= 0 else found - -constant
