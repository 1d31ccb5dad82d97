"""Masks whose elements keep the constraints on them: what hides is found by asking the constraints.

A pattern of visible and hidden elements is drawn, and both get values from a small palette: the values that
masks hold in practice, and the biases that compressed masks hold. Where a constraint on elements is broken,
the other values of the palette are tried there; values that no such choice makes legal are given up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from attndsl.expr.array_evaluation import evaluate_arrays
from attndsl.expr.reductions import with_presence
from attndsl.reference.state import rounded
from attndsl.spec.contract.arguments import DTYPES
from attndsl.spec.contract.constraint import Constraint
from attndsl.spec.contract.layout import Array
from attndsl.spec.operator.operator import Operator

HIDING = (1.0, -10000.0, -np.inf, -65504.0)
_ROUNDS = 6


def pattern(
    rng: np.random.Generator, kind: str, shape: tuple[int, ...], readable: Array | None = None
) -> Array:
    """True where hidden, for masks whose last axis is keys and whose axis before that is rows.

    ``readable``: the keys that lengths make valid, broadcast to ``shape``; of those the last alone stays
    visible in the kind ``"last"``, and the first in ``"first"``.
    """
    if not all(shape):
        return np.zeros(shape, bool)
    if kind == "causal" and len(shape) >= 2:
        rows, keys = np.arange(shape[-2])[:, None], np.arange(shape[-1])
        return np.broadcast_to(keys > rows + int(rng.integers(0, 3)), shape).copy()
    hidden = rng.random(shape) < 0.3
    if rng.random() < 0.5:  # in runs, as documents have them
        period = int(rng.integers(3, 90))
        hidden = np.broadcast_to((np.arange(shape[-1]) // period) % 3 == 1, shape).copy()
    if kind == "none":
        hidden[:] = False
    elif kind == "all":
        hidden[:] = True
    elif kind == "rows":
        hidden.reshape(-1, shape[-1])[:: max(2, int(np.prod(shape[:-1])) - 1)] = True
    elif kind == "first":
        hidden[:] = True
        hidden[..., 0] = False
    elif kind == "last":
        hidden[:] = True
        lengths = np.full(shape[:-1], shape[-1])
        if readable is not None:
            lengths = np.maximum(np.broadcast_to(readable, shape).sum(axis=-1), 1)
        np.put_along_axis(hidden, (lengths - 1)[..., None], False, axis=-1)
    return hidden


def few_forced(rng: np.random.Generator, shape: tuple[int, ...], most: int, edges: Array) -> Array:
    """True where an entry of a row, the last axis, is forced: less than ``most`` of each row, so that scores
    decide about the others; ``edges``: entries of which about half are picked."""
    forced = np.zeros(shape, bool)
    for row in forced.reshape(-1, shape[-1]) if all(shape) else ():
        count = int(rng.integers(0, max(min(most, shape[-1]), 1)))
        known = edges[edges < shape[-1]]
        picked = rng.permutation(known)[: (count + 1) // 2]
        row[picked] = True
        row[rng.integers(0, shape[-1], count - len(picked))] = True
    return forced


@dataclass
class MaskFiller:
    """Elements of the mask ``name`` of shape ``shape`` under ``env``, which has all other arguments."""

    operator: Operator
    name: str
    dtype: str
    shape: tuple[int, ...]
    env: Mapping[str, Any]
    rng: np.random.Generator

    def fill(self, hidden: Array, *, exact: bool, wholly: bool = False) -> Array | None:
        """A legal mask, or None. ``exact``: visible elements are 0; else they may be small biases;
        ``wholly``: what hides leaves no key behind, where that is legal."""
        rules = list(self._rules())
        soft = [np.zeros(self.shape), -self.rng.integers(0, 9, self.shape) / 4.0]
        for shown in soft[:1] if exact else soft[:: self.rng.choice([-1, 1])]:
            drawn = self.rng.permutation(np.array(HIDING))
            for value in sorted(drawn, key=lambda each: not np.isneginf(each)) if wholly else drawn:
                if np.isneginf(value) and exact and hidden.all(axis=-1).any():
                    continue  # rows without any key show nothing
                mask = self._stored(np.where(hidden, value, shown))
                found = self._repaired(mask, rules, float(value))
                if found is not None:
                    return found
        return None

    def _stored(self, values: Array) -> Array:
        return rounded(np.asarray(values, np.float64), DTYPES[self.dtype])

    def _rules(self) -> Iterator[Constraint]:
        for rule in self.operator.constraints:
            if self.name in rule.tensors() and not rule.warns:
                condition = with_presence(rule.condition, self.env)
                when = None if rule.when is None else with_presence(rule.when, self.env)
                over = {name: with_presence(extent, self.env) for name, extent in rule.over.items()}
                here = replace(rule, condition=condition, when=when, over=over)
                if self.name in here.tensors() and (here.over or here.symbols() <= self.env.keys()):
                    yield here

    def _repaired(self, mask: Array, rules: list[Constraint], value: float) -> Array | None:
        palette: list[Array] = []
        for _ in range(_ROUNDS):
            broken = [bad for rule in rules if (bad := self._bad(rule, mask)) is not None and bad.any()]
            if not broken:
                return mask
            if any(bad.ndim == 0 or bad.size != mask.size for bad in broken):
                return None
            palette = palette or [self._stored(each) for each in self._palette(value)]
            for bad in broken:
                self._try_palette(mask, bad.reshape(-1), rules, palette)
        return None

    def _try_palette(self, mask: Array, bad: Array, rules: list[Constraint], palette: list[Array]) -> None:
        """Give broken elements the first value of the palette with which they are broken no more."""
        for values in palette:
            if not bad.any():
                return
            flat, before = mask.reshape(-1), mask.reshape(-1).copy()
            flat[bad] = np.broadcast_to(values, mask.shape).reshape(-1)[bad]
            still = np.zeros(mask.size, bool)
            for rule in rules:
                found = self._bad(rule, mask)
                if found is not None and found.size == mask.size:
                    still |= found.reshape(-1)
            flat[bad & still] = before[bad & still]
            bad = bad & still

    def _palette(self, value: float) -> Iterator[Array]:
        yield np.zeros(self.shape)
        yield np.full(self.shape, value)
        if len(self.shape) >= 2:
            rows, keys = np.meshgrid(*map(np.arange, self.shape[-2:]), indexing="ij")
            for bias in (rows - keys, np.sqrt(np.maximum(rows - keys, 0)), keys):
                yield np.broadcast_to(bias, self.shape)
        for high in (60000.0, -np.inf):
            yield np.full(self.shape, high)

    def _bad(self, rule: Constraint, mask: Array) -> Array | None:
        """Where the constraint is broken; None where it does not apply."""
        env = {**self.env, self.name: mask}
        sizes = [int(extent.evaluate(env)) for extent in rule.over.values()]
        grids = np.meshgrid(*map(np.arange, sizes), indexing="ij", sparse=True)
        local = {**env, **dict(zip(rule.over, grids, strict=True))}
        if rule.when is not None and not rule.when.evaluate(env):
            return None
        bad = np.broadcast_to(~np.asarray(evaluate_arrays(rule.condition, local), bool), sizes)
        if len(sizes) == mask.ndim and sizes != [*mask.shape] and bad.any():  # of a part of the mask
            wide = np.zeros(mask.shape, bool)
            wide[tuple(slice(size) for size in sizes)] = bad
            return wide
        return np.asarray(bad)
