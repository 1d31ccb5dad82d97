"""Launches without an operator package, and a sample of one, as data for their templates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from attndsl.codegen.host.checks import tensor_of
from attndsl.codegen.names.arguments import Argument, Names, dtype_member, literal
from attndsl.codegen.names.identifiers import comment
from attndsl.codegen.samples.device_cases import DeviceCase, Recipe
from attndsl.spec.contract.arguments import ParamSpec
from attndsl.spec.contract.layout import Array

_WIDTH = 92


@dataclass(frozen=True, slots=True)
class AddressPort:
    """A tensor's address: its member, and what is passed to the kernel function."""

    ctype: str
    name: str
    initial: str
    argument: str
    listed: bool = False
    entries: str = ""


@dataclass(frozen=True, slots=True)
class SampleRow:
    """A constant of the sample's call."""

    ctype: str
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class SampleResult:
    """What is expected of a result, and how far off it may be."""

    name: str
    dtype: str
    allowed: str
    lines: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class DirectText:
    """Everything the templates print; ``has_lengths``: whether the call has integers that the host reads."""

    operator: str
    ports: tuple[AddressPort, ...]
    recipes: tuple[SampleRow, ...]
    fill: tuple[str, ...]
    results: tuple[SampleResult, ...]
    has_lengths: bool = False


def direct_text(names: Names, case: DeviceCase | None) -> DirectText:
    """The launcher of an operator, and a sample that makes the call of ``case``."""
    if case is None:
        ports = tuple(_ports(names))
        return DirectText(operator=comment(names.operator.name), ports=ports, recipes=(), fill=(), results=())
    passed = {name for name, value in case.arguments.items() if value is not None}
    return DirectText(
        operator=comment(names.operator.name),
        ports=tuple(_ports(names)),
        recipes=tuple(_recipes(names, case)),
        fill=tuple(_fill(names, case)),
        results=tuple(
            _result(names.outputs[name], array, case.precisions[name])
            for name, array in case.expected.items()
        ),
        has_lengths=any(_is_lengths(item) for item in names.tensors if item.spec.name in passed),
    )


def _ports(names: Names) -> Iterator[AddressPort]:
    for item in names.tensors:
        if item.listed:
            name = f"{item.name}List"
            yield AddressPort("std::vector<void *>", item.name, "", name, True, item.entries)
        else:
            yield AddressPort("void *", item.name, " = nullptr", f"at.{item.name}")
    for name in names.outputs.values():
        yield AddressPort("void *", name, " = nullptr", f"at.{name}")
    for item in names.updated:
        passed = f"{item.name}List" if item.listed else f"at.{item.name}"
        yield AddressPort("void *", f"{item.name}Ref", " = nullptr", passed)


def _recipes(names: Names, case: DeviceCase) -> Iterator[SampleRow]:
    for item in names.tensors:
        value = case.arguments.get(item.spec.name)
        if value is None:
            continue
        if item.listed:
            every = value if isinstance(value, tuple) else (value,)
            text = ", ".join(_recipe(each) for each in every)
            yield SampleRow("std::vector<Recipe>", item.name, f" = {{{text}}}")
        elif isinstance(value, Recipe):
            rows = case.entries[item.spec.name] if item.on_host else 0
            yield SampleRow("Recipe", item.name, _recipe(value, rows))


def _recipe(recipe: Recipe, rows: int = 0) -> str:
    shape = ", ".join(map(str, recipe.shape))
    text = f"attndsl::DataType::{dtype_member(recipe.dtype)}, {{{shape}}}"
    if recipe.values is None:
        return f"{{{text}, {recipe.seed}}}"
    tail = f", {rows}" if rows else ""
    return f"{{{text}, 0, {{{', '.join(map(str, recipe.values))}}}{tail}}}"


def _fill(names: Names, case: DeviceCase) -> Iterator[str]:
    for item in names.tensors:
        value = case.arguments.get(item.spec.name)
        if value is None:
            continue
        if item.listed:
            entries = item.entries
            yield f"call.{entries}.given = true;"
            if tensor_of(item).split:
                yield f"call.{entries}.list = {literal(isinstance(value, tuple))};"
            yield f"for (const Recipe &recipe : sample::{item.name}) {{"
            yield f"    call.{entries}.entries.emplace_back();"
            yield f"    at.{item.name}.push_back(Upload(recipe, call.{entries}.entries.back(), memory));"
            yield "}"
        else:
            function = "UploadLengths" if _is_lengths(item) else "Upload"
            yield f"at.{item.name} = {function}(sample::{item.name}, call.{item.name}, memory);"
    for item in names.params:
        if item.spec.name in case.arguments:
            yield f"call.{item.name} = {literal(sample_value(item, case))};"


def _is_lengths(item: Argument) -> bool:
    """Whether the host reads the integers of an argument."""
    return item.on_host and not item.listed


def sample_value(item: Argument, case: DeviceCase) -> Any:
    """The value of a scalar in a case's call, as it is bound."""
    spec = item.spec
    assert isinstance(spec, ParamSpec)
    value = case.arguments.get(spec.name, spec.default)
    return spec.choices[value] if spec.choices and value in spec.choices else value


UNITS = {"float16": -8, "bfloat16": -5, "float32": -12}
"""Exponents of the units of the largest expected number below which a kernel that rounds as its contract says
stays; nothing of other dtypes."""
SMALLEST = -6
"""Exponent of the number that stands for the largest where all are smaller."""


def allowed(array: Array, precision: str) -> float:
    """How far a result may be from the reference's: a few units in the last place of its largest number.

    ``precision``: the dtype whose units they are.
    """
    largest = float(abs(array.astype("float64")).max())
    unit = 2.0 ** UNITS[precision] if precision in UNITS else 0.0
    return unit * max(largest, 2.0**SMALLEST)


def _result(name: str, array: Array, precision: str) -> SampleResult:
    numbers = [repr(float(each)) for each in array.reshape(-1)]
    lines, current = [], ""
    for number in numbers:
        if len(current) + len(number) + 2 > _WIDTH:
            lines.append(current.rstrip())
            current = ""
        current += f"{number}, "
    lines.append(current.rstrip())
    member = f"DataType::{dtype_member(array.dtype.name)}"
    return SampleResult(name, member, f"{allowed(array, precision):.6g}", tuple(lines))
