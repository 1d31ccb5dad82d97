"""One stage for the items of two attentions whose stages differ in a part: a branch there.

What both do is written once, so that it is ordered once, too. Stages that are alike but for the operands of
each attention are none of these: they stay two, which become one function that takes the operands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from attndsl.expr import Scope, Symbol
from attndsl.tile.buffers import GlobalTensor
from attndsl.tile.comparison import Comparison
from attndsl.tile.scalars import free, names_of
from attndsl.tile.statements import If, Let, Note, Seq, Stage, Statement, seq


def common_stage(over: Symbol, first: Stage, second: Stage) -> Stage | None:
    """The stage that does the work of the first where ``over`` holds, else that of the second.

    None where they are alike but for operands, have no work in common, one does all that the other does, or
    what is common reads a scalar that differs.
    """
    one, other = _read_alone(first.body), _read_alone(second.body)
    if _ButOperands().same(one, other):
        return None
    body = _common(over, one.body, other.body, ((), ()))
    if body is None or not any(_is_work(item) for item in body if not _chooses(item, over)):
        return None
    both = seq(*body)
    if free(both).keys() - free(one).keys() - free(other).keys() - {over.name}:
        return None  # a scalar that has moved to one side is read behind it, too
    return replace(first, name=first.stem, attention_name="", body=both)


class _ButOperands(Comparison):
    """Tensors in global memory stand for each other, and so do tiling fields."""

    def decided(self, first: Any, second: Any) -> bool | None:
        if isinstance(first, GlobalTensor):
            return isinstance(second, GlobalTensor)
        if isinstance(first, Symbol) and first.scope is Scope.TILING:
            return isinstance(second, Symbol) and second.scope is Scope.TILING
        return None


def _read_alone(body: Seq) -> Seq:
    """A body without scalars that nothing in it reads."""
    read = {name for item in body.walk() for name in names_of(item)}

    def kept(item: Statement) -> Statement:
        inside = (each for each in item.children() if not isinstance(each, Let) or each.symbol.name in read)
        return item.with_children(tuple(map(kept, inside)))

    found = kept(body)
    assert isinstance(found, Seq)
    return found if len(found.inside()) == len(body.inside()) else _read_alone(found)


_Lets = tuple[tuple[Let, ...], tuple[Let, ...]]
"""Scalars that one side alone has, of each."""


def _common(
    over: Symbol, first: Sequence[Statement], second: Sequence[Statement], own: _Lets
) -> list[Statement] | None:
    """Two blocks as one. A scalar that one of them alone has moves to where they differ, with those of
    ``own``; None where nothing of one of them is left to differ."""
    found, same = list[Statement](), Comparison().same
    one, other = list(first), list(second)
    while one and other:
        if same(one[0], other[0]):
            found.append(one.pop(0))
            other.pop(0)
        elif (let := _own(one, other)) is not None:
            one.remove(let)
            own = (*own[0], let), own[1]
        elif (let := _own(other, one)) is not None:
            other.remove(let)
            own = own[0], (*own[1], let)
        else:
            break
    after = list[Statement]()
    while one and other and same(one[-1], other[-1]):
        after.insert(0, one.pop())
        other.pop()
    if not one or not other:
        return None if one or other or any(own) else [*found, *after]
    inside = _inside(over, one[0], other[0], own) if len(one) == len(other) == 1 else None
    if inside is None:
        inside = If(condition=over, then=seq(*own[0], *one), otherwise=seq(*own[1], *other))
    return [*found, inside, *after]


def _own(block: Sequence[Statement], other: Sequence[Statement]) -> Let | None:
    """The scalar that a block begins with, if the other one has none of its name."""
    let = block[0]
    if not isinstance(let, Let):
        return None
    names = {item.symbol.name for item in other if isinstance(item, Let)}
    return None if let.symbol.name in names else let


def _inside(over: Symbol, first: Statement, second: Statement, own: _Lets) -> Statement | None:
    """Two statements of one kind, as one around what differs in the one block that they have."""
    mine, others = first.children(), second.children()
    if type(first) is not type(second) or len(mine) != 1 or len(others) != 1:
        return None
    (block,), (other,) = mine, others
    if not isinstance(block, Seq) or not isinstance(other, Seq):
        return None
    if not Comparison().same(first, second.with_children(mine)):
        return None
    body = _common(over, block.body, other.body, own)
    return None if body is None else first.with_children((seq(*body),))


def _chooses(item: Statement, over: Symbol) -> bool:
    return isinstance(item, If) and item.condition.same(over)


def _is_work(item: Statement) -> bool:
    return not isinstance(item, Let | Note)
