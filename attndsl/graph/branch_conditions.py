"""What makes the graph of a call what it is: the conditions that are asked on the way, with their answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attndsl.expr import Expr, negation
from attndsl.graph.graph import same_structure
from attndsl.graph.nodes import Conditional, Node
from attndsl.graph.specialize import Situation, Visit, Visitor, specialized

Decision = tuple[Expr, bool]


def decisions(
    roots: tuple[Node, ...], present: frozenset[str], settings: Mapping[str, Any]
) -> tuple[Decision, ...]:
    """The conditions on which the graph of a call depends, with their values, in the order they are met.

    Calls that pass the same inputs and agree in all of them have the same graph. Presence is filled in. A
    choice between computations that are absent without certain inputs is no condition. Nor is one between
    two that come out the same; what either depends on matters then only where it is chosen.
    """
    of = _Decisions(Situation(present, settings))
    return tuple({key: each for root in roots for key, each in of(root).items()}.values())


_Found = dict[Expr, Decision]


class _Decisions:
    """The decisions that each node depends on, by their conditions."""

    def __init__(self, situation: Situation) -> None:
        self._situation = situation
        self._anywhere: Visitor[Node | None] = Visitor(self._either)
        self._plain: Visitor[Node | None] = Visitor(lambda node, visit: specialized(node, situation, visit))
        self._decisions: Visitor[_Found] = Visitor(self._of_node)

    def __call__(self, node: Node) -> _Found:
        """Those of one node."""
        return self._decisions(node)

    def _of_node(self, node: Node, of: Callable[[Node], _Found]) -> _Found:
        if isinstance(node, Conditional):
            return self._choice(node, of)
        found: _Found = {}

        def visit(operand: Node) -> Node | None:
            found.update(of(operand))
            return self._plain(operand)

        specialized(node, self._situation, visit)
        return found

    def _choice(self, node: Conditional, of: Callable[[Node], _Found]) -> _Found:
        if self._anywhere(node) is None:
            return {}
        condition = self._situation.settled(node.condition)
        if same_structure(self._plain(node.then), self._plain(node.otherwise)):
            then, otherwise = of(node.then), of(node.otherwise)
            found = {key: each for key, each in then.items() if otherwise.get(key) == each}
            for branch, chosen in ((then, True), (otherwise, False)):
                for key in branch.keys() - found.keys():
                    decision = _where(condition, chosen, branch[key])
                    found[decision[0]] = decision
            return dict(sorted(found.items(), key=lambda each: str(each[0])))  # sets have no order
        holds = self._situation.holds(condition)
        return {condition: (condition, holds)} | of(node.then if holds else node.otherwise)

    def _either(self, node: Node, visit: Visit) -> Node | None:
        """The node in some call that passes these inputs; None if it is absent from all."""
        if isinstance(node, Conditional):
            then, otherwise = visit(node.then), visit(node.otherwise)
            return otherwise if then is None else then
        return specialized(node, self._situation, visit)


def _where(condition: Expr, chosen: bool, decision: Decision) -> Decision:
    """A decision that matters only where the condition comes out as ``chosen``."""
    expr, holds = decision
    return _is(condition, not chosen) | _is(expr, holds), True


def _is(expr: Expr, value: bool) -> Expr:
    return expr if value else negation(expr)
