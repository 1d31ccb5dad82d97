"""From a checked call to the problem that a launch is planned for, as C++ expressions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from attndsl.codegen.arguments import Names, dtype_member, names_of
from attndsl.codegen.host import measure_name, measures, problem_rows
from attndsl.codegen.host_expr import HostExpr
from attndsl.codegen.identifiers import identifier, string
from attndsl.codegen.keys import (
    HEAD_SIZE,
    VALUE_SIZE,
    chosen_settings,
    given_member,
    head_size,
    io_tensor,
    setting_member,
    setting_values,
)
from attndsl.codegen.keys import dtype_member as dtype_of_problem
from attndsl.errors import InternalError
from attndsl.schedule.compile import Compiled
from attndsl.schedule.host_scalars import CORES, dimension, fold_name, folds_of, layout_choice
from attndsl.schedule.specialisation import feature_names
from attndsl.schedule.words import word_parameters
from attndsl.spec.arguments import TensorSpec
from attndsl.spec.layout import Layout
from attndsl.symbolic import Expr
from attndsl.tile.naming import camel


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
    io = io_tensor(operator)
    place = f"call.{names.argument(io.name).name}.dtype"
    index = str(len(io.dtypes) - 1)
    for position in reversed(range(len(io.dtypes) - 1)):
        index = f"{place} == DataType::{dtype_member(io.dtypes[position])} ? {position} : {index}"
    yield dtype_of_problem(operator), index
    if "D" in operator.axis_extents:
        yield HEAD_SIZE, expr.text(head_size(operator))
    for feature in feature_names(operator):
        yield given_member(feature), f"call.{names.argument(feature).name}.given ? 1 : 0"
    for name in operator.dims_by_name:
        yield identifier(name), f"sizes.{names.dims[name]}"
    words = word_parameters(operator)
    for item in names.params:
        place, legal = f"call.{item.name}", words.get(item.spec.name, ())
        yield (
            identifier(item.spec.name),
            _coded(place, [string(str(word)) for word in legal]) if legal else place,
        )
    for fold in (node for size in operator.axis_extents.values() for node in folds_of(size)):
        yield identifier(fold_name(fold)), expr.text(fold)
    yield identifier(CORES.name), "cores"
    for item in names.tensors:
        spec = item.tensor
        assert spec is not None
        if spec.kind == "lengths":
            count = f"call.{item.name}.given ? {rows_of(names, spec)} : 0"
            yield identifier(f"{camel(spec.name)}Count"), count
        if spec.layouts:
            yield identifier(layout_choice(spec.name).name), _layout_index(names, spec)
        for number in range(spec.at_least * max((each.rank for each in spec.layouts.values()), default=0)):
            size = f"call.{item.name}.Rank() > {number} ? call.{item.name}.shape[{number}] : 0"
            yield identifier(dimension(spec.name, number).name), size
    for output in operator.outputs:
        like = operator.tensor(output.like)
        yield identifier(layout_choice(output.name).name), _layout_index(names, like)


def _chosen(names: Names, kernels: Sequence[Compiled]) -> Iterator[tuple[str, str]]:
    """Settings and measures that these kernels ask for."""
    operator, expr = names.operator, HostExpr(names)
    if "E" in operator.axis_extents:
        yield VALUE_SIZE, expr.text(operator.axis_extents["E"])
    for name in dict.fromkeys(name for each in kernels for name in chosen_settings(each)):
        place, codes = expr.symbol(name), setting_values(operator, name)
        dtypes = name.startswith("dtype(")
        legal = [f"DataType::{dtype_member(each)}" if dtypes else string(str(each)) for each in codes]
        yield setting_member(name), _coded(place, legal) if legal else place
    for compiled in kernels:
        for term in measures(compiled.program.tiling):
            yield identifier(measure_name(term)), expr.text(term)


def _coded(place: str, legal: Sequence[str]) -> str:
    """The index of a value among the legal ones, -1 for another."""
    text = "-1"
    for code in reversed(range(len(legal))):
        text = f"{place} == {legal[code]} ? {code} : {text}"
    return text


def rows_of(names: Names, spec: TensorSpec) -> str:
    """Entries of lengths as kernels read them: one a row."""
    expr, first = HostExpr(names), next(iter(spec.layouts.values()))
    return expr.text(first.shape()[0])


def _layout_index(names: Names, spec: TensorSpec) -> str:
    """The index of a tensor's layout among those that the passed tensors leave it."""
    rows = [f"{{{string(key)}, {_left_by_presence(names, layout)}}}" for key, layout in spec.layouts.items()]
    return f"LayoutIndex(sizes.{names.argument(spec.name).name}_layout, {{{', '.join(rows)}}})"


def _left_by_presence(names: Names, layout: Layout) -> str:
    """When the presence of arguments does not rule a layout out, in C++."""
    if layout.when is None:
        return "true"
    expr = HostExpr(names)
    flags = sorted(name for name in layout.when.symbols() if name.startswith("given("))
    open_flags = [flag for flag in flags if not _always(names, flag)]
    always = {flag: True for flag in flags if flag not in open_flags}
    tests = []
    for values in product((True, False), repeat=len(open_flags)):
        known = dict(zip(open_flags, values, strict=True))
        if _may_hold(layout.when, known | always):
            tests.append(
                " && ".join(("" if on else "!") + expr.symbol(flag) for flag, on in known.items()) or "true"
            )
    if len(tests) == 2 ** len(open_flags):
        return "true"
    return " || ".join(f"({test})" if len(tests) > 1 else test for test in tests) or "false"


def _always(names: Names, flag: str) -> bool:
    """Whether kernels count an argument as passed in every call."""
    spec = names.operator.tensor(flag[6:-1])
    return spec.required or spec.kind == "lengths"


def _may_hold(when: Expr, known: dict[str, bool]) -> bool:
    try:
        return bool(when.evaluate(known))
    except KeyError:  # it depends on more than presence
        return True
