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
    HEAD,
    KEYS,
    KV_HEAD,
    LANES,
    LOWEST,
    R0,
    REPEAT_LANES,
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
        Fill(dst=context.region("rowMax", 0, 1, ROWS), value=LOWEST, where=where),
        Fill(dst=context.region("rowSum", 0, 1, ROWS), value=Const(0), where=where),
        Fill(
            dst=context.region("accumulator", 0, 1, ROWS * context.constant("headDimBucket")),
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
            Let(symbol=HEAD, value=KV_HEAD * group + ROW_BEGIN + r0),
            LoadRows(
                dst=context.region("score", 0, chunk, KEYS, size),
                src=context.gm("scoreRing", offset, chunk, KEYS, size),
                where=where,
            ),
            *loads,
            Let(symbol=SPAN, value=(chunk - 1) * size + round_up(KEYS, REPEAT_LANES)),
            *(statement for step in steps for statement in _applied(context, step)),
            Note(text="Lanes behind the last key take no part in the maximum, nor below in the sum."),
            _fill_tail(context, LOWEST),
            *_update_maximum(context, stat),
            *_exponentials(context),
            *_update_sum(context, stat),
            Alloc(
                buffers=(context.buffers["prob"],),
                body=seq(
                    Convert(
                        dst=context.region("prob", 0, 1, SPAN),
                        src=context.region("score", 0, 1, SPAN),
                        mode="CAST_RINT",
                    ),
                    StoreRows(
                        dst=context.gm("probRing", offset, chunk, KEYS, size),
                        src=context.region("prob", 0, chunk, KEYS, size),
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


def _fill_tail(context: Context, value: Expr) -> Statement:
    """``value`` in the lanes behind the last key, up to the end of their repeat."""
    size = context.constant("tileKeys")
    last = context.region("score", KEYS // REPEAT_LANES * REPEAT_LANES, CHUNK, REPEAT_LANES, size)
    fill = FillLanes(dst=last, first_lane=KEYS % REPEAT_LANES, value=value)
    return If(condition=KEYS % REPEAT_LANES != 0, then=seq(fill))


def _fold_lanes(context: Context, op: str, start: Expr) -> list[Statement]:
    """``lanes[r, :] = op over the tile's repeats of score[r, :]``."""
    size = context.constant("tileKeys")
    lanes = context.region("lanes", 0, CHUNK, REPEAT_LANES, REPEAT_LANES)
    column = context.region("score", _C0, CHUNK, REPEAT_LANES, size)
    fold = Binary(op=op, dst=lanes, first=lanes, second=column)
    return [
        Fill(dst=context.region("lanes", 0, 1, CHUNK * REPEAT_LANES), value=start),
        For(var=_C0, end=KEYS, step=REPEAT_LANES, body=seq(fold), runs=True),
    ]


def _update_maximum(context: Context, stat: Expr) -> list[Statement]:
    tile_max, new_max = context.region("tileStat", 0, 1, CHUNK), context.region("newMax", 0, 1, CHUNK)
    row_max, rescale = context.region("rowMax", R0, 1, CHUNK), context.region("rescale", stat, 1, CHUNK)
    return [
        Note(text="newMax = max(rowMax, row maximum of the tile); rescale = exp(rowMax - newMax)"),
        *_fold_lanes(context, "Max", LOWEST),
        RowReduce(op="Max", dst=tile_max, src=context.region("lanes", 0, CHUNK, REPEAT_LANES, REPEAT_LANES)),
        Binary(op="Max", dst=new_max, first=row_max, second=tile_max),
        Binary(op="Sub", dst=rescale, first=row_max, second=new_max),
        Unary(op="Exp", dst=rescale, src=rescale),
        WithScalar(op="Adds", dst=row_max, src=new_max, scalar=Const(0)),
    ]


def _exponentials(context: Context) -> list[Statement]:
    """``score = exp(score - newMax)``."""
    size, whole = context.constant("tileKeys"), context.region("score", 0, 1, SPAN)
    column = context.region("score", _C0, CHUNK, REPEAT_LANES, size)
    subtract = Binary(
        op="Sub", dst=column, first=column, second=row_blocks(context, "rowBlocks"), broadcast=True
    )
    return [
        Note(text="score = exp(score - newMax)"),
        broadcast(context, "rowBlocks", "newMax"),
        For(
            var=_C0,
            end=KEYS,
            step=REPEAT_LANES,
            body=seq(subtract),
            disjoint=(context.buffers["score"],),
            runs=True,
        ),
        Unary(op="Exp", dst=whole, src=whole),
        _fill_tail(context, Const(0)),
    ]


def _update_sum(context: Context, stat: Expr) -> list[Statement]:
    row_sum, tile_sum = context.region("rowSum", R0, 1, CHUNK), context.region("tileStat", 0, 1, CHUNK)
    rescale = context.region("rescale", stat, 1, CHUNK)
    return [
        Note(text="rowSum = rowSum * rescale + row sum of the tile"),
        *_fold_lanes(context, "Add", Const(0)),
        RowReduce(op="Sum", dst=tile_sum, src=context.region("lanes", 0, CHUNK, REPEAT_LANES, REPEAT_LANES)),
        Binary(op="Mul", dst=row_sum, first=row_sum, second=rescale),
        Binary(op="Add", dst=row_sum, first=row_sum, second=tile_sum),
    ]


def update_tile(context: Context) -> Stage:
    """``accumulator = accumulator * rescale + partial`` of one tile."""
    where = context.attention.output.where
    bucket, group = context.constant("headDimBucket"), context.scalar("group")

    def one_chunk(r0: Expr, chunk: Expr) -> list[Statement]:
        offset = (SLOT * group + ROW_BEGIN + r0) * bucket
        accumulator = context.region("accumulator", r0 * bucket, 1, chunk * bucket)
        partial = context.region("partial", 0, 1, chunk * bucket)
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
    """A row statistic spread over one block a row; a whole step of rows is read."""
    rows = context.constant("rowsPerStep")
    target = context.region(blocks, 0, rows, 8, 8)
    return BroadcastRows(dst=target, src=context.region(source, offset, 1, rows))


def row_blocks(context: Context, blocks: str) -> Region:
    """The spread statistic as an operand of a broadcasting instruction."""
    return context.region(blocks, 0, CHUNK, 8, 8)


def scale_rows(context: Context, op: str, buffer: str, offset: Expr | int, blocks: str) -> Statement:
    """``buffer[r, :] = buffer[r, :] op blocks[r]`` over the head size."""
    bucket = context.constant("headDimBucket")
    target = context.buffers[buffer]

    def columns(d0: Expr, width: Expr) -> Statement:
        region = target.region(as_expr(offset) + d0, CHUNK, width, bucket)
        return Binary(op=op, dst=region, first=region, second=row_blocks(context, blocks), broadcast=True)

    if context.bucket <= LANES:
        return columns(as_expr(0), bucket)
    whole = context.bucket % LANES == 0
    width = REPEAT_LANES if whole else minimum(REPEAT_LANES, bucket - _D0)
    return For(
        var=_D0, end=bucket, step=REPEAT_LANES, body=seq(columns(_D0, width)), disjoint=(target,), runs=True
    )


def normalise_and_store(context: Context, r0: Expr, target: GlobalRegion) -> Seq:
    """``result = accumulator / rowSum`` of a chunk, in the io dtype, to the output.

    A row without keys has sum 0 and accumulator 0; the smallest normal number as sum gives its zeros.
    """
    bucket, where = context.constant("headDimBucket"), context.attention.output.where
    row_sum = context.region("rowSum", r0, 1, CHUNK)
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
                    dst=context.region("result", 0, 1, span),
                    src=context.region("accumulator", r0 * bucket, 1, span),
                    mode="CAST_RINT",
                    where=where,
                ),
                StoreRows(
                    dst=target,
                    src=context.region("result", 0, CHUNK, context.scalar("headDim"), bucket),
                    where=where,
                ),
            ),
        ),
    )
