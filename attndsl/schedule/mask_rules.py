"""Lowering rules of masks: scores that are replaced where a condition hides their key."""

from __future__ import annotations

from attndsl.graph import nodes
from attndsl.schedule import query_masks
from attndsl.schedule.context import BATCH, CHUNK, FIRST_KEY, KEYS, REPEAT_LANES, Context, whole
from attndsl.schedule.errors import NotLowered
from attndsl.schedule.score_step import ScoreStep
from attndsl.schedule.vector import vector_buffers
from attndsl.schedule.visibility import Interval, hides_some, visible_interval
from attndsl.symbolic import Const, Expr, Symbol, maximum, minimum, round_up
from attndsl.tile.instructions import (
    CompareWithScalar,
    Convert,
    FillInterval,
    LoadRows,
    SelectOrScalar,
)
from attndsl.tile.instructions.base import repeat_elements
from attndsl.tile.naming import camel
from attndsl.tile.statements import For, If, Statement, seq

_ROW = Symbol("row")
_MASK_REPEAT = repeat_elements("float16")


def replace_rule(context: Context, node: nodes.Node) -> ScoreStep:
    """A mask by index conditions, or by bytes.

    Raises:
        NotLowered: the condition is neither over intervals of keys nor a tensor over (B, T).
    """
    assert isinstance(node, nodes.Replace)
    if query_masks.covers(context, node):
        return query_masks.masked_rows(context, node)
    if not isinstance(node.condition, nodes.IndexCondition):
        return _by_bytes(context, node)
    interval = visible_interval(node)
    if interval is None:
        raise NotLowered("a mask that shows no interval of keys", node.where)
    return _by_index(node, interval)


def _by_index(node: nodes.Replace, interval: Interval) -> ScoreStep:
    """Fills the lanes that a row does not see; nothing in tiles that all rows of the step see whole."""
    value = Const(float(node.value))

    def hide(context: Context, row: Expr) -> Statement:
        score, indices = vector_buffers(context).score, context.rows.indices()
        lanes = score.region(row * context.tile_keys, 1, round_up(KEYS, REPEAT_LANES))

        def lane(bound: Expr) -> Expr:
            return minimum(KEYS, maximum(0, context.in_kernel(bound, indices) - FIRST_KEY))

        def fill(begin: Expr, end: Expr) -> FillInterval:
            return FillInterval(dst=lanes, begin=begin, end=end, value=value, where=node.where)

        behind = None if interval.end is None else fill(lane(interval.end), KEYS)
        before = None if interval.begin is None else fill(Const(0), lane(interval.begin))
        return seq(behind, before)

    def apply(context: Context) -> list[Statement]:
        touched = (vector_buffers(context).score,)
        rows = context.rows.each_row(lambda row: hide(context, row), touched)
        some = hides_some(context, interval)
        return [rows if some is None else If(condition=some, then=seq(rows))]

    title = f"score = {node.value:g} where the query does not see the key  ({node.where})"
    return ScoreStep(title=title, apply=apply)


def _by_bytes(context: Context, node: nodes.Replace) -> ScoreStep:
    """A byte mask shared by all rows: turned into bits once a tile, then selected row by row."""
    mask, s = node.condition, context.schedule
    if not isinstance(mask, nodes.Input) or {"N", "Q"} & set(mask.axes) or mask.axes[-1] != "T":
        raise NotLowered("a replacement whose condition is no tensor over (B, T)", node.where)
    name, value = camel(mask.name), Const(float(node.value))
    lanes = -(-s.tile_k // _MASK_REPEAT) * _MASK_REPEAT
    loaded = context.in_ub(f"{name}Bytes", "uint8", lanes, f"{mask.name} of the tile's keys", s.slots)
    wide = context.in_ub(f"{name}Half", "float16", lanes, f"{mask.name} in fp16, to compare")
    bits = context.in_ub(f"{name}Keep", "uint8", max(lanes // 8, 32), "one bit a key: 1 keeps its score")

    def load_tile(context: Context) -> list[Statement]:
        offset: Expr = BATCH * context.stride(mask.name, "B") + FIRST_KEY
        source = context.gm(mask.name, offset, 1, KEYS)
        return [LoadRows(dst=whole(loaded, 0, KEYS), src=source, where=node.where)]

    def prepare_tile(context: Context) -> list[Statement]:
        half = whole(wide, 0, round_up(KEYS, _MASK_REPEAT))
        return [
            Convert(dst=whole(wide, 0, KEYS), src=whole(loaded, 0, KEYS), mode="CAST_NONE", where=node.where),
            CompareWithScalar(dst=bits.region(), src=half, scalar=Const(0), mode="EQ", where=node.where),
        ]

    def apply(context: Context) -> list[Statement]:
        score = vector_buffers(context).score
        row = whole(score, _ROW * context.tile_keys, round_up(KEYS, REPEAT_LANES))
        pick = SelectOrScalar(dst=row, bits=bits.region(), src=row, scalar=value, where=node.where)
        return [For(var=_ROW, end=CHUNK, body=seq(pick), disjoint=(score,), runs=True)]

    return ScoreStep(
        title=f"score = {node.value:g} where {mask.name} hides the key  ({node.where})",
        source=mask.name,
        tile_loads=(loaded,),
        scratch=(wide, bits),
        load_tile=load_tile,
        prepare_tile=prepare_tile,
        apply=apply,
    )
