"""What cases of prompts are asked for.

Of a kernel: maxima that grow along the key tiles of a row, also of a single row, and tasks of several heads
and positions whose keys are split. Of any case: as many long tasks as there are cores."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from attndsl.base.facts import kept
from attndsl.expr import Compare, Const, Expr, Logic
from attndsl.expr.argument_facts import longest_of
from attndsl.graph.nodes import TopK
from attndsl.lowering.match.schedule_options import MANY_ROWS
from attndsl.spec.binding.call import Call
from attndsl.verify.cases.demand import (
    GENTLE,
    ROWS_OF_STEP,
    USUAL_HEAD_SIZE,
    Demand,
    has_one_position,
)
from attndsl.verify.cases.features import query_counts, work_of
from attndsl.verify.cases.situations import Situation
from attndsl.verify.cases.wanted_kernel import beyond_a_tile, own_pages
from attndsl.verify.space.space import CaseSpace
from attndsl.verify.space.values import (
    ANY,
    DEEP,
    FILL,
    GROUP,
    MASK,
    RAMP,
    ROOMY,
    SHORT_ENDS,
    SLOPE,
    SPIKED,
    UNEVEN,
    WORKLOAD,
    fill_of,
    longest_keys_of,
)

_GROWING_TILES, _GROWING_HEADS = 3, 3
"""Key tiles of a row whose sums are rescaled again, so that leaving it out is seen; heads of long rows that
have a task for more than half of the cores, so that their keys are not split."""
_ODD = 2 * ROWS_OF_STEP - 7
"""Positions and keys beyond whole bands and tiles: halves differ, and neither ends with a step."""


@kept
def of_prompts(space: CaseSpace) -> tuple[Demand, ...]:
    """Those of an operator whose batch rows have several positions and that selects no blocks of keys."""
    if has_one_position(space) or any(isinstance(node, TopK) for node in space.nodes):
        return ()
    return (
        _growing(space),
        *_halves(space),
        *_parts_of_heads(space),
        *_growing_alone(space),
        *_short_beside_long(space),
    )


@dataclass(frozen=True)
class _Prompts:
    """Batch rows of equal lengths. ``heads``: of keys; ``group``: query heads of each."""

    batch: int
    heads: int
    positions: int
    keys: int
    group: int = 1

    def values(self, space: CaseSpace) -> dict[str, int | str]:
        """The variables of a space that make them; those that contradict others are left out by who asks."""
        found: dict[str, Any] = {GROUP: self.group, **self._pages(space)}
        for role, size in (("Q", self.positions), ("T", self.keys)):
            if name := space.variable_of(role):
                found.setdefault(name, size)  # rows may have as many keys as positions
        for spec in space.integers:
            measure, name = space.measures.get(spec.name), longest_of(spec.name).name
            if measure in ("Q", "T"):
                found |= {name: self.positions if measure == "Q" else self.keys, fill_of(spec.name): "full"}
                found |= {longest_keys_of(spec.name): self.keys}
        found |= _reaching(space, found, self.keys)
        for role, size in (("B", self.batch), ("K", self.heads), ("N", self.heads * self.group)):
            extent = space.operator.axis_extents.get(role)
            behind = space.repairs(extent.symbols()) if extent is not None else ()
            found |= dict.fromkeys(behind[:1], size)
        return {name: value for name, value in found.items() if name in space.variables}

    def _pages(self, space: CaseSpace) -> dict[str, Any]:
        """Pages of their own for the keys, with as many others where tensors may be so large. Where even the
        fewest are too many no call is found."""
        every = [own_pages(space, self.batch, shares * self.keys) for shares in (2, 1)]
        sizes = [math.prod((*each.values(), self.heads, USUAL_HEAD_SIZE)) for each in every]
        fitting = [
            each for each, size in zip(every, sizes, strict=True) if each and size <= ROOMY * self.batch
        ]
        return (fitting or every)[0]


def _growing(space: CaseSpace) -> Demand:
    """Maxima that grow by more from tile to tile than sums in the workspace go without being rescaled for, in
    rows of several tiles that one core sees: of long rows, or of many heads in calls of one position."""
    tile, cores = space.edges[0][0], space.operator.device.aic
    rows = (_GROWING_TILES - 1) * tile + tile // 8  # as few as masks of blocks may have
    long = _Prompts(batch=1, heads=_GROWING_HEADS, positions=rows, keys=rows)
    single = _Prompts(batch=1, heads=cores // 2 + 1, positions=1, keys=rows)

    def holds(call: Call) -> bool:
        work = work_of(space, call)
        return work.tiles >= _GROWING_TILES and not work.split

    def sizes(level: int) -> Mapping[str, Any]:
        return {**lifted, **beyond_a_tile(space), **(single if level else long).values(space), **shown}

    lifted = unlimited(space, rows)
    shown = {MASK: "none"} if MASK in space.variables else {}
    name = "maxima that grow along the tiles of a row"
    pins = {FILL: RAMP, SLOPE: SPIKED}
    return Demand(name, lambda rng: pins, holds, ANY, whole=True, roomy=True, beside=sizes)


def _growing_alone(space: CaseSpace) -> Iterator[Demand]:
    """Maxima that grow in tasks of one row, where the number of keys does not depend on that of positions.

    One vector core has a row to rescale, the other one none.
    """
    tile, cores = space.edges[0][0], space.operator.device.aic
    single = _Prompts(
        batch=1, heads=cores // 2 + 1, positions=1, keys=(_GROWING_TILES - 1) * tile + tile // 8
    )

    def holds(call: Call) -> bool:
        work, sizes = work_of(space, call), call.extents
        alone = sizes.get("N", 1) == sizes.get("K", 1) and int(query_counts(call).max(initial=0)) == 1
        return alone and work.tiles >= _GROWING_TILES and not work.split

    def sizes(level: int) -> Mapping[str, Any]:
        return {**unlimited(space, single.keys), **single.values(space), **shown}

    shown = {MASK: "none"} if MASK in space.variables else {}
    if _has_keys(space):
        pins = {FILL: RAMP, SLOPE: SPIKED}
        name, asks = "a single row whose maxima grow", partial(_pinned, pins)
        yield Demand(name, asks, holds, ANY, whole=True, roomy=True, beside=sizes)


def _parts_of_heads(space: CaseSpace) -> Iterator[Demand]:
    """Tasks of several heads and several positions whose keys are split: rows of parts, and their statistics,
    lie apart by heads and by positions, and steps end within a position. Of several key/value heads, unless
    rows have as many positions as keys, which are many tasks."""
    tile = space.edges[0][0]
    if GROUP not in space.variables or space.schedule.split_kv == 1:
        return
    few = _Prompts(batch=1, heads=2, group=3, positions=ROWS_OF_STEP + 3, keys=2 * tile + tile // 8 + 1)
    tied = _Prompts(batch=1, heads=1, group=2, positions=tile + 1, keys=tile + 1)
    several = _has_keys(space)

    def holds(call: Call) -> bool:
        sizes = call.extents
        heads, positions = sizes.get("K", 1), int(query_counts(call).max(initial=0))
        of_several = sizes.get("N", 1) > heads >= (2 if several else 1)
        return work_of(space, call).split and of_several and positions > 1

    def sizes(level: int) -> Mapping[str, Any]:
        return {**unlimited(space, few.keys), **(few if several else tied).values(space)}

    name = "several heads and positions of split keys"
    pins = {FILL: RAMP, SLOPE: -GENTLE}
    yield Demand(name, partial(_pinned, pins), holds, ANY, whole=True, roomy=True, beside=sizes)


def _short_beside_long(space: CaseSpace) -> Iterator[Demand]:
    """Batch rows of one position in front of one of several and behind it, each with a task for every core:
    in both orders of items, one vector core has no row of the next task while it finishes those of the last.
    """
    lengths = [spec.name for spec in space.integers if space.measures.get(spec.name) == "Q"]
    cores, positions = space.operator.device.aic, 2 * ROWS_OF_STEP + 3
    prompts = _Prompts(batch=3, heads=cores, positions=positions, keys=positions)

    def holds(call: Call) -> bool:
        counts, heads = query_counts(call), call.extents.get("K", 1)
        ends = counts.size > 2 and counts[0] == counts[-1] == 1
        return bool(ends and counts[1:-1].min() > ROWS_OF_STEP) and heads % cores == 0

    def sizes(level: int) -> Mapping[str, Any]:
        short = dict.fromkeys(map(fill_of, lengths), SHORT_ENDS)
        return {**unlimited(space, positions), **prompts.values(space), **short}

    if lengths:
        pins = {FILL: RAMP, SLOPE: 1.0}
        name = "a batch row of one position beside longer ones"
        yield Demand(name, partial(_pinned, pins), holds, ANY, whole=True, roomy=True, beside=sizes)


def _halves(space: CaseSpace) -> Iterator[Demand]:
    """A task for each core of more rows than a step works on, over several tiles: tasks of two halves, of
    which the second one is shorter, and each of which has rows in all steps of a vector core. Under causal
    masks these are tasks from two rounds of them on, and rows without more keys than positions have few
    tiles; else less work is enough, which is asked for first.

    In the second case some rows grow by so much that their sums are rescaled, and others fall: steps of rows
    that are done again with new maxima stand beside steps that are not, and beside rows that need none.
    """
    cores, tile = space.operator.device.aic, space.edges[0][0]
    of_task = 2 * (MANY_ROWS - 3 * ROWS_OF_STEP - 1) - 1
    rows = MANY_ROWS + 2 * of_task - 1  # the first positions go to a small task
    even = _Prompts(batch=1, heads=cores, positions=of_task, keys=2 * tile + tile // 8 + 1)
    causal = _Prompts(batch=1, heads=cores, positions=rows, keys=rows)
    has_keys, holds = _has_keys(space), partial(_is_many, cores)

    def sizes(level: int) -> Mapping[str, Any]:
        return {**lifted, **shown, **(even if has_keys and not level else causal).values(space)}

    lifted = unlimited(space, rows)
    shown = {MASK: "none"} if MASK in space.variables else {}
    for name, pins in (
        ("a task of many rows for each core", {FILL: RAMP}),
        ("rows of many that grow beside others that fall", {FILL: RAMP, SLOPE: UNEVEN}),
    ):
        yield Demand(name, partial(_pinned, pins), holds, ANY, roomy=True, beside=sizes, halves=True)


def _pinned(pins: Mapping[str, Any], rng: np.random.Generator) -> Mapping[str, Any]:
    return pins


def tasks_of_halves(space: CaseSpace) -> Iterator[Situation]:
    """Prompts of which each core has a task of more rows than a step works on, which some kernels cut in two
    halves."""
    if not of_prompts(space):
        return
    positions, tile = MANY_ROWS + _ODD, space.edges[0][0]
    keys = tile + tile // 8 + 1 if _has_keys(space) else positions
    prompts = _Prompts(batch=1, heads=space.operator.device.aic, positions=positions, keys=keys)
    pins = {**unlimited(space, max(positions, keys)), **prompts.values(space), WORKLOAD: ANY}
    name = "a task of many rows for each core"
    holds = partial(_is_many, space.operator.device.aic)
    yield Situation(name, partial(_pinned, pins), holds, first=True, workload=DEEP)


def _is_many(cores: int, call: Call) -> bool:
    """Whether there is a task of many rows for each core."""
    sizes = call.extents
    return sizes.get("B", 1) * sizes.get("K", 1) >= cores and sizes.get("Q", 1) > MANY_ROWS


def _has_keys(space: CaseSpace) -> bool:
    """Whether rows have as many keys as they like, whatever their positions."""
    counted = any(space.measures.get(spec.name) == "T" for spec in space.integers)
    return counted or space.variable_of("T") not in (None, space.variable_of("Q"))


def unlimited(space: CaseSpace, rows: int) -> dict[str, Any]:
    """Choices without which a call may not have so many queries or keys, and that decide about no kernel:
    where a rule limits lengths to a smaller number by a choice, another one."""
    own = space.operator.specialization_parameters
    free = {spec.name for spec in space.operator.params if spec.choices and spec.name not in own}
    counted = {spec.name for spec in space.integers if space.measures.get(spec.name) in ("Q", "T")}
    found: dict[str, Any] = {}
    for rule in space.operator.constraints:
        asked = free & rule.when.symbols() if rule.when is not None else set()
        if asked and counted & rule.tensors() and _limit(rule.condition, rows):
            for name in sorted(asked - found.keys()):
                other = [
                    each for each in space.variables.get(name, ()) if not _may_hold(rule.when, name, each)
                ]
                found |= {name: other[0]} if other else {}
    return found


def _limit(condition: Expr, rows: int) -> bool:
    """Whether a condition holds something below a number that is less than so many rows."""
    bound = condition.right if isinstance(condition, Compare) and condition.op == "<=" else None
    return isinstance(bound, Const) and isinstance(bound.value, int) and bound.value < rows


def _may_hold(condition: Expr | None, name: str, value: Any) -> bool:
    """Whether a condition may hold with a value of a choice, whatever else is chosen."""
    if isinstance(condition, Logic) and condition.op == "and":
        return all(_may_hold(each, name, value) for each in condition.children())
    if condition is None or condition.symbols() != {name}:
        return True
    return bool(condition.evaluate({name: value}))


def _reaching(space: CaseSpace, found: Mapping[str, Any], keys: int) -> dict[str, int]:
    """The least value of the last size that keys depend on which gives a row so many, as of a block table."""
    extent = space.operator.axis_extents.get("T")
    free = sorted(extent.symbols() - found.keys()) if extent is not None else []
    if extent is None or len(free) != 1:
        return {}
    legal = space.variables.get(free[0], ())
    enough = [each for each in legal if extent.evaluate({**found, free[0]: each}) >= keys]
    return {free[0]: min(enough)} if enough else {}
