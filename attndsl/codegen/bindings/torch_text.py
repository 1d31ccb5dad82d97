"""The PyTorch custom operator of a project and its Python wrapper, as data for their templates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from attndsl.codegen.host.checks import tensor_of
from attndsl.codegen.host.host_expr import HostExpr
from attndsl.codegen.host.op_definition import ResultDtype, list_dtype
from attndsl.codegen.names.arguments import DTYPE_ROWS, Argument, Names, dtype_member
from attndsl.codegen.names.identifiers import comment, escaped, string, strings
from attndsl.spec.contract.arguments import ParamSpec

_SCALARS = {int: "int", float: "float", bool: "bool", str: "str"}
_CXX_SCALARS = {int: "int64_t", float: "double", bool: "bool", str: "c10::string_view"}
_TORCH = {
    "bool": "kBool",
    "int8": "kChar",
    "uint8": "kByte",
    "int32": "kInt",
    "int64": "kLong",
    "float16": "kHalf",
    "float32": "kFloat",
    "float64": "kDouble",
    "bfloat16": "kBFloat16",
}


@dataclass(frozen=True, slots=True)
class TorchDtype:
    """A dtype of PyTorch and the host's enumerator."""

    torch: str
    member: str


@dataclass(frozen=True, slots=True)
class TorchLengths:
    """An argument of integers that the host reads, and its rows on the device as a C++ expression."""

    name: str
    rows: str


@dataclass(frozen=True, slots=True)
class TorchResult:
    """A result, and its dtype as a C++ expression."""

    name: str
    dtype: str


@dataclass(frozen=True, slots=True)
class PythonArgument:
    """An argument of the wrapper and how its signature shows it; the words that stand for its values."""

    name: str
    text: str
    listed: bool = False
    lengths: bool = False
    choices: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True)
class TorchText:
    """Everything the templates print."""

    schema: str
    parameters: tuple[str, ...]
    names: tuple[str, ...]
    read: tuple[str, ...]
    lengths: tuple[TorchLengths, ...]
    results: tuple[TorchResult, ...]
    returns: str
    result: str
    device_of: str
    dtypes: tuple[TorchDtype, ...]
    arguments: tuple[PythonArgument, ...]

    @property
    def schema_comment(self) -> str:
        """The schema in a comment."""
        return comment(self.schema)

    @property
    def schema_pieces(self) -> tuple[str, ...]:
        """The schema as literals that the compiler joins."""
        return tuple(strings(self.schema, 90))


def torch_text(names: Names) -> TorchText:
    """The custom operator of an operator."""
    passed = tuple(item for item in names.arguments if item.passed)
    results = tuple(_results(names))
    several = len(results) > 1
    returned = ", ".join(result.name for result in results)
    first = next(item for item in names.tensors if tensor_of(item).required and not item.on_host)
    return TorchText(
        schema=_schema(names, passed, len(results)),
        parameters=tuple(_parameter(item) for item in passed),
        names=tuple(item.name for item in passed),
        read=tuple(line for item in passed for line in _read(item, item in names.updated)),
        lengths=tuple(_lengths(names)),
        results=results,
        returns=f"std::tuple<{', '.join(['at::Tensor'] * len(results))}>" if several else "at::Tensor",
        result=f"std::make_tuple({returned})" if several else returned,
        device_of=f"{first.name}[0]" if first.listed else first.name,
        dtypes=tuple(TorchDtype(_TORCH[r.name], r.member) for r in DTYPE_ROWS if r.name in _TORCH),
        arguments=tuple(_python(names, passed)),
    )


def _schema(names: Names, passed: tuple[Argument, ...], results: int) -> str:
    """A default is possible only where every later positional argument has one too."""
    parts: list[str] = []
    aliases = iter("abcdefghijklmnopqrstuvwxyz")
    positional = [item for item in passed if not _named(item)]
    last_bare = max((i for i, item in enumerate(positional) if _default(item) is None), default=-1)
    for index, item in enumerate(passed):
        if _named(item) and "*" not in parts:
            parts.append("*")
        default = _default(item)
        bare = default is None or (not _named(item) and index <= last_bare)
        kind = _schema_type(item, next(aliases) if item in names.updated else "")
        parts.append(f"{kind} {item.name}" + ("" if bare else f"={default}"))
    returns = "Tensor" if results == 1 else f"({', '.join(['Tensor'] * results)})"
    return f"{names.op}({', '.join(parts)}) -> {returns}"


def _named(item: Argument) -> bool:
    return bool(item.spec.keyword_only if isinstance(item.spec, ParamSpec) else item.spec.by_name)


def _default(item: Argument) -> str | None:
    """In a schema; None where every call has to pass it."""
    spec = item.spec
    if not isinstance(spec, ParamSpec):
        return "None" if spec.optional else None
    if not spec.optional:
        return None
    value = spec.choices.get(spec.default, spec.default)
    return _schema_string(value) if isinstance(value, str) else str(value)


def _schema_string(text: str) -> str:
    """A string in a schema, which takes the escapes of C."""
    return "'" + escaped(text).replace("'", "\\047") + "'"


def _schema_type(item: Argument, alias: str) -> str:
    spec = item.spec
    if isinstance(spec, ParamSpec):
        return _SCALARS[spec.type]
    # A symbol of torch.compile may stand for a size or a length.
    kind = "SymInt[]" if item.on_host else "Tensor[]" if item.listed else "Tensor"
    if alias:
        kind = kind.replace("Tensor", f"Tensor({alias}!)")
    return f"{kind}?" if spec.optional else kind


def _parameter(item: Argument) -> str:
    spec = item.spec
    if isinstance(spec, ParamSpec):
        kind = _CXX_SCALARS[spec.type]
    elif item.on_host:
        kind = "at::OptionalSymIntArrayRef" if spec.optional else "c10::SymIntArrayRef"
    elif item.listed:
        kind = "at::TensorList"
    else:
        kind = "const c10::optional<at::Tensor> &" if spec.optional else "const at::Tensor &"
    return f"{kind}{'' if kind.endswith('&') else ' '}{item.name}"


def _read(item: Argument, updated: bool) -> Iterator[str]:
    spec, function, name = item.spec, "ReadUpdated" if updated else "Read", string(item.spec.name)
    if isinstance(spec, ParamSpec):
        value = f"std::string({item.name})" if spec.type is str else item.name
        yield f"call.{item.name} = {value};"
        return
    if item.listed:
        entries = f"call.{item.entries}"
        yield f"{entries}.given = true;"
        if spec.split:
            yield f"{entries}.list = {item.name}.size() != 1;"
        yield f"for (const at::Tensor &tensor : {item.name}) {{"
        yield f"    {entries}.entries.emplace_back();"
        yield f"    at.{item.name}.push_back(reader.{function}({name}, tensor, {entries}.entries.back()));"
        yield "}"
        return
    source = f"{item.name}.value()" if spec.optional else item.name
    if item.on_host:
        dtype = f"DataType::{dtype_member(list_dtype(spec))}"
        line = f"reader.ReadIntegers({source}, {dtype}, call.{item.name});"
    else:
        line = f"at.{item.name} = reader.{function}({name}, {source}, call.{item.name});"
    if not spec.optional:
        yield line
        return
    yield f"if ({item.name}.has_value()) {{"
    yield f"    {line}"
    yield "}"


def _lengths(names: Names) -> Iterator[TorchLengths]:
    expr = HostExpr(names)
    for item in names.tensors:
        if item.on_host:
            rows = expr.text(next(iter(tensor_of(item).layouts.values())).shape()[0])
            yield TorchLengths(item.name, rows)


def _results(names: Names) -> Iterator[TorchResult]:
    for index, spec in enumerate(names.operator.outputs):
        dtype = ResultDtype(names, spec).text(names.operator.roots[index])
        yield TorchResult(names.outputs[spec.name], dtype)


def _python(names: Names, passed: tuple[Argument, ...]) -> Iterator[PythonArgument]:
    starred = defaulted = False
    for item in passed:
        if _named(item) and not starred:
            starred, defaulted = True, False
            yield PythonArgument("*", "*")
        spec = item.spec
        default, choices = "", tuple[tuple[str, str], ...]()
        if isinstance(spec, ParamSpec):
            words = ((repr(word), repr(value)) for word, value in spec.choices.items() if word != value)
            choices = tuple(words)
            default = f"={spec.choices.get(spec.default, spec.default)!r}" if spec.optional else ""
        elif spec.optional:
            default = "=None"
        if defaulted and not starred and not default:
            default = "=None"  # Python wants one after others; the contract says what is missing
        defaulted = defaulted or bool(default)
        yield PythonArgument(item.name, f"{item.name}{default}", item.listed, item.on_host, choices)
