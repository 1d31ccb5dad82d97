"""Scale and zero point of quantized rows, a number a channel of a key/value head.

number = (stored + offset) * scale
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from attndsl.expr import Const, Expr
from attndsl.graph import nodes
from attndsl.lowering.emit.emitter import Emitter
from attndsl.lowering.emit.loop_scalars import KV_HEAD, LANES, REPEAT_LANES
from attndsl.lowering.emit.shorthands import whole
from attndsl.lowering.match.stored_inputs import stored_in
from attndsl.target import Core
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import Convert, FillLanes, LoadRows
from attndsl.tile.statements import Alloc, If, Stage, Statement, seq


@dataclass(frozen=True, kw_only=True)
class ChannelQuantization:
    """Scale and zero point of the rows of a key source.

    Attributes:
        role: of the rows, "key" or "value".
        scale, offset: tensors over (C, K, channels), at an index along C; ``offset`` is the zero point.
    """

    role: str
    scale: nodes.Node
    offset: nodes.Node | None

    def channels(self, emit: Emitter) -> Expr:
        """Channels of a row."""
        return emit.head_dim if self.role == "key" else emit.value_dim

    def lanes(self, emit: Emitter) -> int:
        """Lanes of a row in fp32: channels padded to whole repeats."""
        padded_size = (
            emit.signature.padded_head_size if self.role == "key" else emit.signature.padded_value_size
        )
        return -(-padded_size // LANES) * LANES

    def wide(self, emit: Emitter, name: str) -> Buffer:
        """The scale or the offset, ``name``, in fp32."""
        meaning = f"{name} of each channel of {self.role}s, in fp32"
        return emit.in_ub(f"{self.role}{name.capitalize()}", "float32", self.lanes(emit), meaning)

    def buffers(self, emit: Emitter) -> tuple[Buffer, ...]:
        """Scale and offset as they are stored, and in fp32."""
        names = [name for name, _ in self._present()]
        return tuple(buffer for name in names for buffer in (self._narrow(emit, name), self.wide(emit, name)))

    def loads(self, emit: Emitter) -> list[Statement]:
        """Scale and offset of the task's head, as they are stored."""
        channels = self.channels(emit)
        return [_load(emit, node, self._narrow(emit, name), channels) for name, node in self._present()]

    def widened(self, emit: Emitter) -> list[Statement]:
        """The same in fp32, zeros after the channels."""
        found: list[Statement] = []
        for name, _ in self._present():
            narrow, wide = self._narrow(emit, name), self.wide(emit, name)
            found += [
                Convert(dst=whole(wide, 0, narrow.elements), src=whole(narrow), mode="CAST_NONE"),
                zero_tail(wide, Const(1), self.channels(emit), self.lanes(emit)),
            ]
        return found

    def _present(self) -> Iterator[tuple[str, nodes.Node]]:
        yield "scale", self.scale
        if self.offset is not None:
            yield "offset", self.offset

    def _narrow(self, emit: Emitter, name: str) -> Buffer:
        padded_size = (
            emit.signature.padded_head_size if self.role == "key" else emit.signature.padded_value_size
        )
        meaning = f"{name} of each channel of {self.role}s"
        return emit.in_ub(f"{self.role}{name.capitalize()}Io", emit.dtype, padded_size, meaning)


def with_quantization(
    emit: Emitter, quantizations: Sequence[ChannelQuantization], body: Statement
) -> Statement:
    """An item's ``body``, scale and offset of its keys and values in the unified buffer while it lasts."""
    if not quantizations:
        return body
    steps = [load for each in quantizations for load in each.loads(emit)]
    steps += [step for each in quantizations for step in each.widened(emit)]
    load = Stage(
        name=emit.label("LoadFactors"),
        part=emit.suffix,
        core=Core.AIV,
        doc="Scale and offset of each channel of the head's keys and values.",
        body=seq(*steps),
        where=quantizations[0].scale.where,
    )
    buffers = tuple(buffer for each in quantizations for buffer in each.buffers(emit))
    return Alloc(buffers=buffers, body=seq(load, body))


def zero_tail(buffer: Buffer, rows: Expr, channels: Expr, lanes: int) -> Statement:
    """Zeros after the channels of fp32 rows, up to the end of their last repeat."""
    last = buffer.region(channels // REPEAT_LANES * REPEAT_LANES, rows, REPEAT_LANES, lanes)
    fill = FillLanes(dst=last, first_lane=channels % REPEAT_LANES, value=Const(0))
    return If(condition=channels % REPEAT_LANES != 0, then=seq(fill))


def _load(emit: Emitter, node: nodes.Node, target: Buffer, channels: Expr) -> Statement:
    tensor, fixed = stored_in(node)
    offset = KV_HEAD * emit.stride(tensor.name, "K")
    for axis, index in fixed:
        offset = offset + emit.in_kernel(index) * emit.stride(tensor.name, axis)
    source = emit.gm(tensor.name, offset, 1, channels)
    return LoadRows(dst=whole(target, 0, channels), src=source, where=node.where)
