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
class DerivedVariable:
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
class DerivedVariables:
    """All of an operator. ``exact`` and ``bounded``: the names that follow in either way; ``always``: the
    sizes whose value never has to be chosen."""

    variables: tuple[DerivedVariable, ...]
    exact: frozenset[str]
    bounded: frozenset[str]
    always: frozenset[str] = field(default=frozenset())

    @staticmethod
    def of(operator: Operator) -> DerivedVariables:
        """Those that the constraints of ``operator`` make."""
        found = tuple(each for rule in operator.constraints for each in _derived(operator, rule))
        bounded = frozenset(each.name for each in found if each.bound)
        params = frozenset(spec.name for spec in operator.params)
        exact = frozenset(each.name for each in found) & params  # bounds are of sizes alone
        always = frozenset(each.name for each in found if not each.bound and each.when is None) - params
        return DerivedVariables(found, exact, bounded, always)

    @cached_property
    def _functions(self) -> tuple[tuple[str, Function | None, Function, bool], ...]:
        return tuple((each.name, each.applies, each.value, each.bound) for each in self.variables)

    def sources(self, name: str) -> tuple[Expr, ...]:
        """What ``name`` may follow from."""
        return tuple(each.source for each in self.variables if each.name == name)

    def apply(self, env: dict[str, Any], shown: frozenset[str], assignment: Mapping[str, Any]) -> None:
        """Give the derived variables their values, as far as ``env`` tells what they follow from."""
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


def _derived(operator: Operator, rule: Constraint) -> Iterator[DerivedVariable]:
    """The size, or the parameter that is a size, that a comparison gives; masks' elements give none."""
    condition = rule.condition
    integers = {spec.name for spec in operator.tensors if spec.kind == "lengths"}
    if not isinstance(condition, Compare) or rule.over or not rule.tensors() <= integers:
        return
    if rule.warns or rule.target:
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
            yield DerivedVariable(one.name, other, rule.when, False)
            return
        if condition.op == "==" and one.name in params and by_sizes and rule.when is None:
            yield DerivedVariable(one.name, other, None, False)
            return
        if condition.op == ("<=" if swapped else ">=") and one.name in free and read:
            yield DerivedVariable(one.name, other, rule.when, True)
            return
