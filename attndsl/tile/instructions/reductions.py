"""Reductions of rows (WholeReduce) and blocks (BlockReduce), and results in all lanes of a block (Brcb)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from attndsl.expr import constant_value
from attndsl.target import Architecture
from attndsl.tile.instructions.base import Array, Machine, Names
from attndsl.tile.instructions.limits import Finding, dtype_rule
from attndsl.tile.instructions.units import REPEAT_BLOCKS, block_elements, repeat_elements
from attndsl.tile.instructions.vector import (
    FromTable,
    OnArrays,
    OneSource,
    blocks_of,
    operands,
    repeat_stride,
)


def _tree_sum(rows: Array) -> Array:
    """Sums of up to 64 lanes, adjacent pairs first, as the reduction tree adds them."""
    width = 1 << max(rows.shape[1] - 1, 0).bit_length()
    lanes = rows
    if width != rows.shape[1]:
        lanes = np.zeros((rows.shape[0], width), rows.dtype)
        lanes[:, : rows.shape[1]] = rows
    return _of_pairs(np.add, lanes)


def _of_pairs(operation: np.ufunc, lanes: Array) -> Array:
    """Rows of a power of two of lanes reduced pair by pair; one row after the other, pairs stay in theirs."""
    found = lanes.reshape(-1)
    for _ in range(lanes.shape[1].bit_length() - 1):
        found = operation(found[::2], found[1::2])
    return found


def _largest(rows: Array) -> Array:
    if rows.shape[1] == REPEAT_BLOCKS:  # short rows: pairs of all at once are faster than row by row
        return _of_pairs(np.maximum, rows)
    found: Array = rows.max(axis=1)
    return found


_REDUCTIONS = {"Max": _largest, "Sum": _tree_sum}
_COSTS = {"Max": "Extreme", "Sum": "Sum"}


@dataclass(frozen=True, eq=False, kw_only=True)
class _Reduction(FromTable, OneSource):
    """Base: a repeat for each row of ``src``; ``of``: what is reduced, as the table of costs has it."""

    operations = _REDUCTIONS
    noun = "reduction"
    of: ClassVar[str]

    @property
    def cost_key(self) -> str:
        return f"Reduce{self.of}{_COSTS[self.op]}"

    def units(self, machine: Machine) -> float:
        return float(machine.value(self.src.rows))


@dataclass(frozen=True, eq=False, kw_only=True)
class RowReduce(_Reduction, OnArrays):
    """``dst[r] = op(src[r, :])``: WholeReduceMax or WholeReduceSum of fp32 rows of up to 64 lanes."""

    api_prefix = "WholeReduce"
    of = "Repeats"

    def apply(self, machine: Machine, arrays: tuple[Array, ...]) -> None:
        out, source = arrays
        out[0, :] = self.operations[self.op](source)

    def text(self, names: Names) -> str:
        places, mask = operands(names, self.dst, self.src), names.expr(self.src.cols)
        order = ", ReduceOrder::ORDER_ONLY_VALUE" if self.op == "Max" else ""
        stride = repeat_stride(names, self.src)
        return f"{self.api}({places}, {mask}, {names.expr(self.src.rows)}, 1, 1, {stride}{order});"

    def limits(self, architecture: Architecture) -> Iterator[Finding]:
        yield from super().limits(architecture)
        yield from dtype_rule(self.src.buffer.dtype, ("float32",), "source")


@dataclass(frozen=True, eq=False, kw_only=True)
class BlockReduce(_Reduction, OnArrays):
    """``dst[r, i] = op(src[r, 8 * i : 8 * i + 8])``: BlockReduceMax or BlockReduceSum of fp32.

    A row of ``src`` is one repeat of 64 lanes, a row of ``dst`` its 8 results.
    """

    api_prefix = "BlockReduce"
    of = "Blocks"

    def apply(self, machine: Machine, arrays: tuple[Array, ...]) -> None:
        out, source = arrays
        blocks = source.reshape(-1, block_elements("float32"))
        out[...] = self.operations[self.op](blocks).reshape(out.shape)

    def text(self, names: Names) -> str:
        places, rows = operands(names, self.dst, self.src), names.expr(self.src.rows)
        results = names.expr(blocks_of(self.dst.pitch, self.dst.buffer.dtype))
        lanes = names.expr(self.src.cols)
        return f"{self.api}({places}, {rows}, {lanes}, {results}, 1, {repeat_stride(names, self.src)});"

    def limits(self, architecture: Architecture) -> Iterator[Finding]:
        yield from super().limits(architecture)
        yield from dtype_rule(self.src.buffer.dtype, ("float32",), "source")
        yield from dtype_rule(self.dst.buffer.dtype, ("float32",), "destination")
        lanes = repeat_elements("float32")
        for region, role, cols in ((self.src, "source", lanes), (self.dst, "destination", REPEAT_BLOCKS)):
            if constant_value(region.cols) != cols:
                yield f"a row of the {role} has {region.cols} lanes, needs {cols}"

    def describe(self) -> str:
        return f"{self.dst} = {self.api}({self.src})"


@dataclass(frozen=True, eq=False, kw_only=True)
class BroadcastRows(OneSource, OnArrays):
    """``dst[r, 8 * i : 8 * i + 8] = src[8 * r + i]`` in fp32: Brcb.

    A row of ``dst`` is one repeat, the blocks of 8 lanes of ``src``.
    """

    api: ClassVar[str] = "Brcb"
    operation: ClassVar[str] = "BroadcastBlocks"

    def apply(self, machine: Machine, arrays: tuple[Array, ...]) -> None:
        out, source = arrays
        blocks = (len(out), REPEAT_BLOCKS, block_elements("float32"))
        out.reshape(blocks)[...] = source.reshape(blocks[:2])[:, :, None]

    def text(self, names: Names) -> str:
        places, repeat = operands(names, self.dst, self.src), names.expr(self.dst.rows)
        return f"Brcb({places}, {repeat}, BrcbRepeatParams(1, {repeat_stride(names, self.dst)}));"

    def limits(self, architecture: Architecture) -> Iterator[Finding]:
        yield from super().limits(architecture)
        if constant_value(self.dst.cols) != repeat_elements("float32"):
            yield f"a row of the destination has {self.dst.cols} lanes, needs {repeat_elements('float32')}"
        yield from dtype_rule(self.src.buffer.dtype, ("float32",), "source")
