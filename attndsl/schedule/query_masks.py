"""Masks in bytes with a row for each query position, shared by its heads.

A vector step loads the mask rows of its positions once, however many heads stand at each, turns each into
bits, and every query row selects with those of its position.
"""

from __future__ import annotations

from attndsl.graph import nodes
from attndsl.schedule.context import (
    BATCH,
    CHUNK,
    FIRST_KEY,
    FIRST_QUERY,
    HEADS,
    KEYS,
    R0,
    REPEAT_LANES,
    ROW_BEGIN,
    Context,
    whole,
)
from attndsl.schedule.score_step import ScoreStep
from attndsl.schedule.vector import vector_buffers
from attndsl.symbolic import Const, Expr, Symbol, round_up
from attndsl.tile.instructions import CompareWithScalar, Convert, LoadRows, SelectOrScalar
from attndsl.tile.instructions.base import repeat_elements
from attndsl.tile.naming import camel
from attndsl.tile.statements import For, Statement, seq

_ROW, _POSITION = Symbol("row"), Symbol("position")
_HALF_REPEAT = repeat_elements("float16")
_BITS_BLOCK = 256  # lanes whose bits fill a block of 32 bytes


def covers(context: Context, node: nodes.Replace) -> bool:
    """Whether the condition is a byte mask over (Q, T) or (B, Q, T), of queries with several positions."""
    mask = node.condition
    wanted = isinstance(mask, nodes.Input) and mask.axes in (("Q", "T"), ("B", "Q", "T"))
    return wanted and not context.rows.one_position


def masked_rows(context: Context, node: nodes.Replace) -> ScoreStep:
    """The step of such a mask: scores are replaced where it is not zero."""
    mask, s = node.condition, context.schedule
    assert isinstance(mask, nodes.Input)
    name = camel(mask.name)
    pitch = round_up(s.tile_k, _BITS_BLOCK).evaluate({})
    loaded = context.in_ub(f"{name}Bytes", "uint8", s.rows * pitch, f"{mask.name} of the positions", s.slots)
    wide = context.in_ub(f"{name}Half", "float16", pitch, f"{mask.name} of a position in fp16, to compare")
    keep = context.in_ub(f"{name}Keep", "uint8", s.rows * pitch // 8, "one bit a key: 1 keeps its score")
    row = ROW_BEGIN + R0
    first, last = row // HEADS, (row + CHUNK - 1) // HEADS
    positions = last - first + 1

    def load_rows(context: Context) -> list[Statement]:
        along = context.stride(mask.name, "Q")
        offset: Expr = (FIRST_QUERY + first) * along + FIRST_KEY
        if "B" in mask.axes:
            offset = BATCH * context.stride(mask.name, "B") + offset
        source = context.gm(mask.name, offset, positions, KEYS, along)
        return [LoadRows(dst=loaded.region(0, positions, KEYS, pitch), src=source, where=node.where)]

    def apply(context: Context) -> list[Statement]:
        score = vector_buffers(context).score
        half, begin = whole(wide, 0, round_up(KEYS, _HALF_REPEAT)), _POSITION * pitch
        bits = keep.region(begin // 8, 1, pitch // 8)
        to_bits = seq(
            Convert(dst=whole(wide, 0, KEYS), src=whole(loaded, begin, KEYS), mode="CAST_NONE"),
            CompareWithScalar(dst=bits, src=half, scalar=Const(0), mode="EQ", where=node.where),
        )
        lanes = whole(score, _ROW * context.tile_keys, round_up(KEYS, REPEAT_LANES))
        position = (row + _ROW) // HEADS - first
        mine = keep.region(position * (pitch // 8), 1, pitch // 8)
        value = Const(float(node.value))
        pick = SelectOrScalar(dst=lanes, bits=mine, src=lanes, scalar=value, where=node.where)
        return [
            For(var=_POSITION, end=positions, body=seq(to_bits), disjoint=(keep,), runs=True),
            For(var=_ROW, end=CHUNK, body=seq(pick), disjoint=(score,), runs=True),
        ]

    return ScoreStep(
        title=f"score = {node.value:g} where {mask.name} hides the key  ({node.where})",
        source=mask.name,
        row_loads=(loaded,),
        scratch=(wide, keep),
        load_rows=load_rows,
        apply=apply,
    )
