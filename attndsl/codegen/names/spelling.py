"""Names in generated C++: one place decides how everything is spelled."""

from __future__ import annotations

from collections.abc import Mapping

from attndsl.codegen.names.members import constant, cxx_type, gm_member
from attndsl.codegen.text.cxx_expressions import cxx_text
from attndsl.expr import Const, Expr, ExprLike, as_expr
from attndsl.target import MemorySpace
from attndsl.tile.buffers import Buffer, GlobalTensor
from attndsl.tile.program import Program
from attndsl.tile.statements import Alloc, SetEvent

PARAMETER = "T"
"""The template parameter of a text that kernels of two dtypes share."""


def memory_member(space: MemorySpace) -> str:
    """The member that holds a whole on-chip memory."""
    return f"{space.value.lower()}_"


def slot_member(group: tuple[Buffer, ...]) -> str:
    """The member that counts the slots of a lifetime."""
    return f"{group[0].name}Slot_"


class Spelling:
    """How one program's operands are spelled; the ``Names`` that instructions ask."""

    def __init__(
        self, program: Program, open_operands: frozenset[Buffer | GlobalTensor] = frozenset()
    ) -> None:
        """``open_operands``: those whose type is the text's template parameter."""
        self._open = open_operands
        self.events = _event_constants(program)
        self.groups: Mapping[Buffer, tuple[Buffer, ...]] = {
            buffer: item.buffers
            for item in program.statements()
            if isinstance(item, Alloc)
            for buffer in item.buffers
        }

    def expr(self, expr: ExprLike) -> str:
        """A scalar expression."""
        return cxx_text(as_expr(expr))

    def buffer(self, buffer: Buffer) -> str:
        """A buffer: a member where it has one slot, else the local that names the current slot."""
        return buffer.name if buffer.slots > 1 else f"{buffer.name}_"

    def local(self, buffer: Buffer, offset: ExprLike) -> str:
        """A LocalTensor at an element offset into the current slot."""
        return self.buffer(buffer) + _index(as_expr(offset))

    def gm(self, tensor: GlobalTensor, offset: ExprLike) -> str:
        """A GlobalTensor at an element offset."""
        return gm_member(tensor.name) + _index(as_expr(offset))

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
        return f"{name} + {slot_member(self.groups[event.slot_of])}"


def _index(offset: Expr) -> str:
    return "" if offset.same(Const(0)) else f"[{cxx_text(offset)}]"


def _event_constants(program: Program) -> dict[str, str]:
    """Short names for events: without their pipes wherever that is still unique."""
    events = {item.name: item for item in program.statements() if isinstance(item, SetEvent)}
    short: dict[str, list[str]] = {}
    for name, event in events.items():
        short.setdefault(name.removesuffix(event.source.value + event.target.value), []).append(name)
    constants = {}
    for stem, names in short.items():
        for name in names:
            event = events[name]
            pair = f"{event.source.value.capitalize()}{event.target.value.capitalize()}"
            constants[name] = constant(stem if len(names) == 1 else stem + pair)
    return constants
