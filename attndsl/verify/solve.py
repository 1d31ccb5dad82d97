"""Finding assignments that keep all clauses: random walks that repair one broken clause at a time.

A walk starts from random values, takes a broken clause and gives one of its variables a value with which it
holds or comes nearer to it, preferring values that break little else (WalkSAT, Selman, Kautz and Cohen 1994).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from attndsl.questions import GIVEN, kind_of
from attndsl.verify.clauses import Clause
from attndsl.verify.quick import Function
from attndsl.verify.space import Assignment, CaseSpace

_STEPS = 80
_NOISE = 0.15
_SAMPLES = 4
_TRIED = 16


def solve(
    space: CaseSpace, rng: np.random.Generator, pinned: Mapping[str, Any], *, walks: int = 3
) -> Assignment | None:
    """An assignment that keeps all clauses and has the ``pinned`` values, or None if none was found."""
    for _ in range(walks):
        assignment = {name: _draw(name, values, rng) for name, values in space.variables.items()}
        assignment |= pinned
        for _ in range(_STEPS):
            _propagate(space, rng, assignment, pinned)
            broken = space.violated(assignment)
            if not broken:
                return assignment
            _repair(space, rng, assignment, broken[int(rng.integers(len(broken)))], pinned)
    return None


def _propagate(
    space: CaseSpace, rng: np.random.Generator, assignment: Assignment, pinned: Mapping[str, Any]
) -> None:
    """Pass what must be passed, leave out what must not be, choose layouts that apply."""
    env = space.environment(assignment)
    for when, name, wanted in space.forced:
        if name not in pinned and assignment[name] != wanted and (when is None or _true(when, env)):
            assignment[name] = wanted
    for name, legal in space.layout_choices(space.environment(assignment)).items():
        if name not in pinned:
            assignment[name] = legal[int(rng.integers(len(legal)))]


def _true(function: Function, env: Mapping[str, Any]) -> bool:
    try:
        return bool(function(env))
    except KeyError:
        return False


def _draw(name: str, values: tuple[Any, ...], rng: np.random.Generator) -> Any:
    if kind_of(name) == GIVEN:
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
    helping = list(itertools.islice(_helping(space, rng, assignment, clause, free), _SAMPLES))
    if not helping:
        return
    costs = [len(space.violated({**assignment, **each})) for each in helping]
    assignment |= helping[int(np.argmin(costs))]


def _helping(
    space: CaseSpace, rng: np.random.Generator, assignment: Assignment, clause: Clause, free: list[str]
) -> Iterator[Assignment]:
    """Changes of one variable with which the clause holds, or comes nearer to it, in random order."""
    changes = [(name, value) for name in free for value in space.variables[name] if value != assignment[name]]
    gap = math.inf if clause.gap is None else clause.gap(space.environment(assignment))
    for pick in rng.permutation(len(changes))[:_TRIED]:
        name, value = changes[int(pick)]
        env = space.environment({**assignment, name: value})
        if clause.holds(env) or (clause.gap is not None and clause.gap(env) < gap):
            yield {name: value}
