"""Sorting by score: records of a score and an index, sorted in groups of 32, merged, taken apart.

A record is two 32-bit lanes of an fp32 buffer: the score, then the bits of the index (API reference,
Sort32). Records are sorted by falling score; where scores are equal the earlier one stays in front.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from attndsl.expr import Binary, Const, Expr, Named, ceil_div
from attndsl.target import Architecture, MemorySpace
from attndsl.tile.buffers import Buffer, Region
from attndsl.tile.instructions.base import Array, Machine, Names, view
from attndsl.tile.instructions.limits import Finding, at_most_rule, dtype_rule, multiple_rule, space_rule
from attndsl.tile.instructions.units import block_elements
from attndsl.tile.instructions.vector import VectorInstruction, count_form_rules, operands, reinterpreted

GROUP, RECORD = 32, 2
SORT_GROUP = Named(GROUP, "sortGroup")
"""Lanes that Sort32 sorts together, and the records that it makes of them."""
RECORD_LANES = Named(RECORD, "recordLanes")
"""Lanes of a record."""
_INDEX = ("uint32", "int32")


def records(buffer: Buffer, offset: Expr | int, count: Expr | int) -> Region:
    """``count`` records from record ``offset`` on. Plain numbers give plain numbers of lanes."""
    first, lanes = (
        each * RECORD if isinstance(each, int) else each * RECORD_LANES for each in (offset, count)
    )
    return buffer.region(first, 1, lanes)


def _count(region: Region) -> Expr:
    """How many records a region holds."""
    cols = region.cols
    if isinstance(cols, Binary) and cols.op == "*" and cols.right.same(RECORD_LANES):
        return cols.left
    return cols // RECORD


def _groups(region: Region) -> Expr:
    """How many groups of 32 lanes a region has, the last maybe not whole."""
    cols = region.cols
    if isinstance(cols, Binary) and cols.op == "*" and cols.right.same(SORT_GROUP):
        return cols.left
    return ceil_div(cols, GROUP)


def _unsigned(names: Names, region: Region) -> str:
    if region.buffer.dtype == "uint32":
        return operands(names, region)
    return reinterpreted(names, region, "uint32_t")


def _falling(scores: Array) -> npt.NDArray[np.intp]:
    """The order of falling scores, NaN in front, equals as they were."""
    keys = np.where(np.isnan(scores), np.float32(np.inf), scores)
    return np.lexsort((np.arange(scores.size), -keys, ~np.isnan(scores)))


@dataclass(frozen=True, eq=False, kw_only=True)
class SortGroups(VectorInstruction):
    """Records of ``scores`` and ``indices``, each group of 32 sorted: Sort32."""

    api: ClassVar[str] = "Sort32"
    scores: Region
    indices: Region

    def alignment(self, region: Region) -> int:
        return GROUP * RECORD if region is self.dst else GROUP  # 256 and 128 bytes: API reference, Sort32

    def sources(self) -> tuple[Region, ...]:
        return (self.scores, self.indices)

    def units(self, machine: Machine) -> float:
        return float(machine.value(self.scores.cols)) / GROUP

    def run(self, machine: Machine) -> None:
        scores, indices = view(machine, self.scores)[0], view(machine, self.indices)[0].view(np.uint32)
        out = view(machine, self.dst)[0]
        for start in range(0, scores.size, GROUP):
            part = slice(start, start + GROUP)
            order = _falling(scores[part])
            group = out[start * RECORD : (start + GROUP) * RECORD]
            group[::2], group[1::2] = scores[part][order], indices[part][order].view(np.float32)

    def text(self, names: Names) -> str:
        places = f"{operands(names, self.dst, self.scores)}, {_unsigned(names, self.indices)}"
        return f"Sort32({places}, {names.expr(_groups(self.scores))});"

    def limits(self, architecture: Architecture) -> Iterator[Finding]:
        yield from super().limits(architecture)
        yield from count_form_rules(self.dst, self.scores, self.indices)
        yield from dtype_rule(self.dst.buffer.dtype, ("float32",), "records")
        yield from dtype_rule(self.scores.buffer.dtype, ("float32",), "scores")
        yield from dtype_rule(self.indices.buffer.dtype, _INDEX, "indices")
        yield from multiple_rule(self.scores.cols, GROUP, "count")
        yield from at_most_rule(
            ceil_div(self.scores.cols, GROUP), architecture.max_repeat, "number of groups"
        )
        if self.dst.buffer in (self.scores.buffer, self.indices.buffer):
            yield f"{self.dst.buffer.name} is sorted in place, needs a destination of its own"

    def describe(self) -> str:
        return f"{self.dst} = Sort32({self.scores}, {self.indices})"


@dataclass(frozen=True, eq=False, kw_only=True)
class MergeSorted(VectorInstruction):
    """Two to four sorted lists of records into one: MrgSort. Of equal scores the earlier list's comes first.

    A list holds 0 to 4095 records, at any multiple of a record; ``dst`` starts on a block and holds them all.
    """

    api: ClassVar[str] = "MrgSort"
    operation: ClassVar[str] = "MergeSorted"
    first: Region
    second: Region
    third: Region | None = None
    fourth: Region | None = None

    def alignment(self, region: Region) -> int:
        return super().alignment(region) if region is self.dst else RECORD

    def sources(self) -> tuple[Region, ...]:
        return tuple(x for x in (self.first, self.second, self.third, self.fourth) if x is not None)

    def units(self, machine: Machine) -> float:
        return float(sum(machine.value(region.cols) for region in self.sources())) / RECORD

    def run(self, machine: Machine) -> None:
        lists = [view(machine, region)[0].reshape(-1, RECORD).copy() for region in self.sources()]
        merged = _merged([rows for rows in lists if len(rows)])
        view(machine, self.dst)[0, : merged.size] = merged.reshape(-1)

    def text(self, names: Names) -> str:
        lists = self.sources()
        lines, valid = _existing(names, [_count(region) for region in lists])
        sizes = [f"static_cast<uint16_t>({names.expr(_count(region))})" for region in lists]
        sizes += ["0"] * (4 - len(lists))
        places = operands(names, *lists, *(lists[:1] * (4 - len(lists))))
        return (
            f"const uint16_t sizes[4] = {{{', '.join(sizes)}}};\n"
            f"{lines}"
            f"MrgSort({operands(names, self.dst)}, MrgSortSrcList<float>({places}), "
            f"MrgSort4Info(sizes, false, {valid}, 1));"
        )

    def limits(self, architecture: Architecture) -> Iterator[Finding]:
        yield from super().limits(architecture)
        yield from count_form_rules(self.dst, *self.sources())
        for region in (self.dst, *self.sources()):
            yield from dtype_rule(region.buffer.dtype, ("float32",), "records")
            yield from multiple_rule(region.cols, RECORD, "lanes of a list")
        for region in self.sources():
            yield from at_most_rule(_count(region), architecture.max_merge_records, "records of a list")
            if region.buffer is self.dst.buffer and region.offset.same(self.dst.offset):
                yield f"{region.buffer.name} is merged in place, needs a destination of its own"
        if self.third is None and self.fourth is not None:
            yield "there is a fourth list and no third"


def _existing(names: Names, counts: Sequence[Expr]) -> tuple[str, str]:
    """The bits of the lists of a MrgSort that have records: all up to the last such one, two at least.

    They are a number where it is known which those are, else a variable; the text declares it.
    """
    usual, further = _bits(2), list[tuple[int, str]]()
    for place, count in enumerate(counts[2:], 2):
        if isinstance(count, Const) and count.evaluate({}) > 0:
            usual, further = _bits(place + 1), []
        else:
            further.insert(0, (place, _bits(place + 1)))
    if not further:
        return "", usual
    branches = (f"if (sizes[{place}] > 0) {{\n    validLists = {bits};\n}}" for place, bits in further)
    return f"{_MEANING}\nuint16_t validLists = {usual};\n{' else '.join(branches)}\n", "validLists"


_MEANING = "// a bit a list, up to the last one with records; two at least"


def _bits(lists: int) -> str:
    """The bits of so many lists, as C++ writes them."""
    return f"0b{(1 << lists) - 1:04b}"


def _merged(lists: list[Array]) -> Array:
    """The records of sorted lists in one sorted list; lists that are not sorted merge head by head."""
    if not lists:
        return np.zeros((0, RECORD), np.float32)
    together: Array = np.concatenate(lists)
    scores: list[npt.NDArray[Any]] = [rows[:, 0] for rows in lists]
    if all((column[:-1] >= column[1:]).all() and not np.isnan(column).any() for column in scores):
        return together[np.argsort(-together[:, 0], kind="stable")]
    heads, out = [0] * len(lists), np.empty_like(together)
    for place in range(len(together)):
        left = [number for number, rows in enumerate(lists) if heads[number] < len(rows)]
        best = left[0]
        for number in left[1:]:
            if lists[number][heads[number], 0] > lists[best][heads[best], 0]:
                best = number
        out[place] = lists[best][heads[best]]
        heads[best] += 1
    return out


@dataclass(frozen=True, eq=False, kw_only=True)
class SplitRecords(VectorInstruction):
    """``dst`` the scores and ``indices`` the indices of ``src``'s records: Extract, whole groups of 32."""

    api: ClassVar[str] = "Extract"
    operation: ClassVar[str] = "SplitRecords"
    indices: Region
    src: Region

    def sources(self) -> tuple[Region, ...]:
        return (self.src,)

    def writes(self) -> tuple[Buffer, ...]:
        return (self.dst.buffer, self.indices.buffer)

    def units(self, machine: Machine) -> float:
        return float(machine.value(self.dst.cols)) / GROUP

    def run(self, machine: Machine) -> None:
        source = view(machine, self.src)[0].reshape(-1, RECORD).copy()
        view(machine, self.dst)[0] = source[:, 0]
        view(machine, self.indices)[0].view(np.uint32)[...] = source[:, 1].astype(np.float32).view(np.uint32)

    def text(self, names: Names) -> str:
        places = f"{operands(names, self.dst)}, {_unsigned(names, self.indices)}, {operands(names, self.src)}"
        return f"Extract({places}, {names.expr(_groups(self.dst))});"

    def limits(self, architecture: Architecture) -> Iterator[Finding]:
        yield from super().limits(architecture)
        yield from count_form_rules(self.dst, self.indices, self.src)
        yield from dtype_rule(self.dst.buffer.dtype, ("float32",), "scores")
        yield from dtype_rule(self.src.buffer.dtype, ("float32",), "records")
        yield from dtype_rule(self.indices.buffer.dtype, _INDEX, "indices")
        yield from multiple_rule(self.dst.cols, GROUP, "count")
        yield from space_rule(self.indices, MemorySpace.UB, "indices")
        yield from multiple_rule(
            self.indices.offset, block_elements(self.indices.buffer.dtype), "element offset of the indices"
        )
        yield from at_most_rule(ceil_div(self.dst.cols, GROUP), architecture.max_repeat, "number of groups")
        if self.src.buffer in (self.dst.buffer, self.indices.buffer):
            yield f"{self.src.buffer.name} is taken apart in place, needs destinations of their own"

    def describe(self) -> str:
        return f"{self.dst}, {self.indices} = Extract({self.src})"
