"""Clauses: conditions over the environment of an assignment, each with the variables that can repair it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from attndsl.expr.compiled_evaluation import Function, compiled
from attndsl.expr.conditions import conjuncts
from attndsl.spec.contract.constraint import Constraint
from attndsl.verify.space.values import WARNED


@dataclass(frozen=True)
class Clause:
    """A condition over the environment of an assignment.

    ``variables``: what can repair it; ``gap``: how far an environment is from keeping it, where that can be
    told, and ``most``: the largest with which it holds: a search then also takes changes that only come
    nearer, as a product of several sizes needs more than one.
    """

    name: str
    variables: tuple[str, ...]
    holds: Callable[[Mapping[str, Any]], bool]
    gap: Callable[[Mapping[str, Any]], float] | None = None
    most: float = 0


def measured(
    name: str, variables: tuple[str, ...], gap: Callable[[Mapping[str, Any]], float], most: float = 0
) -> Clause:
    """The clause that ``gap`` is no larger than ``most``."""
    return Clause(name, variables, lambda env: gap(env) <= most, gap, most)


def taken_apart(rule: Constraint) -> tuple[Constraint, ...]:
    """The constraint with each of the conditions that it asks for at once: one change seldom repairs all."""
    return tuple(replace(rule, condition=part) for part in conjuncts(rule.condition))


def keeps(rule: Constraint) -> Function:
    """Whether a constraint holds; one over what is absent does. Warnings may be asked for."""
    condition, when = compiled(rule.condition), None if rule.when is None else compiled(rule.when)
    soft = rule.warns
    if when is None and not soft:
        return _kept(condition)

    def holds(env: Mapping[str, Any]) -> bool:
        try:
            return (soft and env[WARNED]) or (when is not None and not when(env)) or bool(condition(env))
        except KeyError:
            return True
        except ZeroDivisionError:  # of a size that is 0: another constraint forbids it
            return False

    return holds


def _kept(condition: Function) -> Function:
    """Whether a condition holds that is always asked, as :func:`keeps` tells."""

    def holds(env: Mapping[str, Any]) -> bool:
        try:
            return bool(condition(env))
        except KeyError:
            return True
        except ZeroDivisionError:
            return False

    return holds
