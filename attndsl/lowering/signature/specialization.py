"""The specialization of a kernel: its identity, and the rule which calls share one kernel."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from attndsl.expr.argument_facts import dtype_of, layout_of
from attndsl.graph.branch_conditions import Decision, decisions
from attndsl.graph.errors import GraphError
from attndsl.graph.nodes import names_read
from attndsl.graph.optional_inputs import presence_matters
from attndsl.spec.contract.contract import Contract
from attndsl.spec.contract.layout import same_axes
from attndsl.spec.errors import SpecError
from attndsl.spec.operator.covering import choosable
from attndsl.spec.operator.specialization_parameters import default_specialization


@dataclass(frozen=True, kw_only=True)
class Specialization:
    """The identity of a kernel: dtype, padded head sizes, optional tensors and specialization parameters.

    Attributes:
        dtype: the io dtype. ``padded_head_size``: the head size rounded up to a multiple of 16.
        features: the optional tensors in use.
        padded_value_size: the same of values, where they have a size of their own.
        settings: values of the parameters, dtypes and layouts on which the computation depends, by name,
            where they are not the defaults.
    """

    dtype: str
    padded_head_size: int
    features: frozenset[str] = frozenset()
    padded_value_size: int | None = None
    settings: tuple[tuple[str, Any], ...] = ()


def settings_of(operator: Contract, special: Specialization) -> dict[str, Any]:
    """The values that conditions of the graph ask for."""
    asked, first = operator.specialization_parameters, default_specialization(operator)
    known = {name: value for name, value in first.items() if name in asked}
    return {**known, **dict(special.settings)}


def kernel_inputs(operator: Contract, features: frozenset[str]) -> frozenset[str]:
    """The tensors that a kernel with these features takes."""
    chosen = features | _choosing_lengths(operator)
    always = (spec.name for spec in operator.tensors if spec.required or spec.kind == "lengths")
    return (frozenset(always) - chosen) | features


@cache
def _choosing_lengths(operator: Contract) -> frozenset[str]:
    """Optional lengths whose presence the computation asks for, so that kernels are specialized on it."""
    lengths = (spec.name for spec in operator.tensors if spec.optional and spec.kind == "lengths")
    return frozenset(name for name in lengths if presence_matters(operator.roots, name))


@cache
def feature_names(operator: Contract) -> tuple[str, ...]:
    """The optional tensors a kernel can be specialized on, in signature order.

    Tensors that the computation never looks at (reserved arguments) are none, nor lengths whose absence
    kernels see by their number.
    """
    read, choosing = names_read(operator.roots), _choosing_lengths(operator)
    optional = (spec for spec in operator.tensors if spec.optional and spec.name not in choosing)
    tensors = (spec.name for spec in optional if spec.kind != "lengths")
    told = {name for name in tensors if name in read or presence_matters(operator.roots, name)}
    return tuple(spec.name for spec in operator.tensors if spec.name in told | choosing)


def features_told(operator: Contract, present: frozenset[str], settings: Mapping[str, Any]) -> frozenset[str]:
    """Of the tensors ``present`` in a call, those that it reads or without which it computes something else.

    What a call passes and does not look at tells no kernels apart.
    """
    graph, told = operator.graph(present, settings), present & frozenset(feature_names(operator))
    for name in sorted(told - names_read(graph.outputs)):
        with contextlib.suppress(GraphError, SpecError):  # without it there is no such call
            if operator.graph(present - {name}, settings).key == graph.key:
                present -= {name}
    return told & present


Settings = tuple[tuple[str, Any], ...]


def decisions_of(
    operator: Contract, special: Specialization, more: frozenset[str] = frozenset()
) -> tuple[Decision, ...]:
    """The conditions that calls of a kernel decide alike, with their values.

    ``more``: optional tensors that calls pass besides, without being computed any differently.
    """
    present = kernel_inputs(operator, special.features | more)
    return _decisions(operator, present, tuple(settings_of(operator, special).items()))


@lru_cache(maxsize=4096)
def _decisions(operator: Contract, present: frozenset[str], settings: Settings) -> tuple[Decision, ...]:
    """Kernels that differ in dtypes alone decide the same."""
    return decisions(operator.roots, present, dict(settings))


def specialized_on(
    operator: Contract,
    present: frozenset[str],
    values: Mapping[str, Any],
    dtype: str,
    padded_sizes: tuple[int, int],
) -> Specialization:
    """The specialization of the kernel for calls that pass ``present`` and have these settings.

    ``padded_sizes``: padded head sizes of keys and of values.
    """
    features = features_told(operator, present, values)
    settings = tuple((name, values.get(name)) for name in sorted(operator.specialization_parameters))
    one_size = operator.axis_extents["E"].same(operator.axis_extents["D"])
    return Specialization(
        dtype=dtype,
        padded_head_size=padded_sizes[0],
        features=features,
        padded_value_size=None if one_size else padded_sizes[1],
        settings=canonical_settings(operator, features, settings),
    )


@lru_cache(maxsize=4096)
def canonical_settings(operator: Contract, features: frozenset[str], settings: Settings) -> Settings:
    """The settings in which a computation differs from that of the defaults.

    Those that change nothing are left out, and of numbers that conditions do not tell apart one stands for
    all, so that one kernel serves all calls that compute the same. A layout counts as changed where it has
    other axes than the first, a dtype where the call chooses it.
    """
    present, chosen = kernel_inputs(operator, features), dict(settings)
    defaults = default_specialization(operator)
    graph = operator.graph(present, chosen)
    wanted, read = graph.key, names_read(graph.outputs)
    layouts = {layout_of(spec.name).name: spec.layouts for spec in operator.tensors}
    free = {dtype_of(spec.name).name for spec in operator.free_tensors if spec.name in read}
    for name, value in settings:
        default = defaults.get(name)
        if name in free and value is not None:
            continue
        stored = layouts.get(name, {})
        if value in stored and not same_axes(stored[value], stored[str(default)]):
            continue
        for other in (default, *_told_apart(operator, name, value)):
            trial = chosen | {name: other}
            with contextlib.suppress(GraphError, SpecError):  # no call has these settings
                if operator.graph(present, trial).key == wanted:
                    chosen = trial
                    break
    return tuple((name, value) for name, value in chosen.items() if value != defaults.get(name))


def _told_apart(operator: Contract, name: str, value: Any) -> tuple[Any, ...]:
    """The numbers of a parameter that conditions can tell apart, if it is one; of other settings none."""
    param = operator.find_param(name)
    if param is None or param.choices or isinstance(value, bool) or not isinstance(value, int | float):
        return ()
    return choosable(operator).get(name, ())
