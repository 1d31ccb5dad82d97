"""Elements of an integer tensor that are read at each key, such as the document that a key belongs to.

The elements of a tile's keys are neighbours in the tensor. They are loaded once a tile where all rows of a
task read the same, else with each step of rows, and computed with as integers before they become fp32.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from attndsl.base.source_location import SourceLine
from attndsl.expr import Const, Expr, Load
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import FIRST_KEY, KEYS
from attndsl.lowering.emit.shorthands import whole
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.operands.key_numbers import affine
from attndsl.lowering.rows.row_space import ROW
from attndsl.tile.buffers import Buffer, Region
from attndsl.tile.instructions import Convert, LoadRows, WithScalar
from attndsl.tile.instructions.units import repeat_elements
from attndsl.tile.statements import Statement, seq

_KINDS = {"int32": "int32", "uint8": "float16"}
"""Dtypes that can be read at keys, and what they are computed with in."""
_LANES = repeat_elements("float16") * 2
"""Lanes of a row of a step are a multiple of this: rows of bytes begin on blocks, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyElements:
    """The elements of the tile's keys.

    Attributes:
        element: the read, an expression of b, n, i and j.
        of_rows: whether rows read different ones, so that ``loaded`` holds a run for each row of a step.
        of_steps: whether they are loaded with each step of rows in any case.
        loaded: the elements as they are stored. ``kept``: those of all rows, which loaded ones do not outlive
            the start of a tile; ``scratch``: those of one row, computed with.
        where: the spec line that reads them.
    """

    element: Load
    of_rows: bool
    of_steps: bool
    loaded: Buffer
    kept: Buffer
    scratch: Buffer
    where: SourceLine

    def keep(self) -> Statement:
        """Keeps those of all rows for the steps of a tile."""
        source, kept = whole(self.loaded, 0, KEYS), whole(self.kept, 0, KEYS)
        if self.loaded.dtype == self.kept.dtype:
            return WithScalar(op="Adds", dst=kept, src=source, scalar=Const(0), where=self.where)
        return Convert(dst=kept, src=source, mode="CAST_NONE", where=self.where)

    def load_tile(self, context: Context) -> Statement:
        """Those that all rows read."""
        return self._load(context, self.loaded.region(0, 1, KEYS))

    def load_rows(self, context: Context) -> Statement:
        """Those of each row of a step, or of all its rows."""
        if not self.of_rows:
            return self.load_tile(context)

        def one(row: Expr) -> Statement:
            return seq(self._load(context, self.loaded.region(row * self._pitch(context), 1, KEYS)))

        return context.rows.each_row(one, (self.loaded,))

    def shifted(self, context: Context, shift: Expr, lanes: Region) -> list[Statement]:
        """``lanes = element + shift`` of the running row; the sum is taken in 32 bits."""
        made, wide = whole(self.scratch, 0, KEYS), replace(lanes, cols=KEYS)
        source = whole(self.kept, 0, KEYS)
        if self.of_rows or self.of_steps:
            source = whole(self.loaded, ROW * self._pitch(context) if self.of_rows else 0, KEYS)
        if self.kept.dtype == "int32":
            return [
                WithScalar(op="Adds", dst=made, src=source, scalar=shift, where=self.where),
                Convert(dst=wide, src=made, mode="CAST_RINT", where=self.where),
            ]
        steps: list[Statement] = []
        if source.buffer.dtype != made.buffer.dtype:
            steps.append(Convert(dst=made, src=source, mode="CAST_NONE", where=self.where))
            source = made
        return [
            *steps,
            Convert(dst=wide, src=source, mode="CAST_NONE", where=self.where),
            WithScalar(op="Adds", dst=wide, src=wide, scalar=shift, where=self.where),
        ]

    def _load(self, context: Context, target: Region) -> Statement:
        at = context.in_kernel(self.element.index, {**context.rows.indices(), "j": FIRST_KEY})
        return LoadRows(dst=target, src=context.gm(self.element.source, at, 1, KEYS), where=self.where)

    def _pitch(self, context: Context) -> Expr:
        return context.tile_lanes(_LANES)


def reads_keys(element: Load) -> bool:
    """Whether neighbouring keys read neighbouring elements, as of x[b, j] or x[j - i + S - 1]."""
    line = affine(element.index)
    return line is not None and line[0] == 1


def key_elements(
    context: Context, element: Load, name: str, where: SourceLine, *, of_steps: bool = False
) -> KeyElements:
    """The buffers of elements; ``of_steps``: whether each step of rows loads them.

    Raises:
        NotLowered: the tensor has a dtype that the vector unit does not compute with.
    """
    dtype = context.parameter(element.source).dtype
    if dtype not in _KINDS:
        known = " or ".join((*_KINDS, "bool"))
        raise NotLowered(f"{element} of dtype {dtype}, read at each key", where, f"declare it with {known}")
    indices = {"i", "n"} if context.rows.one_batch_row else {"i", "n", "b"}
    of_rows = bool(element.index.symbols() & indices)
    lanes = context.tile_lanes(_LANES)
    size = lanes * context.rows_per_step if of_rows else lanes
    meaning = f"{element.source} of the tile's keys" + (", a run for each row" if of_rows else "")
    return KeyElements(
        element=element,
        of_rows=of_rows,
        of_steps=of_steps,
        loaded=context.in_ub(name, dtype, size, meaning, context.schedule.slots),
        kept=context.in_ub(f"{name}Kept", _KINDS[dtype], lanes, f"{element.source} of the tile's keys"),
        scratch=context.in_ub(
            f"{name}Wide", _KINDS[dtype], lanes, f"{element.source} of one row, computed with"
        ),
        where=where,
    )
