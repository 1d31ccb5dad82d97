"""What some of the further cases of a wanted kernel have, so that each place of a kernel decides something.

Mistakes that few other cases show: in rows without keys whose keys are split, in the merge of parts whose
scores are far below 0, in what a vector core does between two steps of a merge, on cores without rows, and
between groups of sorted blocks. Cases of no kernel are asked for none of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attndsl.base.facts import kept
from attndsl.expr import Expr, Symbol
from attndsl.expr.argument_facts import longest_of
from attndsl.graph.nodes import (
    Elementwise,
    IndexCondition,
    Lookup,
    Replace,
    Rows,
    Scores,
    Selected,
    TopK,
    WindowSum,
)
from attndsl.lowering.match.schedule_options import MANY_ROWS
from attndsl.spec.binding.call import Call
from attndsl.tile.instructions.sort import GROUP as SORTED_TOGETHER
from attndsl.tile.instructions.units import block_elements, repeat_elements
from attndsl.verify.cases.deciding_values import values_for
from attndsl.verify.cases.features import key_counts, query_counts, work_of
from attndsl.verify.cases.wanted_kernel import own_pages
from attndsl.verify.space.argument_roles import integers_of
from attndsl.verify.space.space import CaseSpace
from attndsl.verify.space.values import ANY, FEW, FILL, GAPS, GROUP, MASK, RAMP, SLOPE, SUNK, fill_of

_RISING = 2
"""By how much two counts of a window differ whose weights stay the same for a while."""
_GROUPS = 3
"""Groups of sorted blocks of one tile: one more than a merge of pairs has."""
_STEEP = 8.0
"""The slope of scores of which the last ones shall be far larger than others of their tile."""
_SLOTS, _FEW_POSITIONS = 2, 3
"""Slots for results of a vector core; positions of a batch row where each is a task whose keys shall
be split, at most."""
_SEVERAL_ROWS = 3
"""Batch rows, so that strides between them count, and one of them may be without keys."""
_TILES_OF_EVEN_SPLIT, _PART_SAVED = 4, 10
"""Key tiles of a row that is split to even out the cores, at least; the part of the busiest core's work that
it must save, one in so many."""
_LANES, _ROWS_OF_STEP = repeat_elements("float32"), block_elements("float32")
"""Lanes of a repeat; rows of a vector step of few rows, whose statistics fill a block."""


@dataclass(frozen=True)
class Demand:
    """``pins``: draws values of variables with which calls tend to meet it; ``holds``: whether one does;
    ``workload``: what its cases are about; ``whole``: whether rows have all channels of the kernel, so that
    its last lanes count; ``roomy``: whether tensors may be larger than those of other cases."""

    name: str
    pins: Callable[[np.random.Generator], Mapping[str, Any]]
    holds: Callable[[Call], bool]
    workload: str = FEW
    whole: bool = False
    roomy: bool = False

    def workload_of(self, level: int) -> str:
        """What is asked for first, and then: where rows are as many as keys, long ones make no few tasks."""
        return self.workload.replace("long", "several") if level else self.workload


@kept
def demands(space: CaseSpace) -> tuple[Demand, ...]:
    """Those of an operator, in the order in which cases are asked for them."""
    selects = any(isinstance(node, TopK) for node in space.nodes)  # of all keys of a row
    split = space.schedule.split_kv != 1 and not selects
    of_parts = _of_split_keys(space) if split else _sorted_blocks(space) if selects else ()
    return (*of_parts, *_many_heads(space), _one_row(space), _last_row(space), _one_item(space))


def _of_split_keys(space: CaseSpace) -> Iterator[Demand]:
    def is_split(call: Call) -> bool:
        return _is_split(space, call)

    def has_empty_row(call: Call) -> bool:
        empty = (key_counts(call).sum(axis=0) == 0) & (query_counts(call) > 0)
        return is_split(call) and (not lengths or bool(empty.any() and not empty.all()))

    lengths = _fills_of_rows(space)
    rows = {MASK: "rows"} if _is_masked(space) else {}
    hidden = {**dict.fromkeys(lengths, GAPS), **rows}
    if hidden:
        yield Demand(
            "rows without keys whose keys are split",
            lambda rng: {
                FILL: RAMP,
                SLOPE: 1.0,
                **_few_positions(space, rng),
                **_several_rows(space, rng),
                **hidden,
            },
            has_empty_row,
        )
    yield Demand(
        "parts of scores far below 0",
        lambda rng: {
            FILL: SUNK,
            SLOPE: 1.0,
            **_few_positions(space, rng),
            **_short_last_tile(space, rng),
            **own_pages(space, 1, space.edges[0][0]),
        },
        is_split,
        whole=True,
    )
    if _one_position(space):
        yield _even_splits(space, lengths)
        return
    cores = _vector_cores(space) * (1 if _lists_of_positions(space) else _SLOTS)
    yield Demand(
        "several steps of a merge on a core",
        lambda rng: {
            FILL: RAMP,
            SLOPE: -1.0,
            **rows,  # a few of many: some kernels have no such call whose lengths have gaps, too
            **_many_results(space, rng),
            **_few_positions(space, rng),
            **own_pages(space, 1, space.edges[0][0]),
        },
        lambda call: is_split(call) and _merge_steps(call) > cores,
        whole=True,
    )


def _fills_of_rows(space: CaseSpace) -> tuple[str, ...]:
    """What fills integers that count the keys of a row, those that count its queries, too, among them."""
    rows = [node for node in space.nodes if isinstance(node, Rows)]
    counts = [each for node in rows for each in (node.length, getattr(node, "ends", None))]
    counted = {name for each in counts for name in integers_of(each)}
    names = (fill_of(spec.name) for spec in space.integers if spec.name in counted)
    return tuple(dict.fromkeys((*space.fills_of_key_counts, *names)))


def _is_masked(space: CaseSpace) -> bool:
    """Whether elements of a tensor may hide all keys of a row."""
    replaced = (each.condition for each in space.nodes if isinstance(each, Replace))
    if any(not isinstance(each, IndexCondition) for each in replaced):
        return True
    sums = (node for node in space.nodes if isinstance(node, Elementwise) and node.op == "add")
    added = (each for node in sums for each in node.inputs)
    alone = (each for each in added if not any(isinstance(node, Scores) for node in each.walk()))
    return any(isinstance(node, Lookup) and "T" in node.axes for each in alone for node in each.walk())


def _even_splits(space: CaseSpace, lengths: Sequence[str]) -> Demand:
    """More tasks than cores, whose keys are split to even them out: a core has several such items, and begins
    one while the results of another are stored; then each vector core takes several steps of the merge."""
    cores, tile = space.operator.device.aic, space.edges[0][0]

    def saves(tasks: int) -> bool:
        rounds, busiest = -(-tasks // cores), -(-2 * tasks // cores)
        return tasks > cores and busiest * _PART_SAVED <= 2 * rounds * (_PART_SAVED - 1)

    def pins(rng: np.random.Generator) -> Mapping[str, Any]:
        rows = _size(space, "B", saves, rng)
        long = [each for each in space.sizes_of("T") if each > (_TILES_OF_EVEN_SPLIT - 1) * tile]
        keys = _size(space, "T", lambda size: size == min(long), rng) if long else {}
        heads = [each for each in space.variables.get(GROUP, ()) if _LANES <= each <= space.schedule.max_rows]
        found = {FILL: RAMP, SLOPE: -1.0, **rows, **keys, **dict.fromkeys(lengths, "full")}
        found |= _size(space, "K", lambda size: size == 1, rng)
        found |= {GROUP: min(heads)} if heads else {}
        return found | own_pages(space, max(rows.values(), default=1), _TILES_OF_EVEN_SPLIT * tile)

    def holds(call: Call) -> bool:
        work = work_of(space, call)
        split = work.splits and saves(work.tasks) and work.tiles >= _TILES_OF_EVEN_SPLIT
        return split and _merge_steps(call) > _vector_cores(space)

    name = "several items of split keys on a core"
    return Demand(name, pins, holds, "several", whole=True, roomy=True)


def _is_split(space: CaseSpace, call: Call) -> bool:
    """Whether keys are split over cores. Where lists of blocks are those of positions, each is a task of its
    own, and its keys are as many as its list tells."""
    if not _lists_of_positions(space):
        return work_of(space, call).split
    sizes, most = call.extents, space.schedule.max_rows
    heads = -(-(sizes.get("N", 1) // max(sizes.get("K", 1), 1)) // most)
    tasks = sizes.get("B", 1) * sizes.get("K", 1) * sizes.get("Q", 1) * heads
    few = 0 < tasks <= space.operator.device.aic // 2
    return few and sizes.get("X", 1) > 1 and bool(key_counts(call).any())


def _lists_of_positions(space: CaseSpace) -> bool:
    lists = (node.blocks for node in space.nodes if isinstance(node, Selected))
    return any({"Q", "H", "S"} & set(getattr(each, "axes", ())) for each in lists)


def _few_positions(space: CaseSpace, rng: np.random.Generator) -> dict[str, Any]:
    """Where each position is a task: so few that their keys are split."""
    if not _lists_of_positions(space):
        return {}
    found = _size(space, "X", lambda size: size > 1, rng)
    for spec in space.integers:
        longest = longest_of(spec.name).name
        legal = [each for each in space.variables.get(longest, ()) if 0 < each <= _FEW_POSITIONS]
        if space.measures.get(spec.name) == "Q" and legal:
            found[longest] = legal[int(rng.integers(len(legal)))]
    return found | _size(space, "K", lambda size: size == 1, rng)


def _one_position(space: CaseSpace) -> bool:
    """Whether each batch row has one query position."""
    extents = space.operator.axis_extents
    return "S" not in extents and not isinstance(extents.get("Q"), Symbol)


def _one_row(space: CaseSpace) -> Demand:
    """Tasks of one row, of which the second vector core of a block has none, in several batch rows."""
    queries = space.variable_of("Q")
    single = {queries: 1} if queries and 1 in space.variables[queries] else {}

    def holds(call: Call) -> bool:
        sizes = call.extents
        return sizes.get("N", 1) == sizes.get("K", 1) and (not single or sizes.get("Q", 1) == 1)

    group = {GROUP: 1} if GROUP in space.variables else {}
    return Demand("tasks of one row", lambda rng: {**_several_rows(space, rng), **group, **single}, holds)


def _one_item(space: CaseSpace) -> Demand:
    """A call of one item: what a core does only between two of them is not done at all."""
    tile = min(space.tiles)

    def pins(rng: np.random.Generator) -> Mapping[str, Any]:
        one = {GROUP: 1} if GROUP in space.variables else {}
        for role in "BKN":
            one |= _size(space, role, lambda size: size == 1, rng)
        extents = space.operator.axis_extents
        one |= dict.fromkeys(space.repairs(extents["N"].symbols())[:1] if "N" in extents else (), 1)
        few = _size(space, "Q", lambda size: 1 < size <= tile, rng)
        return {FILL: RAMP, SLOPE: 1.0, **one, **few}

    def holds(call: Call) -> bool:
        work = work_of(space, call)
        return work.tasks == 1 and work.tiles == 1

    return Demand("a call of one item", pins, holds, ANY)


def _many_heads(space: CaseSpace) -> Iterator[Demand]:
    """More query heads a key/value head than a task has rows: a task of all its rows, and one of the rest."""
    most, extents = space.schedule.max_rows, space.operator.axis_extents
    if "N" not in extents or GROUP not in space.variables:
        return
    heads = MANY_ROWS + _ROWS_OF_STEP  # of any schedule

    def pins(rng: np.random.Generator) -> Mapping[str, Any]:
        few = _size(space, "Q", lambda size: 0 < size <= _FEW_POSITIONS, rng)
        one = _size(space, "B", lambda size: size == 1, rng) | _size(space, "K", lambda size: size == 1, rng)
        return {**few, **one, GROUP: heads, **dict.fromkeys(space.repairs(extents["N"].symbols())[:1], heads)}

    def holds(call: Call) -> bool:
        group = call.extents.get("N", 1) // max(call.extents.get("K", 1), 1)
        return group > MANY_ROWS and group % most != 0

    yield Demand("more heads than a task has rows", pins, holds, ANY)


def _last_row(space: CaseSpace) -> Demand:
    """Cores that get tasks of one row after tasks of many: the second vector core has none left then, but
    what it has begun is to be finished."""
    most, cores = space.schedule.max_rows, space.operator.device.aic
    group = {GROUP: 1} if GROUP in space.variables else {}
    # the tasks of one row come round to each core
    whole = next(each for each in range(2, cores + 2) if math.gcd(each + 1, cores) == 1)

    def pins(rng: np.random.Generator) -> Mapping[str, Any]:
        extents, rows = space.operator.axis_extents, whole * most + 1
        if queries := space.variable_of("Q"):
            return {queries: rows, **group}
        behind = space.repairs(extents["N"].symbols()) if "N" in extents else ()
        heads = dict.fromkeys((*behind[:1], *group), rows)
        return {**heads, **_size(space, "B", lambda size: cores // 2 < size <= cores, rng)}

    def holds(call: Call) -> bool:
        sizes = call.extents
        heads = sizes.get("N", 1) // max(sizes.get("K", 1), 1)
        larger, rest = divmod(sizes.get("Q", 1) * heads, most)
        return rest == 1 and larger > 0 and math.gcd(larger + 1, cores) == 1

    return Demand("a task of one row after larger ones", pins, holds, "several many")


def _sorted_blocks(space: CaseSpace) -> Iterator[Demand]:
    """Tiles of keys that end several groups of blocks that are selected from; the weights of a window rise,
    stay and fall, where two counts can be so far apart."""
    sums = [node for node in space.nodes if isinstance(node, WindowSum)]
    if not sums:
        return
    step, counts = sums[0].step, sums[0].counts
    small = (step >= 1) & (step <= space.edges[0][0] // (_GROUPS * SORTED_TOGETHER))
    stays = small & (counts[0] >= counts[-1] + _RISING)

    def pins(rng: np.random.Generator) -> Mapping[str, Any]:
        found = values_for(space, stays, rng, holds=True) or values_for(space, small, rng, holds=True)
        return {FILL: "normal", SLOPE: 1.0, MASK: "none", **(found or {})}

    yield Demand("several groups of sorted blocks", pins, lambda call: bool(small.evaluate(call.env())))
    yield _whole_tile(space, step)


def _whole_tile(space: CaseSpace, step: Expr) -> Demand:
    """Items of one whole tile that follow each other on a core, whose last block ends behind it and has most
    of its keys in it: the last keys have the largest scores, so that it is among many selected ones."""
    tile, counts = space.edges[0][0], space.sizes_of("X")
    crosses = (step > 1) & (2 * (tile % step) > step)
    counting = [fill_of(spec.name) for spec in space.integers]
    longest = [longest_of(spec.name).name for spec in space.integers if space.measures.get(spec.name) == "T"]

    def pins(rng: np.random.Generator) -> Mapping[str, Any]:
        found = {FILL: RAMP, SLOPE: _STEEP, MASK: "none", **dict.fromkeys(counting, "full")}
        found |= {name: tile for name in longest if tile in space.variables.get(name, ())}
        found |= _size(space, "X", lambda size: size == max(counts), rng)
        return found | (values_for(space, crosses, rng, holds=True) or {})

    def holds(call: Call) -> bool:
        work = work_of(space, call)
        whole = bool((key_counts(call) == tile).any())
        return work.several_a_core and work.tiles == 1 and whole and bool(crosses.evaluate(call.env()))

    return Demand("items of one whole tile whose last block ends behind it", pins, holds, "edge many")


def _several_rows(space: CaseSpace, rng: np.random.Generator) -> dict[str, Any]:
    most = space.operator.device.aic // 2  # so few that their keys are split
    return _size(space, "B", lambda size: _SEVERAL_ROWS <= size <= most, rng)


def _many_results(space: CaseSpace, rng: np.random.Generator) -> dict[str, Any]:
    """Many positions; where each batch row has one, many heads in many batch rows."""
    cores = _vector_cores(space)
    if not _lists_of_positions(space) and (
        found := _at_least(space, "Q", _SLOTS * cores, rng) or _at_least(space, "S", _SLOTS * cores, rng)
    ):
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
    """A value of the size of an axis, where it is a variable that has one which fits. Where it is that of
    queries and of keys, one of several tiles of keys and few tasks is taken if there is any."""
    name = space.variable_of(role)
    sizes = [each for each in space.variables[name] if fits(each)] if name else []
    if not name or not sizes:
        return {}
    if name == space.variable_of("Q") == space.variable_of("T"):
        most = space.operator.device.aic // 2 * space.schedule.max_rows
        sizes = [each for each in sizes if space.edges[0][0] < each <= most] or sizes
    return {name: sizes[int(rng.integers(len(sizes)))]}


def _vector_cores(space: CaseSpace) -> int:
    device = space.operator.device
    return device.aic * device.architecture.aiv_per_aic


def _merge_steps(call: Call) -> int:
    """Vector steps that the merge of all rows takes, heads of a token at a time."""
    sizes = call.extents
    tokens = sizes["S"] if "S" in sizes else sizes.get("B", 1) * sizes.get("Q", 1)
    return int(tokens * -(-sizes.get("N", 1) // _ROWS_OF_STEP))
