"""The scalars of an item that cube and vector cores compute alike: one function of the kernel.

A kernel of several attentions has a loop over the items of each, or one over those of two. All items are of
one struct. Each attention has a function of its own that decodes them; as stages are, they are one function
where they are alike but for each attention's own operands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from attndsl.base.errors import InternalError
from attndsl.codegen.kernel.item_order import ItemOrder, item_order
from attndsl.codegen.kernel.shared_stages import keys_of
from attndsl.codegen.names.members import scalar
from attndsl.expr import Const, Scope, Symbol
from attndsl.lowering.emit.loop_scalars import ITEM_MEANINGS
from attndsl.target import Core
from attndsl.tile.comparison import Comparison
from attndsl.tile.naming import stage_name
from attndsl.tile.program import CORE_SCALARS, Program
from attndsl.tile.scalars import defined, free, loads_of, still_known
from attndsl.tile.statements import Collect, Either, For, Let, Seq, Stage, Statement

STRUCT, FUNCTION = "Item", "DecodeItem"
DECODED, FOUND = "work", "found"
"""The local that holds an item outside of the function, and inside."""
_FEWEST = 3
"""Scalars that are worth a function."""

_Decoding = Let | Collect


@dataclass(frozen=True, eq=False)
class ItemDecoding:
    """The loops over an attention's items of both kinds of core, and the statements that both begin with.

    ``members``: the scalars that the struct has; the others are steps on the way to them. ``function``: the
    statements as a stage, so that they are compared and called as those are. ``given``: what tells the item.
    ``choice``: of loops over the items of two attentions, the statement that chooses between both, of each.
    """

    loops: tuple[For, ...]
    function: Stage
    members: tuple[Symbol, ...]
    given: Symbol
    choice: tuple[Either, ...] = ()

    @property
    def attention_name(self) -> str:
        """As of a stage: empty for the only attention."""
        return self.function.attention_name

    @property
    def statements(self) -> tuple[_Decoding, ...]:
        """What decodes an item, in order."""
        return tuple(item for item in self.function.body.body if isinstance(item, _Decoding))

    @cached_property
    def names(self) -> frozenset[str]:
        """The scalars that are members."""
        return frozenset(symbol.name for symbol in self.members)

    def spelled(self, name: str) -> dict[str, str]:
        """The members by their scalars' names, of the struct called ``name``."""
        return {symbol.name: f"{name}.{scalar(symbol)}" for symbol in self.members}

    def known(self) -> list[Let]:
        """The definitions of members that have the same value when the item is decoded."""
        found: list[Let] = []
        for item in self.statements:
            found = still_known(found, item)
            if isinstance(item, Let) and item.symbol.name in self.names:
                found.append(item)
        return found

    def rest(self, loop: For) -> Seq:
        """A loop's body without these statements."""
        return _without(loop.body, self.statements)


@dataclass(frozen=True, eq=False)
class ItemDecodings:
    """The decodings of a program's attentions, in program order; none where its cores share none.

    ``order``: of loops over the items of two attentions, which item comes when.
    """

    each: tuple[ItemDecoding, ...] = ()
    order: ItemOrder | None = None

    @cached_property
    def members(self) -> tuple[Symbol, ...]:
        """The members of the struct: what the items of any attention have."""
        found = {symbol.name: symbol for decoding in self.each for symbol in decoding.members}
        return tuple(found.values())

    @cached_property
    def common(self) -> frozenset[str]:
        """What the items of all attentions have: functions that attentions share take no other members."""
        names = [decoding.names for decoding in self.each]
        return frozenset.intersection(*names) if names else frozenset()

    def names(self, attention_name: str) -> frozenset[str]:
        """What the items of an attention have; without a name, of one whichever."""
        if not attention_name and len(self.each) > 1:
            return frozenset(symbol.name for symbol in self.members)
        found = (each.names for each in self.each if each.attention_name in ("", attention_name))
        return next(found, frozenset())

    def is_over(self, symbol: Symbol) -> bool:
        """Whether a member says whose the item is."""
        return self.order is not None and symbol.same(self.order.over)

    def at(self, loop: For) -> tuple[ItemDecoding, ...]:
        """The decodings of a loop over items: one for each attention whose items it has."""
        return tuple(each for each in self.each if loop in each.loops)

    def meaning(self, symbol: Symbol) -> str:
        """What a member is: that of its name, else what it is read from, in each attention."""
        if self.is_over(symbol):
            first, second = (keys_of(each.attention_name) for each in self.each)
            return f"its keys are those of {first}, not of {second}"
        values = (
            str(item.value)
            for decoding in self.each
            for item in decoding.statements
            if isinstance(item, Let) and item.symbol.name == symbol.name
        )
        return ITEM_MEANINGS.get(symbol.name) or " or ".join(dict.fromkeys(values))


def item_decodings(program: Program) -> ItemDecodings:
    """The decodings that a program's cores share.

    None where the cores' loops over items are no pairs, one an attention, that deal the same items out, or
    where a pair begins with too little that is alike.
    """
    if not {Core.AIC, Core.AIV} <= program.cores.keys():
        return ItemDecodings()
    cube, vector = (list(item_loops(program.cores[core])) for core in (Core.AIC, Core.AIV))
    if len(cube) != len(vector) or not all(map(_same_turns, cube, vector)):
        return ItemDecodings()
    attentions = list(map(attention_of, cube)) if len(cube) > 1 else [""] * len(cube)
    if len(cube) > 1 and (attentions != list(map(attention_of, vector)) or not _all_named(attentions)):
        return ItemDecodings()
    known = {field.name for field in program.fields} | {each.name for each in CORE_SCALARS}
    pairs = list(zip(cube, vector, strict=True))
    if any(choice_of(loop) is not None for loop in cube):
        return _of_both(program, cube[0], vector[0]) if len(pairs) == 1 else ItemDecodings()
    alike = [_alike_at_first(*pair, known) for pair in pairs]
    if any(len(each) < _FEWEST for each in alike):
        return ItemDecodings()
    used: set[str] = set()
    for (first, second), statements in zip(pairs, alike, strict=True):
        after = {name for loop in (first, second) for name in free(_without(loop.body, statements))}
        used |= after & {symbol.name for symbol in _scalars(statements)}
    return ItemDecodings(
        tuple(
            ItemDecoding(
                pair,
                _function(statements, attention),
                tuple(symbol for symbol in _scalars(statements) if symbol.name in used),
                pair[0].var,
            )
            for pair, statements, attention in zip(pairs, alike, attentions, strict=True)
        )
    )


def choice_of(loop: For) -> Either | None:
    """The statement of a loop over the items of two attentions that chooses between their scalars."""
    return next((item for item in loop.body.body if isinstance(item, Either)), None)


def _of_both(program: Program, first: For, second: For) -> ItemDecodings:
    """The decodings of loops over the items of two attentions, and their order."""
    choices = [choice for loop in (first, second) if (choice := choice_of(loop)) is not None]
    trees = program.cores[Core.AIC], program.cores[Core.AIV]
    order = item_order(trees, (first, second), choices)
    return ItemDecodings(tuple(_choices(first, second, order.over)), order)


def _choices(first: For, second: For, over: Symbol) -> Iterator[ItemDecoding]:
    """The decodings of each attention. What one has not is 0 in the struct, which says whose the item is."""
    cube, vector = choice_of(first), choice_of(second)
    if cube is None or vector is None or not Comparison().same(cube, vector):
        raise InternalError("cube and vector cores choose between items in different ways")
    in_front = {name for item in first.body.body[: first.body.body.index(cube)] for name in defined(item)}
    for side, attention in zip(cube.sides, cube.attention_names, strict=True):
        statements = [item for item in side.body if isinstance(item, _Decoding) and not _is_nothing(item)]
        (given,) = (symbol for name, symbol in free(side).items() if name in in_front)
        members = [symbol for symbol in _scalars(statements) if symbol.name in defined(cube)]
        yield ItemDecoding(
            (first, second), _function(statements, attention), (over, *members), given, (cube, vector)
        )


def _is_nothing(item: _Decoding) -> bool:
    """Whether this is a scalar that the attention has not."""
    return isinstance(item, Let) and item.value.same(Const(0))


def _function(statements: Sequence[_Decoding], attention: str) -> Stage:
    doc = "An item as cube and vector cores see it."
    name = stage_name(FUNCTION, attention)
    return Stage(
        name=name, core=Core.AIC, doc=doc, body=Seq(body=tuple(statements)), attention_name=attention
    )


def item_loops(tree: Statement) -> Iterator[For]:
    """The loops over items outside of stages."""
    if isinstance(tree, For) and tree.over_items:
        yield tree
    elif not isinstance(tree, Stage):
        for child in tree.children():
            yield from item_loops(child)


def _same_turns(first: For, second: For) -> bool:
    bounds = ((first.begin, second.begin), (first.end, second.end), (first.step, second.step))
    return first.var.same(second.var) and all(mine.same(other) for mine, other in bounds)


def attention_of(loop: For) -> str:
    """The attention whose stages a loop has; empty if it has those of several, or of none."""
    names = {item.attention_name for item in loop.walk() if isinstance(item, Stage)} - {""}
    return names.pop() if len(names) == 1 else ""


def _all_named(attentions: Sequence[str]) -> bool:
    return all(attentions) and len(set(attentions)) == len(attentions)


def _alike_at_first(first: For, second: For, known: Iterable[str]) -> list[_Decoding]:
    """The statements that two loops begin with alike, and that take nothing from others in front of them."""
    others = {defined(item): item for item in _leading(second)}
    arrays = {item.array.name for item in _leading(first) if isinstance(item, Collect)}
    have, found = {*known, first.var.name}, list[_Decoding]()
    for item in _leading(first):
        other = others.get(defined(item))
        takes = {symbol.name for symbol in free(item).values() if symbol.scope is not Scope.MEMBER}
        takes |= arrays & {load.source for load in loads_of(item)}
        if other is not None and takes <= have and Comparison().same(item, other):
            found.append(item)
            have.update(defined(item), [item.array.name] if isinstance(item, Collect) else [])
    return found


def _leading(loop: For) -> Iterator[_Decoding]:
    for item in loop.body.body:
        if not isinstance(item, _Decoding):
            return
        yield item


def _scalars(statements: Iterable[_Decoding]) -> Iterator[Symbol]:
    return (item.symbol if isinstance(item, Let) else item.count for item in statements)


def _without(body: Seq, statements: Sequence[_Decoding]) -> Seq:
    """What is left of a body: its definitions of the same scalars stand in front, too."""
    names = {defined(item) for item in statements}
    rest = (item for item in body.body if not isinstance(item, _Decoding) or defined(item) not in names)
    return Seq(body=tuple(rest), where=body.where)
