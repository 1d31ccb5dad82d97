"""A case with other values of some of its variables: how a case is made smaller, and made again."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from attndsl.base.errors import UserError
from attndsl.expr.argument_facts import GIVEN, given, kind_of
from attndsl.spec.binding.call import Call
from attndsl.spec.errors import CallError
from attndsl.verify.cases.case import Case, kernel_variables
from attndsl.verify.data.integers import Integers
from attndsl.verify.space.solve import solve
from attndsl.verify.space.values import FILL, LONG_FILLS, MASK, WARNED, WORKLOAD

_SALT = 1 << 23
_ALWAYS = {WORKLOAD: "any"}
"""What a case is about is asked of streams alone."""
_PLAIN: Mapping[str, Any] = {FILL: "normal", MASK: "random", WARNED: False}
"""The values that tell least."""


class WrongChange(UserError, ValueError):
    """A change of a case that names no variable of it, a value that it never has, or makes no legal call."""


def changed(case: Case, changes: Mapping[str, Any]) -> Case | None:
    """The case with other values of these variables; None where that is no legal call.

    Lengths and other integers stay, as far as they fit. The same changes give the same case.
    """
    space, assignment = case.space, {**case.assignment, **_ALWAYS, **changes}
    if space.violated(space.environment(assignment)):
        return None
    rng = np.random.default_rng([case.seed, case.number, case.attempt, _SALT])
    integers = Integers(space, assignment, rng)
    integers.start_from(case.integers)
    solved = integers.solve()
    if solved is None:
        return None
    found = replace(case, assignment=assignment, integers=solved)
    try:
        found.outline()
    except CallError:
        return None
    return found


def with_changes(case: Case, texts: Mapping[str, str]) -> Case:
    """The case with other values of variables, by the texts of these.

    Raises:
        WrongChange: no such variable, it never has such a value, or the changes make no legal call.
    """
    changes = {}
    for name, text in texts.items():
        if name not in case.assignment:
            raise WrongChange(
                f"case {case.number} has no variable '{name}'; it has {_named(case.assignment)}"
            )
        values = {str(value): value for value in (*case.space.variables[name], case.assignment[name])}
        if text not in values:
            raise WrongChange(f"'{name}' is never '{text}' in a case; it is one of {_named(values)}")
        changes[name] = values[text]
    found = changed(case, changes)
    if found is None:
        told = ", ".join(f"{name}={value}" for name, value in changes.items())
        raise WrongChange(
            f"case {case.number} with {told} is no legal call; change other variables with these"
        )
    return found


def smaller(case: Case, changes: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Changes, beside these, that may make a case smaller or plainer: one variable at a time, the smallest
    value first, and what must go with it. Those that keep the kernel come first."""
    kernel = set(kernel_variables(case.space))
    present = {**case.assignment, **_ALWAYS, **changes}
    told = case.space.canonical(present)
    for of_kernel in (False, True):
        for name in told:
            if (name in kernel) == of_kernel:
                for value in _plainer(case.space.variables.get(name, ()), name, present[name]):
                    found = _repaired(case, present, name, value, kernel)
                    if found is not None:
                        yield {
                            each: now
                            for each, now in found.items()
                            if each not in _ALWAYS and now != case.assignment[each]
                        }


def work_of_case(call: Call) -> tuple[int, int]:
    """How large a call is: its scores and all elements of its tensors; then how many tensors it passes."""
    extents = call.extents
    scores = math.prod(max(extents.get(axis, 1), 1) for axis in "BNQT")
    lists = sum(array.size for entries in call.lists.values() for array in entries)
    elements = sum(array.size for array in call.arrays.values()) + lists
    return scores + elements, len(call.arrays) + len(call.lists)


def _plainer(values: tuple[Any, ...], name: str, now: Any) -> tuple[Any, ...]:
    if name in _PLAIN:
        return () if now == _PLAIN[name] else (_PLAIN[name],)
    if kind_of(name) == GIVEN:
        return (False,) if now else ()
    if isinstance(now, int) and not isinstance(now, bool):
        whole = {each for each in values if isinstance(each, int) and not isinstance(each, bool)}
        return tuple(sorted(each for each in whole if 0 < each < now))
    return ("full",) if now in LONG_FILLS and now != "full" else ()


def _repaired(
    case: Case, present: Mapping[str, Any], name: str, value: Any, kernel: set[str]
) -> dict[str, Any] | None:
    """The assignment with a value, and with others of those variables alone that do not go with it."""
    space, wanted = case.space, {**present, name: value}
    broken = space.violated(space.environment(wanted))
    if not broken:
        return wanted
    free = {each for clause in broken for each in clause.variables} - {name, *_ALWAYS}
    free -= set() if name in kernel else kernel
    pins = {each: now for each, now in wanted.items() if each not in free}
    rng = np.random.default_rng([case.seed, case.number, case.attempt, _SALT + 1])
    found = solve(space, rng, pins, walks=1)
    return None if found is None else {**found, **_kept_absent(case, found)}


def _kept_absent(case: Case, found: Mapping[str, Any]) -> dict[str, Any]:
    """A repair passes no optional tensor that the case did not pass."""
    names = (given(each).name for each in case.space.optional)
    return {name: False for name in names if found.get(name) and not case.assignment[name]}


def _named(names: Mapping[str, Any]) -> str:
    return ", ".join(map(str, names))
