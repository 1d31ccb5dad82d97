"""Nodes, states and blocks that have only what one rule of the oracle asks for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from attndsl.graph.nodes import Node


def node_of(kind: type[Node], **fields: Any) -> Any:
    """A node with these fields alone: rules of the graph look at nodes of whole graphs."""
    made = object.__new__(kind)
    for name, value in fields.items():
        object.__setattr__(made, name, value)
    return made


def state_of(**fields: Any) -> Any:
    return SimpleNamespace(once=lambda rule, node: rule(state_of(**fields), node), **fields)


def block_of(keys: int) -> Any:
    return SimpleNamespace(
        b=1, k=0, heads=slice(0, 1), queries=slice(1, 3), tokens=slice(2, 4), keys=slice(0, keys)
    )
