"""A bench for single instructions: buffers, global tensors, and the machine that runs and spells them."""

from __future__ import annotations

from typing import Any

import numpy as np

from attndsl.codegen.names.members import cxx_type
from attndsl.codegen.text.cxx_expressions import cxx_text
from attndsl.expr import Const, Expr, ExprLike, as_expr
from attndsl.target import MemorySpace
from attndsl.tile.buffers import NUMPY_DTYPES, Buffer, GlobalTensor
from attndsl.tile.instructions.base import Place, strided


def buffer(
    name: str, dtype: str, elements: int, space: MemorySpace = MemorySpace.UB, slots: int = 1
) -> Buffer:
    return Buffer(name=name, space=space, dtype=dtype, size=as_expr(elements), slots=slots)


def tensor(name: str, dtype: str, role: str = "input") -> GlobalTensor:
    return GlobalTensor(name=name, dtype=dtype, role=role)


class Bench:
    """Memory of one core, one slot a buffer; a buffer is made on first use, full of ``fill``."""

    def __init__(self, fill: float = -77.0, **scalars: int) -> None:
        self.fill = fill
        self.scalars = scalars
        self.memory: dict[Buffer | GlobalTensor, np.ndarray[Any, Any]] = {}

    def put(self, target: Buffer | GlobalTensor, values: Any) -> None:
        """Set the first elements of a buffer, or a whole global tensor."""
        flat = np.asarray(values).astype(NUMPY_DTYPES[target.dtype]).reshape(-1)
        if isinstance(target, Buffer):
            self.slot(target)[: flat.size] = flat
        else:
            self.memory[target] = flat

    # The machine that instructions see

    def value(self, expr: ExprLike) -> Any:
        return expr.evaluate(self.scalars) if isinstance(expr, Expr) else expr

    def slot(self, target: Buffer) -> np.ndarray[Any, Any]:
        if target not in self.memory:
            fill = self.fill if NUMPY_DTYPES[target.dtype].kind != "u" else 0xA5
            self.memory[target] = np.full(target.elements, fill, NUMPY_DTYPES[target.dtype])
        return self.memory[target]

    def rows(self, target: Buffer, place: Place) -> np.ndarray[Any, Any]:
        return strided(self.slot(target), place, target.name)

    def tensor(self, target: GlobalTensor) -> np.ndarray[Any, Any]:
        return self.memory[target]

    def define(self, name: str, value: bool) -> None:
        self.scalars[name] = value


class Names:
    """Operands spelled by their own names."""

    def expr(self, expr: ExprLike) -> str:
        return cxx_text(as_expr(expr))

    def local(self, target: Buffer, offset: ExprLike) -> str:
        return target.name + _index(offset)

    def gm(self, target: GlobalTensor, offset: ExprLike) -> str:
        return target.name + _index(offset)

    def ctype(self, target: Buffer | GlobalTensor) -> str:
        return cxx_type(target.dtype)


def _index(offset: ExprLike) -> str:
    place = as_expr(offset)
    return "" if place.same(Const(0)) else f"[{cxx_text(place)}]"
