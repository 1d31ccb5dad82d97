"""The vector cores' stages of attention: online softmax of a score tile, and the running weighted sum.

Online softmax (Milakov and Gimelshein, 2018; FlashAttention, 2022) in fp32, for each query row:

    newMax = max(rowMax, max(score));  rescale = exp(rowMax - newMax);  prob = exp(score - newMax)
    rowSum = rowSum * rescale + sum(prob);  accumulator = accumulator * rescale + prob . values

Of sums in the workspace (gathered_sums.py) maxima grow by a limit at once, and the sums are rescaled there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from attndsl.expr import Const, Expr, ceil_div, maximum, minimum
from attndsl.graph import nodes
from attndsl.lowering.attention.few_keys import rows_of_tile
from attndsl.lowering.attention.gathered_sums import below_limit, note_growth
from attndsl.lowering.attention.kept_maxima import Step, by_kept_maxima, keeps_maxima
from attndsl.lowering.attention.key_range import skipped_keys, tile_bounds
from attndsl.lowering.attention.probabilities import store, to_cube
from attndsl.lowering.attention.requantize import int32_partial, keep_scales, quantize, spread_scales
from attndsl.lowering.attention.row_sums import RowSums, adds_rounded, row_sums
from attndsl.lowering.attention.score_matmul import scores_of
from attndsl.lowering.attention.second_run import alone, first_time
from attndsl.lowering.attention.step_scores import (
    exponentials,
    factors,
    follow_each_other,
    loaded_buffers,
    over_step,
    scored,
    seen_lanes,
    span_of_step,
    weights,
    with_tile_operands,
)
from attndsl.lowering.attention.tile_slots import ring_slot, score_slot, state_row, tile_row
from attndsl.lowering.attention.value_matmul import OnlyTile
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.context.modifiers import Modifiers
from attndsl.lowering.emit.loop_scalars import (
    KEYS,
    LOWEST,
    REPEAT_LANES,
    ROW_BEGIN,
    ROWS,
    SLOT,
    SPAN,
    SPLIT,
    STEP,
    STEP_ROWS,
    TILES,
)
from attndsl.lowering.emit.row_operations import (
    broadcast,
    keys_beside_start,
    reduce_blocks,
    reduce_tile,
    scale_rows,
)
from attndsl.lowering.emit.shorthands import in_steps, whole
from attndsl.lowering.emit.vector_buffers import vector_buffers
from attndsl.lowering.emit.workspace_rings import STATISTIC_LANES, out_ring
from attndsl.lowering.operands.row_blocks import number_blocks
from attndsl.target import Core
from attndsl.tile.buffers import Buffer, GlobalRegion
from attndsl.tile.instructions import (
    Binary,
    BlockReduce,
    Convert,
    Fill,
    LoadRows,
    Unary,
    WithScalar,
)
from attndsl.tile.statements import Alloc, If, Note, Seq, Stage, Statement, seq


def start_rows(context: Context) -> Stage:
    """The statistics of rows that have seen no key: maximum lowest, sum zero; or those of a sink alone."""
    b, first = vector_buffers(context), state_row(context, Const(0))
    body = seq(
        Fill(dst=whole(b.row_max, first, ROWS), value=LOWEST, where=context.where),
        Fill(dst=whole(b.row_sum, first, ROWS), value=Const(0), where=context.where),
    )
    softmax = context.attention.softmax
    if softmax is None:
        doc = "Divisors of rows that have seen no key: the first tile is added like all others."
        return _start(context, "StartRows", _of_sums(context), doc)
    sink, doc = softmax.sink, "Rows have seen no key: the lowest maximum, no sum."
    if sink is not None:
        seeded = seq(_seeded(context, sink))
        once = context.schedule.split_kv == 1
        body = seeded if once else seq(If(condition=SPLIT == 0, then=seeded, otherwise=body))
    return _start(context, "StartRows", body, doc)


def _of_sums(context: Context) -> Seq:
    """The statistics of rows whose weights are no softmax: sums over their parts, divided by 1.

    They merge as those of a softmax of the maximum 0 do, whose sum of 1 the first key split has.
    """
    b, first = vector_buffers(context), state_row(context, Const(0))
    one = Const(1.0) if context.schedule.split_kv == 1 else minimum(1, maximum(0, 1 - SPLIT))
    return seq(
        Fill(dst=whole(b.row_max, first, ROWS), value=Const(0), where=context.where),
        Fill(dst=whole(b.row_sum, first, ROWS), value=one, where=context.where),
    )


def _seeded(context: Context, sink: nodes.Node) -> Statement:
    """The statistics of rows that have seen their sink; of -inf, which is none, the sum is 0.

    Of key splits the first one has it.
    """
    b, where = vector_buffers(context), sink.where
    groups = ceil_div(STEP_ROWS, STATISTIC_LANES)

    def one_step() -> list[Statement]:
        row_max, row_sum = (whole(each, state_row(context), STEP_ROWS) for each in (b.row_max, b.row_sum))
        logits = whole(b.new_max, 0, STEP_ROWS)
        return [
            *context.rows.first_of_step(),
            Note(
                text=f"rowMax = max(sink, lowest); rowSum = exp(sink - rowMax)  ({context.spec_line(where)})"
            ),
            *number_blocks(context, sink, b.row_blocks, context.rows.each_run, "sink"),
            BlockReduce(
                op="Max",
                dst=b.new_max.region(0, groups, STATISTIC_LANES, STATISTIC_LANES),
                src=b.row_blocks.region(0, groups, REPEAT_LANES, REPEAT_LANES),
            ),
            WithScalar(op="Maxs", dst=row_max, src=logits, scalar=LOWEST, where=where),
            Binary(op="Sub", dst=row_sum, first=logits, second=row_max, where=where),
            Unary(op="Exp", dst=row_sum, src=row_sum, where=where),
        ]

    return in_steps(ROWS, context.rows_per_step, lambda r0, count: one_step(), where)


def start_sums(context: Context, *, always: bool = True) -> Stage:
    """The weighted sums of rows that have seen no value: zero; ``always``: of an item with one tile, too."""
    state = vector_buffers(context).accumulator
    fill = Fill(dst=whole(state, 0, ROWS * context.padded_value_size), value=Const(0), where=context.where)
    doc = "Weighted sums begin with 0: the first tile is added like all others."
    return _start(context, "StartSums", seq(fill), doc, always=always)


def _start(context: Context, name: str, body: Seq, doc: str, *, always: bool = True) -> Stage:
    # of a task with one row the second vector core has none
    has_rows = ROWS > 0
    return context.stage(
        name,
        Core.AIV,
        doc=doc,
        body=seq(If(condition=has_rows if always else has_rows & (TILES != 1), then=body)),
        where=context.where,
    )


def softmax_tile(
    context: Context,
    modifiers: Modifiers,
    before: Sequence[Statement] = (),
    also: Sequence[Statement] = (),
    again: Statement | None = None,
) -> Stage:
    """Online softmax of one tile: scores from their ring slot, probabilities to theirs.

    ``before``: what is done to a step's exponentials before the cube takes them. ``also``: what is made of
    them besides, once it has them. ``again``: what is done with the scores of a tile that comes the second
    time.
    """
    b, size, rows_per_task = vector_buffers(context), context.tile_keys, context.rows.rows_per_task(context)
    taken = _tile_parts(context, modifiers, bool(also))

    def step_of(parts: _TileParts, *, twice: bool = False) -> Step:
        """``twice``: another step of rows loads and stores alike, so that both call functions."""

        def one_step(r0: Expr, count: Expr) -> list[Statement]:
            first_row = score_slot(context) * rows_per_task + ROW_BEGIN + r0
            scores_at = first_row * size + skipped_keys(context)
            scores = parts.scores(scores_of(context).region(scores_at, count, KEYS, size))
            leaves = store(context, r0, count)
            stored = [
                *parts.summed,
                *before,
                Alloc(buffers=(b.prob,), body=seq(*parts.probabilities, leaves)),
            ]
            if twice:
                scores, stored = [_load_scores(context, scores)], [_store_probabilities(context, stored)]
            body = seq(span_of_step(context), *scores, *parts.exponentials, *stored, *also)
            return [over_step(context, modifiers, body)]

        return one_step

    if not before and not also and keeps_maxima(context):
        kept = _tile_parts(context, modifiers, bool(also), kept=True)
        tried, redone = step_of(kept, twice=True), step_of(taken, twice=True)
        over_rows = by_kept_maxima(context, tried, redone, kept.sums)
        work: Statement = with_tile_operands(context, modifiers, seq(*over_rows))
    else:
        rows = in_steps(ROWS, context.rows_of_step, step_of(taken), context.where)
        work = seq(with_tile_operands(context, modifiers, rows), *taken.sums.after_steps)
    if again is not None:
        work = If(condition=STEP < TILES, then=seq(work), otherwise=seq(again))
    return context.stage(
        "SoftmaxTile",
        Core.AIV,
        doc=taken.doc,
        body=seq(*tile_bounds(context, of_this_aiv=True), *rows_of_tile(context), work),
        where=context.where,
    )


@dataclass(frozen=True, kw_only=True)
class _TileParts:
    """How the scores of a tile become what the cube takes.

    Attributes:
        doc: what the stage does.
        scores: from the scores of a step of rows, in global memory, to fp32 in ``score``, modified.
        exponentials: from there to the exponentials of a softmax.
        summed: what the sums take of these, and what they are multiplied by.
        probabilities: from there to ``prob``, as the cube multiplies them.
        sums: the updates of the row sums.
    """

    doc: str
    scores: Callable[[GlobalRegion], Sequence[Statement]]
    exponentials: Sequence[Statement] = ()
    summed: Sequence[Statement] = ()
    probabilities: Sequence[Statement]
    sums: RowSums = field(default_factory=RowSums)


def _tile_parts(
    context: Context, modifiers: Modifiers, needs_sums: bool, *, kept: bool = False
) -> _TileParts:
    """``needs_sums``: a step computes with the sums of its rows; ``kept``: with the maxima that rows have."""
    if context.attention.softmax is None:
        return _TileParts(
            doc="Weights of one tile: scores in, functions of them out.",
            scores=lambda source: weights(context, modifiers, source),
            probabilities=_rounded(context),
        )
    b, quantizes = vector_buffers(context), context.attention.requantize is not None
    rounded = quantize(context, b, tile_row(context)) if quantizes else seen_lanes(context, _rounded(context))
    in_next_step = follow_each_other(context, modifiers) and not keeps_maxima(context)
    sums = row_sums(context, needs_sums, in_next_step=in_next_step)
    if kept:
        made = exponentials(context, b.row_max, state_row(context))
    else:
        made = [
            *_update_maximum(context),
            *(keep_scales(context, b, tile_row(context)) if quantizes else ()),
            *exponentials(context, b.new_max, beside=note_growth(context) if context.gathers_sums else ()),
            *_rescaling(context),
        ]
    return _TileParts(
        doc="Online softmax of one tile: scores in, probabilities out, row maxima and sums updated.",
        scores=lambda source: scored(context, modifiers, source, sums.of_step_before),
        exponentials=made,
        summed=(*sums.of_exponentials, *factors(context, modifiers)),
        probabilities=(*rounded, *sums.of_rounded),
        sums=sums,
    )


def _load_scores(context: Context, scores: Sequence[Statement]) -> Stage:
    doc = "Scores of a step of rows: scaled and masked, -inf behind the last key."
    return context.stage("LoadScores", Core.AIV, doc=doc, body=seq(*scores), where=context.where)


def _store_probabilities(context: Context, stored: Sequence[Statement]) -> Stage:
    doc = "Exponentials of a step of rows: folded for the sums of rows, and to the cube as its dtype."
    return context.stage("StoreProbabilities", Core.AIV, doc=doc, body=seq(*stored), where=context.where)


def _rounded(context: Context) -> list[Statement]:
    """The weights in the dtype of the cube; in ``score`` again, where the sums are those of these."""
    b = vector_buffers(context)
    rounded = to_cube(context, b.score)
    if adds_rounded(context):
        prob, score = whole(b.prob, 0, SPAN), whole(b.score, 0, SPAN)
        rounded.append(Convert(dst=score, src=prob, mode="CAST_NONE"))
    return rounded


def _update_maximum(context: Context) -> list[Statement]:
    """The maxima of a step's rows with those of the tile, in ``newMax``; ``rescale`` is what they grew by."""
    b = vector_buffers(context)
    tile_max, new_max = whole(b.tile_stat, 0, STEP_ROWS), whole(b.new_max, 0, STEP_ROWS)
    row_max, rescale = (
        whole(b.row_max, state_row(context), STEP_ROWS),
        whole(b.rescale, tile_row(context), STEP_ROWS),
    )
    joined = Binary(op="Max", dst=new_max, first=row_max, second=tile_max)
    only = alone(context)
    limited = below_limit(context) if context.gathers_sums else []
    reduced = [*reduce_tile(context, "Max", LOWEST), *limited, joined]
    if only is not None:
        # of few keys the lowest number, which the maximum of an only tile is joined with, is among them
        blocks = b.row_blocks.region(0, STEP_ROWS, STATISTIC_LANES, STATISTIC_LANES)
        at_once, of_tile = (
            reduce_blocks("Max", each, b.row_blocks, STEP_ROWS) for each in (b.new_max, b.tile_stat)
        )
        last = If(
            condition=only & (keys_beside_start(context) >= KEYS),
            then=seq(at_once),
            otherwise=seq(of_tile, joined),
        )
        reduced = [*reduce_tile(context, "Max", LOWEST, blocks), last]
    largest = "row maximum of the tile" + (" less what it may grow by" if limited else "")
    return [
        Note(text=f"newMax = max(rowMax, {largest}); rescale = rowMax - newMax"),
        *reduced,
        Binary(op="Sub", dst=rescale, first=row_max, second=new_max),
    ]


def _rescaling(context: Context) -> list[Statement]:
    """``rescale`` as a factor, and the new maxima in the state of rows: exponentials do not wait for them."""
    b = vector_buffers(context)
    rescale = whole(b.rescale, tile_row(context), STEP_ROWS)
    row_max, new_max = whole(b.row_max, state_row(context), STEP_ROWS), whole(b.new_max, 0, STEP_ROWS)
    return [
        Note(text="rescale = exp(rowMax - newMax)"),
        Unary(op="Exp", dst=rescale, src=rescale),
        WithScalar(op="Adds", dst=row_max, src=new_max, scalar=Const(0)),
    ]


def update_tile(context: Context, modifiers: Modifiers, only_tile: OnlyTile | None = None) -> Stage:
    """``accumulator = accumulator * rescale + partial`` of one tile; ``only_tile``: where the cube has stored
    the sums of an item's only one as the result.

    Items are short there, and sums come to the place of scores, which makes room for more rows a step.
    """
    context = context.for_results()
    where, padded_size, b = context.where, context.padded_value_size, vector_buffers(context)
    rows_per_task = context.rows.rows_per_task(context)
    place, lifetime = b.partial, tuple[Buffer, ...]((b.partial,))
    if only_tile is not None:
        place, lifetime = b.score, loaded_buffers(context, modifiers)

    def one_step(r0: Expr, count: Expr) -> list[Statement]:
        offset = (SLOT * rows_per_task + ROW_BEGIN + r0) * padded_size
        accumulator = whole(b.accumulator, r0 * padded_size, count * padded_size)
        partial = whole(place, 0, count * padded_size)
        arrives, scale = place, []
        if context.attention.requantize is not None:
            arrives = int32_partial(context)
            scale = [
                Convert(
                    dst=partial, src=whole(arrives, 0, count * padded_size), mode="CAST_RINT", where=where
                ),
                Note(text="partial = partial * step"),
                spread_scales(context, b, tile_row(context, r0)),
                scale_rows(context, "Mul", place, 0, b.row_blocks),
            ]
        source = out_ring(context).region(offset, 1, count * padded_size)
        rescaled = [
            Note(text="accumulator = accumulator * rescale + partial"),
            broadcast(context, b.row_blocks, b.rescale, tile_row(context, r0)),
            scale_rows(context, "Mul", b.accumulator, r0 * padded_size, b.row_blocks),
        ]
        body = seq(
            LoadRows(dst=whole(arrives, 0, count * padded_size), src=source, where=where),
            *scale,
            *(rescaled if context.attention.softmax is not None else ()),
            Binary(op="Add", dst=accumulator, first=accumulator, second=partial, where=where),
        )
        one = Alloc(buffers=lifetime, body=body)
        return [one if arrives is place else Alloc(buffers=(arrives,), body=seq(one))]

    added: Statement = in_steps(ROWS, context.rows_per_step, one_step, where)
    if only_tile is not None:
        finish = only_tile.finish
        if finish is None:
            added = If(condition=TILES != 1, then=seq(added), where=where)
        else:
            added = If(condition=TILES == 1, then=seq(finish), otherwise=seq(added), where=where)
    body = seq(*ring_slot(context), first_time(context, added))
    doc = "Adds one tile's weighted sum to the running one, rescaled to the new maximum."
    if only_tile is not None:
        doc = f"{doc} Of an item's only tile the cube has stored it."
    return context.stage(
        "UpdateTile",
        Core.AIV,
        doc=doc,
        body=body,
        where=where,
    )
