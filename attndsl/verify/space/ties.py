"""Sizes and parameters that follow from others: ``sum(lengths) = tokens`` makes tokens, not lengths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from attndsl.expr import Compare, Const, Expr, Symbol
from attndsl.expr.argument_facts import GIVEN, kind_of
from attndsl.expr.compiled_evaluation import Function, compiled
from attndsl.spec.contract.constraint import Constraint
from attndsl.spec.operator.operator import Operator


@dataclass(frozen=True)
class Tie:
    """``name`` is ``source`` where ``when`` holds; ``bound``: at least that, and some more."""

    name: str
    source: Expr
    when: Expr | None
    bound: bool

    @cached_property
    def value(self) -> Function:
        """The source as a function."""
        return compiled(self.source)

    @cached_property
    def applies(self) -> Function | None:
        """The condition as a function."""
        return None if self.when is None else compiled(self.when)


@dataclass(frozen=True)
class Ties:
    """All of an operator. ``exact`` and ``bounded``: the names that are tied in either way; ``always``: the
    sizes whose value never has to be chosen."""

    ties: tuple[Tie, ...]
    exact: frozenset[str]
    bounded: frozenset[str]
    always: frozenset[str] = field(default=frozenset())

    @staticmethod
    def of(operator: Operator) -> Ties:
        """The ties that the constraints of ``operator`` make."""
        found = tuple(tie for rule in operator.constraints for tie in _ties(operator, rule))
        bounded = frozenset(tie.name for tie in found if tie.bound)
        exact = frozenset(tie.name for tie in found if not tie.bound)
        params = frozenset(spec.name for spec in operator.params)
        always = frozenset(tie.name for tie in found if not tie.bound and tie.when is None) - params
        return Ties(found, exact & params, bounded, always)

    @cached_property
    def _functions(self) -> tuple[tuple[str, Function | None, Function, bool], ...]:
        return tuple((tie.name, tie.applies, tie.value, tie.bound) for tie in self.ties)

    def sources(self, name: str) -> tuple[Expr, ...]:
        """What ``name`` may follow from."""
        return tuple(tie.source for tie in self.ties if tie.name == name)

    def apply(self, env: dict[str, Any], shown: set[str], assignment: Mapping[str, Any]) -> None:
        """Give the tied names their values, as far as ``env`` tells what they follow from."""
        least: dict[str, int] = {}
        exact: set[str] = set()
        for name, applies, value_of, bound in self._functions:
            if name not in shown and name not in self.exact:
                continue
            try:
                if applies is not None and not applies(env):
                    continue
                value = value_of(env)
            except KeyError:
                continue
            if bound:
                least[name] = max(least.get(name, 0), int(value))
            else:
                env[name] = value
                exact.add(name)
        for name in (self.bounded & shown) - exact:
            env[name] = least.get(name, 1) + int(assignment[name])


def forced_presence(operator: Operator) -> tuple[tuple[Function | None, str, bool], ...]:
    """The constraints that demand or forbid an optional tensor: when, its variable, whether it is passed."""
    found = []
    for rule in operator.constraints:
        condition = rule.condition
        when = None if rule.when is None else compiled(rule.when)
        if rule.tensors() or rule.over:
            continue
        if isinstance(condition, Symbol) and kind_of(condition.name) == GIVEN:
            found.append((when, condition.name, True))
        if isinstance(condition, Compare) and _is_absence(condition):
            assert isinstance(condition.left, Symbol)
            found.append((when, condition.left.name, False))
    return tuple(found)


def _is_absence(condition: Compare) -> bool:
    left, right = condition.left, condition.right
    presence = isinstance(left, Symbol) and kind_of(left.name) == GIVEN
    return presence and condition.op == "==" and isinstance(right, Const) and not right.value


def _ties(operator: Operator, rule: Constraint) -> Iterator[Tie]:
    """The size, or the parameter that is a size, that a comparison gives; masks' elements give none."""
    condition = rule.condition
    integers = {spec.name for spec in operator.tensors if spec.kind == "lengths"}
    if not isinstance(condition, Compare) or rule.over or not rule.tensors() <= integers:
        return
    if issubclass(rule.error, Warning) or rule.target:
        return
    dims = operator.dims_by_name
    free = {name for name, dim in dims.items() if dim.definition is None}
    params = {spec.name for spec in operator.params}
    for one, other, swapped in (
        (condition.left, condition.right, False),
        (condition.right, condition.left, True),
    ):
        if not isinstance(one, Symbol) or isinstance(other, Const):
            continue
        read = rule.tensors()
        by_sizes = bool(other.symbols()) and other.symbols() <= set(dims)
        if condition.op == "==" and one.name in free and (read or by_sizes):
            yield Tie(one.name, other, rule.when, False)
            return
        if condition.op == "==" and one.name in params and by_sizes and rule.when is None:
            yield Tie(one.name, other, None, False)
            return
        if condition.op == ("<=" if swapped else ">=") and one.name in free and read:
            yield Tie(one.name, other, rule.when, True)
            return
