"""Rows of batch rows that have one query position each: row r of a task is head ``firstHead + r``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from attndsl.expr import Const, Expr
from attndsl.lowering.emit.emitter import Emitter
from attndsl.lowering.emit.loop_scalars import BATCH, FIRST_HEAD, HEAD, HEADS, R0, ROW_BEGIN, STEP_ROWS, TASK
from attndsl.lowering.rows.row_space import RowRun, RowSpace
from attndsl.tile.buffers import Buffer, GlobalTensor
from attndsl.tile.program import tiling_field_ref
from attndsl.tile.statements import For, Let, Seq, Statement, seq


@dataclass(frozen=True, kw_only=True)
class DecodingRows(RowSpace):
    """The heads of one position; a task is a batch row and some of its heads."""

    @property
    def one_position(self) -> bool:
        return True

    @property
    def run_axis(self) -> str:
        return "N"

    @property
    def position(self) -> Const:
        return Const(0)

    def task_positions(self) -> tuple[Expr, Expr]:
        return Const(0), Const(0)

    def step_positions(self) -> tuple[Expr, Expr]:
        return Const(0), Const(0)

    # Tasks ----------------------------------------------------------------------------------------------

    def task_sizes(self, emit: Emitter, heads: Expr) -> tuple[Expr, Expr]:
        return heads, emit.signature.extents["B"] * tiling_field_ref("kvHeads") * tiling_field_ref(
            "headTiles"
        )

    def enter(self, emit: Emitter) -> list[Statement]:
        return [*self.enter_heads(TASK, BATCH), *self.enter_rows(HEADS)]

    def may_be_empty(self) -> bool:
        return False

    # Rows -----------------------------------------------------------------------------------------------

    def load_rows(self, emit: Emitter, target: Buffer, tensor: GlobalTensor) -> Statement:
        dim = emit.head_dim
        offset = self.offset(emit, self.query.name, FIRST_HEAD, self.position)
        return self.load_heads(emit, target, tensor, dim, Const(0), offset)

    def first_of_step(self) -> list[Statement]:
        return self.enter_row(ROW_BEGIN + R0)

    def runs(self, body: Callable[[RowRun], Statement], by_row: Callable[[], For]) -> Seq:
        return seq(body(RowRun(Const(0), STEP_ROWS, "N")))

    def enter_row(self, row: Expr) -> list[Statement]:
        return [Let(symbol=HEAD, value=FIRST_HEAD + row)]

    # Numbers of rows --------------------------------------------------------------------------------------

    def tokens(self, extents: Mapping[str, Expr]) -> Expr:
        return extents["B"]

    def token(self, emit: Emitter) -> Expr:
        return self.batch

    def enter_token(self, emit: Emitter, token: Expr) -> list[Statement]:
        return [Let(symbol=BATCH, value=token)]
