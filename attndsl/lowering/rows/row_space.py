"""Which query rows a task has, where each is stored and where its result goes.

A task is a key/value head of a batch row, or of batch rows that share keys, and as many of the query heads
that share it, of the query positions and of these batch rows as ``max_rows`` rows hold. The two vector cores
share the rows of a task, the first half to the first. One class for each way in which queries are stored:

    DecodingRows   one query position a batch row (decoding_rows.py)
    PaddedRows     batch rows padded to one number of positions (positioned_rows.py)
    PackedTokens   tokens of all batch rows back to back (positioned_rows.py)
    GroupedRows    decoding rows of all batch rows that share their keys (grouped_rows.py)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from attndsl.base.source_location import SourceLine
from attndsl.expr import Const, Expr, Symbol, ceil_div, maximum, minimum, select
from attndsl.graph import nodes
from attndsl.lowering.emit.emitter import ROWS_OF_SLOT, ROWS_PER_TASK, Emitter
from attndsl.lowering.emit.loop_scalars import (
    BATCH,
    FIRST_HEAD,
    HEAD,
    HEADS,
    KV_HEAD,
    R0,
    ROW_BEGIN,
    ROW_FRACTALS,
    ROWS,
    STEP_ROWS,
    TASK_ROWS,
)
from attndsl.lowering.rows.row_segments import RowSegment, load_matrix
from attndsl.lowering.rows.scaled_query import ScaledQuery
from attndsl.tile.buffers import Buffer, GlobalRegion, GlobalTensor
from attndsl.tile.instructions import LoadNz
from attndsl.tile.instructions.cube import FRACTAL_SIZE, fractal_depth
from attndsl.tile.instructions.units import VECTOR_CORES
from attndsl.tile.program import SUB_BLOCK, tiling_field_ref, tiling_scalar
from attndsl.tile.statements import For, If, Let, Seq, Statement, seq

ROW = Symbol("row")
"""The running row of :meth:`RowSpace.each_row`, within the step."""
_HEAD_TILE = Symbol("headTile")
_NEIGHBOURS = "heads of one key/value head come in turn: cores share its keys and values in L2"
_RUN, _RUN_ROWS = Symbol("run"), Symbol("runRows")
_AXES = ("B", "S", "N", "K", "Q")


@dataclass(frozen=True, slots=True)
class RowRun:
    """A run of rows of a vector step that a tensor stores at an even pitch.

    Attributes:
        row: the first row, within the step. ``rows``: the number of rows.
        along: the axis on which they follow each other; of a run of one head or of one position, as
            ``one_head`` tells, that of positions.
        one_head: whether the run is one of positions; None if ``along`` says it all. A run of one position
            has heads.
    """

    row: Expr
    rows: Expr
    along: str
    one_head: Expr | None = None

    def pitch(self, stride: Callable[[str], Expr]) -> Expr:
        """Elements from a row of the run to the next, by the stride of an axis."""
        own = stride(self.along)
        return own if self.one_head is None else select(self.one_head, own, stride("N"))


class EachRun(Protocol):
    """Calls ``body`` for every run of complete rows; as :meth:`RowSpace.each_run`, which is one of them."""

    def __call__(
        self, body: Callable[[RowRun], Statement], touched: tuple[Buffer, ...] = (), *, spread: bool = True
    ) -> Seq: ...


@dataclass(frozen=True, kw_only=True)
class RowSpace(ABC):
    """The query rows of one attention.

    Attributes:
        query: the stored queries. ``where``: the spec line.
        scaled: the queries times a factor, where they are rounded again before they meet the keys.
    """

    query: nodes.Input
    where: SourceLine
    scaled: ScaledQuery | None = None

    # Indices --------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def one_position(self) -> bool:
        """Whether every batch row has a single query position."""

    @property
    @abstractmethod
    def run_axis(self) -> str:
        """The axis on which neighbouring rows of a step follow each other."""

    @property
    def one_batch_row(self) -> bool:
        """Whether the rows of a task are of one batch row."""
        return True

    @property
    def batch(self) -> Symbol:
        """The batch row of a row."""
        return BATCH

    @property
    @abstractmethod
    def position(self) -> Expr:
        """The query position of a row."""

    def indices(self) -> dict[str, Expr]:
        """What the index symbols of the spec are for the running row."""
        return {"b": self.batch, "n": HEAD, "i": self.position}

    @abstractmethod
    def task_positions(self) -> tuple[Expr, Expr]:
        """The first and the last query position of the task."""

    @abstractmethod
    def step_positions(self) -> tuple[Expr, Expr]:
        """The first and the last query position of the vector step."""

    def positions_of(self, first: Expr, last: Expr) -> tuple[Expr, Expr] | None:
        """The query positions of rows ``first`` and ``last`` of the task; None where all have the same."""
        return None

    def positions_of_step(self, emit: Emitter) -> Expr:
        """Query positions of a vector step, at most."""
        return emit.rows_per_step

    def list_entry(self) -> Expr | None:
        """The scalar that names the tensor of a list with the task's keys, where tasks are made by it."""
        return None

    def in_flight(self, items: Expr, next_item: Expr) -> RowSpace:
        """The rows where so many items are in flight; ``next_item``: which of them comes next."""
        return self

    # Tasks ----------------------------------------------------------------------------------------------

    def sizes_differ(self, emit: Emitter) -> bool:
        """Whether the last tasks may have fewer rows than those before."""
        return False

    def tasks(self, emit: Emitter) -> Symbol:
        """The number of tasks, with the tiling fields it is made of."""
        rows, tasks = self.task_sizes(emit, self.heads_per_task(emit))
        note = emit.inventory.host_number if emit.joint else emit.inventory.field
        note(emit.label(ROWS_PER_TASK), rows, ROWS_OF_SLOT)
        return emit.inventory.field(emit.label("tasks"), tasks, "units of work before keys are split")

    @abstractmethod
    def task_sizes(self, emit: Emitter, heads: Expr) -> tuple[Expr, Expr]:
        """The rows of a task at most, and how many tasks there are, for the host; ``heads``: of a task."""

    def heads_per_task(self, emit: Emitter) -> Expr:
        """Query heads of a task at most, with the tiling fields that cut the heads into tasks."""
        add, extents = emit.inventory.field, emit.signature.extents
        add("kvHeads", extents["K"], "key/value heads")
        add("group", extents["N"] // extents["K"], "query heads of a key/value head")
        most = minimum(tiling_field_ref("group"), emit.max_rows)
        add("headsPerTask", most, "query heads of a task, at most")
        heads = tiling_field_ref("headsPerTask")
        tiles = ceil_div(tiling_field_ref("group"), heads)
        add("headTiles", tiles, "tasks that share the query heads of a key/value head")
        return heads

    def tasks_of_same_keys(self) -> Expr:
        """How many tasks that follow each other have the same keys, at most, in the kernel."""
        return tiling_scalar("headTiles")

    def rows_per_task(self, emit: Emitter) -> Expr:
        """Rows of a task at most, in the kernel; those of a slot of the rings."""
        return tiling_scalar(emit.loop_label(ROWS_PER_TASK))

    @abstractmethod
    def enter(self, emit: Emitter) -> list[Statement]:
        """The scalars of task ``task``: batch row, heads, positions, rows."""

    def enter_heads(self, outer: Expr, outermost: Symbol) -> list[Statement]:
        """The heads of a task, and what remains of its number ``outer`` without them, as ``outermost``."""
        group, per_task, head_tiles, kv_heads = (
            tiling_scalar(name) for name in ("group", "headsPerTask", "headTiles", "kvHeads")
        )
        return [
            Let(symbol=_HEAD_TILE, value=outer % head_tiles, why=_NEIGHBOURS),
            Let(symbol=KV_HEAD, value=outer // head_tiles % kv_heads),
            Let(symbol=outermost, value=outer // (head_tiles * kv_heads)),
            Let(symbol=FIRST_HEAD, value=KV_HEAD * group + _HEAD_TILE * per_task),
            Let(symbol=HEADS, value=minimum(per_task, group - _HEAD_TILE * per_task)),
        ]

    def enter_rows(self, rows: Expr) -> list[Statement]:
        """The number of the task's rows, and the fractals that they fill."""
        return [
            Let(symbol=TASK_ROWS, value=rows),
            Let(symbol=ROW_FRACTALS, value=ceil_div(TASK_ROWS, FRACTAL_SIZE)),
        ]

    @abstractmethod
    def may_be_empty(self) -> bool:
        """Whether a task can have no rows."""

    def rows_of_this_aiv(self, emit: Emitter) -> list[Statement]:
        """The rows of the task that this AIV works on."""
        half = Symbol("rowsPerCore")
        return [
            Let(symbol=half, value=self.rows_per_core(emit)),
            Let(symbol=ROW_BEGIN, value=minimum(SUB_BLOCK * half, TASK_ROWS)),
            Let(symbol=ROWS, value=minimum(half, TASK_ROWS - ROW_BEGIN)),
        ]

    def rows_per_core(self, emit: Emitter) -> Expr:
        """The rows of the task that one vector core works on, at most."""
        return ceil_div(TASK_ROWS, VECTOR_CORES)

    # Rows in L1 -----------------------------------------------------------------------------------------

    def load_query(self, emit: Emitter, target: Buffer) -> Statement:
        """The task's query rows to L1 in Nz, the scaled ones where queries are scaled."""
        plain = self.load_rows(emit, target, emit.parameter(self.query.name))
        if self.scaled is None:
            return plain
        scaled = self.load_rows(emit, target, self.scaled.tensor(emit))
        return If(condition=self.scaled.is_scaled(emit), then=seq(scaled), otherwise=seq(plain))

    @abstractmethod
    def load_rows(self, emit: Emitter, target: Buffer, tensor: GlobalTensor) -> Statement:
        """The task's rows of a tensor that is stored as queries are, to L1 in Nz."""

    def load_heads(
        self, emit: Emitter, target: Buffer, tensor: GlobalTensor, dim: Expr, at: Expr, offset: Expr
    ) -> Statement:
        """The task's heads of one position, ``dim`` columns of each, as rows ``at`` and on in L1."""
        name, padded_rows = self.query.name, ROW_FRACTALS * FRACTAL_SIZE
        segment = RowSegment(tensor, at, HEADS, offset, emit.stride(name, "N"))
        if not self.heads_are_neighbours(emit):
            return load_matrix(emit, target, segment, padded_rows, Const(0), dim)
        source = tensor.region(offset, HEADS, dim, segment.pitch)  # heads side by side: a short pitch
        place = target.region(at * fractal_depth(target.dtype))
        return LoadNz(dst=place, src=source, padded_rows=padded_rows, where=self.where)

    def heads_are_neighbours(self, emit: Emitter) -> bool:
        """Whether the query heads of a position lie side by side, in each layout."""
        layouts = emit.signature.layouts[self.query.name].strides
        return all(each.get("N", Const(0)).same(emit.signature.extents["D"]) for each in layouts)

    # Rows in global memory --------------------------------------------------------------------------------

    def offset(self, emit: Emitter, tensor: str, head: Expr, query: Expr) -> Expr:
        """Elements from the start of a tensor to the row of a query head at a query position."""
        at = self.coordinates(head, query)
        total: Expr = Const(0)
        for axis in _AXES:
            if axis in at and not at[axis].same(Const(0)) and emit.has_stride(tensor, axis):
                total = total + at[axis] * emit.stride(tensor, axis)
        return total

    def coordinates(self, head: Expr, query: Expr) -> dict[str, Expr]:
        """Where the row of a query head at a query position is, by axis."""
        return {"B": self.batch, "N": head, "K": KV_HEAD, "Q": query}

    def has_nonzero_stride(self, emit: Emitter, tensor: str, within: str = "") -> bool:
        """Whether a tensor has a nonzero stride on the axis of runs, in each of its layouts.

        ``within``: layouts without this axis do not count.
        """
        layouts = emit.signature.layouts[tensor].strides
        counted = [each for each in layouts if not within or _moves(each, within)]
        return all(_moves(each, self.run_axis) for each in counted)

    def place(self, emit: Emitter, tensor: str, run: RowRun, cols: Expr) -> GlobalRegion:
        """The rows of a run in a tensor."""
        offset = self.offset(emit, tensor, HEAD, self.position)
        pitch: Expr = Const(0)
        if not run.rows.same(Const(1)):
            pitch = run.pitch(lambda axis: emit.stride(tensor, axis))
        return emit.gm(tensor, offset, run.rows, cols, pitch)

    # Loops over the rows of a vector step -----------------------------------------------------------------

    def first_of_step(self) -> list[Statement]:
        """Where the first row of a vector step stands."""
        return []

    def each_run(
        self, body: Callable[[RowRun], Statement], touched: tuple[Buffer, ...] = (), *, spread: bool = True
    ) -> Seq:
        """``body`` for every run of the step's rows, with the indices of its first row defined.

        ``touched``: the buffers of which different rows touch different elements. ``spread``: whether the
        rows of a run are rows of their own where they are stored; else each row is a run.
        """

        def by_row() -> For:
            return self.each_row(lambda at: body(RowRun(at, Const(1), "N")), touched)

        return self.runs(body, by_row) if spread else seq(by_row())

    def length_of_stored_runs(self) -> list[Statement]:
        """What stands in front of a loop over steps whose rows are stored."""
        return []

    def each_stored_run(self, body: Callable[[RowRun], Statement]) -> Seq:
        """``body`` for every run of the step's rows, each of which is stored in a place of its own."""
        return self.each_run(body)

    def each_of_length(self, length: Expr, body: Callable[[RowRun], Statement], whole: RowRun) -> Seq:
        """``body`` for every run of the step's rows, where the task is made of runs of so many rows.

        ``whole``: the step as a run, whose pitch all have.
        """
        first = ROW_BEGIN + R0
        run = seq(
            Let(symbol=ROW, value=maximum(0, _RUN * length - first)),
            Let(symbol=_RUN_ROWS, value=minimum(STEP_ROWS, (_RUN + 1) * length - first) - ROW),
            *self.enter_row(first + ROW),
            body(replace(whole, row=ROW, rows=_RUN_ROWS)),
        )
        end = ceil_div(first + STEP_ROWS, length)
        return seq(For(var=_RUN, begin=first // length, end=end, body=run, runs=True))

    @abstractmethod
    def runs(self, body: Callable[[RowRun], Statement], by_row: Callable[[], For]) -> Seq:
        """``body`` for every run of the step's rows; ``by_row``: the loop in which each row is a run."""

    def each_row(self, body: Callable[[Expr], Statement], touched: tuple[Buffer, ...] = ()) -> For:
        """``body`` for every row of the step, with its indices defined."""
        place = self.enter_row(ROW_BEGIN + R0 + ROW)
        return For(var=ROW, end=STEP_ROWS, body=seq(*place, body(ROW)), disjoint=touched, runs=True)

    @abstractmethod
    def enter_row(self, row: Expr) -> list[Statement]:
        """The indices of a row of the task."""

    # Numbers of rows, for partial results -----------------------------------------------------------------

    @abstractmethod
    def tokens(self, extents: Mapping[str, Expr]) -> Expr:
        """Query positions of all batch rows, for the host."""

    def row_total(self, emit: Emitter) -> Expr:
        """Result rows of the operator, for the host."""
        extents = emit.signature.extents
        return self.tokens(extents) * extents["N"]

    def flat_row_index(self, emit: Emitter, run: RowRun) -> tuple[Expr, Expr]:
        """The flat index of a run's first row among all result rows, and the distance to the next row."""
        heads = emit.host(emit.signature.extents["N"])
        return self.token(emit) * heads + HEAD, run.pitch(lambda axis: Const(1) if axis == "N" else heads)

    @abstractmethod
    def token(self, emit: Emitter) -> Expr:
        """The number of a row's token among those of all batch rows."""

    @abstractmethod
    def enter_token(self, emit: Emitter, token: Expr) -> list[Statement]:
        """The scalars of one token among all, instead of a task's."""

    def existing_queries(self, emit: Emitter) -> Expr | None:
        """Queries of a batch row that is padded to more; None where every position exists."""
        return None


def _moves(strides: Mapping[str, Expr], axis: str) -> bool:
    """Whether neighbours along an axis lie apart."""
    return not strides.get(axis, Const(0)).same(Const(0))
