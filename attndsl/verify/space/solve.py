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

from attndsl.base.errors import UserError
from attndsl.expr.argument_facts import GIVEN, kind_of
from attndsl.expr.compiled_evaluation import Function
from attndsl.verify.space.clauses import Clause
from attndsl.verify.space.space import Assignment, CaseSpace

_STEPS = 80
_NOISE = 0.15
_SAMPLES = 4
_TRIED = 16


def solve(
    space: CaseSpace, rng: np.random.Generator, pinned: Mapping[str, Any], *, walks: int = 3
) -> Assignment | None:
    """An assignment that keeps all clauses and has the ``pinned`` values, or None if none was found."""
    found, broken = nearest(space, rng, pinned, walks=walks)
    return None if broken else found


def nearest(
    space: CaseSpace, rng: np.random.Generator, pinned: Mapping[str, Any], *, walks: int = 3
) -> tuple[Assignment, tuple[Clause, ...]]:
    """The assignment with the ``pinned`` values that breaks fewest clauses of those visited, and these."""
    best: tuple[Assignment, tuple[Clause, ...]] | None = None
    check_some_value(space)
    for _ in range(walks):
        assignment = {name: _draw(name, values, rng) for name, values in space.variables.items()}
        assignment |= pinned
        env = space.environment(assignment)
        for _ in range(_STEPS):
            env = _propagated(space, rng, assignment, env, pinned)
            broken = space.violated(env)
            if best is None or len(broken) < len(best[1]):
                best = dict(assignment), tuple(broken)
            if not broken:
                return best
            env = _repaired(space, rng, assignment, env, broken[int(rng.integers(len(broken)))], pinned)
    assert best is not None, "a search takes at least one walk"
    return best


def is_contradiction(space: CaseSpace, pinned: Mapping[str, Any]) -> bool:
    """Whether values break a clause that nothing but they can repair: no walk is needed to see that."""
    assignment = {**{name: values[0] for name, values in space.variables.items()}, **pinned}
    env = space.environment(assignment)
    return any(
        clause.variables and pinned.keys() >= set(clause.variables) and not clause.holds(env)
        for clause in space.clauses
    )


def check_some_value(space: CaseSpace) -> None:
    """Each size and parameter has a value that keeps what is demanded of it alone.

    Raises:
        NoValue: one has none.
    """
    for name, values in space.variables.items():
        if not values:
            raise NoValue(space.operator.name, name)


class NoValue(UserError, ValueError):
    """The constraints of a spec leave no value of a size or parameter."""

    def __init__(self, operator: str, name: str) -> None:
        super().__init__(
            f"{operator}: no value of '{name}' keeps its constraints; widen the rules of op.require on it"
        )


def _propagated(
    space: CaseSpace,
    rng: np.random.Generator,
    assignment: Assignment,
    env: dict[str, Any],
    pinned: Mapping[str, Any],
) -> dict[str, Any]:
    """Pass what must be passed, leave out what must not be, choose layouts that apply. Gives the environment
    of the assignment, as ``env`` is that of what it was."""
    changed = False
    for when, name, wanted in space.forced:
        if name not in pinned and assignment[name] != wanted and (when is None or _true(when, env)):
            assignment[name], changed = wanted, True
    env = space.environment(assignment) if changed else env
    chosen = {
        name: legal[int(rng.integers(len(legal)))]
        for name, legal in space.layout_choices(env).items()
        if name not in pinned
    }
    return _changed(space, assignment, chosen) if chosen else env


def _changed(space: CaseSpace, assignment: Assignment, change: Assignment) -> dict[str, Any]:
    """Make a change. Gives the environment after it."""
    assignment |= change
    env: dict[str, Any] = space.environment(assignment)
    return env


def _true(function: Function, env: Mapping[str, Any]) -> bool:
    try:
        return bool(function(env))
    except KeyError:
        return False


def _draw(name: str, values: tuple[Any, ...], rng: np.random.Generator) -> Any:
    if kind_of(name) == GIVEN:
        return bool(rng.random() < 0.4)
    return values[int(rng.integers(len(values)))]


def _repaired(
    space: CaseSpace,
    rng: np.random.Generator,
    assignment: Assignment,
    env: dict[str, Any],
    clause: Clause,
    pinned: Mapping[str, Any],
) -> dict[str, Any]:
    """Change one variable for a broken clause. Gives the environment of the assignment, as ``env`` is that of
    what it was."""
    free = [name for name in clause.variables if name not in pinned]
    if not free:
        return env
    if rng.random() < _NOISE:
        name = free[int(rng.integers(len(free)))]
        value = _draw(name, space.variables[name], rng)
        return env if value == assignment[name] else _changed(space, assignment, {name: value})
    helping = list(itertools.islice(_helping(space, rng, assignment, env, clause, free), _SAMPLES))
    if not helping:
        return env
    name, value, then = helping[_least_broken(space, [then for _, _, then in helping])]
    assignment[name] = value
    return then


def _least_broken(space: CaseSpace, environments: list[dict[str, Any]]) -> int:
    """Which environment breaks fewest clauses, the first of these; counted as far as that needs."""
    best, least = 0, len(space.clauses) + 1
    for index, env in enumerate(environments):
        count = 0
        for clause in space.clauses:
            if not clause.holds(env):
                count += 1
                if count >= least:
                    break
        if count < least:
            best, least = index, count
    return best


def _helping(
    space: CaseSpace,
    rng: np.random.Generator,
    assignment: Assignment,
    env: dict[str, Any],
    clause: Clause,
    free: list[str],
) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Changes of one variable with which the clause holds, or comes nearer to it, in random order, each with
    the environment after it."""
    changes = [(name, value) for name in free for value in space.variables[name] if value != assignment[name]]
    gap = math.inf if clause.gap is None else clause.gap(env)
    for pick in rng.permutation(len(changes))[:_TRIED]:
        name, value = changes[int(pick)]
        then = space.changed(env, assignment, name, value)
        if clause.holds(then) or (clause.gap is not None and clause.gap(then) < gap):
            yield name, value, then
