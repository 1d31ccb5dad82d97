"""Where a computation reads elements of tensors by index, and how far such an index goes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from attndsl.expr import (
    Binary,
    Const,
    Expr,
    Load,
    Select,
    Symbol,
    ceil_div,
    maximum,
    minimum,
    negation,
)
from attndsl.expr.conditions import comparisons, conjuncts
from attndsl.graph.nodes import INDEX_AXES, Input, Lookup, Node, formula_of
from attndsl.spec.contract.conditional_reads import both

Shapes = Mapping[str, Sequence[Expr]]
"""The sizes of tensors that have one layout, by name."""
Spans = Mapping[str, tuple[Expr, Expr | None]]
"""The first and the last value of each index symbol; None where it is not known."""
POSITIONS = frozenset({"i", "j"})
"""What counts positions; other indices are numbers of a batch row or a head."""
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
        when: the choice by which a number is read, if any. What is read at positions is read whatever is
            chosen.
    """

    name: str
    index: tuple[Expr, ...]
    place: int
    size: Expr
    indexed: bool = True
    when: Expr | None = None

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
    """What a node reads by index.

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
    for load, when in _chosen_loads(expr) if expr is not None else ():
        if load.source in shapes:
            parts = _parts(load.index, shapes[load.source])
            if parts is not None:
                yield from _each(load.source, parts, shapes[load.source], when)


def _chosen_loads(expr: Expr, when: Expr | None = None) -> Iterator[tuple[Load, Expr | None]]:
    """The elements in an expression, with the choices by which each is read."""
    if isinstance(expr, Load):
        yield expr, when
    if isinstance(expr, Select):
        yield from _chosen_loads(expr.condition, when)
        yield from _chosen_loads(expr.then, both(when, expr.condition))
        yield from _chosen_loads(expr.otherwise, both(when, negation(expr.condition)))
        return
    for child in expr.children():
        yield from _chosen_loads(child, when)


def _each(
    name: str, index: Sequence[Expr], shape: Sequence[Expr], when: Expr | None = None
) -> Iterator[ElementRead]:
    at_positions = any(part.symbols() & POSITIONS for part in index)
    chosen = [] if at_positions else [part for part in conjuncts(when) if not part.symbols() & POSITIONS]
    asked: Expr | None = None
    for part in chosen:
        asked = both(asked, part)
    for place, size in enumerate(shape):
        yield ElementRead(name, tuple(index), place, size, when=asked)


def _parts(flat: Expr, shape: Sequence[Expr]) -> list[Expr] | None:
    """The index of each dimension, from that of an element among all, in which a 0 is left out; None where it
    is told otherwise."""
    found: list[Expr] = []
    for size in reversed(shape[1:]):
        if isinstance(flat, Const) and isinstance(size, Const):
            found.append(flat % size)
            flat = flat // size
        elif isinstance(flat, Binary) and _is_row(flat, size):
            found.append(_ZERO)
            flat = flat.left
        elif isinstance(flat, Binary) and flat.op == "+" and _is_row(flat.left, size):
            assert isinstance(flat.left, Binary)
            found.append(flat.right)
            flat = flat.left.left
        elif flat.symbols() & size.symbols() or isinstance(size, Const):
            return None
        else:
            found.append(flat)
            flat = _ZERO
    return [flat, *reversed(found)]


def _is_row(expr: Expr, size: Expr) -> bool:
    return isinstance(expr, Binary) and expr.op == "*" and expr.right.same(size)


def end_of(expr: Expr, spans: Spans, *, low: bool) -> Expr | None:
    """The smallest or the largest value of an index, or a bound of it; None where that is not known."""
    of = expr.symbols() & INDEX_AXES.keys()
    if not of or (of == {"b"} and any(isinstance(part, Load) for part in expr.walk())):
        return expr  # a number of each batch row, whose own elements are looked at by themselves
    if isinstance(expr, Symbol):
        return spans[expr.name][0 if low else 1] if expr.name in spans else None
    if isinstance(expr, Select):
        return _end_of_choice(expr, spans, low)
    return _end_of_operation(expr, spans, low) if isinstance(expr, Binary) else None


def _end_of_choice(expr: Select, spans: Spans, low: bool) -> Expr | None:
    """Of an index that a number of a batch row or a head chooses."""
    if expr.symbols() & POSITIONS:
        return None
    then = end_of(expr.then, narrowed(spans, expr.condition), low=low)
    otherwise = end_of(expr.otherwise, narrowed(spans, negation(expr.condition)), low=low)
    if then is None or otherwise is None:
        return None
    return minimum(then, otherwise) if low else maximum(then, otherwise)


def _end_of_operation(expr: Binary, spans: Spans, low: bool) -> Expr | None:
    same = not expr.right.symbols() & INDEX_AXES.keys()
    if expr.op == "%" and same:
        return _ZERO if low else expr.right - 1
    if expr.op == "max" and low and _is_distance(expr):
        return _ZERO
    rises = expr.op in ("+", "max", "min") or (expr.op in ("//", "ceil_div") and same)
    rises = rises or (expr.op == "*" and any(_never_negative(side) for side in expr.children()))
    if not rises and expr.op != "-":
        return None
    left = end_of(expr.left, spans, low=low)
    right = end_of(expr.right, spans, low=low if rises else not low)
    if expr.op == ("max" if low else "min") and (left is None or right is None):
        return right if left is None else left  # one side is a bound of both
    if left is None or right is None:
        return None
    return _ARITHMETIC[expr.op](left, right)


def _never_negative(factor: Expr) -> bool:
    """Whether a factor of an index is a literal that is not negative: of parameters nobody knows here."""
    return isinstance(factor, Const) and isinstance(factor.value, int) and factor.value >= 0


def narrowed(spans: Spans, condition: Expr | None) -> Spans:
    """The values that numbers of batch rows and heads have where a condition holds."""
    found = dict(spans)
    for part in comparisons(condition):
        if not isinstance(part.left, Symbol) or part.left.name not in found:
            continue
        (first, last), limit = found[part.left.name], part.right
        if part.left.name in POSITIONS or limit.symbols() & INDEX_AXES.keys():
            continue
        if part.op in (">", ">=", "=="):
            first = maximum(first, limit + 1 if part.op == ">" else limit)
        if part.op in ("<", "<=", "=="):
            least = limit - 1 if part.op == "<" else limit
            last = least if last is None else minimum(last, least)
        if part.op == "!=" and limit.same(first):
            first = first + 1
        found[part.left.name] = first, last
    return found


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
    "*": lambda left, right: left * right,
    "//": lambda left, right: left // right,
    "ceil_div": ceil_div,
    "max": maximum,
    "min": minimum,
}
