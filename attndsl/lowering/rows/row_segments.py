"""Segments of stored rows, queries or keys: rows at an even pitch, and the copies that bring them to L1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from attndsl.base.source_location import SourceLine
from attndsl.expr import Expr, Symbol, ceil_div, maximum, minimum
from attndsl.lowering.emit.emitter import Emitter
from attndsl.tile.buffers import Buffer, GlobalTensor
from attndsl.tile.instructions import LoadNz
from attndsl.tile.instructions.cube import fractal_depth, padded
from attndsl.tile.statements import For, If, Let, Statement, seq

_ROW = Symbol("row")


@dataclass(frozen=True, slots=True)
class RowSegment:
    """Rows at an even pitch.

    Attributes:
        tensor: where they are stored.
        at: the first of them, counted from the first row that was asked for. ``rows``: how many.
        offset: elements from the start of the tensor to it. ``pitch``: elements to the next row.
    """

    tensor: GlobalTensor
    at: Expr
    rows: Expr
    offset: Expr
    pitch: Expr


ToSegment = Callable[[RowSegment], Statement]
"""The statements for a segment."""


@dataclass(frozen=True, slots=True)
class Page:
    """Rows that are stored together, one of many runs of equal size: a page of a cache, a turn of a ring.

    Attributes:
        tensor: the tensor that holds it.
        index: the number of the running page, whose rows are ``index * size`` and on.
        start: elements to its first row. ``pitch``: elements from row to row.
    """

    tensor: GlobalTensor
    index: Symbol
    size: Expr
    start: Expr
    pitch: Expr


def segments_by_page(
    page: Page, first_row: Expr, rows: Expr, body: ToSegment, touched: tuple[Buffer, ...], where: SourceLine
) -> Statement:
    """``body`` for the segment of rows ``first_row .. first_row + rows - 1`` in each page."""
    index, size, first = page.index, page.size, Symbol("firstRow")
    begin, end, offset = (Symbol(index.name + part) for part in ("Begin", "End", "Offset"))
    one = seq(
        Let(symbol=begin, value=maximum(index * size, first)),
        Let(symbol=end, value=minimum(index * size + size, first + rows)),
        # The start of a page may be read from a table: once a page, not in each copy of it.
        Let(symbol=offset, value=page.start + (begin - index * size) * page.pitch),
        body(RowSegment(page.tensor, begin - first, end - begin, offset, page.pitch)),
    )
    turns = For(
        var=index,
        begin=first // size,
        end=ceil_div(first + rows, size),
        body=one,
        disjoint=touched,
        runs=True,
        where=where,
    )
    return seq(Let(symbol=first, value=first_row), turns)


def load_matrix(
    emit: Emitter, target: Buffer, segment: RowSegment, total_rows: Expr, column: Expr, width: Expr
) -> Statement:
    """A segment of a row-major matrix to L1; row by row where its pitch exceeds what one copy can express.

    ``total_rows``: rows of the whole matrix in L1.
    """
    offset, depth = segment.offset + column, fractal_depth(target.dtype)
    all_rows = LoadNz(
        dst=target.region(segment.at * depth),
        src=segment.tensor.region(offset, segment.rows, width, segment.pitch),
        padded_rows=padded(total_rows),
    )
    one_row = LoadNz(
        dst=target.region((segment.at + _ROW) * depth),
        src=segment.tensor.region(offset + _ROW * segment.pitch, 1, width, width),
        padded_rows=padded(total_rows),
    )
    by_row = For(var=_ROW, end=segment.rows, body=seq(one_row), disjoint=(target,), runs=True)
    limit = emit.architecture.max_nd2nz_pitch
    known = emit.is_at_most(segment.pitch, limit)
    if known is not None:
        return all_rows if known else by_row
    return If(condition=segment.pitch <= limit, then=seq(all_rows), otherwise=seq(by_row))
