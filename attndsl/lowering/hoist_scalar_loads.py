"""Hoists repeated scalar GM loads: elements of integer tensors that are read again get a name, and one read.

Lowering rules read an element at its place of use: the length of a batch row for its mask, for each row of a
step. An element that a definition reads in any body becomes a scalar for the statements after it in that
body, so that no loop inside reads it from global memory again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from attndsl.base.facts import kept
from attndsl.expr import Expr, Load, Logic, Select, Symbol
from attndsl.expr.reductions import Fold
from attndsl.lowering.own_expressions import with_own_expressions
from attndsl.tile.naming import camel
from attndsl.tile.scalars import binds, defined, expressions
from attndsl.tile.statements import Collect, Let, Seq, Statement


@dataclass(frozen=True, slots=True)
class _Name:
    """A scalar and the expression that it stands for."""

    symbol: Symbol
    value: Expr


_Known = Mapping[str, _Name]
"""Names by the text of what they stand for."""


def hoist_scalar_loads(tree: Seq) -> Seq:
    """``tree`` with a definition in front of the first one that reads an element which is read again
    after it, in the same body or inside; elements at an index that is itself a scalar, ``lengths[batch]``.

    A definition that is nothing but such an element is the name, and one that is nothing but a sum, maximum
    or minimum over a range is the name of that. Elements of which it is not certain that they are read (in a
    branch of a choice, after an ``and``) stay where they are: their index may not hold.
    """
    return _Naming(_inside(tree).bound).body(tree, {})


class _Naming:
    """``taken``: scalars that the tree defines itself."""

    def __init__(self, taken: frozenset[str]) -> None:
        self._taken = taken
        self._given: dict[str, Load] = {}

    def body(self, tree: Seq, known: _Known) -> Seq:
        found: list[Statement] = []
        for position, item in enumerate(tree.body):
            if isinstance(item, Let):
                after = tree.body[position:]
                for read in _certain_reads(item.value):
                    name = None if str(read) in known else self._name(read, item, after)
                    if name is not None:
                        found.append(Let(symbol=name, value=read, where=item.where))
                        known = {**known, str(read): _Name(name, read)}
            found.append(self._statement(item, known))
            known = _still(known, defined(item))
            if isinstance(item, Let) and (_is_read(item.value) or isinstance(item.value, Fold)):
                known = {str(item.value): _Name(item.symbol, item.value), **known}
        return replace(tree, body=tuple(found))

    def _name(self, read: Load, item: Let, after: tuple[Statement, ...]) -> Symbol | None:
        """What an element is called; None if it is called so already, is not read again, or its index becomes
        another scalar."""
        if read.same(item.value):
            return None
        index, text = str(read.index), str(read)
        times = sum(_inside(each).reads.get(text, 0) for each in after)
        if times < 2 or any(index in _inside(each).bound for each in after):
            return None
        name = f"{camel(read.source)}Of{index[:1].upper()}{index[1:]}"
        # Bodies side by side may use one name, for one element.
        free = name not in self._taken and self._given.setdefault(name, read).same(read)
        return Symbol(name) if free else None

    def _statement(self, item: Statement, known: _Known) -> Statement:
        facts = _inside(item)
        if not facts.defines and facts.reads.keys().isdisjoint(known):
            return item
        if isinstance(item, Seq):
            return self.body(item, known)
        inside = _still(known, binds(item))
        names = inside if isinstance(item, Collect) else known
        changed = with_own_expressions(item, lambda expr: _with_names(expr, names)) if known else item
        children = tuple(self._statement(child, inside) for child in item.children())
        return changed.with_children(children) if children else changed


@dataclass(frozen=True, slots=True)
class _Inside:
    """What hoisting asks of a statement and all inside it.

    Attributes:
        bound: the scalars that they define.
        reads: how often each element is read, by its text.
        defines: whether a definition reads an element.
    """

    bound: frozenset[str]
    reads: Mapping[str, int]
    defines: bool


_NOTHING = _Inside(frozenset(), {}, False)


@kept
def _inside(statement: Statement) -> _Inside:
    reads = [str(read) for expr in expressions(statement) for read in _reads(expr)]
    parts = [part for child in statement.children() if (part := _inside(child)) is not _NOTHING]
    bound = binds(statement)
    if not (parts or reads or bound):
        return _NOTHING
    counts = Counter(reads)
    for part in parts:
        counts.update(part.reads)
    defines = (bool(reads) and isinstance(statement, Let)) or any(part.defines for part in parts)
    return _Inside(frozenset(bound).union(*(part.bound for part in parts)), counts, defines)


def _still(known: _Known, bound: Iterable[str]) -> _Known:
    """What is known where scalars are bound anew."""
    names = set(bound)
    return {
        text: name
        for text, name in known.items()
        if name.symbol.name not in names and names.isdisjoint(name.value.symbols())
    }


def _with_names(expr: Expr, known: _Known) -> Expr:
    def change(node: Expr) -> Expr | None:
        name = known.get(str(node)) if _is_read(node) or isinstance(node, Fold) else None
        if name is not None:
            return name.symbol
        if isinstance(node, Fold):  # a function of its own, which sees no scalar of its caller
            return node if node.extent is None else replace(node, extent=_with_names(node.extent, known))
        return None

    return expr.mapped(change) if any(str(read) in known for read in _reads(expr)) else expr


def _is_read(node: Expr) -> bool:
    """Whether it is an integer of a tensor at a scalar; a core's own arrays change as they are filled."""
    return type(node) is Load and isinstance(node.index, Symbol) and not node.dtype.startswith("float")


def _reads(expr: Expr) -> Iterator[Load | Fold]:
    """Elements outside of functions, wherever they stand, and what functions give."""
    if not any(_is_read(node) or isinstance(node, Fold) for node in expr.nodes()):
        return
    if (isinstance(expr, Load) and _is_read(expr)) or isinstance(expr, Fold):
        yield expr
    children = expr.children()
    if isinstance(expr, Fold):
        children = () if expr.extent is None else (expr.extent,)
    for child in children:
        yield from _reads(child)


def _certain_reads(expr: Expr) -> Iterator[Load]:
    """Those that are read whenever the expression is computed, each once."""
    if isinstance(expr, Select):
        yield from _certain_reads(expr.condition)
    elif isinstance(expr, Logic):
        yield from _certain_reads(expr.left)
    elif isinstance(expr, Load) and _is_read(expr):
        yield expr
    elif not isinstance(expr, Fold):
        for child in expr.children():
            yield from _certain_reads(child)
