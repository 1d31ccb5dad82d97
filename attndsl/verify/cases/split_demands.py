"""What cases of kernels that split keys are asked for: rows without keys, parts, and merges of many steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from attndsl.expr.argument_facts import layout_of, longest_of
from attndsl.graph.nodes import Elementwise, IndexCondition, Lookup, Replace, Rows, Scores, Selected
from attndsl.spec.binding.call import Call
from attndsl.spec.contract.layout import Layout
from attndsl.tile.instructions.units import repeat_elements
from attndsl.verify.cases.demand import (
    FEW_POSITIONS,
    GENTLE,
    ROWS_OF_STEP,
    SEVERAL_ROWS,
    Demand,
    has_one_position,
    several_rows,
    size_of,
)
from attndsl.verify.cases.features import key_counts, query_counts, work_of
from attndsl.verify.cases.wanted_kernel import own_pages
from attndsl.verify.space.argument_roles import integers_of
from attndsl.verify.space.space import CaseSpace
from attndsl.verify.space.values import FILL, GAPS, GROUP, MASK, RAMP, SLOPE, SUNK, fill_of

_SLOTS = 2
"""Slots for results of a vector core."""
_TILES_OF_EVEN_SPLIT, _PART_SAVED = 4, 10
"""Key tiles of a row that is split to even out the cores, at least; the part of the busiest core's work that
it must save, one in so many."""
_LANES = repeat_elements("float32")
"""Lanes of a repeat."""


def of_split_keys(space: CaseSpace) -> Iterator[Demand]:
    """Those of an operator whose kernels split keys."""

    def is_split(call: Call) -> bool:
        return _is_split(space, call)

    def has_empty_row(call: Call) -> bool:
        empty = (key_counts(call).sum(axis=0) == 0) & (query_counts(call) > 0)
        return is_split(call) and (not lengths or bool(empty.any() and not empty.all()))

    lengths = _fills_of_rows(space)
    rows = {MASK: "rows"} if _is_masked(space) else {}
    shown = rows or {MASK: "none"}  # of conditions that elements hold
    hidden = {**dict.fromkeys(lengths, GAPS), **rows}
    if hidden:
        yield Demand(
            "rows without keys whose keys are split",
            lambda rng: {
                FILL: RAMP,
                SLOPE: 1.0,
                **_few_positions(space, rng),
                **several_rows(space, rng),
                **hidden,
            },
            has_empty_row,
        )
    yield Demand(
        "parts of scores far below 0",
        lambda rng: {
            FILL: SUNK,
            SLOPE: 1.0,
            **({} if rows else shown),
            **_few_positions(space, rng),
            **_short_last_tile(space, rng),
            **own_pages(space, 1, space.edges[0][0]),
        },
        is_split,
        whole=True,
        beside=partial(_by_head, space),
    )
    if has_one_position(space):
        yield _even_splits(space, lengths)
        return
    cores = _vector_cores(space) * (1 if _lists_of_positions(space) else _SLOTS)
    yield Demand(
        "several steps of a merge on a core",
        lambda rng: {
            FILL: RAMP,
            SLOPE: -GENTLE,
            **shown,  # a few of many: some kernels have no such call whose lengths have gaps, too
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
        rows = size_of(space, "B", saves, rng)
        long = [each for each in space.sizes_of("T") if each > (_TILES_OF_EVEN_SPLIT - 1) * tile]
        keys = size_of(space, "T", lambda size: size == min(long), rng) if long else {}
        heads = [each for each in space.variables.get(GROUP, ()) if _LANES <= each <= space.schedule.max_rows]
        found = {FILL: RAMP, SLOPE: -GENTLE, **rows, **keys, **dict.fromkeys(lengths, "full")}
        found |= size_of(space, "K", lambda size: size == 1, rng)
        found |= {GROUP: min(heads)} if heads else {}
        return found | own_pages(space, max(rows.values(), default=1), _TILES_OF_EVEN_SPLIT * tile)

    def holds(call: Call) -> bool:
        work = work_of(space, call)
        split = work.splits and saves(work.tasks) and work.tiles >= _TILES_OF_EVEN_SPLIT
        return split and _merge_steps(call) > _vector_cores(space)

    name = "several items of split keys on a core"
    by_head = partial(_by_head, space)
    return Demand(name, pins, holds, "several", whole=True, roomy=True, beside=by_head)


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
    found = size_of(space, "X", lambda size: size > 1, rng)
    for spec in space.integers:
        longest = longest_of(spec.name).name
        legal = [each for each in space.variables.get(longest, ()) if 0 < each <= FEW_POSITIONS]
        if space.measures.get(spec.name) == "Q" and legal:
            found[longest] = legal[int(rng.integers(len(legal)))]
    return found | size_of(space, "K", lambda size: size == 1, rng)


def _many_results(space: CaseSpace, rng: np.random.Generator) -> dict[str, Any]:
    """Many positions; where each batch row has one, many heads in many batch rows."""
    cores = _vector_cores(space)
    if not _lists_of_positions(space) and (
        found := _at_least(space, "Q", _SLOTS * cores, rng) or _at_least(space, "S", _SLOTS * cores, rng)
    ):
        return found
    heads = [each for each in space.variables.get(GROUP, ()) if each >= cores]
    many = {GROUP: heads[int(rng.integers(len(heads)))]} if heads else {}
    return {**_at_least(space, "B", SEVERAL_ROWS, rng), **many}


def _by_head(space: CaseSpace, level: int) -> dict[str, str]:
    """Layouts in which numbers differ by query head, of tensors whose other layouts have one for all: a merge
    loads those of its rows. They are asked for first."""
    found: dict[str, str] = {}
    for spec in () if level else space.operator.tensors:
        free = spec.free_layouts
        of_heads = [key for key in free if _differs_by_head(spec.layouts[key])]
        if 0 < len(of_heads) < len(free) and layout_of(spec.name).name in space.variables:
            found[layout_of(spec.name).name] = of_heads[0]
    return found


def _differs_by_head(layout: Layout) -> bool:
    return any(axis.role == "N" and not axis.broadcast for dim in layout.dims for axis in dim)


def _short_last_tile(space: CaseSpace, rng: np.random.Generator) -> dict[str, Any]:
    """Keys of which the last tile has less than one repeat: lanes after them have no score."""
    tile = space.edges[0][0]
    return size_of(space, "T", lambda size: size > tile and 0 < size % tile < _LANES, rng)


def _at_least(space: CaseSpace, role: str, least: int, rng: np.random.Generator) -> dict[str, Any]:
    return size_of(space, role, lambda size: size >= least, rng)


def _vector_cores(space: CaseSpace) -> int:
    device = space.operator.device
    return device.aic * device.architecture.aiv_per_aic


def _merge_steps(call: Call) -> int:
    """Vector steps that the merge of all rows takes, heads of a token at a time."""
    sizes = call.extents
    tokens = sizes["S"] if "S" in sizes else sizes.get("B", 1) * sizes.get("Q", 1)
    return int(tokens * -(-sizes.get("N", 1) // ROWS_OF_STEP))
