"""Where the rows of each batch row lie: queries and keys of their own, or packed back to back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from attndsl.graph.nodes import Node, Packed, PackedQueries, Scalar, Scores
from attndsl.reference.row_reader import Index
from attndsl.reference.state import Labelled, State
from attndsl.spec.contract.layout import Array


def integer(state: State, node: Node, b: int) -> int:
    """An integer of axes (B,) or none, for batch row ``b``."""
    if isinstance(node, Scalar):
        return int(node.value.evaluate({**state.env, "b": b}))
    values = state.whole(node)
    return int(values.aligned(("B",))[b if "B" in values.axes else 0])


def boundaries(state: State, node: Packed | PackedQueries) -> Array:
    """Batch row b owns the rows ``boundaries[b] .. boundaries[b + 1] - 1`` of a packed tensor."""
    if id(node) not in state.boundaries:
        given = node.length if node.ends is None else node.ends
        assert given is not None  # a rule of the graph
        rows = np.array([integer(state, given, b) for b in range(state.call.extents["B"])], np.int64)
        ends = np.cumsum(rows) if node.ends is None else rows
        state.boundaries[id(node)] = np.concatenate([np.zeros(1, np.int64), ends])
    return state.boundaries[id(node)]


@dataclass(frozen=True)
class QuerySpace:
    """The rows of results: their axes, extents, and the place of a block of queries among them.

    ``starts``: first token of each batch row and the end, where queries are packed.
    """

    axes: tuple[str, ...]
    shape: tuple[int, ...]
    queries: int
    starts: Array | None = None

    def count(self, b: int) -> int:
        """Queries of batch row ``b``."""
        return self.queries if self.starts is None else int(self.starts[b + 1] - self.starts[b])

    def locate(self, b: int, heads: slice | int, queries: slice) -> Index:
        """The index of some heads and queries of a batch row in an array with these axes."""
        if self.starts is None:
            return b, heads, queries
        first = int(self.starts[b])
        return heads, slice(first + queries.start, first + queries.stop)

    def results(self, channels: int, dtype: np.dtype[Any]) -> Array:
        """Memory for results with as many channels. Packed tokens that belong to no batch row stay 0; every
        other element is to be written."""
        return np.zeros((*self.shape, channels), dtype)


def query_space(state: State, node: Node, heads: str = "N") -> QuerySpace:
    """The rows of what is computed from the scores below ``node``; ``heads``: the axis N or K."""
    extents = state.call.extents
    count = extents.get(heads, 1)
    for below in node.walk():
        if isinstance(below, Scores) and isinstance(below.query, PackedQueries):
            starts = boundaries(state, below.query)
            return QuerySpace((heads, "S"), (count, extents["S"]), extents["Q"], starts)
    return QuerySpace(("B", heads, "Q"), (extents["B"], count, extents["Q"]), extents["Q"])


def of_tokens(space: QuerySpace, value: Labelled) -> Labelled:
    """A value of batch rows and positions, for each token of packed queries; another one as it is. Tokens
    that belong to no batch row have numbers of another."""
    if space.starts is None or {"B", "Q"}.isdisjoint(value.axes):
        return value
    rest = tuple(axis for axis in value.axes if axis not in ("B", "Q"))
    data = value.aligned(("B", "Q", *rest))
    tokens = np.arange(space.shape[space.axes.index("S")])
    if not all(data.shape[:2]):
        return Labelled(("S", *rest), np.zeros((tokens.size, *data.shape[2:]), data.dtype))
    rows = np.clip(np.searchsorted(space.starts, tokens, side="right") - 1, 0, len(space.starts) - 2)
    positions = np.minimum(tokens - space.starts[rows], data.shape[1] - 1)
    return Labelled(("S", *rest), data[np.minimum(rows, len(data) - 1), positions])
