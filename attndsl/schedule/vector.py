"""The vector cores' stages: online softmax of a score tile, and the running weighted sum.

Online softmax (Milakov and Gimelshein, 2018; FlashAttention, 2022) in fp32, for each query row:

    newMax = max(rowMax, max(score));  rescale = exp(rowMax - newMax);  prob = exp(score - newMax)
    rowSum = rowSum * rescale + sum(prob);  accumulator = accumulator * rescale + prob . values

The two vector cores of a block share the rows of the group, the first half to the first.
"""

from __future__ import annotations

from attndsl.hardware import Core, MemorySpace
from attndsl.schedule.choices import Schedule
from attndsl.schedule.context import (
    CHUNK,
    KEYS,
    LANES,
    LOWEST,
    R0,
    ROW_BEGIN,
    ROWS,
    SLOT,
    SMALLEST,
    SPAN,
    TILE,
    Context,
    chunks,
    local,
)
from attndsl.schedule.cube import tile_bounds
from attndsl.schedule.score_rules import ScoreStep
from attndsl.symbolic import Const, Expr, Symbol, as_expr, ceil_div, minimum, round_up
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
from attndsl.tile.program import SUB_BLOCK
from attndsl.tile.statements import Alloc, For, If, Let, Note, Seq, Stage, Statement, seq

_C0, _D0 = Symbol("c0"), Symbol("d0")


def vector_buffers(s: Schedule, dtype: str, bucket: int) -> dict[str, Buffer]:
    """The vector core's buffers of a schedule, modifiers' own aside."""
    ub, rows = MemorySpace.UB, s.max_rows // 2
    made = (
        local(
            "score", ub, "float32", s.rows * s.tile_k, "scores of the rows, then exp(score - max)", s.slots
        ),
        local("prob", ub, dtype, s.rows * s.tile_k, "probabilities in the io dtype", s.slots),
        local("lanes", ub, "float32", s.rows * LANES, "reduction over the tile, one repeat a row"),
        local("tileStat", ub, "float32", s.rows, "maximum or sum of each row of the tile"),
        local("newMax", ub, "float32", s.rows, "running maximum including the tile"),
        local("rowBlocks", ub, "float32", s.rows * 8, "a row statistic, one block a row"),
        local("otherBlocks", ub, "float32", s.rows * 8, "a second row statistic, one block a row"),
        local("rowMax", ub, "float32", rows, "running maximum of each row"),
        local("rowSum", ub, "float32", rows, "running sum of each row"),
        local("rescale", ub, "float32", s.ring * rows, "exp(old max - new max) of the tiles in flight"),
        local("accumulator", ub, "float32", rows * bucket, "running weighted sum of each row"),
        local("partial", ub, "float32", s.rows * bucket, "weighted sum of one tile or split", s.slots),
        local("partMax", ub, "float32", s.rows, "row maximum of one split", s.slots),
        local("partSum", ub, "float32", s.rows, "row sum of one split", s.slots),
        local("result", ub, dtype, s.rows * bucket, "finished rows in the io dtype", s.slots),
    )
    return {buffer.name: buffer for buffer in made}


def row_share(context: Context) -> list[Statement]:
    """The rows of the group that this vector core works on."""
    group = context.scalar("group")
    half = Symbol("rowsPerCore")
    return [
        Let(symbol=half, value=ceil_div(group, 2)),
        Let(symbol=ROW_BEGIN, value=minimum(SUB_BLOCK * half, group)),
        Let(symbol=ROWS, value=minimum(half, group - ROW_BEGIN)),
    ]


def start_rows(context: Context) -> Stage:
    """The state of rows that have seen no key: max lowest, sum and weighted sum zero."""
    where = context.attention.output.where
    body = seq(
        Fill(dst=context.ub("rowMax", 0, 1, ROWS), value=LOWEST, where=where),
        Fill(dst=context.ub("rowSum", 0, 1, ROWS), value=Const(0), where=where),
        Fill(
            dst=context.ub("accumulator", 0, 1, ROWS * context.constant("headDimBucket")),
            value=Const(0),
            where=where,
        ),
    )
    doc = "Rows that have seen no key yet."
    return Stage(name="StartRows", core=Core.AIV, doc=doc, body=body, where=where)


def softmax_tile(context: Context, steps: tuple[ScoreStep, ...]) -> Stage:
    """Online softmax of one tile: scores from their ring slot, probabilities to theirs."""
    where = context.attention.output.where
    size, group = context.constant("tileKeys"), context.scalar("group")
    stat = SLOT * context.constant("rowsPerVector") + R0

    def one_chunk(r0: Expr, chunk: Expr) -> list[Statement]:
        offset = (SLOT * group + ROW_BEGIN + r0) * size
        loads = [statement for step in steps for statement in step.load_rows(context)]
        loaded = (context.buffers["score"], *(buffer for step in steps for buffer in step.row_loads))
        body = seq(
            LoadRows(
                dst=context.ub("score", 0, chunk, KEYS, size),
                src=context.gm("scoreRing", offset, chunk, KEYS, size),
                where=where,
            ),
            *loads,
            Let(symbol=SPAN, value=(chunk - 1) * size + round_up(KEYS, LANES)),
            *(statement for step in steps for statement in _applied(context, step)),
            Note(text="Lanes behind the last key take no part in maximum and sum."),
            _hide_tail(context),
            *_update_maximum(context, stat),
            *_exponentials(context),
            *_update_sum(context, stat),
            Alloc(
                buffers=(context.buffers["prob"],),
                body=seq(
                    Convert(
                        dst=context.ub("prob", 0, 1, SPAN),
                        src=context.ub("score", 0, 1, SPAN),
                        mode="CAST_RINT",
                    ),
                    StoreRows(
                        dst=context.gm("probRing", offset, chunk, KEYS, size),
                        src=context.ub("prob", 0, chunk, KEYS, size),
                    ),
                ),
            ),
        )
        return [Alloc(buffers=loaded, body=body)]

    over_rows = chunks(ROWS, context.constant("rowsPerStep"), one_chunk, where)
    body = seq(*tile_bounds(context), _with_tile_operands(context, steps, over_rows))
    doc = "Online softmax of one tile: scores in, probabilities out, row maxima and sums updated."
    return Stage(name="SoftmaxTile", core=Core.AIV, doc=doc, body=body, where=where)


def _applied(context: Context, step: ScoreStep) -> list[Statement]:
    return [Note(text=step.title), *step.apply(context)]


def _with_tile_operands(context: Context, steps: tuple[ScoreStep, ...], rows: Statement) -> Statement:
    """What modifiers load and prepare once a tile, around the loop over rows."""
    loaded = tuple(buffer for step in steps for buffer in step.tile_loads)
    prepare = [statement for step in steps for statement in step.prepare_tile(context)]
    if not loaded:
        return seq(*prepare, rows)
    loads = [statement for step in steps for statement in step.load_tile(context)]
    titles = [Note(text=step.title) for step in steps if step.tile_loads]
    return seq(Alloc(buffers=loaded, body=seq(*titles, *loads, *prepare)), rows)


def _hide_tail(context: Context) -> Statement:
    size = context.constant("tileKeys")
    last = context.ub("score", KEYS // LANES * LANES, CHUNK, LANES, size)
    fill = FillLanes(dst=last, first_lane=KEYS % LANES, value=LOWEST)
    return If(condition=KEYS % LANES != 0, then=seq(fill))


def _fold_lanes(context: Context, op: str, start: Expr) -> list[Statement]:
    """``lanes[r, :] = op over the tile's repeats of score[r, :]``."""
    size = context.constant("tileKeys")
    lanes = context.ub("lanes", 0, CHUNK, LANES, LANES)
    column = context.ub("score", _C0, CHUNK, LANES, size)
    fold = Binary(op=op, dst=lanes, first=lanes, second=column)
    return [
        Fill(dst=context.ub("lanes", 0, 1, CHUNK * LANES), value=start),
        For(var=_C0, end=KEYS, step=as_expr(LANES), body=seq(fold)),
    ]


def _update_maximum(context: Context, stat: Expr) -> list[Statement]:
    tile_max, new_max = context.ub("tileStat", 0, 1, CHUNK), context.ub("newMax", 0, 1, CHUNK)
    row_max, rescale = context.ub("rowMax", R0, 1, CHUNK), context.ub("rescale", stat, 1, CHUNK)
    return [
        Note(text="newMax = max(rowMax, row maximum of the tile); rescale = exp(rowMax - newMax)"),
        *_fold_lanes(context, "Max", LOWEST),
        RowReduce(op="Max", dst=tile_max, src=context.ub("lanes", 0, CHUNK, LANES, LANES)),
        Binary(op="Max", dst=new_max, first=row_max, second=tile_max),
        Binary(op="Sub", dst=rescale, first=row_max, second=new_max),
        Unary(op="Exp", dst=rescale, src=rescale),
        WithScalar(op="Adds", dst=row_max, src=new_max, scalar=Const(0)),
    ]


def _exponentials(context: Context) -> list[Statement]:
    """``score = exp(score - newMax)``."""
    size, whole = context.constant("tileKeys"), context.ub("score", 0, 1, SPAN)
    column = context.ub("score", _C0, CHUNK, LANES, size)
    subtract = Binary(
        op="Sub", dst=column, first=column, second=row_blocks(context, "rowBlocks"), broadcast=True
    )
    return [
        Note(text="score = exp(score - newMax)"),
        broadcast(context, "rowBlocks", "newMax"),
        For(
            var=_C0,
            end=KEYS,
            step=as_expr(LANES),
            body=seq(subtract),
            disjoint=(context.buffers["score"],),
        ),
        Unary(op="Exp", dst=whole, src=whole),
    ]


def _update_sum(context: Context, stat: Expr) -> list[Statement]:
    row_sum, tile_sum = context.ub("rowSum", R0, 1, CHUNK), context.ub("tileStat", 0, 1, CHUNK)
    rescale = context.ub("rescale", stat, 1, CHUNK)
    return [
        Note(text="rowSum = rowSum * rescale + row sum of the tile"),
        *_fold_lanes(context, "Add", Const(0)),
        RowReduce(op="Sum", dst=tile_sum, src=context.ub("lanes", 0, CHUNK, LANES, LANES)),
        Binary(op="Mul", dst=row_sum, first=row_sum, second=rescale),
        Binary(op="Add", dst=row_sum, first=row_sum, second=tile_sum),
    ]


def update_tile(context: Context) -> Stage:
    """``accumulator = accumulator * rescale + partial`` of one tile."""
    where = context.attention.output.where
    bucket, group = context.constant("headDimBucket"), context.scalar("group")

    def one_chunk(r0: Expr, chunk: Expr) -> list[Statement]:
        offset = (SLOT * group + ROW_BEGIN + r0) * bucket
        accumulator = context.ub("accumulator", r0 * bucket, 1, chunk * bucket)
        partial = context.ub("partial", 0, 1, chunk * bucket)
        body = seq(
            LoadRows(dst=partial, src=context.gm("outRing", offset, 1, chunk * bucket), where=where),
            Note(text="accumulator = accumulator * rescale + partial"),
            broadcast(context, "rowBlocks", "rescale", SLOT * context.constant("rowsPerVector") + r0),
            scale_rows(context, "Mul", "accumulator", r0 * bucket, "rowBlocks"),
            Binary(op="Add", dst=accumulator, first=accumulator, second=partial, where=where),
        )
        return [Alloc(buffers=(context.buffers["partial"],), body=body)]

    body = seq(
        Let(symbol=SLOT, value=TILE % context.constant("ring")),
        chunks(ROWS, context.constant("rowsPerStep"), one_chunk, where),
    )
    doc = "Adds one tile's weighted sum to the running one, rescaled to the new maximum."
    return Stage(name="UpdateTile", core=Core.AIV, doc=doc, body=body, where=where)


def broadcast(context: Context, blocks: str, source: str, offset: Expr | int = 0) -> Statement:
    """A row statistic spread over one block a row; whole blocks of eight rows are read."""
    eight = context.schedule.rows
    return BroadcastRows(dst=context.ub(blocks, 0, eight, 8, 8), src=context.ub(source, offset, 1, eight))


def row_blocks(context: Context, blocks: str) -> Region:
    """The spread statistic as an operand of a broadcasting instruction."""
    return context.ub(blocks, 0, CHUNK, 8, 8)


def scale_rows(context: Context, op: str, buffer: str, offset: Expr | int, blocks: str) -> Statement:
    """``buffer[r, :] = buffer[r, :] op blocks[r]`` over the head size."""
    bucket = context.constant("headDimBucket")
    target = context.buffers[buffer]

    def columns(d0: Expr, width: Expr) -> Statement:
        region = target.region(as_expr(offset) + d0, CHUNK, width, bucket)
        return Binary(op=op, dst=region, first=region, second=row_blocks(context, blocks), broadcast=True)

    if context.bucket <= LANES:
        return columns(as_expr(0), as_expr(context.bucket))
    whole = context.bucket % LANES == 0
    width = as_expr(LANES) if whole else minimum(as_expr(LANES), bucket - _D0)
    return For(var=_D0, end=bucket, step=as_expr(LANES), body=seq(columns(_D0, width)), disjoint=(target,))


def normalise_and_store(context: Context, r0: Expr, target: GlobalRegion) -> Seq:
    """``result = accumulator / rowSum`` of a chunk, in the io dtype, to the output.

    A row without keys has sum 0 and accumulator 0; the smallest normal number as sum gives its zeros.
    """
    bucket, where = context.constant("headDimBucket"), context.attention.output.where
    row_sum = context.ub("rowSum", r0, 1, CHUNK)
    span = CHUNK * bucket
    return seq(
        Note(text="result = accumulator / rowSum; a row without keys has sum 0 and gives zeros"),
        WithScalar(op="Maxs", dst=row_sum, src=row_sum, scalar=SMALLEST, where=where),
        broadcast(context, "rowBlocks", "rowSum", r0),
        scale_rows(context, "Div", "accumulator", r0 * bucket, "rowBlocks"),
        Alloc(
            buffers=(context.buffers["result"],),
            body=seq(
                Convert(
                    dst=context.ub("result", 0, 1, span),
                    src=context.ub("accumulator", r0 * bucket, 1, span),
                    mode="CAST_RINT",
                    where=where,
                ),
                StoreRows(
                    dst=target,
                    src=context.ub("result", 0, CHUNK, context.scalar("headDim"), bucket),
                    where=where,
                ),
            ),
        ),
    )
