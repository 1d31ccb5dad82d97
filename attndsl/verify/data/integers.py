"""Lengths, indices and prefix sums that keep the constraints over elements: drawn, then repaired.

Each element is drawn from what its tensor counts. Then constraints that are broken somewhere propose changes
of the elements that they read: what closes the gap between the two sides of a comparison (elements enter
with the factor 1 or -1), the next multiples, or another draw. A change that breaks no more than before stays
(min-conflicts, Minton et al. 1992). Prefix sums are searched as lengths.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from attndsl.expr import Binary, Compare, Load
from attndsl.expr.argument_facts import given, layout_of
from attndsl.expr.array_evaluation import evaluate_arrays
from attndsl.expr.reductions import with_presence
from attndsl.spec.contract.arguments import TensorSpec
from attndsl.spec.contract.constraint import Constraint
from attndsl.spec.contract.layout import Array
from attndsl.verify.space.argument_roles import LIMIT
from attndsl.verify.space.space import CaseSpace
from attndsl.verify.space.values import GAPS, SHORT_ENDS, WARNED, fill_of

_STEPS = 120
_FROM_POOL = 0.25
_GAPS = 0.3


@dataclass
class Integers:
    """The integer tensors of one assignment. ``rows``: lengths or elements by name, flat."""

    space: CaseSpace
    assignment: Mapping[str, Any]
    rng: np.random.Generator

    def __post_init__(self) -> None:
        self.env: dict[str, Any] = self.space.environment(self.assignment)
        self.extents = self.space.extents(self.env)
        self.specs = [spec for spec in self.space.integers if self.env[given(spec.name).name]]
        self.shapes = {spec.name: self._shape(spec) for spec in self.specs}
        self.rows = {spec.name: self._drawn(spec) for spec in self.specs}
        self.longest = {spec.name: self._longest(spec) for spec in self.specs}
        self.rules = list(self._applicable())

    def start_from(self, arrays: Mapping[str, Array]) -> None:
        """Take the elements of earlier tensors instead of those drawn, as far as they fit."""
        sums = self.space.summed
        for name, rows in self.rows.items():
            if name in arrays:
                earlier = arrays[name].reshape(-1).astype(rows.dtype)
                known = np.diff(earlier, prepend=0) if name in sums else earlier
                count = min(known.size, rows.size)
                rows[:count] = np.minimum(known[:count], self.longest[name][:count])
                rows[:] = self._within_total(name, rows)

    def solve(self) -> dict[str, Array] | None:
        """The tensors as they are passed, or None if no legal ones were found."""
        for _ in range(_STEPS):
            broken = [(rule, bad) for rule, bad in self._broken() if bad.any()]
            if not broken:
                return self.arrays()
            rule, bad = broken[int(self.rng.integers(len(broken)))]
            self._repair(rule, bad, sum(int(each.sum()) for _, each in broken))
        return None

    def arrays(self) -> dict[str, Array]:
        """The tensors in their shapes; prefix sums summed."""
        sums = self.space.summed
        return {
            name: (np.cumsum(rows) if name in sums else rows).reshape(
                self.shapes[name] if rows.size > 1 else rows.shape
            )
            for name, rows in self.rows.items()
        }

    # Drawing ------------------------------------------------------------------------------------------

    def _shape(self, spec: TensorSpec) -> tuple[int, ...]:
        layout = spec.layouts[self.env[layout_of(spec.name).name]]
        return tuple(int(size.evaluate(self.env)) for size in layout.shape())

    def _drawn(self, spec: TensorSpec) -> Array:
        shape, axis = self.shapes[spec.name], self.space.measures.get(spec.name, "")
        kind = self.assignment.get(fill_of(spec.name), "mixed")
        if len(shape) == 2:  # queries, then keys
            return np.concatenate([self._lengths(kind, each, shape[1], spec) for each in ("Q", "T")])
        return self._within_total(spec.name, self._lengths(kind, axis, int(np.prod(shape)), spec))

    def _within_total(self, name: str, rows: Array) -> Array:
        """Lengths that fit together into a tensor which has place for so many rows: all become shorter."""
        axis = self.space.totals.get(name, "")
        total, most = int(rows.sum()), self.extents.get(axis, 0)
        return rows if axis not in self.extents or total <= most else rows * most // total

    def _lengths(self, kind: str, axis: str, count: int, spec: TensorSpec) -> Array:
        rng = self.rng
        if axis == "G":
            groups = self.extents.get("G", 1)
            found = rng.integers(-1, groups, count)
            if kind == GAPS:
                found[rng.random(count) < _GAPS] = -1
            one = np.full(count, min(0, groups - 1))  # the first group, if there is one
            return {"full": one, "zero": np.full(count, -1)}.get(kind, found)
        if axis not in ("Q", "T", "U", LIMIT):
            return rng.choice([0, 1, 1, 1, 2], count) if axis != "J" else np.ones(count, np.int64)
        most = self.extents.get("T" if axis == LIMIT else axis, 1)
        if kind == "single":
            count = 1 if spec.one_for_all and spec.kind == "lengths" else count
            return rng.integers(0, most + 1, count)
        if kind == SHORT_ENDS:
            found = np.full(count, most)
            found[:1] = found[-1:] = min(1, most)
        elif kind in ("full", "zero", "one"):
            found = np.full(count, {"full": most, "zero": 0, "one": min(1, most)}[kind])
        else:
            found = rng.choice(near_tiles(self.space.tiles, most), count) if kind == "edges" else None  # type: ignore[assignment]
            found = rng.integers(0, most + 1, count) if found is None else found
            if kind == GAPS:
                found[rng.random(count) < _GAPS] = 0
            if count:
                found[int(rng.integers(count))] = most
        return found.astype(np.int64)

    def _longest(self, spec: TensorSpec) -> Array:
        """What each element may be: no row is longer than the sizes of the case say, which are affordable."""
        shape, axis = self.shapes[spec.name], self.space.measures.get(spec.name, "")
        axes = ("Q", "T") if len(shape) == 2 else (axis,)
        free = np.iinfo(np.int64).max
        most = [self.extents.get(each, free) if each in ("Q", "T", "U") else free for each in axes]
        return np.repeat(np.array(most, np.int64), self.rows[spec.name].size // len(axes))

    # Constraints --------------------------------------------------------------------------------------

    def _applicable(self) -> Iterator[Constraint]:
        """The constraints that integers alone decide, with choices by presence made."""
        names = {spec.name for spec in self.specs}
        for rule in self.space.operator.constraints:
            soft = rule.warns and self.env[WARNED]
            if soft or not rule.tensors() & {spec.name for spec in self.space.integers}:
                continue
            condition = with_presence(rule.condition, self.env)
            when = None if rule.when is None else with_presence(rule.when, self.env)
            over = {name: with_presence(extent, self.env) for name, extent in rule.over.items()}
            here = replace(rule, condition=condition, when=when, over=over)
            if here.tensors() and here.tensors() <= names:
                yield here

    def _broken(self) -> list[tuple[Constraint, Array]]:
        env = self.space.environment(self.assignment, self.arrays())
        return [(rule, _violations(rule, env)) for rule in self.rules]

    def _count(self, most: int) -> int:
        """How many elements break a constraint; more than ``most`` are not counted."""
        env, found = self.space.environment(self.assignment, self.arrays()), 0
        for rule in self.rules:
            found += int(np.count_nonzero(_violations(rule, env)))
            if found > most:
                break
        return found

    # Repair -------------------------------------------------------------------------------------------

    def _repair(self, rule: Constraint, bad: Array, before: int) -> None:
        env = self.space.environment(self.assignment, self.arrays())
        local = _indexed(rule, env)
        loads = [
            node for node in rule.condition.walk() if isinstance(node, Load) and node.source in self.rows
        ]
        if not loads:
            return
        load = loads[int(self.rng.integers(len(loads)))]
        rows = self.rows[load.source]
        at = self._places(load, local, bad)
        if not at.size or not rows.size:
            return
        changes = self._changes(rule, local, bad)
        for pick in self.rng.permutation(len(changes) + 1)[:4]:
            value = self._pooled(load.source, at) if pick == len(changes) else rows[at] + changes[pick]
            value = np.minimum(value, self.longest[load.source][at])
            for some in (slice(None), self.rng.permutation(at.size)[:1]):
                kept = rows.copy()
                rows[at[some]] = value[some]
                if (after := self._count(before)) < before or (after == before and self.rng.random() < 0.5):
                    return
                rows[:] = kept

    def _places(self, load: Load, local: Mapping[str, Any], bad: Array) -> Array:
        """The elements that are read where the constraint is broken; all of a row for a fold's index."""
        try:
            index = evaluate_arrays(load.index, local)
        except KeyError:  # inside a fold: any of its elements
            return np.asarray(self.rng.permutation(self.rows[load.source].size)[:1])
        places = np.broadcast_to(np.asarray(index), bad.shape)[bad]
        last = max(self.rows[load.source].size - 1, 0)
        return np.asarray(np.clip(places.reshape(-1), 0, last))

    def _changes(self, rule: Constraint, local: Mapping[str, Any], bad: Array) -> list[Array]:
        """What to add to the elements, for each comparison and remainder in the condition."""
        found: list[Array] = []
        for node in rule.condition.walk():
            if not isinstance(node, Compare) and not (isinstance(node, Binary) and node.op == "%"):
                continue
            try:
                left, right = (evaluate_arrays(side, local) for side in (node.left, node.right))
                left, right = (
                    np.broadcast_to(np.asarray(s, np.int64), bad.shape)[bad] for s in (left, right)
                )
            except (KeyError, TypeError, ValueError):
                continue
            if isinstance(node, Compare):
                gap = (right - left).reshape(-1)
                extra = {"<": -1, ">": 1}.get(node.op, 0)
                found += [gap + extra, -gap - extra]
            else:
                rest = (left % np.maximum(right, 1)).reshape(-1)
                found += [-rest, right.reshape(-1) - rest]
        return found

    def _pooled(self, name: str, at: Array) -> Array:
        axis = self.space.measures.get(name, "")
        spec = self.space.operator.tensor(name)
        if axis in ("Q", "T", "U") and self.rng.random() < _FROM_POOL:
            return self.rng.choice(self.space.sizes_of(axis), at.size)
        drawn = self._lengths("mixed", axis, self.rows[name].size, spec)
        return drawn[np.minimum(at, drawn.size - 1)]


def near_tiles(tiles: Sequence[int], most: int) -> list[int]:
    """Numbers up to ``most`` that are about those of the keys of whole tiles."""
    near = [m * tile + d for tile in tiles for m in range(1, most // tile + 1) for d in (-1, 0, 1)]
    return [each for each in (0, 1, *near, most - 1, most) if 0 <= each <= most]


def _indexed(rule: Constraint, env: Mapping[str, Any]) -> dict[str, Any]:
    return {**env, **dict(zip(rule.over, _grids(_sizes(rule, env)), strict=True))}


def _sizes(rule: Constraint, env: Mapping[str, Any]) -> tuple[int, ...]:
    return tuple(int(extent.evaluate(env)) for extent in rule.over.values())


@lru_cache
def _grids(sizes: tuple[int, ...]) -> tuple[Array, ...]:
    """The indices below ``sizes``, which broadcast against each other."""
    return tuple(np.meshgrid(*map(np.arange, sizes), indexing="ij", sparse=True))


def _violations(rule: Constraint, env: Mapping[str, Any]) -> Array:
    """Where the constraint is broken, over its index ranges."""
    if rule.when is not None and not rule.over and not rule.when.evaluate(env):
        return np.zeros((), bool)
    sizes, local = _sizes(rule, env), _indexed(rule, env) if rule.over else env
    bad = np.broadcast_to(~np.asarray(evaluate_arrays(rule.condition, local), bool), sizes)
    if rule.when is not None and rule.over:
        bad = bad & np.broadcast_to(np.asarray(evaluate_arrays(rule.when, local), bool), sizes)
    return np.asarray(bad)
