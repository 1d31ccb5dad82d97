"""Cube instructions: global memory to L1, L1 to L0A/L0B, matrix multiply, L0C to global memory.

Layouts (16-bit data, fractals of 16 x 16; asc-devkit guide, "matrix data layouts"): a matrix in L1 is
Nz, column groups of 16 one after the other; L0A is Zz, L0B is Zn, L0C is Nz with fp32 fractals.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from attndsl.hardware import ATLAS_A2, Core, MemorySpace, Pipe
from attndsl.symbolic import Const, Expr, Named, round_up
from attndsl.tile.buffers import Buffer, GlobalRegion, GlobalTensor, Region, item_bytes
from attndsl.tile.instructions.base import (
    Array,
    Instruction,
    Machine,
    Names,
    at_most_rule,
    dtype_rule,
    gm_view,
    multiple_rule,
    space_rule,
)

FRACTAL = ATLAS_A2.fractal
FRACTAL_SIZE = Named(FRACTAL, "fractal", "kFractal")
_FRACTAL_ELEMENTS = FRACTAL * FRACTAL
_HALF_TYPES = ("float16", "bfloat16")


_up16 = ATLAS_A2.whole_fractals


@dataclass(frozen=True, eq=False, kw_only=True)
class LoadNz(Instruction):
    """A row-major GM matrix to Nz in L1: DataCopy with Nd2NzParams.

    Element (r, c) goes to ``(c // 16) * padded_rows * 16 + r * 16 + c % 16``. The last column group is
    filled with zeros; rows from ``src.rows`` to ``padded_rows`` keep what was there.
    """

    api: ClassVar[str] = "DataCopy"
    pipe: ClassVar[Pipe] = Pipe.MTE2
    core: ClassVar[Core] = Core.AIC
    dst: Region
    src: GlobalRegion
    padded_rows: Expr

    @property
    def cost_key(self) -> str:
        return "LoadL1Fractals"

    def reads(self) -> tuple[Buffer, ...]:
        return ()

    def writes(self) -> tuple[Buffer, ...]:
        return (self.dst.buffer,)

    def gm_reads(self) -> tuple[GlobalTensor, ...]:
        return (self.src.tensor,)

    def run(self, machine: Machine) -> None:
        source = gm_view(machine, self.src)
        rows, cols = source.shape
        groups, padded = _up16(cols) // FRACTAL, int(machine.value(self.padded_rows))
        offset = int(machine.value(self.dst.offset))
        flat = machine.slot(self.dst.buffer)
        block = np.zeros((rows, groups * FRACTAL), source.dtype)
        block[:, :cols] = source
        size = flat.itemsize
        target = flat[offset:]
        needed = (groups - 1) * padded * FRACTAL + rows * FRACTAL if groups else 0
        if needed > target.size:
            raise IndexError(f"{self.dst.buffer.name}: {needed} elements from {offset}, slot has {flat.size}")
        strides = (padded * FRACTAL * size, FRACTAL * size, size)
        nz = np.lib.stride_tricks.as_strided(target, (groups, rows, FRACTAL), strides)
        nz[...] = block.reshape(rows, groups, FRACTAL).transpose(1, 0, 2)

    def text(self, names: Names) -> str:
        src = self.src
        rows, cols, pitch = (names.expr(x) for x in (src.rows, src.cols, src.pitch))
        params = f"Nd2NzParams(1, {rows}, {cols}, 0, {pitch}, {names.expr(self.padded_rows)}, 1, 0)"
        local = names.local(self.dst.buffer, self.dst.offset)
        return f"DataCopy({local}, {names.gm(src.tensor, src.offset)}, {params});"

    def units(self, machine: Machine) -> float:
        count = machine.value(self.src.rows) * machine.value(self.src.cols)
        return float(count * item_bytes(self.src.tensor.dtype))

    def limits(self) -> Iterator[str]:
        yield from space_rule(self.dst, MemorySpace.L1, "destination")
        yield from multiple_rule(self.dst.offset, FRACTAL, "element offset")
        yield from dtype_rule(self.src.tensor.dtype, _HALF_TYPES, "source")
        yield from at_most_rule(self.src.pitch, ATLAS_A2.max_nd2nz_pitch, "row pitch", least=1)
        yield from at_most_rule(self.src.rows, ATLAS_A2.max_nd2nz_rows, "number of rows")

    def describe(self) -> str:
        return f"{self.dst.buffer.name}[{self.dst.offset}] Nz rows {self.padded_rows} <- {self.src}"


@dataclass(frozen=True, eq=False, kw_only=True)
class LoadFractals(Instruction):
    """``repeat`` fractals from L1 to consecutive fractals of L0A or L0B.

    Source fractal i is number ``i * src_stride`` from the source offset. ``transpose`` turns each 16 x 16
    fractal (LoadDataWithTranspose), otherwise they are copied (LoadData).
    """

    pipe: ClassVar[Pipe] = Pipe.MTE1
    core: ClassVar[Core] = Core.AIC
    dst: Region
    src: Region
    repeat: Expr
    src_stride: Expr
    transpose: bool = False

    @property
    def api(self) -> str:  # type: ignore[override]
        return "LoadDataWithTranspose" if self.transpose else "LoadData"

    @property
    def cost_key(self) -> str:
        return "LoadL0A" if self.dst.buffer.space is MemorySpace.L0A else "LoadL0B"

    def reads(self) -> tuple[Buffer, ...]:
        return (self.src.buffer,)

    def writes(self) -> tuple[Buffer, ...]:
        return (self.dst.buffer,)

    def run(self, machine: Machine) -> None:
        repeat, stride = int(machine.value(self.repeat)), int(machine.value(self.src_stride))
        source = machine.slot(self.src.buffer)[int(machine.value(self.src.offset)) :]
        size = source.itemsize
        needed = (repeat - 1) * stride * _FRACTAL_ELEMENTS + _FRACTAL_ELEMENTS if repeat else 0
        if needed > source.size:
            raise IndexError(f"{self.src.buffer.name}: {needed} elements are read, {source.size} are left")
        shape = (repeat, FRACTAL, FRACTAL)
        strides = (stride * _FRACTAL_ELEMENTS * size, FRACTAL * size, size)
        fractals = np.lib.stride_tricks.as_strided(source, shape, strides)
        if self.transpose:
            fractals = fractals.transpose(0, 2, 1)
        start = int(machine.value(self.dst.offset))
        machine.slot(self.dst.buffer)[start : start + repeat * _FRACTAL_ELEMENTS] = fractals.reshape(-1)

    def text(self, names: Names) -> str:
        dst = names.local(self.dst.buffer, self.dst.offset)
        src = names.local(self.src.buffer, self.src.offset)
        repeat, stride = names.expr(self.repeat), names.expr(self.src_stride)
        if self.transpose:
            params = f"LoadData2dTransposeParams(0, {repeat}, {stride}, 0, 0)"
        else:
            params = f"LoadData2DParams(0, {repeat}, {stride}, 0, 0, false, 0)"
        return f"{self.api}({dst}, {src}, {params});"

    def units(self, machine: Machine) -> float:
        return float(machine.value(self.repeat) * 512)

    def limits(self) -> Iterator[str]:
        yield from space_rule(self.src, MemorySpace.L1, "source")
        if self.dst.buffer.space not in (MemorySpace.L0A, MemorySpace.L0B):
            yield f"destination {self.dst.buffer.name} is in {self.dst.buffer.space.value}, needs L0A or L0B"
        yield from dtype_rule(self.src.buffer.dtype, _HALF_TYPES, "source")
        yield from multiple_rule(self.dst.offset, _FRACTAL_ELEMENTS, "destination offset")
        yield from at_most_rule(self.repeat, ATLAS_A2.max_repeat, "repeat")

    def describe(self) -> str:
        how = "transposed fractals" if self.transpose else "fractals"
        stride = f"stride {self.src_stride}"
        return f"{self.dst} <- {self.repeat} {how} of {self.src.buffer.name}[{self.src.offset}] {stride}"


@dataclass(frozen=True, eq=False, kw_only=True)
class Mmad(Instruction):
    """``dst = a . b`` or ``dst += a . b`` in fp32; a is (m, k) in L0A, b is (k, n) in L0B.

    ``m`` is a multiple of 16 here, because m = 1 would switch the cube to its GEMV layout; a tail of k
    is ignored by the hardware.
    """

    api: ClassVar[str] = "Mmad"
    pipe: ClassVar[Pipe] = Pipe.M
    core: ClassVar[Core] = Core.AIC
    dst: Region
    a: Region
    b: Region
    m: Expr
    n: Expr
    k: Expr
    initial: Expr

    def reads(self) -> tuple[Buffer, ...]:
        accumulates = not self.initial.same(Const(True))
        return (self.a.buffer, self.b.buffer, *((self.dst.buffer,) if accumulates else ()))

    def writes(self) -> tuple[Buffer, ...]:
        return (self.dst.buffer,)

    def run(self, machine: Machine) -> None:
        m, n, k = (int(machine.value(x)) for x in (self.m, self.n, self.k))
        a = _from_zz(_from(machine, self.a), _up16(m), _up16(k))[:m, :k]
        b = _from_zn(_from(machine, self.b), _up16(k), _up16(n))[:k, :n]
        with np.errstate(all="ignore"):
            result = a.astype(np.float32) @ b.astype(np.float32)
        rows, groups = _up16(m), _up16(n) // FRACTAL
        out = _from(machine, self.dst)[: groups * rows * FRACTAL].reshape(groups, rows, FRACTAL)
        padded = np.zeros((rows, groups * FRACTAL), np.float32)
        padded[:m, :n] = result
        nz = padded.reshape(rows, groups, FRACTAL).transpose(1, 0, 2)
        if machine.value(self.initial):
            out[...] = nz
        else:
            out[...] += nz

    def text(self, names: Names) -> str:
        operands = [names.local(region.buffer, region.offset) for region in (self.dst, self.a, self.b)]
        m, n, k, initial = (names.expr(x) for x in (self.m, self.n, self.k, self.initial))
        return f"Mmad({', '.join(operands)}, MmadParams({m}, {n}, {k}, 0, false, {initial}));"

    def units(self, machine: Machine) -> float:
        m, n, k = (_up16(int(machine.value(x))) // FRACTAL for x in (self.m, self.n, self.k))
        return float(m * n * k)

    def limits(self) -> Iterator[str]:
        yield from space_rule(self.dst, MemorySpace.L0C, "destination")
        yield from space_rule(self.a, MemorySpace.L0A, "left operand")
        yield from space_rule(self.b, MemorySpace.L0B, "right operand")
        yield from dtype_rule(self.a.buffer.dtype, _HALF_TYPES, "left operand")
        yield from dtype_rule(self.b.buffer.dtype, (self.a.buffer.dtype,), "right operand")
        yield from dtype_rule(self.dst.buffer.dtype, ("float32",), "destination")
        yield from multiple_rule(self.dst.offset, FRACTAL * FRACTAL, "destination offset")
        for name, size in (("m", self.m), ("n", self.n), ("k", self.k)):
            yield from at_most_rule(size, ATLAS_A2.max_mmad_size, name)

    def describe(self) -> str:
        start = f" (first: {self.initial})" if not isinstance(self.initial, Const) else ""
        operation = "=" if self.initial.same(Const(True)) else "+="
        size = f"{self.m} x {self.n} x {self.k}"
        return (
            f"{self.dst.buffer.name} {operation} {self.a.buffer.name} . {self.b.buffer.name}  {size}{start}"
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Fixpipe(Instruction):
    """fp32 rows from L0C (Nz of ``m`` rows, a multiple of 16) to row-major global memory, unchanged.

    ``dst.cols`` is rounded up to 16 by the caller: the reference asks for that, peers do without.
    """

    api: ClassVar[str] = "Fixpipe"
    pipe: ClassVar[Pipe] = Pipe.FIX
    core: ClassVar[Core] = Core.AIC
    dst: GlobalRegion
    src: Region
    m: Expr

    def reads(self) -> tuple[Buffer, ...]:
        return (self.src.buffer,)

    def writes(self) -> tuple[Buffer, ...]:
        return ()

    def gm_writes(self) -> tuple[GlobalTensor, ...]:
        return (self.dst.tensor,)

    def run(self, machine: Machine) -> None:
        out, rows = gm_view(machine, self.dst), int(machine.value(self.m))
        groups = _up16(out.shape[1]) // FRACTAL
        nz = _from(machine, self.src)[: groups * rows * FRACTAL].reshape(groups, rows, FRACTAL)
        out[...] = nz.transpose(1, 0, 2).reshape(rows, -1)[: out.shape[0], : out.shape[1]]

    def text(self, names: Names) -> str:
        dst, src = names.gm(self.dst.tensor, self.dst.offset), names.local(self.src.buffer, self.src.offset)
        sizes = [names.expr(x) for x in (self.dst.cols, self.dst.rows, self.m, self.dst.pitch)]
        params = f"FixpipeParamsV220({', '.join(sizes)}, false)"
        return f"Fixpipe<float, float, CFG_ROW_MAJOR>({dst}, {src}, {params});"

    def units(self, machine: Machine) -> float:
        return float(machine.value(self.dst.rows) * machine.value(self.dst.cols) * 4)

    def limits(self) -> Iterator[str]:
        yield from space_rule(self.src, MemorySpace.L0C, "source")
        yield from dtype_rule(self.dst.tensor.dtype, ("float32",), "destination")
        yield from multiple_rule(self.dst.cols, FRACTAL, "columns")

    def describe(self) -> str:
        return f"{self.dst} <- {self.src.buffer.name}"


def padded(value: Expr) -> Expr:
    """A size rounded up to whole fractals."""
    return round_up(value, FRACTAL_SIZE)


def _from(machine: Machine, region: Region) -> Array:
    """The slot from the region's first element on."""
    return machine.slot(region.buffer)[int(machine.value(region.offset)) :]


def _from_zz(flat: Array, rows: int, cols: int) -> Array:
    grid = flat[: rows * cols].reshape(rows // FRACTAL, cols // FRACTAL, FRACTAL, FRACTAL)
    return grid.transpose(0, 2, 1, 3).reshape(rows, cols)


def _from_zn(flat: Array, rows: int, cols: int) -> Array:
    grid = flat[: rows * cols].reshape(rows // FRACTAL, cols // FRACTAL, FRACTAL, FRACTAL)
    return grid.transpose(0, 3, 1, 2).reshape(rows, cols)
