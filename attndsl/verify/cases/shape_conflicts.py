"""Why no legal call has the sizes and settings that a user asked for: the default or the rules in the way."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from attndsl.expr.argument_facts import GIVEN, LAYOUT, asks
from attndsl.spec.binding.call import Call
from attndsl.spec.contract.constraint import Constraint
from attndsl.spec.operator.covering import choosable
from attndsl.spec.operator.operator import Operator
from attndsl.spec.operator.specialization_parameters import spelled

Find = Callable[[Mapping[str, Any]], Call | None]
"""A legal call with these values of what was left open, and all that was asked for; None if none is found."""
MOST_TRIED = 40
"""Values of settings that are tried in the place of a default."""


def default_in_the_way(operator: Operator, defaults: Mapping[str, Any], find: Find) -> str | None:
    """The one default without which there is a call, the rules that it breaks, and the option that helps.

    Args:
        operator: whose call is wanted.
        defaults: what was not asked for and has its default, by the names that conditions use.
        find: see :data:`Find`.
    """
    with warnings.catch_warnings():  # of calls that nobody asked for
        warnings.simplefilter("ignore")
        for name, other in itertools.islice(_others(operator, defaults), MOST_TRIED):
            call = find({**defaults, name: other})
            broken = [] if call is None else [*_broken(operator, call, name, defaults[name])]
            if broken:
                rules = "; ".join(dict.fromkeys(_rule(each) for each in broken))
                told = _told(operator, name, defaults[name])
                return f"{told} does not go with that: {rules}; add {_option(operator, name, other)}"
    return None


def _others(operator: Operator, defaults: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Values that a user can give in the place of a default: parameters first, then tensors to be passed."""
    legal = choosable(operator)
    for passing in (False, True):
        for name, value in defaults.items():
            kind, _ = asks(name)
            if name in legal and kind in ((GIVEN,) if passing else ("", LAYOUT)) and value is not None:
                yield from (
                    (name, other) for other in legal[name] if other != value and (other or not passing)
                )


def _broken(operator: Operator, call: Call, name: str, value: Any) -> Iterator[Constraint]:
    """The rules that a legal call breaks if a setting has another value."""
    env = {**call.env(), **call.arrays, name: value}
    for rule in operator.constraints:
        if name in rule.symbols() and not rule.warns and rule.violation(env) is not None:
            yield rule


def _rule(rule: Constraint) -> str:
    return f"'{rule.argument}' {rule.text}" if rule.argument else rule.text


def _told(operator: Operator, name: str, value: Any) -> str:
    kind, argument = asks(name)
    if kind == GIVEN:
        return f"a call without {argument}"
    return f"{name}={spelled(operator, name, value)} (by default)"


def _option(operator: Operator, name: str, value: Any) -> str:
    kind, argument = asks(name)
    if kind == GIVEN:
        return f"--feature {argument}"
    return f"--set {name}={spelled(operator, name, value)}"


def rules_in_the_way(operator: Operator, broken: Collection[str]) -> str:
    """The rules of the contract among the clauses that a search could not keep; empty without one."""
    found = dict.fromkeys(_rule(rule) for rule in operator.constraints if rule.text in broken)
    return f"in the way: {'; '.join(found)}" if found else ""
