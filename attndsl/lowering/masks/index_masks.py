"""Masks by conditions on indices that show an interval: scores are replaced outside the keys a row sees."""

from __future__ import annotations

from attndsl.expr import Const, Expr, maximum, minimum
from attndsl.graph import nodes
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.context.modifiers import Modifier
from attndsl.lowering.emit.loop_scalars import FIRST_KEY, KEYS
from attndsl.lowering.emit.vector_buffers import vector_buffers
from attndsl.lowering.masks.hidden_lanes import score_lanes
from attndsl.lowering.masks.interval_bounds import hides_some
from attndsl.lowering.masks.mask_kind import KnownNumbers, MaskKind, known_numbers
from attndsl.lowering.masks.visible_interval import Interval, key_interval, visible_interval
from attndsl.tile.instructions import FillInterval
from attndsl.tile.statements import If, Statement, seq


def fill_hidden(context: Context, node: nodes.Replace, interval: Interval) -> list[Statement]:
    """Fills the lanes outside an interval, behind its end and then in front of its begin, for all rows each:
    rows do not wait for each other. Nothing in tiles that all rows of the step see whole on that side."""
    sides = []
    if interval.end is not None:
        sides.append(Interval(None, interval.end))
    if interval.begin is not None:
        sides.append(Interval(interval.begin, None))
    return [_fill(context, node, side) for side in sides]


def _fill(context: Context, node: nodes.Replace, side: Interval) -> Statement:
    def hide(row: Expr) -> Statement:
        indices = context.rows.indices()
        lanes = score_lanes(context, row)

        def lane(bound: Expr) -> Expr:
            return minimum(KEYS, maximum(0, context.in_kernel(bound, indices) - FIRST_KEY))

        begin = Const(0) if side.end is None else lane(side.end)
        end = KEYS if side.begin is None else lane(side.begin)
        value = Const(float(node.value))
        return seq(FillInterval(dst=lanes, begin=begin, end=end, value=value, where=node.where))

    rows = context.rows.each_row(hide, (vector_buffers(context).score,))
    some = hides_some(context, side)
    return rows if some is None else If(condition=some, then=seq(rows))


def _lower(context: Context, node: nodes.Replace) -> Modifier:
    interval = key_interval(node, known_numbers(context).floats)
    title = f"score = {node.value:g} where the query does not see the key  ({context.spec_line(node.where)})"
    return Modifier(title=title, apply=lambda context: fill_hidden(context, node, interval))


def _visible(node: nodes.Replace, known: KnownNumbers) -> Interval | None:
    return visible_interval(node, known.floats)


INDEX_MASK = MaskKind(
    name="a mask of indices",
    form="a condition on indices that shows each row one interval of keys, such as j <= i",
    matches=lambda node, known: _visible(node, known) is not None,
    lower=_lower,
    visible=_visible,
)
