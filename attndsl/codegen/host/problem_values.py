"""The values of a problem's members for any kernels of an operator, from a launch in Python."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from attndsl.codegen.host.problem_members import (
    HEAD_SIZE,
    VALUE_SIZE,
    given_member,
    head_symbol,
    member_of,
    number_of_value,
)
from attndsl.codegen.host.problem_rows import problem_values
from attndsl.compiler.prepare_launch import Launch
from attndsl.expr.argument_facts import asks, dtype_of, given, layout_of, split_of
from attndsl.lowering.signature.host_scalars import (
    DEVICE_MEANINGS,
    HOST,
    dimension,
    fold_name,
    folds_of,
    length_count,
)
from attndsl.lowering.signature.specialization import feature_names
from attndsl.spec.contract.contract import Contract


def is_measured(member: str) -> bool:
    """Whether a member holds what a kernel's host measures, 0 for the others."""
    return member.startswith("measure")


def _asked(operator: Contract) -> Iterator[str]:
    """The symbols of arguments that a problem may have."""
    for spec in operator.tensors:
        yield given(spec.name).name
        yield dtype_of(spec.name).name
        yield layout_of(spec.name).name
        yield split_of(spec.name).name
    yield from (spec.name for spec in operator.params if spec.type is not bytes)


def known_members(operator: Contract) -> set[str]:
    """The members that calls have values for."""
    found = {HEAD_SIZE, VALUE_SIZE, *map(member_of, _asked(operator)), *map(member_of, operator.dims_by_name)}
    return found | {member_of(name) for name in DEVICE_MEANINGS} | set(_sizes(operator))


def _sizes(operator: Contract) -> Iterator[str]:
    """Members for what hosts count and add up: their names alone."""
    for spec in operator.tensors:
        yield member_of(length_count(spec.name).name)
        for number in range(max((each.rank for each in spec.layouts.values()), default=0)):
            yield member_of(dimension(spec.name, number).name)
    for fold in (node for size in operator.axis_extents.values() for node in folds_of(size)):
        yield member_of(fold_name(fold))


def member_values(launch: Launch) -> dict[str, int | float]:
    """The values of members for a launch; what is not there is nothing that this call has."""
    operator, host = launch.compiled.operator, launch.host
    found: dict[str, Any] = {}
    for name, value in host.items():
        if isinstance(value, int | float | np.integer | np.floating) and (
            name.startswith(HOST) or name in operator.dims_by_name
        ):
            found[member_of(name)] = value
    for name in _asked(operator):
        kind, argument = asks(name)
        if kind == "given" or argument in launch.call.present or not kind:
            found[member_of(name)] = _number(operator, name, _value(launch, name))
        else:
            found[member_of(name)] = -1 if kind in ("dtype", "layout") else 0
    found |= problem_values(launch.compiled, host)
    # of the call, which may pass tensors that its kernel does not read
    found |= {given_member(name): int(name in launch.call.present) for name in feature_names(operator)}
    for axis in ("D", "E"):
        if axis in operator.axis_extents:
            member = member_of(head_symbol(operator, axis).name)
            found[member] = operator.axis_extents[axis].evaluate(host)
    return {name: float(value) if isinstance(value, float) else int(value) for name, value in found.items()}


def _value(launch: Launch, name: str) -> Any:
    kind, argument = asks(name)
    if kind == "given":
        return argument in launch.call.present
    return launch.host.get(name)


def _number(operator: Contract, name: str, value: Any) -> Any:
    if value is None:
        return -1
    if isinstance(value, str) or asks(name)[0] in ("dtype", "layout"):
        return number_of_value(operator, name, value)
    return int(value) if isinstance(value, bool) else value
