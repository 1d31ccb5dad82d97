"""From a checked call to the problem that a launch is planned for, as C++ expressions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from attndsl.base.errors import InternalError
from attndsl.codegen.host.host_expr import HostExpr
from attndsl.codegen.host.problem_members import (
    HEAD_SIZE,
    VALUE_SIZE,
    counted,
    given_member,
    head_size,
    member_of,
)
from attndsl.codegen.host.problem_rows import measure_name, measures, problem_rows
from attndsl.codegen.host.problem_words import problem_words
from attndsl.codegen.names.arguments import Names, dtype_member, names_of
from attndsl.codegen.names.identifiers import string
from attndsl.compiler.compile import Compiled
from attndsl.expr.argument_facts import DTYPE, dtype_of, kind_of, layout_of, split_of
from attndsl.lowering.signature.host_scalars import (
    CORES,
    L2_BYTES,
    START_TOGETHER,
    dimension,
    fold_name,
    folds_of,
    length_count,
)
from attndsl.lowering.signature.specialization import feature_names
from attndsl.spec.contract.arguments import TensorSpec


@dataclass(frozen=True, slots=True)
class Assignment:
    """``problem.member = value;``"""

    member: str
    value: str


def assignments(kernels: Sequence[Compiled]) -> tuple[Assignment, ...]:
    """Every member of the problem, from a call and its sizes."""
    operator = kernels[0].operator
    names = names_of(operator)
    values = dict(_values(names)) | dict(_chosen(names, kernels))
    found = []
    for row in problem_rows(kernels):
        if row.name not in values:
            raise InternalError(f"the host of {operator.name} has no value for '{row.name}'")
        value = values[row.name]
        found.append(Assignment(row.name, f"static_cast<float>({value})" if row.ctype == "float" else value))
    return tuple(found)


def _values(names: Names) -> Iterator[tuple[str, str]]:
    """Members of problems with their values, whether or not a kernel asks for them."""
    operator, expr = names.operator, HostExpr(names)
    if "D" in operator.axis_extents:
        yield HEAD_SIZE, expr.text(head_size(operator))
    for feature in feature_names(operator):
        yield given_member(feature), f"call.{names.argument(feature).name}.given ? 1 : 0"
    for name in operator.dims_by_name:
        yield member_of(name), f"sizes.{names.dims[name]}"
    for item in names.params:
        yield member_of(item.spec.name), _number(names, item.spec.name)
    for each in operator.tensors:
        yield member_of(dtype_of(each.name).name), _number(names, dtype_of(each.name).name)
    for fold in (node for size in operator.axis_extents.values() for node in folds_of(size)):
        yield member_of(fold_name(fold)), expr.text(fold)
    yield member_of(CORES.name), "device.cores"
    yield member_of(L2_BYTES.name), "device.l2Bytes"
    yield member_of(START_TOGETHER.name), "device.blocksStartTogether"
    for item in names.tensors:
        spec = item.tensor
        assert spec is not None
        if spec.kind == "lengths":
            count = f"call.{item.name}.given ? {rows_of(names, spec)} : 0"
            yield member_of(length_count(spec.name).name), count
        if spec.layouts:
            yield member_of(layout_of(spec.name).name), _number(names, layout_of(spec.name).name)
        if spec.split or spec.sequence_of:
            yield member_of(split_of(spec.name).name), expr.symbol(split_of(spec.name).name)
        for number in range(spec.at_least * max((each.rank for each in spec.layouts.values()), default=0)):
            size = f"call.{item.name}.Rank() > {number} ? call.{item.name}.shape[{number}] : 0"
            yield member_of(dimension(spec.name, number).name), size


def _chosen(names: Names, kernels: Sequence[Compiled]) -> Iterator[tuple[str, str]]:
    """Sizes of values, and measures that these kernels ask for."""
    operator, expr = names.operator, HostExpr(names)
    if "E" in operator.axis_extents:
        yield VALUE_SIZE, expr.text(operator.axis_extents["E"])
    for compiled in kernels:
        for term in measures(compiled.program.tiling):
            yield member_of(measure_name(term)), expr.text(term)


def _number(names: Names, symbol: str) -> str:
    """A symbol's value as hosts compare it: dtypes, layouts and words by their constant, -1 for another."""
    place, legal = HostExpr(names).symbol(symbol), counted(names.operator, symbol)
    if not legal:
        return place
    words, dtypes = problem_words(names.operator).get(symbol), kind_of(symbol) == DTYPE

    def numbered(number: int, value: object) -> str:
        """A value and the constant that the plan compares with, its number where it has no name."""
        named = words.constant(number) if words is not None else None
        spelled = f"DataType::{dtype_member(str(value))}" if dtypes else string(str(value))
        constant = str(number) if words is None or named is None else words.spelled[named.name]
        return f"{{{spelled}, {constant}}}"

    return f"NumberOf({place}, {{{', '.join(numbered(i, each) for i, each in enumerate(legal))}}})"


def rows_of(names: Names, spec: TensorSpec) -> str:
    """Entries of lengths as kernels read them: one a row."""
    expr, first = HostExpr(names), next(iter(spec.layouts.values()))
    return expr.text(first.shape()[0])
