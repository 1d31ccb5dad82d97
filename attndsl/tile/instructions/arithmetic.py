"""Lane by lane: fills, operations of one or two regions and with a scalar, and shifts of bits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from attndsl.expr import Expr, as_expr, constant_value
from attndsl.target import Architecture
from attndsl.tile.buffers import Region
from attndsl.tile.instructions.base import Array, Machine, Names, PairedReads, is_one, view
from attndsl.tile.instructions.limits import Finding, dtype_rule
from attndsl.tile.instructions.units import repeat_elements
from attndsl.tile.instructions.vector import (
    FromTable,
    OnArrays,
    OneSource,
    VectorInstruction,
    alike_rules,
    count_form_rules,
    lanes_of,
    number,
    operands,
    reinterpreted,
    repeat_stride,
)

_ARITHMETIC = ("float16", "float32", "int16", "int32")
_FLOAT = ("float16", "float32")
_UNARY = {"Exp": np.exp, "Ln": np.log, "Abs": np.abs, "Sqrt": np.sqrt}
_BINARY = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide}
_BINARY |= {"Max": np.maximum, "Min": np.minimum}
_WITH_SCALAR = {"Adds": np.add, "Muls": np.multiply, "Maxs": np.maximum, "Mins": np.minimum}


@dataclass(frozen=True, eq=False, kw_only=True)
class Fill(OnArrays):
    """``dst = value``: Duplicate, count form."""

    api: ClassVar[str] = "Duplicate"
    operation: ClassVar[str] = "Fill"
    value: Expr

    def apply(self, machine: Machine, arrays: tuple[Array, ...]) -> None:
        arrays[0][...] = machine.value(self.value)

    def text(self, names: Names) -> str:
        value = number(names, self.dst, self.value)
        return f"Duplicate({operands(names, self.dst)}, {value}, {names.expr(self.dst.cols)});"

    def describe(self) -> str:
        return f"{self.dst} = Duplicate({self.value})"

    def limits(self, architecture: Architecture) -> Iterator[Finding]:
        yield from super().limits(architecture)
        yield from count_form_rules(self.dst)


@dataclass(frozen=True, eq=False, kw_only=True)
class FillLanes(OnArrays):
    """``dst[:, first_lane:64] = value`` of fp32 rows: Duplicate with a bit mask.

    Needs 0 <= first_lane < 64; ``dst`` covers whole repeats of 64 lanes.
    """

    api: ClassVar[str] = "Duplicate"
    operation: ClassVar[str] = "Fill"
    first_lane: Expr
    value: Expr

    def apply(self, machine: Machine, arrays: tuple[Array, ...]) -> None:
        arrays[0][:, int(machine.value(self.first_lane)) :] = machine.value(self.value)

    def text(self, names: Names) -> str:
        pitch = as_expr(repeat_elements("float32")) if constant_value(self.dst.pitch) == 0 else self.dst.pitch
        sizes = ", ".join(map(names.expr, (self.dst.rows, pitch)))
        lane, value = names.expr(self.first_lane), number(names, self.dst, self.value)
        return f"FillLanes({operands(names, self.dst)}, {lane}, {value}, {sizes});"

    def limits(self, architecture: Architecture) -> Iterator[Finding]:
        yield from super().limits(architecture)
        yield from dtype_rule(self.dst.buffer.dtype, ("float32",), "destination")

    def describe(self) -> str:
        last = repeat_elements(self.dst.buffer.dtype) - 1
        return f"{self.dst} lanes {self.first_lane}..{last} = Duplicate({self.value})"


@dataclass(frozen=True, eq=False, kw_only=True)
class Unary(FromTable, OneSource, OnArrays):
    """``dst = op(src)`` for an operation of ``_UNARY``; count form, or rows of one repeat."""

    operations = _UNARY
    noun = "operation of one operand"

    def apply(self, machine: Machine, arrays: tuple[Array, ...]) -> None:
        dst, src = arrays
        self.operations[self.op](src, out=dst)

    def text(self, names: Names) -> str:
        return f"{self.op}({operands(names, self.dst, self.src)}, {lanes_of(names, self.dst, self.src)});"

    def limits(self, architecture: Architecture) -> Iterator[Finding]:
        yield from super().limits(architecture)
        yield from alike_rules(self.dst, self.src)
        yield from dtype_rule(self.dst.buffer.dtype, _FLOAT, "destination")
        yield from dtype_rule(self.src.buffer.dtype, (self.dst.buffer.dtype,), "source")


@dataclass(frozen=True, eq=False, kw_only=True)
class WithScalar(FromTable, OneSource, OnArrays):
    """``dst = op(src, scalar)`` for an operation of ``_WITH_SCALAR``; count form, or rows of one repeat."""

    operations = _WITH_SCALAR
    noun = "operation with a scalar"
    scalar: Expr

    def apply(self, machine: Machine, arrays: tuple[Array, ...]) -> None:
        dst, src = arrays
        self.operations[self.op](src, src.dtype.type(machine.value(self.scalar)), out=dst)

    def text(self, names: Names) -> str:
        scalar = number(names, self.dst, self.scalar)
        lanes = lanes_of(names, self.dst, self.src)
        return f"{self.op}({operands(names, self.dst, self.src)}, {scalar}, {lanes});"

    def limits(self, architecture: Architecture) -> Iterator[Finding]:
        yield from super().limits(architecture)
        yield from alike_rules(self.dst, self.src)
        yield from dtype_rule(self.dst.buffer.dtype, _ARITHMETIC, "destination")
        yield from dtype_rule(self.src.buffer.dtype, (self.dst.buffer.dtype,), "source")

    def describe(self) -> str:
        return f"{self.dst} = {self.op}({self.src}, {self.scalar})"


@dataclass(frozen=True, eq=False, kw_only=True)
class AddScaled(VectorInstruction):
    """``dst = dst + src * scalar`` of fp32 numbers: Axpy, count form.

    It states no ``paired_reads``: with its two buffers in other banks the predicted time of a prompt with
    slopes is 0.1 % less and that of a selection is the same.
    """

    api: ClassVar[str] = "Axpy"
    src: Region
    scalar: Expr

    def sources(self) -> tuple[Region, ...]:
        return (self.src, self.dst)

    def run(self, machine: Machine) -> None:
        source = view(machine, self.src)
        with np.errstate(all="ignore"):
            view(machine, self.dst)[...] += source * source.dtype.type(machine.value(self.scalar))

    def text(self, names: Names) -> str:
        scalar = number(names, self.dst, self.scalar)
        return f"Axpy({operands(names, self.dst, self.src)}, {scalar}, {names.expr(self.dst.cols)});"

    def limits(self, architecture: Architecture) -> Iterator[Finding]:
        yield from super().limits(architecture)
        yield from count_form_rules(self.dst, self.src)
        yield from dtype_rule(self.dst.buffer.dtype, ("float32",), "destination")
        yield from dtype_rule(self.src.buffer.dtype, ("float32",), "source")

    def describe(self) -> str:
        return f"{self.dst} = Axpy({self.src}, {self.scalar})"


_SHIFTS = {"ShiftLeft": np.left_shift, "ShiftRight": np.right_shift}


@dataclass(frozen=True, eq=False, kw_only=True)
class ShiftBits(FromTable, OneSource):
    """Words of fp32 numbers shifted by up to 31 bits, zeros following: ShiftLeft, ShiftRight; count form."""

    operations = _SHIFTS
    noun = "shift"
    bits: int

    def run(self, machine: Machine) -> None:
        words = view(machine, self.src).astype(np.float32).view(np.uint32)
        view(machine, self.dst)[...] = self.operations[self.op](words, np.uint32(self.bits)).view(np.float32)

    def text(self, names: Names) -> str:
        words = [reinterpreted(names, each, "uint32_t") for each in (self.dst, self.src)]
        return f"{self.op}({', '.join(words)}, uint32_t({self.bits}), {names.expr(self.dst.cols)});"

    def limits(self, architecture: Architecture) -> Iterator[Finding]:
        yield from super().limits(architecture)
        yield from count_form_rules(self.dst, self.src)
        for region, role in ((self.dst, "destination"), (self.src, "source")):
            yield from dtype_rule(region.buffer.dtype, ("float32",), role)
        if not 0 <= self.bits < 32:
            yield f"words of 32 bits are shifted by 0 to 31, not by {self.bits}"

    def describe(self) -> str:
        return f"{self.dst} = {self.op}({self.src}, {self.bits})"


@dataclass(frozen=True, eq=False, kw_only=True)
class Binary(FromTable, OnArrays):
    """``dst = op(first, second)`` for Add, Sub, Mul, Div, Max, Min.

    ``broadcast``: ``second`` holds one 32-byte block a row, used for all lanes of that row.
    """

    operations = _BINARY
    noun = "operation of two operands"
    first: Region
    second: Region
    broadcast: bool = False

    def sources(self) -> tuple[Region, ...]:
        return (self.first, self.second)

    def paired_reads(self) -> PairedReads:
        return PairedReads(self.first.buffer, self.second.buffer, self.broadcast)

    def arrays(self, machine: Machine) -> tuple[Array, ...]:
        """As of any other; a row that shares a block of the second has its blocks apart."""
        dst, first, second = super().arrays(machine)
        if not self.broadcast or first.shape[1] % second.shape[1] or dst.shape != first.shape:
            return dst, first, second
        shape = (first.shape[0], first.shape[1] // second.shape[1], second.shape[1])
        return dst.reshape(shape), first.reshape(shape), second[:, None, :]

    def apply(self, machine: Machine, arrays: tuple[Array, ...]) -> None:
        dst, first, second = arrays
        if self.broadcast and second.ndim == 2:  # the last block of a row is not whole
            second = second[:, np.arange(first.shape[1]) % second.shape[1]]
        self.operations[self.op](first, second, out=dst)

    def text(self, names: Names) -> str:
        places = operands(names, self.dst, self.first, self.second)
        if is_one(self.dst.rows) and not self.broadcast:
            return f"{self.op}({places}, {names.expr(self.dst.cols)});"
        strides = [repeat_stride(names, region) for region in (self.dst, self.first)]
        second = (0 if self.broadcast else 1, repeat_stride(names, self.second))
        params = f"BinaryRepeatParams(1, 1, {second[0]}, {strides[0]}, {strides[1]}, {second[1]})"
        mask, rows = names.expr(self.dst.cols), names.expr(self.dst.rows)
        return f"{self.op}({places}, {mask}, {rows}, {params});"

    def limits(self, architecture: Architecture) -> Iterator[Finding]:
        yield from super().limits(architecture)
        allowed = _FLOAT if self.op == "Div" else _ARITHMETIC
        yield from dtype_rule(self.dst.buffer.dtype, allowed, "destination")
        if len({region.buffer.dtype for region in (self.dst, self.first, self.second)}) > 1:
            yield "operands have different dtypes"
