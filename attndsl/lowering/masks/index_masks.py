"""Masks by conditions on indices that show an interval: scores are replaced outside the keys a row sees."""

from __future__ import annotations

from attndsl.expr import Const, Expr, maximum, minimum, round_up
from attndsl.graph import nodes
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.context.modifiers import Modifier
from attndsl.lowering.emit.loop_scalars import FIRST_KEY, KEYS, REPEAT_LANES
from attndsl.lowering.emit.vector_buffers import vector_buffers
from attndsl.lowering.masks.interval_bounds import hides_some
from attndsl.lowering.masks.mask_kind import KnownNumbers, MaskKind, known_numbers
from attndsl.lowering.masks.visible_interval import Interval, key_interval, visible_interval
from attndsl.tile.instructions import FillInterval
from attndsl.tile.statements import If, Statement, seq


def fill_hidden(context: Context, node: nodes.Replace, interval: Interval) -> Statement:
    """Fills the lanes outside an interval; nothing in tiles that all rows of the step see whole."""
    value = Const(float(node.value))

    def hide(row: Expr) -> Statement:
        score, indices = vector_buffers(context).score, context.rows.indices()
        lanes = score.region(row * context.tile_keys, 1, round_up(KEYS, REPEAT_LANES))

        def lane(bound: Expr) -> Expr:
            return minimum(KEYS, maximum(0, context.in_kernel(bound, indices) - FIRST_KEY))

        def fill(begin: Expr, end: Expr) -> FillInterval:
            return FillInterval(dst=lanes, begin=begin, end=end, value=value, where=node.where)

        after = None if interval.end is None else fill(lane(interval.end), KEYS)
        before = None if interval.begin is None else fill(Const(0), lane(interval.begin))
        return seq(after, before)

    rows = context.rows.each_row(hide, (vector_buffers(context).score,))
    some = hides_some(context, interval)
    return rows if some is None else If(condition=some, then=seq(rows))


def _lower(context: Context, node: nodes.Replace) -> Modifier:
    interval = key_interval(node, known_numbers(context).floats)
    title = f"score = {node.value:g} where the query does not see the key  ({node.where})"
    return Modifier(title=title, apply=lambda context: [fill_hidden(context, node, interval)])


def _visible(node: nodes.Replace, known: KnownNumbers) -> Interval | None:
    return visible_interval(node, known.floats)


INDEX_MASK = MaskKind(
    name="a mask of indices",
    form="a condition on indices that shows each row one interval of keys, such as j <= i",
    matches=lambda node, known: _visible(node, known) is not None,
    lower=_lower,
    visible=_visible,
)
