"""The sizes of the tensors in a list, which a kernel reads from what describes the list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from attndsl.expr.symbolic import Expr, Load
from attndsl.tile.naming import list_member


@dataclass(frozen=True, eq=False, slots=True)
class EntrySize(Load):
    """The size of dimension ``-from_end`` of tensor ``index`` of the list that :func:`sizes_of` names."""

    from_end: int = 1

    def evaluate(self, env: Mapping[str, Any]) -> Any:
        return env[self.source][int(self.index.evaluate(env))][-self.from_end]

    def _render(self, cxx: bool) -> tuple[str, int]:
        text, precedence = super(EntrySize, self)._render(False)
        if cxx:
            text = f"{FUNCTION}({self.cxx_name}, {self.index.text(True)}, {self.from_end})"
        else:
            text = f"{text}[-{self.from_end}]"
        return text, precedence

    def _key(self) -> tuple[Any, ...]:
        return (*super(EntrySize, self)._key(), self.from_end)


FUNCTION = "SizeFromEnd"
"""A kernel's function for it: of a list, the number of a tensor and the dimension counted from the last."""


def sizes_of(tensor: str) -> str:
    """Where scalars find the shapes of the tensors of a list."""
    return f"sizes({tensor})"


def entry_size(tensor: str, index: Expr, from_end: int) -> EntrySize:
    """The size of dimension ``-from_end`` of tensor ``index`` of a list."""
    return EntrySize(sizes_of(tensor), index, list_member(tensor), "int64", from_end)
