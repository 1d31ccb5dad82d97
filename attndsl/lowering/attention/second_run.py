"""A second run over the tiles of an item, for a selection.

It needs probabilities with the final maximum and sum of each row.
"""

from __future__ import annotations

from attndsl.expr import Expr, Symbol
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import STEP, TILE, TILES
from attndsl.tile.statements import If, Statement, seq


def takes_tiles_again(context: Context) -> bool:
    """Whether the tiles of an item follow each other a second time."""
    return context.computation.selection is not None


def takes_one_tile_at_once(context: Context) -> bool:
    """Whether the exponentials of the softmax of an only tile are those of the probabilities: what the cube
    takes of rows with an offset is rounded."""
    quantization = context.values.quantization
    return quantization is None or quantization.offset is None


def alone(context: Context) -> Expr | None:
    """Whether a tile is all that its rows see, no sink before it; None where no lowering of it pays."""
    softmax = context.attention.softmax
    if not takes_tiles_again(context) or (softmax is not None and softmax.sink is not None):
        return None
    return TILES == 1


def step_of_item(context: Context) -> Symbol:
    """What counts the steps of an item: its tiles, unless a tile has several steps."""
    return STEP if takes_tiles_again(context) or context.halves else TILE


def first_time(context: Context, statement: Statement) -> Statement:
    """What is done with a tile when it comes first alone."""
    if not takes_tiles_again(context):
        return statement
    return If(condition=step_of_item(context) < TILES, then=seq(statement), where=statement.where)
