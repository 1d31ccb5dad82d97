"""Cube instructions: global memory to L1, L1 to L0A/L0B, matrix multiply, L0C to global memory.

Layouts (asc-devkit guide, "matrix data layouts"): a fractal is 16 x C0, C0 the elements of 32 bytes, 16 of
16-bit data and 32 of int8. A matrix in L1 is Nz, column groups of C0 one after the other; L0A is Zz, L0B is
Zn, L0C is Nz with fractals of 16 x 16 fp32 or int32.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from attndsl.base.facts import kept
from attndsl.expr import Binary, Const, Expr, Named, constant_value, round_up
from attndsl.expr.compiled_evaluation import Function, integers
from attndsl.target import Architecture, Core, MemorySpace, Pipe
from attndsl.tile.buffers import Buffer, GlobalRegion, Region, item_bytes
from attndsl.tile.instructions.base import (
    Array,
    Indices,
    Instruction,
    Machine,
    Names,
    OwnOrder,
    gm_view,
    is_one,
)
from attndsl.tile.instructions.copies import Copy
from attndsl.tile.instructions.limits import Finding, at_most_rule, dtype_rule, multiple_rule, space_rule
from attndsl.tile.instructions.units import (
    BLOCK,
    FRACTAL,
    ORDERED_FRACTALS,
    block_elements,
    whole_fractals,
)

FRACTAL_SIZE = Named(FRACTAL, "fractal")
INT8_DEPTH = Named(block_elements("int8"), "int8Depth")
_FRACTAL_BYTES = FRACTAL * BLOCK
_FACTORS = ("float16", "bfloat16", "int8")
_PRODUCTS = {"float16": "float32", "bfloat16": "float32", "int8": "int32"}


def fractal_elements(dtype: str) -> int:
    """Elements of one fractal of a factor."""
    return _FRACTAL_BYTES // item_bytes(dtype)


def fractal_depth(dtype: str) -> Named:
    """Columns of a fractal of a factor."""
    return INT8_DEPTH if dtype == "int8" else FRACTAL_SIZE


def _up(size: int, unit: int) -> int:
    return -(-size // unit) * unit


def _one() -> Expr:
    return Const(1)


@dataclass(frozen=True, eq=False, kw_only=True)
class LoadNz(Copy[Region, GlobalRegion]):
    """Row-major GM matrices to Nz in L1: DataCopy with Nd2NzParams.

    Element (r, c) of matrix j goes to
    ``(c // C0) * padded_rows * C0 + (j * matrix_step + r * row_step) * C0 + c % C0``: the matrices share one
    Nz image of ``padded_rows`` rows. What lies behind the columns in the last column group is filled with
    zeros; rows that no matrix has keep what was there.

    Attributes:
        src: the first matrix; ``src_matrix_pitch`` elements behind it the next begins.
        matrices: how many there are.
        row_step: rows of the image from one row of a matrix to the next.
        matrix_step: rows of the image from one matrix to the next.
    """

    api: ClassVar[str] = "DataCopy"
    operation: ClassVar[str] = "LoadL1Fractals"
    pipe: ClassVar[Pipe] = Pipe.MTE2
    core: ClassVar[Core] = Core.AIC
    padded_rows: Expr
    matrices: Expr = field(default_factory=_one)
    src_matrix_pitch: Expr = field(default_factory=lambda: Const(0))
    row_step: Expr = field(default_factory=_one)
    matrix_step: Expr = field(default_factory=lambda: Const(0))

    def run(self, machine: Machine) -> None:
        pitch = int(machine.value(self.src_matrix_pitch))
        for number in range(int(machine.value(self.matrices))):
            source = gm_view(machine, self.src, number * pitch)
            if source.size:
                self._place(machine, source, number)

    def _place(self, machine: Machine, source: Array, matrix: int) -> None:
        depth = block_elements(self.dst.buffer.dtype)
        rows, groups = source.shape[0], _up(source.shape[1], depth) // depth
        offset, padded_rows, row_step, matrix_step = _image_steps(self)(machine.scalars)
        start, slot = offset + matrix * matrix_step * depth, machine.slot(self.dst.buffer)
        target = slot[start:]
        needed = ((groups - 1) * padded_rows + (rows - 1) * row_step + 1) * depth
        if needed > target.size:
            text = f"{needed} elements from {start}, slot has {start + target.size}"
            raise IndexError(f"{self.dst.buffer.name}: {text}")
        if groups * padded_rows * depth <= target.size and row_step > 0 and rows * row_step <= padded_rows:
            whole = target[: groups * padded_rows * depth].reshape(groups, padded_rows, depth)
            image = whole[:, : rows * row_step : row_step]
        else:  # the last column group ends before its last rows
            size = target.itemsize
            strides = (padded_rows * depth * size, row_step * depth * size, size)
            image = np.ndarray((groups, rows, depth), target.dtype, target, 0, strides)
        if source.shape[1] != groups * depth:
            padded = np.zeros((rows, groups * depth), source.dtype)
            padded[:, : source.shape[1]] = source
            source = padded
        image[...] = source.reshape(rows, groups, depth).transpose(1, 0, 2)

    def touched(self, machine: Machine) -> Iterator[tuple[Buffer, Indices]]:
        for number in range(int(machine.value(self.matrices))):
            yield self.dst.buffer, self.places(machine, number).reshape(-1)

    def places(self, machine: Machine, matrix: int) -> Indices:
        """Where the elements of a matrix go in the slot: (rows, columns rounded up to C0)."""
        depth = block_elements(self.dst.buffer.dtype)
        cols = np.arange(_up(int(machine.value(self.src.cols)), depth))
        rows = np.arange(int(machine.value(self.src.rows))) * int(machine.value(self.row_step))
        rows = rows + matrix * int(machine.value(self.matrix_step))
        groups = cols // depth * int(machine.value(self.padded_rows)) * depth + cols % depth
        found: Indices = int(machine.value(self.dst.offset)) + rows[:, None] * depth + groups
        return found

    def text(self, names: Names) -> str:
        src, depth = self.src, block_elements(self.dst.buffer.dtype)
        places = f"{names.local(self.dst.buffer, self.dst.offset)}, {names.gm(src.tensor, src.offset)}"
        if is_one(self.matrices) and is_one(self.row_step):
            sizes = map(names.expr, (src.rows, src.cols, src.pitch, self.padded_rows))
            return f"LoadNz({places}, {', '.join(sizes)});"
        several = (self.matrices, src.rows, src.cols, self.src_matrix_pitch, src.pitch, self.padded_rows)
        params = [names.expr(x) for x in (*several, self.row_step, self.matrix_step * depth)]
        return f"DataCopy({places}, Nd2NzParams({', '.join(params)}));"

    def units(self, machine: Machine) -> float:
        count = machine.value(self.src.rows) * machine.value(self.src.cols) * machine.value(self.matrices)
        return float(count * item_bytes(self.src.tensor.dtype))

    def matrix_rows(self, machine: Machine) -> float:
        return float(machine.value(self.src.rows) * machine.value(self.matrices))

    def limits(self, architecture: Architecture) -> Iterator[Finding]:
        depth = block_elements(self.dst.buffer.dtype)
        yield from space_rule(self.dst, MemorySpace.L1, "destination")
        yield from multiple_rule(self.dst.offset, depth, "element offset")
        yield from dtype_rule(self.src.tensor.dtype, _FACTORS, "source")
        yield from dtype_rule(self.dst.buffer.dtype, (self.src.tensor.dtype,), "destination")
        yield from at_most_rule(self.src.pitch, architecture.max_nd2nz_pitch, "row pitch", least=1)
        yield from at_most_rule(self.src.rows, architecture.max_nd2nz_rows, "number of rows")
        yield from at_most_rule(self.padded_rows, architecture.max_nd2nz_rows, "padded rows", least=1)
        yield from at_most_rule(self.row_step, architecture.max_nd2nz_rows, "row step", least=1)
        if is_one(self.matrices):
            return
        yield from at_most_rule(self.matrices, architecture.max_nd2nz_matrices, "number of matrices")
        yield from at_most_rule(self.src_matrix_pitch, architecture.max_nd2nz_pitch, "matrix pitch")
        most = architecture.max_nd2nz_pitch // depth
        yield from at_most_rule(self.matrix_step, most, "matrix step in rows", least=1)

    def describe(self) -> str:
        several = "" if is_one(self.matrices) else f"{self.matrices} times pitch {self.src_matrix_pitch} "
        steps = "" if is_one(self.matrices) else f" steps {self.row_step}, {self.matrix_step}"
        place = f"{self.dst.buffer.name}[{self.dst.offset}] Nz rows {self.padded_rows}{steps}"
        return f"{place} <- {several}{self.src}"


@dataclass(frozen=True, eq=False, kw_only=True)
class LoadFractals(Copy[Region, Region]):
    """``repeat`` fractals from L1 to consecutive fractals of L0A or L0B.

    Source fractal i is number ``i * src_stride`` from the source offset. ``transpose`` turns each 16 x 16
    fractal (LoadDataWithTranspose), otherwise they are copied (LoadData).

    int8 is transposed in blocks of 32 x 32, two adjacent fractals of the source: repeats and strides count
    blocks, and each leaves two consecutive fractals, columns 0 to 15 and 16 to 31 of the block.
    """

    pipe: ClassVar[Pipe] = Pipe.MTE1
    core: ClassVar[Core] = Core.AIC
    repeat: Expr
    src_stride: Expr
    transpose: bool = False

    @property
    def api(self) -> str:  # type: ignore[override]
        return "LoadDataWithTranspose" if self.transpose else "LoadData"

    @classmethod
    def api_names(cls) -> tuple[str, ...]:
        return ("LoadData", "LoadDataWithTranspose")

    @property
    def cost_key(self) -> str:
        if self.transpose:
            return "LoadL0Transposed"
        return "LoadL0A" if self.dst.buffer.space is MemorySpace.L0A else "LoadL0B"

    @property
    def unit(self) -> int:
        """Elements of one repeat."""
        size = fractal_elements(self.src.buffer.dtype)
        return 2 * size if self.transpose and self.src.buffer.dtype == "int8" else size

    def run(self, machine: Machine) -> None:
        repeat, stride, first, start = _fractals_moved(self)(machine.scalars)
        source = machine.slot(self.src.buffer)[first:]
        unit = self.unit
        needed = (repeat - 1) * stride * unit + unit if repeat else 0
        if needed > source.size:
            raise IndexError(f"{self.src.buffer.name}: {needed} elements are read, {source.size} are left")
        depth = block_elements(self.src.buffer.dtype)
        if stride == 1 or repeat == 1:
            fractals = source[: repeat * unit].reshape(repeat, unit // depth, depth)
        else:
            strides = (stride * unit * source.itemsize, depth * source.itemsize, source.itemsize)
            fractals = np.ndarray((repeat, unit // depth, depth), source.dtype, source, 0, strides)
        if self.transpose:
            fractals = fractals.transpose(0, 2, 1)
        machine.slot(self.dst.buffer)[start : start + repeat * unit].reshape(fractals.shape)[...] = fractals

    def touched(self, machine: Machine) -> Iterator[tuple[Buffer, Indices]]:
        numbers = np.arange(int(machine.value(self.repeat)))[:, None]
        for region, stride in ((self.dst, 1), (self.src, int(machine.value(self.src_stride)))):
            starts = int(machine.value(region.offset)) + numbers * stride * self.unit
            yield region.buffer, (starts + np.arange(self.unit)).reshape(-1)

    def text(self, names: Names) -> str:
        dst = names.local(self.dst.buffer, self.dst.offset)
        src = names.local(self.src.buffer, self.src.offset)
        repeat, stride = names.expr(self.repeat), names.expr(self.src_stride)
        if not self.transpose:
            return f"LoadFractals({dst}, {src}, {repeat}, {stride});"
        gap = 1 if self.unit > fractal_elements(self.src.buffer.dtype) else 0
        params = f"LoadData2dTransposeParams(0, {repeat}, {stride}, {gap}, 0)"
        return f"LoadDataWithTranspose({dst}, {src}, {params});"

    def units(self, machine: Machine) -> float:
        return float(machine.value(self.repeat) * self.unit * item_bytes(self.src.buffer.dtype))

    def limits(self, architecture: Architecture) -> Iterator[Finding]:
        yield from space_rule(self.src, MemorySpace.L1, "source")
        if self.dst.buffer.space not in (MemorySpace.L0A, MemorySpace.L0B):
            yield f"destination {self.dst.buffer.name} is in {self.dst.buffer.space.value}, needs L0A or L0B"
        yield from dtype_rule(self.src.buffer.dtype, _FACTORS, "source")
        yield from dtype_rule(self.dst.buffer.dtype, (self.src.buffer.dtype,), "destination")
        whole = fractal_elements(self.src.buffer.dtype)
        yield from multiple_rule(self.dst.offset, whole, "destination offset")
        yield from multiple_rule(self.src.offset, block_elements(self.src.buffer.dtype), "source offset")
        yield from at_most_rule(self.repeat, architecture.max_repeat, "repeat")
        yield from at_most_rule(self.src_stride, architecture.max_half_word, "source stride")

    def describe(self) -> str:
        how = "transposed fractals" if self.transpose else "fractals"
        stride = f"stride {self.src_stride}"
        return f"{self.dst} <- {self.repeat} {how} of {self.src.buffer.name}[{self.src.offset}] {stride}"


@dataclass(frozen=True, eq=False, kw_only=True)
class LoadTransposed(Copy[Region, Region]):
    """``rows`` x ``columns`` fractals of 16-bit elements from Nz in L1 to Zn in L0B, each transposed.

    Source fractal (r, c) is number ``c * image_rows + r`` from the source offset, and number
    ``r * columns + c`` of the destination. One instruction (LoadData of Load3Dv2) takes all: the fractals are
    an image of one line over which a window of one element moves.
    """

    api: ClassVar[str] = "LoadData"
    operation: ClassVar[str] = "LoadL0Window"
    pipe: ClassVar[Pipe] = Pipe.MTE1
    core: ClassVar[Core] = Core.AIC
    rows: Expr
    columns: Expr
    image_rows: Expr

    def run(self, machine: Machine) -> None:
        rows, columns, image, first, start = _window(self)(machine.scalars)
        source, unit = machine.slot(self.src.buffer)[first:], FRACTAL * FRACTAL
        needed = ((columns - 1) * image + rows) * unit if rows and columns else 0
        if needed > source.size:
            raise IndexError(f"{self.src.buffer.name}: {needed} elements are read, {source.size} are left")
        size = source.itemsize
        strides = (unit * size, image * unit * size, size, FRACTAL * size)
        fractals = np.ndarray((rows, columns, FRACTAL, FRACTAL), source.dtype, source, 0, strides)
        target = machine.slot(self.dst.buffer)[start : start + rows * columns * unit]
        target.reshape(fractals.shape)[...] = fractals

    def touched(self, machine: Machine) -> Iterator[tuple[Buffer, Indices]]:
        rows, columns, image, first, start = _window(self)(machine.scalars)
        unit, inside = FRACTAL * FRACTAL, np.arange(FRACTAL * FRACTAL)
        yield self.dst.buffer, start + np.arange(rows * columns * unit)
        numbers = (np.arange(columns)[:, None] * image + np.arange(rows)).reshape(-1)
        yield self.src.buffer, (first + numbers[:, None] * unit + inside).reshape(-1)

    def text(self, names: Names) -> str:
        places = (names.local(each.buffer, each.offset) for each in (self.dst, self.src))
        sizes = map(names.expr, (self.rows, self.columns, self.image_rows))
        return f"LoadTransposed({', '.join((*places, *sizes))});"

    def units(self, machine: Machine) -> float:
        return float(machine.value(self.rows) * machine.value(self.columns) * _FRACTAL_BYTES)

    def limits(self, architecture: Architecture) -> Iterator[Finding]:
        yield from space_rule(self.src, MemorySpace.L1, "source")
        yield from space_rule(self.dst, MemorySpace.L0B, "destination")
        yield from dtype_rule(self.src.buffer.dtype, ("float16", "bfloat16"), "source")
        yield from dtype_rule(self.dst.buffer.dtype, (self.src.buffer.dtype,), "destination")
        yield from multiple_rule(self.dst.offset, FRACTAL * FRACTAL, "destination offset")
        yield from multiple_rule(self.src.offset, FRACTAL, "source offset")
        side = architecture.max_image_side
        yield from at_most_rule(self.rows * FRACTAL, side, "rows")
        yield from at_most_rule(self.columns * FRACTAL, architecture.max_half_word, "columns")
        yield from at_most_rule(self.image_rows * FRACTAL, side, "rows of the image", least=1)

    def describe(self) -> str:
        size = f"{self.rows} x {self.columns} transposed fractals"
        source = f"{self.src.buffer.name}[{self.src.offset}]"
        return f"{self.dst} <- {size} of {source} of {self.image_rows} rows"


@dataclass(frozen=True, eq=False, kw_only=True)
class Mmad(Instruction):
    """``dst = a . b`` or ``dst += a . b`` in fp32, of int8 in int32; a is (m, k) in L0A, b (k, n) in L0B.

    ``m`` is a multiple of 16 here, because m = 1 would switch the cube to its GEMV layout; a tail of k
    is ignored by the hardware.
    """

    api: ClassVar[str] = "Mmad"
    operation: ClassVar[str] = "Product"
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

    def own_order(self) -> OwnOrder:
        return OwnOrder(
            buffer=self.dst.buffer,
            unordered=self.m * self.n < ORDERED_FRACTALS * FRACTAL_SIZE * FRACTAL_SIZE,
            reason=f"hardware orders Mmad into the same L0C only from {ORDERED_FRACTALS.value} fractals on",
        )

    def run(self, machine: Machine) -> None:
        m, n, k = _product_size(self)(machine.scalars)
        block = block_elements(self.a.buffer.dtype)
        depth = _up(k, block)
        left, right = _from(machine, self.a), _from(machine, self.b)
        # fp64 holds every sum of int8 products exactly
        wide = self.a.buffer.dtype == "int8" or left.dtype == np.float64
        exact = np.dtype(np.float64 if wide else np.float32)
        a = _from_zz(left, whole_fractals(m), depth, block, exact)
        b = _from_zn(right, depth, whole_fractals(n), block, exact)
        result = np.ascontiguousarray(a[:m, :k]) @ np.ascontiguousarray(b[:k, :n])
        rows, groups = whole_fractals(m), whole_fractals(n) // FRACTAL
        out = _from(machine, self.dst)[: groups * rows * FRACTAL].reshape(groups, rows, FRACTAL)
        if result.dtype != out.dtype or result.shape != (rows, groups * FRACTAL):
            padded = np.zeros((rows, groups * FRACTAL), out.dtype)
            padded[:m, :n] = result
            result = padded
        nz = result.reshape(rows, groups, FRACTAL).transpose(1, 0, 2)
        if machine.value(self.initial):
            out[...] = nz
        else:
            out[...] += nz

    def text(self, names: Names) -> str:
        operands = [names.local(region.buffer, region.offset) for region in (self.dst, self.a, self.b)]
        m, n, k, initial = (names.expr(x) for x in (self.m, self.n, self.k, self.initial))
        return f"Mmad({', '.join(operands)}, ProductParams({m}, {n}, {k}, {initial}));"

    def units(self, machine: Machine) -> float:
        m, n = (whole_fractals(int(machine.value(x))) // FRACTAL for x in (self.m, self.n))
        return float(m * n * -(-int(machine.value(self.k)) // block_elements(self.a.buffer.dtype)))

    def accumulates(self, machine: Machine) -> bool:
        return not machine.value(self.initial)

    def limits(self, architecture: Architecture) -> Iterator[Finding]:
        yield from space_rule(self.dst, MemorySpace.L0C, "destination")
        yield from space_rule(self.a, MemorySpace.L0A, "left operand")
        yield from space_rule(self.b, MemorySpace.L0B, "right operand")
        yield from dtype_rule(self.a.buffer.dtype, _FACTORS, "left operand")
        yield from dtype_rule(self.b.buffer.dtype, (self.a.buffer.dtype,), "right operand")
        product = _PRODUCTS.get(self.a.buffer.dtype, "float32")
        yield from dtype_rule(self.dst.buffer.dtype, (product,), "destination")
        yield from multiple_rule(self.dst.offset, FRACTAL * FRACTAL, "destination offset")
        for name, size in (("m", self.m), ("n", self.n), ("k", self.k)):
            yield from at_most_rule(size, architecture.max_mmad_size, name)

    def describe(self) -> str:
        start = f" (first: {self.initial})" if not isinstance(self.initial, Const) else ""
        operation = "=" if self.initial.same(Const(True)) else "+="
        size = f"{self.m} x {self.n} x {self.k}"
        return (
            f"{self.dst.buffer.name} {operation} {self.a.buffer.name} . {self.b.buffer.name}  {size}{start}"
        )


_NARROW = ("float16", "bfloat16")
"""What a Fixpipe rounds fp32 to."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Fixpipe(Copy[GlobalRegion, Region]):
    """fp32 or int32 rows from L0C (Nz of ``m`` rows, a multiple of 16) to row-major global memory: unchanged,
    or fp32 rounded to fp16 or bf16, to even; beyond its range it becomes infinite.

    ``dst.cols`` is rounded up to 16 by the caller: the reference asks for that, peers do without. A result
    has no room for other columns than its own, whatever their number. ``adds``: whether fp32 rows are added
    to what is there, by the memory. FIX stores in order, so that what a core adds up in one place is the same
    each time.
    """

    api: ClassVar[str] = "Fixpipe"
    operation: ClassVar[str] = "WriteBack"
    pipe: ClassVar[Pipe] = Pipe.FIX
    core: ClassVar[Core] = Core.AIC
    m: Expr
    adds: Expr = field(default_factory=lambda: Const(False))

    @property
    def narrows(self) -> bool:
        """Whether rows are rounded to 16 bits."""
        return self.dst.tensor.dtype in _NARROW

    @property
    def never_adds(self) -> bool:
        """Whether it replaces what is there in any case."""
        return self.adds.same(Const(False))

    def run(self, machine: Machine) -> None:
        out, pitch = gm_view(machine, self.dst), int(machine.value(self.m)) * FRACTAL
        columns, stored = whole_fractals(out.shape[1]), out.shape[0] * FRACTAL
        nz, starts = _from(machine, self.src), range(0, columns // FRACTAL * pitch, pitch)
        groups = [nz[start : start + stored].reshape(-1, FRACTAL) for start in starts]
        found = np.concatenate(groups, axis=1)[:, : out.shape[1]]
        if machine.value(self.adds):
            out += found
        else:
            out[...] = found

    def text(self, names: Names) -> str:
        dst, src = names.gm(self.dst.tensor, self.dst.offset), names.local(self.src.buffer, self.src.offset)
        sizes = [names.expr(x) for x in (self.dst.rows, self.dst.cols, self.dst.pitch, self.m)]
        store = f"StoreProduct({dst}, {src}, {', '.join(sizes)});"
        if self.never_adds:
            return store
        begin = f"if ({names.expr(self.adds)}) {{\n    SetAtomicAdd<float>();\n}}"
        return f"{begin}\n{store}\nSetAtomicNone();"

    def units(self, machine: Machine) -> float:
        return float(machine.value(self.dst.rows) * machine.value(self.dst.cols) * 4)

    def limits(self, architecture: Architecture) -> Iterator[Finding]:
        yield from space_rule(self.src, MemorySpace.L0C, "source")
        yield from dtype_rule(self.dst.tensor.dtype, ("float32", "int32", *_NARROW), "destination")
        if not self.never_adds:
            yield from dtype_rule(self.dst.tensor.dtype, ("float32",), "what is added to")
        kept = "float32" if self.narrows else self.dst.tensor.dtype
        yield from dtype_rule(self.src.buffer.dtype, (kept,), "source")
        if self.dst.tensor.role != "output":
            yield from multiple_rule(self.dst.cols, FRACTAL, "columns")
        yield from at_most_rule(self.dst.cols, architecture.max_fixpipe_columns, "columns")
        yield from at_most_rule(self.dst.rows, architecture.max_fixpipe_rows, "rows")
        yield from at_most_rule(self.m, architecture.max_half_word, "source rows")

    def describe(self) -> str:
        how = "" if self.never_adds else f", added if {self.adds}"
        return f"{self.dst} <- {self.src.buffer.name}{how}"


def padded(value: Expr) -> Expr:
    """A size rounded up to whole fractals; one that is a number of fractals, or of larger units that were,
    stands as it is."""
    if isinstance(value, Binary) and value.op in ("*", "round_up") and _is_of_fractals(value.right):
        return value
    return round_up(value, FRACTAL_SIZE)


def _is_of_fractals(size: Expr) -> bool:
    number = constant_value(size)
    return number is not None and number % FRACTAL == 0


@kept
def _image_steps(item: LoadNz) -> Function:
    return integers(item.dst.offset, item.padded_rows, item.row_step, item.matrix_step)


@kept
def _fractals_moved(item: LoadFractals) -> Function:
    return integers(item.repeat, item.src_stride, item.src.offset, item.dst.offset)


@kept
def _window(item: LoadTransposed) -> Function:
    return integers(item.rows, item.columns, item.image_rows, item.src.offset, item.dst.offset)


@kept
def _product_size(item: Mmad) -> Function:
    return integers(item.m, item.n, item.k)


def _from(machine: Machine, region: Region) -> Array:
    """The slot from the region's first element on."""
    return machine.slot(region.buffer)[int(machine.value(region.offset)) :]


def _from_zz(flat: Array, rows: int, cols: int, depth: int, dtype: np.dtype[Any]) -> Array:
    """A matrix in L0A as rows, its numbers in another dtype; ``depth``: elements of a block."""
    grid = flat[: rows * cols].reshape(rows // FRACTAL, cols // depth, FRACTAL, depth)
    found = np.empty((rows, cols), dtype)
    found.reshape(rows // FRACTAL, FRACTAL, cols // depth, depth)[...] = grid.transpose(0, 2, 1, 3)
    return found


def _from_zn(flat: Array, rows: int, cols: int, depth: int, dtype: np.dtype[Any]) -> Array:
    """A matrix in L0B as rows, its numbers in another dtype; ``depth``: elements of a block."""
    grid = flat[: rows * cols].reshape(rows // depth, cols // FRACTAL, FRACTAL, depth)
    found = np.empty((rows, cols), dtype)
    found.reshape(rows // depth, depth, cols // FRACTAL, FRACTAL)[...] = grid.transpose(0, 3, 1, 2)
    return found
