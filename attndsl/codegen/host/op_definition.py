"""The operator definition of CANN: inputs, outputs, attributes and dtype columns, and how outputs follow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from attndsl.base.errors import UserError
from attndsl.base.reserved_names import plain
from attndsl.codegen.host.checks import tensor_of
from attndsl.codegen.host.host_expr import HostExpr
from attndsl.codegen.host.problem_members import io_tensor
from attndsl.codegen.names.arguments import Argument, Names, dtype_member, dtype_row, literal, names_of
from attndsl.codegen.names.identifiers import comment, string
from attndsl.compiler.compile import Compiled
from attndsl.expr import Expr
from attndsl.expr.argument_facts import DTYPE, GIVEN, given, kind_of
from attndsl.graph.nodes import Cast, Choose, Conditional, Input, Node, Output, Quantize
from attndsl.spec.contract.arguments import DTYPES, OutputSpec, ParamSpec, TensorSpec
from attndsl.spec.contract.contract import Contract


class AlikeNames(UserError, ValueError):
    """Two arguments or results whose names CANN does not tell apart."""


_ATTR = {int: "Int", float: "Float", bool: "Bool", str: "String"}
_GETTER = {int: "GetInt", float: "GetFloat", bool: "GetBool", str: "GetStr"}


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output of the definition."""

    name: str
    kind: str
    dtypes: tuple[str, ...]
    depends: str = ""


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of the definition and how the host reads it."""

    name: str
    kind: str
    type: str
    default: str
    getter: str


@dataclass(frozen=True, slots=True)
class Read:
    """How one input gets into the call: the index in the definition, the function that reads it."""

    index: int
    target: str
    function: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Result:
    """A result: its dtype, and its shape by the layout of the input that it follows."""

    name: str
    index: int
    dtype: str
    like_layout: str
    shapes: tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class Definition:
    """Everything the template of the operator's host code prints."""

    names: Names
    operator: str
    document: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    attributes: tuple[Attribute, ...]
    reads: tuple[Read, ...]
    results: tuple[Result, ...]
    updated: tuple[tuple[str, int, int], ...]
    socs: tuple[str, ...]
    columns: int
    planned: bool


def check_told_apart(names: Names) -> None:
    """CANN writes names in capitals in macros, and without underscores in the header that calls include.

    Raises:
        AlikeNames: two arguments or results differ in case and underscores alone.
    """
    seen: dict[str, str] = {}
    operator = names.operator
    for name in (*(item.spec.name for item in names.arguments if item.passed), *names.outputs):
        first = seen.setdefault(plain(name).replace("_", "").lower(), name)
        if first != name:
            raise AlikeNames(
                f"{operator.name}: '{first}' and '{name}' differ in case and underscores alone, which CANN "
                "does not tell apart in the macros and headers that it generates; give one another name"
            )


def definition(operator: Contract, kernels: Sequence[Compiled]) -> Definition:
    """The definition of an operator; its dtype columns are those that a kernel takes, or all legal ones."""
    names = names_of(operator)
    columns = dtype_columns(operator, kernels)
    inputs = tuple(_input(item, columns) for item in names.tensors)
    outputs = [
        Port(names.outputs[spec.name], "REQUIRED", tuple(dtype_row(c[spec.name]).ge for c in columns))
        for spec in operator.outputs
    ]
    updated = []
    for item in names.updated:
        index = names.tensors.index(item)
        updated.append((item.name, index, len(outputs)))
        outputs.append(Port(item.name, inputs[index].kind, inputs[index].dtypes))
    return Definition(
        names=names,
        operator=comment(operator.name),
        document=comment(operator.document),
        inputs=inputs,
        outputs=tuple(outputs),
        attributes=tuple(_attribute(names, item) for item in names.params),
        reads=tuple(_reads(names)),
        results=tuple(results_of(names)),
        updated=tuple(updated),
        socs=operator.device.architecture.socs,
        columns=len(columns),
        planned=bool(kernels),
    )


# ------------------------------------------------------------------------------------------------
# Dtype columns


def dtype_columns(operator: Contract, kernels: Sequence[Compiled]) -> tuple[dict[str, str], ...]:
    """The combinations of dtypes, each the dtype of every tensor and result by name."""
    columns: list[dict[str, str]] = [{}]
    for spec in operator.tensors:
        grown = []
        for column in columns:
            legal = [column[name] for name in spec.dtype_like if name in column]
            legal += list(spec.dtypes_alone)
            if spec.kind == "lengths":
                legal = ["int64"]  # what CANN hands to a host as integers
            elif not spec.layouts:
                legal = legal[:1]  # reserved: nobody looks at it
            grown += [column | {spec.name: dtype} for dtype in dict.fromkeys(legal)]
        columns = grown
    for output in operator.outputs:
        columns = [
            column | {output.name: dtype} for column in columns for dtype in _result_dtypes(output, column)
        ]
    if kernels:
        columns = [column for column in columns if any(_takes(kernel, column) for kernel in kernels)]
    return tuple(columns)


def _result_dtypes(output: OutputSpec, column: dict[str, str]) -> list[str]:
    own = output.dtype or column[output.like]
    return list(dict.fromkeys([column.get(own, own), *(column.get(each, each) for each in output.quantized)]))


def _takes(compiled: Compiled, column: dict[str, str]) -> bool:
    """Whether a kernel reads and writes these dtypes; bytes are bytes, and what it does not take is free."""
    io = io_tensor(compiled.operator).name
    if column[io] != compiled.specialization.dtype:
        return False
    for tensor in compiled.program.parameters:
        dtype = column[tensor.name]
        size = DTYPES[dtype].itemsize
        bytes_both = size == 1 and tensor.dtype in ("uint8", "int8") and tensor.role != "output"
        if dtype != tensor.dtype and not bytes_both:
            return False
    return True


# ------------------------------------------------------------------------------------------------
# Ports, attributes, reads


def _kind(item: Argument) -> str:
    spec = tensor_of(item)
    return "DYNAMIC" if item.listed else "REQUIRED" if spec.required else "OPTIONAL"


def _input(item: Argument, columns: Sequence[dict[str, str]]) -> Port:
    spec = tensor_of(item)
    depends = ("REQUIRED" if spec.required else "OPTIONAL") if item.on_host else ""
    return Port(item.name, _kind(item), tuple(dtype_row(c[spec.name]).ge for c in columns), depends)


def _attribute(names: Names, item: Argument) -> Attribute:
    spec = item.spec
    assert isinstance(spec, ParamSpec)
    optional = names.may_be_left_out(item)  # a default that the contract refuses is none
    kind = "OPTIONAL" if optional else "REQUIRED"
    default = item.default if optional else ""
    if optional and spec.type is float:
        default = f"{default}F" if default[-1:].isdigit() else default
    return Attribute(item.name, kind, _ATTR[spec.type], default, _GETTER[spec.type])


def _reads(names: Names) -> Iterator[Read]:
    for index, item in enumerate(names.tensors):
        spec = tensor_of(item)
        target = item.entries if item.listed else item.name
        function = "ReadList" if item.listed else "ReadTensor"
        extra = ""
        if item.listed:
            # one tensor stands for itself where a list of one a batch row may stand for it
            empty = spec.list_of is not None and spec.required
            extra = f", {literal(not spec.split)}, {literal(empty)}"
        elif item.on_host:
            extra = f", DataType::{dtype_member(list_dtype(spec))}"
        yield Read(index, target, function, f"{index}{extra}")


def list_dtype(spec: TensorSpec) -> str:
    """The dtype that a list of integers has in the contract."""
    return "int64" if "int64" in spec.dtypes else spec.dtypes[0]


# ------------------------------------------------------------------------------------------------
# Results


def results_of(names: Names) -> Iterator[Result]:
    """The results with their shapes and dtypes as C++ expressions."""
    expr, operator = HostExpr(names), names.operator
    for index, spec in enumerate(operator.outputs):
        like = operator.tensor(spec.like)
        shapes = [
            (string(key), ", ".join(expr.text(size) for size in spec.layout(key).shape()))
            for key in like.layouts
        ]
        yield Result(
            names.outputs[spec.name],
            index,
            ResultDtype(names, spec).text(operator.roots[index]),
            f"sizes.{names.argument(like.name).name}_layout",
            tuple(shapes),
        )


class ResultDtype:
    """The dtype of a result as a C++ expression over dtypes, presence and attributes of a call."""

    def __init__(self, names: Names, spec: OutputSpec) -> None:
        self._names, self._spec, self._expr = names, spec, HostExpr(names)

    def text(self, node: Output) -> str:
        """The expression; the input's dtype, unless the computation ends in another."""
        own = self._dtype(self._spec.dtype) if self._spec.dtype else self._like()
        return own if self._spec.dtype else self._of(node.source)

    def _of(self, node: Node) -> str:
        if isinstance(node, Conditional):
            then, other = self._of(node.then), self._of(node.otherwise)
            if then == other or not self._known(node.condition):
                return then
            return f"({self._expr.text(node.condition)} ? {then} : {other})"
        if isinstance(node, Choose):
            texts = [self._of(each) for each in node.alternatives]
            found = texts[-1]
            for needs, text in zip(reversed(node.needs), reversed(texts[:-1]), strict=True):
                given = " && ".join(self._given(name) for name in sorted(needs))
                found = found if text == found else f"({given} ? {text} : {found})"
            return found
        if isinstance(node, Quantize):
            scale = node.scale
            if isinstance(scale, Input) and scale.optional:
                return f"({self._given(scale.name)} ? {self._dtype(node.dtype)} : {self._of(node.source)})"
            return self._dtype(node.dtype)
        if isinstance(node, Cast):
            return self._dtype(node.dtype)
        return self._like()

    def _known(self, condition: Expr) -> bool:
        """Whether dtypes, presence and attributes decide a condition."""
        params = {spec.name for spec in self._names.operator.params}
        return all(name in params or kind_of(name) in (GIVEN, DTYPE) for name in condition.symbols())

    def _given(self, name: str) -> str:
        return self._expr.text(given(name))

    def _like(self) -> str:
        return f"call.{self._names.argument(self._spec.like).name}.dtype"

    def _dtype(self, name: str) -> str:
        if name in DTYPES:
            return f"DataType::{dtype_member(name)}"
        return f"call.{self._names.argument(name).name}.dtype"
