"""What a computation demands of lengths: rows of a tensor must be rows that it has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from attndsl.expr import Compare, Expr, Load, Symbol, negation
from attndsl.expr.argument_facts import given
from attndsl.graph.nodes import Choose, Conditional, Dense, Input, Node, Scalar
from attndsl.spec.contract.constraint import Constraint
from attndsl.spec.errors import LengthRangeError

_B = Symbol("b")


def capacity_constraints(
    root: Node, lengths: frozenset[str], axes: Mapping[str, Expr], known: Iterable[Constraint]
) -> Iterator[Constraint]:
    """That ``lengths`` are at most the rows of the tensor whose valid rows they count.

    Rows with a start of their own are not meant: where they lie outside, the batch row has none. What a
    constraint in ``known`` says is not said again.
    """
    said = [rule.condition for rule in known]
    for rows, when in _dense(root, None, "", set()):
        name = _counted_by(rows.length)
        if rows.start is not None or name not in lengths or not {"B", "T"} <= axes.keys():
            continue
        condition, text = Load(name, _B) <= axes["T"], f"must be at most {axes['T']}, the rows there are"
        if any(_says(each, name, axes["T"]) for each in said):
            continue
        said += [condition] if when is None else []
        yield Constraint(condition, text, LengthRangeError, when, {_B.name: axes["B"]}, where=rows.where)


def _counted_by(length: Node | None) -> str:
    """The tensor whose entries are the rows of each batch row."""
    if isinstance(length, Input):
        return length.name
    value = length.value if isinstance(length, Scalar) else None
    return value.source if isinstance(value, Load) and value.index.same(_B) else ""


def _says(condition: Expr, name: str, rows: Expr) -> bool:
    if not isinstance(condition, Compare) or condition.op not in ("<=", "=="):
        return False
    left, right = condition.left, condition.right
    return isinstance(left, Load) and left.source == name and right.same(rows)


def _dense(
    node: Node, when: Expr | None, told: str, seen: set[tuple[int, str]]
) -> Iterator[tuple[Dense, Expr | None]]:
    """The rows that calls read of tensors, and when they do; ``told`` is ``when`` as a text, which takes long
    to make for each node."""
    if (id(node), told) in seen:
        return
    seen.add((id(node), told))

    def under(below: Node, condition: Expr | None) -> Iterator[tuple[Dense, Expr | None]]:
        both = _both(when, condition)
        return _dense(below, both, told if both is when else str(both), seen)

    if isinstance(node, Conditional):
        yield from under(node.then, node.condition)
        yield from under(node.otherwise, negation(node.condition))
    elif isinstance(node, Choose):
        missed: Expr | None = None
        for needs, each in zip(node.needs, node.alternatives, strict=False):
            passed: Expr | None = None
            for name in sorted(needs):
                passed = _both(passed, given(name))
            yield from under(each, _both(missed, passed))
            missed = _both(missed, None if passed is None else negation(passed))
        yield from under(node.alternatives[-1], missed)
    else:
        if isinstance(node, Dense):
            yield node, when
        for operand in node.operands():
            yield from _dense(operand, when, told, seen)


def _both(first: Expr | None, second: Expr | None) -> Expr | None:
    if first is None or second is None:
        return second if first is None else first
    return first & second
