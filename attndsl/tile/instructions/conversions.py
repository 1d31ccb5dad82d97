"""Conversions between dtypes (Cast), row by row and to Nz."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from attndsl.expr import constant_value
from attndsl.target import Architecture, MemorySpace
from attndsl.tile.buffers import NUMPY_DTYPES, Buffer
from attndsl.tile.instructions.base import Array, Machine, Names
from attndsl.tile.instructions.limits import Finding, at_most_rule, multiple_rule, space_rule
from attndsl.tile.instructions.units import block_elements, repeat_elements
from attndsl.tile.instructions.vector import (
    OnArrays,
    OneSource,
    alike_rules,
    blocks_of,
    lanes_of,
    operands,
    repeat_stride,
)

_INTEGRAL = {"CAST_RINT": np.rint, "CAST_FLOOR": np.floor, "CAST_CEIL": np.ceil, "CAST_TRUNC": np.trunc}
_TO_INTEGER = tuple(_INTEGRAL)


def _converted(values: Array, source: str, dtype: str, mode: str) -> Array:
    """To integers: rounded by the mode, beyond the range its end, NaN as 0; to floats: as they are, whoever
    stores them rounds to nearest even."""
    target = NUMPY_DTYPES[dtype]
    if source == dtype:
        return np.asarray(_INTEGRAL[mode](values))
    if target.kind not in "iu":
        return values
    bounds = np.iinfo(target)
    whole = np.nan_to_num(_INTEGRAL[mode](values.astype(np.float64)), posinf=np.inf, neginf=-np.inf)
    found: Array = np.clip(whole, bounds.min, bounds.max).astype(target)
    return found


@dataclass(frozen=True, eq=False, kw_only=True)
class Convert(OneSource, OnArrays):
    """``dst = Cast(src)`` with a rounding mode; count form, or rows of one repeat. fp32 to fp32 rounds to
    integral values.

    ``apart``: both operands should lie in other banks, as all of a step's lanes pass from one to the other.
    """

    api: ClassVar[str] = "Cast"
    operation: ClassVar[str] = "Convert"
    mode: str
    apart: bool = False

    def read_while_written(self) -> tuple[Buffer, Buffer] | None:
        return (self.src.buffer, self.dst.buffer) if self.apart else None

    _PAIRS: ClassVar[dict[tuple[str, str], tuple[str, ...]]] = {
        ("uint8", "float16"): ("CAST_NONE",),
        ("int8", "float16"): ("CAST_NONE",),
        ("float16", "float32"): ("CAST_NONE",),
        ("bfloat16", "float32"): ("CAST_NONE",),
        ("float32", "float16"): ("CAST_RINT", "CAST_NONE"),
        ("float32", "bfloat16"): ("CAST_RINT",),
        ("float16", "int8"): _TO_INTEGER,
        ("float16", "uint8"): _TO_INTEGER,
        ("float32", "int32"): _TO_INTEGER,
        ("float32", "float32"): _TO_INTEGER,
        ("int32", "float32"): ("CAST_NONE", "CAST_RINT"),
    }

    def apply(self, machine: Machine, arrays: tuple[Array, ...]) -> None:
        dst, src = arrays
        dst[...] = _converted(src, self.src.buffer.dtype, self.dst.buffer.dtype, self.mode)

    def text(self, names: Names) -> str:
        mode = f"RoundMode::{self.mode}"
        lanes = lanes_of(names, self.dst, self.src)
        return f"Cast({operands(names, self.dst, self.src)}, {mode}, {lanes});"

    def limits(self, architecture: Architecture) -> Iterator[Finding]:
        yield from super().limits(architecture)
        yield from alike_rules(self.dst, self.src)
        pair = (self.src.buffer.dtype, self.dst.buffer.dtype)
        if self.mode not in self._PAIRS.get(pair, ()):
            yield f"Cast from {pair[0]} to {pair[1]} has no {self.mode}"

    def describe(self) -> str:
        return f"{self.dst} = Cast({self.src}) {self.dst.buffer.dtype} {self.mode}"


@dataclass(frozen=True, eq=False, kw_only=True)
class ConvertToNz(OneSource, OnArrays):
    """``dst = Cast(src)`` of rows, in Nz: each block of a row to its column group.

    Element (r, c) goes to ``c // C0 * pitch + r * C0 + c % C0``, with C0 the elements of a block and the
    pitch of ``dst``: its rows are the column groups, C0 elements for each row of ``src``. Groups an odd
    number of blocks apart meet no conflict of banks.
    """

    api: ClassVar[str] = "Cast"
    operation: ClassVar[str] = "Convert"
    mode: str = "CAST_NONE"

    def read_while_written(self) -> tuple[Buffer, Buffer]:
        return self.src.buffer, self.dst.buffer

    _PAIRS: ClassVar[dict[tuple[str, str], str]] = {
        ("int8", "float16"): "CAST_NONE",
        ("float32", "float16"): "CAST_RINT",
        ("float32", "bfloat16"): "CAST_RINT",
        ("float16", "int8"): "CAST_RINT",
    }

    def apply(self, machine: Machine, arrays: tuple[Array, ...]) -> None:
        dtype, (image, src) = self.dst.buffer.dtype, arrays
        rows = _converted(src, self.src.buffer.dtype, dtype, self.mode)
        blocks = rows.reshape(len(rows), -1, block_elements(dtype))
        image[...] = blocks.swapaxes(0, 1).reshape(image.shape)

    def text(self, names: Names) -> str:
        blocks = blocks_of(self.dst.pitch, self.dst.buffer.dtype)
        strides = f"{names.expr(blocks)}, 1, 1, {repeat_stride(names, self.src)}"
        sizes = f"{names.expr(self.src.cols)}, {names.expr(self.src.rows)}"
        places = operands(names, self.dst, self.src)
        return f"Cast({places}, RoundMode::{self.mode}, {sizes}, UnaryRepeatParams({strides}));"

    def units(self, machine: Machine) -> float:
        return float(machine.value(self.src.rows))

    def limits(self, architecture: Architecture) -> Iterator[Finding]:
        source, target = self.src.buffer.dtype, self.dst.buffer.dtype
        depth = block_elements(target)
        for region in (self.dst, self.src):
            yield from space_rule(region, MemorySpace.UB, "operand")
            yield from multiple_rule(region.offset, self.alignment(region), "element offset")
        if self._PAIRS.get((source, target)) != self.mode:
            yield f"Cast from {source} to {target} in Nz has no {self.mode}"
        yield from multiple_rule(self.src.cols, depth, "lanes a row")
        lanes_of_repeat = min(map(repeat_elements, (source, target)))
        yield from at_most_rule(self.src.cols, lanes_of_repeat, "lanes a row", least=1)
        yield from at_most_rule(self.src.rows, architecture.max_repeat, "number of rows")
        yield from multiple_rule(self.dst.pitch, depth, "pitch of column groups")
        most = architecture.max_repeat_stride
        yield from at_most_rule(self.src.pitch // block_elements(source), most, "row pitch in blocks")
        groups, lanes = constant_value(self.dst.rows), constant_value(self.src.cols)
        if groups is None or lanes is None or groups * depth != lanes:
            yield f"{self.dst.rows} column groups of {depth} for {self.src.cols} lanes"

    def describe(self) -> str:
        return f"{self.dst} = Cast({self.src}) {self.dst.buffer.dtype} Nz {self.mode}"
