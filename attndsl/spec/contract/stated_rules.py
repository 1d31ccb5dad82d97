"""What a contract states already, so that rules made from its computation do not say it again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from attndsl.expr import Compare, Expr, Load
from attndsl.spec.contract.constraint import Constraint


class StatedRules:
    """The conditions that a contract states, those of the rules made here included."""

    def __init__(self, known: Iterable[Constraint]) -> None:
        self.conditions = [rule.condition for rule in known]

    def with_rule(self, rule: Constraint, read_when: Expr | None = None) -> Constraint:
        """A rule, which is stated from now on.

        ``read_when``: the condition under which its rows are read, if any. Such a rule says nothing of rows
        that are read under another one.
        """
        if read_when is None:
            self.conditions.append(rule.condition)
        return rule

    def compares(
        self, ops: Sequence[str], subject: Callable[[Expr], bool], limit: Expr | None = None
    ) -> bool:
        """Whether a condition is a comparison of a subject on its left with ``limit``.

        Without a limit: whether it has a comparison of the subject with anything, since an author who says
        something of a number says all that is meant.
        """
        return any(
            part.op in ops and subject(part.left) and (limit is None or part.right.same(limit))
            for condition in self.conditions
            for part in (condition.walk() if limit is None else (condition,))
            if isinstance(part, Compare)
        )


def is_number(number: Expr) -> Callable[[Expr], bool]:
    """Whether an expression is a number, or an element that this is computed from."""
    named = [number, *(each for each in number.walk() if isinstance(each, Load))]
    return lambda expr: any(expr.same(each) for each in named)


def has_number(number: Expr) -> Callable[[Expr], bool]:
    """Whether an expression is computed from a number, or from an element that this is computed from."""
    named = is_number(number)
    return lambda expr: any(map(named, expr.walk()))
