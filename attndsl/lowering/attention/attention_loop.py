"""The skewed loop over an item's key tiles: scores, online softmax, weighted sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from attndsl.expr import Expr
from attndsl.lowering.attention.gathered_sums import rescale_sums
from attndsl.lowering.attention.halves import of_half
from attndsl.lowering.attention.item_steps import first_step, has_keys, key_steps, last_step, turn_length
from attndsl.lowering.attention.item_turns import has_item
from attndsl.lowering.attention.online_softmax import softmax_tile, start_rows, start_sums, update_tile
from attndsl.lowering.attention.score_matmul import await_probabilities, load_query, score_tile, scores_of
from attndsl.lowering.attention.second_run import step_of_item
from attndsl.lowering.attention.tile_slots import items_begun, steps_begun
from attndsl.lowering.attention.value_matmul import OnlyTile, weighted_tile
from attndsl.lowering.attention.warm_slots import await_slot, warms_slots
from attndsl.lowering.attention.widen_rows import widen_rows
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.context.modifiers import Modifiers
from attndsl.lowering.emit.loop_scalars import ITEM_SLOT, SLOT, STEPS
from attndsl.lowering.emit.workspace_rings import out_ring
from attndsl.tile.statements import Pipelined, Seq, Stage, Statement, Steps, as_stage, seq

_Step = tuple[Stage | None, int, Expr]
"""A stage, its lag, and when it has work in a step of a continuous pipeline."""


@dataclass(frozen=True, kw_only=True)
class FurtherUse:
    """What takes the exponentials of a tile besides the cube.

    Attributes:
        scalars: what is known of an item before its tiles.
        begin: its stage before them.
        of_weights: statements that leave other numbers in the place of a step's exponentials, which the cube
            then takes.
        of_rows: statements on the exponentials of a step's rows, or on what ``of_weights`` makes of them,
            once the cube has them.
        again: what is done with the scores of a tile that comes the second time.
        of_tile: its stage after all rows of a tile, while the cube adds the values.
        finish: its stages after the tiles, while the cube is at those before.
    """

    begin: Stage
    of_tile: Stage
    again: Statement
    scalars: Sequence[Statement] = ()
    of_weights: Sequence[Statement] = ()
    of_rows: Sequence[Statement] = ()
    finish: Sequence[Stage] = ()


def attention_loop(
    context: Context,
    modifiers: Modifiers,
    finish: Sequence[Statement],
    further: FurtherUse | None = None,
    only_tile: OnlyTile | None = None,
) -> Seq:
    """The stages of an item. The first runs ``prefetch_distance`` tiles ahead of the weighted sums.

    Quantized rows are widened ``widen_lead`` tiles ahead of the scores, so that the cube does not wait for
    them. ``finish``: its complete rows, stages of a continuous pipeline. ``only_tile``: where an item's only
    tile is finished in another way.
    """
    lag = context.schedule.prefetch_distance
    lead = context.schedule.widen_lead if context.widens else 0
    keyed = has_keys(context)
    start, gathers = start_rows(context), context.gathers_sums
    sums = None if gathers else start_sums(context, always=only_tile is None)
    steps: list[_Step] = [
        (widen_rows(context, context.keys), 0, keyed),
        (score_tile(context), lead, keyed),
        (_softmax(context, modifiers, further), lead, keyed),
        (further.of_tile if further else None, lead, keyed),
        (widen_rows(context, context.values), lead, keyed),
        (weighted_tile(context, only_tile), lag, keyed),
        (rescale_sums(context) if gathers else update_tile(context, modifiers, only_tile), lag, keyed),
    ]
    scalars, first = (further.scalars, further.begin) if further else ((), None)
    last = further.finish if further else ()
    if not context.continuous:
        return seq(*scalars, first, start, sums, _loop(context, steps), *last, *finish)
    begin: list[_Step] = [(first, 0, first_step(context)), (start, 0, first_step(context))]
    at_once: list[_Step] = [(each, lead, last_step(context) & has_item(context)) for each in last]
    if context.halves:
        begin.append((load_query(context), 0, keyed))
    if warms_slots(context):
        slot, of_first_steps = await_slot(context)
        begin.append((slot, 0, of_first_steps))
    if context.waits_first:
        begin.append((await_probabilities(context), lag, keyed))
    end: list[_Step] = [(as_stage(item), lag, last_step(context)) for item in finish]
    *before, weighted, update = steps
    lagging: list[_Step] = [weighted, (sums, lag, first_step(context)), update, *end]
    return seq(*scalars, _loop(context, [*begin, *before, *at_once, *lagging]))


def _softmax(context: Context, modifiers: Modifiers, further: FurtherUse | None) -> Stage:
    if further is None:
        return softmax_tile(context, modifiers)
    return softmax_tile(context, modifiers, further.of_weights, further.of_rows, further.again)


def _loop(context: Context, steps: Sequence[_Step]) -> Pipelined:
    present = [(stage, lag, when) for stage, lag, when in steps if stage is not None]
    stages = tuple(of_half(context, stage) for stage, _, _ in present)
    lags = tuple(lag for _, lag, _ in present)
    return Pipelined(
        var=step_of_item(context),
        extent=STEPS if context.continuous else key_steps(context),
        stages=stages,
        lags=lags,
        prefetch=context.prefetch,
        lead=context.widen_lead,
        steps=_counted_steps(context) if context.continuous else None,
        when=tuple(when for _, _, when in present) if context.continuous else (),
        shorter=((scores_of(context), int(context.prefetch.value)),) if context.waits_first else (),
        sums=(out_ring(context),) if context.gathers_sums else (),
        turn=turn_length(context),
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
