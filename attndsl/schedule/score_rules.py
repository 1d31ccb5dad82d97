"""Lowering rules of score modifiers: one entry of a table for each kind of graph node.

A rule turns a node into a :class:`ScoreStep`. Adding a modifier is adding a rule here.
"""

from __future__ import annotations

from collections.abc import Callable

from attndsl.graph import nodes
from attndsl.schedule import query_masks
from attndsl.schedule.context import BATCH, CHUNK, FIRST_KEY, KEYS, REPEAT_LANES, SPAN, Context, whole
from attndsl.schedule.errors import NotLowered
from attndsl.schedule.pattern import other_operand
from attndsl.schedule.row_space import Run
from attndsl.schedule.score_step import ScoreStep
from attndsl.schedule.vector import vector_buffers
from attndsl.symbolic import Const, Expr, Symbol, round_up
from attndsl.tile.buffers import GlobalRegion
from attndsl.tile.instructions import (
    Binary,
    CompareWithScalar,
    Convert,
    LoadRows,
    SelectOrScalar,
    WithScalar,
)
from attndsl.tile.naming import camel
from attndsl.tile.statements import For, Statement, seq

_ROW = Symbol("row")
_MASK_REPEAT = 128  # fp16 lanes of one compare repeat


def lower_modifier(context: Context, node: nodes.Node) -> ScoreStep:
    """The step of a modifier.

    Raises:
        NotLowered: when no rule covers the node.
    """
    rule = _RULES.get(type(node))
    if rule is None:
        raise NotLowered(type(node).__name__, node.where)
    return rule(context, node)


def _elementwise(context: Context, node: nodes.Node) -> ScoreStep:
    assert isinstance(node, nodes.Elementwise)
    other = other_operand(node)
    if isinstance(other, nodes.Scalar) and node.op in _SCALAR_OPS and not other.axes:
        return _with_scalar(context, node, other)
    rowwise = isinstance(other, nodes.Input) and {"N", "T"} <= set(other.axes)
    if isinstance(other, nodes.Input) and rowwise and node.op in _TENSOR_OPS:
        return _with_rows(context, node, other)
    with_what = f" and {type(other).__name__}" if other is not None else ""
    raise NotLowered(f"'{node.op}' of scores{with_what}", node.where)


_SCALAR_OPS = {"multiply": "Muls", "add": "Adds", "minimum": "Mins", "maximum": "Maxs"}
_SIGNS = {"multiply": "*", "add": "+", "subtract": "-", "minimum": "min", "maximum": "max"}
_TENSOR_OPS = {"add": "Add", "subtract": "Sub", "multiply": "Mul"}


def _with_scalar(context: Context, node: nodes.Elementwise, scalar: nodes.Scalar) -> ScoreStep:
    """A number known now, or one that the host computes for each call."""
    operand = context.host(scalar.value, stem="" if isinstance(scalar.value, Symbol) else f"score_{node.op}")
    if isinstance(operand, Const):
        operand = Const(float(operand.value))

    def apply(context: Context) -> list[Statement]:
        score = whole(vector_buffers(context).score, 0, SPAN)
        return [WithScalar(op=_SCALAR_OPS[node.op], dst=score, src=score, scalar=operand, where=node.where)]

    return ScoreStep(title=f"score {_SIGNS[node.op]} {scalar.value}  ({node.where})", apply=apply)


def _with_rows(context: Context, node: nodes.Elementwise, tensor: nodes.Input) -> ScoreStep:
    """A tensor with one row a query row, in the io dtype: loaded with the scores, widened, combined."""
    name, s = camel(tensor.name), context.schedule
    meaning = f"{tensor.name} of the rows"
    narrow = context.in_ub(f"{name}Rows", context.dtype, s.rows * s.tile_k, meaning, s.slots)
    wide = context.in_ub(f"{name}Wide", "float32", s.rows * s.tile_k, f"{meaning}, in fp32")

    def load_rows(context: Context) -> list[Statement]:
        def load(run: Run) -> Statement:
            target = narrow.region(run.row * context.tile_keys, run.rows, KEYS, context.tile_keys)
            return LoadRows(dst=target, src=_key_columns(context, tensor, run), where=node.where)

        return [context.rows.each_run(load, (narrow,))]

    def apply(context: Context) -> list[Statement]:
        score, widened = whole(vector_buffers(context).score, 0, SPAN), whole(wide, 0, SPAN)
        return [
            Convert(dst=widened, src=whole(narrow, 0, SPAN), mode="CAST_NONE", where=node.where),
            Binary(op=_TENSOR_OPS[node.op], dst=score, first=score, second=widened, where=node.where),
        ]

    title = f"score {_SIGNS[node.op]} {tensor.name}  ({node.where})"
    return ScoreStep(title=title, row_loads=(narrow,), scratch=(wide,), load_rows=load_rows, apply=apply)


def _key_columns(context: Context, tensor: nodes.Input, run: Run) -> GlobalRegion:
    """The columns of the tile's keys in the rows of a run."""
    rows = context.rows.place(context, tensor.name, run, KEYS)
    return context.gm(tensor.name, rows.offset + FIRST_KEY, run.rows, KEYS, rows.pitch)


def _replace(context: Context, node: nodes.Node) -> ScoreStep:
    """A byte mask shared by all rows: turned into bits once a tile, then selected row by row."""
    assert isinstance(node, nodes.Replace)
    if query_masks.covers(context, node):
        return query_masks.masked_rows(context, node)
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
        tile_loads=(loaded,),
        scratch=(wide, bits),
        load_tile=load_tile,
        prepare_tile=prepare_tile,
        apply=apply,
    )


_RULES: dict[type[nodes.Node], Callable[[Context, nodes.Node], ScoreStep]] = {
    nodes.Elementwise: _elementwise,
    nodes.Replace: _replace,
}
