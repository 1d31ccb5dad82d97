"""Which stored rows and elements a computation reads, and under which condition."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from attndsl.expr import Expr, negation
from attndsl.expr.argument_facts import given
from attndsl.graph.nodes import Choose, Conditional, Node

_Read = TypeVar("_Read", bound=Node)


class ConditionalReads(Generic[_Read]):
    """The nodes of one kind among ``wanted`` that calls read, and when they do.

    The paths through a graph double with each choice. So what all branches of a choice read in any case is
    looked at once, under the condition of the choice itself, and branches without wanted nodes not at all.
    """

    def __init__(self, root: Node, wanted: Callable[[_Read], bool], kind: type[_Read]) -> None:
        self._root, self._wanted, self._kind = root, wanted, kind
        self._order: dict[int, int] = {}
        self._always: dict[int, frozenset[Node]] = {}
        """By node, the wanted nodes, and choices between them, that are reached whatever is chosen."""
        for node in root.walk():
            self._order[id(node)] = len(self._order)
            below = [self._always[id(each)] for each in node.operands()]
            if isinstance(node, Conditional | Choose):
                always = self._common(node)
                own = any(below)
            else:
                always = frozenset[Node]().union(*below)
                own = isinstance(node, kind) and wanted(node)
            self._always[id(node)] = always | {node} if own else always

    def __iter__(self) -> Iterator[tuple[_Read, Expr | None]]:
        """Nodes and the condition under which they are read, in the order of the graph."""
        nothing = frozenset[Node]()
        # Nodes with their condition, its text (which takes long to make), and what is looked at elsewhere.
        open_: list[tuple[Node, Expr | None, str, frozenset[Node]]] = [(self._root, None, "", nothing)]
        seen: set[tuple[int, str]] = set()
        while open_:
            node, when, told, elsewhere = open_.pop()
            if (id(node), told) in seen or node in elsewhere or not self._always[id(node)]:
                continue
            seen.add((id(node), told))
            if isinstance(node, Conditional | Choose):
                common = self._common(node)
                below = []
                for branch, condition in _branches(node):
                    combined = both(when, condition)
                    text = told if combined is when else str(combined)
                    below.append((branch, combined, text, elsewhere | common))
                ordered = sorted(common, key=lambda each: self._order[id(each)])
                below += [(each, when, told, elsewhere) for each in ordered]
            else:
                if isinstance(node, self._kind) and self._wanted(node):
                    yield node, when
                below = [(operand, when, told, elsewhere) for operand in node.operands()]
            open_ += reversed(below)

    def _common(self, node: Conditional | Choose) -> frozenset[Node]:
        first, *others = (self._always[id(branch)] for branch, _ in _branches(node))
        return first.intersection(*others)


def chosen_rows(node: Node, when: Expr | None) -> Iterator[tuple[Node, Expr | None]]:
    """The nodes between which a node chooses, or itself, with the condition of each where ``when`` holds."""
    if not isinstance(node, Conditional | Choose):
        yield node, when
        return
    for branch, condition in _branches(node):
        yield from chosen_rows(branch, both(when, condition))


def _branches(node: Conditional | Choose) -> Iterator[tuple[Node, Expr | None]]:
    """The nodes between which one chooses, with the condition of each."""
    if isinstance(node, Conditional):
        yield node.then, node.condition
        yield node.otherwise, negation(node.condition)
        return
    missed: Expr | None = None
    for needs, each in zip(node.needs, node.alternatives, strict=False):
        passed: Expr | None = None
        for name in sorted(needs):
            passed = both(passed, given(name))
        yield each, both(missed, passed)
        missed = both(missed, None if passed is None else negation(passed))
    yield node.alternatives[-1], missed


def both(first: Expr | None, second: Expr | None) -> Expr | None:
    """``first & second``, where None is a condition that always holds."""
    if first is None or second is None:
        return second if first is None else first
    return first & second
