"""The phases of a kernel in their order, as a table.

A phase is a loop nest of the kernel: before, inside or after the item loop. A phase names no other phase, and
no synchronization but by the fields of a Stage that docs/passes/derive_flags.md lists. passes/flags derives
the flags between a phase that writes a tensor and one that reads it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum

from attndsl.lowering.attention.warm_slots import warm_slots, warms_slots
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.context.modifiers import Modifiers
from attndsl.lowering.keys.append_rows import append_rows, appended_sources
from attndsl.lowering.keys.cached_rows import AppendedRows
from attndsl.lowering.results.earlier_partials import merge_earlier, merges_earlier
from attndsl.lowering.results.merge_partials import merge_partials
from attndsl.lowering.results.only_tile import of_several_tiles
from attndsl.lowering.results.partials import may_split
from attndsl.lowering.results.row_statistics import leave_with_items, write_statistics
from attndsl.lowering.results.scaled_sums import scale_sums, sums_integers
from attndsl.lowering.results.write_rows import write_rows
from attndsl.lowering.results.zero_padding import has_padding, zero_padding
from attndsl.lowering.scores.key_biases import number_keys, numbers_keys
from attndsl.lowering.selection.block_selection import prepare_selection, selects_blocks
from attndsl.lowering.selection.find_key_ends import find_ends, tells_ends
from attndsl.tile.statements import Seq, Statement, seq


class Place(Enum):
    """The place of a phase, relative to the item loop."""

    BEFORE = "before all items"
    ITEM = "in every item of an attention, after its tiles"
    AFTER = "after all items"


@dataclass(frozen=True, kw_only=True)
class PhaseInput:
    """The input of a phase's lowering.

    Attributes:
        context: the attention whose items run; before and after the item loops the first attention.
        modifiers: the modifiers of its scores.
        contexts: all attentions of the computation.
    """

    context: Context
    modifiers: Modifiers
    contexts: tuple[Context, ...]


def _always(context: Context) -> bool:
    return True


@dataclass(frozen=True, kw_only=True)
class Phase:
    """One phase.

    Attributes:
        name: its task, in the imperative.
        applies: whether the computation needs the phase.
        make: its statements.
    """

    name: str
    place: Place
    make: Callable[[PhaseInput], Statement]
    applies: Callable[[Context], bool] = _always


def _scale_queries(given: PhaseInput) -> Statement:
    scaled = given.context.rows.scaled
    assert scaled is not None
    return scaled.stage(given.context)


def _appended(context: Context) -> tuple[AppendedRows, ...]:
    """The caches that the call appends to."""
    return appended_sources(context.keys, context.values)


PHASES: tuple[Phase, ...] = (
    Phase(
        name="scale queries and round them",
        place=Place.BEFORE,
        applies=lambda context: context.rows.scaled is not None,
        make=_scale_queries,
    ),
    Phase(
        name="number the lanes of the selection",
        place=Place.BEFORE,
        applies=selects_blocks,
        make=lambda given: prepare_selection(given.context),
    ),
    Phase(
        name="number the keys of a tile",
        place=Place.BEFORE,
        applies=numbers_keys,
        make=lambda given: number_keys(given.context),
    ),
    Phase(
        name="find where the keys end that a mask in bytes shows",
        place=Place.BEFORE,
        applies=tells_ends,
        make=lambda given: find_ends(given.context, given.modifiers),
    ),
    Phase(
        name="store to the slots of scores before the cube does",
        place=Place.BEFORE,
        applies=warms_slots,
        make=lambda given: warm_slots(given.context),
    ),
    Phase(
        name="dequantize the weighted sums",
        place=Place.ITEM,
        applies=sums_integers,
        make=lambda given: scale_sums(given.context),
    ),
    Phase(
        name="merge earlier partials",
        place=Place.ITEM,
        applies=merges_earlier,
        make=lambda given: merge_earlier(given.context),
    ),
    Phase(
        name="write row statistics",
        place=Place.ITEM,
        applies=leave_with_items,
        make=lambda given: write_statistics(given.context, of_several_tiles(given.context)),
    ),
    Phase(
        name="write rows, or leave them as partials",
        place=Place.ITEM,
        make=lambda given: write_rows(given.context),
    ),
    Phase(
        name="merge partials and write rows",
        place=Place.AFTER,
        applies=may_split,
        make=lambda given: merge_partials(given.contexts),
    ),
    Phase(
        name="write zeros for padded positions",
        place=Place.AFTER,
        applies=has_padding,
        make=lambda given: zero_padding(given.context),
    ),
    Phase(
        name="append rows to caches",
        place=Place.AFTER,
        applies=lambda context: bool(_appended(context)),
        make=lambda given: append_rows(given.context, _appended(given.context)),
    ),
)


def phases(place: Place, given: PhaseInput) -> Seq:
    """The phases of a place, in the order of the table."""
    found = (phase for phase in PHASES if phase.place is place)
    if place is not Place.BEFORE:
        of_results = tuple(context.for_results() for context in given.contexts)
        given = replace(given, context=given.context.for_results(), contexts=of_results)
    return seq(*(phase.make(given) for phase in found if phase.applies(given.context)))
