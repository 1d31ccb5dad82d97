"""Scale and zero point of quantized rows: a number a channel of a key/value head, or one a head.

number = (stored + offset) * scale
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass

from attndsl.expr import Const, Expr
from attndsl.graph import nodes
from attndsl.lowering.emit.emitter import Emitter
from attndsl.lowering.emit.loop_scalars import KV_HEAD, LANES, REPEAT_LANES
from attndsl.lowering.emit.shorthands import whole
from attndsl.lowering.match.stored_inputs import stored_in
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import Convert, Fill, FillLanes, LoadRows
from attndsl.tile.statements import Alloc, If, Statement, seq

CHANNELS = frozenset("DE")
AXES = CHANNELS | {"K"}
"""The axes that a scale or an offset may have."""


@dataclass(frozen=True, kw_only=True)
class ChannelQuantization:
    """Scale and zero point of the rows of a key source.

    Attributes:
        role: of the rows, "key" or "value".
        scale, offset: tensors over any of (C, K, channels), at an index along C; ``offset`` is the zero
            point. Without channels they are fp32, in which scalars are read.
    """

    role: str
    scale: nodes.Node
    offset: nodes.Node | None

    def lanes(self, emit: Emitter) -> int:
        """Lanes of a row in fp32: channels padded to whole repeats."""
        return -(-self._padded_size(emit) // LANES) * LANES

    def wide(self, emit: Emitter, name: str) -> Buffer:
        """The scale or the offset, ``name``, in fp32."""
        meaning = f"{name} of each channel of {self.role}s, in fp32"
        return emit.in_ub(f"{self.role}{name.capitalize()}", "float32", self.lanes(emit), meaning)

    def with_factors(self, emit: Emitter, body: Sequence[Statement], zeros: Container[str] = ()) -> Statement:
        """``body``, scale and offset of the task's head in fp32 in the unified buffer while it lasts.

        What is loaded as it is stored comes first: so one event is for both, and ids are few.

        Args:
            zeros: of which, "scale" or "offset", the lanes behind the last channel shall be 0, as of what is
                summed over channels; there is no telling what those of others are.
        """
        present = [(name, node, self.wide(emit, name)) for name, node in self._present()]
        loads = [self._in_fp32(emit, node, wide) for _, node, wide in present if self._is_wide(emit, node)]
        rest = [self._completed(emit, node, wide, name in zeros) for name, node, wide in present]
        return Alloc(buffers=tuple(wide for *_, wide in present), body=seq(*loads, *rest, *body))

    def _is_wide(self, emit: Emitter, node: nodes.Node) -> bool:
        """Whether the numbers of channels are stored in fp32."""
        return has_channels(node) and emit.parameter(_place(emit, node)[0].name).dtype == "float32"

    def _in_fp32(self, emit: Emitter, node: nodes.Node, wide: Buffer) -> Statement:
        tensor, offset = _place(emit, node)
        channels = emit.channels(self.role)
        stored = emit.gm(tensor.name, offset, 1, channels)
        return LoadRows(dst=whole(wide, 0, channels), src=stored, where=node.where)

    def _completed(self, emit: Emitter, node: nodes.Node, wide: Buffer, has_zeros: bool) -> Statement:
        """Numbers of channels where they are not loaded yet, and zeros after the last if there shall be."""
        size, channels = self._padded_size(emit), emit.channels(self.role)
        tensor, offset = _place(emit, node)
        zeros = zero_tail(wide, Const(1), channels, self.lanes(emit)) if has_zeros else seq()
        if not has_channels(node):
            number = emit.parameter(tensor.name).at(offset)
            return seq(Fill(dst=whole(wide, 0, size), value=number, where=node.where), zeros)
        if self._is_wide(emit, node):
            return zeros
        narrow = self._narrow(emit)
        stored = emit.gm(tensor.name, offset, 1, channels)
        load = LoadRows(dst=whole(narrow, 0, channels), src=stored, where=node.where)
        widen = Convert(dst=whole(wide, 0, size), src=whole(narrow, 0, size), mode="CAST_NONE")
        return Alloc(buffers=(narrow,), body=seq(load, widen, zeros))

    def _present(self) -> Iterator[tuple[str, nodes.Node]]:
        yield "scale", self.scale
        if self.offset is not None:
            yield "offset", self.offset

    def _padded_size(self, emit: Emitter) -> int:
        return int(emit.padded_channels(self.role).value)

    def _narrow(self, emit: Emitter) -> Buffer:
        """Scales and offsets as they are stored; they take turns, as event ids are few."""
        meaning = "scale or offset of each channel"
        return emit.in_ub("channelNumbers", emit.dtype, emit.widest_padded_size, meaning)


def zero_tail(buffer: Buffer, rows: Expr, channels: Expr, lanes: int) -> Statement:
    """Zeros after the channels of fp32 rows, up to the end of their last repeat."""
    last = buffer.region(channels // REPEAT_LANES * REPEAT_LANES, rows, REPEAT_LANES, lanes)
    fill = FillLanes(dst=last, first_lane=channels % REPEAT_LANES, value=Const(0))
    return If(condition=channels % REPEAT_LANES != 0, then=seq(fill))


def axes_read(node: nodes.Node) -> frozenset[str]:
    """The axes along which a scale or an offset differs: those of its tensor without those it is taken at."""
    tensor, fixed = stored_in(node)
    return frozenset(tensor.axes).difference(axis for axis, _ in fixed)


def has_channels(node: nodes.Node) -> bool:
    """Whether a scale or an offset has a number for each channel, and not one for all of a head."""
    return not CHANNELS.isdisjoint(axes_read(node))


def _place(emit: Emitter, node: nodes.Node) -> tuple[nodes.Input, Expr]:
    """The tensor of a scale or an offset, and where in it the numbers of the task's head begin."""
    tensor, fixed = stored_in(node)
    offset = KV_HEAD * emit.stride(tensor.name, "K")
    for axis, index in fixed:
        offset = offset + emit.in_kernel(index) * emit.stride(tensor.name, axis)
    return tensor, offset


def absorbed_forms(node: nodes.Dequantize, factor: nodes.Node, channels: str) -> str:
    """What to write for a scale or an offset that differs from token to token."""
    found = f'give it the axes "K" or "K {channels}": one number a head or a channel'
    if factor is not node.scale or CHANNELS & axes_read(factor):
        return found
    product = "scores by it, s * x" if channels == "D" else "probabilities by it, (p * x) @ values"
    return f'{found}; a scale of each token multiplies {product}, x over "B K T", beside one of 1.0 over "K"'
