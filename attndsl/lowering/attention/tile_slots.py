"""Where a tile and an item in flight stand: slots of the workspace rings, places of the rows' state."""

from __future__ import annotations

from attndsl.expr import Const, Expr, Scope, Symbol
from attndsl.lowering.attention.second_run import step_of_item
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import HALF_SLOT, ITEM_SLOT, R0, SLOT
from attndsl.tile.statements import Let, Statement


def steps_begun(context: Context) -> Symbol:
    """The steps that a core has begun."""
    return Symbol(context.loop_label("stepsBegun"), Scope.MEMBER)


def items_begun(context: Context) -> Symbol:
    """The items with steps that a core has begun."""
    return Symbol(context.loop_label("itemsBegun"), Scope.MEMBER)


def ring_slot(context: Context) -> list[Statement]:
    """The ring slot of the running tile; a step of a continuous pipeline has it from the start."""
    return [] if context.continuous else [Let(symbol=SLOT, value=step_of_item(context) % context.ring)]


def score_slot(context: Context) -> Expr:
    """The slot of the running tile's scores."""
    if not context.waits_first:
        return SLOT
    return steps_begun(context) % context.prefetch


def item_slot(context: Context) -> Expr:
    """Where the state of the running item stands among that of the items in flight."""
    if context.halves:
        return HALF_SLOT
    return ITEM_SLOT if context.continuous else Const(0)


def state_row(context: Context, row: Expr = R0) -> Expr:
    """Where the maximum and the sum of one of the core's rows stand."""
    return row + item_slot(context) * context.rows_per_vector


def tile_row(context: Context, row: Expr = R0) -> Expr:
    """Where what one of the core's rows keeps of a tile in flight stands: rescale, and step."""
    return SLOT * context.rows_per_vector + row
