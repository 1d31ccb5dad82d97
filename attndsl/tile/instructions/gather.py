"""Vector instructions that move lanes: gathers by byte offset, running numbers, copies inside UB."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from attndsl.expr import Const, Expr, Symbol, minimum
from attndsl.target import Architecture
from attndsl.target.costs import Cost
from attndsl.tile.buffers import Region, item_bytes
from attndsl.tile.instructions.base import Machine, Names, view
from attndsl.tile.instructions.limits import Finding, dtype_rule, multiple_rule
from attndsl.tile.instructions.units import BLOCKS_OF_REPEAT, REPEAT, block_elements, repeat_elements
from attndsl.tile.instructions.vector import (
    OneSource,
    VectorInstruction,
    count_form_rules,
    operands,
    reinterpreted,
)

_LANES_OF_BIT = (
    "0xaaaaaaaaaaaaaaaa",
    "0xcccccccccccccccc",
    "0xf0f0f0f0f0f0f0f0",
    "0xff00ff00ff00ff00",
    "0xffff0000ffff0000",
    "0xffffffff00000000",
)
_NUMBERED = Symbol("numberedLanes")
_GATHERED = ("float16", "bfloat16", "int16", "uint16", "float32", "int32", "uint32")


@dataclass(frozen=True, eq=False, kw_only=True)
class Gather(VectorInstruction):
    """``dst[i] = src at byte base + offsets[i]``, counted from the start of ``src``; count form.

    Offsets are bytes, multiples of an element, as uint32 or non-negative int32. ``src`` covers whatever may
    be read.
    """

    api: ClassVar[str] = "Gather"
    src: Region
    offsets: Region
    base: Expr = field(default_factory=lambda: Const(0))

    def sources(self) -> tuple[Region, ...]:
        return (self.src, self.offsets)

    def units(self, machine: Machine) -> float:
        return float(machine.value(self.dst.cols)) * item_bytes(self.dst.buffer.dtype) / REPEAT

    def run(self, machine: Machine) -> None:
        source, size = view(machine, self.src)[0], item_bytes(self.src.buffer.dtype)
        places = view(machine, self.offsets)[0].astype(np.int64) + int(machine.value(self.base))
        wrong = places[(places % size != 0) | (places < 0) | (places >= source.size * size)]
        if wrong.size:
            raise IndexError(f"{self.src}: byte {wrong[0]} is gathered, of {source.size * size}")
        view(machine, self.dst)[0] = source[places // size]

    def text(self, names: Names) -> str:
        if self.offsets.buffer.dtype == "uint32":
            offsets = operands(names, self.offsets)
        else:
            offsets = reinterpreted(names, self.offsets, "uint32_t")
        base = f"static_cast<uint32_t>({names.expr(self.base)})"
        places = operands(names, self.dst, self.src)
        return f"Gather({places}, {offsets}, {base}, {names.expr(self.dst.cols)});"

    def limits(self, architecture: Architecture) -> Iterator[Finding]:
        yield from super().limits(architecture)
        yield from count_form_rules(self.dst, self.src, self.offsets)
        yield from dtype_rule(self.src.buffer.dtype, _GATHERED, "source")
        yield from dtype_rule(self.dst.buffer.dtype, (self.src.buffer.dtype,), "destination")
        yield from dtype_rule(self.offsets.buffer.dtype, ("uint32", "int32"), "offsets")
        yield from multiple_rule(self.base, item_bytes(self.src.buffer.dtype), "base")
        if self.dst.buffer in (self.src.buffer, self.offsets.buffer):
            yield f"{self.dst.buffer.name} is gathered into itself, needs a destination of its own"

    def describe(self) -> str:
        return f"{self.dst} = Gather({self.src}, bytes {self.base} + {self.offsets})"


@dataclass(frozen=True, eq=False, kw_only=True)
class LaneNumbers(VectorInstruction):
    """``dst[i] = first + i`` in int32 or fp32, whole repeats of 64 lanes.

    Made of Duplicate and masked Adds: CreateVecIndex writes its first block from the scalar unit, which no
    order with earlier vector instructions protects (CANN 8.1 headers). Six steps make the first 64 lanes,
    each further one doubles them.
    """

    api: ClassVar[str] = "Adds"
    first: Expr

    def cycles(self, machine: Machine, costs: Mapping[str, Cost]) -> float:
        """The cost of the instructions it is made of: one Duplicate, Adds of one repeat, the doublings."""
        repeats = int(machine.value(self.dst.cols)) // repeat_elements(self.dst.buffer.dtype)
        steps = [1.0] * len(_LANES_OF_BIT)
        done = 1
        while done < repeats:
            steps.append(min(done, repeats - done))
            done *= 2
        return costs["Fill"].cycles(1) + sum(costs["Adds"].cycles(step) for step in steps)

    def run(self, machine: Machine) -> None:
        row = view(machine, self.dst)
        row[0] = np.arange(row.shape[1]) + machine.value(self.first)

    def text(self, names: Names) -> str:
        dtype, start = names.ctype(self.dst.buffer), names.local(self.dst.buffer, self.dst.offset)
        lanes, blocks = repeat_elements(self.dst.buffer.dtype), names.expr(BLOCKS_OF_REPEAT)
        lines = [f"Duplicate({start}, {dtype}({names.expr(self.first)}), {lanes});"]
        for bit, pattern in enumerate(_LANES_OF_BIT):
            lines += [
                "PipeBarrier<PIPE_V>();",
                f"uint64_t lanesOfBit{bit}[2] = {{{pattern}, 0}};",
                f"Adds({start}, {start}, {dtype}({1 << bit}), lanesOfBit{bit}, 1, "
                f"UnaryRepeatParams(1, 1, {blocks}, {blocks}));",
            ]
        # A loop, not one line a doubling: the size follows a schedule that is edited in its header.
        size, more = self.dst.cols, names.local(self.dst.buffer, self.dst.offset + _NUMBERED)
        count, done = names.expr(minimum(_NUMBERED, size - _NUMBERED)), names.expr(_NUMBERED)
        lines += [
            f"for (int64_t {done} = {lanes}; {done} < {names.expr(size)}; {done} *= 2) {{",
            "    PipeBarrier<PIPE_V>();",
            f"    Adds({more}, {start}, {dtype}({done}), {count});",
            "}",
        ]
        return "\n".join(lines)

    def limits(self, architecture: Architecture) -> Iterator[Finding]:
        yield from super().limits(architecture)
        yield from count_form_rules(self.dst)
        yield from dtype_rule(self.dst.buffer.dtype, ("int32", "float32"), "destination")
        yield from multiple_rule(self.dst.cols, repeat_elements(self.dst.buffer.dtype), "count")
        if self.dst.cols.symbols():
            yield f"count is {self.dst.cols}, needs a compile-time constant"

    def describe(self) -> str:
        return f"{self.dst} = {self.first} + lane numbers"


@dataclass(frozen=True, eq=False, kw_only=True)
class CopyLanes(OneSource):
    """``dst = src`` bit for bit inside UB: DataCopy of whole 32-byte blocks on the vector pipe."""

    api: ClassVar[str] = "DataCopy"
    operation: ClassVar[str] = "CopyUB"

    def units(self, machine: Machine) -> float:
        return float(machine.value(self.dst.cols)) * item_bytes(self.dst.buffer.dtype)

    def run(self, machine: Machine) -> None:
        view(machine, self.dst)[...] = view(machine, self.src).copy()

    def text(self, names: Names) -> str:
        return f"DataCopy({operands(names, self.dst, self.src)}, {names.expr(self.dst.cols)});"

    def limits(self, architecture: Architecture) -> Iterator[Finding]:
        yield from super().limits(architecture)
        yield from count_form_rules(self.dst, self.src)
        yield from dtype_rule(self.src.buffer.dtype, (self.dst.buffer.dtype,), "source")
        yield from multiple_rule(self.dst.cols, block_elements(self.dst.buffer.dtype), "count")
