"""Where the rows of keys and values are: for a key tile, the copies that bring a block of it to L1.

A source knows nothing of what is computed with its rows; it tells how many a batch row has, and in which
pieces rows ``[n0, n0 + rows)`` of the running tile lie. stored_rows.py has those that read a tensor,
cached_rows.py and dequantise.py those that make something of another source, key_sources.py the table of
graph nodes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from attndsl.base.source_location import SourceLine
from attndsl.expr import Expr, round_up
from attndsl.graph import nodes
from attndsl.lowering.emit.context import Context
from attndsl.lowering.keys.channel_quantization import Factors
from attndsl.lowering.rows.batch_extents import batch_scalar
from attndsl.lowering.rows.row_segments import Piece, ToPiece, load_matrix
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions.cube import fractal_depth
from attndsl.tile.statements import Stage, Statement


@dataclass(frozen=True, kw_only=True)
class KeySource(ABC):
    """Keys or values of one attention.

    Attributes:
        role: "key" or "value", for names. ``where``: the spec line.
    """

    role: str
    where: SourceLine

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the tensor in which the rows are stored."""

    @abstractmethod
    def capacity(self, context: Context) -> Expr:
        """Rows that a batch row can have, for the host."""

    @abstractmethod
    def valid_rows(self, context: Context) -> Expr:
        """Valid rows of the batch row."""

    @abstractmethod
    def pieces(
        self, context: Context, n0: Expr, rows: Expr, body: ToPiece, touched: tuple[Buffer, ...]
    ) -> Statement:
        """``body`` for each piece of rows ``n0 .. n0 + rows - 1`` of the running tile.

        ``touched``: the buffers of which different pieces touch different elements.
        """

    @property
    def factors(self) -> Factors | None:
        """What rows of integers are meant by; None where rows are the numbers themselves."""
        return None

    def first(self, context: Context) -> Expr | None:
        """Number of the first valid row of the batch row; None where it is 0."""
        return None

    def has_rows(self, context: Context) -> Expr | None:
        """Whether the batch row takes part in the attention at all; None where every one does."""
        return None

    def enter(self, context: Context) -> list[Statement]:
        """What a task defines once, behind its batch row and key/value head."""
        return []

    def locate(self, context: Context) -> list[Statement]:
        """What a tile defines before its rows are loaded."""
        return []

    def prepare(self, context: Context) -> Stage | None:
        """What the vector cores do to a tile's rows before the cube loads them."""
        return None

    def load(
        self, context: Context, target: Buffer, n0: Expr, rows: Expr, column: Expr, width: Expr
    ) -> Statement:
        """Rows ``n0 .. n0 + rows - 1`` of the running tile to L1 in Nz, ``width`` columns from ``column``."""

        def to_l1(piece: Piece) -> Statement:
            return load_matrix(target, piece, self.image_rows(target, rows), column, width)

        return self.pieces(context, n0, rows, to_l1, (target,))

    def image_rows(self, target: Buffer, rows: Expr) -> Expr:
        """Rows of a block in L1, before they are padded to fractals.

        Values are transposed on their way to L0B, int8 in squares of as many rows as a fractal has columns.
        """
        squares = self.role == "value" and target.dtype == "int8"
        return round_up(rows, fractal_depth(target.dtype)) if squares else rows

    def told_rows(self, context: Context, valid: nodes.Node | None) -> Expr:
        """The rows that ``valid`` tells of the batch row, all where it is None or left out of a call."""
        return batch_scalar(context, valid, self.all_rows(context))

    def all_rows(self, context: Context) -> Expr:
        """The rows of the batch row when nothing tells how many are valid."""
        return context.inventory.field(
            context.label("keyCapacity"), self.capacity(context), "keys of a row when no lengths are given"
        )


@dataclass(frozen=True, kw_only=True)
class Wrapped(KeySource):
    """Rows of another source, of which a class says only what is different.

    Attributes:
        inner: the other source.
        valid: valid rows of each batch row; None for those of ``inner``.
    """

    inner: KeySource
    valid: nodes.Node | None = None

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def factors(self) -> Factors | None:
        return self.inner.factors

    def capacity(self, context: Context) -> Expr:
        return self.inner.capacity(context)

    def all_rows(self, context: Context) -> Expr:
        return self.inner.all_rows(context)

    def valid_rows(self, context: Context) -> Expr:
        return self.inner.valid_rows(context) if self.valid is None else self.told_rows(context, self.valid)

    def pieces(
        self, context: Context, n0: Expr, rows: Expr, body: ToPiece, touched: tuple[Buffer, ...]
    ) -> Statement:
        return self.inner.pieces(context, n0, rows, body, touched)

    def first(self, context: Context) -> Expr | None:
        return self.inner.first(context)

    def has_rows(self, context: Context) -> Expr | None:
        return self.inner.has_rows(context)

    def enter(self, context: Context) -> list[Statement]:
        return self.inner.enter(context)

    def locate(self, context: Context) -> list[Statement]:
        return self.inner.locate(context)

    def prepare(self, context: Context) -> Stage | None:
        return self.inner.prepare(context)
