"""Which features of a call matter: the results that are compared would be others without them.

A feature is left out, or another value, layout or table entry is read in its place, on the reference alone.
If no such run differs from the call's own by more than the tolerance of the comparison, a kernel that ignored
the feature would pass: the case has it and does not check it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from attndsl.expr.argument_facts import dtype_of, given, layout_of
from attndsl.graph.nodes import CacheAppend, Dequantize, TopK, expressions_of
from attndsl.reference.run import Some, run, run_some
from attndsl.reference.threads import single_threaded_blas
from attndsl.spec.binding.call import Call
from attndsl.spec.contract.arguments import ParamSpec
from attndsl.spec.contract.layout import Array, Layout
from attndsl.verify.judge.benchmark import precision
from attndsl.verify.judge.compare import THRESHOLD, tolerance

_MOST_CHOICES = 3
"""Other values of a choice that are tried."""
_SAMPLED = 8
"""Blocks of queries that are computed first: most features that matter do so in some of them."""


def effective_features(call: Call, features: Iterable[str]) -> frozenset[str]:
    """Those of ``features``, as :func:`attndsl.verify.cases.features.declared_features` names them, that
    matter in a call. A dtype always does."""
    asked = frozenset(features)
    if not asked:
        return asked
    found = frozenset(each for each in asked if each.startswith("dtype "))
    with single_threaded_blas():
        if _can_sample(call):
            found |= _mattering(call, asked - found, _SAMPLED)
        return found | _mattering(call, asked - found)


def _can_sample(call: Call) -> bool:
    """Whether the results of some blocks of queries are what they are in a run of all."""
    return not any(isinstance(node, TopK) for node in call.graph.nodes)


def _mattering(call: Call, features: frozenset[str], tasks: int | None = None) -> frozenset[str]:
    """The features that matter, as far as so many blocks of queries tell; None: all of them."""
    own = functools.cache(lambda: _results(call, tasks))  # of most features there is nothing else to try
    return frozenset(each for each in features if _matters(call, each, own, tasks))


def _matters(call: Call, feature: str, own_results: Callable[[], _Results], tasks: int | None) -> bool:
    for other in _alternatives(call, feature):
        own = own_results()
        try:
            with np.errstate(all="ignore"):  # it may be no legal call
                found = _results(other, tasks)
        except Exception:  # not a call: sizes do not fit, or what is absent cannot be. It shows nothing
            continue
        if found.left_out == own.left_out and _differ(call, own.arrays, found.arrays):
            return True
    return False


class _Results(NamedTuple):
    """All results, and arguments that are updated in place, as they are afterwards; the blocks left out.

    Where other blocks are left out, as with other lengths of packed queries, results cannot be compared.
    """

    arrays: list[Array]
    left_out: frozenset[tuple[int, int, int, int]]


def _results(call: Call, tasks: int | None) -> _Results:
    """``tasks``: see :func:`attndsl.reference.run.run_some`."""
    updated = call.graph.updated()
    own = replace(
        call,
        arrays={name: array.copy() if name in updated else array for name, array in call.arrays.items()},
        lists={
            name: tuple(entry.copy() for entry in entries) if name in updated else entries
            for name, entries in call.lists.items()
        },
    )
    some = Some(run(own), frozenset()) if tasks is None else run_some(own, tasks)
    changed = (own.arrays[name] for name in sorted(updated) if name in own.arrays)
    return _Results([*some.results, *changed], some.left_out)


def _differ(call: Call, own: list[Array], found: list[Array]) -> bool:
    """Whether one result is another one by more than its tolerance."""
    if len(own) != len(found):
        return True
    keys = max(call.extents.get("T", 1), call.extents.get("U", 0) if "G" in call.extents else 0)
    dequantized = any(isinstance(node, Dequantize) for node in call.graph.nodes)
    outputs = [precision(call, output.name) for output in call.graph.outputs]
    told = [*outputs, *(each.dtype.name for each in own[len(outputs) :])]
    return any(
        _is_another(a, b, tolerance(dtype, keys, dequantized=dequantized) if dtype in THRESHOLD else 0.0)
        for a, b, dtype in zip(own, found, told, strict=True)
        if a.size
    )


def _is_another(own: Array, found: Array, bound: float) -> bool:
    if own.size != found.size or own.dtype != found.dtype:
        return True
    if own.tobytes() == found.tobytes():
        return False
    if own.dtype.name not in ("float16", "bfloat16", "float32"):
        return True
    a, b = (each.reshape(-1).astype(np.float64) for each in (own, found))
    with np.errstate(all="ignore"):
        close = np.abs(a - b) <= bound * np.maximum(1.0, np.abs(a))
    return not bool((close | (np.isnan(a) & np.isnan(b)) | (a == b)).all())


# Other calls ------------------------------------------------------------------------------------------------


def _alternatives(call: Call, feature: str) -> Iterator[Call]:
    """Calls without a feature, or with another value in its place."""
    operator = call.operator
    named, value = feature.partition("=")[::2]
    for param in operator.params:
        if param.name == named and value:
            yield from _with_other_choices(call, param)
    for spec in operator.tensors:
        if feature == spec.name:
            yield _without(call, spec.name)
            yield _with_other_values(call, spec.name)
        elif feature == f"{spec.name} as a list":
            yield _with_other_values(call, spec.name)
        elif feature.startswith(f"{spec.name} as "):
            others = list(_in_other_layouts(call, spec.name))
            # where no other layout has as many elements, it must be read at all
            yield from others or [_with_other_values(call, spec.name)]


def _with_other_choices(call: Call, param: ParamSpec) -> Iterator[Call]:
    own = call.params[param.name]
    graph, is_read = call.graph, param.name in _symbols_read(call)
    values = [False, True] if param.type is bool else [*dict.fromkeys(param.choices.values())]
    others = [value for value in values if value != own]
    for value in others[:_MOST_CHOICES]:
        other = replace(call, params={**call.params, param.name: value})
        if is_read or other.graph is not graph:
            yield other


def _symbols_read(call: Call) -> frozenset[str]:
    """The sizes and parameters from which the results of a call are computed, with where they are stored."""
    appends = (node for node in call.graph.nodes if isinstance(node, CacheAppend))
    layouts = (layout for spec in call.operator.tensors for layout in spec.layouts.values())
    outputs = (layout for spec in call.operator.outputs for layout in spec.layouts.values())
    found = (
        *expressions_of((*call.graph.outputs, *appends)),
        *call.operator.axis_extents.values(),
        *(size for layout in (*layouts, *outputs) for size in layout.shape()),
    )
    return frozenset().union(*(each.symbols() for each in found))


def _without(call: Call, name: str) -> Call:
    absent = {given(name).name: False, dtype_of(name).name: None, layout_of(name).name: None}
    return replace(
        call,
        arrays={each: array for each, array in call.arrays.items() if each != name},
        lists={each: entries for each, entries in call.lists.items() if each != name},
        layouts={each: key for each, key in call.layouts.items() if each != name},
        env_extra={**call.env_extra, **absent},
    )


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


def _in_other_layouts(call: Call, name: str) -> Iterator[Call]:
    """The same memory read in each other layout of as many elements, unless that reads the same."""
    if name not in call.arrays:
        return
    spec, own, array = call.operator.tensor(name), call.layouts[name], call.arrays[name]
    env = {**call.env(), **call.arrays}
    steps = _steps(spec.layouts[own], env)
    for key, layout in spec.layouts.items():
        try:
            shape = tuple(int(size.evaluate(env)) for size in layout.shape())
        except (KeyError, TypeError):
            continue  # it has sizes that the call does not have
        if key != own and math.prod(shape) == array.size and _steps(layout, env) != steps:
            yield replace(
                call,
                arrays={**call.arrays, name: array.reshape(shape)},
                layouts={**call.layouts, name: key},
                env_extra={**call.env_extra, layout_of(name).name: key},
            )


def _steps(layout: Layout, env: Mapping[str, Any]) -> dict[str, int]:
    """Elements between neighbours along each axis that has several."""
    axes = [axis for dim in layout.dims for axis in dim if axis.role is not None and not axis.broadcast]
    several = {axis.role for axis in axes if int(axis.extent.evaluate(env)) > 1}
    return {role: int(step.evaluate(env)) for role, step in layout.strides().items() if role in several}
