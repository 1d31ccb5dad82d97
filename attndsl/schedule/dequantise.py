"""Keys or values stored in int8: the vector cores turn each tile into the io dtype before the cube loads it.

    row = (stored + offset) * scale,  scale and offset one number a channel of the key/value head

in fp32, rounded to the io dtype, through a workspace ring of its own. The two vector cores share the tile's
rows, the first half to the first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from attndsl.graph import nodes
from attndsl.hardware import ATLAS_A2, Core
from attndsl.schedule.context import KEYS, KV_HEAD, SLOT, Context, whole
from attndsl.schedule.cube import tile_bounds
from attndsl.schedule.errors import NotLowered
from attndsl.schedule.key_source import KeySource, Wrapped
from attndsl.schedule.pieces import Piece, ToPiece
from attndsl.schedule.stored import stored_in, stored_node
from attndsl.symbolic import Const, Expr, Named, Symbol, ceil_div, minimum
from attndsl.tile.buffers import Buffer, GlobalTensor
from attndsl.tile.instructions import Binary, Convert, LoadRows, StoreRows
from attndsl.tile.instructions.base import block_elements
from attndsl.tile.program import SUB_BLOCK
from attndsl.tile.statements import Alloc, For, Let, Note, Seq, Stage, Statement, seq

_INT8_BLOCK = block_elements("int8")
_ROWS = 16
_K0, _COUNT, _ROW = Symbol("k0"), Symbol("count"), Symbol("row")
_BEGIN, _END = Symbol("keyBeginHere"), Symbol("keyEndHere")


@dataclass(frozen=True, kw_only=True)
class Dequantised(Wrapped):
    """Rows of another source, which are int8, as numbers of the io dtype.

    ``scale``, ``offset``: tensors over (C, K, D), with the index along C that is meant.
    """

    scale: nodes.Node
    offset: nodes.Node | None

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
        step = context.inventory.constant("rowsPerDequantisation", _ROWS, "int8 rows of one vector step")
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
            self._with_factors(context, over_rows),
        )
        name = context.label(f"Dequantise{'Keys' if self.role == 'key' else 'Values'}")
        doc = f"One tile of {self.name} from int8 to the io dtype, for the cube to load."
        return Stage(name=name, core=Core.AIV, doc=doc, body=body, where=self.where)

    # Buffers --------------------------------------------------------------------------------------------

    def _bucket(self, context: Context) -> Named:
        return context.bucket if self.role == "key" else context.value_bucket

    def _dim(self, context: Context) -> Expr:
        return context.head_dim if self.role == "key" else context.value_dim

    def _width(self, context: Context) -> int:
        """Lanes of a row in the unified buffer: int8 rows start on a 32-byte block."""
        widest = max(context.problem.bucket, context.problem.value_bucket)
        return -(-widest // _INT8_BLOCK) * _INT8_BLOCK

    def _ring(self, context: Context) -> GlobalTensor:
        elements = Const(context.schedule.ring * context.schedule.tile_k * int(self._bucket(context).value))
        meaning = f"ring of {self.role} tiles in the io dtype, vector to cube"
        name = context.label(f"{self.role}Ring")
        return context.inventory.tensor(name, context.dtype, elements, "block", meaning)

    def _factors(self, context: Context) -> tuple[tuple[nodes.Node, Buffer, Buffer], ...]:
        """Scale and offset with their buffers in the io dtype and in fp32."""
        width = self._width(context)
        found = []
        for node, name in ((self.scale, "Scale"), (self.offset, "Offset")):
            if node is not None:
                stem, meaning = f"int8{name}", f"{name.lower()} of int8 rows, a number a channel"
                narrow = context.in_ub(f"{stem}Io", context.dtype, width, meaning)
                wide = context.in_ub(stem, "float32", width, f"{meaning}, in fp32")
                found.append((node, narrow, wide))
        return tuple(found)

    # Statements -----------------------------------------------------------------------------------------

    def _with_factors(self, context: Context, rows: Statement) -> Statement:
        factors, width = self._factors(context), self._width(context)
        loads, widened = [], []
        for node, narrow, wide in factors:
            tensor, fixed = stored_in(node)
            offset = KV_HEAD * context.stride(tensor.name, "K")
            for axis, index in fixed:
                offset = offset + context.in_kernel(index) * context.stride(tensor.name, axis)
            source = context.gm(tensor.name, offset, 1, self._dim(context))
            loads.append(LoadRows(dst=whole(narrow, 0, self._dim(context)), src=source, where=node.where))
            widened.append(Convert(dst=whole(wide, 0, width), src=whole(narrow, 0, width), mode="CAST_NONE"))
        buffers = tuple(buffer for _, narrow, wide in factors for buffer in (narrow, wide))
        return Alloc(buffers=buffers, body=seq(*loads, *widened, rows))

    def _rows(self, context: Context) -> Seq:
        width, dim, slots = self._width(context), self._dim(context), context.schedule.slots
        stored = context.in_ub("int8Rows", "int8", _ROWS * width, "int8 rows of keys or values", slots)
        half = context.in_ub("int8Half", "float16", _ROWS * width, "int8 rows in fp16, exact")
        wide = context.in_ub("int8Wide", "float32", _ROWS * width, "int8 rows in fp32")
        result = context.in_ub("int8Result", context.dtype, _ROWS * width, "rows in the io dtype", slots)
        span = _COUNT * width

        def to_ub(piece: Piece) -> Statement:
            source = piece.tensor.region(piece.offset, piece.rows, dim, piece.pitch)
            target = stored.region(piece.at * width, piece.rows, dim, width)
            return LoadRows(dst=target, src=source, where=self.where)

        place = (SLOT * context.tile_keys + _K0) * self._bucket(context)
        store = StoreRows(
            dst=self._ring(context).region(place, _COUNT, dim, self._bucket(context)),
            src=result.region(0, _COUNT, dim, width),
        )
        return seq(
            Alloc(
                buffers=(stored,),
                body=seq(
                    self.inner.pieces(context, _K0, _COUNT, to_ub, (stored,)),
                    Convert(dst=whole(half, 0, span), src=whole(stored, 0, span), mode="CAST_NONE"),
                ),
            ),
            Convert(dst=whole(wide, 0, span), src=whole(half, 0, span), mode="CAST_NONE"),
            Note(text="row = (stored + offset) * scale"),
            self._scaled(context, wide),
            Alloc(
                buffers=(result,),
                body=seq(
                    Convert(dst=whole(result, 0, span), src=whole(wide, 0, span), mode="CAST_RINT"), store
                ),
            ),
        )

    def _scaled(self, context: Context, wide: Buffer) -> For:
        width = self._width(context)
        row = whole(wide, _ROW * width, width)
        factors = {id(node): fp32 for node, _, fp32 in self._factors(context)}
        steps = []
        if self.offset is not None:
            steps.append(
                Binary(op="Add", dst=row, first=row, second=whole(factors[id(self.offset)], 0, width))
            )
        steps.append(Binary(op="Mul", dst=row, first=row, second=whole(factors[id(self.scale)], 0, width)))
        return For(var=_ROW, end=_COUNT, body=seq(*steps), disjoint=(wide,), runs=True)


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
        scale=tensor.scale,
        offset=tensor.offset,
    )
