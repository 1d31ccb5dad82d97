"""Vector instructions (pipe V, unified buffer), as AscendC's basic API has them on Atlas A2.

Operand limits follow the API reference of asc-devkit (SIMD-API, vector computation). Two call forms
exist: ``count`` (a region of one row) and ``mask, repeat, strides`` (a region of several rows of at
most one 256-byte repeat each).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from attndsl.expr import Const, Expr, Named, as_expr, constant_value
from attndsl.target import Architecture, Core, MemorySpace, Pipe
from attndsl.tile.buffers import NUMPY_DTYPES, Buffer, Region, item_bytes
from attndsl.tile.instructions.base import (
    Array,
    Instruction,
    Machine,
    Names,
    PairedReads,
    is_one,
    view,
)
from attndsl.tile.instructions.limits import (
    Finding,
    at_most_rule,
    dtype_rule,
    multiple_rule,
    name_rule,
    space_rule,
)
from attndsl.tile.instructions.units import (
    BLOCK_LANES,
    REPEAT,
    REPEAT_BLOCKS,
    block_elements,
    repeat_elements,
)

_ARITHMETIC = ("float16", "float32", "int16", "int32")
_FLOAT = ("float16", "float32")


@dataclass(frozen=True, eq=False, kw_only=True)
class VectorInstruction(Instruction):
    """Base: the destination region and what all vector instructions share."""

    pipe: ClassVar[Pipe] = Pipe.V
    core: ClassVar[Core] = Core.AIV

    wide_rows: ClassVar[bool] = False  # whether a row may be longer than one repeat

    dst: Region

    def alignment(self, region: Region) -> int:
        """Elements that the address of an operand is a multiple of; its buffer and its offset in it are."""
        return block_elements(region.buffer.dtype)

    def alignments(self) -> Iterator[tuple[Buffer, int]]:
        for region in (self.dst, *self.sources()):
            yield region.buffer, self.alignment(region) * item_bytes(region.buffer.dtype)

    def writes(self) -> tuple[Buffer, ...]:
        return (self.dst.buffer,)

    def sources(self) -> tuple[Region, ...]:
        """Regions it reads."""
        return ()

    def reads(self) -> tuple[Buffer, ...]:
        return tuple(region.buffer for region in self.sources())

    def units(self, machine: Machine) -> float:
        rows, cols = machine.value(self.dst.rows), machine.value(self.dst.cols)
        widest = max(item_bytes(region.buffer.dtype) for region in (self.dst, *self.sources()))
        return float(rows * -(-cols * widest // REPEAT))

    def limits(self, architecture: Architecture) -> Iterator[Finding]:
        for region in (self.dst, *self.sources()):
            yield from space_rule(region, MemorySpace.UB, "operand")
            yield from multiple_rule(region.offset, self.alignment(region), "element offset")
            if not is_one(region.rows):
                yield from row_form_rules(region, architecture, wide=self.wide_rows)

    def describe(self) -> str:
        return f"{self.dst} = {self.api}({', '.join(str(region) for region in self.sources())})"


def count_form_rules(*regions: Region) -> Iterator[Finding]:
    """The count form takes one contiguous row."""
    for region in regions:
        if not is_one(region.rows):
            yield f"{region} has several rows, the count form takes one"


def row_form_rules(region: Region, architecture: Architecture, wide: bool = False) -> Iterator[Finding]:
    """The form with strides; ``wide``: rows may have more lanes than one repeat."""
    block, lanes = block_elements(region.buffer.dtype), repeat_elements(region.buffer.dtype)
    yield from multiple_rule(region.pitch, block, "row pitch")
    yield from at_most_rule(region.pitch // block, architecture.max_repeat_stride, "row pitch in blocks")
    if not wide:
        yield from at_most_rule(region.cols, lanes, "lanes a row")
    yield from at_most_rule(region.rows, architecture.max_repeat, "number of rows")
    pitch = constant_value(region.pitch)
    if pitch is None:
        yield f"row pitch {region.pitch} is no compile-time constant"
    elif pitch == 0 and constant_value(region.cols) != lanes:
        yield f"rows of {region.cols} lanes need a row pitch"


def repeat_stride(names: Names, region: Region) -> str:
    """Blocks between the rows of a region."""
    dtype = region.buffer.dtype
    pitch = as_expr(repeat_elements(dtype)) if constant_value(region.pitch) == 0 else region.pitch
    return names.expr(_blocks(pitch, dtype))


def _blocks(pitch: Expr, dtype: str) -> Expr:
    """The blocks that a pitch in elements is."""
    elements = block_elements(dtype)
    if isinstance(pitch, Const) and (pitch.same(BLOCK_LANES) or not isinstance(pitch, Named)):
        return as_expr(int(pitch.value) // elements)
    return pitch // (BLOCK_LANES if elements == BLOCK_LANES.value else as_expr(elements))


def operands(names: Names, *regions: Region) -> str:
    """The tensors of regions, in order."""
    return ", ".join(names.local(region.buffer, region.offset) for region in regions)


def reinterpreted(names: Names, region: Region, ctype: str) -> str:
    """The tensor of a region, read as elements of the C++ type ``ctype``."""
    # A slot is a local variable with a deduced type. In a kernel class with a type parameter, compilers based
    # on clang, CANN's among them, take its member templates only after the word "template"; g++ does without.
    word = "template " if region.buffer.slots > 1 else ""
    return f"{operands(names, region)}.{word}ReinterpretCast<{ctype}>()"


def number(names: Names, dst: Region, value: Expr) -> str:
    """A scalar operand in the element type of a region.

    A constant by name is a temporary of that type: a reference to the constant itself would need its address.
    """
    ctype = names.ctype(dst.buffer)
    if ctype == "float" and type(value) is Const:
        return names.expr(Const(float(value.value)))
    return f"{ctype}({names.expr(value)})"


_UNARY = {"Exp": np.exp, "Ln": np.log, "Abs": np.abs, "Sqrt": np.sqrt}
_BINARY = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide}
_BINARY |= {"Max": np.maximum, "Min": np.minimum}
_WITH_SCALAR = {"Adds": np.add, "Muls": np.multiply, "Maxs": np.maximum, "Mins": np.minimum}


@dataclass(frozen=True, eq=False, kw_only=True)
class Fill(VectorInstruction):
    """``dst = value``: Duplicate, count form."""

    api: ClassVar[str] = "Duplicate"
    operation: ClassVar[str] = "Fill"
    value: Expr

    def run(self, machine: Machine) -> None:
        view(machine, self.dst)[...] = machine.value(self.value)

    def text(self, names: Names) -> str:
        value = number(names, self.dst, self.value)
        return f"Duplicate({operands(names, self.dst)}, {value}, {names.expr(self.dst.cols)});"

    def describe(self) -> str:
        return f"{self.dst} = Duplicate({self.value})"

    def limits(self, architecture: Architecture) -> Iterator[Finding]:
        yield from super().limits(architecture)
        yield from count_form_rules(self.dst)


@dataclass(frozen=True, eq=False, kw_only=True)
class FillLanes(VectorInstruction):
    """``dst[:, first_lane:64] = value`` of fp32 rows: Duplicate with a bit mask.

    Needs 0 <= first_lane < 64; ``dst`` covers whole repeats of 64 lanes.
    """

    api: ClassVar[str] = "Duplicate"
    operation: ClassVar[str] = "Fill"
    first_lane: Expr
    value: Expr

    def run(self, machine: Machine) -> None:
        view(machine, self.dst)[:, int(machine.value(self.first_lane)) :] = machine.value(self.value)

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
class Unary(VectorInstruction):
    """``dst = op(src)`` for an operation of ``_UNARY``; count form."""

    op: str
    src: Region

    @property
    def api(self) -> str:  # type: ignore[override]
        return self.op

    @classmethod
    def api_names(cls) -> tuple[str, ...]:
        return tuple(_UNARY)

    def sources(self) -> tuple[Region, ...]:
        return (self.src,)

    def run(self, machine: Machine) -> None:
        _UNARY[self.op](view(machine, self.src), out=view(machine, self.dst))

    def text(self, names: Names) -> str:
        return f"{self.op}({operands(names, self.dst, self.src)}, {names.expr(self.dst.cols)});"

    def limits(self, architecture: Architecture) -> Iterator[Finding]:
        yield from super().limits(architecture)
        yield from name_rule(self.op, _UNARY, "operation of one operand")
        yield from count_form_rules(self.dst, self.src)
        yield from dtype_rule(self.dst.buffer.dtype, _FLOAT, "destination")
        yield from dtype_rule(self.src.buffer.dtype, (self.dst.buffer.dtype,), "source")


@dataclass(frozen=True, eq=False, kw_only=True)
class WithScalar(VectorInstruction):
    """``dst = op(src, scalar)`` for an operation of ``_WITH_SCALAR``; count form."""

    op: str
    src: Region
    scalar: Expr

    @property
    def api(self) -> str:  # type: ignore[override]
        return self.op

    @classmethod
    def api_names(cls) -> tuple[str, ...]:
        return tuple(_WITH_SCALAR)

    def sources(self) -> tuple[Region, ...]:
        return (self.src,)

    def run(self, machine: Machine) -> None:
        source = view(machine, self.src)
        scalar = source.dtype.type(machine.value(self.scalar))
        _WITH_SCALAR[self.op](source, scalar, out=view(machine, self.dst))

    def text(self, names: Names) -> str:
        scalar = number(names, self.dst, self.scalar)
        return f"{self.op}({operands(names, self.dst, self.src)}, {scalar}, {names.expr(self.dst.cols)});"

    def limits(self, architecture: Architecture) -> Iterator[Finding]:
        yield from super().limits(architecture)
        yield from name_rule(self.op, _WITH_SCALAR, "operation with a scalar")
        yield from count_form_rules(self.dst, self.src)
        yield from dtype_rule(self.dst.buffer.dtype, _ARITHMETIC, "destination")
        yield from dtype_rule(self.src.buffer.dtype, (self.dst.buffer.dtype,), "source")

    def describe(self) -> str:
        return f"{self.dst} = {self.op}({self.src}, {self.scalar})"


@dataclass(frozen=True, eq=False, kw_only=True)
class AddScaled(VectorInstruction):
    """``dst = dst + src * scalar`` of fp32 numbers: Axpy, count form."""

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
class ShiftBits(VectorInstruction):
    """Words of fp32 numbers shifted by up to 31 bits, zeros following: ShiftLeft, ShiftRight; count form."""

    op: str
    src: Region
    bits: int

    @property
    def api(self) -> str:  # type: ignore[override]
        return self.op

    @classmethod
    def api_names(cls) -> tuple[str, ...]:
        return tuple(_SHIFTS)

    def sources(self) -> tuple[Region, ...]:
        return (self.src,)

    def run(self, machine: Machine) -> None:
        words = view(machine, self.src).astype(np.float32).view(np.uint32)
        view(machine, self.dst)[...] = _SHIFTS[self.op](words, np.uint32(self.bits)).view(np.float32)

    def text(self, names: Names) -> str:
        words = [reinterpreted(names, each, "uint32_t") for each in (self.dst, self.src)]
        return f"{self.op}({', '.join(words)}, uint32_t({self.bits}), {names.expr(self.dst.cols)});"

    def limits(self, architecture: Architecture) -> Iterator[Finding]:
        yield from super().limits(architecture)
        yield from name_rule(self.op, _SHIFTS, "shift")
        yield from count_form_rules(self.dst, self.src)
        for region, role in ((self.dst, "destination"), (self.src, "source")):
            yield from dtype_rule(region.buffer.dtype, ("float32",), role)
        if not 0 <= self.bits < 32:
            yield f"words of 32 bits are shifted by 0 to 31, not by {self.bits}"

    def describe(self) -> str:
        return f"{self.dst} = {self.op}({self.src}, {self.bits})"


@dataclass(frozen=True, eq=False, kw_only=True)
class Binary(VectorInstruction):
    """``dst = op(first, second)`` for Add, Sub, Mul, Div, Max, Min.

    ``broadcast``: ``second`` holds one 32-byte block a row, used for all lanes of that row.
    """

    op: str
    first: Region
    second: Region
    broadcast: bool = False

    @property
    def api(self) -> str:  # type: ignore[override]
        return self.op

    @classmethod
    def api_names(cls) -> tuple[str, ...]:
        return tuple(_BINARY)

    def sources(self) -> tuple[Region, ...]:
        return (self.first, self.second)

    def paired_reads(self) -> PairedReads:
        return PairedReads(self.first.buffer, self.second.buffer, self.broadcast)

    def run(self, machine: Machine) -> None:
        dst, first, second = view(machine, self.dst), view(machine, self.first), view(machine, self.second)
        if self.broadcast:
            blocks, rest = divmod(first.shape[1], second.shape[1])
            if rest or dst.shape != first.shape:
                second = second[:, np.arange(first.shape[1]) % second.shape[1]]
            else:
                shape = (first.shape[0], blocks, second.shape[1])
                dst, first, second = dst.reshape(shape), first.reshape(shape), second[:, None, :]
        _BINARY[self.op](first, second, out=dst)

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
        yield from name_rule(self.op, _BINARY, "operation of two operands")
        allowed = _FLOAT if self.op == "Div" else _ARITHMETIC
        yield from dtype_rule(self.dst.buffer.dtype, allowed, "destination")
        if len({region.buffer.dtype for region in (self.dst, self.first, self.second)}) > 1:
            yield "operands have different dtypes"


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
class Convert(VectorInstruction):
    """``dst = Cast(src)`` with a rounding mode; count form. fp32 to fp32 rounds to integral values."""

    api: ClassVar[str] = "Cast"
    operation: ClassVar[str] = "Convert"
    src: Region
    mode: str

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

    def sources(self) -> tuple[Region, ...]:
        return (self.src,)

    def run(self, machine: Machine) -> None:
        source, dst = view(machine, self.src), self.dst.buffer.dtype
        view(machine, self.dst)[...] = _converted(source, self.src.buffer.dtype, dst, self.mode)

    def text(self, names: Names) -> str:
        mode = f"RoundMode::{self.mode}"
        return f"Cast({operands(names, self.dst, self.src)}, {mode}, {names.expr(self.dst.cols)});"

    def limits(self, architecture: Architecture) -> Iterator[Finding]:
        yield from super().limits(architecture)
        yield from count_form_rules(self.dst, self.src)
        pair = (self.src.buffer.dtype, self.dst.buffer.dtype)
        if self.mode not in self._PAIRS.get(pair, ()):
            yield f"Cast from {pair[0]} to {pair[1]} has no {self.mode}"

    def describe(self) -> str:
        return f"{self.dst} = Cast({self.src}) {self.dst.buffer.dtype} {self.mode}"


@dataclass(frozen=True, eq=False, kw_only=True)
class ConvertToNz(VectorInstruction):
    """``dst = Cast(src)`` of rows, in Nz: each block of a row to its column group.

    Element (r, c) goes to ``c // C0 * pitch + r * C0 + c % C0``, with C0 the elements of a block and the
    pitch of ``dst``: its rows are the column groups, C0 elements for each row of ``src``. Groups an odd
    number of blocks apart meet no conflict of banks.
    """

    api: ClassVar[str] = "Cast"
    operation: ClassVar[str] = "Convert"
    src: Region
    mode: str = "CAST_NONE"

    def read_while_written(self) -> tuple[Buffer, Buffer]:
        return self.src.buffer, self.dst.buffer

    _PAIRS: ClassVar[dict[tuple[str, str], str]] = {
        ("int8", "float16"): "CAST_NONE",
        ("float32", "float16"): "CAST_RINT",
        ("float32", "bfloat16"): "CAST_RINT",
        ("float16", "int8"): "CAST_RINT",
    }

    def sources(self) -> tuple[Region, ...]:
        return (self.src,)

    def run(self, machine: Machine) -> None:
        dtype, image = self.dst.buffer.dtype, view(machine, self.dst)
        rows = _converted(view(machine, self.src), self.src.buffer.dtype, dtype, self.mode)
        blocks = rows.reshape(len(rows), -1, block_elements(dtype))
        image[...] = blocks.swapaxes(0, 1).reshape(image.shape)

    def text(self, names: Names) -> str:
        blocks = self.dst.pitch // as_expr(block_elements(self.dst.buffer.dtype))
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
class RowReduce(VectorInstruction):
    """``dst[r] = op(src[r, :])``: WholeReduceMax or WholeReduceSum of fp32 rows of up to 64 lanes."""

    op: str
    src: Region

    @property
    def api(self) -> str:  # type: ignore[override]
        return f"WholeReduce{self.op}"

    @property
    def cost_key(self) -> str:
        return f"ReduceRepeats{_COSTS[self.op]}"

    @classmethod
    def api_names(cls) -> tuple[str, ...]:
        return tuple(f"WholeReduce{op}" for op in _REDUCTIONS)

    def sources(self) -> tuple[Region, ...]:
        return (self.src,)

    def units(self, machine: Machine) -> float:
        return float(machine.value(self.src.rows))

    def run(self, machine: Machine) -> None:
        source, out = view(machine, self.src), view(machine, self.dst)
        out[0, :] = _REDUCTIONS[self.op](source)

    def text(self, names: Names) -> str:
        places, mask = operands(names, self.dst, self.src), names.expr(self.src.cols)
        order = ", ReduceOrder::ORDER_ONLY_VALUE" if self.op == "Max" else ""
        stride = repeat_stride(names, self.src)
        return f"{self.api}({places}, {mask}, {names.expr(self.src.rows)}, 1, 1, {stride}{order});"

    def limits(self, architecture: Architecture) -> Iterator[Finding]:
        yield from super().limits(architecture)
        yield from name_rule(self.op, _REDUCTIONS, "reduction")
        yield from dtype_rule(self.src.buffer.dtype, ("float32",), "source")


@dataclass(frozen=True, eq=False, kw_only=True)
class BlockReduce(VectorInstruction):
    """``dst[r, i] = op(src[r, 8 * i : 8 * i + 8])``: BlockReduceMax or BlockReduceSum of fp32.

    A row of ``src`` is one repeat of 64 lanes, a row of ``dst`` its 8 results.
    """

    op: str
    src: Region

    @property
    def api(self) -> str:  # type: ignore[override]
        return f"BlockReduce{self.op}"

    @property
    def cost_key(self) -> str:
        return f"ReduceBlocks{_COSTS[self.op]}"

    @classmethod
    def api_names(cls) -> tuple[str, ...]:
        return tuple(f"BlockReduce{op}" for op in _REDUCTIONS)

    def sources(self) -> tuple[Region, ...]:
        return (self.src,)

    def units(self, machine: Machine) -> float:
        return float(machine.value(self.src.rows))

    def run(self, machine: Machine) -> None:
        source, out = view(machine, self.src), view(machine, self.dst)
        blocks = source.reshape(-1, block_elements("float32"))
        out[...] = _REDUCTIONS[self.op](blocks).reshape(out.shape)

    def text(self, names: Names) -> str:
        places, rows = operands(names, self.dst, self.src), names.expr(self.src.rows)
        results = names.expr(_blocks(self.dst.pitch, self.dst.buffer.dtype))
        lanes = names.expr(self.src.cols)
        return f"{self.api}({places}, {rows}, {lanes}, {results}, 1, {repeat_stride(names, self.src)});"

    def limits(self, architecture: Architecture) -> Iterator[Finding]:
        yield from super().limits(architecture)
        yield from name_rule(self.op, _REDUCTIONS, "reduction")
        yield from dtype_rule(self.src.buffer.dtype, ("float32",), "source")
        yield from dtype_rule(self.dst.buffer.dtype, ("float32",), "destination")
        lanes = repeat_elements("float32")
        for region, role, cols in ((self.src, "source", lanes), (self.dst, "destination", REPEAT_BLOCKS)):
            if constant_value(region.cols) != cols:
                yield f"a row of the {role} has {region.cols} lanes, needs {cols}"

    def describe(self) -> str:
        return f"{self.dst} = {self.api}({self.src})"


@dataclass(frozen=True, eq=False, kw_only=True)
class BroadcastRows(VectorInstruction):
    """``dst[r, 8 * i : 8 * i + 8] = src[8 * r + i]`` in fp32: Brcb.

    A row of ``dst`` is one repeat, the blocks of 8 lanes of ``src``.
    """

    api: ClassVar[str] = "Brcb"
    operation: ClassVar[str] = "BroadcastBlocks"
    src: Region

    def sources(self) -> tuple[Region, ...]:
        return (self.src,)

    def run(self, machine: Machine) -> None:
        source, out = view(machine, self.src), view(machine, self.dst)
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
