"""The sizes of the tensors in a list, which a kernel reads from what describes the list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from attndsl.expr import Expr, Load
from attndsl.expr.argument_facts import argument_of


@dataclass(frozen=True, eq=False, slots=True)
class EntrySize(Load):
    """The size of dimension ``-from_end`` of tensor ``index`` of the list that :func:`sizes_of` names."""

    from_end: int = 1

    def evaluate(self, env: Mapping[str, Any]) -> Any:
        return env[self.source][int(self.index.evaluate(env))][-self.from_end]

    @property
    def tensor(self) -> str:
        """The list."""
        return argument_of(self.source)

    def rendered(self) -> tuple[str, int]:
        text, precedence = super(EntrySize, self).rendered()
        return f"{text}[-{self.from_end}]", precedence

    def _key(self) -> tuple[Any, ...]:
        return (*super(EntrySize, self)._key(), self.from_end)


def sizes_of(tensor: str) -> str:
    """Where scalars find the shapes of the tensors of a list."""
    return f"sizes({tensor})"


def entry_size(tensor: str, index: Expr, from_end: int) -> EntrySize:
    """The size of dimension ``-from_end`` of tensor ``index`` of a list."""
    return EntrySize(sizes_of(tensor), index, from_end=from_end)
