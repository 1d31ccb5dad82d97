"""Names in generated C++: one place decides how everything is spelled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from enum import Enum

from attndsl.codegen.names.members import constant, cxx_type, gm_member, list_member
from attndsl.codegen.text.cxx_expressions import cxx_text
from attndsl.codegen.text.ring_rows import ring_row_helper, with_ring_rows
from attndsl.expr import Const, Expr, ExprLike, Load, Scope, Symbol, as_expr
from attndsl.target import MemorySpace
from attndsl.tile.buffers import Buffer, GlobalTensor
from attndsl.tile.program import Program
from attndsl.tile.scalars import expressions
from attndsl.tile.statements import Alloc, Handed, SetEvent

_SAYS = ("Ready", "Free", "Taken")
"""What an event says of a buffer: the end of its name."""
PARAMETER = "T"
"""The template parameter of a text that kernels of two dtypes share."""


def memory_member(space: MemorySpace) -> str:
    """The member that holds a whole on-chip memory."""
    return f"{space.value.lower()}_"


def slot_member(group: tuple[Buffer, ...]) -> str:
    """The member that counts the slots of a lifetime."""
    return f"{group[0].name}Slot_"


class Kind(Enum):
    """What an operand is that stages of several attentions may take as an argument."""

    TENSOR = "tensor"
    LIST = "list of tensors"
    FIELD = "tiling field"
    FLAG = "cross-core flag"


@dataclass(frozen=True, slots=True)
class StageOperand:
    """A tensor in global memory, the list that it is picked from, a tiling field or a cross-core flag of a
    program, by its name there.
    """

    kind: Kind
    name: str


class Spelling:
    """How one program's operands are spelled; the ``Names`` that instructions ask."""

    def __init__(
        self, program: Program, open_operands: frozenset[Buffer | GlobalTensor] = frozenset()
    ) -> None:
        """``open_operands``: those whose type is the text's template parameter."""
        self._open = open_operands
        self._arguments: Mapping[StageOperand, str] = {}
        self._scalars: Mapping[str, str] = {}
        self.events = _event_constants(program)
        self.expressions = tuple(_expressions_of(program))
        self.ring_rows = ring_row_helper(self.expressions)
        self.groups: Mapping[Buffer, tuple[Buffer, ...]] = {
            buffer: item.buffers
            for item in program.statements()
            if isinstance(item, Alloc)
            for buffer in item.buffers
        }
        self._slot_of_step: Mapping[Buffer, Symbol] = {
            buffer: item.slot
            for item in program.statements()
            if isinstance(item, Handed)
            for buffer in item.buffers
        }

    def taking(self, arguments: Mapping[StageOperand, str]) -> Spelling:
        """The spelling in a function that takes some operands as arguments, spelled so."""
        found = copy(self)
        found._arguments = arguments
        return found

    def with_scalars(self, scalars: Mapping[str, str]) -> Spelling:
        """The spelling where some scalars, by name, are spelled so."""
        found = copy(self)
        found._scalars = {**self._scalars, **scalars}
        return found

    def expr(self, expr: ExprLike, spelled: Mapping[str, str] | None = None) -> str:
        """A scalar expression; ``spelled`` as for :func:`cxx_text`."""
        value = as_expr(expr)
        text = value.mapped(self._argument) if self._arguments else value
        names = {**self._scalars, **(spelled or {})}
        if self.ring_rows:
            text, calls = with_ring_rows(text, names)
            names |= calls
        return cxx_text(text, names)

    def _argument(self, node: Expr) -> Expr | None:
        """What stands for a tiling field or a read of a tensor that is an argument."""
        if isinstance(node, Symbol) and node.scope is Scope.TILING:
            name = self._arguments.get(StageOperand(Kind.FIELD, node.name))
            return None if name is None else Symbol(name)
        if isinstance(node, Load) and node.scope is Scope.GLOBAL:
            name = self._arguments.get(StageOperand(Kind.TENSOR, node.source))
            index = node.index.mapped(self._argument)
            return None if name is None else replace(node, source=name, index=index, scope=Scope.LOCAL)
        return None

    def flag(self, name: str) -> str:
        """The id of a cross-core flag."""
        return self._arguments.get(StageOperand(Kind.FLAG, name)) or constant(name)

    def buffer(self, buffer: Buffer) -> str:
        """A buffer: a member where it has one slot, else the local that names the current slot."""
        return buffer.name if buffer.slots > 1 else f"{buffer.name}_"

    def local(self, buffer: Buffer, offset: ExprLike) -> str:
        """A LocalTensor at an element offset into the current slot."""
        return self.buffer(buffer) + self._index(as_expr(offset))

    def gm(self, tensor: GlobalTensor, offset: ExprLike) -> str:
        """A GlobalTensor at an element offset."""
        name = self._arguments.get(StageOperand(Kind.TENSOR, tensor.name)) or gm_member(tensor.name)
        return name + self._index(as_expr(offset))

    def list_of(self, tensor: GlobalTensor) -> str:
        """The list that a tensor is an element of."""
        return self._arguments.get(StageOperand(Kind.LIST, tensor.name)) or list_member(tensor.name)

    def ctype(self, operand: Buffer | GlobalTensor) -> str:
        """The C++ type of an operand's elements."""
        return PARAMETER if operand in self._open else cxx_type(operand.dtype)

    def event(self, event: SetEvent) -> str:
        """The id of an event, of the current slot where it has one id a slot."""
        name = self.events[event.name]
        if event.slot is not None:
            return f"{name} + {event.slot}" if event.slot else name
        if event.ids == 1 or event.slot_of is None:
            return name
        return f"{name} + {self.slot(self.groups[event.slot_of])}"

    def slot(self, group: tuple[Buffer, ...]) -> str:
        """The number of the current slot of a lifetime: a member, or the slot of the step."""
        of_step = self._slot_of_step.get(group[0])
        return slot_member(group) if of_step is None else self.expr(of_step)

    def _index(self, offset: Expr) -> str:
        return "" if offset.same(Const(0)) else f"[{self.expr(offset)}]"


def _expressions_of(program: Program) -> Iterator[Expr]:
    """All scalar expressions of a program."""
    return (expr for item in program.statements() for expr in expressions(item))


def _event_constants(program: Program) -> dict[str, str]:
    """Short names for events: without their pipes wherever that is still unique, and of the first buffer that
    they order where that is not the first of its lifetime."""
    events = {item.name: item for item in program.statements() if isinstance(item, SetEvent)}
    ordered: dict[str, dict[Buffer, None]] = {}
    for item in program.statements():
        if isinstance(item, SetEvent):
            ordered.setdefault(item.name, {}).update(dict.fromkeys((*item.buffers, *item.also)))
    groups = [item.buffers for item in program.statements() if isinstance(item, Alloc)]
    short: dict[str, list[str]] = {}
    for name, event in events.items():
        pair = event.source.value + event.target.value
        stem = name.removesuffix(pair)
        own = _after_ordered(stem, tuple(ordered[name]), groups)
        short.setdefault(stem if own + pair in events else own, []).append(name)
    constants = {}
    for stem, names in short.items():
        for name in names:
            event = events[name]
            pair = f"{event.source.value.capitalize()}{event.target.value.capitalize()}"
            constants[name] = constant(stem if len(names) == 1 else stem + pair)
    return constants


def _after_ordered(stem: str, ordered: tuple[Buffer, ...], groups: Sequence[tuple[Buffer, ...]]) -> str:
    """The name of an event after a buffer that it orders: the first of its lifetime may be none."""
    for group in groups:
        what = stem.removeprefix(group[0].name)
        if what in _SAYS and ordered and ordered[0] in group and group[0] not in ordered:
            return ordered[0].name + what
    return stem
