"""The vector cores' stages: online softmax of a score tile, and the running weighted sum.

Online softmax (Milakov and Gimelshein, 2018; FlashAttention, 2022) in fp32, for each query row:

    newMax = max(rowMax, max(score));  rescale = exp(rowMax - newMax);  prob = exp(score - newMax)
    rowSum = rowSum * rescale + sum(prob);  accumulator = accumulator * rescale + prob . values
"""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.hardware import Core
from attndsl.schedule.context import (
    CHUNK,
    KEYS,
    LANES,
    LOWEST,
    R0,
    REPEAT_LANES,
    ROW_BEGIN,
    ROWS,
    SLOT,
    SPAN,
    TILE,
    Context,
    chunks,
    whole,
)
from attndsl.schedule.cube import tile_bounds
from attndsl.schedule.requantize import keep_steps, quantise, spread_steps, whole_partial, whole_scores
from attndsl.schedule.rings import out_ring, prob_ring, score_ring
from attndsl.schedule.score_step import ScoreStep, ScoreSteps
from attndsl.symbolic import Const, Expr, Symbol, as_expr, minimum, round_up
from attndsl.tile.buffers import Buffer, GlobalRegion, Region
from attndsl.tile.instructions import (
    Binary,
    BroadcastRows,
    Convert,
    Fill,
    FillLanes,
    LoadRows,
    RowReduce,
    StoreRows,
    Unary,
    WithScalar,
)
from attndsl.tile.instructions.base import block_elements
from attndsl.tile.statements import Alloc, For, If, Let, Note, Stage, Statement, seq

_C0, _D0 = Symbol("c0"), Symbol("d0")
_BLOCK = block_elements("float32")


@dataclass(frozen=True, slots=True)
class VectorBuffers:
    """The vector cores' buffers, modifiers' own aside."""

    score: Buffer
    prob: Buffer
    lanes: Buffer
    tile_stat: Buffer
    new_max: Buffer
    row_blocks: Buffer
    row_max: Buffer
    row_sum: Buffer
    rescale: Buffer
    accumulator: Buffer
    partial: Buffer

    @property
    def row_state(self) -> tuple[Buffer, ...]:
        """What lives as long as an item's rows."""
        return (self.row_max, self.row_sum, self.accumulator)


def vector_buffers(context: Context) -> VectorBuffers:
    """The buffers that the vector cores' stages share."""
    s, ub, bucket = context.schedule, context.in_ub, context.problem.value_bucket
    rows, tile = s.max_rows // 2, s.rows * s.tile_k
    return VectorBuffers(
        score=ub("score", "float32", tile, "scores of the rows, then exp(score - max)", s.slots),
        prob=ub("prob", context.dtype, tile, "probabilities in the io dtype", s.slots),
        lanes=ub("lanes", "float32", s.rows * LANES, "reduction over the tile, one repeat a row"),
        tile_stat=ub("tileStat", "float32", s.rows, "maximum or sum of each row of the tile"),
        new_max=ub("newMax", "float32", s.rows, "running maximum including the tile"),
        row_blocks=ub("rowBlocks", "float32", s.rows * _BLOCK, "a row statistic, one block a row"),
        row_max=ub("rowMax", "float32", rows, "running maximum of each row"),
        row_sum=ub("rowSum", "float32", rows, "running sum of each row"),
        rescale=ub("rescale", "float32", s.ring * rows, "exp(old max - new max) of the tiles in flight"),
        accumulator=ub("accumulator", "float32", rows * bucket, "running weighted sum of each row"),
        partial=ub("partial", "float32", s.rows * bucket, "weighted sum of one tile or split", s.slots),
    )


def start_rows(context: Context) -> Stage:
    """The state of rows that have seen no key: max lowest, sum and weighted sum zero."""
    where, b = context.where, vector_buffers(context)
    body = seq(
        Fill(dst=whole(b.row_max, 0, ROWS), value=LOWEST, where=where),
        Fill(dst=whole(b.row_sum, 0, ROWS), value=Const(0), where=where),
        Fill(dst=whole(b.accumulator, 0, ROWS * context.value_bucket), value=Const(0), where=where),
    )
    if context.rows.may_be_empty():
        body = seq(If(condition=ROWS > 0, then=body))
    doc = "Rows that have seen no key yet."
    return Stage(name=context.label("StartRows"), core=Core.AIV, doc=doc, body=body, where=where)


def softmax_tile(context: Context, steps: ScoreSteps) -> Stage:
    """Online softmax of one tile: scores from their ring slot, probabilities to theirs."""
    where, size, b = context.where, context.tile_keys, vector_buffers(context)
    rows_per_task = context.rows.rows_per_task(context)
    stat = SLOT * context.rows_per_vector + R0
    requantizes = context.attention.requantize is not None
    rounded = Convert(dst=whole(b.prob, 0, SPAN), src=whole(b.score, 0, SPAN), mode="CAST_RINT")

    def one_chunk(r0: Expr, chunk: Expr) -> list[Statement]:
        offset = (SLOT * rows_per_task + ROW_BEGIN + r0) * size
        body = seq(
            *scored(context, steps, score_ring(context).region(offset, chunk, KEYS, size)),
            *_update_maximum(context, stat),
            *(keep_steps(context, b, stat) if requantizes else ()),
            *exponentials(context, b.new_max),
            *_update_sum(context, stat),
            Alloc(
                buffers=(b.prob,),
                body=seq(
                    *(quantise(context, b, stat) if requantizes else (rounded,)),
                    StoreRows(
                        dst=prob_ring(context).region(offset, chunk, KEYS, size),
                        src=b.prob.region(0, chunk, KEYS, size),
                    ),
                ),
            ),
        )
        return [Alloc(buffers=loaded_buffers(context, steps), body=body)]

    over_rows = chunks(ROWS, context.rows_per_step, one_chunk, where)
    body = seq(*tile_bounds(context), with_tile_operands(context, steps, over_rows))
    doc = "Online softmax of one tile: scores in, probabilities out, row maxima and sums updated."
    return Stage(name=context.label("SoftmaxTile"), core=Core.AIV, doc=doc, body=body, where=where)


def loaded_buffers(context: Context, steps: ScoreSteps) -> tuple[Buffer, ...]:
    """What is loaded with each chunk of rows: one lifetime."""
    own = (whole_scores(context),) if context.dtype == "int8" else ()
    return (*own, vector_buffers(context).score, *steps.row_loads)


def scored(context: Context, steps: ScoreSteps, source: GlobalRegion) -> list[Statement]:
    """The step's scores in the unified buffer, modified; lanes behind the last key hold the lowest number."""
    size, b = context.tile_keys, vector_buffers(context)
    arrives, widen = b.score, []
    if context.dtype == "int8":
        arrives = whole_scores(context)
        widen = [Convert(dst=whole(b.score, 0, SPAN), src=whole(arrives, 0, SPAN), mode="CAST_RINT")]
    load = LoadRows(dst=arrives.region(0, CHUNK, KEYS, size), src=source, where=context.where)
    return [
        *context.rows.first_of_step(),
        load,
        *(statement for step in steps.steps for statement in step.load_rows(context)),
        Let(symbol=SPAN, value=(CHUNK - 1) * size + round_up(KEYS, REPEAT_LANES)),
        *widen,
        *(statement for step in steps.steps for statement in _applied(context, step)),
        Note(text="Lanes behind the last key take no part in the maximum, nor below in the sum."),
        _fill_tail(context, LOWEST),
    ]


def _applied(context: Context, step: ScoreStep) -> list[Statement]:
    return [Note(text=step.title), *step.apply(context)]


def with_tile_operands(context: Context, steps: ScoreSteps, rows: Statement) -> Statement:
    """What modifiers load and prepare once a tile, around the loop over rows."""
    loads_some = any(step.tile_loads for step in steps.steps)
    prepare = [statement for step in steps.steps for statement in step.prepare_tile(context)]
    if not loads_some:
        return seq(*prepare, rows)
    loads = [statement for step in steps.steps for statement in step.load_tile(context)]
    titles = [Note(text=step.title) for step in steps.steps if step.tile_loads]
    return seq(Alloc(buffers=steps.tile_loads, body=seq(*titles, *loads, *prepare)), rows)


def _fill_tail(context: Context, value: Expr) -> Statement:
    """``value`` in the lanes behind the last key, up to the end of their repeat."""
    score = vector_buffers(context).score
    last = score.region(KEYS // REPEAT_LANES * REPEAT_LANES, CHUNK, REPEAT_LANES, context.tile_keys)
    fill = FillLanes(dst=last, first_lane=KEYS % REPEAT_LANES, value=value)
    return If(condition=KEYS % REPEAT_LANES != 0, then=seq(fill))


def _fold_lanes(context: Context, op: str, start: Expr) -> list[Statement]:
    """``lanes[r, :] = op over the tile's repeats of score[r, :]``."""
    b = vector_buffers(context)
    lanes = b.lanes.region(0, CHUNK, REPEAT_LANES, REPEAT_LANES)
    column = b.score.region(_C0, CHUNK, REPEAT_LANES, context.tile_keys)
    fold = Binary(op=op, dst=lanes, first=lanes, second=column)
    return [
        Fill(dst=whole(b.lanes, 0, CHUNK * REPEAT_LANES), value=start),
        For(var=_C0, end=KEYS, step=REPEAT_LANES, body=seq(fold), runs=True),
    ]


def _update_maximum(context: Context, stat: Expr) -> list[Statement]:
    b = vector_buffers(context)
    tile_max, new_max = whole(b.tile_stat, 0, CHUNK), whole(b.new_max, 0, CHUNK)
    row_max, rescale = whole(b.row_max, R0, CHUNK), whole(b.rescale, stat, CHUNK)
    lanes = b.lanes.region(0, CHUNK, REPEAT_LANES, REPEAT_LANES)
    return [
        Note(text="newMax = max(rowMax, row maximum of the tile); rescale = exp(rowMax - newMax)"),
        *_fold_lanes(context, "Max", LOWEST),
        RowReduce(op="Max", dst=tile_max, src=lanes),
        Binary(op="Max", dst=new_max, first=row_max, second=tile_max),
        Binary(op="Sub", dst=rescale, first=row_max, second=new_max),
        Unary(op="Exp", dst=rescale, src=rescale),
        WithScalar(op="Adds", dst=row_max, src=new_max, scalar=Const(0)),
    ]


def exponentials(context: Context, maximum: Buffer, offset: Expr | int = 0) -> list[Statement]:
    """``score = exp(score - maximum)``, zero in the lanes behind the last key."""
    b = vector_buffers(context)
    column = b.score.region(_C0, CHUNK, REPEAT_LANES, context.tile_keys)
    subtract = Binary(op="Sub", dst=column, first=column, second=row_blocks(b.row_blocks), broadcast=True)
    span = whole(b.score, 0, SPAN)
    return [
        Note(text=f"score = exp(score - {maximum.name})"),
        broadcast(context, b.row_blocks, maximum, offset),
        For(var=_C0, end=KEYS, step=REPEAT_LANES, body=seq(subtract), disjoint=(b.score,), runs=True),
        Unary(op="Exp", dst=span, src=span),
        _fill_tail(context, Const(0)),
    ]


def _update_sum(context: Context, stat: Expr) -> list[Statement]:
    b = vector_buffers(context)
    row_sum, tile_sum = whole(b.row_sum, R0, CHUNK), whole(b.tile_stat, 0, CHUNK)
    lanes = b.lanes.region(0, CHUNK, REPEAT_LANES, REPEAT_LANES)
    return [
        Note(text="rowSum = rowSum * rescale + row sum of the tile"),
        *_fold_lanes(context, "Add", Const(0)),
        RowReduce(op="Sum", dst=tile_sum, src=lanes),
        Binary(op="Mul", dst=row_sum, first=row_sum, second=whole(b.rescale, stat, CHUNK)),
        Binary(op="Add", dst=row_sum, first=row_sum, second=tile_sum),
    ]


def update_tile(context: Context) -> Stage:
    """``accumulator = accumulator * rescale + partial`` of one tile."""
    where, bucket, b = context.where, context.value_bucket, vector_buffers(context)
    rows_per_task = context.rows.rows_per_task(context)

    def one_chunk(r0: Expr, chunk: Expr) -> list[Statement]:
        offset = (SLOT * rows_per_task + ROW_BEGIN + r0) * bucket
        accumulator = whole(b.accumulator, r0 * bucket, chunk * bucket)
        partial = whole(b.partial, 0, chunk * bucket)
        arrives, scale = b.partial, []
        if context.attention.requantize is not None:
            arrives = whole_partial(context)
            scale = [
                Convert(dst=partial, src=whole(arrives, 0, chunk * bucket), mode="CAST_RINT", where=where),
                Note(text="partial = partial * step"),
                spread_steps(context, b, SLOT * context.rows_per_vector + r0),
                scale_rows(context, "Mul", b.partial, 0, b.row_blocks),
            ]
        source = out_ring(context).region(offset, 1, chunk * bucket)
        body = seq(
            LoadRows(dst=whole(arrives, 0, chunk * bucket), src=source, where=where),
            *scale,
            Note(text="accumulator = accumulator * rescale + partial"),
            broadcast(context, b.row_blocks, b.rescale, SLOT * context.rows_per_vector + r0),
            scale_rows(context, "Mul", b.accumulator, r0 * bucket, b.row_blocks),
            Binary(op="Add", dst=accumulator, first=accumulator, second=partial, where=where),
        )
        one = Alloc(buffers=(b.partial,), body=body)
        return [one if arrives is b.partial else Alloc(buffers=(arrives,), body=seq(one))]

    body = seq(
        Let(symbol=SLOT, value=TILE % context.ring),
        chunks(ROWS, context.rows_per_step, one_chunk, where),
    )
    doc = "Adds one tile's weighted sum to the running one, rescaled to the new maximum."
    return Stage(name=context.label("UpdateTile"), core=Core.AIV, doc=doc, body=body, where=where)


def broadcast(context: Context, blocks: Buffer, source: Buffer, offset: Expr | int = 0) -> Statement:
    """A row statistic spread over one block a row; a whole step of rows is read."""
    rows = context.rows_per_step
    return BroadcastRows(dst=blocks.region(0, rows, _BLOCK, _BLOCK), src=whole(source, offset, rows))


def row_blocks(blocks: Buffer) -> Region:
    """The spread statistic as an operand of a broadcasting instruction."""
    return blocks.region(0, CHUNK, _BLOCK, _BLOCK)


def scale_rows(context: Context, op: str, target: Buffer, offset: Expr | int, blocks: Buffer) -> Statement:
    """``target[r, :] = target[r, :] op blocks[r]`` over the head size of values."""
    bucket = context.value_bucket

    def columns(d0: Expr, width: Expr) -> Statement:
        region = target.region(as_expr(offset) + d0, CHUNK, width, bucket)
        return Binary(op=op, dst=region, first=region, second=row_blocks(blocks), broadcast=True)

    if int(bucket.value) <= LANES:
        return columns(as_expr(0), bucket)
    divides = int(bucket.value) % LANES == 0
    width = REPEAT_LANES if divides else minimum(REPEAT_LANES, bucket - _D0)
    return For(
        var=_D0, end=bucket, step=REPEAT_LANES, body=seq(columns(_D0, width)), disjoint=(target,), runs=True
    )
