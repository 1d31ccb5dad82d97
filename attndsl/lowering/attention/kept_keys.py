"""Keys that stay in L1 from the scores of a tile to its weighted sums, where values are channels of the keys.

The channels that are values come in parts of ``value_width``, each in a buffer that the stage of scores
hands over to the stage of values; there is a slot for each step of the ring. Channels that are no values are
loaded first: MTE2 brings them while the slots of the parts are still in use.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from attndsl.expr import Expr, Named, minimum
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import SLOT
from attndsl.lowering.match.choice_of_ways import Way
from attndsl.lowering.match.schedule_options import BAND_ROWS, LONG_ROW
from attndsl.lowering.match.values_of_keys import values_are_channels
from attndsl.target import MemorySpace
from attndsl.tile.buffers import Buffer
from attndsl.tile.statements import Handed, Seq

_OTHER_EVENTS = 3
"""Ids that MTE1 and MTE2 need for two slots of probabilities, and for channels that are no values."""


@dataclass(frozen=True, slots=True)
class KeptPart:
    """Channels of the keys of a tile that are values: ``width`` from ``first`` on, in ``buffer``."""

    buffer: Buffer
    first: Expr
    width: Named


def _width(context: Context) -> int:
    """Channels of a part."""
    s = context.schedule
    stated = s.columns if isinstance(s.value_width, str) else s.value_width
    return min(stated, context.signature.padded_value_size)


def _parts_are_uneven(context: Context) -> bool:
    size, width = context.signature.padded_value_size, _width(context)
    return size > width and size % width > 0


def _has_too_few_events(context: Context) -> bool:
    """Whether there is no event for each slot of each part, beside those of queries and other loads."""
    s = context.schedule
    parts = -(-context.signature.padded_value_size // _width(context))
    queries = 1 if isinstance(s.query_slots, str) else s.query_slots
    return parts * s.ring + queries + _OTHER_EVENTS > context.architecture.event_ids


VALUES_FROM_KEYS = Way[Context](
    option="value_source",
    value="keys",
    other="memory",
    obstacles=(
        (
            "with several attentions or a selection",
            lambda context: (
                len(context.computation.attentions) > 1 or context.computation.selection is not None
            ),
        ),
        (
            "with integers",
            lambda context: context.cube_dtype == "int8" or context.keys.quantization is not None,
        ),
        (
            "where values are no channels of the keys",
            lambda context: not values_are_channels(context.attention),
        ),
        ("in a pipeline that drains", lambda context: not context.continuous),
        (
            f"with more than {BAND_ROWS} rows a task",
            lambda context: context.schedule.several_bands,
        ),
        (
            "with more keys a tile than one matrix multiply takes",
            lambda context: context.schedule.tile_k > min(context.schedule.base_n, context.schedule.base_k),
        ),
        ("where value_width does not divide the channels of a value", _parts_are_uneven),
        ("with a part of the values and a slot for more than an event each", _has_too_few_events),
    ),
)


def keeps_keys(context: Context) -> bool:
    """Whether keys stay in L1 until they are values.

    Raises:
        IllegalScheduleValue: the schedule asks for that where it cannot be.
    """
    long_rows = context.signature.padded_value_size >= LONG_ROW
    return VALUES_FROM_KEYS.is_taken(context.schedule, context, by_itself=long_rows)


def kept_parts(context: Context) -> Iterator[KeptPart]:
    """The channels of keys that are values, part by part."""
    require, size = context.inventory.require, context.padded_value_size
    count = -(-int(size.value) // _width(context))
    width = size
    if count > 1:
        width = context.value_n if isinstance(context.schedule.value_width, str) else context.value_width
        require(size == width * count, f"values have {count} parts")
    require(
        context.tile_keys <= minimum(context.base_n, context.base_k), "one multiply takes the keys of a tile"
    )
    require(context.ring == context.prefetch + 1, "keys stay for the steps between scores and weighted sums")
    for number in range(count):
        buffer = context.inventory.buffer(
            f"keys{number}L1" if count > 1 else "keysL1",
            MemorySpace.L1,
            context.cube_dtype,
            context.tile_keys * width,
            "channels of the keys of a tile that are its values, Nz",
            context.schedule.ring,
            by_step=True,
        )
        yield KeptPart(buffer, width * number, width)


def other_channels(context: Context) -> Named | None:
    """How many channels of a key are no values; None where there are none."""
    padded, values = context.padded_head_size, context.padded_value_size
    if int(padded.value) == int(values.value):
        context.inventory.require(padded == values, "all channels of a key are values")
        return None
    meaning = "channels of a key that are no values, padded"
    return context.inventory.constant("otherChannels", padded - values, meaning)


def handed(part: KeptPart, body: Seq, *, begins: bool) -> Handed:
    """A stage's part of the lifetime of a part of the keys."""
    return Handed(buffers=(part.buffer,), slot=SLOT, begins=begins, body=body)
