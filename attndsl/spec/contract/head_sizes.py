"""What a computation demands of heads: whole groups of query heads, and at least one channel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from attndsl.expr import Binary, Compare, Const, Expr, Symbol, compare
from attndsl.graph.nodes import Node, Scores
from attndsl.spec.contract.constraint import Constraint
from attndsl.spec.errors import DivisibilityError, HeadSizeError


def head_constraints(
    root: Node, axes: Mapping[str, Expr], known: Iterable[Constraint]
) -> Iterator[Constraint]:
    """That each key/value head has as many query heads as the others, and that heads have channels.

    What an author says of these sizes in a constraint in ``known``, in any way, is not said again.
    """
    where = next((node.where for node in root.walk() if isinstance(node, Scores)), None)
    if where is None:
        return
    said = [node for rule in known for node in rule.condition.walk()]
    heads, shared = axes.get("N"), axes.get("K")
    if heads is not None and shared is not None and not _groups_are_whole(heads, shared, said):
        text = f"must be a multiple of {shared}, the key/value heads"
        yield Constraint(compare("==", heads % shared, 0), text, DivisibilityError, where=where)
    sizes = [size for size in (axes.get("D"), axes.get("E")) if isinstance(size, Symbol)]
    if not any(_bounds(each, size) for each in said for size in sizes):
        for size in dict.fromkeys(sizes):
            yield Constraint(size > 0, "must be at least 1, channels of a head", HeadSizeError, where=where)


def _groups_are_whole(heads: Expr, shared: Expr, said: Iterable[Expr]) -> bool:
    """Whether a rule divides the heads by a number of the call, or nothing is to be said."""
    if heads.same(shared) or shared.same(Const(1)):
        return True
    divided = (each for each in said if isinstance(each, Binary) and each.op == "%")
    return any(each.left.same(heads) and not isinstance(each.right, Const) for each in divided)


def _bounds(condition: Expr, size: Expr) -> bool:
    """Whether it compares a size with a number."""
    return isinstance(condition, Compare) and condition.left.same(size) and isinstance(condition.right, Const)
