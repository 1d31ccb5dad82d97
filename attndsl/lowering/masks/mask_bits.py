"""Bits of masks in bytes: one a key, which keeps or hides its score."""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.expr import Const, Expr, as_expr, maximum, round_up
from attndsl.graph import nodes
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import KEYS
from attndsl.lowering.emit.shorthands import whole
from attndsl.tile.buffers import Buffer, Region
from attndsl.tile.instructions import CompareWithScalar, Convert
from attndsl.tile.instructions.units import repeat_elements
from attndsl.tile.naming import camel
from attndsl.tile.statements import Seq, Statement, seq

HALF_REPEAT = repeat_elements("float16")
BITS_BLOCK = 256
"""Lanes whose bits fill a lane block."""


@dataclass(frozen=True, slots=True)
class ByteBuffers:
    """Bytes as they are loaded, those of a position in fp16, and one bit a key."""

    loaded: Buffer
    wide: Buffer
    keep: Buffer


def mask_buffers(
    context: Context, mask: nodes.Input, lanes: Expr, positions: Expr | None = None
) -> ByteBuffers:
    """For the mask of each of ``positions`` in ``lanes`` lanes, or for one mask of all rows."""
    name, slots = camel(mask.name), context.schedule.slots
    rows = as_expr(1 if positions is None else positions)
    bytes_of, half_of = ("the tile's keys", "") if positions is None else ("the positions", " of a position")
    bits = maximum(rows * lanes // 8, BITS_BLOCK // 8)
    return ByteBuffers(
        loaded=context.in_ub(f"{name}Bytes", "uint8", rows * lanes, f"{mask.name} of {bytes_of}", slots),
        wide=context.in_ub(f"{name}Half", "float16", lanes, f"{mask.name}{half_of} in fp16, to compare"),
        keep=context.in_ub(f"{name}Keep", "uint8", bits, "one bit a key: 1 keeps its score"),
    )


def bytes_of_positions(context: Context, mask: nodes.Input) -> ByteBuffers:
    """The buffers for the mask of the positions of a vector step."""
    pitch = context.tile_lanes(BITS_BLOCK)
    return mask_buffers(context, mask, pitch, context.rows.positions_of_step(context))


def to_bits(node: nodes.Replace, work: ByteBuffers, begin: Expr, bits: Region, keys: Expr = KEYS) -> Seq:
    """The bits of the mask of ``keys`` keys that was loaded to ``begin``."""
    return seq(widened(node, work, begin, keys), compared(node, work, bits, keys))


def widened(node: nodes.Replace, work: ByteBuffers, begin: Expr, keys: Expr = KEYS) -> Statement:
    """The bytes that were loaded to ``begin`` in fp16."""
    loaded = whole(work.loaded, begin, keys)
    return Convert(dst=whole(work.wide, 0, keys), src=loaded, mode="CAST_NONE", where=node.where)


def compared(node: nodes.Replace, work: ByteBuffers, bits: Region, keys: Expr = KEYS) -> Statement:
    """The bits of bytes in fp16: 1 keeps the score of a key."""
    half = whole(work.wide, 0, round_up(keys, HALF_REPEAT))
    kept = "NE" if isinstance(node.condition, nodes.Opposite) else "EQ"
    return CompareWithScalar(dst=bits, src=half, scalar=Const(0), mode=kept, where=node.where)
