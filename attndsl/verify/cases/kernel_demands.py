"""What some of the further cases of a wanted kernel have, so that each place of a kernel decides something.

Mistakes that few other cases show: in rows without keys whose keys are split, in the merge of parts whose
scores are far below 0, in what a vector core does between two steps of a merge, on cores without rows, and
between groups of sorted blocks. Cases of no kernel are asked for none of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from attndsl.base.facts import kept
from attndsl.expr import Symbol
from attndsl.graph.nodes import IndexCondition, Replace, TopK, WindowSum
from attndsl.spec.binding.call import Call
from attndsl.tile.instructions.sort import GROUP as SORTED_TOGETHER
from attndsl.tile.instructions.units import block_elements
from attndsl.verify.cases.deciding_values import values_for
from attndsl.verify.cases.features import key_counts, work_of
from attndsl.verify.space.space import CaseSpace
from attndsl.verify.space.values import FILL, GAPS, GROUP, MASK, RAMP, SUNK, fill_of

_GROUPS = 3
"""Groups of sorted blocks of one tile: one more than a merge of pairs has."""
_SEVERAL_ROWS = 3
"""Batch rows, so that strides between them count, and one of them may be without keys."""
_ROWS_OF_STEP = block_elements("float32")
"""Rows of a vector step of few rows: their statistics fill a block."""


@dataclass(frozen=True)
class Demand:
    """``pins``: draws values of variables with which calls tend to meet it; ``holds``: whether one does."""

    name: str
    pins: Callable[[np.random.Generator], Mapping[str, Any]]
    holds: Callable[[Call], bool]


@kept
def demands(space: CaseSpace) -> tuple[Demand, ...]:
    """Those of an operator, in the order in which cases are asked for them."""
    split = space.schedule.split_kv != 1
    return (*(_of_split_keys(space) if split else ()), _one_row(space), *_sorted_blocks(space))


def _of_split_keys(space: CaseSpace) -> Iterator[Demand]:
    def is_split(call: Call) -> bool:
        return work_of(space, call).split

    def has_empty_row(call: Call) -> bool:
        empty = key_counts(call).sum(axis=0) == 0
        return is_split(call) and (not lengths or bool(empty.any() and not empty.all()))

    lengths = [
        fill_of(spec.name) for spec in space.integers if space.measures.get(spec.name) in ("T", "U", "G")
    ]
    nodes = (node for root in space.operator.roots for node in root.walk())
    masked = any(
        isinstance(node, Replace) and not isinstance(node.condition, IndexCondition) for node in nodes
    )
    hidden = {**dict.fromkeys(lengths, GAPS), **({MASK: "rows"} if masked else {})}
    if hidden:
        yield Demand(
            "rows without keys whose keys are split",
            lambda rng: {FILL: RAMP, **_several_rows(space, rng), **hidden},
            has_empty_row,
        )
    yield Demand("parts of scores far below 0", lambda rng: {FILL: SUNK}, is_split)
    yield Demand(
        "several steps of a merge on a core",
        lambda rng: {FILL: RAMP, **_many_results(space, rng)},
        lambda call: is_split(call) and _merge_steps(call) > _vector_cores(space),
    )


def _one_row(space: CaseSpace) -> Demand:
    """Tasks of one row, of which the second vector core of a block has none, in several batch rows."""
    queries = space.operator.axis_extents.get("Q")
    single = (
        {queries.name: 1}
        if isinstance(queries, Symbol) and 1 in space.variables.get(queries.name, ())
        else {}
    )

    def holds(call: Call) -> bool:
        sizes = call.extents
        return sizes.get("N", 1) == sizes.get("K", 1) and (not single or sizes.get("Q", 1) == 1)

    group = {GROUP: 1} if GROUP in space.variables else {}
    return Demand("tasks of one row", lambda rng: {**_several_rows(space, rng), **group, **single}, holds)


def _sorted_blocks(space: CaseSpace) -> Iterator[Demand]:
    """Tiles of keys that end several groups of blocks that are selected from."""
    nodes = [node for root in space.operator.roots for node in root.walk()]
    steps = [node.step for node in nodes if isinstance(node, WindowSum)]
    if not steps or not any(isinstance(node, TopK) for node in nodes):
        return
    most = space.edges[0][0] // (_GROUPS * SORTED_TOGETHER)
    small = (steps[0] >= 1) & (steps[0] <= most)
    yield Demand(
        "several groups of sorted blocks",
        lambda rng: values_for(space, small, rng, holds=True) or {},
        lambda call: bool(small.evaluate(call.env())),
    )


def _several_rows(space: CaseSpace, rng: np.random.Generator) -> dict[str, Any]:
    return _at_least(space, "B", _SEVERAL_ROWS, rng)


def _many_results(space: CaseSpace, rng: np.random.Generator) -> dict[str, Any]:
    """Many positions; where each batch row has one, many heads in many batch rows."""
    cores = _vector_cores(space)
    if found := _at_least(space, "Q", cores, rng) or _at_least(space, "S", cores, rng):
        return found
    heads = [each for each in space.variables.get(GROUP, ()) if each >= cores]
    many = {GROUP: heads[int(rng.integers(len(heads)))]} if heads else {}
    return {**_at_least(space, "B", _SEVERAL_ROWS, rng), **many}


def _at_least(space: CaseSpace, role: str, least: int, rng: np.random.Generator) -> dict[str, Any]:
    """A value of the size of an axis, where it is a variable that may be so large."""
    extent = space.operator.axis_extents.get(role)
    legal = space.variables.get(extent.name, ()) if isinstance(extent, Symbol) else ()
    sizes = [each for each in legal if each >= least]
    return {str(extent): sizes[int(rng.integers(len(sizes)))]} if sizes else {}


def _vector_cores(space: CaseSpace) -> int:
    device = space.operator.device
    return device.aic * device.architecture.aiv_per_aic


def _merge_steps(call: Call) -> int:
    """Vector steps that the merge of all rows takes, heads of a token at a time."""
    sizes = call.extents
    tokens = sizes["S"] if "S" in sizes else sizes.get("B", 1) * sizes.get("Q", 1)
    return int(tokens * -(-sizes.get("N", 1) // _ROWS_OF_STEP))
