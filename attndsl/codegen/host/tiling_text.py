"""The tiling struct of an operator and the host's tiling functions as data for their templates.

One struct serves all kernels of an operator; each kernel reads the fields that it knows. All are printed from
the same symbolic expressions that Python evaluates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from attndsl.base.errors import InternalError
from attndsl.codegen.host.dispatch_text import Dispatch, PlannedKernel, dispatch
from attndsl.codegen.host.kernel_conditions import Form, accepted_numbers
from attndsl.codegen.host.kernel_tilings import LAUNCH, SCHEDULE, Assigned, Tiling
from attndsl.codegen.host.problem_members import counted, io_tensor, member_of
from attndsl.codegen.host.problem_rows import (
    Row,
    layout_numbers,
    measured,
    measures,
    outside_names,
    problem_rows,
)
from attndsl.codegen.host.problem_words import Words, problem_words
from attndsl.codegen.host.shared_fields import shared_fields
from attndsl.codegen.host.tiling_function import MergedFunction, Part, can_merge, common_part, merged
from attndsl.codegen.host.tiling_steps import Spelling, TilingPart, printed_part
from attndsl.codegen.kernel.constant_text import ConstantText
from attndsl.codegen.kernel.device_header import SCOPE
from attndsl.codegen.kernel.kernel import CXX_SCALARS
from attndsl.codegen.kernel.schedule_header import schedule_file
from attndsl.codegen.kernel.shared_stages import attention_names
from attndsl.codegen.kernel.shared_texts import shared_texts
from attndsl.codegen.kernel_set.dispatch_guards import asked_symbols, guards
from attndsl.codegen.kernel_set.kernel_names import kernel_name, named_keys
from attndsl.codegen.kernel_set.tiling_keys import SIZE_DIGITS, digits
from attndsl.codegen.names.arguments import Names, names_of
from attndsl.codegen.names.identifiers import comment, pascal
from attndsl.codegen.names.members import constant
from attndsl.compiler.compile import Compiled
from attndsl.expr import Const, Element, Expr, Load, Named, Scope, Symbol, negation
from attndsl.expr.argument_facts import DTYPE, GIVEN, LAYOUT, SPLIT, dtype_of, given, kind_of
from attndsl.graph.nodes import AXIS_MEANINGS
from attndsl.lowering.signature.specialization import feature_names
from attndsl.spec.contract.contract import Contract
from attndsl.tile.program import Constant, TilingField, tiling_field_ref
from attndsl.tile.statements import DEVICE_MODE, If, SetCrossFlag, Statement


@dataclass(frozen=True, slots=True)
class TilingFunction:
    """Fills the struct for the kernels that share it.

    ``parts``: what it calls; ``own``: those that no function before it calls. ``whose``: which kernels these
    are, where there are others.
    """

    name: str
    parts: tuple[TilingPart, ...]
    own: tuple[TilingPart, ...]
    whose: str = ""

    def takes(self, name: str) -> bool:
        """Whether a part needs the ``problem``, or the ``kernel``."""
        return any(name in part.takes for part in self.parts)


@dataclass(frozen=True, kw_only=True)
class HostText:
    """Everything the tiling and plan templates print."""

    names: Names
    operator: str
    guard: str
    keys: tuple[tuple[str, int], ...]
    key_digits: tuple[str, ...]
    axes: tuple[str, ...]
    words: tuple[Words, ...]
    problem: tuple[Row, ...]
    fields: tuple[Row, ...]
    kernel_members: tuple[Row, ...]
    host_constants: tuple[ConstantText, ...]
    schedules: tuple[str, ...]
    functions: tuple[TilingFunction, ...]
    dispatch: Dispatch

    @property
    def has_row_limit(self) -> bool:
        """Whether a plan knows how many rows tasks have, and how many kernels take."""
        return "rowsPerTask" in {row.name for row in self.fields} and "maxRows" in {
            row.name for row in self.kernel_members
        }


def host_text(kernels: Sequence[Compiled]) -> HostText:
    """The host side of the kernels of one operator."""
    operator = kernels[0].operator
    names, words = names_of(operator), problem_words(operator)
    measures([field for each in kernels for field in each.program.tiling])  # raises
    constants = tuple(_schedule_rows(kernels))
    functions, forms, planned = _tiling_functions(kernels, words, constants)
    problem = tuple(problem_rows(kernels))
    members = {row.name for row in problem}
    fields = tuple(_fields(kernels))
    return HostText(
        names=names,
        operator=comment(operator.name),
        guard=f"ATTNDSL_{names.op.upper()}",
        keys=named_keys(kernels),
        key_digits=tuple(key_digits(kernels)),
        axes=tuple(_axes(operator, fields)),
        words=tuple({each.name: each for each in words.values() if each.member in members}.values()),
        problem=problem,
        fields=fields,
        kernel_members=(*constants, *forms),
        host_constants=tuple(_host_constants(kernels)),
        schedules=tuple(schedule_file(text.name) for text in shared_texts(kernels).texts),
        functions=functions,
        dispatch=dispatch(planned, words, [row.name for row in (*constants, *forms)]),
    )


def key_digits(kernels: Sequence[Compiled]) -> Iterator[str]:
    """What the digits of the kernels' tiling keys tell, the lowest first, each with its weight and values.

    Nothing where some of the kernels have other digits than the rest.
    """
    found = {
        tuple((digit.name, digit.base) for digit in digits(each.operator, each.specialization))
        for each in kernels
    }
    if len(found) > 1:
        return
    weight, fractal = 1, kernels[0].operator.device.architecture.fractal
    for name, base in next(iter(found)):
        unit = f" / {fractal}" if name in SIZE_DIGITS else ""
        yield comment(f"{name}{unit}: 0 to {base - 1}, times {weight}")
        weight *= base


def _axes(operator: Contract, fields: Sequence[Row]) -> Iterator[str]:
    """The axes that names of strides end in, with their meanings and sizes."""
    used = {row.name[-1] for row in fields if row.name[:-1].endswith("Stride")}
    for axis, meaning in AXIS_MEANINGS.items():
        if axis in used:
            size = operator.axis_extents.get(axis)
            yield comment(f"{axis}: {meaning}" + ("" if size is None else f", {size}"))


def _tiling_functions(
    kernels: Sequence[Compiled], words: Mapping[str, Words], constants: Sequence[Row]
) -> tuple[tuple[TilingFunction, ...], tuple[Row, ...], tuple[PlannedKernel, ...]]:
    """One tiling function, more only where kernels compute their fields in orders that exclude each other."""
    scheduled = frozenset(row.name for row in constants)
    tilings = {each: _tiling(each, scheduled) for each in kernels}
    families = _families(tilings)
    found = [_merged([tilings[each] for each in family]) for family in families]
    texts = shared_texts(kernels)
    spelling = _spelling(kernels, words, constants, [form for function in found for form in function.forms])
    attentions = max((attention_names(each.program) for each in kernels), key=len)
    forms = {form.name: form for function in found for form in function.forms}
    functions, planned = list[TilingFunction](), {}
    suffixes = _suffixes([[tilings[each] for each in family] for family in families])
    strides = common_part([*tilings.values()], _STRIDES) if len(families) > 1 else None
    for suffix, family, function in zip(suffixes, families, found, strict=True):
        printed = [
            printed_part(part, spelling, suffix, tuple(shared_fields(part, function.names, attentions)))
            for part in (_common_or_own(part, strides) for part in function.parts)
        ]
        known = [part for each in functions for part in each.parts]
        parts = tuple(next((each for each in known if part.is_as(each)), part) for part in printed)
        whose = f" of kernels {_spaced(suffix)}" if suffix else ""
        own = tuple(part for part in parts if part not in known)
        functions.append(TilingFunction(f"Tile{suffix}", parts, own, whose))
        (waits,) = (part.name for part in parts if part.launch)
        forms_of_family = [form.name for form in function.forms]
        for compiled, chosen in zip(family, function.chosen, strict=True):
            numbers = dict(zip(forms_of_family, chosen, strict=True))
            planned[compiled] = PlannedKernel(
                compiled,
                f"Tile{suffix}",
                waits,
                texts.of(compiled).name,
                _members(compiled, constants, numbers),
            )
    rows = tuple(Row("int64_t", each.name, _form_meaning(each)) for each in forms.values())
    return tuple(functions), rows, tuple(planned[each] for each in kernels)


_STRIDES = "strides"
"""The topic whose fields kernels of all families compute alike."""


def _common_or_own(part: Part, common: Part | None) -> Part:
    return common if common is not None and part.topic == common.topic else part


def _suffixes(families: Sequence[Sequence[Tiling]]) -> list[str]:
    """What the names of each family's functions end in: a field that it has and those before have not, or the
    other way round."""
    named = [
        {each.name: None for tiling in family for each in tiling.fields if _is_telling(each)}
        for family in families
    ]
    found = [""]
    for place, own in enumerate(named[1:], 1):
        before = {name: None for each in named[:place] for name in each}
        new, missing = (
            [name for name in one if name not in other] for one, other in ((own, before), (before, own))
        )
        candidates = [
            *(f"With{pascal(name)}" for name in sorted(new, key=len)),
            *(f"Without{pascal(name)}" for name in sorted(missing, key=len)),
            str(place + 1),
        ]
        found.append(next(each for each in candidates if each not in found))
    return found


def _is_telling(field: Assigned) -> bool:
    """Whether a field says how kernels cut their work."""
    return field.topic == "work" and not field.host_only


def _spaced(suffix: str) -> str:
    """The words of a suffix: ``WithHeadsAtOnce`` as "with headsAtOnce"."""
    word = "Without" if suffix.startswith("Without") else "With"
    field = suffix.removeprefix(word)
    return f"{word.lower()} {field[:1].lower()}{field[1:]}" if field != suffix else f"of order {suffix}"


def _families(tilings: Mapping[Compiled, Tiling]) -> list[list[Compiled]]:
    """Kernels that one order of fields suits; most often these are all of them."""
    if can_merge([*tilings.values()]):
        return [[*tilings]]
    families: list[list[Compiled]] = []
    for compiled, tiling in tilings.items():
        if not can_merge([tiling]):
            raise InternalError(f"{kernel_name(compiled)}: tiling fields need each other")
        for family in families:
            if can_merge([tilings[each] for each in (*family, compiled)]):
                family.append(compiled)
                break
        else:
            families.append([compiled])
    return families


def _merged(tilings: Sequence[Tiling]) -> MergedFunction:
    function = merged(tilings)
    assert function is not None, "the kernels of a family can be merged"
    return function


def _form_meaning(form: Form) -> str:
    (first, *_) = form.fields
    told = ", ".join(form.fields)
    return f"{first} of each launch, 0 if computed" if form.is_value else f"which values it has of {told}"


def _spelling(
    kernels: Sequence[Compiled], words: Mapping[str, Words], constants: Sequence[Row], forms: Sequence[Form]
) -> Spelling:
    """The names in values of tiling fields as the tiling function has them."""
    names = {name: text for each in words.values() for name, text in each.spelled.items()}
    asked = (*asked_symbols(kernels), *_universe(kernels[0].operator))
    for name in asked:
        names[name] = f"problem.{member_of(name)}"
    for compiled in kernels:
        of_device = (each.named.name for each in compiled.program.constants if each.of_device)
        names |= {name: f"{SCOPE}::{constant(name)}" for name in of_device}
        fields = compiled.program.tiling
        outside = (*outside_names(fields), *(each.layout.name for each in fields if each.layout is not None))
        names |= {name: f"problem.{member_of(name)}" for name in outside}
        for field in fields:
            own = field.name if field.host_only else f"tiling.{field.name}"
            names[tiling_field_ref(field.name).name] = own
    names |= {f"{SCHEDULE}{row.name}": f"kernel.{row.name}" for row in constants}
    names |= {form.symbol.name: f"kernel.{form.name}" for form in forms}
    names[tiling_field_ref(_WAITS).name] = _WAITS
    of_host = {each.name: each for one in kernels for each in one.program.tiling if each.host_only}
    of_host[_WAITS] = TilingField(_WAITS, "bool", Const(False), "", host_only=True)
    return Spelling(names, words, of_host, {row.name: row for row in _fields(kernels)})


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
        known = {each.named.name: each for each in compiled.program.constants if not each.of_device}
        for field in compiled.program.tiling:
            for node in field.value.walk():
                if isinstance(node, Named) and node.name in known:
                    each = known[node.name]
                    place = (node.name, node.value if each.host_only else None)
                    if place not in seen:
                        seen.add(place)
                        yield each


def _members(compiled: Compiled, constants: Sequence[Row], forms: Mapping[str, int]) -> dict[str, str]:
    """What the plan knows of a kernel: the constants that its schedule has, and its forms that are not 0."""
    known = {each.named.name for each in compiled.program.constants}
    scheduled = {row.name: f"schedule::{constant(row.name)}" for row in constants if row.name in known}
    return {**scheduled, **{name: str(number) for name, number in forms.items() if number}}


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


def _fields(kernels: Sequence[Compiled]) -> Iterator[Row]:
    """The members of the struct: the fields of all kernels, each once."""
    yield Row("uint64_t", "key", "the tiling key, for launches that have no other way to tell it")
    seen: dict[str, str] = {}
    for compiled in kernels:
        for field in compiled.program.fields:
            if field.name not in seen:
                yield Row(CXX_SCALARS[field.ctype], field.name, _told(field))
            elif seen[field.name] != field.ctype:
                raise InternalError(f"kernels disagree about the type of tiling field {field.name}")
            seen[field.name] = field.ctype


def _told(field: TilingField) -> str:
    """What a field holds; nothing where that says its name again."""
    meaning = comment(field.meaning)
    return "" if meaning.replace("_", "").lower() == field.name.lower() else meaning


_WAITS = "waits"
"""Whether blocks of a launch wait for each other."""


def _tiling(compiled: Compiled, in_row: frozenset[str]) -> Tiling:
    """The fields of a kernel over the problem's symbols and the fields before them, and what it accepts;
    ``in_row``: the constants of schedules that the plan knows."""
    constants = compiled.program.constants
    scheduled = {each.named.name for each in constants if not (each.host_only or each.of_device)}

    def of_schedule(node: Expr) -> Expr | None:
        """A constant of the schedule by its name alone: kernels have different values of it."""
        if isinstance(node, Named) and node.name in scheduled:
            return Symbol(f"{SCHEDULE}{node.name}")
        return None

    asked = [(guard.condition, guard.holds) for guard in guards(compiled)]
    by_field = {each.name: tiling_field_ref(each.name) for each in compiled.program.tiling}
    waits = Assigned(_WAITS, waits_for_all(compiled).substitute(by_field), LAUNCH, host_only=True)
    fields = (
        Assigned(
            field.name, measured(field.value).mapped(of_schedule), field.topic, field.host_only, field.layout
        )
        for field in compiled.program.tiling
    )
    return Tiling(
        (*fields, waits),
        accepted_numbers(asked, _universe(compiled.operator)),
        layout_numbers(compiled),
        in_row & scheduled,
    )


def _universe(operator: Contract) -> dict[str, tuple[int, ...]]:
    """The numbers that arguments can have in problems, by the symbols of conditions; -1: absent."""
    found: dict[str, tuple[int, ...]] = {dtype_of(io_tensor(operator).name).name: ()}
    found |= dict.fromkeys(operator.specialization_parameters, ())
    found |= {given(feature).name: () for feature in feature_names(operator)}
    return {name: numbers for name in found if (numbers := _numbers_of(operator, name))}


def _numbers_of(operator: Contract, name: str) -> tuple[int, ...]:
    kind = kind_of(name)
    if kind in (GIVEN, SPLIT):
        return (0, 1)
    if kind in (DTYPE, LAYOUT):
        return (-1, *range(len(counted(operator, name))))
    param = operator.find_param(name)
    if param is None or not param.choices:
        return ()
    if param.type is str:
        return (-1, *range(len(counted(operator, name))))
    return tuple(sorted(set(param.choices.values()))) if param.type is int else ()
