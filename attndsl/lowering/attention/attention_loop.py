"""The skewed loop over an item's key tiles: scores, online softmax, weighted sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from attndsl.expr import Expr
from attndsl.lowering.attention.continuous import FIRST_STEP, LAST_STEP, has_keys, items_begun, steps_begun
from attndsl.lowering.attention.matmul_stages import (
    await_probabilities,
    score_tile,
    scores_of,
    weighted_tile,
)
from attndsl.lowering.attention.online_softmax import softmax_tile, start_rows, start_sums, update_tile
from attndsl.lowering.attention.widen_rows import widen_rows
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.context.modifiers import Modifiers
from attndsl.lowering.emit.loop_scalars import ITEM_SLOT, SLOT, STEPS, TILE, TILES
from attndsl.tile.statements import Pipelined, Seq, Stage, Statement, Steps, as_stage, seq

_Step = tuple[Stage | None, int, Expr]
"""A stage, its lag, and when it has work in a step of a continuous pipeline."""


@dataclass(frozen=True, kw_only=True)
class FurtherUse:
    """What takes the exponentials of a tile besides the cube.

    Attributes:
        begin: its statements before the tiles of an item.
        of_rows: those on the exponentials of a step's rows.
        of_tile: its stage after all rows of a tile, while the cube adds the values.
    """

    begin: Sequence[Statement] = ()
    of_rows: Sequence[Statement] = ()
    of_tile: Stage | None = None


def attention_loop(
    context: Context,
    modifiers: Modifiers,
    finish: Sequence[Statement],
    further: FurtherUse | None = None,
) -> Seq:
    """The stages of an item. The first runs ``prefetch_distance`` tiles ahead of the weighted sums.

    Quantized rows are widened ``widen_lead`` tiles ahead of the scores, so that the cube does not wait for
    them. ``finish``: its complete rows, stages of a continuous pipeline. ``further``: of a pipeline that
    drains.
    """
    also = further or FurtherUse()
    assert further is None or not context.continuous
    lag = context.schedule.prefetch_distance
    lead = context.schedule.widen_lead if context.widens else 0
    keyed = has_keys(context)
    start, sums = start_rows(context), start_sums(context)
    steps: list[_Step] = [
        (widen_rows(context, context.keys), 0, keyed),
        (score_tile(context), lead, keyed),
        (softmax_tile(context, modifiers, also.of_rows), lead, keyed),
        (also.of_tile, lead, keyed),
        (widen_rows(context, context.values), lead, keyed),
        (weighted_tile(context), lag, keyed),
        (update_tile(context), lag, keyed),
    ]
    if not context.continuous:
        return seq(*also.begin, start, sums, _loop(context, steps), *finish)
    begin: list[_Step] = [(start, 0, FIRST_STEP)]
    if context.waits_first:
        begin.append((await_probabilities(context), lag, keyed))
    end: list[_Step] = [(as_stage(item), lag, LAST_STEP) for item in finish]
    return seq(_loop(context, [*begin, *steps[:-1], (sums, lag, FIRST_STEP), steps[-1], *end]))


def _loop(context: Context, steps: Sequence[_Step]) -> Pipelined:
    present = [(stage, lag, when) for stage, lag, when in steps if stage is not None]
    stages = tuple(stage for stage, _, _ in present)
    lags = tuple(lag for _, lag, _ in present)
    return Pipelined(
        var=TILE,
        extent=STEPS if context.continuous else TILES,
        stages=stages,
        lags=lags,
        prefetch=context.prefetch,
        ring=context.ring,
        lead=context.widen_lead,
        steps=_counted_steps(context) if context.continuous else None,
        when=tuple(when for _, _, when in present) if context.continuous else (),
        shorter=((scores_of(context), int(context.prefetch.value)),) if context.waits_first else (),
        where=context.where,
    )


def _counted_steps(context: Context) -> Steps:
    return Steps(
        counter=steps_begun(context),
        slot=SLOT,
        runs=items_begun(context),
        run=ITEM_SLOT,
        depth=context.ring,
    )
