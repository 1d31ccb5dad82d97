"""Where a computation reads elements of tensors at positions, and how far such an index goes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from attndsl.expr import Binary, Const, Expr, Load, Symbol, maximum, minimum
from attndsl.graph.nodes import INDEX_AXES, Input, Lookup, Node, formula_of

Shapes = Mapping[str, Sequence[Expr]]
"""The sizes of tensors that have one layout, by name."""
Spans = Mapping[str, tuple[Expr, Expr | None]]
"""The first and the last value of each index symbol; None where it is not known."""
_SYMBOLS = {axis: Symbol(symbol) for symbol, axis in INDEX_AXES.items()}
_ZERO = Const(0)


@dataclass(frozen=True)
class ElementRead:
    """One index of a read.

    Attributes:
        name: the tensor.
        index: the index of each dimension.
        place: the dimension that is meant.
        size: its size.
        indexed: whether the author wrote the index; else the tensor has an axis of keys.
    """

    name: str
    index: tuple[Expr, ...]
    place: int
    size: Expr
    indexed: bool = True

    @property
    def part(self) -> Expr:
        """The index along the dimension."""
        return self.index[self.place]

    def spelled(self, part: Expr) -> str:
        """The read as an author writes it, with another index along the dimension."""
        parts = [str(part if place == self.place else each) for place, each in enumerate(self.index)]
        return f"{self.name}[{', '.join(parts)}]"


def reads_of(
    node: Node, shapes: Shapes, own: Mapping[str, Expr], columns: Expr | None
) -> Iterator[ElementRead]:
    """What a node reads at positions.

    Args:
        node: a lookup, a condition, a number, or a tensor with a column for each key.
        shapes: the sizes of tensors that are read by index; others are the author's.
        own: the columns of tensors that have fewer than the largest of their kind.
        columns: those of the others.
    """
    if isinstance(node, Input):
        size = own.get(node.name, columns)
        if "T" in node.axes and size is not None and not size.same(Const(1)):
            index = tuple(_SYMBOLS.get(axis, Symbol(axis.lower())) for axis in node.axes)
            yield ElementRead(node.name, index, node.axes.index("T"), size, indexed=False)
        return
    if isinstance(node, Lookup):
        shape = shapes.get(node.source.name, ()) if isinstance(node.source, Input) else ()
        if isinstance(node.source, Input) and len(shape) == len(node.index):
            yield from _each(node.source.name, node.index, shape)
        return
    expr = formula_of(node)
    for part in expr.walk() if expr is not None else ():
        if isinstance(part, Load) and part.source in shapes:
            parts = _parts(part.index, shapes[part.source])
            if parts is not None:
                yield from _each(part.source, parts, shapes[part.source])


def _each(name: str, index: Sequence[Expr], shape: Sequence[Expr]) -> Iterator[ElementRead]:
    for place, size in enumerate(shape):
        yield ElementRead(name, tuple(index), place, size)


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


def end_of(expr: Expr, spans: Spans, *, low: bool) -> Expr | None:
    """The smallest or the largest value of an index, or a bound of it; None where that is not known."""
    if isinstance(expr, Load):
        return expr if expr.index.same(Symbol("b")) else None
    if not expr.symbols() & INDEX_AXES.keys():
        return expr
    if isinstance(expr, Symbol):
        return spans[expr.name][0 if low else 1] if expr.name in spans else None
    if not isinstance(expr, Binary):
        return None
    same = not expr.right.symbols() & INDEX_AXES.keys()
    if expr.op == "%" and same:
        return _ZERO if low else expr.right - 1
    if expr.op == "max" and low and _is_distance(expr):
        return _ZERO
    rises = expr.op in ("+", "max", "min") or (expr.op == "//" and same)
    if not rises and expr.op != "-":
        return None
    left = end_of(expr.left, spans, low=low)
    right = end_of(expr.right, spans, low=low if rises else not low)
    if expr.op == ("max" if low else "min") and (left is None or right is None):
        return right if left is None else left  # one side is a bound of both
    if left is None or right is None:
        return None
    return _ARITHMETIC[expr.op](left, right)


def _is_distance(expr: Binary) -> bool:
    """Whether a maximum is of a number and of what is left of 0 without it."""
    other = expr.right
    return (
        isinstance(other, Binary)
        and other.op == "-"
        and other.left.same(_ZERO)
        and other.right.same(expr.left)
    )


_ARITHMETIC: dict[str, Callable[[Expr, Expr], Expr]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "//": lambda left, right: left // right,
    "max": maximum,
    "min": minimum,
}
