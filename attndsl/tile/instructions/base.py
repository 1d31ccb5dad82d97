"""What every instruction states about itself, in one place: operands, limits, meaning, cost and text."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from attndsl.base.facts import kept
from attndsl.expr import Const, Expr, ExprLike, constant_value
from attndsl.expr.compiled_evaluation import Function, integers
from attndsl.target import Architecture, Core, Pipe
from attndsl.target.costs import Cost
from attndsl.tile.buffers import Buffer, GlobalRegion, GlobalTensor, Region
from attndsl.tile.instructions.limits import Finding, Limit
from attndsl.tile.statements import Statement

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]
Place: TypeAlias = tuple[int, int, int, int]
"""The present offset, rows, cols and pitch of a region, in elements."""


class Machine(Protocol):
    """What an instruction's meaning may touch: scalars, the current slot of buffers, global memory."""

    @property
    def scalars(self) -> Mapping[str, Any]:
        """The present scalars by name, and the tensors that expressions read."""

    def value(self, expr: ExprLike) -> Any:
        """The present value of a scalar."""

    def slot(self, buffer: Buffer) -> Array:
        """All elements of the buffer's current slot, 1-D, writable."""

    def rows(self, buffer: Buffer, place: Place) -> Array:
        """Part of the buffer's current slot as a writable (rows, cols) array; :func:`strided` makes it."""

    def tensor(self, tensor: GlobalTensor) -> Array:
        """All elements of a global tensor, 1-D, writable."""

    def define(self, name: str, value: bool) -> None:
        """Give a scalar a value for what follows."""


class Names(Protocol):
    """How the code generator spells operands."""

    def expr(self, expr: ExprLike) -> str:
        """A scalar expression."""

    def local(self, buffer: Buffer, offset: ExprLike) -> str:
        """A LocalTensor at an element offset into the current slot."""

    def gm(self, tensor: GlobalTensor, offset: ExprLike) -> str:
        """A GlobalTensor at an element offset."""

    def ctype(self, operand: Buffer | GlobalTensor) -> str:
        """The type of its elements."""


@dataclass(frozen=True, slots=True)
class OwnOrder:
    """An instruction finds ``buffer`` as it left it itself the time before, without a barrier.

    ``unordered``: the condition under which it does not; ``reason``: the same for the reader.
    """

    buffer: Buffer
    unordered: Expr
    reason: str


@dataclass(frozen=True, slots=True)
class PairedReads:
    """Two buffers that an instruction reads at the same time, lane by lane.

    ``blocks``: whether the second has one block a row, which meets all blocks of the first.
    """

    first: Buffer
    second: Buffer
    blocks: bool


@dataclass(frozen=True, eq=False, kw_only=True)
class Instruction(Statement):
    """One AscendC call.

    Class attributes: ``api`` the AscendC name, ``operation`` the device's name of it in the table of costs
    where that is another one, ``pipe`` the queue it runs on, ``core`` the core kind.
    """

    api: ClassVar[str]
    operation: ClassVar[str] = ""
    pipe: ClassVar[Pipe]
    core: ClassVar[Core]

    @classmethod
    def api_names(cls) -> tuple[str, ...]:
        """The AscendC names of all its operations: what ``api`` may be."""
        return (cls.api,)

    @abstractmethod
    def reads(self) -> tuple[Buffer, ...]:
        """On-chip buffers it reads."""

    @abstractmethod
    def writes(self) -> tuple[Buffer, ...]:
        """On-chip buffers it writes."""

    def gm_reads(self) -> tuple[GlobalTensor, ...]:
        """Global tensors it reads."""
        return ()

    def gm_writes(self) -> tuple[GlobalTensor, ...]:
        """Global tensors it writes."""
        return ()

    def alignments(self) -> Iterator[tuple[Buffer, int]]:
        """Buffers, and the bytes that it wants their addresses to be multiples of."""
        return iter(())

    def touched(self, machine: Machine) -> Iterator[tuple[Buffer, Indices]]:
        """Which elements of its buffers' slots it reads or writes: of each region its rows.

        Instructions that lay out their operands in another way say so.
        """
        for spec in fields(self):
            region = getattr(self, spec.name)
            if isinstance(region, Region):
                yield region.buffer, row_elements(machine, region)

    def paired_reads(self) -> PairedReads | None:
        """The buffers that must not lie in the same banks; None: it reads one at a time."""
        return None

    def read_while_written(self) -> tuple[Buffer, Buffer] | None:
        """The buffer that it reads and the one that it writes, which must not lie in the same banks: blocks
        of a repeat go to the groups of banks of others; None: it writes in the order in which it reads."""
        return None

    def own_order(self) -> OwnOrder | None:
        """What its pipe promises about two of these instructions in a row; None: nothing."""
        return None

    @abstractmethod
    def run(self, machine: Machine) -> None:
        """Its NumPy meaning. Who runs it decides about NumPy's floating-point warnings, once for all."""

    @abstractmethod
    def text(self, names: Names) -> str:
        """The AscendC statement."""

    @abstractmethod
    def units(self, machine: Machine) -> float:
        """The amount of work, in the units of its cost entry."""

    def matrix_rows(self, machine: Machine) -> float:
        """Rows of matrices that it reads one by one, each with a cost of its own; 0: none."""
        return 0

    def accumulates(self, machine: Machine) -> bool:
        """Whether it adds to a product that is there, which costs more than to begin one."""
        return False

    @abstractmethod
    def limits(self, architecture: Architecture) -> Iterator[Finding]:
        """The limits of its operands, and as text every rule of another kind that it violates."""

    def violations(self, architecture: Architecture) -> Iterator[str]:
        """What is wrong for certain: rules of other kinds, limits of constant numbers; nothing when legal."""
        for finding in self.limits(architecture):
            if isinstance(finding, str):
                yield finding
                continue
            known = constant_value(finding.value)
            wrong = "" if known is None else finding.violation(int(known))
            if wrong:
                yield f"{finding.role} is {finding.value}, {wrong}"

    def open_limits(self, architecture: Architecture) -> Iterator[Limit]:
        """The limits of numbers that are known when the program runs."""
        for finding in self.limits(architecture):
            if isinstance(finding, Limit) and constant_value(finding.value) is None:
                yield finding

    @abstractmethod
    def describe(self) -> str:
        """One line for the printed tile program."""

    @property
    def cost_key(self) -> str:
        """The device's operation, by which the cost table names it."""
        return self.operation or self.api

    def cycles(self, machine: Machine, costs: Mapping[str, Cost]) -> float:
        """Predicted cycles on its pipe, by the costs of a device."""
        return costs[self.cost_key].cycles(self.units(machine))


def is_one(expr: Expr) -> bool:
    """Whether a row count is the constant 1, so that the short ``count`` form applies."""
    return expr.same(Const(1))


def view(machine: Machine, region: Region) -> Array:
    """The region as a writable (rows, cols) array."""
    return machine.rows(region.buffer, _place(region)(machine.scalars))


def row_elements(machine: Machine, region: Region) -> Indices:
    """Where the rows of a region lie in the slot."""
    offset, rows, cols, pitch = extents(machine, region)
    return (offset + np.arange(rows)[:, None] * (pitch or cols) + np.arange(cols)).reshape(-1)


def gm_view(machine: Machine, region: GlobalRegion, further: int = 0) -> Array:
    """The global region as a writable (rows, cols) array, ``further`` elements behind its place."""
    offset, rows, cols, pitch = _place(region)(machine.scalars)
    return strided(machine.tensor(region.tensor), (offset + further, rows, cols, pitch), region.tensor.name)


def extents(machine: Machine, region: Region | GlobalRegion) -> Place:
    """The present offset, rows, cols and pitch of a region, in elements."""
    found: Place = _place(region)(machine.scalars)
    return found


@kept
def _place(region: Region | GlobalRegion) -> Function:
    return integers(region.offset, region.rows, region.cols, region.pitch)


def strided(flat: Array, place: Place, name: str) -> Array:
    """A place of flat memory as a writable (rows, cols) array.

    Raises:
        IndexError: naming the memory, where the place reaches beyond it.
    """
    offset, rows, cols, pitch = place
    pitch = pitch or cols
    last = offset + (rows - 1) * pitch + cols if rows and cols else offset
    if offset < 0 or last > flat.size:
        raise IndexError(f"{name}: elements {offset} to {last} of {flat.size} are touched")
    if rows == 1 and cols >= 0:
        return flat[None, offset:last]
    size = flat.itemsize
    return np.ndarray((rows, cols), flat.dtype, flat, offset * size, (pitch * size, size))
