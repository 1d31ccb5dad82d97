"""The tiling struct of an operator and the host's tiling functions as data for their templates.

One struct serves all kernels of an operator; each kernel's function fills the fields that it knows. All are
printed from the same symbolic expressions that Python evaluates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from attndsl.base.errors import InternalError
from attndsl.codegen.host.dispatch_text import Dispatch, PlannedKernel, dispatch
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
from attndsl.codegen.host.problem_words import Words, problem_words, with_words
from attndsl.codegen.host.tiling_function import SCHEDULE, Assigned, MergedFunction, Step, merged
from attndsl.codegen.kernel.kernel import CXX_SCALARS
from attndsl.codegen.kernel.schedule_header import ConstantText, schedule_file
from attndsl.codegen.kernel.shared_texts import shared_texts
from attndsl.codegen.kernel_set.dispatch_guards import asked_symbols
from attndsl.codegen.kernel_set.kernel_names import kernel_name, named_keys
from attndsl.codegen.names.arguments import Names, names_of
from attndsl.codegen.names.identifiers import comment, pascal
from attndsl.codegen.names.members import constant
from attndsl.codegen.text.cxx_expressions import cxx_text
from attndsl.codegen.text.scalar_helpers import used_helpers
from attndsl.compiler.compile import Compiled
from attndsl.expr import (
    Binary,
    Compare,
    Const,
    Element,
    Expr,
    Load,
    Logic,
    Named,
    Scope,
    Select,
    Symbol,
    binary,
    compare,
    negation,
    select,
)
from attndsl.expr.reductions import Fold
from attndsl.lowering.signature.enum_parameters import enum_parameters
from attndsl.lowering.signature.host_scalars import CORES, HOST, dimension, fold_name, folds_of
from attndsl.lowering.signature.specialization import feature_names, settings_of
from attndsl.spec.contract.contract import Contract
from attndsl.tile.program import Constant, TilingField, tiling_field_ref
from attndsl.tile.statements import DEVICE_MODE, If, SetCrossFlag, Statement


@dataclass(frozen=True, slots=True)
class Row:
    """A struct member: C++ type, name, meaning, and for tiling fields the expression of its value."""

    ctype: str
    name: str
    meaning: str
    value: str = ""


@dataclass(frozen=True, slots=True)
class TilingStep:
    """Statements: one list for each number of ``form``, or one alone without a form.

    ``declared``: declarations that stand in front of the lists.
    """

    form: str
    declared: tuple[str, ...]
    cases: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class TilingFunction:
    """Fills the struct for the kernels that share it."""

    name: str
    steps: tuple[TilingStep, ...]


@dataclass(frozen=True, kw_only=True)
class HostText:
    """Everything the tiling and plan templates print."""

    names: Names
    operator: str
    guard: str
    keys: tuple[tuple[str, int], ...]
    words: tuple[Words, ...]
    problem: tuple[Row, ...]
    fields: tuple[Row, ...]
    forms: tuple[Row, ...]
    constants: tuple[Row, ...]
    host_constants: tuple[ConstantText, ...]
    schedules: tuple[str, ...]
    functions: tuple[TilingFunction, ...]
    dispatch: Dispatch
    helpers: tuple[str, ...]


def host_text(kernels: Sequence[Compiled]) -> HostText:
    """The host side of the kernels of one operator."""
    operator = kernels[0].operator
    names, words = names_of(operator), problem_words(operator)
    measures([field for each in kernels for field in each.program.tiling])
    constants = tuple(_schedule_rows(kernels))
    functions, forms, planned = _tiling_functions(kernels, words, constants)
    values = [field.value for compiled in kernels for field in compiled.program.tiling]
    problem = tuple(problem_rows(kernels))
    members = {row.name for row in problem}
    return HostText(
        names=names,
        operator=comment(operator.name),
        guard=f"ATTNDSL_{names.op.upper()}",
        keys=named_keys(kernels),
        words=tuple({each.name: each for each in words.values() if each.member in members}.values()),
        problem=problem,
        fields=tuple(_fields(kernels)),
        forms=forms,
        constants=constants,
        host_constants=tuple(_host_constants(kernels)),
        schedules=tuple(schedule_file(text.name) for text in shared_texts(kernels).texts),
        functions=functions,
        dispatch=dispatch(planned, words),
        helpers=used_helpers(values),
    )


def _tiling_functions(
    kernels: Sequence[Compiled], words: Mapping[str, Words], constants: Sequence[Row]
) -> tuple[tuple[TilingFunction, ...], tuple[Row, ...], tuple[PlannedKernel, ...]]:
    """One tiling function, more only where kernels compute their fields in orders that exclude each other."""
    families: list[list[Compiled]] = []
    found: list[MergedFunction] = []
    tilings = {each: tuple(_assigned(each, words)) for each in kernels}
    for compiled in kernels:
        for place, family in enumerate(families):
            if (both := merged([tilings[each] for each in (*family, compiled)])) is not None:
                family.append(compiled)
                found[place] = both
                break
        else:
            alone = merged([tilings[compiled]])
            if alone is None:
                raise InternalError(f"{kernel_name(compiled)}: tiling fields need each other")
            families.append([compiled])
            found.append(alone)
    texts = shared_texts(kernels)
    functions, planned, spelled = [], {}, _spelled(kernels, words)
    spelled |= {f"{SCHEDULE}{row.name}": f"kernel.{row.name}" for row in constants}
    tiling_names = {field.name: f"tiling.{field.name}" for each in kernels for field in each.program.tiling}
    names = list(dict.fromkeys(form.name for function in found for form in function.forms))
    numbers_of_host = {each.name: each for one in kernels for each in one.program.tiling if each.host_only}
    for place, (family, function) in enumerate(zip(families, found, strict=True)):
        name = "Tile" if not place else f"Tile{place + 1}"
        functions.append(
            TilingFunction(
                name, tuple(_printed_step(step, spelled, numbers_of_host) for step in function.steps)
            )
        )
        own = [form.name for form in function.forms]
        for compiled, chosen in zip(family, function.chosen, strict=True):
            numbers = dict(zip(own, chosen, strict=True))
            planned[compiled] = PlannedKernel(
                compiled,
                name,
                texts.of(compiled).name,
                tuple(_row(compiled, [numbers.get(form, 0) for form in names], constants)),
                cxx_text(waits_for_all(compiled), tiling_names),
            )
    fields: dict[str, tuple[str, ...]] = {}
    for form in (form for function in found for form in function.forms):
        fields.setdefault(form.name, form.fields)
    forms = tuple(Row("int32_t", name, f"of {', '.join(fields[name])}") for name in names)
    return tuple(functions), forms, tuple(planned[each] for each in kernels)


def _spelled(kernels: Sequence[Compiled], words: Mapping[str, Words]) -> dict[str, str]:
    """The names in values of tiling fields as the tiling function has them."""
    found = {name: text for each in words.values() for name, text in each.spelled.items()}
    for compiled in kernels:
        fields = compiled.program.tiling
        found |= {name: f"problem.{member_of(name)}" for name in outside_names(fields)}
        for field in fields:
            found[tiling_field_ref(field.name).name] = (
                field.name if field.host_only else f"tiling.{field.name}"
            )
    return found


def _printed_step(
    step: Step, spelled: Mapping[str, str], numbers_of_host: Mapping[str, TilingField]
) -> TilingStep:
    """``tiling.field = value;``, or for a number of the host alone a variable with its meaning."""

    def statement(item: Assigned) -> str:
        value = cxx_text(item.value, spelled)
        own = numbers_of_host.get(item.name)
        if own is None:
            return f"tiling.{item.name} = {value};"
        if step.form:
            return f"{item.name} = {value};"
        return f"const int64_t {item.name} = {value};  // {comment(own.meaning)}"

    found = (numbers_of_host.get(item.name) for case in step.cases for item in case)
    own = {each.name: each for each in found if each is not None} if step.form else {}
    return TilingStep(
        step.form,
        tuple(f"int64_t {each.name} = 0;  // {comment(each.meaning)}" for each in own.values()),
        tuple(tuple(statement(item) for item in case) for case in step.cases),
    )


def _schedule_rows(kernels: Sequence[Compiled]) -> Iterator[Row]:
    """The constants of schedules that tiling fields are computed from, as members of a kernel's row."""
    for each in _constants_of_fields(kernels):
        if not each.host_only:
            yield Row("int64_t", each.named.name, comment(each.meaning))


def _host_constants(kernels: Sequence[Compiled]) -> Iterator[ConstantText]:
    """The constants of the plan itself.

    Raises:
        InternalError: kernels have different values of one.
    """
    found: dict[str, Named] = {}
    for each in _constants_of_fields(kernels):
        if each.host_only:
            if not found.setdefault(each.named.name, each.named).same(each.named):
                raise InternalError(f"kernels disagree about the plan's constant {each.named.name}")
            yield ConstantText(
                "int64_t", constant(each.named.name), str(each.named.value), comment(each.meaning)
            )


def _constants_of_fields(kernels: Sequence[Compiled]) -> Iterator[Constant]:
    """The constants that tiling fields are computed from, in order of first use, each name's first."""
    seen: set[tuple[str, object]] = set()
    for compiled in kernels:
        known = {each.named.name: each for each in compiled.program.constants}
        for field in compiled.program.tiling:
            for node in field.value.walk():
                if isinstance(node, Named):
                    each = known[node.name]
                    place = (node.name, node.value if each.host_only else None)
                    if place not in seen:
                        seen.add(place)
                        yield each


def _row(compiled: Compiled, forms: Sequence[int], constants: Sequence[Row]) -> Iterator[str]:
    """The members of a kernel's row."""
    yield from map(str, forms)
    yield from (_schedule_member(compiled, row.name) for row in constants)


def _schedule_member(compiled: Compiled, name: str) -> str:
    """A constant of a kernel's schedule; 1 where it has none of that name, and no field reads it."""
    known = {each.named.name for each in compiled.program.constants}
    return f"schedule::{constant(name)}" if name in known else "1"


def waits_for_all(compiled: Compiled) -> Expr:
    """When all blocks of a launch meet somewhere in the kernel, over its tiling fields."""
    found: Expr = Const(False)
    for tree in compiled.program.trees():
        for condition in _meetings(tree, Const(True)):
            if condition.same(Const(True)):
                return condition
            if not any(condition.same(part) for part in (found, *found.children())):
                found = condition if found.same(Const(False)) else found | condition
    return found


def _meetings(tree: Statement, known: Expr) -> Iterator[Expr]:
    """What the host knows of the conditions under which each meeting of all blocks is reached."""
    if isinstance(tree, SetCrossFlag) and tree.mode == DEVICE_MODE:
        yield known
    if not isinstance(tree, If):
        for child in tree.children():
            yield from _meetings(child, known)
        return
    asked = tree.condition if _is_of_tiling(tree.condition) else Const(True)
    yield from _meetings(tree.then, _both(known, asked))
    if tree.otherwise is not None:
        other = negation(asked) if not asked.same(Const(True)) else asked
        yield from _meetings(tree.otherwise, _both(known, other))


def _is_of_tiling(condition: Expr) -> bool:
    names = (node for node in condition.walk() if isinstance(node, Symbol | Load | Element))
    return all(isinstance(node, Symbol) and node.scope is Scope.TILING for node in names)


def _both(first: Expr, second: Expr) -> Expr:
    if first.same(Const(True)):
        return second
    return first if second.same(Const(True)) else first & second


def problem_rows(kernels: Sequence[Compiled]) -> Iterator[Row]:
    """What the host supplies: what chooses a kernel, then what tiling fields are computed from."""
    operator = kernels[0].operator
    io = io_tensor(operator)
    legal = ", ".join(f"{i}: {name}" for i, name in enumerate(io.dtypes))
    yield Row("int64_t", dtype_member(operator), f"dtype of {io.name}; {legal}")
    heads = {member_of(head_symbol(operator).name): f"head size, {head_size(operator)}"}
    if any(each.specialization.padded_value_size is not None for each in kernels):
        of_values = f"head size of values, {operator.axis_extents['E']}"
        heads.setdefault(member_of(head_symbol(operator, "E").name), of_values)
    for member, meaning in heads.items():
        yield Row("int64_t", member, comment(meaning))
    for feature in feature_names(operator):
        yield Row("int64_t", given_member(feature), f"whether {feature} is passed")
    asked = asked_symbols(kernels)
    for name in asked:
        values = counted(operator, name)
        legal = "; " + ", ".join(f"{i}: {value}" for i, value in enumerate(values)) if values else ""
        yield Row(_ctype(name, operator), member_of(name), comment(f"{name}{legal}"))
    listed = {*heads, *(member_of(name) for name in asked)}
    for symbol in outside_names([field for each in kernels for field in each.program.tiling]):
        if member_of(symbol) not in listed:
            yield Row(_ctype(symbol, operator), member_of(symbol), comment(_meaning(symbol, operator)))


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


def _fields(kernels: Sequence[Compiled]) -> Iterator[Row]:
    """The members of the struct: the fields of all kernels, each once."""
    yield Row("uint64_t", "key", "the tiling key, for launches that have no other way to tell it")
    seen: dict[str, str] = {}
    for compiled in kernels:
        for field in compiled.program.fields:
            if field.name not in seen:
                yield Row(CXX_SCALARS[field.ctype], field.name, comment(field.meaning))
            elif seen[field.name] != field.ctype:
                raise InternalError(f"kernels disagree about the type of tiling field {field.name}")
            seen[field.name] = field.ctype


def _assigned(compiled: Compiled, words: Mapping[str, Words]) -> Iterator[Assigned]:
    """The fields of a kernel over the problem's symbols and the fields before them."""
    scheduled = {each.named.name for each in compiled.program.constants if not each.host_only}

    def of_schedule(node: Expr) -> Expr | None:
        """A constant of the schedule by its name alone: kernels have different values of it."""
        if isinstance(node, Named) and node.name in scheduled:
            return Symbol(f"{SCHEDULE}{node.name}")
        return None

    for field in compiled.program.tiling:
        yield Assigned(field.name, with_words(measured(field.value), words).mapped(of_schedule))


def _ctype(name: str, operator: Contract) -> str:
    floats = {spec.name for spec in operator.params if spec.type is float}
    return "float" if name in floats else "int64_t"


def _meaning(name: str, operator: Contract) -> str:
    if name.startswith(f"{HOST}measure"):
        return "measured on the host, over the elements of what it reads"
    known = name.removeprefix(HOST)
    if name == CORES.name:
        return "cube cores of the device"
    if known != name and known.endswith("Layout"):
        return f"index of the layout of {known.removesuffix('Layout')}"
    if known != name and known.endswith("Count"):
        return f"entries of {known.removesuffix('Count')}, 0 without it"
    if name in operator.dims_by_name:
        return f"size {name} of the contract"
    for fold in (node for size in operator.axis_extents.values() for node in folds_of(size)):
        if name == fold_name(fold):
            return str(fold)
    for spec in operator.tensors:
        for number in range(spec.at_least * max((each.rank for each in spec.layouts.values()), default=0)):
            if name == dimension(spec.name, number).name:
                return f"size of dimension {number} of {spec.name}"
    words = enum_parameters(operator).get(name)
    if words:
        return f"parameter {name}; {', '.join(f'{number}: {word}' for number, word in enumerate(words))}"
    return f"parameter {name}"
