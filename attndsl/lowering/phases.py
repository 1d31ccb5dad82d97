"""The phases of a kernel: what it does, in this order, as a table.

A phase is work of a shape of its own. Some is done once, on the whole call, before all items or after
them; the rest in every item. A phase says nothing of the others and nothing of synchronisation: cores wait
for each other where one phase reads what another writes (passes/flags).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from attndsl.lowering.attention.attention_loop import attention_loop
from attndsl.lowering.attention.online_softmax import start_rows
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.context.modifiers import Modifiers
from attndsl.lowering.keys.append_rows import append_rows, appended_sources
from attndsl.lowering.keys.cached_rows import AppendedRows
from attndsl.lowering.results.merge_partials import merge_partials
from attndsl.lowering.results.row_statistics import has_statistics, write_statistics
from attndsl.lowering.results.scaled_sums import scale_sums, sums_integers
from attndsl.lowering.results.write_rows import may_split, write_rows
from attndsl.lowering.results.zero_padding import has_padding, zero_padding
from attndsl.lowering.selection.block_selection import prepare_selection, select_blocks, selects_blocks
from attndsl.tile.statements import Seq, Statement, seq


class Place(Enum):
    """Where a phase stands."""

    BEFORE = "before all items"
    ITEM = "in every item of an attention"
    AFTER = "after all items"


@dataclass(frozen=True, kw_only=True)
class Work:
    """What phases are made of.

    Attributes:
        context: the attention whose items run; before and after all items the first.
        modifiers: what is done to its scores.
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
        name: what it does.
        asked: whether the computation asks for it.
        make: its statements.
    """

    name: str
    place: Place
    make: Callable[[Work], Statement]
    asked: Callable[[Context], bool] = _always


def _scale_queries(work: Work) -> Statement:
    scaled = work.context.rows.scaled
    assert scaled is not None
    return scaled.stage(work.context)


def _appended(context: Context) -> tuple[AppendedRows, ...]:
    """The caches that the call appends to."""
    return appended_sources(context.keys, context.values)


PHASES: tuple[Phase, ...] = (
    Phase(
        name="scale queries and round them",
        place=Place.BEFORE,
        asked=lambda context: context.rows.scaled is not None,
        make=_scale_queries,
    ),
    Phase(
        name="number the lanes of the selection",
        place=Place.BEFORE,
        asked=selects_blocks,
        make=lambda work: prepare_selection(work.context),
    ),
    Phase(
        name="start rows",
        place=Place.ITEM,
        make=lambda work: start_rows(work.context),
    ),
    Phase(
        name="attend to the keys, tile by tile",
        place=Place.ITEM,
        make=lambda work: attention_loop(work.context, work.modifiers),
    ),
    Phase(
        name="dequantize the weighted sums",
        place=Place.ITEM,
        asked=sums_integers,
        make=lambda work: scale_sums(work.context),
    ),
    Phase(
        name="write row statistics",
        place=Place.ITEM,
        asked=has_statistics,
        make=lambda work: write_statistics(work.context),
    ),
    Phase(
        name="write rows, or leave them as partials",
        place=Place.ITEM,
        make=lambda work: write_rows(work.context),
    ),
    Phase(
        name="select blocks of keys, in a second run over the tiles",
        place=Place.ITEM,
        asked=selects_blocks,
        make=lambda work: select_blocks(work.context, work.modifiers),
    ),
    Phase(
        name="merge partials and write rows",
        place=Place.AFTER,
        asked=may_split,
        make=lambda work: merge_partials(work.contexts),
    ),
    Phase(
        name="write zeros for padded positions",
        place=Place.AFTER,
        asked=has_padding,
        make=lambda work: zero_padding(work.context),
    ),
    Phase(
        name="append rows to caches",
        place=Place.AFTER,
        asked=lambda context: bool(_appended(context)),
        make=lambda work: append_rows(work.context, _appended(work.context)),
    ),
)


def phases(place: Place, work: Work) -> Seq:
    """The phases that stand in a place, in the order of the table."""
    found = (phase for phase in PHASES if phase.place is place)
    return seq(*(phase.make(work) for phase in found if phase.asked(work.context)))
