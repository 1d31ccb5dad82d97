"""Caches as sources of keys and values: rings, windows, and rows that the call itself appends.

Appended rows are read where the call passes them, never from the cache: what is written to a linear cache is
read by no core, so that the write needs no order with the reads (append_rows.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from attndsl.graph import nodes
from attndsl.schedule.context import BATCH, FIRST_KEY, KV_HEAD, Context
from attndsl.schedule.errors import NotLowered
from attndsl.schedule.key_source import (
    Contiguous,
    KeySource,
    Piece,
    Turn,
    batch_scalar,
    load_matrix,
    pieces_by_turn,
)
from attndsl.symbolic import Const, Expr, Symbol, maximum, minimum
from attndsl.tile.buffers import Buffer
from attndsl.tile.statements import If, Let, Statement, seq

Of = Callable[[nodes.Rows, str], KeySource]
"""Gives the source of a graph node in a role."""

_TURN = Symbol("turn")


@dataclass(frozen=True, kw_only=True)
class RingRows(KeySource):
    """Row t in row ``t % size`` of another source."""

    inner: Contiguous
    size: Expr

    def enter(self, context: Context) -> list[Statement]:
        return self.inner.enter(context)

    def capacity(self, context: Context) -> Expr:
        return self.inner.capacity(context)

    def pieces(
        self,
        context: Context,
        n0: Expr,
        rows: Expr,
        body: Callable[[Piece], Statement],
        touched: tuple[Buffer, ...],
    ) -> Statement:
        pitch = context.stride(self.name, self.rows_axis)
        turn = Turn(_TURN, self.rows_of_turn(context), row_start(context, self.inner), pitch)
        return pieces_by_turn(turn, FIRST_KEY + n0, rows, body, touched, self.where)

    def rows_of_turn(self, context: Context) -> Expr:
        """Rows of the ring."""
        return context.host(self.size, "rows of a ring")


@dataclass(frozen=True, kw_only=True)
class AppendedRows(KeySource):
    """Rows of a cache below ``position``, rows that the call passes from there on."""

    cache: Contiguous | RingRows
    new: Contiguous
    position: nodes.Node

    @property
    def appended_at(self) -> Symbol:
        """The row at which the new ones begin."""
        return Symbol(f"{self.role}Position")

    def capacity(self, context: Context) -> Expr:
        return self.cache.capacity(context)

    def enter(self, context: Context) -> list[Statement]:
        position = batch_scalar(context, self.position, Const(0))
        return [
            *self.cache.enter(context),
            *self.new.enter(context),
            Let(symbol=self.appended_at, value=position, where=self.where),
        ]

    def locate(self, context: Context) -> list[Statement]:
        return [*self.cache.locate(context), *self.new.locate(context)]

    def pieces(
        self,
        context: Context,
        n0: Expr,
        rows: Expr,
        body: Callable[[Piece], Statement],
        touched: tuple[Buffer, ...],
    ) -> Statement:
        raise NotLowered("appended rows that are computed before they are read", self.where)

    def load(
        self, context: Context, target: Buffer, n0: Expr, rows: Expr, column: Expr, width: Expr
    ) -> Statement:
        old, passed = Symbol("cachedRows"), n0 - self.appended_at

        def part(source: KeySource, first: Expr, count: Expr, at: Expr) -> Statement:
            tensor = context.parameter(source.name)

            def to_l1(piece: Piece) -> Statement:
                placed = Piece(at + piece.at, piece.rows, piece.offset, piece.pitch)
                return load_matrix(target, tensor, placed, rows, column, width)

            return source.pieces(context, first, count, to_l1, (target,))

        return seq(
            Let(symbol=old, value=maximum(0, minimum(rows, self.appended_at - FIRST_KEY - n0))),
            If(condition=old > 0, then=seq(part(self.cache, n0, old, Const(0)))),
            If(condition=old < rows, then=seq(part(self.new, passed + old, rows - old, old))),
        )


@dataclass(frozen=True, kw_only=True)
class WindowRows(KeySource):
    """Some rows of another source, under their own numbers."""

    inner: KeySource
    start: nodes.Node

    def first(self, context: Context) -> Expr:
        return batch_scalar(context, self.start, Const(0))

    def capacity(self, context: Context) -> Expr:
        return self.inner.capacity(context)

    def enter(self, context: Context) -> list[Statement]:
        return self.inner.enter(context)

    def locate(self, context: Context) -> list[Statement]:
        return self.inner.locate(context)

    def pieces(
        self,
        context: Context,
        n0: Expr,
        rows: Expr,
        body: Callable[[Piece], Statement],
        touched: tuple[Buffer, ...],
    ) -> Statement:
        return self.inner.pieces(context, n0, rows, body, touched)

    def load(
        self, context: Context, target: Buffer, n0: Expr, rows: Expr, column: Expr, width: Expr
    ) -> Statement:
        return self.inner.load(context, target, n0, rows, column, width)


def row_start(context: Context, source: Contiguous) -> Expr:
    """Elements from the start of the tensor to row 0 of the batch row and head."""
    offset = source.fixed_offset(context) + KV_HEAD * context.stride(source.name, "K")
    if source.by_batch(context):
        return offset + BATCH * context.stride(source.name, "B")
    return offset + source.first_row * context.stride(source.name, source.rows_axis)


# ------------------------------------------------------------------------------------------------
# From graph nodes


def ring_rows(rows: nodes.Rows, role: str, key_source: Of) -> KeySource:
    """The source of a ring."""
    assert isinstance(rows, nodes.Ring)
    inner = key_source(rows.source, role)
    if not isinstance(inner, Contiguous):
        raise NotLowered(f"a ring over {type(rows.source).__name__}", rows.where)
    return RingRows(
        tensor=inner.tensor,
        rows_axis=inner.rows_axis,
        fixed=inner.fixed,
        valid=rows.length,
        role=role,
        where=rows.where,
        inner=inner,
        size=rows.size,
    )


def windowed_rows(rows: nodes.Rows, role: str, key_source: Of) -> KeySource:
    """The source of a window."""
    assert isinstance(rows, nodes.Windowed)
    inner = key_source(rows.source, role)
    return WindowRows(
        tensor=inner.tensor,
        rows_axis=inner.rows_axis,
        fixed=inner.fixed,
        valid=rows.length,
        role=role,
        where=rows.where,
        inner=inner,
        start=rows.start,
    )


def appended_rows(rows: nodes.Rows, role: str, key_source: Of) -> KeySource:
    """The source of a cache with appended rows."""
    assert isinstance(rows, nodes.CacheAppend)
    cache = key_source(rows.cache, role)
    new = key_source(rows.rows, f"new{role[:1].upper()}{role[1:]}")
    if not isinstance(cache, Contiguous | RingRows) or not isinstance(new, Contiguous):
        raise NotLowered(f"appending to {type(rows.cache).__name__}", rows.where)
    return AppendedRows(
        tensor=cache.tensor,
        rows_axis=cache.rows_axis,
        fixed=cache.fixed,
        valid=rows.length,
        role=role,
        where=rows.where,
        cache=cache,
        new=new,
        position=rows.position,
    )
