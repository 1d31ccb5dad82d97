"""What the host supplies to a plan: the members of the problem, what they are, and their values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from attndsl.base.errors import InternalError
from attndsl.codegen.host.problem_members import (
    counted,
    dtype_member,
    given_member,
    head_size,
    head_symbol,
    io_tensor,
    member_of,
    number_of_value,
)
from attndsl.codegen.kernel_set.dispatch_guards import asked_symbols
from attndsl.codegen.names.identifiers import comment, pascal
from attndsl.compiler.compile import Compiled, signature_of
from attndsl.expr import Binary, Compare, Expr, Logic, Select, Symbol, binary, compare, select
from attndsl.expr.argument_facts import DTYPE, LAYOUT, SPLIT, asks
from attndsl.expr.reductions import Fold
from attndsl.graph.nodes import AXIS_MEANINGS
from attndsl.lowering.signature.enum_parameters import enum_parameters
from attndsl.lowering.signature.host_scalars import (
    DEVICE_MEANINGS,
    HOST,
    START_TOGETHER,
    dimension,
    fold_name,
    folds_of,
    layout_choice,
)
from attndsl.lowering.signature.specialization import feature_names, settings_of
from attndsl.spec.contract.arguments import ParamSpec
from attndsl.spec.contract.contract import Contract
from attndsl.tile.program import TilingField, tiling_field_ref


@dataclass(frozen=True, slots=True)
class Row:
    """A struct member: C++ type, name, meaning, and for tiling fields the expression of its value."""

    ctype: str
    name: str
    meaning: str
    value: str = ""


def problem_rows(kernels: Sequence[Compiled]) -> Iterator[Row]:
    """What the host supplies: what chooses a kernel, then what tiling fields are computed from."""
    operator = kernels[0].operator
    listed: set[str] = set()
    for member, ctype, meaning in _members(kernels, operator):
        if member not in listed:
            listed.add(member)
            yield Row(ctype, member, comment(meaning))


def _members(kernels: Sequence[Compiled], operator: Contract) -> Iterator[tuple[str, str, str]]:
    """Members with their types and meanings; a later one may be there already."""
    io = io_tensor(operator)
    yield dtype_member(operator), "int64_t", f"dtype of {io.name}{_legal(io.dtypes)}"
    keys = head_symbol(operator)
    yield member_of(keys.name), "int64_t", f"head size of queries and keys{_of(keys, head_size(operator))}"
    if any(each.specialization.padded_value_size is not None for each in kernels):
        values = head_symbol(operator, "E")
        meaning = f"head size of values{_of(values, operator.axis_extents['E'])}"
        yield member_of(values.name), "int64_t", meaning
    for feature in feature_names(operator):
        yield given_member(feature), "int64_t", f"1 if {feature} is passed"
    asked = asked_symbols(kernels)
    fields = [field for each in kernels for field in each.program.tiling]
    for name in (*asked, *outside_names(fields), *_different_layouts(kernels)):
        yield member_of(name), _ctype(name, operator), _meaning(name, operator)


def _of(symbol: Symbol, size: Expr) -> str:
    """What a size is computed from, where it is no size of the contract itself."""
    return "" if size.same(symbol) else f": {size}"


def _different_layouts(kernels: Sequence[Compiled]) -> Iterator[str]:
    """The layouts by which strides differ from kernel to kernel."""
    found: dict[str, dict[int, Expr]] = {}
    for compiled in kernels:
        numbers = layout_numbers(compiled)
        for field in compiled.program.tiling:
            for number in numbers.get(field.layout.name, ()) if field.layout is not None else ():
                value = field.value.substitute({field.layout.name: number})  # type: ignore[union-attr]
                known = found.setdefault(field.name, {})
                known[number] = value
                if not value.same(next(iter(known.values()))):
                    yield field.layout.name  # type: ignore[union-attr]


def layout_numbers(compiled: Compiled) -> dict[str, tuple[int, ...]]:
    """The numbers of the layouts that tensors have in calls of a kernel, by what tells them to a host."""
    layouts = signature_of(compiled.operator, compiled.specialization).layouts
    return {each.choice.name: each.numbers for each in layouts.values()}


def problem_values(compiled: Compiled, host: Mapping[str, object]) -> dict[str, object]:
    """The problem of a launch, member by member."""
    operator, special = compiled.operator, compiled.specialization
    found: dict[str, object] = {
        dtype_member(operator): io_tensor(operator).dtypes.index(special.dtype),
        member_of(head_symbol(operator).name): special.padded_head_size,
    }
    if special.padded_value_size is not None:
        found[member_of(head_symbol(operator, "E").name)] = special.padded_value_size
    for feature in feature_names(operator):
        found[given_member(feature)] = int(feature in special.features)
    words, settings = enum_parameters(operator), settings_of(operator, special)  # words are numbers already
    for name in asked_symbols([compiled]):
        value = host[name] if name in host else settings.get(name)
        found[member_of(name)] = value if name in words else number_of_value(operator, name, value)
    terms = {measure_name(term): term for term in measures(compiled.program.tiling)}
    for symbol in outside_names(compiled.program.tiling):
        member = member_of(symbol)
        found[member] = terms[symbol].evaluate(host) if symbol in terms else host[symbol]
    return found


def measures(fields: Sequence[TilingField]) -> tuple[Fold, ...]:
    """What tiling fields read of whole tensors, such as the longest row: the host measures it.

    Raises:
        InternalError: two of them have the same name.
    """
    found: dict[str, Fold] = {}
    for field in fields:
        for node in field.value.walk():
            if isinstance(node, Fold) and not found.setdefault(measure_name(node), node).same(node):
                raise InternalError(
                    f"'{found[measure_name(node)]}' and '{node}' are both {measure_name(node)}"
                )
    return tuple(found.values())


def measure_name(fold: Fold) -> str:
    """The problem's member for a measure."""
    return f"{HOST}measure" + pascal(re.sub(r"\W+", "_", str(fold)).strip("_"))


def measured(expr: Expr) -> Expr:
    """An expression with its measures replaced by their symbols."""
    if isinstance(expr, Fold):
        return Symbol(measure_name(expr))
    if isinstance(expr, Binary):
        return binary(expr.op, measured(expr.left), measured(expr.right))
    if isinstance(expr, Select):
        return select(*(measured(child) for child in expr.children()))
    if isinstance(expr, Compare):
        return compare(expr.op, measured(expr.left), measured(expr.right))
    if isinstance(expr, Logic):
        return Logic(expr.op, measured(expr.left), measured(expr.right))
    return expr


def outside_names(fields: Sequence[TilingField]) -> tuple[str, ...]:
    """Names that the host has to supply, in order of first use."""
    names: dict[str, None] = {}
    known = {tiling_field_ref(field.name).name for field in fields}
    for field in fields:
        for node in measured(field.value).walk():
            if isinstance(node, Symbol) and node.name not in known:
                names.setdefault(node.name)
    return tuple(names)


def _ctype(name: str, operator: Contract) -> str:
    floats = {spec.name for spec in operator.params if spec.type is float}
    if name == START_TOGETHER.name:
        return "bool"
    return "float" if name in floats else "int64_t"


def _legal(values: Sequence[object]) -> str:
    """Values by their numbers."""
    return f"; {', '.join(f'{number}: {value}' for number, value in enumerate(values))}" if values else ""


def _meaning(name: str, operator: Contract) -> str:
    """What a member is, in the words of the contract."""
    kind, argument = asks(name)
    if kind in (DTYPE, LAYOUT):
        return f"{kind} of {argument}{_legal(counted(operator, name))}"
    if kind == SPLIT:
        return f"1 if {argument} is a list of one tensor a batch row"
    if name in DEVICE_MEANINGS:
        return DEVICE_MEANINGS[name]
    if name.startswith(HOST):
        return _meaning_of_host(name, operator)
    if name in operator.dims_by_name:
        return _size(name, operator)
    param = operator.find_param(name)
    return f"parameter {name}" if param is None else _parameter(param, operator)


def _meaning_of_host(name: str, operator: Contract) -> str:
    """What a number is that the host measures, counts or adds up."""
    known = name.removeprefix(HOST)
    if known.startswith("measure"):
        return "measured on the host, over the elements of what it reads"
    for spec in operator.tensors:
        if name == layout_choice(spec.name).name:
            return f"layout of {spec.name}{_legal(tuple(spec.layouts))}"
        for number in range(spec.at_least * max((each.rank for each in spec.layouts.values()), default=0)):
            if name == dimension(spec.name, number).name:
                return f"size of dimension {number} of {spec.name}"
    for fold in (node for size in operator.axis_extents.values() for node in folds_of(size)):
        if name == fold_name(fold):
            return str(fold)
    return f"entries of {known.removesuffix('Count')}, 0 without it"


def _size(name: str, operator: Contract) -> str:
    """A size of the contract: what it is in attention, or else where it stands in a shape."""
    symbol = Symbol(name)
    axes = [AXIS_MEANINGS[axis] for axis, size in operator.axis_extents.items() if size.same(symbol)]
    if axes:
        return ", ".join(dict.fromkeys(axes))
    inside = [AXIS_MEANINGS[axis] for axis, size in operator.axis_extents.items() if name in size.symbols()]
    for spec in operator.tensors:
        for layout in spec.layouts.values():
            for number, parts in enumerate(layout.dims):
                if any(part.extent.same(symbol) for part in parts):
                    whole = f"dimension {number}" if len(parts) == 1 else f"a part of dimension {number}"
                    return f"size of {whole} of {spec.name} in the layout {layout.key}"
    return f"decides the {inside[0]}" if inside else f"size {name} of the contract"


def _parameter(param: ParamSpec, operator: Contract) -> str:
    legal = _legal(enum_parameters(operator).get(param.name, ()))
    return f"parameter {param.name}{f', {param.meaning}' if param.meaning else ''}{legal}"
