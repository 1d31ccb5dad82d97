"""Keys or values stored in int8: the vector cores widen each tile to fp16 before the cube loads it.

    number = (stored + offset) * scale,  scale and offset one number a channel of the key/value head

The cube multiplies the stored integers, which fp16 holds exactly: scale and offset of keys are folded into
queries and scores (folded_query.py), those of values into the weighted sums (scaled_sums.py), in fp32. So no
key or value is rounded, and none overflows. Tiles pass through a workspace ring of their own; the two vector
cores share a tile's rows, the first half to the first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from attndsl.expr import Const, Expr, Named, Symbol, ceil_div, minimum
from attndsl.graph import nodes
from attndsl.lowering.emit.context import Context, whole
from attndsl.lowering.emit.loop_scalars import KEYS, SLOT
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.keys.channel_quantization import Factors
from attndsl.lowering.keys.folded_query import fold_query
from attndsl.lowering.keys.key_range import tile_bounds
from attndsl.lowering.keys.key_source import KeySource, Wrapped
from attndsl.lowering.match.stored_inputs import stored_in, stored_node
from attndsl.lowering.rows.row_segments import Piece, ToPiece
from attndsl.target import ATLAS_A2, Core
from attndsl.tile.buffers import Buffer, GlobalTensor
from attndsl.tile.instructions import Convert, LoadRows, StoreRows
from attndsl.tile.instructions.base import block_elements
from attndsl.tile.program import SUB_BLOCK
from attndsl.tile.statements import Alloc, For, Let, Seq, Stage, Statement, seq

_INT8_BLOCK = block_elements("int8")
_ELEMENTS = 4096
_K0, _COUNT = Symbol("k0"), Symbol("count")
_BEGIN, _END = Symbol("keyBeginHere"), Symbol("keyEndHere")


@dataclass(frozen=True, kw_only=True)
class Dequantised(Wrapped):
    """Rows of another source, which are int8, widened; ``meant``: the numbers that they stand for."""

    meant: Factors

    @property
    def factors(self) -> Factors:
        return self.meant

    def locate(self, context: Context) -> list[Statement]:
        return []

    def pieces(
        self, context: Context, n0: Expr, rows: Expr, body: ToPiece, touched: tuple[Buffer, ...]
    ) -> Statement:
        bucket = self._bucket(context)
        place = (SLOT * context.tile_keys + n0) * bucket
        return body(Piece(self._ring(context), Const(0), rows, place, bucket))

    def prepare(self, context: Context) -> Stage:
        half = ceil_div(KEYS, ATLAS_A2.aiv_per_aic)
        share = [
            Let(symbol=_BEGIN, value=minimum(SUB_BLOCK * half, KEYS)),
            Let(symbol=_END, value=minimum(_BEGIN + half, KEYS)),
        ]
        step = self._step(context)
        over_rows = For(
            var=_K0,
            begin=_BEGIN,
            end=_END,
            step=step,
            body=seq(Let(symbol=_COUNT, value=minimum(step, _END - _K0)), self._rows(context)),
            where=self.where,
        )
        body = seq(
            *tile_bounds(context),
            *self.inner.locate(context),
            *share,
            over_rows,
        )
        if self.role == "key":
            body = seq(fold_query(context, self.meant), body)
        name = context.label(f"Widen{'Keys' if self.role == 'key' else 'Values'}")
        doc = f"One tile of {self.name} from int8 to {context.cube_dtype}, for the cube to load."
        if self.role == "key":
            doc += " Before the first, the query rows take the scale of its channels."
        return Stage(name=name, part=context.suffix, core=Core.AIV, doc=doc, body=body, where=self.where)

    # Buffers --------------------------------------------------------------------------------------------

    def _bucket(self, context: Context) -> Named:
        return context.bucket if self.role == "key" else context.value_bucket

    def _dim(self, context: Context) -> Expr:
        return context.head_dim if self.role == "key" else context.value_dim

    def _width(self, context: Context) -> int:
        """Lanes of a row in the unified buffer: int8 rows start on a 32-byte block."""
        widest = max(context.interface.bucket, context.interface.value_bucket)
        return -(-widest // _INT8_BLOCK) * _INT8_BLOCK

    def _ring(self, context: Context) -> GlobalTensor:
        elements = Const(context.schedule.ring * context.schedule.tile_k * int(self._bucket(context).value))
        meaning = f"ring of {self.role} tiles in {context.cube_dtype}, vector to cube"
        name = context.label(f"{self.role}Ring")
        return context.inventory.tensor(name, context.cube_dtype, elements, "block", meaning)

    def _step(self, context: Context) -> Named:
        """Rows of one vector step: as many as its buffers hold."""
        rows = max(8, min(64, _ELEMENTS // self._width(context) // 8 * 8))
        return context.inventory.constant("rowsPerWidening", rows, "int8 rows of one vector step")

    # Statements -----------------------------------------------------------------------------------------

    def _rows(self, context: Context) -> Seq:
        width, dim, slots = self._width(context), self._dim(context), context.schedule.slots
        elements, dtype = int(self._step(context).value) * width, context.cube_dtype
        stored = context.in_ub("int8Rows", "int8", elements, "int8 rows of keys or values", slots)
        widened = context.in_ub("wideRows", dtype, elements, "int8 rows as the cube takes them", slots)
        span = _COUNT * width

        def to_ub(piece: Piece) -> Statement:
            source = piece.tensor.region(piece.offset, piece.rows, dim, piece.pitch)
            target = stored.region(piece.at * width, piece.rows, dim, width)
            return LoadRows(dst=target, src=source, where=self.where)

        place = (SLOT * context.tile_keys + _K0) * self._bucket(context)
        store = StoreRows(
            dst=self._ring(context).region(place, _COUNT, dim, self._bucket(context)),
            src=widened.region(0, _COUNT, dim, width),
        )
        widen = Convert(dst=whole(widened, 0, span), src=whole(stored, 0, span), mode="CAST_NONE")
        return seq(
            Alloc(
                buffers=(stored,),
                body=seq(
                    self.inner.pieces(context, _K0, _COUNT, to_ub, (stored,)),
                    Alloc(buffers=(widened,), body=seq(widen, store)),
                ),
            )
        )


def dequantised(rows: nodes.Rows, role: str, source: Callable[[nodes.Rows, str], KeySource]) -> KeySource:
    """The source of rows whose stored tensor is dequantised; ``source`` makes that of the stored rows."""
    tensor = stored_node(rows)
    assert isinstance(tensor, nodes.Dequantize)
    plain = {"tensors" if isinstance(rows, nodes.Listed) else "tensor": tensor.source}
    stored, _ = stored_in(tensor.source)
    if stored.dtypes and "int8" not in stored.dtypes:
        raise NotLowered(f"dequantisation of {stored.name}", rows.where)
    return Dequantised(
        inner=source(replace(rows, **plain), role),  # type: ignore[arg-type]
        role=role,
        where=rows.where,
        meant=Factors(role=role, scale=tensor.scale, offset=tensor.offset),
    )
