"""Symbolic scalars that read a whole integer or mask tensor: its largest entry, the sum of lengths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from attndsl.base.reserved_names import plain
from attndsl.expr.argument_facts import GIVEN, kind_of
from attndsl.expr.array_evaluation import evaluate_arrays
from attndsl.expr.expression import Expr, ExprLike
from attndsl.expr.nodes import Load, Symbol, as_expr
from attndsl.expr.operators import ATOM


@dataclass(frozen=True, eq=False, slots=True)
class Fold(Expr):
    """``op`` (min, max or sum) of ``body`` over all ``index < extent``; 0 over nothing.

    Without an extent ``body`` must be ``tensor[index]``, and all elements of the tensor are meant.
    ``title`` is a short name for it, such as ``KeysBefore``; a kernel has a function of that name.
    """

    op: str
    body: Expr
    index: str
    extent: Expr | None = None
    title: str = ""

    @property
    def name(self) -> str:
        """Its title, else ``MaxOf...`` the first tensor that it reads."""
        source = next((node.source for node in self.body.walk() if isinstance(node, Load)), self.index)
        words = "".join(part[:1].upper() + part[1:] for part in plain(source).split("_"))
        return self.title or f"{self.op.capitalize()}Of{words}"

    def captured(self) -> tuple[Symbol, ...]:
        """The scalars that the body depends on besides the index, in order of first use."""
        free = (node for node in self.body.walk() if isinstance(node, Symbol) and node.name != self.index)
        return tuple({node.name: node for node in free}.values())

    def computes_like(self, other: Fold) -> bool:
        """Whether one function serves both; extents and names of the index may differ."""
        bodies = (fold.body.substitute({fold.index: Symbol("#")}) for fold in (self, other))
        return self.op == other.op and next(bodies).same(next(bodies))

    def range_end(self) -> Expr:
        """The end of the index range.

        Raises:
            TypeError: all elements of a tensor are meant, whose number only the host knows.
        """
        if self.extent is None:
            raise TypeError(f"{self}: in a kernel the extent has to be given")
        return self.extent

    def children(self) -> tuple[Expr, ...]:
        return (self.body,) if self.extent is None else (self.body, self.extent)

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        extent = children[1] if len(children) > 1 else None
        return Fold(self.op, children[0], self.index, extent, self.title)

    def _add_nodes(self, found: list[Expr]) -> None:
        """All parts but the bound index, so that it is no free symbol."""
        found.append(self)
        found += (node for node in self.body.nodes() if not self._is_bound(node))
        if self.extent is not None:
            found += self.extent.nodes()

    def _is_bound(self, node: Expr) -> bool:
        return isinstance(node, Symbol) and node.name == self.index

    def _free(self) -> frozenset[str]:
        free = self.body.symbols() - {self.index}
        return free if self.extent is None else free | self.extent.symbols()

    def evaluate(self, env: Mapping[str, Any]) -> Any:
        values = self._values(env)
        return getattr(np, self.op)(values).item() if values.size else 0

    def _values(self, env: Mapping[str, Any]) -> Any:
        if self.extent is None:
            assert isinstance(self.body, Load)
            values = np.asarray(env[self.body.source])
            return values if values.dtype.kind in "biuf" else values.astype(np.float32)
        count = int(self.extent.evaluate(env))
        values = evaluate_arrays(self.body, {**env, self.index: np.arange(count)})
        return np.broadcast_to(values, (count,))

    def substitute(self, values: Mapping[str, ExprLike]) -> Expr:
        inner = {name: value for name, value in values.items() if name != self.index}
        extent = None if self.extent is None else self.extent.substitute(values)
        return Fold(self.op, self.body.substitute(inner), self.index, extent, self.title)

    def rendered(self) -> tuple[str, int]:
        if self.extent is None and isinstance(self.body, Load):
            return f"{self.op}({self.body.source})", ATOM
        return f"{self.op}({self.body} for {self.index} < {self.extent})", ATOM

    def _key(self) -> tuple[Any, ...]:
        extent = None if self.extent is None else self.extent.structure()
        return ("fold", self.op, self.index, self.body.structure(), extent)


def highest(body: Expr, index: Symbol, extent: ExprLike) -> Expr:
    """The largest value of ``body`` over all ``index < extent``; 0 over nothing."""
    return Fold("max", body, index.name, as_expr(extent))


def total(body: Expr, index: Symbol, extent: ExprLike) -> Expr:
    """The sum of ``body`` over all ``index < extent``."""
    return Fold("sum", body, index.name, as_expr(extent))


def of_all_elements(op: str, tensor: str) -> Expr:
    """``op`` of all elements of a tensor."""
    return Fold(op, Load(tensor, Symbol("e")), "e")


def with_presence(expr: Expr, env: Mapping[str, Any]) -> Expr:
    """``expr`` with the presence of arguments filled in, so that choices by presence are made."""
    known = {name: bool(env[name]) for name in expr.symbols() if kind_of(name) == GIVEN and name in env}
    return expr.substitute(known) if known else expr
