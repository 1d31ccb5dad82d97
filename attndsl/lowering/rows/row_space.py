"""Which query rows a task has, where each is stored and where its result goes.

A task is a batch row, a key/value head, and as many of the query heads that share it and of the query
positions as ``max_rows`` rows hold. Row r of a task is head ``firstHead + r % heads`` at position
``firstQuery + r // heads``: the heads of a position lie side by side, so that a decoding step (one position)
and a prompt (many) are one case. The two vector cores share the rows of a task, the first half to the first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from attndsl.base.source_location import SourceLine
from attndsl.expr import Const, Expr, Symbol, ceil_div, maximum, minimum
from attndsl.graph import nodes
from attndsl.lowering.emit.context import Context
from attndsl.lowering.emit.loop_scalars import (
    BATCH,
    CHUNK,
    FIRST_HEAD,
    FIRST_QUERY,
    HEAD,
    HEADS,
    KV_HEAD,
    QUERIES,
    QUERY,
    R0,
    ROW_BEGIN,
    ROW_FRACTALS,
    ROWS,
    TASK,
    TASK_ROWS,
)
from attndsl.lowering.rows.batch_extents import batch_scalar, packed_length, packed_start
from attndsl.lowering.rows.row_segments import Piece, load_matrix
from attndsl.lowering.rows.scaled_query import is_scaled, scaled_query, stored_query
from attndsl.lowering.signature.host_scalars import CORES
from attndsl.target import ATLAS_A2
from attndsl.tile.buffers import Buffer, GlobalRegion, GlobalTensor
from attndsl.tile.instructions import LoadNz
from attndsl.tile.instructions.cube import FRACTAL_SIZE, fractal_depth
from attndsl.tile.program import SUB_BLOCK, earlier, tiling_scalar
from attndsl.tile.statements import For, If, Let, Seq, Statement, seq

HEAD_TILE, QUERY_TILE = Symbol("headTile"), Symbol("queryTile")
FIRST_TOKEN = Symbol("firstToken")
QUERY_LENGTH = Symbol("queryLength")
_POSITION, _ROW = Symbol("position"), Symbol("row")
_AXES = ("B", "S", "N", "K", "Q")


_MOST_POSITIONS = 16


def positions_per_core(rows: int) -> int:
    """Query positions of a vector core that has all their heads, at most; ``rows``: of that core."""
    return min(rows, _MOST_POSITIONS)


@dataclass(frozen=True, slots=True)
class Run:
    """Rows of a vector step that a tensor stores at an even pitch.

    Attributes:
        row: the first of them, within the step. ``rows``: how many.
        along: the axis on which they follow each other.
    """

    row: Expr
    rows: Expr
    along: str


@dataclass(frozen=True, kw_only=True)
class RowSpace:
    """The query rows of one attention.

    Attributes:
        query: the stored queries.
        token_axis: "S" where tokens of all batch rows are back to back, else "Q".
        one_position: every batch row has a single query position.
        valid: queries of each batch row, None for all. ``ends``: where those of packed batch rows end.
        whole_positions: a vector core has all heads of its positions.
        factor: on queries before they are rounded, None for none.
    """

    query: nodes.Input
    token_axis: str
    one_position: bool
    valid: nodes.Node | None
    ends: nodes.Node | None
    where: SourceLine
    whole_positions: bool = False
    factor: Expr | None = None

    # Tasks ----------------------------------------------------------------------------------------------

    def tasks(self, context: Context) -> Symbol:
        """The number of tasks, with the tiling fields it is made of."""
        add, extents, most = context.inventory.field, context.interface.extents, context.schedule.max_rows
        heads = self.heads_per_task(context)
        count = extents["B"] * earlier("kvHeads") * earlier("headTiles")
        per_task: Expr = heads
        if not self.one_position:
            queries = maximum(1, most // maximum(heads, 1))
            if self.whole_positions:
                queries = ATLAS_A2.aiv_per_aic * self._positions_per_core(context, heads)
            add("queriesPerTask", queries, "query positions of a task, at most")
            tiles = ceil_div(extents["Q"], earlier("queriesPerTask"))
            add("queryTiles", tiles, "tasks that share the query positions of a batch row")
            count, per_task = count * earlier("queryTiles"), heads * earlier("queriesPerTask")
        add(context.label("rowsPerTask"), per_task, "query rows of a task, at most")
        return add(context.label("tasks"), count, "units of work before keys are split")

    def heads_per_task(self, context: Context) -> Expr:
        """Query heads of a task at most, with the tiling fields that cut the heads into tasks."""
        add, extents = context.inventory.field, context.interface.extents
        add("kvHeads", extents["K"], "key/value heads")
        add("group", extents["N"] // extents["K"], "query heads of a key/value head")
        most = minimum(earlier("group"), context.schedule.max_rows)
        add("headsPerTask", most, "query heads of a task, at most")
        heads = earlier("headsPerTask")
        tiles = ceil_div(earlier("group"), heads)
        add("headTiles", tiles, "tasks that share the query heads of a key/value head")
        return heads

    def _positions_per_core(self, context: Context, heads: Expr) -> Expr:
        """As many as a vector core holds with all their heads, fewer where cores would be idle."""
        rows, extents = context.schedule.rows_per_core, context.interface.extents
        held = maximum(1, minimum(positions_per_core(rows), rows // maximum(heads, 1)))
        tokens = extents["S"] if self.token_axis == "S" else extents["B"] * extents["Q"]
        return minimum(held, maximum(1, ceil_div(tokens * extents["K"], ATLAS_A2.aiv_per_aic * CORES)))

    def rows_per_task(self, context: Context) -> Expr:
        """Rows of a task at most, in the kernel."""
        return tiling_scalar(context.label("rowsPerTask"))

    def enter(self, context: Context) -> list[Statement]:
        """The scalars of task ``task``: batch row, heads, positions, rows."""
        outer: Expr = TASK
        lets: list[Statement] = []
        if not self.one_position:
            query_tiles = tiling_scalar("queryTiles")
            lets.append(Let(symbol=QUERY_TILE, value=TASK % query_tiles))
            outer = TASK // query_tiles
        return [*lets, *self.enter_heads(outer, BATCH), *self._positions(context)]

    def enter_heads(self, outer: Expr, outermost: Symbol) -> list[Statement]:
        """The heads of a task, and what remains of its number ``outer`` without them, as ``outermost``."""
        group, per_task, head_tiles, kv_heads = (
            tiling_scalar(name) for name in ("group", "headsPerTask", "headTiles", "kvHeads")
        )
        return [
            Let(symbol=HEAD_TILE, value=outer % head_tiles),
            Let(symbol=KV_HEAD, value=outer // head_tiles % kv_heads),
            Let(symbol=outermost, value=outer // (head_tiles * kv_heads)),
            Let(symbol=FIRST_HEAD, value=KV_HEAD * group + HEAD_TILE * per_task),
            Let(symbol=HEADS, value=minimum(per_task, group - HEAD_TILE * per_task)),
        ]

    def _positions(self, context: Context) -> list[Statement]:
        if self.one_position:
            return [
                Let(symbol=TASK_ROWS, value=HEADS),
                Let(symbol=ROW_FRACTALS, value=ceil_div(TASK_ROWS, FRACTAL_SIZE)),
            ]
        per_task = tiling_scalar("queriesPerTask")
        longest = context.host(context.interface.extents["Q"], "query positions of the longest batch row")
        length = batch_scalar(context, self.valid, longest)
        lets: list[Statement] = [
            Let(symbol=QUERY_LENGTH, value=length, where=self.where),
            Let(symbol=FIRST_QUERY, value=QUERY_TILE * per_task),
            Let(symbol=QUERIES, value=maximum(0, minimum(per_task, QUERY_LENGTH - FIRST_QUERY))),
            Let(symbol=TASK_ROWS, value=HEADS * QUERIES),
            Let(symbol=ROW_FRACTALS, value=ceil_div(TASK_ROWS, FRACTAL_SIZE)),
        ]
        if self.token_axis == "S":
            start = packed_start(context, self.ends, self.valid, "Queries")
            lets.append(Let(symbol=FIRST_TOKEN, value=start, where=self.where))
        return lets

    def list_entry(self) -> Expr | None:
        """Which tensor of a list holds the task's keys, where tasks are made by it."""
        return None

    def may_be_empty(self) -> bool:
        """Whether a task can have no rows."""
        return not self.one_position

    def share(self) -> list[Statement]:
        """The rows of the task that this vector core works on."""
        half = Symbol("rowsPerCore")
        if self.whole_positions and not self.one_position:
            size: Expr = ceil_div(QUERIES, ATLAS_A2.aiv_per_aic) * HEADS
        else:
            size = ceil_div(TASK_ROWS, ATLAS_A2.aiv_per_aic)
        return [
            Let(symbol=half, value=size),
            Let(symbol=ROW_BEGIN, value=minimum(SUB_BLOCK * half, TASK_ROWS)),
            Let(symbol=ROWS, value=minimum(half, TASK_ROWS - ROW_BEGIN)),
        ]

    # Positions ------------------------------------------------------------------------------------------

    @property
    def one_batch_row(self) -> bool:
        """Whether the rows of a task are of one batch row."""
        return True

    def indices(self) -> dict[str, Expr]:
        """What the index symbols of the spec are for the row that ``head`` and ``queryIndex`` tell."""
        return {"b": BATCH, "n": HEAD, "i": Const(0) if self.one_position else QUERY}

    def task_positions(self) -> tuple[Expr, Expr]:
        """The first and the last query position of the task."""
        if self.one_position:
            return Const(0), Const(0)
        return FIRST_QUERY, FIRST_QUERY + QUERIES - 1

    def step_positions(self) -> tuple[Expr, Expr]:
        """The first and the last query position of the vector step."""
        if self.one_position:
            return Const(0), Const(0)
        row = ROW_BEGIN + R0
        return FIRST_QUERY + row // HEADS, FIRST_QUERY + (row + CHUNK - 1) // HEADS

    # Rows -----------------------------------------------------------------------------------------------

    def query_count(self, context: Context) -> Expr:
        """Queries of the batch row."""
        longest = context.host(context.interface.extents["Q"], "query positions of the longest batch row")
        return batch_scalar(context, self.valid, longest)

    def load_query(self, context: Context, target: Buffer) -> Statement:
        """The task's query rows to L1 in Nz, scaled ones where they are."""
        plain = self._load_query(context, target, context.parameter(self.query.name))
        if self.factor is None:
            return plain
        scaled = self._load_query(context, target, scaled_query(context, self.factor))
        return If(condition=is_scaled(context, self.factor), then=seq(scaled), otherwise=seq(plain))

    def _load_query(self, context: Context, target: Buffer, tensor: GlobalTensor) -> Statement:
        name, dim, padded_rows = self.query.name, context.head_dim, ROW_FRACTALS * FRACTAL_SIZE

        def heads_of(position: Expr, first: Expr) -> Statement:
            offset = self.offset(context, name, FIRST_HEAD, first)
            return self.load_heads(context, target, tensor, position * HEADS, offset)

        if self.one_position:
            return heads_of(Const(0), Const(0))
        pitch = context.stride(name, self.token_axis)
        offset = self.offset(context, name, FIRST_HEAD, FIRST_QUERY)
        one_head = LoadNz(
            dst=target.region(),
            src=tensor.region(offset, QUERIES, dim, pitch),
            padded_rows=padded_rows,
            where=self.where,
        )
        one = seq(heads_of(_POSITION, FIRST_QUERY + _POSITION))
        by_position = For(var=_POSITION, end=QUERIES, body=one, disjoint=(target,), runs=True)
        fits = (HEADS == 1) & (pitch <= ATLAS_A2.max_nd2nz_pitch)
        return If(condition=fits, then=seq(one_head), otherwise=seq(by_position))

    def load_heads(
        self, context: Context, target: Buffer, tensor: GlobalTensor, at: Expr, offset: Expr
    ) -> Statement:
        """The task's heads of one position, as rows ``at`` and on in L1."""
        name, dim, padded_rows = self.query.name, context.head_dim, ROW_FRACTALS * FRACTAL_SIZE
        piece = Piece(tensor, at, HEADS, offset, context.stride(name, "N"))
        layouts = context.interface.layouts[name].strides
        if not all(each.get("N", Const(0)).same(context.interface.extents["D"]) for each in layouts):
            return load_matrix(target, piece, padded_rows, Const(0), dim)
        source = tensor.region(offset, HEADS, dim, piece.pitch)  # heads side by side: a short pitch
        place = target.region(at * fractal_depth(target.dtype))
        return LoadNz(dst=place, src=source, padded_rows=padded_rows, where=self.where)

    def offset(self, context: Context, tensor: str, head: Expr, query: Expr) -> Expr:
        """Elements from the start of a tensor to the row of a query head at a query position."""
        values: dict[str, Expr] = {"B": BATCH, "N": head, "K": KV_HEAD, "Q": query}
        if not self.one_position and self.token_axis == "S":
            values["S"] = FIRST_TOKEN + query
        total: Expr = Const(0)
        for axis in _AXES:
            at = values.get(axis, Const(0))
            if not at.same(Const(0)) and context.has_stride(tensor, axis):
                total = total + at * context.stride(tensor, axis)
        return total

    def first_of_step(self) -> list[Statement]:
        """Where the first row of a vector step stands."""
        row = ROW_BEGIN + R0
        if self.one_position:
            return [Let(symbol=HEAD, value=FIRST_HEAD + row)]
        return []

    def spreads(self, context: Context, tensor: str, within: str = "") -> bool:
        """Whether the rows of a run are rows of their own in a tensor, in each of its layouts.

        ``within``: layouts without this axis do not count.
        """
        axis = "N" if self.one_position else self.token_axis
        layouts = context.interface.layouts[tensor].strides
        counted = [each for each in layouts if not within or _moves(each, within)]
        return all(_moves(each, axis) for each in counted)

    def each_run(
        self, body: Callable[[Run], Statement], touched: tuple[Buffer, ...] = (), *, spread: bool = True
    ) -> Seq:
        """``body`` for every run of the step's rows, with ``head`` and ``queryIndex`` of its first row.

        ``touched``: the buffers of which different rows touch different elements. ``spread``: whether the
        rows of a run are rows of their own where they are stored; else each row is a run.
        """
        if not spread:
            return seq(self.each_row(lambda at: body(Run(at, Const(1), "N")), touched))
        if self.one_position:
            return seq(body(Run(Const(0), CHUNK, "N")))
        row = ROW_BEGIN + R0
        same_head = seq(
            Let(symbol=HEAD, value=FIRST_HEAD),
            Let(symbol=QUERY, value=FIRST_QUERY + row),
            body(Run(Const(0), CHUNK, self.token_axis)),
        )
        return seq(
            If(
                condition=HEADS == 1,
                then=same_head,
                otherwise=seq(self.each_row(lambda at: body(Run(at, Const(1), "N")), touched)),
            )
        )

    def each_row(self, body: Callable[[Expr], Statement], touched: tuple[Buffer, ...] = ()) -> For:
        """``body`` for every row of the step, with its ``head`` and ``queryIndex``."""
        row = ROW_BEGIN + R0 + _ROW
        if self.one_position:
            place: list[Statement] = [Let(symbol=HEAD, value=FIRST_HEAD + row)]
        else:
            place = [
                Let(symbol=HEAD, value=FIRST_HEAD + row % HEADS),
                Let(symbol=QUERY, value=FIRST_QUERY + row // HEADS),
            ]
        return For(var=_ROW, end=CHUNK, body=seq(*place, body(_ROW)), disjoint=touched, runs=True)

    def place(self, context: Context, tensor: str, run: Run, cols: Expr) -> GlobalRegion:
        """The rows of a run in a tensor."""
        query: Expr = Const(0) if self.one_position else QUERY
        offset = self.offset(context, tensor, HEAD, query)
        pitch: Expr = Const(0) if run.rows.same(Const(1)) else context.stride(tensor, run.along)
        return context.gm(tensor, offset, run.rows, cols, pitch)

    # Identities of rows, for partial results --------------------------------------------------------------

    def row_total(self, context: Context) -> Expr:
        """Result rows of the operator, for the host."""
        extents = context.interface.extents
        if self.one_position:
            return extents["B"] * extents["N"]
        tokens = extents["S"] if self.token_axis == "S" else extents["B"] * extents["Q"]
        return tokens * extents["N"]

    def identity(self, context: Context, run: Run) -> tuple[Expr, Expr]:
        """The number of a run's first row among all result rows, and the distance to the next."""
        heads = context.host(context.interface.extents["N"], "query heads", "queryHeads")
        if self.one_position:
            return BATCH * heads + HEAD, Const(1)
        if self.token_axis == "S":
            token: Expr = FIRST_TOKEN + QUERY
        else:
            token = BATCH * context.host(context.interface.extents["Q"], stem="positions") + QUERY
        return token * heads + HEAD, (heads if run.along != "N" else Const(1))

    def enter_token(self, context: Context, token: Expr) -> list[Statement]:
        """The scalars of one token among all, instead of a task's."""
        if self.one_position:
            return [Let(symbol=BATCH, value=token)]
        if self.token_axis == "S":
            return [Let(symbol=FIRST_TOKEN, value=token), Let(symbol=QUERY, value=Const(0))]
        positions = context.host(context.interface.extents["Q"], stem="positions")
        return [Let(symbol=BATCH, value=token // positions), Let(symbol=QUERY, value=token % positions)]


def _moves(strides: Mapping[str, Expr], axis: str) -> bool:
    """Whether neighbours along an axis lie apart."""
    return not strides.get(axis, Const(0)).same(Const(0))


# ------------------------------------------------------------------------------------------------
# From graph nodes to row spaces


def row_space(query: nodes.Node, one_position: bool, existing: nodes.Node | None = None) -> RowSpace:
    """The rows that the query node of some scores gives.

    ``existing``: queries of each batch row where rows are padded to one number of positions.

    Raises:
        NotLowered: for queries that are computed, not stored.
    """
    if isinstance(query, nodes.PackedQueries):
        stored, factor = stored_query(query.tensor)
        valid = packed_length(query.ends, query.length)
        return RowSpace(
            query=stored,
            token_axis="S",
            one_position=False,
            valid=valid,
            ends=query.ends,
            where=query.where,
            factor=factor,
        )
    stored, factor = stored_query(query)
    return RowSpace(
        query=stored,
        token_axis="Q",
        one_position=one_position or "Q" not in stored.axes,
        valid=existing,
        ends=None,
        where=query.where,
        factor=factor,
    )
