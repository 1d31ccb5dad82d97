"""What all vector instructions share (pipe V, unified buffer): operands, call forms and how they are spelled.

Operand limits follow the API reference of asc-devkit (SIMD-API, vector computation). Two call forms
exist: ``count`` (a region of one row) and ``mask, repeat, strides`` (a region of several rows of at
most one 256-byte repeat each).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from attndsl.expr import Const, Expr, Named, alternatives, as_expr, constant_value
from attndsl.target import Architecture, Core, MemorySpace, Pipe
from attndsl.tile.buffers import Buffer, Region, item_bytes
from attndsl.tile.instructions.base import Array, Instruction, Machine, Names, is_one, view
from attndsl.tile.instructions.limits import Finding, at_most_rule, multiple_rule, name_rule, space_rule
from attndsl.tile.instructions.units import (
    BLOCK_HALVES,
    BLOCK_LANES,
    BLOCKS_OF_REPEAT,
    REPEAT,
    block_elements,
    repeat_elements,
)


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


@dataclass(frozen=True, eq=False, kw_only=True)
class OnArrays(VectorInstruction):
    """Base of what works on its regions alone: who runs it again and again makes arrays once a place."""

    def arrays(self, machine: Machine) -> tuple[Array, ...]:
        """The destination and the sources; nothing but the places of regions decides them."""
        return tuple([view(machine, region) for region in (self.dst, *self.sources())])

    @abstractmethod
    def apply(self, machine: Machine, arrays: tuple[Array, ...]) -> None:
        """Its NumPy meaning on :meth:`arrays`."""

    def run(self, machine: Machine) -> None:
        self.apply(machine, self.arrays(machine))


@dataclass(frozen=True, eq=False, kw_only=True)
class OneSource(VectorInstruction):
    """Base of what reads one region, ``src``."""

    src: Region

    def sources(self) -> tuple[Region, ...]:
        return (self.src,)


@dataclass(frozen=True, eq=False, kw_only=True)
class FromTable(VectorInstruction):
    """Base of what is one of several operations of a form, ``op`` of :attr:`operations`.

    Class attributes: ``operations`` the meaning of each, ``api_prefix`` what is in front of its name in
    AscendC, ``noun`` what messages call one of them.
    """

    operations: ClassVar[Mapping[str, Callable[..., Any]]]
    noun: ClassVar[str]
    api_prefix: ClassVar[str] = ""

    op: str

    @property
    def api(self) -> str:  # type: ignore[override]
        return self.api_prefix + self.op

    @classmethod
    def api_names(cls) -> tuple[str, ...]:
        return tuple(cls.api_prefix + op for op in cls.operations)

    def limits(self, architecture: Architecture) -> Iterator[Finding]:
        yield from super().limits(architecture)
        yield from name_rule(self.op, self.operations, self.noun)


def count_form_rules(*regions: Region) -> Iterator[Finding]:
    """The count form takes one contiguous row."""
    for region in regions:
        if not is_one(region.rows):
            yield f"{region} has several rows, the count form takes one"


def alike_rules(dst: Region, src: Region) -> Iterator[Finding]:
    """Both are contiguous, or rows of lanes of one repeat of the wider dtype."""
    if is_one(dst.rows) and is_one(src.rows):
        return
    if not dst.rows.same(src.rows):
        yield f"{dst} and {src} have different numbers of rows"
    widest = min(repeat_elements(region.buffer.dtype) for region in (dst, src))
    yield from at_most_rule(dst.cols, widest, "lanes a row")


def lanes_of(names: Names, dst: Region, src: Region) -> str:
    """The lanes of an operation of one operand: their count, or mask, repeats and strides of rows."""
    if is_one(dst.rows):
        return names.expr(dst.cols)
    strides = f"1, 1, {repeat_stride(names, dst)}, {repeat_stride(names, src)}"
    return f"{names.expr(dst.cols)}, {names.expr(dst.rows)}, UnaryRepeatParams({strides})"


def row_form_rules(region: Region, architecture: Architecture, wide: bool = False) -> Iterator[Finding]:
    """The form with strides; ``wide``: rows may have more lanes than one repeat."""
    block, lanes = block_elements(region.buffer.dtype), repeat_elements(region.buffer.dtype)
    if not wide:
        yield from at_most_rule(region.cols, lanes, "lanes a row")
    yield from at_most_rule(region.rows, architecture.max_repeat, "number of rows")
    for each in alternatives(region.pitch):
        yield from multiple_rule(each, block, "row pitch")
        yield from at_most_rule(each // block, architecture.max_repeat_stride, "row pitch in blocks")
        pitch = constant_value(each)
        if pitch is None:
            yield f"row pitch {region.pitch} is no compile-time constant, nor one of several"
        elif pitch == 0 and constant_value(region.cols) != lanes:
            yield f"rows of {region.cols} lanes need a row pitch"


def repeat_stride(names: Names, region: Region) -> str:
    """Blocks between the rows of a region."""
    dtype = region.buffer.dtype
    if constant_value(region.pitch) == 0:
        return names.expr(BLOCKS_OF_REPEAT)
    return names.expr(blocks_of(region.pitch, dtype))


def blocks_of(pitch: Expr, dtype: str) -> Expr:
    """The blocks that a pitch in elements is."""
    elements = block_elements(dtype)
    if isinstance(pitch, Const) and (pitch.same(BLOCK_LANES) or not isinstance(pitch, Named)):
        return as_expr(int(pitch.value) // elements)
    units = (each for each in (BLOCK_LANES, BLOCK_HALVES) if each.value == elements)
    return pitch // next(units, as_expr(elements))


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
