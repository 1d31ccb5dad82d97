"""Vector instructions around masks of lanes: comparisons, logic on their bits, selection, filled intervals.

A mask is a buffer of bytes, lane i in bit ``i % 8`` of byte ``i // 8``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from attndsl.base.facts import kept
from attndsl.expr import Expr, as_expr
from attndsl.expr.compiled_evaluation import Function, integers
from attndsl.target import Architecture
from attndsl.tile.buffers import Region, item_bytes
from attndsl.tile.instructions.base import Array, Machine, Names, is_one, view
from attndsl.tile.instructions.limits import Finding, dtype_rule, multiple_rule, name_rule
from attndsl.tile.instructions.units import REPEAT, repeat_elements
from attndsl.tile.instructions.vector import (
    FromTable,
    OnArrays,
    OneSource,
    VectorInstruction,
    count_form_rules,
    number,
    operands,
    reinterpreted,
)

_FLOAT = ("float16", "float32")
_BITS = ("uint8", "uint16")
COMPARISONS = {"EQ": np.equal, "NE": np.not_equal, "GT": np.greater, "LT": np.less}
COMPARISONS |= {"GE": np.greater_equal, "LE": np.less_equal}
# Lanes of a repeat of fp32.
_LANES = repeat_elements("float32")


@dataclass(frozen=True, eq=False, kw_only=True)
class CompareWithScalar(OneSource):
    """``dst bit i = src[i] <mode> scalar``, little-endian bits; covers whole 256-byte repeats of ``src``."""

    api: ClassVar[str] = "CompareScalar"
    scalar: Expr
    mode: str

    def units(self, machine: Machine) -> float:
        return float(machine.value(self.src.cols)) * item_bytes(self.src.buffer.dtype) / REPEAT

    def run(self, machine: Machine) -> None:
        source = view(machine, self.src)[0]
        scalar = source.dtype.type(machine.value(self.scalar))
        if source.dtype == np.float16:  # exact, and NumPy compares float32 far faster
            source, scalar = source.astype(np.float32), np.float32(scalar)
        bits = np.packbits(COMPARISONS[self.mode](source, scalar), bitorder="little")
        view(machine, self.dst)[0, : bits.size] = bits

    def text(self, names: Names) -> str:
        places = operands(names, self.dst, self.src)
        scalar = number(names, self.src, self.scalar)
        return f"CompareScalar({places}, {scalar}, CMPMODE::{self.mode}, {names.expr(self.src.cols)});"

    def limits(self, architecture: Architecture) -> Iterator[Finding]:
        yield from super().limits(architecture)
        yield from count_form_rules(self.src)
        yield from dtype_rule(self.dst.buffer.dtype, ("uint8",), "bits")
        yield from dtype_rule(self.src.buffer.dtype, _FLOAT, "source")
        yield from multiple_rule(self.src.cols, repeat_elements(self.src.buffer.dtype), "count")
        yield from name_rule(self.mode, COMPARISONS, "comparison")

    def describe(self) -> str:
        return f"{self.dst} bits = {self.src} {self.mode} {self.scalar}"


@dataclass(frozen=True, eq=False, kw_only=True)
class CompareLanes(VectorInstruction):
    """``dst bit i = first[i] <mode> second[i]``; covers whole 256-byte repeats of the sources.

    int32 compares for equality only.
    """

    api: ClassVar[str] = "Compare"
    first: Region
    second: Region
    mode: str

    def sources(self) -> tuple[Region, ...]:
        return (self.first, self.second)

    def units(self, machine: Machine) -> float:
        return float(machine.value(self.first.cols)) * item_bytes(self.first.buffer.dtype) / REPEAT

    def run(self, machine: Machine) -> None:
        holds = COMPARISONS[self.mode](view(machine, self.first)[0], view(machine, self.second)[0])
        bits = np.packbits(holds, bitorder="little")
        view(machine, self.dst)[0, : bits.size] = bits

    def text(self, names: Names) -> str:
        places = operands(names, self.dst, self.first, self.second)
        return f"Compare({places}, CMPMODE::{self.mode}, {names.expr(self.first.cols)});"

    def limits(self, architecture: Architecture) -> Iterator[Finding]:
        yield from super().limits(architecture)
        yield from count_form_rules(self.first, self.second)
        yield from dtype_rule(self.dst.buffer.dtype, ("uint8",), "bits")
        yield from dtype_rule(self.first.buffer.dtype, (*_FLOAT, "int32"), "first source")
        yield from dtype_rule(self.second.buffer.dtype, (self.first.buffer.dtype,), "second source")
        yield from multiple_rule(self.first.cols, repeat_elements(self.first.buffer.dtype), "count")
        yield from name_rule(self.mode, COMPARISONS, "comparison")
        if self.first.buffer.dtype == "int32" and self.mode != "EQ":
            yield f"int32 is compared by EQ only, not by {self.mode}"

    def describe(self) -> str:
        return f"{self.dst} bits = {self.first} {self.mode} {self.second}"


def _words(names: Names, region: Region) -> str:
    """Bits as the 16-bit words that logic works on."""
    if region.buffer.dtype == "uint16":
        return operands(names, region)
    return reinterpreted(names, region, "uint16_t")


def _word_count(names: Names, region: Region) -> str:
    return names.expr(region.cols // as_expr(2 // item_bytes(region.buffer.dtype)))


def _bit_rules(*regions: Region) -> Iterator[Finding]:
    yield from count_form_rules(*regions)
    for region in regions:
        yield from dtype_rule(region.buffer.dtype, _BITS, "bits")
        yield from multiple_rule(region.cols, 2 // min(item_bytes(region.buffer.dtype), 2), "count")


_LOGIC = {"And": np.bitwise_and, "Or": np.bitwise_or}


@dataclass(frozen=True, eq=False, kw_only=True)
class Bitwise(FromTable):
    """``dst = first & second`` or ``first | second``: And, Or; count form, an even number of bytes."""

    operations = _LOGIC
    noun = "bitwise"
    first: Region
    second: Region

    def sources(self) -> tuple[Region, ...]:
        return (self.first, self.second)

    def run(self, machine: Machine) -> None:
        first, second = view(machine, self.first), view(machine, self.second)
        view(machine, self.dst)[...] = self.operations[self.op](first, second)

    def text(self, names: Names) -> str:
        places = ", ".join(_words(names, region) for region in (self.dst, self.first, self.second))
        return f"{self.op}({places}, {_word_count(names, self.dst)});"

    def limits(self, architecture: Architecture) -> Iterator[Finding]:
        yield from super().limits(architecture)
        yield from _bit_rules(self.dst, self.first, self.second)


@dataclass(frozen=True, eq=False, kw_only=True)
class BitwiseNot(OneSource):
    """``dst = ~src``: Not; count form, an even number of bytes."""

    api: ClassVar[str] = "Not"

    def run(self, machine: Machine) -> None:
        view(machine, self.dst)[...] = np.bitwise_not(view(machine, self.src))

    def text(self, names: Names) -> str:
        return f"Not({_words(names, self.dst)}, {_words(names, self.src)}, {_word_count(names, self.dst)});"

    def limits(self, architecture: Architecture) -> Iterator[Finding]:
        yield from super().limits(architecture)
        yield from _bit_rules(self.dst, self.src)


@dataclass(frozen=True, eq=False, kw_only=True)
class SelectOrScalar(VectorInstruction):
    """``dst[i] = bit i ? src[i] : scalar``: Select in tensor-scalar mode; count form."""

    api: ClassVar[str] = "Select"
    bits: Region
    src: Region
    scalar: Expr

    def sources(self) -> tuple[Region, ...]:
        return (self.bits, self.src)

    def run(self, machine: Machine) -> None:
        source = view(machine, self.src)
        packed = machine.slot(self.bits.buffer)[int(machine.value(self.bits.offset)) :]
        keep = np.unpackbits(packed, bitorder="little")[: source.shape[1]].astype(bool)
        view(machine, self.dst)[...] = np.where(keep, source, source.dtype.type(machine.value(self.scalar)))

    def text(self, names: Names) -> str:
        places = operands(names, self.dst, self.bits, self.src)
        scalar = number(names, self.src, self.scalar)
        count = names.expr(self.dst.cols)
        return f"Select({places}, {scalar}, SELMODE::VSEL_TENSOR_SCALAR_MODE, {count});"

    def limits(self, architecture: Architecture) -> Iterator[Finding]:
        yield from super().limits(architecture)
        yield from count_form_rules(self.dst, self.src)
        yield from dtype_rule(self.src.buffer.dtype, _FLOAT, "source")
        yield from dtype_rule(self.bits.buffer.dtype, ("uint8",), "bits")

    def describe(self) -> str:
        return f"{self.dst} = Select({self.bits.buffer.name}, {self.src}, {self.scalar})"


@dataclass(frozen=True, eq=False, kw_only=True)
class SelectLanes(VectorInstruction):
    """``dst[i] = bit i ? first[i] : second[i]``: Select in tensor-tensor mode; count form."""

    api: ClassVar[str] = "Select"
    bits: Region
    first: Region
    second: Region

    def sources(self) -> tuple[Region, ...]:
        return (self.bits, self.first, self.second)

    def run(self, machine: Machine) -> None:
        first, second = view(machine, self.first), view(machine, self.second)
        packed = machine.slot(self.bits.buffer)[int(machine.value(self.bits.offset)) :]
        chosen = np.unpackbits(packed, bitorder="little")[: first.shape[1]].astype(bool)
        view(machine, self.dst)[...] = np.where(chosen, first, second)

    def text(self, names: Names) -> str:
        places = operands(names, self.dst, self.bits, self.first, self.second)
        return f"Select({places}, SELMODE::VSEL_TENSOR_TENSOR_MODE, {names.expr(self.dst.cols)});"

    def limits(self, architecture: Architecture) -> Iterator[Finding]:
        yield from super().limits(architecture)
        yield from count_form_rules(self.dst, self.first, self.second)
        yield from dtype_rule(self.first.buffer.dtype, _FLOAT, "first source")
        yield from dtype_rule(self.bits.buffer.dtype, ("uint8",), "bits")
        if len({region.buffer.dtype for region in (self.dst, self.first, self.second)}) > 1:
            yield "operands have different dtypes"


@dataclass(frozen=True, eq=False, kw_only=True)
class FillInterval(OnArrays):
    """``dst[:, begin:end] = value`` of fp32 rows, for any run-time 0 <= begin, end <= dst.cols.

    Nothing where ``end <= begin``. One row: Duplicate with a bit mask up to the next repeat, then the count
    form. Several rows: a Duplicate with a bit mask for each repeat that the interval touches. ``dst`` may be
    wider than a repeat.
    """

    api: ClassVar[str] = "Duplicate"
    operation: ClassVar[str] = "Fill"
    wide_rows: ClassVar[bool] = True
    begin: Expr
    end: Expr
    value: Expr

    def apply(self, machine: Machine, arrays: tuple[Array, ...]) -> None:
        begin, end = _interval(self)(machine.scalars)
        (rows,) = arrays
        if begin < end and not (begin >= 0 and end <= rows.shape[1]):
            raise IndexError(f"{self.dst.buffer.name}: lanes {begin} to {end} of {rows.shape[1]} are filled")
        rows[:, begin : max(begin, end)] = machine.value(self.value)

    def units(self, machine: Machine) -> float:
        begin, end = int(machine.value(self.begin)), int(machine.value(self.end))
        repeats = -(-end // _LANES) - begin // _LANES if end > begin else 0
        return float(repeats * machine.value(self.dst.rows))

    def text(self, names: Names) -> str:
        value = number(names, self.dst, self.value)
        place = names.local(self.dst.buffer, self.dst.offset)
        interval = f"{place}, {names.expr(self.begin)}, {names.expr(self.end)}, {value}"
        if is_one(self.dst.rows):
            return f"FillInterval({interval});"
        return f"FillIntervalOfRows({interval}, {names.expr(self.dst.rows)}, {names.expr(self.dst.pitch)});"

    def limits(self, architecture: Architecture) -> Iterator[Finding]:
        yield from super().limits(architecture)
        yield from dtype_rule(self.dst.buffer.dtype, ("float32",), "destination")

    def describe(self) -> str:
        return f"{self.dst} lanes {self.begin}..{self.end} = Duplicate({self.value})"


@kept
def _interval(item: FillInterval) -> Function:
    return integers(item.begin, item.end)
