"""Value numbering of scalars, with copy propagation: scalars of one value become one scalar.

Lowering rules name what they compute without knowing of each other: the first row of the new keys is that of
the queries, and a token of packed queries is its batch row's position 0. Kernels would copy such numbers
into the scalars that a step keeps, and readers would look for the difference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from attndsl.base.facts import kept
from attndsl.expr import Const, Expr, Named, Scope, Symbol
from attndsl.lowering.emit.loop_scalars import ITEM_MEANINGS, TASK_ROWS
from attndsl.lowering.own_expressions import with_own_expressions
from attndsl.tile.scalars import binds, defined, free
from attndsl.tile.statements import Collect, Let, PickTensor, Pipelined, Seq, Stage, Statement

_Names = Mapping[str, Expr]
"""What stands for a scalar, by the scalar's name."""


def value_numbering(tree: Seq) -> Seq:
    """The tree without definitions of what an earlier definition of the same body gives, or of 0.

    Definitions stay where a body inside gives one of the two names another meaning. What is read from the
    core's own members, or from tensors after another one has been picked, may be another number. Stages of
    several attentions become one function where they name their scalars alike: such a tree stays as it is. So
    does a scalar that is 0 for one of several calls of a function.
    """
    stages = [item for item in tree.walk() if isinstance(item, Stage)]
    if any(stage.attention_name for stage in stages):
        return tree
    calls = Counter(stage.name for stage in stages)
    return _body(tree, {}, frozenset(name for name, count in calls.items() if count > 1))


def _body(tree: Seq, names: _Names, often: frozenset[str]) -> Seq:
    """``often``: names of stages that stand in several places."""
    found: list[Statement] = []
    known: list[Let] = []
    for position, item in enumerate(tree.body):
        if isinstance(item, Let):
            changed = replace(item, value=item.value.substitute(names)) if names else item
            same = _same(changed, known)
            after = tree.body[position + 1 :]
            if isinstance(same, Const) and _is_argument(changed.symbol, after, often):
                same = None
            if same is not None and not _bound_again(after, changed.symbol, same):
                names = {**names, changed.symbol.name: same}
                continue
            item = changed
            known.append(item)
        else:
            item = _statement(item, names, often)
            if isinstance(item, Collect | PickTensor):
                known.clear()
        names = _still(names, defined(item))
        found.append(item)
    return tree if len(found) == len(tree.body) and not _differ(found, tree.body) else Seq(body=tuple(found))


def _differ(found: Iterable[Statement], before: Iterable[Statement]) -> bool:
    return any(first is not second for first, second in zip(found, before, strict=True))


def _same(let: Let, known: Sequence[Let]) -> Expr | None:
    """What a scalar is besides its own name.

    Rows of a task stay rows where each head has one, and what kernels explain stays where it is a size.
    """
    value = let.value
    if isinstance(value, Const) and not isinstance(value, Named):
        return value if type(value.value) is int and value.value == 0 else None
    if isinstance(value, Symbol):
        explained = let.symbol.name in ITEM_MEANINGS and value.scope is Scope.TILING
        return None if explained or value.scope is Scope.MEMBER or let.symbol.same(TASK_ROWS) else value
    if any(isinstance(node, Symbol) and node.scope is Scope.MEMBER for node in value.nodes()):
        return None
    return next((each.symbol for each in known if each.value.same(value)), None)


@kept
def _binds_inside(statement: Statement) -> frozenset[str]:
    return frozenset(name for item in statement.walk() for name in binds(item))


def _bound_again(body: Sequence[Statement], symbol: Symbol, same: Expr) -> bool:
    """Whether a statement of the body, or one inside, gives one of the names another meaning."""
    names = {symbol.name, *same.symbols()}
    return any(not names.isdisjoint(_binds_inside(item)) for item in body)


def _is_argument(symbol: Symbol, body: Sequence[Statement], often: frozenset[str]) -> bool:
    """Whether a stage that stands in several places takes a scalar."""
    stages = (stage for item in body for stage in item.walk() if isinstance(stage, Stage))
    return any(stage.name in often and symbol.name in free(stage) for stage in stages)


def _still(names: _Names, bound: Iterable[str]) -> _Names:
    gone = set(bound)
    return {name: each for name, each in names.items() if name not in gone} if gone else names


def _statement(item: Statement, names: _Names, often: frozenset[str]) -> Statement:
    if isinstance(item, Seq):
        return _body(item, names, often)
    if names and not names.keys().isdisjoint(free(item)):
        item = _substituted(item, names)
    inside = _still(names, binds(item))
    before = item.children()
    children = tuple(_statement(child, inside, often) for child in before)
    return item.with_children(children) if _differ(children, before) else item


def _substituted(item: Statement, names: _Names) -> Statement:
    """The statement with the expressions of its own fields on other names."""
    changed = with_own_expressions(item, lambda expr: expr.substitute(names))
    if isinstance(changed, Pipelined):
        when = tuple(each if each is None else each.substitute(names) for each in changed.when)
        changed = replace(changed, when=when)
    return changed
