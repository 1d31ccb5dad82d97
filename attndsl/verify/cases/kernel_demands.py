"""What some of the further cases of a wanted kernel have, so that each place of a kernel decides something.

Mistakes that few other cases show: in rows without keys whose keys are split, in the merge of parts whose
scores are far below 0, in what a vector core does between two steps of a merge, on cores without rows, and
between groups of sorted blocks. Cases of no kernel are asked for none of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from attndsl.base.facts import kept
from attndsl.graph.nodes import TopK
from attndsl.lowering.match.schedule_options import MANY_ROWS
from attndsl.spec.binding.call import Call
from attndsl.verify.cases.demand import (
    FEW_POSITIONS,
    ROWS_OF_STEP,
    SEVERAL_ROWS,
    USUAL_HEAD_SIZE,
    Demand,
    heads_of_one_group,
    several_rows,
    size_of,
)
from attndsl.verify.cases.features import key_counts, query_counts, widest_pitch, work_of
from attndsl.verify.cases.selection_demands import of_sorted_blocks
from attndsl.verify.cases.split_demands import of_split_keys
from attndsl.verify.space.solve import solve
from attndsl.verify.space.space import CaseSpace
from attndsl.verify.space.values import ANY, FILL, GROUP, RAMP, SLOPE, WORKLOAD, fill_of

_WALKS = 8
"""Of a search for any call that has what a demand asks for."""


@kept
def demands(space: CaseSpace) -> tuple[Demand, ...]:
    """Those of an operator, in the order in which cases are asked for them."""
    selects = any(isinstance(node, TopK) for node in space.nodes)  # of all keys of a row
    split = space.schedule.split_kv != 1 and not selects
    of_parts = of_split_keys(space) if split else of_sorted_blocks(space) if selects else ()
    every = (*_many_heads(space), _one_row(space), _last_row(space), *_heads_apart(space), _one_item(space))
    every = (*every, *_keys_apart(space))
    return (*of_parts, *every)


def _one_row(space: CaseSpace) -> Demand:
    """Tasks of one row, of which the second vector core of a block has none, in several batch rows."""
    queries = space.variable_of("Q")
    single = {queries: 1} if queries and 1 in space.variables[queries] else {}

    def holds(call: Call) -> bool:
        sizes = call.extents
        return sizes.get("N", 1) == sizes.get("K", 1) and (not single or sizes.get("Q", 1) == 1)

    group = {GROUP: 1} if GROUP in space.variables else {}
    return Demand("tasks of one row", lambda rng: {**several_rows(space, rng), **group, **single}, holds)


def _one_item(space: CaseSpace) -> Demand:
    """A call of one item: what a core does only between two of them is not done at all."""
    tile = min(space.tiles)

    def pins(rng: np.random.Generator) -> Mapping[str, Any]:
        one = heads_of_one_group(space, 1)
        for role in "BKN":
            one |= size_of(space, role, lambda size: size == 1, rng)
        few = size_of(space, "Q", lambda size: 1 < size <= tile, rng)
        return {FILL: RAMP, SLOPE: 1.0, **one, **few}

    def holds(call: Call) -> bool:
        work = work_of(space, call)
        return work.tasks == 1 and work.tiles == 1

    return Demand("a call of one item", pins, holds, ANY)


def _many_heads(space: CaseSpace) -> Iterator[Demand]:
    """More query heads a key/value head than a task has rows: a task of all its rows, and one of the rest."""
    most = space.schedule.max_rows
    if "N" not in space.operator.axis_extents or GROUP not in space.variables:
        return
    heads = MANY_ROWS + ROWS_OF_STEP  # of any schedule

    def pins(rng: np.random.Generator) -> Mapping[str, Any]:
        few = size_of(space, "Q", lambda size: 0 < size <= FEW_POSITIONS, rng)
        one = size_of(space, "B", lambda size: size == 1, rng) | size_of(
            space, "K", lambda size: size == 1, rng
        )
        return {**few, **one, **heads_of_one_group(space, heads)}

    def holds(call: Call) -> bool:
        group = call.extents.get("N", 1) // max(call.extents.get("K", 1), 1)
        return group > MANY_ROWS and group % most != 0

    yield Demand("more heads than a task has rows", pins, holds, ANY)


def _heads_apart(space: CaseSpace) -> Iterator[Demand]:
    """Query heads of a position that are farther apart than one copy takes: so many positions lie between
    them, where a layout has heads first."""
    limit, queries = space.operator.device.architecture.max_nd2nz_pitch, space.variable_of("Q")
    if GROUP not in space.variables or not queries or not _has_heads_first(space, queries):
        return

    def pins(rng: np.random.Generator) -> Mapping[str, Any]:
        heads = [each for each in space.variables[GROUP] if 1 < each <= ROWS_OF_STEP]
        far = [each for each in space.variables[queries] if each * USUAL_HEAD_SIZE > limit]
        few = size_of(space, "B", lambda size: size <= SEVERAL_ROWS, rng)
        few |= size_of(space, "K", lambda size: size == 1, rng)
        return {FILL: RAMP, **few, queries: min(far, default=1), GROUP: min(heads, default=1)}

    def holds(call: Call) -> bool:
        heads = call.extents.get("N", 1) // max(call.extents.get("K", 1), 1)
        return heads > 1 and widest_pitch(call, "N", "D") > limit

    yield Demand("heads of a position farther apart than a copy", pins, holds, ANY, whole=True, roomy=True)


def _keys_apart(space: CaseSpace) -> Iterator[Demand]:
    """Keys just farther apart than one copy can express, with heads of the usual size, where a layout has all
    heads of a key before the next key."""
    limit = space.operator.device.architecture.max_nd2nz_pitch
    extents = space.operator.axis_extents
    many = [name for role in "KN" if role in extents for name in space.repairs(extents[role].symbols())[:1]]
    heads = dict.fromkeys(many, -(-limit // USUAL_HEAD_SIZE)) | {GROUP: 1}
    if GROUP not in space.variables or not _has_keys_first(space):
        return
    if solve(space, np.random.default_rng(0), {**heads, WORKLOAD: ANY}, walks=_WALKS) is None:
        return  # the contract has fewer heads

    def pins(rng: np.random.Generator) -> Mapping[str, Any]:
        few = size_of(space, "B", lambda size: size == 1, rng)
        few |= size_of(space, "Q", lambda size: 0 < size <= FEW_POSITIONS, rng)
        few |= size_of(space, "T", lambda size: 1 < size <= ROWS_OF_STEP, rng)
        counted = (spec.name for spec in space.integers if space.measures.get(spec.name) in ("Q", "T"))
        full = {fill_of(name): "full" for name in counted}
        return {FILL: RAMP, SLOPE: 1.0, **few, **full, **heads}

    def holds(call: Call) -> bool:
        is_just_wider = limit < widest_pitch(call, "TUR", "D") <= limit + ROWS_OF_STEP
        return is_just_wider and bool(query_counts(call).any() and key_counts(call).any())

    yield Demand("keys just farther apart than a copy", pins, holds, ANY, whole=True, roomy=True)


def _has_keys_first(space: CaseSpace) -> bool:
    """Whether some layout has all heads of a key, or of a row of a page, before the next one."""
    heads = space.operator.axis_extents.get("K")
    own = heads.symbols() if heads is not None else frozenset()
    return any(
        "D" in (steps := layout.strides())
        and any(own & steps[role].symbols() for role in "TUR" if role in steps)
        for spec in space.operator.tensors
        for layout in spec.layouts.values()
    )


def _has_heads_first(space: CaseSpace, queries: str) -> bool:
    """Whether some layout has all positions of a head before the next head."""
    return any(
        "D" in (steps := layout.strides()) and "N" in steps and queries in steps["N"].symbols()
        for spec in space.operator.tensors
        for layout in spec.layouts.values()
    )


def _last_row(space: CaseSpace) -> Demand:
    """Cores that get tasks of one row after tasks of many: the second vector core has none left then, but
    what it has begun is to be finished."""
    most, cores = space.schedule.max_rows, space.operator.device.aic
    group = {GROUP: 1} if GROUP in space.variables else {}
    # the tasks of one row come round to each core
    whole = next(each for each in range(2, cores + 2) if math.gcd(each + 1, cores) == 1)

    def pins(rng: np.random.Generator) -> Mapping[str, Any]:
        rows = whole * most + 1
        if queries := space.variable_of("Q"):
            return {queries: rows, **group}
        return {
            **heads_of_one_group(space, rows),
            **size_of(space, "B", lambda size: cores // 2 < size <= cores, rng),
        }

    def holds(call: Call) -> bool:
        sizes = call.extents
        heads = sizes.get("N", 1) // max(sizes.get("K", 1), 1)
        larger, rest = divmod(sizes.get("Q", 1) * heads, most)
        return rest == 1 and larger > 0 and math.gcd(larger + 1, cores) == 1

    return Demand("a task of one row after larger ones", pins, holds, "several many")
