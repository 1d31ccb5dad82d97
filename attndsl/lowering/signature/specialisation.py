"""What a kernel is specialised on: the values, the kernel's name, and which calls share one."""

from __future__ import annotations

import contextlib
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

from attndsl.base.errors import InternalError
from attndsl.expr.argument_facts import asks, dtype_of, layout_of
from attndsl.graph.errors import GraphError
from attndsl.graph.nodes import names_read
from attndsl.graph.optional_inputs import presence_matters
from attndsl.spec.contract.contract import Contract
from attndsl.spec.contract.layout import Layout
from attndsl.spec.errors import SpecError
from attndsl.spec.operator.specialization_parameters import default_specialization, spelled


@dataclass(frozen=True, kw_only=True)
class Specialisation:
    """What a kernel is specialised on.

    Attributes:
        dtype: the io dtype. ``bucket``: head size, a multiple of 16.
        features: the optional tensors in use.
        value_bucket: head size of values where it is one of its own.
        settings: values of the parameters, dtypes and layouts on which the computation depends, by name,
            where they are not the defaults.
    """

    dtype: str
    bucket: int
    features: frozenset[str] = frozenset()
    value_bucket: int | None = None
    settings: tuple[tuple[str, Any], ...] = ()

    def suffix(self, order: tuple[str, ...]) -> str:
        """``float16_d128_attn_mask``: the words of a kernel's name (:func:`kernel_suffix`)."""
        values = () if self.value_bucket is None else (f"e{self.value_bucket}",)
        chosen = tuple(setting_word(name, value, self.dtype) for name, value in self.settings)
        features = (name for name in order if name in self.features)
        return "_".join(
            (self.dtype, f"d{self.bucket}", *values, *features, *(word for word in chosen if word))
        )

    @property
    def told(self) -> tuple[object, ...]:
        """What the suffix says, before it is words: equal where two specialisations may have one name."""
        settings = {(*pair, type(pair[1])) for pair in self.settings if setting_word(*pair, self.dtype)}
        return self.dtype, self.bucket, self.value_bucket, self.features, frozenset(settings)


def kernel_suffix(operator: Contract, special: Specialisation) -> str:
    """The suffix of a kernel's name, which no other kernel of the operator has.

    Raises:
        InternalError: names of tensors and values of settings give another specialisation the same words.
    """
    enumerated = {spec.name for spec in operator.params if spec.choices}
    words = ((name, spelled(operator, name, v) if name in enumerated else v) for name, v in special.settings)
    suffix = replace(special, settings=tuple(words)).suffix(feature_names(operator))
    first = _named(operator).setdefault(suffix, special)
    if first.told != special.told:
        raise InternalError(f"{operator.name}: two kernels are called {suffix}: {first} and {special}")
    return suffix


@cache
def _named(operator: Contract) -> dict[str, Specialisation]:
    """The suffixes that were given to an operator's kernels, and to which first."""
    return {}


def setting_word(name: str, value: Any, dtype: str) -> str:
    """A setting in a kernel's name, by its value or the word for it; none where dtype and features tell it
    already."""
    kind, argument = asks(name)
    if kind and (value is None or (kind == "dtype" and value == dtype)):
        return ""
    if kind == "split":
        return f"{argument}_list"
    text = f"minus{-value}" if isinstance(value, int | float) and value < 0 else str(value)
    word = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")
    if isinstance(value, str) and (word != value or not word):  # what was replaced may tell two values apart
        word = f"{word or 'word'}_{zlib.crc32(value.encode()):08x}"
    return f"{argument}_{word}"


def settings_of(operator: Contract, special: Specialisation) -> dict[str, Any]:
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
    """Optional lengths whose presence the computation asks for, so that kernels are specialised on it."""
    lengths = (spec.name for spec in operator.tensors if spec.optional and spec.kind == "lengths")
    return frozenset(name for name in lengths if presence_matters(operator.roots, name))


@cache
def feature_names(operator: Contract) -> tuple[str, ...]:
    """The optional tensors a kernel can be specialised on, in signature order.

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


def specialised_on(
    operator: Contract,
    present: frozenset[str],
    values: Mapping[str, Any],
    dtype: str,
    buckets: tuple[int, int],
) -> Specialisation:
    """What the kernel is specialised on that calls need which pass ``present`` and have these settings.

    ``buckets``: of the head sizes of keys and of values.
    """
    features = features_told(operator, present, values)
    settings = tuple((name, values.get(name)) for name in sorted(operator.specialization_parameters))
    one_size = operator.axis_extents["E"].same(operator.axis_extents["D"])
    return Specialisation(
        dtype=dtype,
        bucket=buckets[0],
        features=features,
        value_bucket=None if one_size else buckets[1],
        settings=canonical_settings(operator, features, settings),
    )


@lru_cache(maxsize=4096)
def canonical_settings(operator: Contract, features: frozenset[str], settings: Settings) -> Settings:
    """The settings in which a computation differs from that of the defaults.

    Those that change nothing are left out, so that one kernel serves all calls that compute the same. A
    layout counts as changed where it has other axes than the first, a dtype where the call chooses it.
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
        if name in layouts and value in layouts[name] and not _same_axes(layouts[name], value, default):
            continue
        trial = chosen | {name: default}
        try:
            if operator.graph(present, trial).key == wanted:
                chosen = trial
        except (GraphError, SpecError):
            continue  # no call has these settings
    return tuple((name, value) for name, value in chosen.items() if value != defaults.get(name))


def _same_axes(layouts: Mapping[str, Layout], one: Any, other: Any) -> bool:
    return layouts[one].strides().keys() == layouts[other].strides().keys()
