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
from attndsl.graph.nodes import IndexCondition, Node, Replace, TopK, WindowSum
from attndsl.spec.binding.call import Call
from attndsl.tile.instructions.sort import GROUP as SORTED_TOGETHER
from attndsl.tile.instructions.units import block_elements, repeat_elements
from attndsl.verify.cases.deciding_values import values_for
from attndsl.verify.cases.features import key_counts, work_of
from attndsl.verify.cases.wanted_kernel import own_pages
from attndsl.verify.space.space import CaseSpace
from attndsl.verify.space.values import FEW, FILL, GAPS, GROUP, MASK, RAMP, SLOPE, SUNK, fill_of

_GROUPS = 3
"""Groups of sorted blocks of one tile: one more than a merge of pairs has."""
_SEVERAL_ROWS = 3
"""Batch rows, so that strides between them count, and one of them may be without keys."""
_LANES, _ROWS_OF_STEP = repeat_elements("float32"), block_elements("float32")
"""Lanes of a repeat; rows of a vector step of few rows, whose statistics fill a block."""


@dataclass(frozen=True)
class Demand:
    """``pins``: draws values of variables with which calls tend to meet it; ``holds``: whether one does;
    ``workload``: what its cases are about; ``whole``: whether rows have all channels of the kernel, so that
    its last lanes count."""

    name: str
    pins: Callable[[np.random.Generator], Mapping[str, Any]]
    holds: Callable[[Call], bool]
    workload: str = FEW
    whole: bool = False

    def workload_of(self, level: int) -> str:
        """What is asked for first, and then: where rows are as many as keys, long ones make no few tasks."""
        return self.workload.replace("long", "several") if level else self.workload


@kept
def demands(space: CaseSpace) -> tuple[Demand, ...]:
    """Those of an operator, in the order in which cases are asked for them."""
    selects = any(isinstance(node, TopK) for node in _nodes(space))  # of all keys of a row
    split = space.schedule.split_kv != 1 and not selects
    of_parts = _of_split_keys(space) if split else _sorted_blocks(space) if selects else ()
    return (*of_parts, _one_row(space), _last_row(space))


def _nodes(space: CaseSpace) -> Iterator[Node]:
    return (node for root in space.operator.roots for node in root.walk())


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
    yield Demand(
        "parts of scores far below 0",
        lambda rng: {
            FILL: SUNK,
            SLOPE: 1.0,
            **_short_last_tile(space, rng),
            **own_pages(space, 1, space.edges[0][0]),
        },
        is_split,
        whole=True,
    )
    yield Demand(
        "several steps of a merge on a core",
        lambda rng: {
            FILL: RAMP,
            SLOPE: -1.0,
            **_many_results(space, rng),
            **own_pages(space, 1, space.edges[0][0]),
        },
        lambda call: is_split(call) and _merge_steps(call) > _vector_cores(space),
        whole=True,
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


def _last_row(space: CaseSpace) -> Demand:
    """Cores that get tasks of one row after tasks of many: the second vector core has none left then, but
    what it has begun is to be finished."""
    most = space.schedule.max_rows
    group = {GROUP: 1} if GROUP in space.variables else {}

    def pins(rng: np.random.Generator) -> Mapping[str, Any]:
        queries = _size(space, "Q", lambda size: size > most and size % most == 1, rng)
        return {**queries, **group} if queries else dict.fromkeys(group, most + 1)

    def holds(call: Call) -> bool:
        sizes = call.extents
        heads = sizes.get("N", 1) // max(sizes.get("K", 1), 1)
        whole, rest = divmod(sizes.get("Q", 1) * heads, most)
        return whole > 0 and rest == 1

    return Demand("a task of one row after larger ones", pins, holds, "several many")


def _sorted_blocks(space: CaseSpace) -> Iterator[Demand]:
    """Tiles of keys that end several groups of blocks that are selected from."""
    steps = [node.step for node in _nodes(space) if isinstance(node, WindowSum)]
    if not steps:
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


def _short_last_tile(space: CaseSpace, rng: np.random.Generator) -> dict[str, Any]:
    """Keys of which the last tile has less than one repeat: lanes after them have no score."""
    tile = space.edges[0][0]
    return _size(space, "T", lambda size: size > tile and 0 < size % tile < _LANES, rng)


def _at_least(space: CaseSpace, role: str, least: int, rng: np.random.Generator) -> dict[str, Any]:
    return _size(space, role, lambda size: size >= least, rng)


def _size(
    space: CaseSpace, role: str, fits: Callable[[int], bool], rng: np.random.Generator
) -> dict[str, Any]:
    """A value of the size of an axis, where it is a variable that has one which fits."""
    extent = space.operator.axis_extents.get(role)
    legal = space.variables.get(extent.name, ()) if isinstance(extent, Symbol) else ()
    sizes = [each for each in legal if fits(each)]
    return {str(extent): sizes[int(rng.integers(len(sizes)))]} if sizes else {}


def _vector_cores(space: CaseSpace) -> int:
    device = space.operator.device
    return device.aic * device.architecture.aiv_per_aic


def _merge_steps(call: Call) -> int:
    """Vector steps that the merge of all rows takes, heads of a token at a time."""
    sizes = call.extents
    tokens = sizes["S"] if "S" in sizes else sizes.get("B", 1) * sizes.get("Q", 1)
    return int(tokens * -(-sizes.get("N", 1) // _ROWS_OF_STEP))
