"""Masks by conditions on indices: scores are replaced outside the interval of keys that a row sees."""

from __future__ import annotations

from attndsl.expr import Const, Expr, maximum, minimum, round_up
from attndsl.graph import nodes
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.context.modifiers import Modifier
from attndsl.lowering.emit.loop_scalars import FIRST_KEY, KEYS, REPEAT_LANES
from attndsl.lowering.emit.vector_buffers import vector_buffers
from attndsl.lowering.masks.interval_bounds import hides_some
from attndsl.lowering.masks.mask_kind import MaskKind
from attndsl.lowering.masks.visible_interval import key_interval, visible_interval
from attndsl.tile.instructions import FillInterval
from attndsl.tile.statements import If, Statement, seq


def _fill_hidden(context: Context, node: nodes.Replace) -> Modifier:
    """Fills the lanes that a row does not see; nothing in tiles that all rows of the step see whole.

    Raises:
        NotLowered: the keys that a row sees are no interval.
    """
    interval, value = key_interval(node, context.signature.float_params), Const(float(node.value))

    def hide(context: Context, row: Expr) -> Statement:
        score, indices = vector_buffers(context).score, context.rows.indices()
        lanes = score.region(row * context.tile_keys, 1, round_up(KEYS, REPEAT_LANES))

        def lane(bound: Expr) -> Expr:
            return minimum(KEYS, maximum(0, context.in_kernel(bound, indices) - FIRST_KEY))

        def fill(begin: Expr, end: Expr) -> FillInterval:
            return FillInterval(dst=lanes, begin=begin, end=end, value=value, where=node.where)

        after = None if interval.end is None else fill(lane(interval.end), KEYS)
        before = None if interval.begin is None else fill(Const(0), lane(interval.begin))
        return seq(after, before)

    def apply(context: Context) -> list[Statement]:
        touched = (vector_buffers(context).score,)
        rows = context.rows.each_row(lambda row: hide(context, row), touched)
        some = hides_some(context, interval)
        return [rows if some is None else If(condition=some, then=seq(rows))]

    title = f"score = {node.value:g} where the query does not see the key  ({node.where})"
    return Modifier(title=title, apply=apply)


INDEX_MASK = MaskKind(name="a mask of indices", lower=_fill_hidden, visible=visible_interval)
