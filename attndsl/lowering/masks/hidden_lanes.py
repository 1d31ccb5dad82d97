"""The lanes of scores in a row of the step, and those of them that bits hide."""

from __future__ import annotations

from attndsl.expr import Const, Expr, round_up
from attndsl.graph import nodes
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import KEYS, REPEAT_LANES
from attndsl.lowering.emit.shorthands import whole
from attndsl.lowering.emit.vector_buffers import vector_buffers
from attndsl.tile.buffers import Region
from attndsl.tile.instructions import SelectOrScalar
from attndsl.tile.statements import Statement

_ALL = Const(0)
_PLAIN = (0.0, 1.0, float("inf"), float("-inf"))
"""Values that need no name."""


def score_lanes(context: Context, row: Expr) -> Region:
    """The scores of the tile's keys in a row of the step, whole repeats."""
    lanes = round_up(KEYS, REPEAT_LANES)
    return whole(vector_buffers(context).score, row * context.score_pitch, lanes)


def hidden_value(context: Context, node: nodes.Replace) -> Const:
    """What hidden scores become: a constant with a name, where the kernel hides with one finite value."""
    value = float(node.value)
    others = (float(e.value) for e in context.attention.modifiers if isinstance(e, nodes.Replace))
    alone = all(each == value for each in others if each not in _PLAIN)
    if value in _PLAIN or not alone or context.attention_name:
        return Const(value)
    return context.inventory.constant("maskedScore", value, "score of a key that a mask hides")


def hide_lanes(
    context: Context, node: nodes.Replace, row: Expr, bits: Region, begin: Expr = _ALL
) -> Statement:
    """A row of the step keeps the scores that these bits keep, of the keys from ``begin`` on; lanes after the
    last key are left alone."""
    value = hidden_value(context, node)
    lanes = whole(vector_buffers(context).score, row * context.score_pitch + begin, KEYS - begin)
    return SelectOrScalar(dst=lanes, bits=bits, src=lanes, scalar=value, where=node.where)
