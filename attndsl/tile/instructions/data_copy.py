"""Copies of rows between global memory and the unified buffer (DataCopyPad), and to L1 (DataCopy).

Limits follow the API reference of asc-devkit: blockCount <= 4095, gaps on the GM side in bytes, on the
UB side in 32-byte blocks; each row starts on a block in UB.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from attndsl.base.facts import kept
from attndsl.expr import Const, round_up
from attndsl.target import Architecture, Core, MemorySpace, Pipe
from attndsl.tile.buffers import Buffer, GlobalRegion, Region
from attndsl.tile.instructions.base import Indices, Machine, Names, gm_view, is_one, row_elements, view
from attndsl.tile.instructions.copies import Copy, bytes_of_rows
from attndsl.tile.instructions.limits import Finding, at_most_rule, dtype_rule, multiple_rule, space_rule
from attndsl.tile.instructions.units import block_elements


def _sizes(names: Names, local: Region, remote: GlobalRegion, *, short: bool = True) -> str:
    """Rows, columns, and the pitches in global memory and in the unified buffer; ``short``: of one row
    its columns alone.

    Rows without a pitch follow each other, each on a block of its own in the unified buffer.
    """
    rows, columns = local.rows, local.cols
    if short and is_one(rows):
        return names.expr(columns)
    in_gm = columns if is_one(remote.rows) or remote.pitch.same(Const(0)) else remote.pitch
    block = block_elements(local.buffer.dtype)
    in_ub = round_up(columns, block) if local.pitch.same(Const(0)) else local.pitch
    return ", ".join(map(names.expr, (rows, columns, in_gm, in_ub)))


def _copy_limits(local: Region, remote: GlobalRegion, architecture: Architecture) -> Iterator[Finding]:
    yield from space_rule(local, MemorySpace.UB, "operand")
    yield from multiple_rule(local.offset, block_elements(local.buffer.dtype), "element offset")
    yield from multiple_rule(local.pitch, block_elements(local.buffer.dtype), "row pitch")
    yield from at_most_rule(local.rows, architecture.max_copy_blocks, "number of rows")
    if local.buffer.dtype != remote.tensor.dtype:
        yield f"{remote.tensor.name} is {remote.tensor.dtype}, {local.buffer.name} is {local.buffer.dtype}"


@dataclass(frozen=True, eq=False, kw_only=True)
class LoadRows(Copy[Region, GlobalRegion]):
    """Rows from global memory to the unified buffer.

    Pad lanes up to the next block hold garbage, or with ``zero_tail`` zeros.
    """

    api: ClassVar[str] = "DataCopyPad"
    operation: ClassVar[str] = "LoadUB"
    pipe: ClassVar[Pipe] = Pipe.MTE2
    core: ClassVar[Core] = Core.AIV
    zero_tail: bool = False

    def run(self, machine: Machine) -> None:
        if self.zero_tail:
            view(machine, _with_tail(self))[...] = 0
        view(machine, self.dst)[...] = gm_view(machine, self.src)

    def touched(self, machine: Machine) -> Iterator[tuple[Buffer, Indices]]:
        yield self.dst.buffer, row_elements(machine, _with_tail(self) if self.zero_tail else self.dst)

    def text(self, names: Names) -> str:
        local = names.local(self.dst.buffer, self.dst.offset)
        remote = names.gm(self.src.tensor, self.src.offset)
        call = "LoadRow" if is_one(self.dst.rows) else "LoadRows"
        if self.zero_tail:
            sizes = _sizes(names, self.dst, self.src, short=False)
            return f"LoadRowsWithZeros({local}, {remote}, {sizes});"
        return f"{call}({local}, {remote}, {_sizes(names, self.dst, self.src)});"

    def units(self, machine: Machine) -> float:
        return bytes_of_rows(machine, self.dst)

    def limits(self, architecture: Architecture) -> Iterator[Finding]:
        yield from _copy_limits(self.dst, self.src, architecture)

    def describe(self) -> str:
        return super().describe() + (" zero tail" if self.zero_tail else "")


@kept
def _with_tail(item: LoadRows) -> Region:
    """The destination with its pad lanes."""
    return replace(item.dst, cols=round_up(item.dst.cols, block_elements(item.dst.buffer.dtype)))


@dataclass(frozen=True, eq=False, kw_only=True)
class LoadBlocks(Copy[Region, GlobalRegion]):
    """Rows of whole 32-byte blocks from global memory to L1, as they are: an Nz image by its groups."""

    api: ClassVar[str] = "DataCopy"
    operation: ClassVar[str] = "LoadL1"
    pipe: ClassVar[Pipe] = Pipe.MTE2
    core: ClassVar[Core] = Core.AIC

    def run(self, machine: Machine) -> None:
        view(machine, self.dst)[...] = gm_view(machine, self.src)

    def text(self, names: Names) -> str:
        local = names.local(self.dst.buffer, self.dst.offset)
        remote = names.gm(self.src.tensor, self.src.offset)
        sizes = (self.dst.rows, self.dst.cols, self.src.pitch, self.dst.pitch)
        return f"LoadBlocks({local}, {remote}, {', '.join(map(names.expr, sizes))});"

    def units(self, machine: Machine) -> float:
        return bytes_of_rows(machine, self.dst)

    def limits(self, architecture: Architecture) -> Iterator[Finding]:
        block = block_elements(self.dst.buffer.dtype)
        yield from space_rule(self.dst, MemorySpace.L1, "destination")
        yield from dtype_rule(self.dst.buffer.dtype, (self.src.tensor.dtype,), "destination")
        yield from multiple_rule(self.dst.offset, block, "element offset")
        yield from at_most_rule(self.dst.rows, architecture.max_copy_blocks, "number of rows", least=1)
        for region in (self.dst, self.src):
            yield from multiple_rule(region.cols, block, "elements a row")
            yield from multiple_rule(region.pitch, block, "row pitch")
            blocks = region.pitch // block
            yield from at_most_rule(blocks, architecture.max_half_word, "row pitch in blocks", least=1)


@dataclass(frozen=True, eq=False, kw_only=True)
class StoreRows(Copy[GlobalRegion, Region]):
    """Rows from the unified buffer to global memory, exactly ``cols`` elements each."""

    api: ClassVar[str] = "DataCopyPad"
    operation: ClassVar[str] = "StoreUB"
    pipe: ClassVar[Pipe] = Pipe.MTE3
    core: ClassVar[Core] = Core.AIV

    def run(self, machine: Machine) -> None:
        gm_view(machine, self.dst)[...] = view(machine, self.src)

    def text(self, names: Names) -> str:
        local = names.local(self.src.buffer, self.src.offset)
        remote = names.gm(self.dst.tensor, self.dst.offset)
        call = "StoreRow" if is_one(self.src.rows) else "StoreRows"
        return f"{call}({remote}, {local}, {_sizes(names, self.src, self.dst)});"

    def units(self, machine: Machine) -> float:
        return bytes_of_rows(machine, self.src)

    def limits(self, architecture: Architecture) -> Iterator[Finding]:
        yield from _copy_limits(self.src, self.dst, architecture)
