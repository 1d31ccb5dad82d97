"""What a computation demands of earlier partials: rows are passed with their log-sum-exps, or neither is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attndsl.expr.argument_facts import given
from attndsl.graph.nodes import EarlierPartial, Input, Node
from attndsl.spec.contract.constraint import Constraint
from attndsl.spec.errors import InputCountError


def pair_constraints(root: Node, known: Iterable[Constraint]) -> Iterator[Constraint]:
    """That calls pass the log-sum-exp of an earlier partial where they pass its rows, and the other way
    round, where they may leave them out. What a constraint in ``known`` says is not said again.
    """
    said = list(known)
    for node in root.walk():
        if not isinstance(node, EarlierPartial):
            continue
        for needed, by in ((node.lse, node.out), (node.out, node.lse)):
            if not isinstance(needed, Input) or not needed.optional or not isinstance(by, Input):
                continue
            rule = Constraint(
                given(needed.name),
                f"needed by {by.name}, the other half of an earlier partial",
                InputCountError,
                given(by.name) if by.optional else None,
                argument=needed.name,
                where=node.where,
            )
            if not any(_says(each, rule) for each in said):
                said.append(rule)
                yield rule


def _says(known: Constraint, rule: Constraint) -> bool:
    """Whether it demands the same in the same calls."""
    same = known.when is rule.when or (
        known.when is not None and rule.when is not None and known.when.same(rule.when)
    )
    return same and known.condition.same(rule.condition)
