"""What the lowering rules share: the problem's scalars, its tensors and its buffers.

Scalar names (all ``int64``), in the order they come into being inside a kernel:

    item      unit of work of a block: one batch row, key/value head and key range
    batch, kvHead, split      what an item stands for
    length    valid keys of the batch row
    firstTile, tiles          the item's range of key tiles
    tile      running tile of the item; firstKey, keys: its keys; slot: its slot of the rings
    rowBegin, rows            the query rows (heads of the group) of one vector core
    r0, chunk                 the rows of one vector step; head: the query head of the first
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from attndsl.hardware import MemorySpace
from attndsl.schedule.choices import Schedule
from attndsl.schedule.pattern import Attention
from attndsl.source_line import SourceLine
from attndsl.symbolic import Expr, Named, Symbol, minimum
from attndsl.tile.buffers import Buffer, GlobalRegion, GlobalTensor, Region
from attndsl.tile.naming import camel
from attndsl.tile.program import TilingField
from attndsl.tile.statements import For, Let, Statement, seq

LANES = 64
REPEAT_LANES = Named(LANES, "repeatLanes", "kRepeatLanes")
LOWEST = Named(-3.4028234663852886e38, "LOWEST", "kLowest")
SMALLEST = Named(1.1754943508222875e-38, "SMALLEST", "kSmallest")

ITEM = Symbol("item")
BATCH = Symbol("batch")
KV_HEAD = Symbol("kvHead")
SPLIT = Symbol("split")
LENGTH = Symbol("length")
FIRST_TILE = Symbol("firstTile")
TILES = Symbol("tiles")
TILE = Symbol("tile")
SLOT = Symbol("slot")
FIRST_KEY = Symbol("firstKey")
KEYS = Symbol("keys")
SPAN = Symbol("span")
ROW_BEGIN = Symbol("rowBegin")
ROWS = Symbol("rows")
R0 = Symbol("r0")
CHUNK = Symbol("chunk")
HEAD = Symbol("head")

# Names that are taken in every kernel; a parameter of such a name gets another field.
KERNEL_SCALARS = frozenset(
    {
        *("item", "batch", "kvHead", "split", "length", "firstTile", "tiles", "tile", "slot", "firstKey"),
        *(
            "keys",
            "span",
            "rowBegin",
            "rows",
            "r0",
            "chunk",
            "head",
            "step",
            "unit",
            "part",
            "group",
            "pairs",
        ),
        *("part", "group", "pairs", "splits", "items", "blocks", "kvHeads", "rowFractals", "headDim"),
        *("keyCapacity", "lengthCount", "blockIndex", "subBlock", "blockCount", "workspaceBytes"),
    }
)


@dataclass(frozen=True)
class Context:
    """Everything a lowering rule may use.

    Attributes:
        bucket: head size this kernel is specialised on, a multiple of 16; the true one is a tiling field.
        fields: tiling fields by name.
        tensors: global tensors by name, workspace included.
        buffers: on-chip buffers by name.
    """

    attention: Attention
    schedule: Schedule
    dtype: str
    bucket: int
    constants: Mapping[str, Named]
    fields: Mapping[str, TilingField]
    tensors: Mapping[str, GlobalTensor]
    buffers: Mapping[str, Buffer] = field(default_factory=dict)

    def constant(self, name: str) -> Named:
        """A named compile-time number."""
        return self.constants[name]

    def scalar(self, name: str) -> Symbol:
        """A tiling field as the kernel sees it."""
        return self.fields[name].symbol

    def stride(self, tensor: str, axis: str) -> Symbol:
        """Elements between neighbours along an axis of a tensor."""
        return self.scalar(stride_field(tensor, axis))

    def has_stride(self, tensor: str, axis: str) -> bool:
        """Whether the tensor has that axis."""
        return stride_field(tensor, axis) in self.fields

    def gm(
        self, tensor: str, offset: Expr, rows: Expr | int = 1, cols: Expr | int = 1, pitch: Expr | int = 0
    ) -> GlobalRegion:
        """A region of a global tensor."""
        return self.tensors[tensor].region(offset, rows, cols, pitch)

    def region(
        self,
        buffer: str,
        offset: Expr | int = 0,
        rows: Expr | int = 1,
        cols: Expr | int | None = None,
        pitch: Expr | int = 0,
    ) -> Region:
        """A region of an on-chip buffer."""
        return self.buffers[buffer].region(offset, rows, cols, pitch)


def stride_field(tensor: str, axis: str) -> str:
    """The name of a stride's tiling field."""
    return f"{camel(tensor)}Stride{axis}"


def local(name: str, space: MemorySpace, dtype: str, elements: int, meaning: str, slots: int = 1) -> Buffer:
    """An on-chip buffer, unplaced."""
    return Buffer(name=name, space=space, dtype=dtype, elements=elements, slots=slots, meaning=meaning)


def chunks(end: Expr, step: Expr, body: Callable[[Expr, Expr], list[Statement]], where: SourceLine) -> For:
    """``for r0 in 0..end by step`` over ``body(r0, rows of this chunk)``."""
    count = Let(symbol=CHUNK, value=minimum(step, end - R0), where=where)
    return For(var=R0, end=end, step=step, body=seq(count, *body(R0, CHUNK)), where=where)
