"""A whole tile program: its tensors, tiling fields, constants and statements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import chain

from attndsl.base.facts import kept
from attndsl.expr import Expr, Named, Scope, Symbol
from attndsl.expr.single_precision import in_single_precision
from attndsl.target import Core, Device, MemorySpace
from attndsl.tile.buffers import Buffer, GlobalTensor
from attndsl.tile.instructions import Instruction
from attndsl.tile.statements import Alloc, Seq, Stage, Statement

# Scalars every core knows about itself.
BLOCK_INDEX = Symbol("blockIndex", Scope.MEMBER)
SUB_BLOCK = Symbol("subBlock", Scope.MEMBER)
BLOCK_COUNT = Symbol("blockCount", Scope.MEMBER)
CORE_SCALARS = (BLOCK_INDEX, SUB_BLOCK, BLOCK_COUNT)


def tiling_field_ref(name: str) -> Symbol:
    """A tiling field inside the value of a later one; no size or parameter can be named like it."""
    return Symbol(f"tiling.{name}")


def tiling_scalar(name: str) -> Symbol:
    """A tiling field as the kernel's code sees it."""
    return Symbol(name, Scope.TILING)


@dataclass(frozen=True, slots=True)
class TilingField:
    """A scalar the host computes and every core reads.

    Attributes:
        name: its name in the tiling struct.
        ctype: "int64" or "float32"; of what kernels do not see also "bool".
        value: what the host computes, over dimensions, parameters, the core count and earlier fields.
        meaning: half a sentence for the reader of the struct.
        host_only: no member of the struct, but a number from which the host computes others.
        topic: what it is about: ``work``, ``strides``, ``workspace``, or nothing of these.
        layout: of a stride, the host's number of the layout of its tensor.
    """

    name: str
    ctype: str
    value: Expr
    meaning: str
    host_only: bool = False
    topic: str = ""
    layout: Symbol | None = None

    @property
    def symbol(self) -> Symbol:
        """The field as the kernel's code sees it."""
        return tiling_scalar(self.name)


class Property(Enum):
    """What holds of a program: passes require and establish it, rules ask only for what was established."""

    JOINT = "joint"
    """``body`` is the program: one tree of statements for all cores."""
    FLAGS = "flags"
    """Cores wait for each other by cross-core flags; ``flags`` has their ids."""
    CORES = "cores"
    """``cores`` is the program: one tree for each core kind, without skewed loops."""
    ADDRESSES = "addresses"
    """Every buffer in use has an address of its own in ``addresses``."""
    EVENTS = "events"
    """The pipes of a core wait for each other by events with ids, and by barriers."""


@dataclass(frozen=True, eq=False, slots=True)
class Constant:
    """A named compile-time number of a program.

    Attributes:
        meaning: what it is, for the schedule header of the generated kernel.
        definition: its value as an expression of earlier constants; None for a number of its own.
        option: the schedule option that it is; empty for numbers that follow from others, or that the device
            or the specialization decides.
        host_only: nothing but values of tiling fields names it.
        of_device: it is the same for all kernels of a device, whose header has it.
    """

    named: Named
    meaning: str
    definition: Expr | None = None
    option: str = ""
    host_only: bool = False
    of_device: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Requirement:
    """A condition on the program's constants that its statements rely on."""

    condition: Expr
    meaning: str


@dataclass(frozen=True, kw_only=True)
class Program:
    """A tile program.

    Attributes:
        name: the kernel's name.
        device: the device that it is for.
        summary: one sentence on what it computes.
        dtype: the io dtype.
        parameters: global tensors in the kernel's argument order (inputs, then outputs).
        workspace: tensors inside the user workspace.
        tiling: what the host computes, in order; "blocks" and "workspaceBytes" are among it.
        constants: named compile-time numbers; definitions come after the constants that they name.
        requirements: what the statements rely on if a constant is changed.
        body: the joint statements, before the program is split by core.
        cores: the statements of each core kind, after the split.
        flags: cross-core flags by name, after they were derived.
        addresses: byte address of slot 0 of each on-chip buffer, after memory planning.
    """

    name: str
    device: Device
    summary: str
    dtype: str
    parameters: tuple[GlobalTensor, ...]
    workspace: tuple[GlobalTensor, ...]
    tiling: tuple[TilingField, ...]
    constants: tuple[Constant, ...]
    body: Seq
    requirements: tuple[Requirement, ...] = ()
    cores: Mapping[Core, Seq] = field(default_factory=dict)
    flags: Mapping[str, int] = field(default_factory=dict)
    addresses: Mapping[Buffer, int] = field(default_factory=dict)

    @property
    def fields(self) -> tuple[TilingField, ...]:
        """The members of the tiling struct, which the kernel reads."""
        return tuple(item for item in self.tiling if not item.host_only)

    @property
    def found_by_kernel(self) -> tuple[GlobalTensor, ...]:
        """The workspace tensors that scalar units read: what a kernel finds in the call's data is not known
        before it runs."""
        return tuple(each for each in self.workspace if each.dtype == "int32" and each.shared == "device")

    def trees(self) -> tuple[Seq, ...]:
        """The per-core trees, or the joint one before the split."""
        return tuple(self.cores.values()) or (self.body,)

    @kept
    def statements(self) -> tuple[Statement, ...]:
        """All statements in program order."""
        return tuple(chain.from_iterable(tree.inside() for tree in self.trees()))

    @kept
    def instructions(self) -> tuple[Instruction, ...]:
        """All instructions in program order."""
        return tuple(item for item in self.statements() if isinstance(item, Instruction))

    @kept
    def buffers(self) -> tuple[Buffer, ...]:
        """All on-chip buffers, by memory and in order of first use.

        A stage that warms a ring borrows a buffer, which stands where others use it first.
        """
        found: dict[Buffer, None] = {}
        statements = tuple(self.statements())
        warming = (item for item in statements if isinstance(item, Stage) and item.warms is not None)
        borrowing = {inner for stage in warming for inner in stage.walk()}
        for item in sorted(statements, key=borrowing.__contains__):
            if isinstance(item, Alloc):
                found |= dict.fromkeys(item.buffers)
            elif isinstance(item, Instruction):
                found |= dict.fromkeys((*item.reads(), *item.writes()))
        order = list(MemorySpace)
        return tuple(sorted(found, key=lambda buffer: order.index(buffer.space)))

    @kept
    def alignments(self) -> Mapping[Buffer, int]:
        """Bytes that the address of each buffer is a multiple of: what its memory and its users ask for."""
        memory = self.device.architecture.memory
        found = {buffer: memory(buffer.space).alignment for buffer in self.buffers()}
        for item in self.instructions():
            for buffer, alignment in item.alignments():
                found[buffer] = max(found[buffer], alignment)
        return found

    def slot_stride(self, buffer: Buffer) -> int:
        """Bytes between the slots of a buffer: the size of one, aligned as the memory asks for."""
        alignment = self.device.architecture.memory(buffer.space).alignment
        return -(-buffer.slot_bytes // alignment) * alignment

    def used_bytes(self, space: MemorySpace) -> int:
        """Bytes of a memory up to the end of its last buffer, gaps between aligned buffers with them.

        0 before addresses are planned.
        """
        return max(
            (
                start + buffer.slots * self.slot_stride(buffer)
                for buffer, start in self.addresses.items()
                if buffer.space is space
            ),
            default=0,
        )

    def tiling_values(self, host: Mapping[str, object]) -> dict[str, int | float]:
        """The members of the tiling struct under the host's scalars."""
        values = self.host_values(host)
        return {item.name: values[item.name] for item in self.fields}

    def host_values(self, host: Mapping[str, object]) -> dict[str, int | float]:
        """All that the host computes, each number over the ones in front of it; floats as its C++ does."""
        env: dict[str, object] = dict(host)
        values: dict[str, int | float] = {}
        for item in self.tiling:
            is_float = item.ctype == "float32"
            values[item.name] = in_single_precision(item.value, env) if is_float else item.value.evaluate(env)
            env[tiling_field_ref(item.name).name] = values[item.name]
        return values

    def with_(self, **changes: object) -> Program:
        """A copy with some attributes replaced."""
        return replace(self, **changes)  # type: ignore[arg-type]
