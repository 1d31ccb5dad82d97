"""The indices by which rows of keys are looked up in a tensor, over all kernels of an operator.

A mask of keys may be stored once, or once a head, a batch row or both: each layout has an index tuple of its
own. With a stride of 0 for a batch row where a layout has none, one program serves two of them. Those without
heads have a program of their own, which loads a row for each position and not for each head of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from attndsl.expr import Symbol
from attndsl.graph.graph import Graph
from attndsl.graph.nodes import Input, Lookup, Node
from attndsl.spec.contract.contract import Contract

ROW_INDICES = ("b", "n", "i")
"""What may tell one row of keys from another, in the order in which layouts have them."""
_SHARED = ("b",)
"""Of these, what a layout may leave out where all batch rows have the same rows."""


def row_indices(operator: Contract, graph: Graph) -> Mapping[str, tuple[str, ...]]:
    """By tensor, the indices of its rows of keys in ``graph``, and those of other kernels of ``operator``.

    Of the tensors in which ``graph``, one kernel's, looks up one kind of row.
    """
    every, found = _declared(operator), dict[str, tuple[str, ...]]()
    for name, kinds in _indices(graph.nodes).items():
        if len(kinds) == 1:
            shared = {each for kind in every[name] for each in kind if each in _SHARED}
            used = shared.union(*kinds)
            found[name] = tuple(each for each in ROW_INDICES if each in used)
    return found


@lru_cache(maxsize=64)
def _declared(operator: Contract) -> Mapping[str, set[tuple[str, ...]]]:
    """Those of all kernels."""
    return _indices(dict.fromkeys(node for root in operator.roots for node in root.walk()))


def _indices(graph: Iterable[Node]) -> dict[str, set[tuple[str, ...]]]:
    """By tensor, the index tuples with which whole rows of keys are looked up, without that of the key."""
    found: dict[str, set[tuple[str, ...]]] = {}
    for node in graph:
        if isinstance(node, Lookup) and isinstance(node.source, Input):
            indices = row_of(node)
            if indices is not None:
                found.setdefault(node.source.name, set()).add(indices)
    return found


def row_of(node: Lookup) -> tuple[str, ...] | None:
    """The indices of the row of keys that a lookup reads; None of other lookups."""
    names = tuple(each.name for each in node.index if isinstance(each, Symbol))
    rest = names[:-1]
    in_order = tuple(each for each in ROW_INDICES if each in rest)
    whole = len(names) == len(node.index) and names[-1:] == ("j",)
    return rest if whole and rest == in_order else None
