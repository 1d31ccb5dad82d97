"""Value numbering of scalars, with copy propagation: scalars of one value become one scalar.

Lowering rules name what they compute without knowing of each other: the first row of the new keys is that of
the queries, and a token of packed queries is its batch row's position 0. Kernels would copy such numbers
into the scalars that a step keeps, and readers would look for the difference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from attndsl.base.facts import kept
from attndsl.expr import Const, Expr, Named, Scope, Symbol
from attndsl.lowering.emit.loop_scalars import ITEM_MEANINGS, TASK_ROWS
from attndsl.lowering.own_expressions import with_own_expressions
from attndsl.tile.scalars import binds, defined, free, still_known
from attndsl.tile.statements import Either, For, Let, Pipelined, Seq, Stage, Statement

_Names = Mapping[str, Expr]
"""What stands for a scalar, by the scalar's name."""
_Pair = tuple[str, str]
"""The names of a scalar and of an earlier one."""


def value_numbering(tree: Seq) -> Seq:
    """The tree without definitions of what an earlier definition of the same body gives, or of 0.

    Definitions stay where a body inside gives one of the two names another meaning. What is read from the
    core's own members, or from tensors after another one has been picked, may be another number. A scalar
    that is 0 for one of several calls of a function stays.

    Stages of several attentions become one function where they name their scalars alike. There a scalar
    becomes an earlier one alone, not what that is computed from, and only one that it is in the item loops
    of all attentions.
    """
    stages = [item for item in tree.walk() if isinstance(item, Stage)]
    if any(stage.attention_name for stage in stages):
        pairs = [_pairs(item.body) for item in tree.walk() if isinstance(item, For) and item.over_items]
        return _Numbering(alike=frozenset.intersection(*pairs)).body(tree, {}) if pairs else tree
    calls = Counter(stage.name for stage in stages)
    return _Numbering(often=frozenset(name for name, count in calls.items() if count > 1)).body(tree, {})


@dataclass(frozen=True, kw_only=True)
class _Numbering:
    """How the scalars of a tree are numbered.

    Attributes:
        often: names of stages that stand in several places.
        alike: of several attentions, the scalars that become an earlier one, by the names of both.
    """

    often: frozenset[str] = frozenset()
    alike: frozenset[_Pair] | None = None

    def body(self, tree: Seq, names: _Names) -> Seq:
        found: list[Statement] = []
        known: list[Let] = []
        for position, item in enumerate(tree.body):
            if isinstance(item, Let):
                changed = replace(item, value=item.value.substitute(names)) if names else item
                same = self._same(changed, known, tree.body[position + 1 :])
                if same is not None:
                    names = {**names, changed.symbol.name: same}
                    continue
                item = changed
                known.append(item)
            elif isinstance(item, Either):
                same_on_both = _same_on_both(item, tree.body[position + 1 :])
                names = {**names, **same_on_both}
                item = self._either(item, names, same_on_both)
                known = still_known(known, item)
            else:
                item = self._statement(item, names)
                known = still_known(known, item)
            names = _still(names, defined(item))
            found.append(item)
        same_tree = len(found) == len(tree.body) and not _differ(found, tree.body)
        return tree if same_tree else Seq(body=tuple(found))

    def _same(self, let: Let, known: Sequence[Let], after: Sequence[Statement]) -> Expr | None:
        """What becomes of a scalar that needs no name of its own."""
        if self.alike is not None:
            same: Expr | None = _earlier(let, [each for each in known if _pair(let, each) in self.alike])
        elif (same := _value(let)) is None:
            same = _earlier(let, known)
        elif isinstance(same, Const) and _is_argument(let.symbol, after, self.often):
            return None
        return None if same is None or _bound_again(after, let.symbol, same) else same

    def _either(self, item: Either, names: _Names, gone: _Names) -> Either:
        """A choice between definitions without those that are an earlier one on both sides."""
        kept = [
            replace(side, body=tuple(each for each in side.body if not gone.keys() & set(defined(each))))
            for side in item.sides
        ]
        scalars = tuple(symbol for symbol in item.scalars if symbol.name not in gone)
        whole = replace(item, then=kept[0], otherwise=kept[1], scalars=scalars)
        numbered = self._statement(whole, names)
        assert isinstance(numbered, Either)
        return numbered

    def _statement(self, item: Statement, names: _Names) -> Statement:
        if isinstance(item, Seq):
            return self.body(item, names)
        if names and not names.keys().isdisjoint(free(item)):
            item = _substituted(item, names)
        inside = _still(names, binds(item))
        before = item.children()
        children = tuple(self._statement(child, inside) for child in before)
        return item.with_children(children) if _differ(children, before) else item


def _pair(let: Let, earlier: Let) -> _Pair:
    return let.symbol.name, earlier.symbol.name


def _same_on_both(item: Either, after: Sequence[Statement]) -> dict[str, Expr]:
    """The scalars that are, on both sides of a choice, an earlier one of the side: what they are."""
    found = dict[str, Expr]()
    pairs = frozenset.intersection(*(_pairs(side) for side in item.sides))
    for symbol in item.scalars:  # an earlier one that is another one itself is that
        same = next((each for each in item.scalars if (symbol.name, each.name) in pairs), None)
        if same is not None and not _bound_again(after, symbol, same):
            found[symbol.name] = same.substitute(found)
    return found


def _pairs(body: Seq) -> frozenset[_Pair]:
    """The scalars of an item beside the earlier ones of it that have the same expression."""
    found: set[_Pair] = set()
    known: list[Let] = []
    for position, item in enumerate(body.body):
        known = still_known(known, item)
        if isinstance(item, Let):
            after = body.body[position + 1 :]
            same = [each for each in known if _earlier(item, [each]) is not None]
            found |= {_pair(item, each) for each in same if not _bound_again(after, item.symbol, each.symbol)}
            known.append(item)
    return frozenset(found)


def _differ(found: Iterable[Statement], before: Iterable[Statement]) -> bool:
    return any(first is not second for first, second in zip(found, before, strict=True))


def _value(let: Let) -> Expr | None:
    """What a scalar is besides its own name: another scalar, or 0."""
    value = let.value
    if isinstance(value, Const) and not isinstance(value, Named):
        return value if type(value.value) is int and value.value == 0 else None
    return value if isinstance(value, Symbol) and not _has_its_name(let) else None


def _earlier(let: Let, known: Sequence[Let]) -> Symbol | None:
    """The first scalar that has the expression of another one."""
    value = let.value
    if (isinstance(value, Const) and not isinstance(value, Named)) or _has_its_name(let):
        return None
    if any(isinstance(node, Symbol) and node.scope is Scope.MEMBER for node in value.nodes()):
        return None
    return next((each.symbol for each in known if each.value.same(value)), None)


def _has_its_name(let: Let) -> bool:
    """Whether a name of a scalar tells more: rows of a task stay rows where each head has one, and what
    kernels explain stays where it is a size."""
    if not isinstance(let.value, Symbol):
        return False
    explained = let.symbol.name in ITEM_MEANINGS and let.value.scope is Scope.TILING
    return explained or let.value.scope is Scope.MEMBER or let.symbol.same(TASK_ROWS)


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


def _substituted(item: Statement, names: _Names) -> Statement:
    """The statement with the expressions of its own fields on other names."""
    changed = with_own_expressions(item, lambda expr: expr.substitute(names))
    if isinstance(changed, Pipelined):
        when = tuple(each if each is None else each.substitute(names) for each in changed.when)
        changed = replace(changed, when=when)
    return changed
