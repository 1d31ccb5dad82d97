"""How loops over the rows of a step are asked for, by whoever computes with complete rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from attndsl.lowering.rows.row_space import RowRun
from attndsl.tile.buffers import Buffer
from attndsl.tile.statements import Seq, Statement


class EachRun(Protocol):
    """Calls ``body`` for every run of the rows that are complete; as :meth:`RowSpace.each_run`."""

    def __call__(
        self, body: Callable[[RowRun], Statement], touched: tuple[Buffer, ...] = (), *, spread: bool = True
    ) -> Seq: ...
