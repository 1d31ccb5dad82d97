"""Rows that are read as a tensor stores them: caches, packed rows, lists of tensors, pages."""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.expr import Const, Expr, Select, Symbol, maximum, select
from attndsl.graph import nodes
from attndsl.lowering.emit.emitter import Emitter
from attndsl.lowering.emit.loop_scalars import BATCH, FIRST_KEY, KV_HEAD, own_rows
from attndsl.lowering.keys.key_source import KeySource
from attndsl.lowering.rows.batch_extents import batch_scalar, packed_start
from attndsl.lowering.rows.row_segments import Page, RowSegment, ToSegment, segments_by_page
from attndsl.spec.contract.layout import largest_of
from attndsl.tile.buffers import Buffer
from attndsl.tile.statements import Let, PickTensor, Statement

_PAGE = Symbol("page")


@dataclass(frozen=True, kw_only=True)
class StoredRows(KeySource):
    """Rows of one tensor.

    Attributes:
        tensor: the stored tensor. ``fixed``: indices of axes that are fixed, such as the layer of a cache.
        rows_axis: the axis along which rows are stored.
        valid: valid rows of each batch row, None for all of them.
    """

    tensor: nodes.Input
    rows_axis: str
    valid: nodes.Node | None
    fixed: tuple[tuple[str, Expr], ...] = ()

    @property
    def name(self) -> str:
        return self.tensor.name

    def capacity(self, emit: Emitter) -> Expr:
        own = emit.signature.layouts[self.name].own
        return own.get(self.rows_axis, emit.signature.extents[self.rows_axis])

    def valid_rows(self, emit: Emitter) -> Expr:
        return self.rows_or_all(emit, self.valid)

    def pitch(self, emit: Emitter) -> Expr:
        """Elements between neighbouring rows."""
        return emit.stride(self.name, self.rows_axis)

    def fixed_offset(self, emit: Emitter) -> Expr:
        """Elements to the part of the tensor that the fixed indices name."""
        offset: Expr = Const(0)
        for axis, index in self.fixed:
            offset = offset + emit.in_kernel(index) * emit.stride(self.name, axis)
        return offset


@dataclass(frozen=True, kw_only=True)
class Contiguous(StoredRows):
    """All rows of a batch row at an even pitch."""

    @property
    def tile_start(self) -> Symbol:
        """Elements to the first row of the running tile."""
        return Symbol(f"{self.role}Tile")

    @property
    def row_zero(self) -> Expr:
        """The row of the tensor in which row 0 of the batch row is."""
        return Const(0)

    def head_offset(self, emit: Emitter) -> Expr:
        """Elements to the part of the tensor that has the rows of the key/value head."""
        return self.fixed_offset(emit) + KV_HEAD * emit.stride(self.name, "K")

    def row_offset(self, emit: Emitter, row: Expr) -> Expr:
        """Elements to a row of the batch row and key/value head."""
        return self.head_offset(emit) + (self.row_zero + row) * self.pitch(emit)

    def locate(self, emit: Emitter) -> list[Statement]:
        return [Let(symbol=self.tile_start, value=self.row_offset(emit, FIRST_KEY), where=self.where)]

    def segments(
        self, emit: Emitter, n0: Expr, rows: Expr, body: ToSegment, touched: tuple[Buffer, ...]
    ) -> Statement:
        pitch = self.pitch(emit)
        offset = self.tile_start + n0 * pitch
        return body(RowSegment(emit.parameter(self.name), Const(0), rows, offset, pitch))


@dataclass(frozen=True, kw_only=True)
class DenseRows(Contiguous):
    """A cache with a part for each batch row. ``start``: the first valid row of each, None for row 0."""

    start: nodes.Node | None = None

    def head_offset(self, emit: Emitter) -> Expr:
        inner = super().head_offset(emit)
        return BATCH * emit.stride(self.name, "B") + inner

    def first(self, emit: Emitter) -> Expr | None:
        return None if self.start is None else batch_scalar(emit, self.start, Const(0))

    def valid_rows(self, emit: Emitter) -> Expr:
        """Valid rows of the batch row: none if one of them would lie outside the tensor."""
        valid, first = super().valid_rows(emit), self.first(emit)
        if first is None:
            return valid
        capacity = emit.host(self.capacity(emit), stem=emit.label("keyCapacity"))
        return select((first < 0) | (first + valid > capacity), 0, valid)


@dataclass(frozen=True, kw_only=True)
class PackedRows(Contiguous):
    """Rows of all batch rows back to back. ``ends``: where those of each end, or lengths are given."""

    ends: nodes.Node | None = None

    @property
    def row_zero(self) -> Symbol:
        return Symbol(f"{self.role}Start")

    def enter(self, emit: Emitter) -> list[Statement]:
        start = packed_start(emit, self.ends, self.valid)
        return [Let(symbol=self.row_zero, value=start, where=self.where)]


@dataclass(frozen=True, kw_only=True)
class ListedRows(Contiguous):
    """Rows in a tensor of a list: that of the batch row, or the one that ``index`` names.

    Attributes:
        index: the tensor of each batch row, None for one a batch row; negative: the batch row takes no part.
        task_entry: the scalar that names the tensor, where tasks are made by it; None where they are not.
    """

    index: nodes.Node | None = None
    task_entry: Expr | None = None

    @property
    def entry(self) -> Symbol:
        """The number of the tensor that the task reads."""
        return Symbol(f"{self.role}Entry")

    def head_offset(self, emit: Emitter) -> Expr:
        inner = super().head_offset(emit)
        if emit.parameter(self.name).listed:
            return inner
        return self._entry(emit) * emit.stride(self.name, self.tensor.axes[0]) + inner

    def enter(self, emit: Emitter) -> list[Statement]:
        if not emit.parameter(self.name).listed:
            return []
        rows = emit.rows_of_entry(self.name, self._entry(emit))
        own = [] if rows is None else [Let(symbol=own_rows(self.name), value=rows, where=self.where)]
        return [Let(symbol=self.entry, value=self._entry(emit), where=self.where), *own]

    def locate(self, emit: Emitter) -> list[Statement]:
        """A tile picks its tensor itself: tiles of several tasks may be in flight at once."""
        tensor, found = emit.parameter(self.name), super().locate(emit)
        if not tensor.listed:
            return found
        return [PickTensor(tensor=tensor, index=self.entry, where=self.where), *found]

    def all_rows(self, emit: Emitter) -> Expr:
        own = emit.rows_of_entry(self.name, self._entry(emit))
        return super().all_rows(emit) if own is None else own

    def has_rows(self, emit: Emitter) -> Expr | None:
        return None if self.index is None else batch_scalar(emit, self.index, BATCH) >= 0

    def valid_rows(self, emit: Emitter) -> Expr:
        """Valid rows of the batch row, none without a tensor."""
        valid = super().valid_rows(emit)
        if self.index is None:
            return valid
        index = batch_scalar(emit, self.index, BATCH)

        def of_tensor(node: Expr) -> Expr | None:
            """What a length is that asks for a tensor itself."""
            return node.then if isinstance(node, Select) and node.condition.same(index >= 0) else None

        return select(index < 0, 0, valid.mapped(of_tensor))

    def _entry(self, emit: Emitter) -> Expr:
        """Which tensor of the list the batch row reads, the first where it reads none."""
        if self.task_entry is not None:
            return self.task_entry
        if self.index is None:
            return BATCH
        return maximum(batch_scalar(emit, self.index, BATCH), 0)


@dataclass(frozen=True, kw_only=True)
class PagedRows(StoredRows):
    """Rows in pages of ``size``, rows of a page at an even pitch.

    Attributes:
        size: rows of a page.
        table: axes (B, W), the page in which rows ``w * size`` and on of a batch row are.
    """

    size: Expr
    table: nodes.Input

    def capacity(self, emit: Emitter) -> Expr:
        own, extents = emit.signature.layouts[self.table.name].own, emit.signature.extents
        if "W" in own:
            return own["W"] * self.size
        return extents["W"] * self.size if largest_of(extents["T"]) and "W" in extents else extents["T"]

    def segments(
        self, emit: Emitter, n0: Expr, rows: Expr, body: ToSegment, touched: tuple[Buffer, ...]
    ) -> Statement:
        size = emit.host(self.size, "rows of a block")
        start = self._block_start(emit)
        page = Page(emit.parameter(self.name), _PAGE, size, start, self.pitch(emit))
        return segments_by_page(page, FIRST_KEY + n0, rows, body, touched, self.where)

    def _block_start(self, emit: Emitter) -> Expr:
        """Elements to the first row of page ``page`` of the batch row."""
        entry = emit.entry(self.table.name, BATCH * emit.stride(self.table.name, "B") + _PAGE)
        offset = entry * emit.stride(self.name, "P") + KV_HEAD * emit.stride(self.name, "K")
        return self.fixed_offset(emit) + offset
