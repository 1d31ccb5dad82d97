"""Which calls a kernel of a project is for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from attndsl.codegen.kernel_set.asked_sizes import HeadSizes
from attndsl.codegen.kernel_set.kernel_list import ListedKernel
from attndsl.codegen.kernel_set.kernel_request import legal_choice, specialization_of_choice
from attndsl.compiler.compile import Compiled
from attndsl.compiler.prepare_launch import compiled_for, launch_of, specialization_of
from attndsl.expr.argument_facts import dtype_of, given, passed
from attndsl.lowering.signature.specialization import Specialization, feature_names, features_told
from attndsl.spec.binding.call import Call
from attndsl.spec.operator.covering import Choice, choosable
from attndsl.spec.operator.operator import Operator
from attndsl.spec.operator.specialization_parameters import default_specialization
from attndsl.verify.cases.wanted_kernel import WantedKernel


def wanted_kernel(operator: Operator, kernel: ListedKernel) -> WantedKernel:
    """The kernel as cases are made for it.

    Its specialization tells what to look for; whether a call is for the kernel is asked of the call.
    """
    return _wanted(operator, kernel.name, kernel.special)


@lru_cache(maxsize=256)
def _wanted(operator: Operator, name: str, special: Specialization) -> WantedKernel:
    io = operator.tensor(operator.outputs[0].like)
    features_of_it = frozenset(feature_names(operator))
    features = {given(feature).name: feature in special.features for feature in features_of_it}
    pins: dict[str, Any] = {dtype_of(io.name).name: special.dtype}
    pins |= {asked: True for asked, told in features.items() if told}
    legal = choosable(operator)
    pins |= {name: value for name, value in special.settings if value is not None and name in legal}
    likely: dict[str, Any] = {**features, **default_specialization(operator)}
    nearest = (legal_choice(operator, asked, special.dtype) for asked in ({**features, **pins}, pins))
    choices = [each for each in nearest if each is not None]
    if choices:
        # a tensor that a kernel does not read, a mask that indices give, may make its choice legal
        choice = next((each for each in choices if _is_of(operator, special, each)), choices[0])
        likely = {**passed((spec.name for spec in operator.tensors), choice.present), **choice.settings}
    free = {spec.name for spec in operator.params if not spec.choices}  # left to the case
    beside = [spec.name for spec in operator.tensors if spec.optional and spec.name not in features_of_it]
    free |= {given(name).name for name in beside}  # such as lengths, which no kernel is specialized on
    likely = {each: value for each, value in likely.items() if each not in free and value is not None}
    pins |= {given(name).name: True for name in _needed(operator, special, likely, beside)}
    return WantedKernel(
        name=name,
        mode=operator,
        pins=pins,
        likely=likely,
        sizes=_sizes(operator, special),
        takes=lambda call: specialization_of(call) == special,
        has_halves=lambda call: _has_halves(compiled_for(operator, special), call),
    )


def _is_of(operator: Operator, special: Specialization, choice: Choice) -> bool:
    """Whether calls of a legal choice are for a kernel."""
    sizes = HeadSizes(special.padded_head_size, special.padded_value_size or special.padded_head_size)
    return specialization_of_choice(operator, choice, special.dtype, sizes) == special


def _has_halves(compiled: Compiled, call: Call) -> bool:
    """Whether the plan of a call cuts its rows into tasks of two halves, or of no kernel's call would."""
    constants = {each.named.name: each.named for each in compiled.program.constants}
    if "mostHalves" not in constants:
        return True
    fields = launch_of(call, compiled).tiling
    return bool(fields["queriesPerTask"] * fields["headsPerTask"] > constants["maxRows"].evaluate({}))


def _needed(
    operator: Operator, special: Specialization, values: Mapping[str, Any], beside: Sequence[str]
) -> tuple[str, ...]:
    """The tensor of ``beside`` without which a call would not read some feature of the kernel, if there is
    one."""
    fixed = {spec.name for spec in operator.tensors if not spec.optional} | special.features
    if special.features <= features_told(operator, frozenset(fixed), values):
        return ()
    for name in beside:
        if special.features <= features_told(operator, frozenset({*fixed, name}), values):
            return (name,)
    return ()


def _sizes(operator: Operator, special: Specialization) -> dict[str, tuple[int, ...]]:
    """Head sizes that the kernel takes: whole fractals, mostly, and some that are padded."""
    found: dict[str, tuple[int, ...]] = {}
    architecture = operator.device.architecture
    for axis, padded_size in (("D", special.padded_head_size), ("E", special.padded_value_size)):
        if padded_size is None:
            continue
        whole = architecture.whole_fractals
        near = (
            padded_size,
            padded_size,
            padded_size - 1,
            padded_size - 7,
            padded_size - architecture.fractal + 1,
        )
        sizes = tuple(each for each in near if each > 0 and whole(each) == padded_size)
        found[str(operator.axis_extents[axis])] = sizes
    return found
