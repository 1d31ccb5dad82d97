"""Scores that pass through the workspace in fp16, half the bytes that prompts are limited by.

The cube rounds a product of queries and keys when it leaves L0C, the vector cores widen it to fp32 first, and
everything that is done to scores is done as ever. A score of more than 65504, before its scale, becomes
infinite. What this costs in exactness: docs/writing/schedule.md.
"""

from __future__ import annotations

from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.match.choice_of_ways import Way
from attndsl.tile.buffers import Buffer


def _has_quantized_rows(context: Context) -> bool:
    """Whether keys are integers, whose products get a shift of their own, or values."""
    return any(each.quantization is not None for each in (context.keys, context.values))


NARROW_SCORES = Way[Context](
    option="score_dtype",
    value="float16",
    other="float32",
    has_auto=False,
    obstacles=(
        ("with integer scores", lambda context: context.product_dtype != "float32"),
        ("with quantized keys or values", _has_quantized_rows),
        ("unless weights are a softmax", lambda context: context.attention.softmax is None),
        # another integer, or another block, may come of what rounding moves
        ("with probabilities in int8", lambda context: context.attention.requantize is not None),
        ("where blocks of keys are selected", lambda context: context.computation.selection is not None),
    ),
)


def narrows_scores(context: Context) -> bool:
    """Whether scores pass through the workspace in fp16.

    Raises:
        IllegalScheduleValue: the schedule asks for that where it cannot be.
    """
    return NARROW_SCORES.is_taken(context.schedule, context, by_itself=False)


def narrow_scores(context: Context) -> Buffer:
    """Scores as the cube stores them."""
    elements = context.rows_per_step * context.tile_keys
    return context.in_ub("narrowScore", "float16", elements, "scores of the rows, as they arrive")
