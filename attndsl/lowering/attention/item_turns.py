"""The turns of a block's loop over items. The last one of a continuous pipeline has no item: it drains.

A turn has the number of its item, unless items come in another order or the last turn has none.
"""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.expr import Expr, Symbol, minimum, select
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import ITEM
from attndsl.tile.program import BLOCK_COUNT, BLOCK_INDEX
from attndsl.tile.statements import Let, Statement

_TURN = Symbol("turn")

ONE_MORE = (
    "One turn more than the block has items: it drains the pipeline. The plan launches no more blocks than "
    "there are items; without items there is no turn."
)

_ONE_MORE_IF_ANY = (
    "One turn more than the block has items: it drains the pipeline. A block without items of this attention "
    "has no turn."
)


@dataclass(frozen=True, slots=True)
class Turns:
    """The loop over a block's items: each ``blockCount``-th from ``begin`` to ``end``.

    In a continuous pipeline the last turn comes after the block's last item, as ``note`` tells readers of the
    kernel. ``scalars``: what the bounds are made of.
    """

    begin: Expr
    end: Expr
    scalars: tuple[Statement, ...] = ()
    note: str = ""


def turns(context: Context) -> Turns:
    """Items of several attentions go to blocks in turn, as if they were of one; a block may have none."""
    items, before, begin = context.items, context.items_before, BLOCK_INDEX
    scalars = list[Statement]()
    if before is not None:
        begin = Symbol(context.label("firstItem"))
        value = (BLOCK_INDEX + BLOCK_COUNT - before % BLOCK_COUNT) % BLOCK_COUNT
        scalars.append(Let(symbol=begin, value=value))
    if not context.continuous:
        return Turns(begin, items, tuple(scalars))
    end = Symbol(context.label("turnsEnd"))
    if context.attention_name:
        last, note = select(begin < items, items + BLOCK_COUNT, 0), _ONE_MORE_IF_ANY
    else:
        last, note = items + minimum(items, BLOCK_COUNT), ONE_MORE
    scalars.append(Let(symbol=end, value=last))
    return Turns(begin, end, tuple(scalars), note)


def turn_of(context: Context) -> Symbol:
    """The scalar that counts the turns: that of the items where each turn is its item."""
    return _TURN if context.continuous or context.last_first else ITEM


def item_of_turn(context: Context, item: Expr) -> Expr:
    """The item of a turn; the last turn, which has none, takes one with rows that exist, without its keys.

    Where the last items come first, that is the item of the turn before: rounds end with the first one.
    """
    drains_beyond = context.continuous and context.drains and not context.last_first
    return minimum(item, context.items - 1) if drains_beyond else item


def has_item(context: Context) -> Expr:
    """Whether a turn of a continuous pipeline has an item."""
    turn = turn_of(context)
    return turn < context.items


def drains(context: Context) -> Expr:
    """Whether a turn of a continuous pipeline has none: it drains the pipeline."""
    turn = turn_of(context)
    return turn >= context.items
