"""Whether what stands for a condition is one: numbers are compared, not taken for a truth value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from attndsl.base.source_location import SourceLine
from attndsl.expr import Binary, Compare, Const, Expr, Load, Logic, Symbol
from attndsl.graph.nodes import INDEX_AXES, Conditional, IndexCondition, Node
from attndsl.spec.contract.arguments import Dim, ParamSpec, TensorSpec
from attndsl.spec.contract.constraint import Constraint
from attndsl.spec.errors import SpecError

_MASKS = frozenset({"bool", "int8", "uint8"})


class NumberAsConditionError(SpecError):
    """A number stands where a condition is meant."""


def check_truth(
    roots: Iterable[Node],
    rules: Iterable[Constraint],
    params: Iterable[ParamSpec],
    dims: Mapping[str, Dim],
    tensors: Iterable[TensorSpec],
) -> None:
    """Conditions of constraints, of choices and of masks are comparisons, joined, or flags.

    Elements of masks, bool or bytes, stand for themselves: they are true where they are not zero. Those of
    other tensors are numbers.

    Raises:
        NumberAsConditionError: one is a number.
    """
    numbers = {spec.name for spec in params if spec.type is not bool} | dims.keys() | INDEX_AXES.keys()
    counts = {spec.name for spec in tensors if not _MASKS & {*spec.dtypes}}
    for condition, where in _conditions(roots, rules):
        for part in _parts(condition):
            if isinstance(part, Load) and part.source in counts:
                raise NumberAsConditionError(_of_element(part), where)
            number = isinstance(part, Binary) or (isinstance(part, Symbol) and part.name in numbers)
            if number or (isinstance(part, Const) and not isinstance(part.value, bool)):
                shown = f"({part})" if isinstance(part, Binary) else str(part)
                instead = "leave it out" if isinstance(part, Const) else f"compare it, as in {shown} != 0"
                raise NumberAsConditionError(f"'{part}' is a number, no condition; {instead}", where)


def _of_element(element: Load) -> str:
    """What an element that is a number may have been meant for."""
    shown = f"{element}" if isinstance(element.index, Symbol | Const) else f"{element.source}[...]"
    instead = f"compare it, as in {shown} != 0"
    if str(element.index) in ("b", "n", "i"):
        instead = f"compare it with what it counts, as in j < {shown}, or with 0, as in {shown} != 0"
    return (
        f"'{shown}' is a number, no condition: elements of bool and int8 tensors stand for themselves; "
        f"{instead}"
    )


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
