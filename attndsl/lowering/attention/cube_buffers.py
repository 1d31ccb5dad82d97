"""The cube's buffers, and how a task is cut into matrix multiplies.

Multiplies are of ``padded(rows) x base_n x base_k``, of values with ``value_n`` columns; keys and values
stream through L1 in blocks of that size, every element once. The query rows stay in L0A for all keys of a
tile, if it holds them twice. Scores and weighted sums take the slots of one buffer in L0C in turn.

A task of more than 128 rows has several bands of rows. A key block in L0B, and the values of a tile in L1,
serve all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.base.facts import kept
from attndsl.expr import Expr, Named, maximum, minimum
from attndsl.lowering.attention.kept_keys import keeps_keys, other_channels
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.errors import DoesNotFit, NotLowered
from attndsl.lowering.match.schedule_options import BAND_ROWS
from attndsl.target import MemorySpace
from attndsl.tile.buffers import Buffer, item_bytes
from attndsl.tile.instructions.cube import fractal_depth


@dataclass(frozen=True, slots=True)
class CubeBuffers:
    """The cube core's buffers."""

    query: Buffer
    key: Buffer
    prob: Buffer
    value: Buffer
    left: Buffer
    right: Buffer
    product: Buffer


@kept
def cube_buffers(context: Context) -> CubeBuffers:
    """The buffers that the cube's stages share."""
    dtype, product, buffer = context.cube_dtype, context.product_dtype, context.buffer
    size, base_n, base_k, rows = context.padded_head_size, context.base_n, context.base_k, context.max_rows
    _check_depths(context)
    wide, columns = _part(size, base_k), _part(context.padded_value_size, context.value_n)
    constant = context.inventory.constant
    keys = constant("keyBlock", base_n * wide, "elements of a block of keys")
    in_l1_of_keys: Expr = base_n * size if loads_wide_keys(context) else keys
    key_slots = 2
    if keeps_keys(context):
        others = other_channels(context)
        in_l1_of_keys, key_slots = base_n * (base_k if others is None else _part(others, base_k)), 1
    values = constant("valueBlock", base_k * columns, "elements of a block of values")
    in_l1, in_l1_is = _values_in_l1(context, values, columns)
    _bound_right_operand(context, keys, values)
    bands = bands_of_task(context)
    band: Expr = rows if bands == 1 else context.rows_per_band
    few = _slots(context.schedule.value_slots, 2 if bands == 1 else 1)
    # those of the next item arrive while the last are in use, unless L1 and events are short
    queries = _slots(context.schedule.query_slots, 2 if context.continuous and not keeps_keys(context) else 1)
    query_rows = f"query rows of {'a half' if context.halves else 'the task'}, Nz"
    depth = maximum(base_k, size) if holds_query(context) else base_k
    l1, l0a, l0b, l0c = MemorySpace.L1, MemorySpace.L0A, MemorySpace.L0B, MemorySpace.L0C
    return CubeBuffers(
        query=buffer("queryL1", l1, dtype, rows * size, query_rows, queries, by_step=context.halves),
        key=buffer("keyL1", l1, dtype, in_l1_of_keys, "key block, Nz", key_slots),
        prob=buffer(
            "probL1",
            l1,
            dtype,
            band * (context.tile_keys if bands == 1 else keys_of_piece(context)),
            "probabilities of a key tile, Nz" if bands == 1 else "probabilities of a band of rows, Nz",
            2,
        ),
        value=buffer("valueL1", l1, dtype, in_l1, in_l1_is, few, by_step=context.halves),
        left=buffer("leftL0", l0a, dtype, band * depth, "left operand, Zz", 2),
        right=buffer("rightL0", l0b, dtype, maximum(keys, values), "right operand, Zn", 2),
        product=buffer(
            "productL0",
            l0c,
            product,
            band * maximum(base_n, columns),
            "scores of a key block or weighted sum of values, Nz",
            2,
        ),
    )


def _values_in_l1(context: Context, block: Named, columns: Named) -> tuple[Expr, str]:
    """Elements of values in L1, in one slot, and what they are."""
    if loads_wide_values(context):
        wide = _part(context.padded_value_size, context.value_width)
        return context.tile_keys * wide, "columns of the values of a key tile, Nz"
    if bands_of_task(context) == 1:
        return block, "value block, Nz"
    return context.tile_keys * columns, "values of a key tile, Nz"


def loads_wide_keys(context: Context) -> bool:
    """Whether one copy brings all channels of a block of keys to L1, of which several matrix multiplies take
    parts: a copy to Nz takes a number of cycles a row."""
    s = context.schedule
    if s.key_copies == "parts" or bands_of_task(context) > 1 or keeps_keys(context):
        return False
    return context.signature.padded_head_size > s.base_k


def loads_wide_values(context: Context) -> bool:
    """Whether one copy brings the value columns of several matrix multiplies to L1.

    A copy to Nz takes a number of cycles a row, however short its pieces.
    """
    s = context.schedule
    if isinstance(s.value_width, str) or bands_of_task(context) > 1 or keeps_keys(context):
        return False
    return min(s.value_width, context.signature.padded_value_size) > s.columns


def _slots(stated: int | str, otherwise: int) -> int:
    """The slots that a schedule states, where it does."""
    return otherwise if isinstance(stated, str) else stated


def _part(extent: Named, step: Named) -> Named:
    """What one matrix multiply takes of a head size; :func:`over_parts` requires that it stays so."""
    return extent if int(extent.value) <= int(step.value) else step


def bands_of_task(context: Context) -> int:
    """Bands of rows that a task has at most.

    Raises:
        DoesNotFit: parts of the head size would be added up in L0C for all bands at once.
    """
    s, memory = context.schedule, context.architecture.memory(MemorySpace.L0C)
    bands = -(-s.max_rows // BAND_ROWS)
    needed = 2 * 4 * s.max_rows * s.base_n
    if bands > 1 and context.signature.padded_head_size > s.base_k:
        text = f"the products of {s.max_rows} rows with {2 * 4 * s.base_n} bytes"
        raise DoesNotFit(memory.space.value, needed, memory.usable, text, "choose a smaller max_rows")
    require, rows = context.inventory.require, context.max_rows
    if bands == 1:
        require(rows <= BAND_ROWS, "a task is one band of rows")
    else:
        require(rows > context.rows_per_band, "a task has several bands of rows")
        require(context.padded_head_size <= context.base_k, "one matrix multiply takes a whole head")
    return bands


def holds_query(context: Context) -> bool:
    """Whether both slots of the left operand in L0A can hold all query rows of a task at once."""
    if bands_of_task(context) > 1:
        return False
    item, usable = item_bytes(context.cube_dtype), context.architecture.memory(MemorySpace.L0A).usable
    rows = context.schedule.max_rows * context.signature.padded_head_size * item
    if 2 * rows > usable:
        return False
    needed = 2 * context.max_rows * context.padded_head_size * item
    context.inventory.require(needed <= usable, "L0A holds the query rows of a task twice")
    return True


def _bound_right_operand(context: Context, keys: Named, values: Named) -> None:
    """L0B bounds what one matrix multiply takes: limits of options say so, not the end of a memory alone. A
    schedule that does not fit is left to who plans memory."""
    item, usable = item_bytes(context.cube_dtype), context.architecture.memory(MemorySpace.L0B).usable
    for block, what in ((keys, "keys"), (values, "values")):
        fits = 2 * block * item <= usable
        if fits.evaluate({}):
            context.inventory.require(fits, f"L0B holds two blocks of {what}")


def _check_depths(context: Context) -> None:
    """Parts of matrices begin and end with whole fractals.

    Raises:
        NotLowered: a head size or a size of one matrix multiply is no multiple of a fractal's columns.
    """
    s, signature = context.schedule, context.signature
    depth = int(fractal_depth(context.cube_dtype).value)
    sizes = {"heads of": signature.padded_head_size, "heads of values of": signature.padded_value_size}
    sizes |= {"base_n": s.base_n, "value_n": s.columns, "base_k": s.base_k}
    for name, size in sizes.items():
        if size % depth:
            what = f"{context.cube_dtype} with {name} {size} (multiples of {depth})"
            raise NotLowered(what, context.attention.where)


def keys_of_piece(context: Context) -> Named:
    """Keys of the probabilities that L1 holds of a band in one slot."""
    keys = minimum(context.tile_keys, 2 * context.base_k)
    return context.inventory.constant("probPiece", keys, "keys of the probabilities of a band in L1, a slot")
