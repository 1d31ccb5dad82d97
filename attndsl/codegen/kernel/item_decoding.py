"""The scalars of an item that cube and vector cores compute alike: one function of the kernel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from attndsl.codegen.names.members import scalar
from attndsl.lowering.emit.loop_scalars import ITEM_MEANINGS
from attndsl.target import Core
from attndsl.tile.program import CORE_SCALARS, Program
from attndsl.tile.scalars import free
from attndsl.tile.statements import For, Let, Seq, Stage, Statement

STRUCT, FUNCTION = "Item", "DecodeItem"
DECODED, FOUND = "work", "found"
"""The local that holds an item outside of the function, and inside."""
_FEWEST = 3
"""Scalars that are worth a function."""
FEWEST_TAKEN = 3
"""Scalars of an item for which a stage takes, or a step keeps, the item itself."""


@dataclass(frozen=True, eq=False)
class ItemDecoding:
    """The loops over items of both kinds of core, and the scalars that both begin with.

    ``members``: those that a loop uses, which the struct has; the others are steps on the way to them.
    """

    loops: tuple[For, ...]
    lets: tuple[Let, ...]
    members: tuple[Let, ...]

    def spelled(self, name: str) -> dict[str, str]:
        """The members by their scalars' names, of the struct called ``name``."""
        return {let.symbol.name: f"{name}.{scalar(let.symbol)}" for let in self.members}

    def names(self) -> frozenset[str]:
        """The scalars that are members."""
        return frozenset(let.symbol.name for let in self.members)

    def rest(self, loop: For) -> Seq:
        """A loop's body without these scalars."""
        return _without(loop.body, self.lets)


def item_decoding(program: Program) -> ItemDecoding | None:
    """The decoding that a program's cores share; None where there is not one loop over items a core."""
    if not {Core.AIC, Core.AIV} <= program.cores.keys():
        return None
    cube, vector = (list(_item_loops(program.cores[core])) for core in (Core.AIC, Core.AIV))
    if len(cube) != 1 or len(vector) != 1:
        return None
    first, second = cube[0], vector[0]
    bounds = ((first.begin, second.begin), (first.end, second.end), (first.step, second.step))
    if not all(mine.same(other) for mine, other in bounds):
        return None
    others = {let.symbol.name: let for let in _leading_lets(second)}
    known = {field.name for field in program.fields} | {each.name for each in CORE_SCALARS}
    known.add(first.var.name)
    lets = []
    for let in _leading_lets(first):
        other = others.get(let.symbol.name)
        if other is not None and other.value.same(let.value) and let.value.symbols() <= known:
            lets.append(let)
            known.add(let.symbol.name)
    if len(lets) < _FEWEST:
        return None
    used = {name for loop in (first, second) for name in free(_without(loop.body, lets))}
    members = tuple(let for let in lets if let.symbol.name in used)
    return ItemDecoding((first, second), tuple(lets), members)


def taken_from_item(names: Iterable[str], decoding: ItemDecoding | None) -> frozenset[str]:
    """Which of these scalars are taken with the whole item; none if they are few."""
    found = decoding.names().intersection(names) if decoding is not None else frozenset[str]()
    return found if len(found) >= FEWEST_TAKEN else frozenset()


def meaning_of(let: Let) -> str:
    """What a scalar of an item is: that of its name, else what it is read from."""
    return ITEM_MEANINGS.get(let.symbol.name) or str(let.value)


def _item_loops(tree: Statement) -> Iterator[For]:
    """The loops over items outside of stages."""
    if isinstance(tree, For) and tree.over_items:
        yield tree
    elif not isinstance(tree, Stage):
        for child in tree.children():
            yield from _item_loops(child)


def _leading_lets(loop: For) -> Iterator[Let]:
    for item in loop.body.body:
        if not isinstance(item, Let):
            return
        yield item


def _without(body: Seq, lets: Sequence[Let]) -> Seq:
    names = {let.symbol.name for let in lets}
    return Seq(body=tuple(item for item in body.body if not _is_let_of(item, names)), where=body.where)


def _is_let_of(item: Statement, names: set[str]) -> bool:
    return isinstance(item, Let) and item.symbol.name in names
