"""Memory as the tile program sees it: on-chip buffers, global tensors and regions of them."""

from __future__ import annotations

from dataclasses import dataclass, field

import ml_dtypes
import numpy as np

from attndsl.base.facts import kept
from attndsl.base.source_location import UNKNOWN_LINE, SourceLine
from attndsl.expr import Const, Element, Expr, ExprLike, Load, Named, Scope, as_expr
from attndsl.target import MemorySpace

NUMPY_DTYPES: dict[str, np.dtype] = {
    "float32": np.dtype(np.float32),
    "float16": np.dtype(np.float16),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "uint8": np.dtype(np.uint8),
    "int8": np.dtype(np.int8),
    "int16": np.dtype(np.int16),
    "uint16": np.dtype(np.uint16),
    "int32": np.dtype(np.int32),
    "uint32": np.dtype(np.uint32),
    "int64": np.dtype(np.int64),
}


DOUBLE_BUFFER = Named(2, "doubleBuffer")
"""The slots of a buffer of which one is filled while the other is used."""


def item_bytes(dtype: str) -> int:
    """Bytes of one element."""
    return NUMPY_DTYPES[dtype].itemsize


@dataclass(frozen=True, eq=False, kw_only=True)
class Buffer:
    """An on-chip buffer of ``slots`` equal slots that its uses take in turn.

    Attributes:
        size: elements of one slot, an expression of the program's constants alone.
        meaning: what it holds, for the buffer map of the generated file.
        by_step: each step of a continuous pipeline has its own slot, whose content one stage makes and a
            later one uses (:class:`~attndsl.tile.statements.Handed`).
    """

    name: str
    space: MemorySpace
    dtype: str
    size: Expr
    slots: int = 1
    meaning: str = ""
    by_step: bool = False
    where: SourceLine = UNKNOWN_LINE

    @property
    @kept
    def elements(self) -> int:
        """Elements of one slot."""
        return int(self.size.evaluate({}))

    @property
    def slot_bytes(self) -> int:
        """Bytes of one slot."""
        return self.elements * item_bytes(self.dtype)

    @property
    def total_bytes(self) -> int:
        """Bytes of all slots."""
        return self.slots * self.slot_bytes

    def region(
        self, offset: ExprLike = 0, rows: ExprLike = 1, cols: ExprLike | None = None, pitch: ExprLike = 0
    ) -> Region:
        """``rows`` x ``cols`` elements from ``offset`` on, ``pitch`` elements between row starts."""
        width = self.size if cols is None else as_expr(cols)
        return Region(self, as_expr(offset), as_expr(rows), width, as_expr(pitch))


@dataclass(frozen=True, eq=False, kw_only=True)
class GlobalTensor:
    """A tensor in global memory.

    Attributes:
        role: "input", "output", "workspace" or "scalars" (read by the scalar unit only).
        offset: bytes from the start of the user workspace (workspace tensors only).
        elements: capacity in elements (workspace tensors only).
        listed: the argument is a list of tensors; a :class:`~attndsl.tile.statements.PickTensor` says which
            one is meant from then on.
        shared: who exchanges data through it: "block" (the cores of one block, each block its own
            part) or "device" (all blocks); empty for inputs and outputs.
    """

    name: str
    dtype: str
    role: str
    optional: bool = False
    listed: bool = False
    offset: Expr = field(default_factory=lambda: Const(0))
    elements: Expr = field(default_factory=lambda: Const(0))
    shared: str = ""
    meaning: str = ""

    @property
    def is_ring(self) -> bool:
        """Whether the cores of a block exchange data through it, slot by slot."""
        return self.shared == "block"

    def region(
        self, offset: ExprLike = 0, rows: ExprLike = 1, cols: ExprLike = 1, pitch: ExprLike = 0
    ) -> GlobalRegion:
        """``rows`` x ``cols`` elements from ``offset`` on, ``pitch`` elements between row starts."""
        return GlobalRegion(self, as_expr(offset), as_expr(rows), as_expr(cols), as_expr(pitch))

    def at(self, index: ExprLike) -> Load:
        """One element of an integer tensor, read by the scalar unit."""
        return Load(self.name, as_expr(index), self.dtype, Scope.GLOBAL)


@dataclass(frozen=True, eq=False, kw_only=True)
class ScalarArray:
    """Integers that a core holds in its own scalar memory; a member of the kernel.

    Attributes:
        capacity: how many are collected at most. ``constant``: the constant of the kernel that it is, if any.
        places: so many collections are held at one time, one behind the other.
    """

    name: str
    capacity: int
    meaning: str = ""
    places: Expr = field(default_factory=lambda: Const(1))
    constant: Named | None = None

    @property
    def most(self) -> Expr:
        """The capacity as kernels spell it."""
        return Const(self.capacity) if self.constant is None else self.constant

    @property
    def size(self) -> Expr:
        """Integers of all places."""
        return self.places * self.most

    def at(self, index: ExprLike) -> Element:
        """One element; only those that were collected last into their place may be read."""
        return Element(self.name, as_expr(index), scope=Scope.MEMBER)


@dataclass(frozen=True, eq=False)
class Region:
    """A strided 2-D part of the current slot of a buffer; all in elements.

    ``pitch`` 0 means rows follow each other without a gap (pitch == cols).
    """

    buffer: Buffer
    offset: Expr
    rows: Expr
    cols: Expr
    pitch: Expr

    def __str__(self) -> str:
        return f"{self.buffer.name}[{_extent(self)}]"


@dataclass(frozen=True, eq=False)
class GlobalRegion:
    """A strided 2-D part of a global tensor; all in elements."""

    tensor: GlobalTensor
    offset: Expr
    rows: Expr
    cols: Expr
    pitch: Expr

    def __str__(self) -> str:
        return f"{self.tensor.name}[{_extent(self)}]"


def _extent(region: Region | GlobalRegion) -> str:
    offset = "" if region.offset.same(Const(0)) else f"{region.offset} + "
    rows = "" if region.rows.same(Const(1)) else f"{region.rows} x "
    pitch = "" if region.pitch.same(Const(0)) or not rows else f" pitch {region.pitch}"
    return f"{offset}{rows}{region.cols}{pitch}"
