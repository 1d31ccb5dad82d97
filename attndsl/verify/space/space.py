"""The space of an operator's legal calls: variables with their interesting values, and clauses.

Everything is derived from the declaration: what is optional, the dtypes and layouts, the choices and
bounds of parameters, the sizes with their role in attention, and the constraints. An assignment gives each
variable a value; it is a legal call when it keeps all clauses, and integers that keep the constraints over
elements are found for it (:mod:`attndsl.verify.data.integers`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from attndsl.expr import Expr, Symbol
from attndsl.expr.argument_facts import GIVEN, asks, dtype_of, given, layout_of, longest_of, split_of
from attndsl.expr.compiled_evaluation import Function, compiled
from attndsl.graph.nodes import Node, TopK
from attndsl.spec.contract.arguments import TensorSpec
from attndsl.spec.contract.layout import Array
from attndsl.spec.contract.split import BATCH, ONE_EACH, ROWS, batch_extent
from attndsl.verify.space.clauses import Clause, keeps, taken_apart
from attndsl.verify.space.derived_variables import DerivedVariables, forced_presence
from attndsl.verify.space.resting_variables import RestingOn, resting_on
from attndsl.verify.space.size_facts import EXTENTS
from attndsl.verify.space.values import (
    FILL,
    FILLS,
    GROUP,
    LENGTH_FILLS,
    MASK,
    MASK_FILLS,
    RECIPROCAL_ROOT,
    SELECTION_FILLS,
    SLACK,
    WARNED,
    WORKLOAD,
    WORKLOADS,
    fill_of,
    longest_keys_of,
)
from attndsl.verify.space.variable_values import VariableValues
from attndsl.verify.space.work_clauses import WorkClauses

Assignment = dict[str, Any]
_NOTHING = np.zeros(1, np.int64)
_KNOWN_TENSORS = 1 << 12
_OF_KEYS = ("T", "U", "G")
"""What integers measure on which it depends how many keys a row has."""


class _Told(NamedTuple):
    """The names under which an environment tells of a tensor, and what holds where a call leaves them open.

    ``default``: its first dtype; ``like``: the dtype that it follows; ``only``: the layout of one that has a
    single one; ``sizes``: those that each layout shows; ``carried``: variables that are told as they are.
    """

    optional: bool
    passed: str
    dtype: str
    default: str
    like: str
    layout: str
    only: str | None
    sizes: Mapping[str, frozenset[str]]
    carried: tuple[str, ...]


class _IntegerPlan(NamedTuple):
    """An integer tensor: its variables, by name, and its shapes by layout.

    ``longest`` and ``keys``: those of its elements, the second for a second row; ``fallback``: what they are
    where none of these tells; ``summed``: whether it holds prefix sums.
    """

    name: str
    passed: str
    layout: str
    longest: str
    keys: str
    fallback: int
    summed: bool
    shapes: Mapping[str, tuple[Function, ...]]


@dataclass(frozen=True)
class CaseSpace(VariableValues):
    """Variables, clauses and what an assignment means, for one operator."""

    @cached_property
    def optional(self) -> tuple[str, ...]:
        """The optional tensors."""
        return tuple(spec.name for spec in self.operator.tensors if spec.optional)

    @cached_property
    def variables(self) -> dict[str, tuple[Any, ...]]:
        """Each variable with its values."""
        found: dict[str, tuple[Any, ...]] = {}
        for spec in self.operator.tensors:
            if spec.optional:
                found[given(spec.name).name] = (False, True)
            if len(spec.dtypes) > 1 and not spec.follows:
                found[dtype_of(spec.name).name] = spec.dtypes
            if len(spec.layouts) > 1:
                found[layout_of(spec.name).name] = tuple(spec.layouts)
            if spec.split:
                found[split_of(spec.name).name] = (False, False, True)
            if spec.name in self._integer_names:
                found[fill_of(spec.name)] = LENGTH_FILLS
                if longest := self.lengths_values(spec):
                    found[longest_of(spec.name).name] = longest
                    if self._tells_keys_too(spec):
                        found[longest_keys_of(spec.name)] = self.sizes_of("T")
        for param in self.operator.params:
            if param.name not in self.derived.exact:
                found[param.name] = self.param_values(param)
        for name, dim in self.dims.items():
            if dim.definition is None and name not in self.derived.always:
                bounded = name in self.derived.bounded
                found[name] = SLACK if bounded else self.within_limits(name, self.role_values(name))
        if {"N", "K"} <= set(self.operator.axis_extents):
            found[GROUP] = self.values.group
        return {
            **found,
            FILL: SELECTION_FILLS if self._selects else FILLS,
            MASK: MASK_FILLS,
            WORKLOAD: tuple(dict.fromkeys(WORKLOADS)),
            WARNED: (False,) * 5 + (True,),
        }

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes of the computation, with all choices that calls make still open."""
        return tuple(dict.fromkeys(node for root in self.operator.roots for node in root.walk()))

    @property
    def _selects(self) -> bool:
        """Whether the largest of some values are results."""
        return any(isinstance(node, TopK) for node in self.nodes)

    @cached_property
    def forces(self) -> bool:
        """Whether a tensor tells what is selected before all else."""
        return any(isinstance(node, TopK) and node.forced is not None for node in self.nodes)

    @cached_property
    def derived(self) -> DerivedVariables:
        """Sizes and parameters that follow from others."""
        return DerivedVariables.of(self.operator)

    @cached_property
    def forced(self) -> tuple[tuple[Function | None, str, bool], ...]:
        """When which optional tensor must be passed, or must not be."""
        return forced_presence(self.operator)

    @cached_property
    def clauses(self) -> tuple[Clause, ...]:
        """Everything that a legal call keeps and that does not depend on elements of tensors."""
        found = [
            Clause(rule.text, self.repairs(rule.symbols()), holds)
            for rule in self.operator.constraints
            if not rule.tensors() and not rule.over  # those over elements are left to the integers and masks
            for rule, holds in ((each, keeps(each)) for each in taken_apart(rule))
        ]
        for spec in self.operator.tensors:
            found += self._tensor_clauses(spec)
        extents = self.operator.axis_extents
        if GROUP in self.variables:
            symbols = extents["N"].symbols() | extents["K"].symbols()
            found.append(Clause("group", (*self.repairs(symbols), GROUP), self._group_fits))
        sizes = frozenset(name for extent in extents.values() for name in self.reads(extent))
        found.append(Clause("every size is shown", self.repairs(sizes) + self._givens, self._all_shown))
        return (*found, *WorkClauses(self, sizes, self.repairs).clauses())

    def environment(self, assignment: Mapping[str, Any], made: Mapping[str, Array] | None = None) -> Any:
        """Parameters, presence, dtypes, layouts, sizes and integers under the names that constraints use.

        ``made``: the integer tensors; without them each row has the longest length that the assignment
        gives, so that sizes are upper bounds.
        """
        told, shown = self._told_by(assignment)
        env = {**told, **{name: assignment.get(name) for name in (GROUP, WORKLOAD, WARNED)}}
        for name in self._param_names:
            if name in assignment:
                env[name] = assignment[name]
        if made is not None:
            for name in self._prefix_sums:
                env[longest_of(name).name] = int(np.diff(made[name], prepend=0).max(initial=0))
        for name, definition in self._sizes:
            if definition is not None:
                env[name] = int(definition(env))
            elif name in shown and name in assignment:
                env[name] = assignment[name]
        env |= {size: 1 for size, split in self._alone if env.get(split)}
        self.derived.apply(env, shown, assignment)
        env |= dict.fromkeys(self._integer_names, _NOTHING)  # both sides of a choice by presence are read
        env |= made if made is not None else self._surrogates(assignment, env)
        self.derived.apply(env, shown, assignment)
        for name, default in self._defaults:
            if name not in env:
                try:
                    env[name] = int(default(env))
                except KeyError:
                    continue
        env[EXTENTS] = self.extents(env)
        self._take_roots(env, assignment)
        return env

    def _take_roots(self, env: dict[str, Any], assignment: Mapping[str, Any]) -> None:
        for name in self._roots:
            if assignment.get(name) == RECIPROCAL_ROOT:
                env[name] = float(max(env[EXTENTS].get("D", 1), 1)) ** -0.5

    @cached_property
    def _roots(self) -> tuple[str, ...]:
        """The parameters that may be the reciprocal root of the head size."""
        own = (name for name in self._param_names if name not in self.derived.exact)
        return tuple(name for name in own if RECIPROCAL_ROOT in self.variables[name])

    def changes(self, name: str, value: Any) -> tuple[tuple[str, Any], ...]:
        """A variable with each of its values but this one."""
        known = self._changes.get((name, value))
        if known is None:
            others = tuple((name, each) for each in self.variables[name] if each != value)
            known = self._changes[name, value] = others
        return known

    @cached_property
    def _changes(self) -> dict[tuple[str, Any], tuple[tuple[str, Any], ...]]:
        return {}

    def changed(
        self, env: Mapping[str, Any], assignment: Mapping[str, Any], name: str, value: Any
    ) -> Mapping[str, Any]:
        """The environment of an assignment with another value of one variable; ``env``: without it."""
        resting = self._resting.get(name)
        if resting is None:
            found: Mapping[str, Any] = self.environment({**assignment, name: value})
            return found
        if name not in env:  # no tensor shows this size
            return env
        then = {**env, name: value}
        for size, definition in resting.sizes:
            then[size] = int(definition(then))
        if resting.integers:
            then |= dict.fromkeys(self._integer_names, _NOTHING)
            then |= self._surrogates({**assignment, name: value}, then)
        if resting.axes:
            then[EXTENTS] = extents = dict(env[EXTENTS])
            for role, extent in resting.axes:
                try:
                    extents[role] = int(extent(then))
                except KeyError:
                    extents.pop(role, None)
        if name in self._roots or resting.moves_heads:
            self._take_roots(then, {**assignment, name: value})
        return then

    @cached_property
    def _resting(self) -> dict[str, RestingOn]:
        """The variables that can change alone, or with little else."""
        alone = {size for size, _ in self._alone}
        dims = (name for name, dim in self.dims.items() if dim.definition is None and name not in alone)
        fills = (fill_of(spec.name) for spec in self.integers)
        names = {*self._param_names, *dims, *fills, GROUP, WORKLOAD, WARNED} & self.variables.keys()
        extents = self.operator.axis_extents
        return resting_on(names, self.dims, self.derived, self.integers, extents, self.reads)

    def _told_by(self, assignment: Mapping[str, Any]) -> tuple[Mapping[str, Any], frozenset[str]]:
        """What an environment tells of tensors, and the sizes that they show. Most changes of a search are
        of sizes and leave it as it was, so that the last ones are kept."""
        key = tuple(map(assignment.get, self._telling))
        known = self._known_tensors.get(key)
        if known is None:
            if len(self._known_tensors) >= _KNOWN_TENSORS:
                self._known_tensors.clear()
            known = self._known_tensors[key] = self._tell(assignment)
        return known

    def _tell(self, assignment: Mapping[str, Any]) -> tuple[Mapping[str, Any], frozenset[str]]:
        env: dict[str, Any] = {}
        shown: set[str] = set()
        for optional, passed, dtype, first, like, layout, only, sizes, carried in self._told:
            env[passed] = present = not optional or bool(assignment[passed])
            if not present:
                env[dtype] = env[layout] = None
                continue
            env[dtype] = assignment.get(dtype) or env.get(like) or first
            if sizes:
                env[layout] = key = assignment[layout] if only is None else only
                shown |= sizes[key]
            for name in carried:
                env[name] = assignment[name]
        return env, frozenset(shown)

    @cached_property
    def _known_tensors(self) -> dict[tuple[Any, ...], tuple[Mapping[str, Any], frozenset[str]]]:
        return {}

    @cached_property
    def _telling(self) -> tuple[str, ...]:
        """The variables that tell of tensors."""
        names = (
            name for each in self._told for name in (each.passed, each.dtype, each.layout, *each.carried)
        )
        return tuple(name for name in names if name in self.variables)

    def violated(self, env: Mapping[str, Any]) -> list[Clause]:
        """The clauses that an environment breaks."""
        return [clause for clause in self.clauses if not clause.holds(env)]

    def canonical(self, assignment: Mapping[str, Any]) -> Assignment:
        """The assignment without variables that mean nothing in it."""
        env = self.environment(assignment)
        shown = {name for spec in self.present(env) for name in self._shown_by(spec, env)}
        kept = {}
        for name, value in assignment.items():
            kind, tensor = asks(name)
            if kind not in ("", GIVEN) and not env[given(tensor).name]:
                continue
            if name in self.dims and name not in shown:
                continue
            kept[name] = value
        return kept

    def present(self, env: Mapping[str, Any]) -> tuple[TensorSpec, ...]:
        """The tensors that a call passes."""
        return tuple(spec for spec in self.operator.tensors if env[given(spec.name).name])

    # --------------------------------------------------------------------------------------------

    @cached_property
    def _givens(self) -> tuple[str, ...]:
        return tuple(given(name).name for name in self.optional)

    @cached_property
    def _param_names(self) -> tuple[str, ...]:
        return tuple(param.name for param in self.operator.params)

    @cached_property
    def _sizes(self) -> tuple[tuple[str, Function | None], ...]:
        """The sizes in order, but those that are bounded by others, with what defines them."""
        return tuple(
            (name, None if dim.definition is None else compiled(dim.definition))
            for name, dim in self.dims.items()
            if dim.definition is not None or name not in self.derived.bounded
        )

    @cached_property
    def _defaults(self) -> tuple[tuple[str, Function], ...]:
        return tuple((n, compiled(dim.default)) for n, dim in self.dims.items() if dim.default is not None)

    @cached_property
    def _integer_names(self) -> tuple[str, ...]:
        return tuple(spec.name for spec in self.integers)

    @cached_property
    def _prefix_sums(self) -> tuple[str, ...]:
        return tuple(spec.name for spec in self.integers if spec.prefix_sums)

    def variable_of(self, role: str) -> str | None:
        """The variable that is the size of an axis; None where others decide it, or there is no such axis."""
        extent = self.operator.axis_extents.get(role)
        return extent.name if isinstance(extent, Symbol) and extent.name in self.variables else None

    @cached_property
    def fills_of_key_counts(self) -> tuple[str, ...]:
        """The variables that fill the integers on which it depends how many keys a row has."""
        return tuple(fill_of(spec.name) for spec in self.integers if self.measures.get(spec.name) in _OF_KEYS)

    @cached_property
    def _alone(self) -> tuple[tuple[str, str], ...]:
        """The sizes that are 1 in lists of one tensor a batch row, beside that of batch rows, with the
        variables that make lists."""
        axes = [
            (axis, spec)
            for spec in self.operator.tensors
            if spec.split
            for layout in spec.layouts.values()
            for dim in layout.dims
            for axis in dim
        ]
        found = ((axis.extent, split_of(spec.name).name) for axis, spec in axes if axis.role in ONE_EACH)
        return tuple((extent.name, split) for extent, split in found if isinstance(extent, Symbol))

    @cached_property
    def _told(self) -> tuple[_Told, ...]:
        return tuple(self._told_of(spec) for spec in self.operator.tensors)

    def _told_of(self, spec: TensorSpec) -> _Told:
        name = spec.name
        carried = [split_of(name).name] if spec.split else []
        carried += [fill_of(name)] if name in self._integer_names else []
        carried += [longest_of(name).name] if spec.prefix_sums else []
        sizes = {key: self._shown[name, key] for key in spec.layouts}
        return _Told(
            optional=spec.optional,
            passed=given(name).name,
            dtype=dtype_of(name).name,
            default=spec.dtypes[0],
            like=dtype_of(spec.dtype_like[0]).name if spec.dtype_like else "",
            layout=layout_of(name).name,
            only=next(iter(sizes)) if len(sizes) == 1 else None,
            sizes=sizes,
            carried=tuple(carried),
        )

    @cached_property
    def _shown(self) -> dict[tuple[str, str], frozenset[str]]:
        """The sizes that each layout of each tensor shows."""
        return {
            (spec.name, key): frozenset(name for size in layout.shape() for name in size.symbols())
            | (spec.list_of.symbols() if spec.list_of is not None else frozenset())
            for spec in self.operator.tensors
            for key, layout in spec.layouts.items()
        }

    def _surrogates(self, assignment: Mapping[str, Any], env: Mapping[str, Any]) -> dict[str, list[int]]:
        """Integers that make every row as long as it may be, as flat lists."""
        found = {}
        for name, passed, layout, longest, keys, fallback, summed, shapes in self._integer_plans:
            if not env[passed]:
                continue
            try:
                shape = [int(size(env)) for size in shapes[env[layout]]]
            except KeyError:
                continue
            rows = [assignment.get(longest, fallback)] * shape[-1]
            if len(shape) == 2:
                rows += [assignment.get(keys, fallback)] * shape[-1]
            found[name] = list(itertools.accumulate(rows)) if summed else rows
        return found

    @cached_property
    def _integer_plans(self) -> tuple[_IntegerPlan, ...]:
        return tuple(
            _IntegerPlan(
                name=spec.name,
                passed=given(spec.name).name,
                layout=layout_of(spec.name).name,
                longest=longest_of(spec.name).name,
                keys=longest_keys_of(spec.name),
                fallback=0 if self.measures.get(spec.name) == "G" else 1,
                summed=spec.name in self.summed,
                shapes=self.shapes[spec.name],
            )
            for spec in self.integers
        )

    def _shown_by(self, spec: TensorSpec, env: Mapping[str, Any]) -> frozenset[str]:
        return self._shown[spec.name, env[layout_of(spec.name).name]] if spec.layouts else frozenset()

    @staticmethod
    def _tells_keys_too(spec: TensorSpec) -> bool:
        """Whether it may have two rows, of queries and of keys."""
        return any(len(layout.shape()) == 2 for layout in spec.layouts.values())

    def repairs(self, symbols: Iterable[str], seen: frozenset[str] = frozenset()) -> tuple[str, ...]:
        """The variables behind ``symbols``; a derived size stands for what defines it."""
        found: dict[str, None] = {}
        for symbol in sorted(set(symbols) - seen):
            if symbol in self.variables:
                found[symbol] = None
            dim = self.dims.get(symbol)
            sources = [dim.definition, dim.default] if dim is not None else []
            for source in (*sources, *self.derived.sources(symbol)):
                if isinstance(source, Expr):
                    found |= dict.fromkeys(self.repairs(self.reads(source), seen | {symbol}))
        return tuple(found)

    def _tensor_clauses(self, spec: TensorSpec) -> list[Clause]:
        found = []
        present, dtype = given(spec.name).name, dtype_of(spec.name).name
        own = (present,) if spec.optional else ()
        free = (layout_of(spec.name).name,) if len(spec.layouts) > 1 else ()
        if whens := [layout.when for layout in spec.layouts.values() if layout.when is not None]:
            used = frozenset(name for when in whens for name in when.symbols())
            applies = self._layout_applies(spec)
            repairs = (*free, *own, *self.repairs(used))
            found.append(Clause(f"layout of {spec.name}", repairs, applies))
        if spec.split:
            split = split_of(spec.name).name
            found.append(Clause(f"rows of a list of {spec.name}", (split, *free), self._has_rows(spec)))
            found += self._list_lengths(spec)
        if spec.dtype_like and dtype in self.variables:
            likes = tuple(dtype_of(name).name for name in spec.dtype_like)
            repairs = (dtype, *own, *(name for name in likes if name in self.variables))
            found.append(Clause(f"dtype of {spec.name}", repairs, lambda env: _dtype_fits(spec, env)))
        return found

    def _list_lengths(self, spec: TensorSpec) -> Iterator[Clause]:
        """That a list of a tensor a batch row is not as long as the sequence that holds the whole tensor, as
        which it would be read."""
        split = split_of(spec.name).name
        whole = (each for each in spec.layouts.values() if spec.sequence_of and BATCH in each.roles)
        for extent in dict.fromkeys(map(batch_extent, whole)):

            def holds(env: Mapping[str, Any], count: str = extent.name) -> bool:
                return not env.get(split) or env.get(count) != spec.sequence_of

            repairs = (split, *self.repairs(extent.symbols()))
            yield Clause(f"tensors of a list of {spec.name}", repairs, holds)

    @staticmethod
    def _has_rows(spec: TensorSpec) -> Callable[[Mapping[str, Any]], bool]:
        """Whether a tensor that comes as a list has a layout with batch rows and their rows."""
        split, layout = split_of(spec.name).name, layout_of(spec.name).name
        legal = {key for key, each in spec.layouts.items() if {BATCH, ROWS} <= set(each.roles)}
        return lambda env: not env.get(split) or env[layout] in legal

    def _layout_applies(self, spec: TensorSpec) -> Callable[[Mapping[str, Any]], bool]:
        tests = self._layout_tests[spec.name]
        passed, layout = given(spec.name).name, layout_of(spec.name).name

        def applies(env: Mapping[str, Any]) -> bool:
            test = tests[env[layout]] if env[passed] else None
            return test is None or bool(test(env))

        return applies

    def layout_choices(self, env: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
        """The layouts that apply, for tensors that are passed in one that does not."""
        found = {}
        for spec in self.operator.tensors:
            if len(spec.layouts) > 1 and env[given(spec.name).name]:
                tests = self._layout_tests[spec.name]
                legal = tuple(key for key, test in tests.items() if test is None or test(env))
                if legal and env[layout_of(spec.name).name] not in legal:
                    found[layout_of(spec.name).name] = legal
        return found

    @cached_property
    def _layout_tests(self) -> dict[str, dict[str, Function | None]]:
        return {
            spec.name: {
                k: None if each.when is None else compiled(each.when) for k, each in spec.layouts.items()
            }
            for spec in self.operator.tensors
        }

    def _group_fits(self, env: Mapping[str, Any]) -> bool:
        extents = self.extents(env)
        return extents.get("N", 1) == extents.get("K", 1) * int(env[GROUP])

    def _all_shown(self, env: Mapping[str, Any]) -> bool:
        return self.dims.keys() <= env.keys()


def _dtype_fits(spec: TensorSpec, env: Mapping[str, Any]) -> bool:
    if not env[given(spec.name).name]:
        return True
    legal = spec.legal_dtypes({name: env.get(dtype_of(name).name) for name in spec.dtype_like})
    return env[dtype_of(spec.name).name] in legal
