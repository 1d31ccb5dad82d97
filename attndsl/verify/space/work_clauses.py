"""Clauses about the work of a case: small enough to run, and long, scarce or plentiful as its class says."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

from attndsl.expr import Compare, Const, Symbol, as_expr
from attndsl.expr.argument_facts import given, layout_of
from attndsl.expr.compiled_evaluation import Function, compiled
from attndsl.expr.reductions import highest
from attndsl.spec.contract.arguments import TensorSpec
from attndsl.verify.space.clauses import Clause, keeps, measured
from attndsl.verify.space.size_facts import SizeFacts
from attndsl.verify.space.values import LONG_FILLS, WORKLOAD, fill_of

_ONE = dict.fromkeys("BNKQTUDEPRSGY", 1)


@dataclass(frozen=True)
class WorkClauses:
    """``facts``: those of the operator; ``sizes``: the symbols that the attention axes' sizes are made of;
    ``repairs``: the variables behind some symbols."""

    facts: SizeFacts
    sizes: frozenset[str]
    repairs: Callable[[Iterable[str]], tuple[str, ...]]

    def clauses(self) -> Iterator[Clause]:
        """All of them."""
        shown = frozenset(name for spec in self._large for name in _sizes_of(spec))
        yield measured("small enough to run", self.repairs(self.sizes | shown), self._excess, most=1)
        sizes = self.repairs(self.sizes)
        fills = tuple(fill_of(spec.name) for spec in self.facts.integers)
        yield Clause("rows are full where they shall be long", fills, self._filled)
        yield measured("long rows", sizes, self._missing_keys)
        yield measured("wide rows", sizes, self._missing_width)
        yield measured("rows of a tile", sizes, self._off_edge)
        yield measured("tasks", sizes, self._wrong_tasks)
        yield from self._room()

    # Small enough to run --------------------------------------------------------------------------------

    def _excess(self, env: Mapping[str, Any]) -> float:
        """The largest part of what a tensor, or all scores, may have in elements."""
        size = {**_ONE, **self.facts.extents(env)}
        channels = max(size["D"], size["E"])
        rows = max(size["B"] * size["T"] * size["Y"], size["P"] * size["R"], size["G"] * size["U"])
        queries = max(size["B"] * size["Q"], size["S"]) * size["N"]
        scores = size["B"] * size["N"] * size["Q"] * max(size["T"], size["U"])
        elements = max(rows * size["K"] * channels, queries * channels, *self._elements(env), 0)
        values = self.facts.values
        return max(elements / values.most_elements, scores / values.most_scores)

    @cached_property
    def _large(self) -> tuple[TensorSpec, ...]:
        """The tensors that may be large: all but lengths, whose shapes may show more than the roles tell,
        such as masks and padded rows."""
        return tuple(spec for spec in self.facts.operator.tensors if spec.kind != "lengths")

    def _elements(self, env: Mapping[str, Any]) -> Iterator[int]:
        """The elements of tensors as they are stored."""
        for passed, layout, counts in self._plans:
            if env[passed]:
                try:
                    yield counts[env[layout]](env)
                except KeyError:
                    continue

    @cached_property
    def _plans(self) -> tuple[tuple[str, str, dict[str, Function]], ...]:
        """For each large tensor the names of its presence and layout, and its elements by layout."""
        return tuple(
            (
                given(spec.name).name,
                layout_of(spec.name).name,
                {
                    key: compiled(math.prod(each.shape(), start=as_expr(1)))
                    for key, each in spec.layouts.items()
                },
            )
            for spec in self._large
        )

    # Workload classes --------------------------------------------------------------------------------------

    @cached_property
    def _row_fills(self) -> tuple[str, ...]:
        return tuple(fill_of(spec.name) for spec in self.facts.integers if self.facts.counts_rows(spec))

    @cached_property
    def _group_fills(self) -> tuple[str, ...]:
        measured = self.facts.measures
        return tuple(fill_of(spec.name) for spec in self.facts.integers if measured.get(spec.name) == "G")

    def _filled(self, env: Mapping[str, Any]) -> bool:
        fills = self._row_fills if _long(env) or "edge" in _words(env) else ()
        fills += self._group_fills if _long(env) else ()  # what no row reads has no tile
        return all(env.get(name) is None or env[name] in LONG_FILLS for name in fills)

    def _missing_keys(self, env: Mapping[str, Any]) -> float:
        """Keys by which rows are too short: to have several tiles in each segment, and in one more than the
        ring has slots where they shall be long; where they shall be deep in each, with a split for each of
        the cores."""
        words = _words(env)
        if _LONG.isdisjoint(words):
            return 0
        tile, ring, splits, cores = self._schedule
        segments = self._segments(env)
        if "deep" in words:
            parts = [most_splits(tasks, cores) if splits else 1 for _, tasks in segments]
            wanted = [tile * ring * each for each in parts]
        else:
            wanted = [tile] * len(segments)
            longest = max(range(len(segments)), key=lambda number: segments[number][0])
            wanted[longest] *= ring if "long" in words else 1
        return sum([max(most + 1 - rows, 0) for most, (rows, _) in zip(wanted, segments, strict=True)])

    @cached_property
    def _schedule(self) -> tuple[int, int, bool, int]:
        """Key tile and ring of the longest ring, whether keys may be split, and cores."""
        splits = self.facts.schedule.split_kv != 1
        return (*self.facts.edges[0], splits, self.facts.operator.device.aic)

    def _segments(self, env: Mapping[str, Any]) -> list[tuple[int, int]]:
        """The rows that each segment has place for, and its tasks."""
        extents = self.facts.extents(env)
        tasks = self.facts.tasks(extents)
        found = [(rows, tasks) for rows in self.facts.capacities(env)]
        if "G" in extents:
            found.append((int(extents.get("U", 1)), int(extents["G"] * extents.get("K", 1))))
        return found or [(1, tasks)]

    def _off_edge(self, env: Mapping[str, Any]) -> float:
        """Keys by which the longest row misses the end of a schedule's first tile, one apart being near
        enough."""
        if "edge" not in _words(env):
            return 0
        size = {**_ONE, **self.facts.extents(env)}
        longest = int(max(size["T"], size["U"] if "G" in self.facts.extents(env) else 0))
        return min(max(abs(longest - tile) - 1, 0) for tile in self.facts.tiles)

    def _missing_width(self, env: Mapping[str, Any]) -> float:
        """Channels by which a row of all heads is too narrow for copies to fail to reach the next."""
        if "wide" not in _words(env):
            return 0
        size = {**_ONE, **self.facts.extents(env)}
        return (
            self.facts.operator.device.architecture.max_nd2nz_pitch
            + 1
            - int(size["K"] * max(size["D"], size["E"]))
        )

    def _wrong_tasks(self, env: Mapping[str, Any]) -> float:
        """Tasks that are too many to be few, or too few to be many."""
        cores = self.facts.operator.device.aic
        if "few" in _words(env):
            return self.facts.tasks(self.facts.extents(env)) - cores // 2
        many = "many" in _words(env)
        return 2 * cores - self.facts.tasks(self.facts.extents(env)) if many else 0

    def _room(self) -> Iterator[Clause]:
        """Where rows shall be long: the sizes that bound lengths leave room for the longest."""
        dims = self.facts.operator.dims_by_name
        free = {name for name, dim in dims.items() if dim.definition is None}
        for rule in self.facts.operator.constraints:
            condition = rule.condition
            bounded = isinstance(condition, Compare) and condition.op == "<=" and len(rule.over) == 1
            if not bounded or not isinstance(condition, Compare) or not isinstance(condition.right, Symbol):
                continue
            if condition.right.name in free:
                ((index, extent),) = rule.over.items()
                whole = Compare("<=", highest(condition.left, Symbol(index), extent), condition.right)
                repairs = self.repairs(self.facts.reads(whole))
                holds = _when_long(keeps(replace(rule, condition=whole, over={})))
                yield Clause(f"room: {rule.text}", repairs, holds)


def _sizes_of(spec: TensorSpec) -> frozenset[str]:
    shapes = [size for layout in spec.layouts.values() for size in layout.shape()]
    return frozenset().union(*(size.symbols() for size in shapes))


def may_be_wide(facts: SizeFacts, variables: Mapping[str, Sequence[Any]]) -> bool:
    """Whether rows of all heads may be as wide as cases ask for: the largest values of the variables tell,
    where the sizes are numbers and variables alone."""

    def most(role: str) -> float:
        extent = facts.operator.axis_extents.get(role, as_expr(1))
        if isinstance(extent, Const):
            return float(extent.value)
        values = variables.get(extent.name) if isinstance(extent, Symbol) else None
        return float(max(values)) if values else math.inf

    return most("K") * max(most("D"), most("E")) > facts.operator.device.architecture.max_nd2nz_pitch


def most_splits(tasks: int, cores: int) -> int:
    """Parts that keys are cut into so that each of the cores has one. Schedules that even out the cores cut
    finer, into parts of which the busiest core has several."""
    return max(cores // max(tasks, 1), 1)


_LONG = frozenset({"long", "deep", "several"})
"""Words that ask for many keys."""


def _words(env: Mapping[str, Any]) -> frozenset[str]:
    return _words_of(env[WORKLOAD])


@lru_cache(maxsize=64)
def _words_of(workload: str | None) -> frozenset[str]:
    return frozenset((workload or "").split())


def _long(env: Mapping[str, Any]) -> bool:
    words = _words(env)
    return not _LONG.isdisjoint(words)


def _when_long(holds: Function) -> Function:
    return lambda env: not _long(env) or holds(env)
