"""The vector cores' stage in front of the cube's: quantized rows of a tile, widened for the cube to load."""

from __future__ import annotations

from attndsl.lowering.attention.key_range import tile_bounds
from attndsl.lowering.attention.scale_absorption import absorb_scale
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.keys.dequantize import Dequantized
from attndsl.lowering.keys.key_source import KeySource, source_of_kind
from attndsl.target import Core
from attndsl.tile.statements import Stage, seq


def widen_rows(context: Context, rows: KeySource) -> Stage | None:
    """The stage for a tile of keys or values; None where they are not quantized."""
    source = source_of_kind(rows, Dequantized)
    if source is None:
        return None
    widened = source.widen(context)
    body = seq(*tile_bounds(context), widened)
    doc = f"One tile of {source.name} from int8 to {context.cube_dtype}, for the cube to load."
    if source.role == "key":
        body = seq(absorb_scale(context, source.quantization), body)
        doc += " Before the first, the query rows take the scale of its channels."
    return context.stage(
        f"Widen{'Keys' if source.role == 'key' else 'Values'}",
        Core.AIV,
        doc=doc,
        body=body,
        where=source.where,
    )
