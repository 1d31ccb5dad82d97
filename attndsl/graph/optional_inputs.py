"""Of which inputs a computation must know whether a call passes them.

A kernel takes the number of entries of lengths, 0 where a call leaves them out: rows without a length are all
rows. Everything else that comes out differently without them asks for their presence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields

from attndsl.expr import Expr, Load
from attndsl.expr.argument_facts import given
from attndsl.graph.nodes import Choose, Conditional, Input, Node, PackedQueries, Rows, TopK

_COUNTED: dict[type[Node], tuple[str, ...]] = {
    Rows: ("length", "start", "index"),
    PackedQueries: ("length",),
    TopK: ("length",),
}
"""Fields in which an input that is absent stands for all."""


def presence_matters(roots: Iterable[Node], name: str) -> bool:
    """Whether the computation asks if ``name`` is passed, or reads it where it is no number of rows."""
    uses = _Uses(name)
    for root in roots:
        uses.visit(root)
    return uses.asked or any(uses.asks(needs) for needs in uses.needs)


@dataclass
class _Uses:
    """How a graph uses an input. ``guards``: inputs that are passed wherever a node is computed."""

    name: str
    asked: bool = False
    needs: set[frozenset[str]] = field(default_factory=set)
    guards_of: dict[str, set[frozenset[str]]] = field(default_factory=dict)
    _seen: set[tuple[Node, frozenset[str]]] = field(default_factory=set)

    def asks(self, needs: frozenset[str]) -> bool:
        """Whether a choice asks for the input itself: none of the others is read by such calls alone."""
        others = needs - {self.name}
        return not any(all(self.name in each for each in self.guards_of.get(other, ())) for other in others)

    def visit(self, root: Node) -> None:
        """Take note of all that ``root`` is computed from; without recursion, since chains may be long."""
        open_ = [(root, frozenset[str]())]
        while open_:
            node, guards = open_.pop()
            if (node, guards) not in self._seen:
                self._seen.add((node, guards))
                open_ += self._below(node, guards)

    def _below(self, node: Node, guards: frozenset[str]) -> Iterator[tuple[Node, frozenset[str]]]:
        """The nodes that this one reads, but inputs, each with what guards it."""
        if isinstance(node, Choose):
            self.needs |= {needs for needs in node.needs if self.name in needs}
            for needs, each in zip((*node.needs, frozenset[str]()), node.alternatives, strict=True):
                yield each, guards | needs
            return
        counted = {name for kind, names in _COUNTED.items() if isinstance(node, kind) for name in names}
        for item in fields(node):
            value = getattr(node, item.name)
            for part in value if isinstance(value, tuple) else (value,):
                if isinstance(part, Expr):
                    self._expression(part, guards, isinstance(node, Conditional))
                elif isinstance(part, Input):
                    self._read(part.name, guards, item.name in counted)
                elif isinstance(part, Node):
                    yield part, guards

    def _expression(self, expr: Expr, guards: frozenset[str], shapes: bool) -> None:
        self.asked |= given(self.name).name in expr.symbols()
        for part in expr.walk():
            if isinstance(part, Load) and not shapes:
                self._read(part.source, guards, False)

    def _read(self, name: str, guards: frozenset[str], counted: bool) -> None:
        self.guards_of.setdefault(name, set()).add(guards)
        self.asked |= name == self.name and not counted and name not in guards
