"""Whether what stands for a condition is one: numbers are compared, not taken for a truth value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from attndsl.base.source_location import SourceLine
from attndsl.expr import Binary, Compare, Const, Expr, Logic, Symbol
from attndsl.graph.nodes import INDEX_AXES, Conditional, IndexCondition, Node
from attndsl.spec.contract.arguments import Dim, ParamSpec
from attndsl.spec.contract.constraint import Constraint
from attndsl.spec.errors import SpecError


class NumberAsConditionError(SpecError):
    """A number stands where a condition is meant."""


def check_truth(
    roots: Iterable[Node], rules: Iterable[Constraint], params: Iterable[ParamSpec], dims: Mapping[str, Dim]
) -> None:
    """Conditions of constraints, of choices and of masks are comparisons, joined, or flags.

    Elements of tensors may stand for themselves: a mask is true where it is not zero.

    Raises:
        NumberAsConditionError: one is a number.
    """
    numbers = {spec.name for spec in params if spec.type is not bool} | dims.keys() | INDEX_AXES.keys()
    for condition, where in _conditions(roots, rules):
        for part in _parts(condition):
            number = isinstance(part, Binary) or (isinstance(part, Symbol) and part.name in numbers)
            if number or (isinstance(part, Const) and not isinstance(part.value, bool)):
                shown = f"({part})" if isinstance(part, Binary) else str(part)
                instead = "leave it out" if isinstance(part, Const) else f"compare it, as in {shown} != 0"
                raise NumberAsConditionError(f"'{part}' is a number, no condition; {instead}", where)


def _conditions(roots: Iterable[Node], rules: Iterable[Constraint]) -> Iterator[tuple[Expr, SourceLine]]:
    for rule in rules:
        yield rule.condition, rule.where
        if rule.when is not None:
            yield rule.when, rule.where
    for node in (node for root in roots for node in root.walk()):
        if isinstance(node, Conditional | IndexCondition):
            yield node.condition, node.where


def _parts(condition: Expr) -> Iterator[Expr]:
    """What a condition is joined of, whatever is negated."""
    open_ = [condition]
    while open_:
        each = open_.pop()
        if isinstance(each, Logic):
            open_ += (each.left, each.right)
        elif isinstance(each, Compare) and isinstance(each.right, Const) and each.right.value is False:
            open_.append(each.left)
        elif not isinstance(each, Compare):
            yield each
