"""How the scalars and tensors of a program are spelled in its kernel."""

from __future__ import annotations

from attndsl.codegen.names.identifiers import pascal
from attndsl.expr import Load, Scope, Symbol
from attndsl.expr.reductions import Fold
from attndsl.tile.buffers import DOUBLE_BUFFER
from attndsl.tile.naming import global_name, list_name

ENTRY_SIZE = "SizeFromEnd"
"""The function that tells a size of a tensor in a list: of the list, the tensor's number, the dimension
counted from the last."""

_DTYPES = {
    "float32": "float",
    "float16": "half",
    "bfloat16": "bfloat16_t",
    "uint8": "uint8_t",
    "int8": "int8_t",
    "int16": "int16_t",
    "uint16": "uint16_t",
    "int32": "int32_t",
    "uint32": "uint32_t",
    "int64": "int64_t",
}


def cxx_type(dtype: str) -> str:
    """The type of an element in a kernel."""
    return _DTYPES[dtype]


def member(name: str) -> str:
    """A member of the kernel."""
    return f"{name}_"


def constant(name: str) -> str:
    """The constant of a name: ``scoreRing`` as ``kScoreRing``."""
    return f"k{pascal(name)}"


def address_constant(buffer: str) -> str:
    """The constant for the byte at which a buffer's first slot begins; ``buffer``: its name."""
    return f"{constant(buffer)}At"


def size_constant(buffer: str) -> str:
    """The constant for the bytes of a slot of a buffer; ``buffer``: its name."""
    return f"{constant(buffer)}SlotBytes"


def slots_constant(slots: int) -> str:
    """How a number of slots above 1 is spelled."""
    return constant(DOUBLE_BUFFER.name) if slots == DOUBLE_BUFFER.value else str(slots)


def scalar(symbol: Symbol) -> str:
    """A scalar: a tiling field, a member of the kernel, or a variable of one of its functions."""
    if symbol.scope is Scope.TILING:
        return f"{member('tiling')}.{symbol.name}"
    return member(symbol.name) if symbol.scope is Scope.MEMBER else symbol.name


def gm_member(tensor: str) -> str:
    """The member that holds a tensor in global memory."""
    return member(global_name(tensor))


def list_member(tensor: str) -> str:
    """The member that decodes a list of tensors."""
    return member(list_name(tensor))


def source(load: Load) -> str:
    """The tensor or the array that is read."""
    if load.scope is Scope.GLOBAL:
        return gm_member(load.source)
    return member(load.source) if load.scope is Scope.MEMBER else load.source


def fold_function(fold: Fold) -> str:
    """The function that computes a fold."""
    return fold.name
