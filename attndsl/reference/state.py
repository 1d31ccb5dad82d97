"""What the reference interpreter knows while it runs one call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

import numpy as np

from attndsl.graph.errors import GraphError
from attndsl.graph.nodes import Node, Rows
from attndsl.reference.row_reader import RowReader
from attndsl.reference.scratch import Scratch
from attndsl.spec.binding.call import Call
from attndsl.spec.contract.arguments import DTYPES
from attndsl.spec.contract.layout import Array

Found = TypeVar("Found")


@dataclass(frozen=True)
class Labelled:
    """An array whose dimensions are named by the axes of the graph."""

    axes: tuple[str, ...]
    data: Array

    def aligned(self, axes: tuple[str, ...]) -> Array:
        """The data with exactly these dimensions in this order; absent ones have extent 1, and so have those
        that are left out, such as the only position of decoded queries."""
        order = [axis for axis in axes if axis in self.axes]
        extra = tuple(place for place, axis in enumerate(self.axes) if axis not in axes)
        kept = [axis for axis in self.axes if axis in axes]
        data = self.data.squeeze(extra).transpose([kept.index(axis) for axis in order])
        return data[(*(slice(None) if axis in self.axes else np.newaxis for axis in axes), ...)]


RowStatistics: TypeAlias = "dict[type[Node], Labelled]"
"""Numbers of the rows of a softmax, by type of the nodes that ask for them."""

WholeRules: TypeAlias = "Mapping[type[Node], Callable[[State, Any], Labelled]]"
RowRules: TypeAlias = "Mapping[type[Rows], Callable[[State, Any, int, int], RowReader]]"


@dataclass(frozen=True)
class Rules:
    """How nodes are computed, by their types.

    ``whole``: values outside of the score space; ``pointwise``: those types whose rule asks for all operands
    of a node as whole values; ``rows``: the reader of a source of rows for a batch row and a key/value head.
    """

    whole: WholeRules
    pointwise: frozenset[type[Node]]
    rows: RowRules


@dataclass(frozen=True)
class State:
    """One run: the call, the floating dtype of all arithmetic, and what is computed so far.

    ``rules``: passed down, so that a rule asks for the value of any node and knows no other rule.
    ``values``: whole values by node; ``statistics``: those of rows by softmax node; ``boundaries``:
    first row of each batch row, and the end, by packed node; ``decided``: answers of :meth:`once`;
    ``score_dtype``: what products of queries and keys are rounded to, None: to nothing;
    ``most_tasks``: blocks of queries that are computed at most, None for all; ``left_out``: batch row,
    key/value head, first query and end of those that are not.
    """

    call: Call
    real: np.dtype[Any]
    rules: Rules
    values: dict[int, Labelled] = field(default_factory=dict)
    statistics: dict[int, RowStatistics] = field(default_factory=dict)
    boundaries: dict[int, Array] = field(default_factory=dict)
    scratch: Scratch = field(default_factory=Scratch)
    decided: dict[tuple[object, int], Any] = field(default_factory=dict)
    most_tasks: int | None = None
    score_dtype: np.dtype[Any] | None = None
    left_out: set[tuple[int, int, int, int]] = field(default_factory=set)

    def once(self, rule: Callable[[State, Any], Found], node: Node) -> Found:
        """``rule(self, node)``, asked once a run: for what holds in all blocks."""
        key = (rule, id(node))
        if key not in self.decided:
            self.decided[key] = rule(self, node)
        found: Found = self.decided[key]
        return found

    def whole(self, node: Node) -> Labelled:
        """The value of ``node`` with all its axes; computed once a run.

        Raises:
            GraphError: there is no rule for its type.
        """
        values = self.values
        open_ = [node]
        while id(node) not in values:  # no recursion: chains may be long
            each = open_[-1]
            read = each.operands() if type(each) in self.rules.pointwise else ()
            missing = [operand for operand in read if id(operand) not in values]
            if missing:
                open_ += reversed(missing)
                continue
            open_.pop()
            if id(each) not in values:
                rule = self.rules.whole.get(type(each))
                if rule is None:
                    raise no_rule(each, "outside of scores")
                values[id(each)] = rule(self, each)
        return values[id(node)]

    def reader(self, rows: Rows, b: int, k: int, *, piece: int = 0) -> RowReader:
        """The reader of ``rows`` for batch row ``b`` and key/value head ``k``.

        Raises:
            GraphError: there is no rule for their type.
        """
        rule = self.rules.rows.get(type(rows))
        if rule is None:
            raise no_rule(rows, "as a source of rows")
        found = rule(self, rows, b, k)
        found.piece = piece
        return found

    @cached_property
    def env(self) -> dict[str, Any]:
        """Sizes, parameters and the arrays that scalar loads read."""
        return {**self.call.env(), **self.call.arrays}

    @cached_property
    def uses(self) -> Counter[int]:
        """How often the nodes of the graph are operands of others."""
        return Counter(id(operand) for node in self.call.graph.nodes for operand in node.operands())

    @cached_property
    def heads_per_group(self) -> int:
        """Query heads that share a key/value head."""
        extents = self.call.extents
        return extents.get("N", 1) // extents.get("K", extents.get("N", 1))

    def heads_of(self, k: int) -> slice:
        """The query heads of key/value head ``k``."""
        group = self.heads_per_group
        return slice(k * group, (k + 1) * group)


def stored_dtype(state: State, name: str) -> Any:
    """The dtype of this name, or of the argument of this name."""
    return DTYPES[name] if name in DTYPES else state.call.arrays[name].dtype


def rounded(values: Array, dtype: np.dtype[Any]) -> Array:
    """``values`` rounded to ``dtype`` once, half to even."""
    if values.dtype == np.float64 and dtype.name == "bfloat16":
        # The library goes through float32 and would round twice. Rounding that first step to odd
        # (truncate, then set the last bit if anything was lost) makes the second one exact.
        with np.errstate(all="ignore"):
            narrow = values.astype(np.float32)
        bits = narrow.view(np.uint32)
        inexact = narrow != values
        bits -= np.abs(narrow) > np.abs(values)
        bits |= inexact & ~np.isnan(values)
        values = narrow
    with np.errstate(all="ignore"):
        return values.astype(dtype, copy=False)


def no_rule(node: Node, where: str) -> GraphError:
    """The error for a node type that a table lacks."""
    return GraphError(f"the reference has no rule for {type(node).__name__} {where}", node.where)


def as_real(array: Array, real: np.dtype[Any]) -> Array:
    """``array`` in the floating dtype of the run, contiguous."""
    # Contiguous first: a cast of bfloat16 element by element takes several times as long.
    return np.ascontiguousarray(array).astype(real, copy=False)


def part_of(data: Array, picks: Sequence[Any]) -> Array:
    """What ``picks`` choose of each dimension; one of extent 1 stands for all."""
    chosen = zip(picks, data.shape, strict=True)
    part: Array = data[tuple(_of_one(pick) if extent == 1 else pick for pick, extent in chosen)]
    return part


def _of_one(pick: Any) -> Any:
    return 0 if isinstance(pick, int) else slice(None)
