"""Numbers a channel of a key/value head, by which rows of integers are meant: ``(row + offset) * scale``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from attndsl.expr import Const, Expr
from attndsl.graph import nodes
from attndsl.lowering.emit.context import Context, whole
from attndsl.lowering.emit.loop_scalars import KV_HEAD, LANES, REPEAT_LANES
from attndsl.lowering.match.stored_inputs import stored_in
from attndsl.target import Core
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import Convert, FillLanes, LoadRows
from attndsl.tile.statements import Alloc, If, Stage, Statement, seq


@dataclass(frozen=True, kw_only=True)
class Factors:
    """What the rows of a key source are meant by.

    Attributes:
        role: of the rows, "key" or "value".
        scale, offset: tensors over (C, K, channels), with the index along C that is meant.
    """

    role: str
    scale: nodes.Node
    offset: nodes.Node | None

    def channels(self, context: Context) -> Expr:
        """Channels of a row."""
        return context.head_dim if self.role == "key" else context.value_dim

    def lanes(self, context: Context) -> int:
        """Lanes of a row in fp32: channels padded to whole repeats."""
        bucket = context.interface.bucket if self.role == "key" else context.interface.value_bucket
        return -(-bucket // LANES) * LANES

    def wide(self, context: Context, name: str) -> Buffer:
        """The scale or the offset, ``name``, in fp32."""
        meaning = f"{name} of each channel of {self.role}s, in fp32"
        return context.in_ub(f"{self.role}{name.capitalize()}", "float32", self.lanes(context), meaning)

    def buffers(self, context: Context) -> tuple[Buffer, ...]:
        """Scale and offset as they are stored, and in fp32."""
        names = [name for name, _ in self._present()]
        return tuple(
            buffer for name in names for buffer in (self._narrow(context, name), self.wide(context, name))
        )

    def loads(self, context: Context) -> list[Statement]:
        """Scale and offset of the task's head, as they are stored."""
        channels = self.channels(context)
        return [_load(context, node, self._narrow(context, name), channels) for name, node in self._present()]

    def widened(self, context: Context) -> list[Statement]:
        """The same in fp32, zeros behind the channels."""
        found: list[Statement] = []
        for name, _ in self._present():
            narrow, wide = self._narrow(context, name), self.wide(context, name)
            found += [
                Convert(dst=whole(wide, 0, narrow.elements), src=whole(narrow), mode="CAST_NONE"),
                zero_tail(wide, Const(1), self.channels(context), self.lanes(context)),
            ]
        return found

    def _present(self) -> Iterator[tuple[str, nodes.Node]]:
        yield "scale", self.scale
        if self.offset is not None:
            yield "offset", self.offset

    def _narrow(self, context: Context, name: str) -> Buffer:
        bucket = context.interface.bucket if self.role == "key" else context.interface.value_bucket
        meaning = f"{name} of each channel of {self.role}s"
        return context.in_ub(f"{self.role}{name.capitalize()}Io", context.dtype, bucket, meaning)


def with_factors(context: Context, body: Statement) -> Statement:
    """An item's ``body``, what its keys and values are meant by in the unified buffer while it lasts."""
    found = [each for each in (context.keys.factors, context.values.factors) if each is not None]
    if not found:
        return body
    steps = [*(load for each in found for load in each.loads(context))]
    steps += [step for each in found for step in each.widened(context)]
    load = Stage(
        name=context.label("LoadFactors"),
        part=context.suffix,
        core=Core.AIV,
        doc="Scale and offset of each channel of the head's keys and values.",
        body=seq(*steps),
        where=found[0].scale.where,
    )
    buffers = tuple(buffer for each in found for buffer in each.buffers(context))
    return Alloc(buffers=buffers, body=seq(load, body))


def zero_tail(buffer: Buffer, rows: Expr, channels: Expr, lanes: int) -> Statement:
    """Zeros behind the channels of fp32 rows, up to the end of their last repeat."""
    last = buffer.region(channels // REPEAT_LANES * REPEAT_LANES, rows, REPEAT_LANES, lanes)
    fill = FillLanes(dst=last, first_lane=channels % REPEAT_LANES, value=Const(0))
    return If(condition=channels % REPEAT_LANES != 0, then=seq(fill))


def _load(context: Context, node: nodes.Node, target: Buffer, channels: Expr) -> Statement:
    tensor, fixed = stored_in(node)
    offset = KV_HEAD * context.stride(tensor.name, "K")
    for axis, index in fixed:
        offset = offset + context.in_kernel(index) * context.stride(tensor.name, axis)
    source = context.gm(tensor.name, offset, 1, channels)
    return LoadRows(dst=whole(target, 0, channels), src=source, where=node.where)
