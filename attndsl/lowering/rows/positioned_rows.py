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
    CHUNK,
    FIRST_HEAD,
    FIRST_QUERY,
    HEAD,
    HEADS,
    QUERIES,
    QUERY,
    R0,
    ROW_BEGIN,
    ROW_FRACTALS,
    TASK,
)
from attndsl.lowering.match.schedule_options import BAND_ROWS
from attndsl.lowering.rows.batch_extents import batch_count, packed_start
from attndsl.lowering.rows.row_space import RowRun, RowSpace
from attndsl.lowering.signature.host_scalars import CORES
from attndsl.tile.buffers import Buffer, GlobalTensor
from attndsl.tile.instructions import LoadNz
from attndsl.tile.instructions.cube import FRACTAL_SIZE
from attndsl.tile.program import tiling_field_ref, tiling_scalar
from attndsl.tile.statements import For, If, Let, Seq, Statement, seq

_QUERY_TILE, _QUERY_LENGTH = Symbol("queryTile"), Symbol("queryLength")
_FIRST_TOKEN, _POSITION = Symbol("firstToken"), Symbol("position")
_MOST_POSITIONS = 16
_WORTH = (8, 9)
"""Share of the rows, parts and whole, from which reading keys once for two bands of rows is worth more."""


def positions_per_core(rows: Named) -> Expr:
    """Query positions of a vector core that has all their heads, at most; ``rows``: of that core."""
    return minimum(rows, _MOST_POSITIONS)


@dataclass(frozen=True, kw_only=True)
class PositionedRows(RowSpace):
    """The heads of some neighbouring positions of one batch row.

    Attributes:
        valid: queries of each batch row, None for all.
        whole_positions: a vector core has all heads of its positions.
    """

    valid: nodes.Node | None
    whole_positions: bool = False

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
        return FIRST_QUERY + row // HEADS, FIRST_QUERY + (row + CHUNK - 1) // HEADS

    def query_count(self, emit: Emitter) -> Expr:
        """Queries of the batch row."""
        longest = emit.host(emit.signature.extents["Q"], "query positions of the longest batch row")
        return batch_count(emit, self.valid, longest)

    # Tasks ----------------------------------------------------------------------------------------------

    def task_sizes(self, emit: Emitter, heads: Expr) -> tuple[Expr, Expr]:
        add, extents = emit.inventory.field, emit.signature.extents
        queries = self._positions_of_rows(emit.max_rows, heads)
        if emit.schedule.max_rows > BAND_ROWS and emit.schedule.task_rows == "even":
            queries = self._fewer_if_even(extents, heads, queries)
        if self.whole_positions:
            queries = emit.architecture.aiv_per_aic * self._positions_per_core(emit, heads)
        add("queriesPerTask", queries, "query positions of a task, at most")
        tiles = ceil_div(extents["Q"], tiling_field_ref("queriesPerTask"))
        add("queryTiles", tiles, "tasks that share the query positions of a batch row")
        tasks = (
            extents["B"]
            * tiling_field_ref("kvHeads")
            * tiling_field_ref("headTiles")
            * tiling_field_ref("queryTiles")
        )
        return heads * tiling_field_ref("queriesPerTask"), tasks

    def _positions_of_rows(self, rows: Expr, heads: Expr) -> Expr:
        return maximum(1, rows // maximum(heads, 1))

    def _fewer_if_even(self, extents: Mapping[str, Expr], heads: Expr, most: Expr) -> Expr:
        """``most`` positions a task, or those of one band of rows.

        One band, if there are fewer tasks of more than cores, or if it evens out the cores: the busiest has
        less than ``_WORTH`` of the rows then.
        """
        fewer = self._positions_of_rows(Const(BAND_ROWS), heads)

        def tasks(positions: Expr) -> Expr:
            return extents["B"] * extents["K"] * ceil_div(extents["Q"], positions)

        def busiest(positions: Expr) -> Expr:
            return ceil_div(tasks(positions), CORES) * positions

        parts, whole = _WORTH
        uneven = (tasks(most) < CORES) | (busiest(fewer) * whole < busiest(most) * parts)
        return select(uneven, fewer, most)

    def _positions_per_core(self, emit: Emitter, heads: Expr) -> Expr:
        """As many as a vector core holds with all their heads, fewer where cores would be idle."""
        rows, extents = emit.rows_per_vector, emit.signature.extents
        held = maximum(1, minimum(positions_per_core(rows), rows // maximum(heads, 1)))
        even = ceil_div(self.tokens(extents) * extents["K"], emit.architecture.aiv_per_aic * CORES)
        return minimum(held, maximum(1, even))

    def enter(self, emit: Emitter) -> list[Statement]:
        query_tiles, per_task = tiling_scalar("queryTiles"), tiling_scalar("queriesPerTask")
        return [
            Let(symbol=_QUERY_TILE, value=TASK % query_tiles),
            *self.enter_heads(TASK // query_tiles, BATCH),
            Let(symbol=_QUERY_LENGTH, value=self.query_count(emit), where=self.where),
            Let(symbol=FIRST_QUERY, value=_QUERY_TILE * per_task),
            Let(symbol=QUERIES, value=maximum(0, minimum(per_task, _QUERY_LENGTH - FIRST_QUERY))),
            *self.enter_rows(HEADS * QUERIES),
        ]

    def may_be_empty(self) -> bool:
        return True

    def rows_per_core(self, emit: Emitter) -> Expr:
        if self.whole_positions:
            return ceil_div(QUERIES, emit.architecture.aiv_per_aic) * HEADS
        return super().rows_per_core(emit)

    # Rows -----------------------------------------------------------------------------------------------

    def load_rows(self, emit: Emitter, target: Buffer, tensor: GlobalTensor) -> Statement:
        """Of one head in one copy; else position by position."""
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
        fits = (HEADS == 1) & (pitch <= emit.architecture.max_nd2nz_pitch)
        return If(condition=fits, then=seq(one_head), otherwise=seq(by_position))

    def runs(self, body: Callable[[RowRun], Statement], by_row: Callable[[], For]) -> Seq:
        """Positions of one head are a run; of several heads each row is one."""
        same_head = seq(
            Let(symbol=HEAD, value=FIRST_HEAD),
            Let(symbol=QUERY, value=FIRST_QUERY + (ROW_BEGIN + R0)),
            body(RowRun(Const(0), CHUNK, self.run_axis)),
        )
        return seq(If(condition=HEADS == 1, then=same_head, otherwise=seq(by_row())))

    def enter_row(self, row: Expr) -> list[Statement]:
        return [
            Let(symbol=HEAD, value=FIRST_HEAD + row % HEADS),
            Let(symbol=QUERY, value=FIRST_QUERY + row // HEADS),
        ]

    @abstractmethod
    def tokens(self, extents: Mapping[str, Expr]) -> Expr:
        """Query positions of all batch rows, for the host."""


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

    def token(self, emit: Emitter) -> Expr:
        return _FIRST_TOKEN + QUERY

    def enter_token(self, emit: Emitter, token: Expr) -> list[Statement]:
        return [Let(symbol=_FIRST_TOKEN, value=token), Let(symbol=QUERY, value=Const(0))]


def _positions(emit: Emitter) -> Expr:
    return emit.host(emit.signature.extents["Q"], stem="positions")
