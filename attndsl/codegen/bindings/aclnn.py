"""The call of an operator through aclnn, as statements for the sample's template."""

from __future__ import annotations

from collections.abc import Iterator

from attndsl.codegen.names.arguments import Argument, Names, dtype_member, literal
from attndsl.codegen.names.identifiers import string
from attndsl.codegen.samples.device_cases import DeviceCase
from attndsl.codegen.samples.direct import sample_value
from attndsl.spec.contract.arguments import ParamSpec


def aclnn_order(names: Names) -> tuple[str, ...]:
    """The arguments in the order of the generated interface: inputs, attributes, outputs."""
    inputs = [item.name for item in names.tensors]
    attributes = [item.name for item in names.params]
    return (*inputs, *attributes, *names.outputs.values())


def aclnn_lines(names: Names, case: DeviceCase) -> tuple[str, ...]:
    """A declaration for each argument of the case's call."""
    return (
        *(line for item in names.tensors for line in _tensor(item, case)),
        *(line for item in names.params for line in _attribute(item, case)),
        *(_output(names.outputs[name], array) for name, array in case.expected.items()),
    )


def _tensor(item: Argument, case: DeviceCase) -> Iterator[str]:
    given, sample = case.arguments.get(item.spec.name) is not None, f"sample::{item.name}"
    kind = "aclIntArray" if item.on_host else "aclTensorList" if item.listed else "aclTensor"
    value = "nullptr"
    if given and item.on_host:
        value = f"call.Integers({sample})"
    elif given:
        value = f"call.List({sample})" if item.listed else f"call.Filled({sample})"
    yield f"{kind} *{item.name} = {value};"


def _attribute(item: Argument, case: DeviceCase) -> Iterator[str]:
    spec = item.spec
    assert isinstance(spec, ParamSpec)
    value = sample_value(item, case)
    if spec.type is str:
        yield f"char {item.name}[] = {string(str(value))};"
    else:
        ctype = {int: "int64_t", float: "double", bool: "bool"}[spec.type]
        yield f"const {ctype} {item.name} = {literal(value)};"


def _output(name: str, array: object) -> str:
    shape = ", ".join(str(size) for size in getattr(array, "shape", ()))
    dtype = dtype_member(str(getattr(array, "dtype", "")))
    return f"aclTensor *{name} = call.Result(DataType::{dtype}, {{{shape}}});"
