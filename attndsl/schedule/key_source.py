"""Where the rows of keys and values are: for a key tile, the copies that bring a block of it to L1.

A class for each way of storing rows; key_sources.py has the table of graph nodes. A source knows nothing of
what is computed with its rows; it tells how many a batch row has, and where rows ``[n0, n0 + rows)`` of the
running tile lie.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from attndsl.folds import Fold
from attndsl.graph import nodes
from attndsl.hardware import ATLAS_A2
from attndsl.schedule.context import BATCH, FIRST_KEY, KV_HEAD, Context
from attndsl.schedule.errors import NotLowered
from attndsl.source_line import SourceLine
from attndsl.symbolic import Const, Expr, Load, Symbol, ceil_div, maximum, minimum, round_up, select
from attndsl.tile.buffers import Buffer, GlobalTensor
from attndsl.tile.instructions import LoadNz
from attndsl.tile.instructions.cube import fractal_depth, padded
from attndsl.tile.statements import For, If, Let, PickTensor, Stage, Statement, seq

_ROW, _PAGE = Symbol("row"), Symbol("page")
_BEFORE = Symbol("b")


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows at an even pitch.

    Attributes:
        at: the first of them, counted from the first row that was asked for. ``rows``: how many.
        offset: elements from the start of the tensor to it. ``pitch``: elements to the next row.
    """

    at: Expr
    rows: Expr
    offset: Expr
    pitch: Expr


@dataclass(frozen=True, kw_only=True)
class KeySource(ABC):
    """Keys or values of one attention.

    Attributes:
        tensor: the stored tensor. ``fixed``: indices of axes that are fixed, such as the layer of a cache.
        rows_axis: the axis along which rows are stored.
        valid: valid rows of each batch row, None for all of them.
        role: "key" or "value", for names.
    """

    tensor: nodes.Input
    rows_axis: str
    valid: nodes.Node | None
    role: str
    where: SourceLine
    fixed: tuple[tuple[str, Expr], ...] = ()

    @property
    def name(self) -> str:
        """The tensor's name."""
        return self.tensor.name

    @property
    def tile_start(self) -> Symbol:
        """The scalar that says where the running tile is."""
        return Symbol(f"{self.role}Tile")

    def capacity(self, context: Context) -> Expr:
        """Rows that a batch row can have, for the host."""
        return context.problem.extents[self.rows_axis]

    def length(self, context: Context) -> Expr:
        """Valid rows of the batch row."""
        capacity = context.inventory.field(
            context.label("keyCapacity"), self.capacity(context), "keys of a row when no lengths are given"
        )
        return batch_scalar(context, self.valid, capacity)

    def first(self, context: Context) -> Expr | None:
        """Number of the first valid row of the batch row; None where it is 0."""
        return None

    def locate(self, context: Context) -> list[Statement]:
        """What a tile defines before its rows are loaded."""
        return []

    def enter(self, context: Context) -> list[Statement]:
        """What a task defines once, behind its batch row and key/value head."""
        return []

    def has_rows(self, context: Context) -> Expr | None:
        """Whether the batch row takes part in the attention at all; None where every one does."""
        return None

    def prepare(self, context: Context) -> Stage | None:
        """What the vector cores do to a tile's rows before the cube loads them."""
        return None

    @abstractmethod
    def pieces(
        self,
        context: Context,
        n0: Expr,
        rows: Expr,
        body: Callable[[Piece], Statement],
        touched: tuple[Buffer, ...],
    ) -> Statement:
        """``body`` for each piece of rows ``n0 .. n0 + rows - 1`` of the running tile.

        ``touched``: the buffers of which different pieces touch different elements.
        """

    def load(
        self, context: Context, target: Buffer, n0: Expr, rows: Expr, column: Expr, width: Expr
    ) -> Statement:
        """Rows ``n0 .. n0 + rows - 1`` of the running tile to L1 in Nz, ``width`` columns from ``column``."""
        tensor = context.parameter(self.name)

        def to_l1(piece: Piece) -> Statement:
            return load_matrix(target, tensor, piece, self.image_rows(target, rows), column, width)

        return self.pieces(context, n0, rows, to_l1, (target,))

    def image_rows(self, target: Buffer, rows: Expr) -> Expr:
        """Rows of a block in L1, before they are padded to fractals.

        Values are transposed on their way to L0B, int8 in squares of as many rows as a fractal has columns.
        """
        squares = self.role == "value" and target.dtype == "int8"
        return round_up(rows, fractal_depth(target.dtype)) if squares else rows

    def fixed_offset(self, context: Context) -> Expr:
        """Elements to the part of the tensor that the fixed indices name."""
        offset: Expr = Const(0)
        for axis, index in self.fixed:
            offset = offset + context.in_kernel(index) * context.stride(self.name, axis)
        return offset


@dataclass(frozen=True, kw_only=True)
class Contiguous(KeySource):
    """Rows at an even pitch: a cache of its own for each batch row, or all rows back to back."""

    packed: bool = False
    ends: nodes.Node | None = None
    start: nodes.Node | None = None

    def first(self, context: Context) -> Expr | None:
        return None if self.start is None else batch_scalar(context, self.start, Const(0))

    def length(self, context: Context) -> Expr:
        """Valid rows of the batch row: none if one of them would lie outside the tensor."""
        valid, first = super().length(context), self.first(context)
        if first is None:
            return valid
        capacity = context.host(self.capacity(context), stem=context.label("keyCapacity"))
        return select((first < 0) | (first + valid > capacity), 0, valid)

    def locate(self, context: Context) -> list[Statement]:
        start = self.first_row + FIRST_KEY
        offset = self.fixed_offset(context) + KV_HEAD * context.stride(self.name, "K")
        if self.by_batch(context):
            offset = BATCH * context.stride(self.name, "B") + offset
        pitch = context.stride(self.name, self.rows_axis)
        return [Let(symbol=self.tile_start, value=offset + start * pitch, where=self.where)]

    def pieces(
        self,
        context: Context,
        n0: Expr,
        rows: Expr,
        body: Callable[[Piece], Statement],
        touched: tuple[Buffer, ...],
    ) -> Statement:
        pitch = context.stride(self.name, self.rows_axis)
        return body(Piece(Const(0), rows, self.tile_start + n0 * pitch, pitch))

    def enter(self, context: Context) -> list[Statement]:
        if not self.packed:
            return []
        start = packed_start(context, self.ends, self.valid)
        return [Let(symbol=self.first_of_batch, value=start, where=self.where)]

    @property
    def first_of_batch(self) -> Symbol:
        """The row of a packed tensor in which row 0 of the batch row is."""
        return Symbol(f"{self.role}Start")

    def by_batch(self, context: Context) -> bool:
        """Whether each batch row has a part of the tensor."""
        del context
        return not self.packed

    @property
    def first_row(self) -> Expr:
        """Row of the tensor in which row 0 of the batch row is."""
        return self.first_of_batch if self.packed else Const(0)


@dataclass(frozen=True, slots=True)
class Turn:
    """A stretch of rows that lie together, one of many of equal size: a page, a turn of a ring.

    Attributes:
        index: the running turn; rows ``index * size`` and on are in it.
        start: elements to its first row. ``pitch``: elements from row to row.
    """

    index: Symbol
    size: Expr
    start: Expr
    pitch: Expr


def pieces_by_turn(
    turn: Turn,
    first_row: Expr,
    rows: Expr,
    body: Callable[[Piece], Statement],
    touched: tuple[Buffer, ...],
    where: SourceLine,
) -> Statement:
    """``body`` for the piece that each turn has of rows ``first_row .. first_row + rows - 1``."""
    index, size, first = turn.index, turn.size, Symbol("firstRow")
    begin, end = Symbol(f"{index.name}Begin"), Symbol(f"{index.name}End")
    one = seq(
        Let(symbol=begin, value=maximum(index * size, first)),
        Let(symbol=end, value=minimum(index * size + size, first + rows)),
        body(Piece(begin - first, end - begin, turn.start + (begin - index * size) * turn.pitch, turn.pitch)),
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


@dataclass(frozen=True, kw_only=True)
class Blocks(KeySource):
    """Rows in blocks of ``size``, rows of a block at an even pitch.

    Attributes:
        size: rows of a block.
        table: axes (B, W), the block in which rows ``w * size`` and on of a batch row are.
    """

    size: Expr
    table: nodes.Input

    def pieces(
        self,
        context: Context,
        n0: Expr,
        rows: Expr,
        body: Callable[[Piece], Statement],
        touched: tuple[Buffer, ...],
    ) -> Statement:
        turn = Turn(_PAGE, self.block_rows(context), self.block_start(context), self.pitch(context))
        return pieces_by_turn(turn, FIRST_KEY + n0, rows, body, touched, self.where)

    def block_rows(self, context: Context) -> Expr:
        """Rows of a block."""
        return context.host(self.size, "rows of a block")

    def pitch(self, context: Context) -> Expr:
        """Elements between neighbouring rows of a block."""
        return context.stride(self.name, self.rows_axis)

    def block_start(self, context: Context) -> Expr:
        """Elements to the first row of block ``page`` of the batch row."""
        entry = context.entry(self.table.name, BATCH * context.stride(self.table.name, "B") + _PAGE)
        offset = entry * context.stride(self.name, "P") + KV_HEAD * context.stride(self.name, "K")
        return self.fixed_offset(context) + offset

    def capacity(self, context: Context) -> Expr:
        return context.problem.extents["T"]


@dataclass(frozen=True, kw_only=True)
class ListEntry(Contiguous):
    """Rows in a tensor of a list: that of the batch row, or the one that ``index`` names.

    A negative index means that the batch row takes no part.
    """

    index: nodes.Node | None = None

    @property
    def first_row(self) -> Expr:
        return Const(0)

    def by_batch(self, context: Context) -> bool:
        return not context.parameter(self.name).listed

    def enter(self, context: Context) -> list[Statement]:
        if self.by_batch(context):
            return []
        tensor = context.parameter(self.name)
        entry = context.rows.list_entry()
        if entry is None:
            entry = maximum(batch_scalar(context, self.index, BATCH), 0)
        return [PickTensor(tensor=tensor, index=entry, where=self.where)]

    def has_rows(self, context: Context) -> Expr | None:
        return None if self.index is None else batch_scalar(context, self.index, BATCH) >= 0

    def length(self, context: Context) -> Expr:
        """Valid rows of the batch row, none without a tensor."""
        valid = super().length(context)
        return valid if self.index is None else select(batch_scalar(context, self.index, BATCH) < 0, 0, valid)


def batch_scalar(context: Context, node: nodes.Node | None, default: Expr) -> Expr:
    """A number of the batch row, such as its length: an entry of a tensor, or computed from entries.

    Entries of a tensor that a call may leave out are ``default`` then.
    """
    if node is None:
        return default
    if isinstance(node, nodes.Input):
        one = context.entry(node.name, BATCH)
        return select(context.count(node.name) == 0, default, one) if node.optional else one
    if isinstance(node, nodes.Scalar):
        return context.in_kernel(node.value, {"b": BATCH})
    raise NotLowered(type(node).__name__, node.where)


def packed_start(
    context: Context, ends: nodes.Node | None, lengths: nodes.Node | None, what: str = "Keys"
) -> Expr:
    """First row of a batch row where those of all batch rows are back to back; ``what`` rows, for a name."""
    if isinstance(ends, nodes.Input):
        return select(BATCH == 0, 0, context.entry(ends.name, BATCH - 1))
    if isinstance(lengths, nodes.Scalar | nodes.Input):
        one = lengths.value if isinstance(lengths, nodes.Scalar) else Load(lengths.name, _BEFORE)
        body = context.in_kernel(one, {_BEFORE.name: _BEFORE})
        return Fold("sum", body, _BEFORE.name, BATCH, f"{what}Before")
    where = ends.where if ends is not None else context.where
    raise NotLowered("packed rows without lengths", where)


def load_matrix(
    target: Buffer, tensor: GlobalTensor, piece: Piece, total_rows: Expr, column: Expr, width: Expr
) -> Statement:
    """A piece of a row-major matrix to L1; row by row where its pitch exceeds what one copy can express.

    ``total_rows``: rows of the whole matrix in L1.
    """
    offset, depth = piece.offset + column, fractal_depth(target.dtype)
    all_rows = LoadNz(
        dst=target.region(piece.at * depth),
        src=tensor.region(offset, piece.rows, width, piece.pitch),
        padded_rows=padded(total_rows),
    )
    one_row = LoadNz(
        dst=target.region((piece.at + _ROW) * depth),
        src=tensor.region(offset + _ROW * piece.pitch, 1, width, width),
        padded_rows=padded(total_rows),
    )
    by_row = For(var=_ROW, end=piece.rows, body=seq(one_row), disjoint=(target,), runs=True)
    fits = piece.pitch <= ATLAS_A2.max_nd2nz_pitch
    return If(condition=fits, then=seq(all_rows), otherwise=seq(by_row))


def packed_length(ends: nodes.Node | None, length: nodes.Node | None) -> nodes.Node | None:
    """The rows of each batch row, from their ends where no lengths are given."""
    if not isinstance(ends, nodes.Input) or length is not None:
        return length
    b = Symbol("b")
    before = select(b == 0, 0, Load(ends.name, b - 1))
    return nodes.Scalar(value=Load(ends.name, b) - before, axes=("B",), where=ends.where)


def stored_plain(node: nodes.Node) -> nodes.Input:
    """The input that a node is, as a whole.

    Raises:
        NotLowered: it is a part of an input, or computed from one.
    """
    tensor, fixed = stored_in(node)
    if fixed:
        raise NotLowered(f"a part of {tensor.name}", node.where)
    return tensor


def stored_in(node: nodes.Node) -> tuple[nodes.Input, tuple[tuple[str, Expr], ...]]:
    """The input in which rows are stored, with the indices of axes that are taken from it.

    Of leading channels the input is that of all.

    Raises:
        NotLowered: something is computed with the tensor before its rows are read.
    """
    fixed: list[tuple[str, Expr]] = []
    while isinstance(node, nodes.Take | nodes.Leading):
        if isinstance(node, nodes.Take):
            index = node.index if isinstance(node.index, Expr) else Const(node.index)
            fixed.append((node.axis, index))
        node = node.source
    if not isinstance(node, nodes.Input):
        raise NotLowered(f"{type(node).__name__} of keys or values", node.where)
    return node, tuple(fixed)
