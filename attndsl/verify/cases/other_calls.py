"""Calls that differ from one in a feature: without it, or with another value, layout or entry in its place.

They need not be legal; they stand for what a kernel that ignored the feature would compute. Where another
value of a choice stores tensors otherwise, the same bytes are read as it has them; tensors that it does not
take are left out, and in the place of those that it takes besides, some numbers are read.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from attndsl.expr import Symbol
from attndsl.expr.argument_facts import dtype_of, given, layout_of
from attndsl.graph.errors import GraphError
from attndsl.graph.nodes import expressions_of, names_read
from attndsl.spec.binding.call import Call
from attndsl.spec.contract.arguments import DTYPES, ParamSpec, TensorSpec
from attndsl.spec.contract.layout import Array, Layout

_MOST_CHOICES = 3
"""Other values of a choice that are tried."""
_SOME_NUMBERS = (0.25, -3.0, 1.0, 0.5, -0.75, 2.0, -1.5)
"""In the place of a tensor that is not passed: neighbours differ, also where they are few apart."""
_LISTED_CALLS = 6
"""Other calls in which what a layout stands for is another."""
_MOST_ELEMENTS = 1 << 23
"""Of a tensor in another layout: one that is as large as all scores may have billions."""


def other_calls(call: Call, feature: str) -> Iterator[Call]:
    """Calls without a feature, as :func:`attndsl.verify.cases.features.declared_features` names them, or with
    another value in its place. None where nothing that is computed depends on it."""
    operator = call.operator
    named, value = feature.partition("=")[::2]
    for param in operator.params:
        if param.name == named and value:
            yield from itertools.islice(_with_other_choices(call, param), _MOST_CHOICES)
    for spec in operator.tensors:
        if feature == spec.name:
            yield _without(call, spec.name)
            yield _with_other_values(call, spec.name)
        elif feature == f"{spec.name} as a list":
            yield _with_other_values(call, spec.name)
        elif feature.startswith(f"{spec.name} as "):
            yield from _in_other_layouts(call, spec)


def may_matter(call: Call, feature: str) -> bool:
    """Whether anything that the call computes or stores depends on a feature, whatever the numbers are."""
    tensors = {spec.name: spec for spec in call.operator.tensors}
    if feature in tensors:
        return feature in names_read(call.graph.outputs)
    return "=" not in feature or next(other_calls(call, feature), None) is not None


# Choices ----------------------------------------------------------------------------------------------------


def _with_other_choices(call: Call, param: ParamSpec) -> Iterator[Call]:
    """The calls with another value of a parameter whose computation, layouts or tensors are others."""
    own, is_read = call.params[param.name], param.name in _symbols_read(call)
    values = [False, True] if param.type is bool else [*dict.fromkeys(param.choices.values())]
    for value in values:
        if value != own:
            other = _with_choice(call, param.name, value)
            stored_alike = other.layouts == call.layouts and other.present == call.present
            if is_read or not stored_alike or _computation(other) != _computation(call):
                yield other


def _computation(call: Call) -> str | None:
    """What a call computes; None where its parameters do not go together."""
    try:
        return call.graph.key
    except GraphError:
        return None


def _with_choice(call: Call, name: str, value: Any) -> Call:
    """The call with another value of a parameter, and the tensors and layouts that go with it."""
    other = replace(call, params={**call.params, name: value})
    for spec in call.operator.tensors:
        if spec.optional and _is_broken(other, given(spec.name)) and not _is_broken(call, given(spec.name)):
            other = _without(other, spec.name) if spec.name in other.present else _with_some(other, spec)
    for each in [each for each in other.layouts if each in other.arrays]:
        spec, key = call.operator.tensor(each), other.layouts[each]
        if not _is_meant(spec.layouts[key], other) and _is_meant(spec.layouts[key], call):
            other = next((found for found in _meant_layouts(other, spec)), other)
    return other


def _is_broken(call: Call, presence: Symbol) -> bool:
    """Whether the parameters demand that a tensor is passed which is not, or the other way round."""
    env = call.env()
    return any(
        rule.early and rule.condition.symbols() == {presence.name} and rule.violation(env) is not None
        for rule in call.operator.constraints
    )


def _is_meant(layout: Layout, call: Call) -> bool:
    return layout.when is None or bool(layout.when.evaluate(call.env()))


def _meant_layouts(call: Call, spec: TensorSpec) -> Iterator[Call]:
    """The call with a tensor in the layouts that its parameters allow, those of as many elements first."""
    meant = [key for key, layout in spec.layouts.items() if _is_meant(layout, call)]
    allowed = [each for key in meant if (each := _in_layout(call, spec, key)) is not None]
    size = call.arrays[spec.name].size
    yield from sorted(allowed, key=lambda each: each.arrays[spec.name].size != size)


def _symbols_read(call: Call) -> frozenset[str]:
    """The sizes and parameters from which the results of a call are computed, with where they are stored."""
    layouts = (layout for spec in call.operator.tensors for layout in spec.layouts.values())
    outputs = (layout for spec in call.operator.outputs for layout in spec.layouts.values())
    found = (
        *expressions_of(call.graph.outputs),
        *call.operator.axis_extents.values(),
        *(size for layout in (*layouts, *outputs) for size in layout.shape()),
    )
    return frozenset().union(*(each.symbols() for each in found))


# Tensors ----------------------------------------------------------------------------------------------------


def _without(call: Call, name: str) -> Call:
    absent = {given(name).name: False, dtype_of(name).name: None, layout_of(name).name: None}
    return replace(
        call,
        arrays={each: array for each, array in call.arrays.items() if each != name},
        lists={each: entries for each, entries in call.lists.items() if each != name},
        layouts={each: key for each, key in call.layouts.items() if each != name},
        env_extra={**call.env_extra, **absent},
    )


def _with_some(call: Call, spec: TensorSpec) -> Call:
    """The call with some numbers as a tensor that it does not pass, in the first layout that may be."""
    dtype = call.dtype if call.dtype in spec.dtypes or spec.dtype_like else spec.dtypes[0]
    like = {given(spec.name).name: True, dtype_of(spec.name).name: dtype}
    numbers = np.asarray(_SOME_NUMBERS if dtype not in _INTEGERS else (0, 0), DTYPES[dtype])
    passed = replace(call, arrays={**call.arrays, spec.name: numbers}, env_extra={**call.env_extra, **like})
    for key, layout in spec.layouts.items():
        found = _in_layout(passed, spec, key) if _is_meant(layout, call) else None
        if found is not None:
            return found
    return call


_INTEGERS = frozenset(name for name, dtype in DTYPES.items() if dtype.kind in "iu")


def _with_other_values(call: Call, name: str) -> Call:
    if name in call.lists:
        return replace(call, lists={**call.lists, name: tuple(map(_changed, call.lists[name]))})
    return replace(call, arrays={**call.arrays, name: _changed(call.arrays[name])})


def _changed(array: Array) -> Array:
    """Other values: flags turned over, integers one less where that is none below 0, numbers moved."""
    if array.dtype.kind == "b":
        return np.asarray(~array)
    if array.dtype.kind in "iu":
        return np.where(array > 0, array - 1, array + 1).astype(array.dtype)
    with np.errstate(over="ignore"):
        return np.asarray(1.5 * array.astype(np.float64) + 0.25).astype(array.dtype)


# Layouts ----------------------------------------------------------------------------------------------------


def _in_other_layouts(call: Call, spec: TensorSpec) -> Iterator[Call]:
    """The same bytes in each other layout of as many elements, unless that reads the same.

    A layout that other choices have stands for these: the calls with another value of what its condition
    asks. Where nothing else can be read, it must be read at all.
    """
    own, array = call.layouts[spec.name], call.arrays.get(spec.name)
    if array is None:
        yield _with_other_values(call, spec.name)
        return
    steps, found = _steps(spec.layouts[own], {**call.env(), **call.arrays}), False
    for key, layout in spec.layouts.items():
        other = _in_layout(call, spec, key) if key != own else None
        if other is None or other.arrays[spec.name].size != array.size:
            continue
        if spec.indexed or _steps(layout, {**other.env(), **other.arrays}) != steps:
            found = True
            yield other
    yield from itertools.islice(_without_what_it_stands_for(call, spec), _LISTED_CALLS)
    if not found:
        yield _with_other_values(call, spec.name)


def _without_what_it_stands_for(call: Call, spec: TensorSpec) -> Iterator[Call]:
    """The calls with other values of the parameters that a layout's condition reads, where it is none of
    theirs."""
    condition = spec.layouts[call.layouts[spec.name]].when
    for param in call.operator.params if condition is not None else ():
        if condition is not None and param.name in condition.symbols():
            for other in _with_other_choices(call, param):
                if not condition.evaluate(other.env()):
                    yield other


def _in_layout(call: Call, spec: TensorSpec, key: str) -> Call | None:
    """The same bytes in another layout, again and again where it has more elements; None where it has a size
    that nothing tells, or more elements than can be told apart in reasonable time."""
    layout, array = spec.layouts[key], call.arrays[spec.name]
    sizes = _with_sizes(call, layout)
    env = {**call.env(), **sizes, **call.arrays}
    try:
        shape = tuple(int(size.evaluate(env)) for size in layout.shape())
    except (KeyError, TypeError):
        return None
    if any(size < 0 for size in shape) or math.prod(shape) > max(_MOST_ELEMENTS, array.size):
        return None
    return replace(
        call,
        dims={**call.dims, **sizes},
        arrays={**call.arrays, spec.name: _again_and_again(array, shape)},
        layouts={**call.layouts, spec.name: key},
        env_extra={**call.env_extra, layout_of(spec.name).name: key},
    )


def _again_and_again(array: Array, shape: tuple[int, ...]) -> Array:
    """As :func:`numpy.resize`, which takes a part for each repetition, millions for a few numbers."""
    count = math.prod(shape)
    found = np.empty(count, array.dtype)
    done = min(array.size, count)
    found[:done] = array.reshape(-1)[:done]
    while 0 < done < count:
        more = min(done, count - done)  # what is done are whole repetitions
        found[done : done + more] = found[:more]
        done += more
    return found.reshape(shape)


def _with_sizes(call: Call, layout: Layout) -> dict[str, int]:
    """Sizes of a layout that the tensors of a call do not have: as large as any that it reads."""
    env, extents = call.env(), call.extents
    rows = max(extents.get("S", 0), extents.get("B", 1) * extents.get("Q", 1), extents.get("T", 1))
    wanted = {name for size in layout.shape() for name in size.symbols()}
    return {name: rows for name in wanted if name in call.operator.dims_by_name and not env.get(name)}


def _steps(layout: Layout, env: Mapping[str, Any]) -> dict[str, int]:
    """Elements between neighbours along each axis that has several."""
    axes = [axis for dim in layout.dims for axis in dim if axis.role is not None and not axis.broadcast]
    several = {axis.role for axis in axes if int(axis.extent.evaluate(env)) > 1}
    return {role: int(step.evaluate(env)) for role, step in layout.strides().items() if role in several}
