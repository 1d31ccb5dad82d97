"""Finding assignments that keep all clauses: random walks that repair one broken clause at a time.

A walk starts from random values, takes a broken clause and gives one of its variables a value with which
it holds, preferring values that break little else (WalkSAT, Selman, Kautz and Cohen 1994).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from attndsl.verify.space import Assignment, CaseSpace, Clause

_STEPS = 80
_NOISE = 0.15
_SAMPLES = 6


def solve(
    space: CaseSpace, rng: np.random.Generator, pinned: Mapping[str, Any], *, walks: int = 3
) -> Assignment | None:
    """An assignment that keeps all clauses and has the ``pinned`` values, or None if none was found."""
    for _ in range(walks):
        assignment = {name: _draw(name, values, rng) for name, values in space.variables.items()}
        assignment |= pinned
        for _ in range(_STEPS):
            broken = space.violated(assignment)
            if not broken:
                return assignment
            _repair(space, rng, assignment, broken[int(rng.integers(len(broken)))], pinned)
    return None


def _draw(name: str, values: tuple[Any, ...], rng: np.random.Generator) -> Any:
    if name.startswith("given("):
        return bool(rng.random() < 0.4)
    return values[int(rng.integers(len(values)))]


def _repair(
    space: CaseSpace,
    rng: np.random.Generator,
    assignment: Assignment,
    clause: Clause,
    pinned: Mapping[str, Any],
) -> None:
    free = [name for name in clause.variables if name not in pinned]
    if not free:
        return
    if rng.random() < _NOISE:
        name = free[int(rng.integers(len(free)))]
        assignment[name] = _draw(name, space.variables[name], rng)
        return
    helping = list(_helping(space, assignment, clause, free))
    if not helping:
        return
    picks = rng.permutation(len(helping))[:_SAMPLES]
    costs = [len(space.violated({**assignment, **helping[int(pick)]})) for pick in picks]
    assignment |= helping[int(picks[int(np.argmin(costs))])]


def _helping(
    space: CaseSpace, assignment: Assignment, clause: Clause, free: list[str]
) -> Iterator[Assignment]:
    for name in free:
        for value in space.variables[name]:
            if value != assignment[name] and clause.holds(space.environment({**assignment, name: value})):
                yield {name: value}
