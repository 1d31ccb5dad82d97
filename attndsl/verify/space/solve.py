"""Finding assignments that keep all clauses: random walks that repair one broken clause at a time.

A walk starts from random values, takes a broken clause and gives one of its variables a value with which it
holds or comes nearer to it, preferring values that break little else (WalkSAT, Selman, Kautz and Cohen 1994).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

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
        env: Mapping[str, Any] = space.environment(assignment)
        known: _State | None = None
        for _ in range(_STEPS):
            env = _propagated(space, rng, assignment, env, pinned)
            broken = known.broken if known is not None and known.env is env else space.violated(env)
            if best is None or len(broken) < len(best[1]):
                best = dict(assignment), tuple(broken)
            if not broken:
                return best
            clause = broken[int(rng.integers(len(broken)))]
            known = _repaired(space, rng, assignment, _State(env, broken), clause, pinned)
            env = known.env
    assert best is not None, "a search takes at least one walk"
    return best


class _State(NamedTuple):
    """The environment of an assignment, and the clauses that it breaks."""

    env: Mapping[str, Any]
    broken: list[Clause]


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
    env: Mapping[str, Any],
    pinned: Mapping[str, Any],
) -> Mapping[str, Any]:
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


def _changed(space: CaseSpace, assignment: Assignment, change: Assignment) -> Mapping[str, Any]:
    """Make a change. Gives the environment after it."""
    assignment |= change
    env: Mapping[str, Any] = space.environment(assignment)
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
    state: _State,
    clause: Clause,
    pinned: Mapping[str, Any],
) -> _State:
    """Change one variable for a broken clause. Gives the state after it, as ``state`` is that before."""
    free = [name for name in clause.variables if name not in pinned]
    if not free:
        return state
    if rng.random() < _NOISE:
        name = free[int(rng.integers(len(free)))]
        value = _draw(name, space.variables[name], rng)
        if value == assignment[name]:
            return state
        env = space.changed(state.env, assignment, name, value)
        assignment[name] = value
        return _State(env, space.violated(env))
    helping = list(itertools.islice(_helping(space, rng, assignment, state.env, clause, free), _SAMPLES))
    if not helping:
        return state
    picked, broken = _least_broken(space, [then for _, _, then in helping])
    name, value, then = helping[picked]
    assignment[name] = value
    return _State(then, broken)


def _least_broken(space: CaseSpace, environments: list[Mapping[str, Any]]) -> tuple[int, list[Clause]]:
    """Which environment breaks fewest clauses, the first of these, and which clauses."""
    best, fewest = 0, space.violated(environments[0])
    for index, env in enumerate(environments[1:], 1):
        if not fewest:
            break
        broken: list[Clause] = []
        for clause in space.clauses:
            if not clause.holds(env):
                broken.append(clause)
                if len(broken) >= len(fewest):
                    break
        else:
            best, fewest = index, broken
    return best, fewest


def _helping(
    space: CaseSpace,
    rng: np.random.Generator,
    assignment: Assignment,
    env: Mapping[str, Any],
    clause: Clause,
    free: list[str],
) -> Iterator[tuple[str, Any, Mapping[str, Any]]]:
    """Changes of one variable with which the clause holds, or comes nearer to it, in random order, each with
    the environment after it."""
    changes = [change for name in free for change in space.changes(name, assignment[name])]
    gap_of, most = clause.gap, clause.most
    gap = math.inf if gap_of is None else gap_of(env)
    for pick in rng.permutation(len(changes))[:_TRIED].tolist():
        name, value = changes[pick]
        then = space.changed(env, assignment, name, value)
        if gap_of is None:
            if clause.holds(then):
                yield name, value, then
        elif (left := gap_of(then)) <= most or left < gap:
            yield name, value, then
