"""Steps of twice as many rows where an item's only tile has few keys: half a tile, or less.

A step waits as often for few keys as for many. Where the scores of a row take half of the lanes of a tile, a
slot of scores has room for twice as many rows, so that an item takes half as many steps. How far the scores
of two rows are apart is a scalar of the tile then, one of two values.
"""

from __future__ import annotations

from dataclasses import replace

from attndsl.expr import select
from attndsl.graph import nodes
from attndsl.lowering.attention.second_run import alone, takes_one_tile_at_once
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import KEYS, ROWS_OF_STEP
from attndsl.lowering.masks.byte_axes import OF_ALL_ROWS, OF_POSITIONS
from attndsl.lowering.masks.told_ends import bytes_mask
from attndsl.lowering.match.choice_of_ways import Way
from attndsl.lowering.match.operation_chains import has_scores
from attndsl.tile.statements import Let, Statement

_BANKS = 128
"""Lanes of a row of banks, at which the scores of rows begin."""


def _has_own_lanes(context: Context) -> bool:
    """Whether something is made of scores that has lanes of its own, or knows where rows begin."""
    return not all(map(_goes_with_any_rows, context.attention.modifiers))


def _goes_with_any_rows(node: nodes.Node) -> bool:
    if isinstance(node, nodes.Replace):
        mask = bytes_mask(node)
        return mask is not None and mask.tensor.axes in (*OF_ALL_ROWS, *OF_POSITIONS)
    others = (
        [each for each in node.inputs if not has_scores(each)] if isinstance(node, nodes.Elementwise) else []
    )
    return len(others) == 1 and isinstance(others[0], nodes.Scalar) and not others[0].axes


def _divides(context: Context) -> bool:
    s = context.schedule
    return s.rows_per_core(context.architecture) % (2 * s.rows) == 0 and s.tile_k % (2 * _BANKS) == 0


ROWS_OF_FEW_KEYS = Way[Context](
    option="few_keys",
    value="double",
    other="same",
    obstacles=(
        ("unless blocks of keys are selected", lambda context: alone(context) is None),
        (
            "with quantized rows or probabilities",
            lambda context: (
                context.cube_dtype != context.dtype
                or context.attention.requantize is not None
                or not takes_one_tile_at_once(context)
            ),
        ),
        ("with several attentions", lambda context: len(context.computation.attentions) > 1),
        ("with more on scores than numbers of a call and masks in bytes of positions", _has_own_lanes),
        ("where results have steps as scores have", lambda context: context.schedule.result_rows == "auto"),
        (
            f"unless 2 * rows divides the rows of a vector core, and {2 * _BANKS} the keys of a tile",
            lambda context: not _divides(context),
        ),
    ),
)


def with_rows_of_few_keys(contexts: tuple[Context, ...]) -> tuple[Context, ...]:
    """The contexts of a computation, with steps of twice as many rows where that can be.

    Raises:
        IllegalScheduleValue: the schedule asks for that where it cannot be.
    """
    return tuple(
        replace(each, doubles_rows=ROWS_OF_FEW_KEYS.is_taken(each.schedule, each, by_itself=True))
        for each in contexts
    )


def rows_of_tile(context: Context) -> list[Statement]:
    """How many rows a step of the running tile has, and how far apart their scores are."""
    only = alone(context)
    if not context.doubles_rows or only is None:
        return []
    rows, tile, require = context.rows_per_step, context.tile_keys, context.inventory.require
    require((tile % (2 * _BANKS)) == 0, "halves of tiles are whole rows of banks")
    require((context.rows_per_vector % (rows * 2)) == 0, "a vector core has whole steps of twice the rows")
    few, lanes = only & (tile // 2 >= KEYS), context.row_lanes
    return [
        Let(symbol=ROWS_OF_STEP, value=select(few, rows * 2, rows)),
        Let(symbol=lanes, value=select(few, *reversed(lanes.values))),
    ]


def rows_of_all_keys(context: Context) -> list[Statement]:
    """The same where a step has the keys of a whole tile, whatever they are."""
    lanes = context.row_lanes
    return [Let(symbol=lanes, value=lanes.values[0])] if context.doubles_rows else []
