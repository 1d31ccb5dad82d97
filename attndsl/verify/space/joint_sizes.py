"""Sizes that keep all clauses together, the rest of an assignment as it is.

Long rows, many tasks and few elements pull the same sizes in opposite directions: a walk that repairs one
clause at a time goes to and fro between them. Here all sizes are chosen anew, one after the other
(backtracking). A clause whose gap rises with all sizes, or falls with all, is asked before they are all
chosen: it cannot be kept where it fails with the smallest and with the largest values of the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from attndsl.expr.argument_facts import asks, given
from attndsl.verify.space.clauses import Clause
from attndsl.verify.space.space import Assignment, CaseSpace

_FILTERINGS = 1
"""How often values are dropped that no values of the other sizes go with."""


@dataclass(kw_only=True)
class JointSizes:
    """The sizes that clauses on the work of a case are repaired by, to be chosen together.

    ``assignment``, ``env``: what stands, and its environment; ``names``: the sizes to choose; ``clauses``:
    those that one of them can repair; ``most``: environments that the search makes before it gives up, of
    which each takes some 15 us.
    """

    space: CaseSpace
    assignment: Assignment
    env: Mapping[str, Any]
    names: tuple[str, ...]
    clauses: tuple[Clause, ...]
    most: int
    made: int = 0
    """Environments that were made."""
    _known: dict[tuple[Any, ...], bool] = field(default_factory=dict)
    """Whether a clause holds, by its number and the values of the sizes that it reads."""

    @staticmethod
    def of(
        space: CaseSpace,
        assignment: Assignment,
        env: Mapping[str, Any],
        pinned: Mapping[str, Any],
        most: int,
    ) -> JointSizes:
        """Those that an assignment leaves to choose: what is ``pinned`` stays, and what no tensor shows."""
        names = tuple(name for name in space.work_sizes if name not in pinned and _is_shown(name, env))
        chosen = frozenset(names)
        clauses = tuple(each for each in space.clauses if not chosen.isdisjoint(each.variables))
        return JointSizes(
            space=space, assignment=dict(assignment), env=env, names=names, clauses=clauses, most=most
        )

    def repairs(self, broken: Sequence[Clause]) -> bool:
        """Whether each of some clauses may be repaired by the sizes."""
        chosen = frozenset(self.names)
        return all(not chosen.isdisjoint(each.variables) for each in broken)

    def solved(self, rng: np.random.Generator) -> Assignment | None:
        """Values of the sizes that keep all of the clauses; None where none were found."""
        left = {name: list(self.space.variables[name]) for name in self.names}
        for _ in range(_FILTERINGS):
            for name in self.names:
                left[name] = [value for value in left[name] if self._goes(name, value, left)]
                if not left[name]:
                    return None
        rising = {name for each in self.clauses if each.is_monotone for name in each.variables}
        order = sorted(self.names, key=lambda name: (name not in rising, len(left[name])))
        values = {
            name: [left[name][int(pick)] for pick in rng.permutation(len(left[name]))] for name in order
        }
        return next(self._chosen(order, values, {}), None)

    # ------------------------------------------------------------------------------------------------

    def _goes(self, name: str, value: Any, left: Mapping[str, list[Any]]) -> bool:
        """Whether values of the other sizes may go with a value of one, as far as single clauses tell."""
        others = [other for other in self.names if other != name]
        return self._may_go_on(name, {name: value}, others, left)

    def _chosen(
        self, order: Sequence[str], values: Mapping[str, list[Any]], found: Assignment
    ) -> Iterator[Assignment]:
        """The ways to go on from the values that were ``found`` for the first sizes of an order."""
        if len(found) == len(order):
            yield found
            return
        name, behind = order[len(found)], order[len(found) + 1 :]
        for value in values[name]:
            own = {**found, name: value}
            if self.made > self.most:
                return
            if self._may_go_on(name, own, behind, values):
                yield from self._chosen(order, values, own)

    def _may_go_on(
        self, name: str, found: Assignment, behind: Sequence[str], values: Mapping[str, list[Any]]
    ) -> bool:
        """Whether ``found`` keeps the clauses that ``name`` and nothing behind it can repair, and may keep
        the others: those which rise or fall hold with the smallest or with the largest values behind it."""
        decided, waiting = self._asked(name, tuple(behind))
        if not all(self._holds(number, found) for number in decided):
            return False
        for end in (min, max) if waiting else ():
            whole = {**found, **{each: end(values[each]) for each in behind}}
            waiting = [number for number in waiting if not self._holds(number, whole)]
            if not waiting:
                return True
        return not waiting

    def _asked(self, name: str, behind: tuple[str, ...]) -> tuple[list[int], list[int]]:
        """The clauses with a size that nothing behind it can repair, those of few sizes first, and those
        which rise or fall with what is behind it."""
        known = self._orders.get((name, behind))
        if known is None:
            mine = [number for number, sizes in enumerate(self._sizes) if name in sizes]
            decided = [number for number in mine if self._sizes[number].isdisjoint(behind)]
            waiting = [n for n in mine if n not in decided and self.clauses[n].is_monotone]
            known = sorted(decided, key=lambda number: len(self._sizes[number])), waiting
            self._orders[name, behind] = known
        return known

    @cached_property
    def _orders(self) -> dict[tuple[str, tuple[str, ...]], tuple[list[int], list[int]]]:
        return {}

    @cached_property
    def _sizes(self) -> list[frozenset[str]]:
        """The sizes that each clause reads."""
        return [frozenset(self.names).intersection(each.variables) for each in self.clauses]

    def _holds(self, number: int, found: Assignment) -> bool:
        key = (number, *[found.get(name) for name in self._reads[number]])
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self.clauses[number].holds(self._environment(found))
        return known

    @cached_property
    def _reads(self) -> list[tuple[str, ...]]:
        return [tuple(name for name in self.names if name in sizes) for sizes in self._sizes]

    def _environment(self, found: Assignment) -> Mapping[str, Any]:
        """The environment with some sizes in their place; from one call to the next few of them change."""
        changed = {name: value for name, value in found.items() if self.assignment[name] != value}
        if len(changed) > 3:
            self.assignment.update(changed)
            self.env = self.space.environment(self.assignment)
            self.made += 1
        else:
            for name, value in changed.items():
                self.env = self.space.changed(self.env, self.assignment, name, value)
                self.assignment[name] = value
            self.made += 1
        return self.env


def _is_shown(name: str, env: Mapping[str, Any]) -> bool:
    kind, tensor = asks(name)
    return bool(env.get(given(tensor).name)) if kind else name in env
