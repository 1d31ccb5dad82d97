"""Where the rows of keys and values are: for a key tile, the copies that bring a block of it to L1.

A source knows nothing of what is computed with its rows; it tells how many a batch row has, and in which
segments rows ``[n0, n0 + rows)`` of the running tile lie. stored_rows.py has those that read a tensor,
cached_rows.py and dequantize.py those that make something of another source, source_rules.py the table of
graph nodes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TypeVar

from attndsl.base.source_location import SourceLine
from attndsl.expr import Expr, round_up
from attndsl.graph import nodes
from attndsl.lowering.emit.emitter import Emitter
from attndsl.lowering.keys.channel_quantization import ChannelQuantization
from attndsl.lowering.rows.batch_extents import batch_count, batch_scalar
from attndsl.lowering.rows.row_segments import RowSegment, ToSegment, load_matrix
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions.cube import fractal_depth
from attndsl.tile.statements import Statement


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
    def capacity(self, emit: Emitter) -> Expr:
        """Rows that a batch row can have, for the host."""

    @abstractmethod
    def valid_rows(self, emit: Emitter) -> Expr:
        """Valid rows of the batch row."""

    @abstractmethod
    def segments(
        self, emit: Emitter, n0: Expr, rows: Expr, body: ToSegment, touched: tuple[Buffer, ...]
    ) -> Statement:
        """``body`` for each segment of rows ``n0 .. n0 + rows - 1`` of the running tile.

        Any rows of any tile are asked for, in any order and on each core: nothing is kept from those before.
        ``touched``: the buffers of which different segments touch different elements.
        """

    @property
    def quantization(self) -> ChannelQuantization | None:
        """Scale and zero point, or None if the rows are not quantized."""
        return None

    @property
    def wraps(self) -> bool:
        """Whether a batch row may have more rows than are stored, of which the last are kept."""
        return False

    def first(self, emit: Emitter) -> Expr | None:
        """Number of the first valid row of the batch row; None where it is 0."""
        return None

    def has_rows(self, emit: Emitter) -> Expr | None:
        """Whether the batch row takes part in the attention at all; None where every one does."""
        return None

    def enter(self, emit: Emitter) -> list[Statement]:
        """The scalars of a task, defined once after its batch row and key/value head."""
        return []

    def locate(self, emit: Emitter) -> list[Statement]:
        """The scalars of a tile, defined before its rows are loaded."""
        return []

    def load(
        self, emit: Emitter, target: Buffer, n0: Expr, rows: Expr, column: Expr, width: Expr
    ) -> Statement:
        """Rows ``n0 .. n0 + rows - 1`` of the running tile to L1 in Nz, ``width`` columns from ``column``."""

        def to_l1(segment: RowSegment) -> Statement:
            return load_matrix(emit, target, segment, self.image_rows(target, rows), column, width)

        return self.segments(emit, n0, rows, to_l1, (target,))

    def image_rows(self, target: Buffer, rows: Expr) -> Expr:
        """Rows of a block in L1, before they are padded to fractals.

        Values are transposed on their way to L0B, int8 in squares of as many rows as a fractal has columns.
        """
        squares = self.role == "value" and target.dtype == "int8"
        return round_up(rows, fractal_depth(target.dtype)) if squares else rows

    def rows_or_all(self, emit: Emitter, valid: nodes.Node | None) -> Expr:
        """The valid rows of the batch row; all where ``valid`` is None or left out of a call."""
        counted = batch_scalar if self.wraps else batch_count
        return counted(emit, valid, self.all_rows(emit))

    def all_rows(self, emit: Emitter) -> Expr:
        """The rows of the batch row when nothing tells how many are valid."""
        return emit.inventory.field(emit.label("keyCapacity"), self.capacity(emit), "keys of a row, at most")


@dataclass(frozen=True, kw_only=True)
class KeySourceAdapter(KeySource):
    """Rows of another source; a subclass overrides what is different.

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
    def quantization(self) -> ChannelQuantization | None:
        return self.inner.quantization

    @property
    def wraps(self) -> bool:
        return self.inner.wraps

    def capacity(self, emit: Emitter) -> Expr:
        return self.inner.capacity(emit)

    def all_rows(self, emit: Emitter) -> Expr:
        return self.inner.all_rows(emit)

    def valid_rows(self, emit: Emitter) -> Expr:
        return self.inner.valid_rows(emit) if self.valid is None else self.rows_or_all(emit, self.valid)

    def segments(
        self, emit: Emitter, n0: Expr, rows: Expr, body: ToSegment, touched: tuple[Buffer, ...]
    ) -> Statement:
        return self.inner.segments(emit, n0, rows, body, touched)

    def first(self, emit: Emitter) -> Expr | None:
        return self.inner.first(emit)

    def has_rows(self, emit: Emitter) -> Expr | None:
        return self.inner.has_rows(emit)

    def enter(self, emit: Emitter) -> list[Statement]:
        return self.inner.enter(emit)

    def locate(self, emit: Emitter) -> list[Statement]:
        return self.inner.locate(emit)


_Kind = TypeVar("_Kind", bound=KeySource)


def source_of_kind(source: KeySource, kind: type[_Kind]) -> _Kind | None:
    """The source of a kind among one and those that it adapts; None where there is none."""
    while isinstance(source, KeySourceAdapter) and not isinstance(source, kind):
        source = source.inner
    return source if isinstance(source, kind) else None
