"""Keys or values stored in int8: the vector cores widen each tile to fp16 before the cube loads it.

    number = (stored + offset) * scale,  scale and offset one number a channel of the key/value head

The cube multiplies the stored integers, which fp16 holds exactly: queries and scores absorb scale and offset
of keys, weighted sums those of values, in fp32. So no key or value is rounded, and none overflows. Tiles pass
through a workspace ring of their own, in Nz as L1 takes them; the two vector cores share a tile's rows, the
first half to the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from attndsl.base.errors import InternalError
from attndsl.expr import Const, Expr, Named, Symbol, ceil_div, minimum
from attndsl.graph import nodes
from attndsl.lowering.emit.emitter import Emitter
from attndsl.lowering.emit.loop_scalars import KEYS, SLOT
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.keys.channel_quantization import ChannelQuantization
from attndsl.lowering.keys.key_source import KeySource, KeySourceAdapter
from attndsl.lowering.match.stored_inputs import stored_in, stored_node
from attndsl.lowering.rows.row_segments import RowSegment, ToSegment
from attndsl.tile.buffers import Buffer, GlobalRegion, GlobalTensor
from attndsl.tile.instructions import ConvertToNz, LoadBlocks, LoadRows, StoreRows
from attndsl.tile.instructions.cube import FRACTAL_SIZE, padded
from attndsl.tile.instructions.units import FRACTAL, VECTOR_CORES, block_elements, repeat_elements
from attndsl.tile.program import SUB_BLOCK
from attndsl.tile.statements import Alloc, For, Let, Seq, Statement, seq

_INT8_BLOCK = block_elements("int8")
_REPEAT = repeat_elements("float16")
_ZERO = Const(0)
_ELEMENTS = 4096
_K0, _COUNT = Symbol("k0"), Symbol("count")
_BEGIN, _END = Symbol("keyBeginHere"), Symbol("keyEndHere")


@dataclass(frozen=True, kw_only=True)
class Dequantized(KeySourceAdapter):
    """int8 rows of another source, widened to the dtype that the cube multiplies."""

    channels: ChannelQuantization

    @property
    def quantization(self) -> ChannelQuantization:
        return self.channels

    def locate(self, emit: Emitter) -> list[Statement]:
        return []

    def segments(
        self, emit: Emitter, n0: Expr, rows: Expr, body: ToSegment, touched: tuple[Buffer, ...]
    ) -> Statement:
        raise InternalError("widened rows are an Nz image, which has no rows at a pitch")

    def load(
        self, emit: Emitter, target: Buffer, n0: Expr, rows: Expr, column: Expr, width: Expr
    ) -> Statement:
        groups, elements = ceil_div(width, FRACTAL_SIZE), rows * FRACTAL_SIZE
        return LoadBlocks(
            dst=target.region(0, groups, elements, padded(self.image_rows(target, rows)) * FRACTAL_SIZE),
            src=self._image(emit, n0, groups, elements, column),
            where=self.where,
        )

    def widen(self, emit: Emitter) -> Seq:
        """The rows of the running tile widened, to their slot of the ring; the vector cores share them."""
        half, step = ceil_div(KEYS, VECTOR_CORES), self._step(emit)
        over_rows = For(
            var=_K0,
            begin=_BEGIN,
            end=_END,
            step=step,
            body=seq(Let(symbol=_COUNT, value=minimum(step, _END - _K0)), self._rows(emit)),
            where=self.where,
        )
        return seq(
            *self.inner.locate(emit),
            Let(symbol=_BEGIN, value=minimum(SUB_BLOCK * half, KEYS)),
            Let(symbol=_END, value=minimum(_BEGIN + half, KEYS)),
            over_rows,
        )

    # Buffers --------------------------------------------------------------------------------------------

    def _width(self, emit: Emitter) -> int:
        """Lanes of a row in the unified buffer: int8 rows start on a 32-byte block."""
        return -(-emit.widest_padded_size // _INT8_BLOCK) * _INT8_BLOCK

    def _ring(self, emit: Emitter) -> GlobalTensor:
        elements = emit.ring * emit.tile_keys * emit.padded_channels(self.role)
        meaning = f"ring of {self.role} tiles in {emit.cube_dtype}, vector to cube"
        name = emit.label(f"{self.role}Ring")
        return emit.inventory.tensor(name, emit.cube_dtype, elements, "block", meaning)

    def _groups(self, emit: Emitter) -> int:
        """Column groups of a row in the unified buffer."""
        return emit.widest_padded_size // FRACTAL

    def _step(self, emit: Emitter) -> Named:
        """Rows of one vector step: as many as its buffers hold."""
        rows = max(8, min(64, _ELEMENTS // self._width(emit) // 8 * 8))
        return emit.inventory.constant("rowsPerWidening", rows, "int8 rows of one vector step")

    def _image(
        self, emit: Emitter, first: Expr, groups: Expr, elements: Expr, column: Expr = _ZERO
    ) -> GlobalRegion:
        """``groups`` column groups from ``column`` on of a part of the running tile, ``elements`` of each.

        The part begins with the tile's row ``first``.
        """
        tile = SLOT * emit.tile_keys * emit.padded_channels(self.role)
        place = tile + column * emit.tile_keys + first * FRACTAL_SIZE
        return self._ring(emit).region(place, groups, elements, emit.tile_keys * FRACTAL_SIZE)

    # Statements -----------------------------------------------------------------------------------------

    def _rows(self, emit: Emitter) -> Seq:
        width, dim, slots = self._width(emit), emit.channels(self.role), emit.schedule.slots
        step, groups = self._step(emit), emit.padded_channels(self.role) // FRACTAL_SIZE
        pitch = (step + 1) * FRACTAL_SIZE
        stored = emit.in_ub("int8Rows", "int8", step * width, "int8 rows of keys or values", slots)
        meaning = "int8 rows as the cube takes them, Nz"
        widened = emit.in_ub("wideRows", emit.cube_dtype, self._groups(emit) * pitch, meaning, slots)

        def to_ub(segment: RowSegment) -> Statement:
            source = segment.tensor.region(segment.offset, segment.rows, dim, segment.pitch)
            target = stored.region(segment.at * width, segment.rows, dim, width)
            return LoadRows(dst=target, src=source, zero_tail=True, where=self.where)

        elements = _COUNT * FRACTAL_SIZE
        store = StoreRows(
            dst=self._image(emit, _K0, groups, elements), src=widened.region(0, groups, elements, pitch)
        )
        widen = [
            ConvertToNz(
                dst=widened.region(c0 // FRACTAL * pitch, lanes // FRACTAL, elements, pitch),
                src=stored.region(c0, _COUNT, lanes, width),
            )
            for c0, lanes in self._parts(emit)
        ]
        return seq(
            Alloc(
                buffers=(stored,),
                body=seq(
                    self.inner.segments(emit, _K0, _COUNT, to_ub, (stored,)),
                    Alloc(buffers=(widened,), body=seq(*widen, store)),
                ),
            )
        )

    def _parts(self, emit: Emitter) -> Iterator[tuple[int, int]]:
        """The first channel and the channels of each part of a row, at most a repeat."""
        size = int(emit.padded_channels(self.role).value)
        for c0 in range(0, size, _REPEAT):
            yield c0, min(_REPEAT, size - c0)


def dequantized(rows: nodes.Rows, role: str, source: Callable[[nodes.Rows, str], KeySource]) -> KeySource:
    """The source of rows whose stored tensor is dequantized; ``source`` makes that of the stored rows."""
    tensor = stored_node(rows)
    assert isinstance(tensor, nodes.Dequantize)
    plain = {"tensors" if isinstance(rows, nodes.Listed) else "tensor": tensor.source}
    stored, _ = stored_in(tensor.source)
    if stored.dtypes and "int8" not in stored.dtypes:
        raise NotLowered(f"dequantization of {stored.name}", rows.where)
    return Dequantized(
        inner=source(replace(rows, **plain), role),  # type: ignore[arg-type]
        role=role,
        where=rows.where,
        channels=ChannelQuantization(role=role, scale=tensor.scale, offset=tensor.offset),
    )
