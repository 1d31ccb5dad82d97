"""Caches as sources of keys and values: rings, windows, and rows that the call itself appends.

Appended rows are read where the call passes them, never from the cache: what is written to a linear cache is
read by no core, so that the write needs no order with the reads (append_rows.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from attndsl.expr import Const, Expr, Symbol, maximum, minimum
from attndsl.graph import nodes
from attndsl.lowering.emit.emitter import Emitter
from attndsl.lowering.emit.loop_scalars import FIRST_KEY
from attndsl.lowering.keys.compositions import check_composition, check_new_rows
from attndsl.lowering.keys.key_source import KeySource, KeySourceAdapter
from attndsl.lowering.keys.stored_rows import Contiguous
from attndsl.lowering.match.stored_inputs import stored_plain
from attndsl.lowering.rows.batch_extents import batch_scalar
from attndsl.lowering.rows.row_segments import Page, RowSegment, ToSegment, segments_by_page
from attndsl.tile.buffers import Buffer
from attndsl.tile.statements import If, Let, Statement, seq

SourceOf = Callable[[nodes.Rows, str], KeySource]
"""Gives the source of a graph node in a role."""

_TURN, _OLD = Symbol("ringTurn"), Symbol("cachedRows")


@dataclass(frozen=True, kw_only=True)
class RingRows(KeySourceAdapter):
    """Row t in row ``t % size`` of another source."""

    inner: Contiguous
    size: Expr

    @property
    def wraps(self) -> bool:
        return True

    def segments(
        self, emit: Emitter, n0: Expr, rows: Expr, body: ToSegment, touched: tuple[Buffer, ...]
    ) -> Statement:
        tensor, start = emit.parameter(self.name), self.inner.row_offset(emit, Const(0))
        page = Page(tensor, _TURN, self.rows_of_turn(emit), start, self.inner.pitch(emit))
        return segments_by_page(page, FIRST_KEY + n0, rows, body, touched, self.where)

    def rows_of_turn(self, emit: Emitter) -> Expr:
        """Rows of the ring."""
        return emit.host(self.size, "rows of a ring")


@dataclass(frozen=True, kw_only=True)
class AppendedRows(KeySourceAdapter):
    """Rows of a cache below ``position``, rows that the call passes from there on."""

    inner: Contiguous | RingRows
    new: Contiguous
    position: nodes.Node

    @property
    def ring(self) -> RingRows | None:
        """The ring that rows are appended to; None where the cache is none."""
        return self.inner if isinstance(self.inner, RingRows) else None

    @property
    def cache(self) -> Contiguous:
        """The cache without its ring."""
        return self.inner.inner if isinstance(self.inner, RingRows) else self.inner

    @property
    def appended_at(self) -> Symbol:
        """The row at which the new ones begin."""
        return Symbol(f"{self.role}Position")

    def enter(self, emit: Emitter) -> list[Statement]:
        position = batch_scalar(emit, self.position, Const(0))
        both = [*self.inner.enter(emit), *self.new.enter(emit)]
        return [*both, Let(symbol=self.appended_at, value=position, where=self.where)]

    def locate(self, emit: Emitter) -> list[Statement]:
        return [*self.inner.locate(emit), *self.new.locate(emit)]

    def segments(
        self, emit: Emitter, n0: Expr, rows: Expr, body: ToSegment, touched: tuple[Buffer, ...]
    ) -> Statement:
        def behind_old(segment: RowSegment) -> Statement:
            return body(replace(segment, at=_OLD + segment.at))

        first_new = n0 + _OLD - self.appended_at
        old = self.inner.segments(emit, n0, _OLD, body, touched)
        new = self.new.segments(emit, first_new, rows - _OLD, behind_old, touched)
        return seq(
            Let(symbol=_OLD, value=maximum(0, minimum(rows, self.appended_at - FIRST_KEY - n0))),
            If(condition=_OLD > 0, then=seq(old)),
            If(condition=rows > _OLD, then=seq(new)),
        )


@dataclass(frozen=True, kw_only=True)
class WindowRows(KeySourceAdapter):
    """Some rows of another source, under their own numbers."""

    start: nodes.Node

    def load(
        self, emit: Emitter, target: Buffer, n0: Expr, rows: Expr, column: Expr, width: Expr
    ) -> Statement:
        return self.inner.load(emit, target, n0, rows, column, width)

    def first(self, emit: Emitter) -> Expr:
        return batch_scalar(emit, self.start, Const(0))


@dataclass(frozen=True, kw_only=True)
class SelectedRows(KeySourceAdapter):
    """The rows of another source in the blocks that a list names: a tile has rows of one block.

    Attributes:
        blocks: the lists, with an axis X. ``size``: rows of a block. ``count``: entries of each list that
            count, None for all.
        queries: query positions that share a list, of lists with an axis H.
    """

    blocks: nodes.Input
    size: Expr
    queries: Expr | None = None
    count: nodes.Input | None = None

    def load(
        self, emit: Emitter, target: Buffer, n0: Expr, rows: Expr, column: Expr, width: Expr
    ) -> Statement:
        return self.inner.load(emit, target, n0, rows, column, width)


# ------------------------------------------------------------------------------------------------
# From graph nodes


def selected_rows(rows: nodes.Rows, role: str, source: SourceOf) -> KeySource:
    """The source of selected blocks."""
    assert isinstance(rows, nodes.Selected)
    return SelectedRows(
        inner=source(rows.source, role),
        role=role,
        where=rows.where,
        blocks=stored_plain(rows.blocks),
        size=rows.size,
        queries=rows.queries,
        count=None if rows.count is None else stored_plain(rows.count),
    )


def ring_rows(rows: nodes.Rows, role: str, source: SourceOf) -> KeySource:
    """The source of a ring."""
    assert isinstance(rows, nodes.Ring)
    check_composition(rows, rows.source)
    inner = source(rows.source, role)
    assert isinstance(inner, Contiguous)
    return RingRows(inner=inner, valid=rows.length, role=role, where=rows.where, size=rows.size)


def windowed_rows(rows: nodes.Rows, role: str, source: SourceOf) -> KeySource:
    """The source of a window."""
    assert isinstance(rows, nodes.Windowed)
    inner = source(rows.source, role)
    return WindowRows(inner=inner, valid=rows.length, role=role, where=rows.where, start=rows.start)


def appended_rows(rows: nodes.Rows, role: str, source: SourceOf) -> KeySource:
    """The source of a cache with appended rows."""
    assert isinstance(rows, nodes.CacheAppend)
    check_composition(rows, rows.cache)
    check_new_rows(rows)
    cache = source(rows.cache, role)
    new = source(rows.rows, f"new{role[:1].upper()}{role[1:]}")
    assert isinstance(cache, Contiguous | RingRows) and isinstance(new, Contiguous)
    return AppendedRows(
        inner=cache, valid=rows.length, role=role, where=rows.where, new=new, position=rows.position
    )
