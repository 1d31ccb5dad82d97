"""Which item comes at a place of a block's loop over items of two attentions: one function of the kernel.

Cube and vector cores take a block's items in the same order. What the order is made of, such as how many
items of each attention the block has, each kind of core asks for once; which item a place has, once a place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from attndsl.base.errors import InternalError
from attndsl.codegen.kernel.function_text import Function
from attndsl.codegen.kernel.let_text import let_lines
from attndsl.codegen.names.members import scalar
from attndsl.codegen.names.spelling import Spelling
from attndsl.expr import Symbol
from attndsl.tile.comparison import Comparison
from attndsl.tile.scalars import free, names_of
from attndsl.tile.statements import Either, For, Let, Seq, Statement

_First = TypeVar("_First")
_Second = TypeVar("_Second")

STRUCT, FUNCTION, AT_PLACE = "ItemOrder", "OrderOfItems", "ItemAt"
ORDER = "order"
"""The local that holds the order."""
FOUND = "found"
"""The local that holds what a function returns."""


@dataclass(frozen=True, eq=False)
class ItemOrder:
    """The order of a block's items.

    Attributes:
        replaced: the definitions on both kinds of core that the functions stand for.
        made_of: those in front of the loop. ``of_place``: those of a turn of the loop.
        members: what is asked of ``made_of``; the others are steps on the way to them. None where a place
            tells its item by itself.
        over: whether an item is of the first attention. ``place``: the loop's variable.
    """

    replaced: frozenset[Let]
    made_of: tuple[Let, ...]
    of_place: tuple[Let, ...]
    members: tuple[Symbol, ...]
    over: Symbol
    place: Symbol

    @property
    def declaration(self) -> str:
        """What a kind of core begins with."""
        return f"const {STRUCT} {ORDER} = {FUNCTION}();"

    @property
    def call(self) -> str:
        """The item of the loop's turn."""
        return f"{AT_PLACE}({', '.join((*([ORDER] if self.members else []), scalar(self.place)))})"

    @property
    def struct(self) -> tuple[str, ...]:
        """The lines of the struct."""
        return tuple(f"int64_t {scalar(symbol)};" for symbol in self.members)

    def spelled(self, name: str) -> dict[str, str]:
        """The members by their scalars' names, of the struct called ``name``."""
        return {symbol.name: f"{name}.{scalar(symbol)}" for symbol in self.members}

    def begins(self, let: Let) -> bool:
        """Whether a definition is the first of those in front of a core's loop."""
        return bool(self.made_of) and let.symbol.same(self.made_of[0].symbol)

    def making(self, spelling: Spelling) -> Function:
        """The function that makes the order."""
        inside, places = spelling.with_scalars(self.spelled(FOUND)), self.spelled(FOUND)
        lines = (line for let in self.made_of for line in let_lines(let, inside, places.get(let.symbol.name)))
        doc = "The order of the block's items, as cube and vector cores take them."
        return Function(FUNCTION, doc, (), (f"{STRUCT} {FOUND};", *lines, f"return {FOUND};"))

    def finding(
        self, spelling: Spelling, item: str, declared: Iterable[str], decodings: tuple[str, str]
    ) -> Function:
        """The function that finds the item of a place.

        ``item``: the type of items. ``decodings``: the calls that decode one, of each attention, with the
        locals that ``declared`` has.
        """
        inside, over = spelling.with_scalars(self.spelled(ORDER)), scalar(self.over)
        lines = (line for let in self.of_place for line in let_lines(let, inside))
        then, otherwise = decodings
        order = (f"const {STRUCT} &{ORDER}",) if self.members else ()
        doc = "The item at a place of the order. Behind the last one there is one without keys."
        return Function(
            AT_PLACE,
            doc,
            (*order, f"int64_t {scalar(self.place)}"),
            (
                *declared,
                *lines,
                f"{item} {FOUND} = {over} ? {then} : {otherwise};",
                f"{FOUND}.{over} = {over};",
                f"return {FOUND};",
            ),
        )


def item_order(trees: Sequence[Statement], loops: Sequence[For], choices: Sequence[Either]) -> ItemOrder:
    """The order that the trees of both kinds of core have, from their loops over items and what chooses
    between the items of both attentions there."""
    of_place = [_lets(loop.body.body[: loop.body.body.index(each)]) for loop, each in _pairs(loops, choices)]
    made_of = [_needed(_in_front(tree, loop), of_place[0]) for tree, loop in _pairs(trees, loops)]
    if not Comparison().same(*of_place) or not Comparison().same(*made_of):
        raise InternalError("cube and vector cores take the items of a block in different orders")
    replaced = frozenset(let for each in (*made_of, *of_place) for let in each)
    (over,) = choices[0].condition.symbols()
    told = {let.symbol.name for let in of_place[0]} - {over}
    for loop, choice in _pairs(loops, choices):
        rest = Seq(body=loop.body.body[loop.body.body.index(choice) + 1 :])
        if left := told & free(rest).keys():
            raise InternalError(f"a loop over items reads {', '.join(sorted(left))}, which tell their order")
    others = (item for tree in trees for item in tree.walk() if item not in replaced)
    read = {name for item in (*of_place[0], *others) for name in names_of(item)}
    members = tuple(let.symbol for let in made_of[0] if let.symbol.name in read)
    condition = next(let.symbol for let in of_place[0] if let.symbol.name == over)
    return ItemOrder(replaced, made_of[0], of_place[0], members, condition, loops[0].var)


def _pairs(first: Sequence[_First], second: Sequence[_Second]) -> Iterable[tuple[_First, _Second]]:
    return zip(first, second, strict=True)


def _lets(statements: Iterable[Statement]) -> tuple[Let, ...]:
    return tuple(item for item in statements if isinstance(item, Let))


def _in_front(tree: Statement, loop: For) -> tuple[Let, ...]:
    """The definitions of the block that a loop stands in, in front of it."""
    blocks = (item.body for item in tree.walk() if isinstance(item, Seq) and loop in item.body)
    block = next(blocks)
    return _lets(block[: block.index(loop)])


def _needed(lets: Sequence[Let], users: Iterable[Let]) -> tuple[Let, ...]:
    """The definitions that others need, and those that these need."""
    needed = {name for let in users for name in names_of(let)}
    found = list[Let]()
    for let in reversed(lets):
        if let.symbol.name in needed:
            needed |= names_of(let)
            found.append(let)
    return tuple(reversed(found))
