"""Rows of batch rows that have several query positions, padded to one number of them or packed.

Row r of a task is head ``firstHead + r % heads`` at position ``firstQuery + r // heads``: the heads of a
position lie side by side.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from attndsl.expr import Const, Expr, Named, Symbol, ceil_div, maximum, minimum, select
from attndsl.graph import nodes
from attndsl.lowering.emit.emitter import Emitter
from attndsl.lowering.emit.loop_scalars import (
    BATCH,
    FIRST_HEAD,
    FIRST_QUERY,
    HEAD,
    HEADS,
    QUERIES,
    QUERY,
    R0,
    ROW_BEGIN,
    ROW_FRACTALS,
    ROWS,
    STEP_ROWS,
)
from attndsl.lowering.rows.batch_extents import batch_count, packed_start
from attndsl.lowering.rows.position_tiles import HEAD_TASK, PER_TASK, PositionTiles, positions_of_rows
from attndsl.lowering.rows.row_space import RowRun, RowSpace
from attndsl.lowering.signature.host_scalars import CORES
from attndsl.tile.buffers import Buffer, GlobalTensor
from attndsl.tile.instructions import LoadNz
from attndsl.tile.instructions.cube import FRACTAL_SIZE
from attndsl.tile.instructions.units import VECTOR_CORES
from attndsl.tile.program import tiling_field_ref
from attndsl.tile.statements import For, If, Let, Note, Seq, Statement, seq

_QUERY_LENGTH = Symbol("queryLength")
_FIRST_TOKEN, _POSITION = Symbol("firstToken"), Symbol("position")
_RUN_LENGTH = Symbol("runLength")
_MOST_POSITIONS = 8
_POWERS = tuple(1 << power for power in range(1, 9))


def positions_per_core(rows: Named) -> Expr:
    """Query positions of a vector core that has all their heads, at most; ``rows``: of that core."""
    return minimum(rows, _MOST_POSITIONS)


@dataclass(frozen=True, kw_only=True)
class PositionedRows(RowSpace):
    """The heads of some neighbouring positions of one batch row.

    Attributes:
        halves: a task may have twice the rows that a step takes.
        valid: queries of each batch row, None for all.
        whole_positions: a vector core has all heads of its positions.
        alike: so many positions, from a multiple of it on, read the same keys, and a task has no others; None
            where all do.
    """

    valid: nodes.Node | None
    whole_positions: bool = False
    alike: Expr | None = None
    halves: bool = False

    @property
    def one_position(self) -> bool:
        return False

    @property
    def position(self) -> Symbol:
        return QUERY

    def task_positions(self) -> tuple[Expr, Expr]:
        return FIRST_QUERY, FIRST_QUERY + QUERIES - 1

    def step_positions(self) -> tuple[Expr, Expr]:
        row = ROW_BEGIN + R0
        return self.positions_of(row, row + STEP_ROWS - 1)

    def positions_of(self, first: Expr, last: Expr) -> tuple[Expr, Expr]:
        return FIRST_QUERY + first // HEADS, FIRST_QUERY + last // HEADS

    def positions_of_step(self, emit: Emitter) -> Expr:
        if self.whole_positions:
            return minimum(emit.rows_per_step, positions_per_core(emit.rows_per_vector))
        return emit.rows_per_step

    def query_count(self, emit: Emitter) -> Expr:
        """Queries of the batch row."""
        longest = _positions(emit)
        return batch_count(emit, self.valid, longest)

    # Tasks ----------------------------------------------------------------------------------------------

    def task_sizes(self, emit: Emitter, heads: Expr) -> tuple[Expr, Expr]:
        held = queries = positions_of_rows(emit.max_rows, heads)
        if self.whole_positions:
            queries = VECTOR_CORES * self._positions_per_core(emit, heads)
        if self.alike is not None:
            queries = _even_part(self.alike, queries)
        tiles = self._tiles(emit)
        tiles.add_fields(emit, heads, queries, self.uneven_tokens(emit.signature.extents))
        tasks = (
            emit.signature.extents["B"]
            * tiling_field_ref("kvHeads")
            * tiling_field_ref("headTiles")
            * tiling_field_ref(tiles.tiles)
        )
        rows = heads * tiling_field_ref(tiles.per_task)
        return (minimum(rows, heads * held) if self.halves else rows), tasks

    def _tiles(self, emit: Emitter) -> PositionTiles:
        several = emit.schedule.several_bands and emit.schedule.task_rows == "even"
        if self.alike is not None:
            return PositionTiles(mixed=False, attention_name=emit.attention_name)
        return PositionTiles(mixed=several and not self.whole_positions, halves=self.halves)

    def sizes_differ(self, emit: Emitter) -> bool:
        return self._tiles(emit).mixed

    def _positions_per_core(self, emit: Emitter, heads: Expr) -> Expr:
        """As many as a vector core holds with all their heads, fewer where cores would be idle."""
        rows, extents = emit.rows_per_vector, emit.signature.extents
        held = maximum(1, minimum(positions_per_core(rows), rows // maximum(heads, 1)))
        even = ceil_div(self.tokens(extents) * extents["K"], VECTOR_CORES * CORES)
        return minimum(held, maximum(1, even))

    def enter(self, emit: Emitter) -> list[Statement]:
        return [
            *self._tiles(emit).enter(emit),
            *self.enter_heads(HEAD_TASK, BATCH),
            Let(symbol=_QUERY_LENGTH, value=self.query_count(emit), where=self.where),
            Let(symbol=QUERIES, value=maximum(0, minimum(PER_TASK, _QUERY_LENGTH - FIRST_QUERY))),
            *self.enter_rows(HEADS * QUERIES),
        ]

    def may_be_empty(self) -> bool:
        return True

    def rows_per_core(self, emit: Emitter) -> Expr:
        if self.whole_positions:
            return ceil_div(QUERIES, VECTOR_CORES) * HEADS
        return super().rows_per_core(emit)

    # Rows -----------------------------------------------------------------------------------------------

    def load_rows(self, emit: Emitter, target: Buffer, tensor: GlobalTensor) -> Statement:
        """In one copy, position by position where pitches exceed its limits."""
        name, dim = self.query.name, emit.head_dim
        pitch = emit.stride(name, self.run_axis)
        first = self.offset(emit, name, FIRST_HEAD, FIRST_QUERY)
        one_head = LoadNz(
            dst=target.region(),
            src=tensor.region(first, QUERIES, dim, pitch),
            padded_rows=ROW_FRACTALS * FRACTAL_SIZE,
            where=self.where,
        )
        offset = self.offset(emit, name, FIRST_HEAD, FIRST_QUERY + _POSITION)
        one = seq(self.load_heads(emit, target, tensor, dim, _POSITION * HEADS, offset))
        by_position = For(var=_POSITION, end=QUERIES, body=one, disjoint=(target,), runs=True)
        fits = pitch <= emit.architecture.max_nd2nz_pitch
        several: Statement = by_position
        if self.heads_are_neighbours(emit):
            all_heads = LoadNz(
                dst=target.region(),
                src=tensor.region(first, HEADS, dim, emit.stride(name, "N")),
                padded_rows=ROW_FRACTALS * FRACTAL_SIZE,
                matrices=QUERIES,
                src_matrix_pitch=pitch,
                matrix_step=HEADS,
                where=self.where,
            )
            several = If(condition=fits, then=seq(all_heads), otherwise=seq(by_position))
        return If(condition=(HEADS == 1) & fits, then=seq(one_head), otherwise=seq(several))

    def runs(self, body: Callable[[RowRun], Statement], by_row: Callable[[], For]) -> Seq:
        """Positions of one head are a run; of several heads each row is one."""
        same_head = seq(
            Let(symbol=HEAD, value=FIRST_HEAD),
            Let(symbol=QUERY, value=FIRST_QUERY + (ROW_BEGIN + R0)),
            body(RowRun(Const(0), STEP_ROWS, self.run_axis)),
        )
        return seq(If(condition=HEADS == 1, then=same_head, otherwise=seq(by_row())))

    def length_of_stored_runs(self) -> list[Statement]:
        return [
            Note(text="rows are stored by runs: the positions of a single head, or the heads of each"),
            Let(symbol=_RUN_LENGTH, value=select(HEADS == 1, ROW_BEGIN + ROWS, HEADS)),
        ]

    def each_stored_run(self, body: Callable[[RowRun], Statement]) -> Seq:
        return self.each_of_length(
            _RUN_LENGTH, body, RowRun(Const(0), STEP_ROWS, self.run_axis, one_head=HEADS == 1)
        )

    def each_position(self, body: Callable[[RowRun], Statement]) -> For:
        """``body`` for the heads of each position of the task, a run of rows of the task."""
        run = RowRun(_POSITION * HEADS, HEADS, "N")
        place = (Let(symbol=HEAD, value=FIRST_HEAD), Let(symbol=QUERY, value=FIRST_QUERY + _POSITION))
        return For(var=_POSITION, end=QUERIES, body=seq(*place, body(run)), runs=True)

    def enter_row(self, row: Expr) -> list[Statement]:
        return [
            Let(symbol=HEAD, value=FIRST_HEAD + row % HEADS),
            Let(symbol=QUERY, value=FIRST_QUERY + row // HEADS),
        ]

    @abstractmethod
    def tokens(self, extents: Mapping[str, Expr]) -> Expr:
        """Query positions of all batch rows, for the host."""

    def uneven_tokens(self, extents: Mapping[str, Expr]) -> Expr | None:
        """The same where batch rows may have fewer than the longest, None where the host knows of none."""
        return None


@dataclass(frozen=True, kw_only=True)
class PaddedRows(PositionedRows):
    """Batch rows that are padded to one number of positions."""

    @property
    def run_axis(self) -> str:
        return "Q"

    def tokens(self, extents: Mapping[str, Expr]) -> Expr:
        return extents["B"] * extents["Q"]

    def token(self, emit: Emitter) -> Expr:
        return BATCH * _positions(emit) + QUERY

    def enter_token(self, emit: Emitter, token: Expr) -> list[Statement]:
        positions = _positions(emit)
        return [Let(symbol=BATCH, value=token // positions), Let(symbol=QUERY, value=token % positions)]

    def existing_queries(self, emit: Emitter) -> Expr | None:
        return None if self.valid is None else self.query_count(emit)


@dataclass(frozen=True, kw_only=True)
class PackedTokens(PositionedRows):
    """Tokens of all batch rows back to back.

    ``ends``: where those of each batch row end, None where ``valid`` says how many each has.
    """

    ends: nodes.Node | None

    @property
    def run_axis(self) -> str:
        return "S"

    def enter(self, emit: Emitter) -> list[Statement]:
        task = super().enter(emit)
        start = packed_start(emit, self.ends, self.valid, "Queries")
        return [*task, Let(symbol=_FIRST_TOKEN, value=start, where=self.where)]

    def coordinates(self, head: Expr, query: Expr) -> dict[str, Expr]:
        return {**super().coordinates(head, query), "S": _FIRST_TOKEN + query}

    def tokens(self, extents: Mapping[str, Expr]) -> Expr:
        return extents["S"]

    def uneven_tokens(self, extents: Mapping[str, Expr]) -> Expr:
        return self.tokens(extents)

    def token(self, emit: Emitter) -> Expr:
        return _FIRST_TOKEN + QUERY

    def enter_token(self, emit: Emitter, token: Expr) -> list[Statement]:
        return [Let(symbol=_FIRST_TOKEN, value=token), Let(symbol=QUERY, value=Const(0))]


def _even_part(whole: Expr, most: Expr) -> Expr:
    """The largest power of two that divides ``whole``, ``most`` or less."""
    part: Expr = Const(1)
    for power in _POWERS:
        part = select((whole % power == 0) & (most >= power), power, part)
    return part


def _positions(emit: Emitter) -> Expr:
    return emit.host(emit.signature.extents["Q"])
