"""Lowering rules of score modifiers: one entry of a table for each kind of graph node.

A rule turns a node into a :class:`ScoreStep`: what to load once a tile (shared by all rows), what to load
with the rows, and what to do to the scores. Adding a modifier is adding a rule here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from attndsl.graph import nodes
from attndsl.hardware import MemorySpace
from attndsl.schedule.context import (
    BATCH,
    CHUNK,
    FIRST_KEY,
    HEAD,
    KERNEL_SCALARS,
    KEYS,
    REPEAT_LANES,
    SPAN,
    Context,
    local,
)
from attndsl.schedule.errors import NotLowered
from attndsl.schedule.pattern import other_operand
from attndsl.symbolic import Const, Expr, Symbol, round_up
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import (
    Binary,
    CompareWithScalar,
    Convert,
    LoadRows,
    SelectOrScalar,
    WithScalar,
)
from attndsl.tile.naming import camel
from attndsl.tile.program import TilingField
from attndsl.tile.statements import For, Statement, seq

_ROW = Symbol("row")
_MASK_REPEAT = 128  # fp16 lanes of one compare repeat

Emit = Callable[[Context], list[Statement]]


def _nothing(context: Context) -> list[Statement]:
    return []


@dataclass(frozen=True, kw_only=True)
class ScoreStep:
    """One modifier, lowered.

    Attributes:
        title: what it does, in the spec's terms.
        tile_loads: buffers loaded once a tile. ``row_loads``: buffers loaded with each chunk of rows.
        scratch: further vector buffers.
        fields: tiling fields it reads.
        load_tile, prepare_tile: statements at the start of a tile.
        load_rows, apply: statements for each chunk of rows, before and after the scores have arrived.
    """

    title: str
    tile_loads: tuple[Buffer, ...] = ()
    row_loads: tuple[Buffer, ...] = ()
    scratch: tuple[Buffer, ...] = ()
    fields: tuple[TilingField, ...] = ()
    load_tile: Emit = field(default=_nothing)
    prepare_tile: Emit = field(default=_nothing)
    load_rows: Emit = field(default=_nothing)
    apply: Emit = field(default=_nothing)


def lower_modifier(node: nodes.Node, tile_keys: int, rows: int, slots: int, dtype: str) -> ScoreStep:
    """The step of a modifier.

    Raises:
        NotLowered: when no rule covers the node.
    """
    rule = _RULES.get(type(node))
    if rule is None:
        raise NotLowered(type(node).__name__, node.where)
    return rule(node, tile_keys, rows, slots, dtype)


def _elementwise(node: nodes.Node, tile_keys: int, rows: int, slots: int, dtype: str) -> ScoreStep:
    assert isinstance(node, nodes.Elementwise)
    other = other_operand(node)
    if isinstance(other, nodes.Scalar) and node.op in _SCALAR_OPS:
        return _with_scalar(node, other)
    rowwise = isinstance(other, nodes.Input) and {"N", "T"} <= set(other.axes)
    if isinstance(other, nodes.Input) and rowwise and node.op in _TENSOR_OPS:
        return _with_rows(node, other, tile_keys, rows, slots, dtype)
    with_what = f" and {type(other).__name__}" if other is not None else ""
    raise NotLowered(f"'{node.op}' of scores{with_what}", node.where)


_SCALAR_OPS = {"multiply": "Muls", "add": "Adds", "minimum": "Mins", "maximum": "Maxs"}
_SIGNS = {"multiply": "*", "add": "+", "subtract": "-", "minimum": "min", "maximum": "max"}
_TENSOR_OPS = {"add": "Add", "subtract": "Sub", "multiply": "Mul"}


def _with_scalar(node: nodes.Elementwise, scalar: nodes.Scalar) -> ScoreStep:
    """A number known now, or one that the host computes for each call."""
    operand: Expr = scalar.value
    fields: tuple[TilingField, ...] = ()
    if isinstance(operand, Const):
        operand = Const(float(operand.value))
    else:
        stem = operand.name if isinstance(operand, Symbol) else f"score_{node.op}"
        name = f"{camel(stem)}{'Scalar' if camel(stem) in KERNEL_SCALARS else ''}"
        fields = (TilingField(name, "float32", operand, str(operand)),)
        operand = fields[0].symbol

    def apply(context: Context) -> list[Statement]:
        score = context.region("score", 0, 1, SPAN)
        return [WithScalar(op=_SCALAR_OPS[node.op], dst=score, src=score, scalar=operand, where=node.where)]

    return ScoreStep(
        title=f"score {_SIGNS[node.op]} {scalar.value}  ({node.where})", fields=fields, apply=apply
    )


def _with_rows(
    node: nodes.Elementwise, tensor: nodes.Input, tile_keys: int, rows: int, slots: int, dtype: str
) -> ScoreStep:
    """A tensor with one row a query row, in the io dtype: loaded with the scores, widened, combined."""
    name = camel(tensor.name)
    meaning = f"{tensor.name} of the rows"
    narrow = local(f"{name}Rows", MemorySpace.UB, dtype, rows * tile_keys, meaning, slots)
    wide = local(f"{name}Wide", MemorySpace.UB, "float32", rows * tile_keys, f"{meaning}, in fp32")

    def load_rows(context: Context) -> list[Statement]:
        offset: Expr = FIRST_KEY
        if context.has_stride(tensor.name, "B"):
            offset = BATCH * context.stride(tensor.name, "B") + offset
        pitch = context.stride(tensor.name, "N")
        source = context.gm(tensor.name, offset + HEAD * pitch, CHUNK, KEYS, pitch)
        target = narrow.region(0, CHUNK, KEYS, context.constant("tileKeys"))
        return [LoadRows(dst=target, src=source, where=node.where)]

    def apply(context: Context) -> list[Statement]:
        score, widened = context.region("score", 0, 1, SPAN), wide.region(0, 1, SPAN)
        return [
            Convert(dst=widened, src=narrow.region(0, 1, SPAN), mode="CAST_NONE", where=node.where),
            Binary(op=_TENSOR_OPS[node.op], dst=score, first=score, second=widened, where=node.where),
        ]

    title = f"score {_SIGNS[node.op]} {tensor.name}  ({node.where})"
    return ScoreStep(title=title, row_loads=(narrow,), scratch=(wide,), load_rows=load_rows, apply=apply)


def _replace(node: nodes.Node, tile_keys: int, rows: int, slots: int, dtype: str) -> ScoreStep:
    """A byte mask shared by all heads: turned into bits once a tile, then selected row by row."""
    assert isinstance(node, nodes.Replace)
    mask = node.condition
    if not isinstance(mask, nodes.Input) or "N" in mask.axes or mask.axes[-1] != "T":
        raise NotLowered("a replacement whose condition is no tensor over (B, T)", node.where)
    name, value = camel(mask.name), Const(float(node.value))
    lanes = -(-tile_keys // _MASK_REPEAT) * _MASK_REPEAT
    loaded = local(f"{name}Bytes", MemorySpace.UB, "uint8", lanes, f"{mask.name} of the tile's keys", slots)
    wide = local(f"{name}Half", MemorySpace.UB, "float16", lanes, f"{mask.name} in fp16, to compare")
    bits = local(
        f"{name}Keep", MemorySpace.UB, "uint8", max(lanes // 8, 32), "one bit a key: 1 keeps its score"
    )

    def load_tile(context: Context) -> list[Statement]:
        offset: Expr = FIRST_KEY
        if context.has_stride(mask.name, "B"):
            offset = BATCH * context.stride(mask.name, "B") + offset
        source = context.gm(mask.name, offset, 1, KEYS)
        return [LoadRows(dst=loaded.region(0, 1, KEYS), src=source, where=node.where)]

    def prepare_tile(context: Context) -> list[Statement]:
        half = wide.region(0, 1, round_up(KEYS, _MASK_REPEAT))
        return [
            Convert(
                dst=wide.region(0, 1, KEYS),
                src=loaded.region(0, 1, KEYS),
                mode="CAST_NONE",
                where=node.where,
            ),
            CompareWithScalar(dst=bits.region(), src=half, scalar=Const(0), mode="EQ", where=node.where),
        ]

    def apply(context: Context) -> list[Statement]:
        lanes = round_up(KEYS, REPEAT_LANES)
        row = context.region("score", _ROW * context.constant("tileKeys"), 1, lanes)
        pick = SelectOrScalar(dst=row, bits=bits.region(), src=row, scalar=value, where=node.where)
        return [For(var=_ROW, end=CHUNK, body=seq(pick), disjoint=(context.buffers["score"],), runs=True)]

    return ScoreStep(
        title=f"score = {node.value:g} where {mask.name} hides the key  ({node.where})",
        tile_loads=(loaded,),
        scratch=(wide, bits),
        load_tile=load_tile,
        prepare_tile=prepare_tile,
        apply=apply,
    )


_RULES: dict[type[nodes.Node], Callable[[nodes.Node, int, int, int, str], ScoreStep]] = {
    nodes.Elementwise: _elementwise,
    nodes.Replace: _replace,
}
