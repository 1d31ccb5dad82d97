"""Legal choices of presence, parameters, dtypes and layouts, as near to the defaults as the contract allows.

What is decided before any size is known: the constraints that read no size and no element, the conditions
of layouts, and the dtypes that follow each other. A choice is found by repairing a broken constraint at a
time, cheapest changes first.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple

from attndsl.expr import Compare, Const, Expr
from attndsl.expr.argument_facts import GIVEN, dtype_of, given, kind_of, layout_of, split_of
from attndsl.expr.compiled_evaluation import evaluator
from attndsl.graph.specialize import asked_conditions
from attndsl.spec.contract.arguments import ParamSpec, TensorSpec
from attndsl.spec.contract.contract import Contract
from attndsl.spec.operator.specialization_parameters import default_specialization

MOST_TRIED = 3000
"""Choices that are looked at before a search is given up."""

Goal = Callable[["Choice"], bool]


@dataclass(frozen=True)
class Choice:
    """What a call settles: the optional tensors that it passes, and the values of parameters, dtypes, layouts
    and splits by the names that conditions use."""

    present: frozenset[str]
    settings: Mapping[str, Any]


@dataclass(frozen=True)
class _Rule:
    """Something that a legal choice keeps, and the variables that can repair it."""

    variables: tuple[str, ...]
    holds: Callable[[Mapping[str, Any]], bool]


_Values = dict[str, Any]


class _Told(NamedTuple):
    """The names under which an environment tells of a tensor, with its first dtype and layout, and the
    dtype that it follows."""

    optional: bool
    passed: str
    dtype: str
    like: str
    first: Any
    layout: str
    first_layout: Any
    split: str


def nearest_choice(operator: Contract, wanted: Mapping[str, Any], goal: Goal | None = None) -> Choice | None:
    """The legal choice with these values that changes fewest defaults, parameters least of all; None if none
    was found.

    Args:
        wanted: values by the names that conditions use: ``given(x)``, ``dtype(x)``, ``layout(x)``,
            ``split(x)`` and parameters.
        goal: what the choice has to achieve besides; other optional tensors are passed to reach it.
    """
    return _space(operator).search(wanted, goal)


def choosable(operator: Contract) -> Mapping[str, tuple[Any, ...]]:
    """What calls can choose, with the values that conditions can tell apart."""
    return _space(operator).variables


@cache
def _space(operator: Contract) -> _Space:
    return _Space(operator)


class _Space:
    """The choices of one operator."""

    def __init__(self, operator: Contract) -> None:
        self.operator = operator
        self.first = default_specialization(operator)

    @cached_property
    def variables(self) -> dict[str, tuple[Any, ...]]:
        """What can be chosen, with the values that may matter."""
        found: dict[str, tuple[Any, ...]] = {}
        for spec in self.operator.tensors:
            if spec.optional:
                found[given(spec.name).name] = (False, True)
            if len(spec.dtypes) > 1 and not spec.follows:
                found[dtype_of(spec.name).name] = spec.dtypes
            if len(spec.layouts) > 1:
                found[layout_of(spec.name).name] = tuple(spec.layouts)
            if spec.split:
                found[split_of(spec.name).name] = (False, True)
        for param in self.operator.params:
            values = self._telling(param)
            if values:
                found[param.name] = values
        return found

    def _telling(self, param: ParamSpec) -> tuple[Any, ...]:
        """The values of a parameter that conditions can tell apart, its default first.

        None of bytes, and none of a parameter without default that no condition of the computation asks for.
        """
        if param.type is bytes or (param.name not in self.first and not param.choices):
            return ()
        if param.choices:
            return tuple(dict.fromkeys(param.choices.values()))
        if param.type is bool:
            return (False, True)
        default = self.first[param.name]
        if param.type is str:
            return (default,)
        around = (number + step for number in self._compared(param.name) for step in (0, 1, -1))
        legal = (param.type(value) for value in around)
        within = (value for value in legal if all(b.evaluate({param.name: value}) for b in param.bounds()))
        return tuple(dict.fromkeys((default, *within)))

    def _compared(self, name: str) -> Iterator[int | float]:
        """The numbers in comparisons of a parameter, of constraints and of ``attend.when``."""
        rules = [part for rule in self.operator.constraints for part in (rule.condition, rule.when)]
        for part in (*rules, *asked_conditions(self.operator.roots)):
            for node in part.walk() if part is not None else ():
                if isinstance(node, Compare) and name in node.symbols():
                    numbers = (each.value for each in node.walk() if isinstance(each, Const))
                    yield from (number for number in numbers if isinstance(number, int | float))

    @cached_property
    def rules(self) -> tuple[_Rule, ...]:
        return tuple(rule for rule in self._rules() if rule.variables)

    def _rules(self) -> Iterator[_Rule]:
        known = self.environment({name: values[0] for name, values in self.variables.items()}).keys()
        for rule in self.operator.constraints:
            if rule.decided_by(known) and not rule.warns:
                yield _Rule(self._variables(rule.symbols()), _keeps(rule.condition, rule.when))
        for spec in self.operator.tensors:
            whens = [layout.when for layout in spec.layouts.values() if layout.when is not None]
            symbols = {name for when in whens for name in when.symbols()}
            if whens and symbols <= known:
                own = (layout_of(spec.name).name, given(spec.name).name)
                yield _Rule(self._variables((*own, *symbols)), _has_layout(spec))
            if spec.dtype_like and not spec.follows:
                symbols = {dtype_of(name).name for name in (spec.name, *spec.dtype_like)}
                yield _Rule(self._variables((given(spec.name).name, *symbols)), _has_dtype(spec))

    def _variables(self, symbols: Iterable[str]) -> tuple[str, ...]:
        return tuple(name for name in self.variables if name in set(symbols))

    def environment(self, values: Mapping[str, Any]) -> _Values:
        """The symbols of conditions; an absent tensor has no dtype and no layout."""
        env: _Values = dict(self._defaults)
        for name in self._plain:
            env[name] = values[name]
        _tell(env, self._told, values)
        return env

    def _after(self, env: _Values, values: Mapping[str, Any], name: str) -> _Values:
        """The symbols after a change of one variable, from those before it."""
        changed = dict(env)
        if kind_of(name):
            _tell(changed, self._affected[name], values)
        else:
            changed[name] = values[name]
        return changed

    @cached_property
    def _affected(self) -> dict[str, tuple[_Told, ...]]:
        """By variable of a tensor, what is told of that tensor and of those that follow its dtype."""
        found = {}
        for name in self.variables:
            reached, dtypes = list[_Told](), set[str]()
            for each in self._told:
                if name in (each.passed, each.dtype, each.layout, each.split) or each.like in dtypes:
                    reached.append(each)
                    dtypes.add(each.dtype)
            found[name] = tuple(reached)
        return found

    @cached_property
    def _defaults(self) -> _Values:
        return {name: value for name, value in self.first.items() if not kind_of(name)}

    @cached_property
    def _plain(self) -> tuple[str, ...]:
        return tuple(name for name in self.variables if not kind_of(name))

    @cached_property
    def _told(self) -> tuple[_Told, ...]:
        return tuple(self._told_of(spec) for spec in self.operator.tensors)

    def _told_of(self, spec: TensorSpec) -> _Told:
        dtype, layout = dtype_of(spec.name).name, layout_of(spec.name).name
        return _Told(
            optional=spec.optional,
            passed=given(spec.name).name,
            dtype=dtype,
            like=dtype_of(spec.dtype_like[0]).name if spec.dtype_like else "",
            first=self.first[dtype],
            layout=layout,
            first_layout=self.first[layout],
            split=split_of(spec.name).name,
        )

    def search(self, wanted: Mapping[str, Any], goal: Goal | None) -> Choice | None:
        start = {name: self._default(name, choices) for name, choices in self.variables.items()}
        unknown = wanted.keys() - start.keys()
        if any(self.environment(start).get(name) != wanted[name] for name in unknown):
            return None
        start |= {name: value for name, value in wanted.items() if name in start}
        choosable, order = [name for name in start if name not in wanted], itertools.count()
        waiting, seen = [(0, next(order), start, self.environment(start))], {_key(start)}
        for _ in range(MOST_TRIED):
            if not waiting:
                return None
            cost, _, values, env = heapq.heappop(waiting)
            broken = next((rule for rule in self.rules if not rule.holds(env)), None)
            if broken is None and (goal is None or goal(self._choice(env))):
                return self._choice(env)
            free = {name for name in choosable if values[name] == start[name]}
            if any(free.isdisjoint(rule.variables) and not rule.holds(env) for rule in self.rules):
                continue  # nothing that may still change mends it
            for name, other, changed in self._changes(values, env, free, broken):
                if _key(other) not in seen:
                    seen.add(_key(other))
                    heapq.heappush(waiting, (cost + _cost(name), next(order), other, changed))
        return None

    def _default(self, name: str, choices: tuple[Any, ...]) -> Any:
        return self.first[name] if name in self.first else choices[0]

    def _changes(
        self, values: _Values, env: _Values, free: Collection[str], broken: _Rule | None
    ) -> list[tuple[str, _Values, _Values]]:
        """Variables, and values with which the broken rule holds, with their symbols; where no single change
        mends it, all that it depends on.

        Without a broken rule, what may lead to the goal: one more optional tensor.
        """
        asked = self.variables if broken is None else broken.variables
        names = [name for name in asked if name in free and (broken or kind_of(name) == GIVEN)]
        changes = []
        for name in names:
            for each in self.variables[name]:
                if each != values[name]:
                    other = values | {name: each}
                    changes.append((name, other, self._after(env, other, name)))
        if broken is None:
            return changes
        return [each for each in changes if broken.holds(each[2])] or changes

    def _choice(self, env: _Values) -> Choice:
        passed = frozenset(spec.name for spec in self.operator.tensors if env[given(spec.name).name])
        return Choice(passed, {name: value for name, value in env.items() if kind_of(name) != GIVEN})


def _tell(env: _Values, told: Iterable[_Told], values: Mapping[str, Any]) -> None:
    """Sets what an environment tells of tensors."""
    for optional, passed, dtype, like, first, layout, first_layout, split in told:
        here = env[passed] = not optional or bool(values[passed])
        env[dtype] = (values.get(dtype) or env.get(like) or first) if here else None
        env[layout] = values.get(layout, first_layout) if here else None
        env[split] = bool(values.get(split)) and here


def _key(values: _Values) -> tuple[Any, ...]:
    return tuple(values.values())


def _cost(name: str) -> int:
    """Parameters say what is asked for; which tensors are passed, and how, follows from that."""
    return 1 if name.endswith(")") else 3


def _keeps(condition: Expr, when: Expr | None) -> Callable[[Mapping[str, Any]], bool]:
    asked, kept = None if when is None else evaluator(when), evaluator(condition)

    def holds(env: Mapping[str, Any]) -> bool:
        try:
            return (asked is not None and not asked(env)) or bool(kept(env))
        except ZeroDivisionError:  # another constraint forbids it
            return False

    return holds


def _has_layout(spec: TensorSpec) -> Callable[[Mapping[str, Any]], bool]:
    """Whether the layout of a tensor is one that applies."""

    def holds(env: Mapping[str, Any]) -> bool:
        if not env[given(spec.name).name]:
            return True
        when = spec.layouts[env[layout_of(spec.name).name]].when
        return when is None or bool(when.evaluate(env))

    return holds


def _has_dtype(spec: TensorSpec) -> Callable[[Mapping[str, Any]], bool]:
    """Whether a tensor that may follow others in dtype does, or has one of its own."""

    def holds(env: Mapping[str, Any]) -> bool:
        legal = spec.legal_dtypes({name: env[dtype_of(name).name] for name in spec.dtype_like})
        return not env[given(spec.name).name] or env[dtype_of(spec.name).name] in legal

    return holds
