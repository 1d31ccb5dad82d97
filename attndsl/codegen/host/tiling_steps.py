"""The parts of a plan's tiling function as C++ lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from attndsl.codegen.host.kernel_tilings import LAUNCH, Assigned
from attndsl.codegen.host.problem_rows import Row
from attndsl.codegen.host.problem_words import Words, with_words
from attndsl.codegen.host.shared_fields import SharedField
from attndsl.codegen.host.tiling_function import Case, Part, Step
from attndsl.codegen.names.identifiers import comment, pascal
from attndsl.codegen.text.cxx_expressions import cxx_text
from attndsl.codegen.text.scalar_helpers import used_helpers
from attndsl.expr import Compare, Const, Expr, Logic, Named, Select, Symbol, select
from attndsl.expr.conditions import joined_parts
from attndsl.expr.operators import OPERATORS
from attndsl.lowering.signature.host_scalars import START_TOGETHER
from attndsl.tile.program import TilingField, tiling_field_ref

IS_ONE_OF = "IsOneOf"
"""The function of ``op_host/arithmetic.h`` that looks for a number among others."""
FEWEST_WORDS = 3
"""Comparisons that are worth its call."""
_FUNCTIONS = {
    "work": (
        "PartitionWork",
        "Cuts the rows into tasks and their keys into splits; the blocks that share them.",
    ),
    "strides": ("SetStrides", "Elements between neighbours along the axes of tensors, by layout."),
    "": ("SetScalars", "Sizes and settings as kernels read them."),
    LAUNCH: ("BlocksWait", "Whether blocks wait for each other: all start at once, or none."),
    "workspace": ("PlaceWorkspace", "Puts the tensors of the workspace one after the other, in bytes."),
}
"""The name and the meaning of the function of each topic."""


@dataclass(frozen=True, slots=True)
class FieldFunction:
    """A function that gives the value of one field of an attention.

    ``takes``: its inputs; ``parameters``: the declarations of what it takes of the attention.
    """

    name: str
    meaning: str
    ctype: str
    helpers: tuple[str, ...]
    takes: tuple[str, ...]
    parameters: tuple[str, ...]
    lines: tuple[str, ...]

    def declared(self, tiling: str) -> tuple[str, ...]:
        """All its parameters; ``tiling``: the struct of fields."""
        types = {"problem": "Problem", "kernel": "Kernel", "tiling": tiling}
        return (*(f"const {types[name]} &{name}" for name in self.takes), *self.parameters)


@dataclass(frozen=True, slots=True)
class TilingPart:
    """A function that computes some fields. ``helpers``: what it calls; ``takes``: its inputs.

    ``launch``: it gives a truth about the launch. ``functions``: those for single fields that it calls.
    """

    name: str
    meaning: str
    helpers: tuple[str, ...]
    takes: tuple[str, ...]
    lines: tuple[str, ...]
    launch: bool
    functions: tuple[FieldFunction, ...] = ()

    def is_as(self, other: TilingPart) -> bool:
        """Whether another function does the same, whatever it is called."""
        return replace(self, name=other.name) == other


@dataclass(frozen=True, eq=False)
class Spelling:
    """How the names of values are spelled.

    Attributes:
        names: by symbol. ``words``: of numbers that stand for words.
        numbers_of_host: what is no member of the struct. ``fields``: what is one.
        returned: the field that is the result of a function. ``calls``: those of such functions, by field.
    """

    names: Mapping[str, str]
    words: Mapping[str, Words]
    numbers_of_host: Mapping[str, TilingField]
    fields: Mapping[str, Row] = field(default_factory=dict)
    returned: str = ""
    calls: Mapping[str, str] = field(default_factory=dict)

    def ctype(self, name: str) -> str:
        """The type of a field or number."""
        own = self.numbers_of_host.get(name)
        return self.fields[name].ctype if own is None else _ctype(own)

    def text(self, value: Expr) -> str:
        """A value in C++; a number that is compared with several words is looked for among them."""
        calls: dict[str, str] = {}

        def change(node: Expr) -> Expr | None:
            if (holds := _of_truth(node)) is not None:
                truth = f"{'' if holds else '!'}{self.names[START_TOGETHER.name]}"
                calls[truth] = truth
                return Symbol(truth)
            number, words = _among(node)
            if number is None:
                return None
            inside = ", ".join(cxx_text(each, self.names) for each in (number, *words))
            call = f"attndsl::{IS_ONE_OF}({inside})"
            calls[call] = call
            return Symbol(call)

        return cxx_text(with_words(value, self.words).mapped(change), {**self.names, **calls})


def _of_truth(condition: Expr) -> bool | None:
    """Whether the truth among the problem's members holds or not, where a condition asks that alone."""
    if not isinstance(condition, Compare) or not condition.left.same(START_TOGETHER):
        return None
    return {">": True, "<=": False}[condition.op] if condition.right.same(Const(0)) else None


def _among(condition: Expr) -> tuple[Expr | None, tuple[Expr, ...]]:
    """What is compared with several words, one of which it has to be; None of other conditions."""
    parts = joined_parts(condition, "or")
    pairs = [each for each in parts if isinstance(each, Compare) and each.op == "=="]
    if len(parts) < FEWEST_WORDS or len(pairs) < len(parts):
        return None, ()
    number = pairs[0].left
    return (number if all(each.left.same(number) for each in pairs) else None), tuple(
        each.right for each in pairs
    )


def printed_part(
    part: Part, spelling: Spelling, suffix: str, shared: Sequence[SharedField] = ()
) -> TilingPart:
    """The function of a part.

    ``suffix``: what tells it from those of other kernels. ``shared``: the fields that functions compute.
    """
    name, meaning = _FUNCTIONS[part.topic]
    functions = tuple(_field_function(each, spelling, suffix) for each in shared)
    calls = {
        field: call
        for each, function in zip(shared, functions, strict=True)
        for field, call in _calls(each, function, spelling)
    }
    inside = frozenset[str]().union(*(each.inside for each in shared))
    part = replace(part, steps=tuple(_without(step, inside) for step in part.steps))
    values = [value for item, value in _values(part.steps) if item is None or item.name not in calls]
    arguments = [
        tiling_field_ref(name)
        for each in shared
        for attention in each.attentions
        for name in each.arguments(each.stem + attention) or ()
    ]
    taken = {*_takes((*values, *arguments), spelling), *(name for each in functions for name in each.takes)}
    takes = tuple(each for each in _INPUTS if each in taken)
    spelling = replace(spelling, calls=calls)
    lines = tuple(line for step in part.steps for line in _lines(step, _inner(part.steps, step), spelling))
    if part.topic == LAUNCH:
        (name_of_truth,) = {item.name for step in part.steps for case in step.cases for item in case.items}
        start = f"const bool {name_of_truth} = "
        lines = (
            (f"return {lines[0].removeprefix(start)}",)
            if len(lines) == 1
            else (*lines, f"return {name_of_truth};")
        )
    helpers = used_helpers(values)
    return TilingPart(f"{name}{suffix}", meaning, helpers, takes, lines, part.topic == LAUNCH, functions)


_INPUTS = ("problem", "kernel", "tiling")
"""The parameters of a part."""


def _takes(values: Iterable[Expr], spelling: Spelling) -> tuple[str, ...]:
    """The inputs that values need."""
    names = {node.name for value in values for node in value.walk() if hasattr(node, "name")}
    prefixes = {spelling.names.get(each, "").partition(".")[0] for each in names}
    return tuple(each for each in _INPUTS if each in prefixes)


def _field_function(shared: SharedField, spelling: Spelling, suffix: str) -> FieldFunction:
    """The function of a field, whose numbers and parameters have the names of all attentions."""
    first, values = shared.attentions[0], [item.value for item in shared.items]
    meant, numbers = spelling.fields[shared.stem + first], dict(spelling.numbers_of_host)
    numbers |= {item.name: numbers[item.name + first] for item in shared.items[:-1]}
    own = (*shared.parameters, *(item.name for item in shared.items[:-1]))
    inner = replace(
        spelling,
        names={**spelling.names, **{tiling_field_ref(name).name: name for name in own}},
        numbers_of_host=numbers,
        returned=shared.stem,
    )
    parameters = ((name, spelling.ctype(name + first)) for name in shared.parameters)
    return FieldFunction(
        name=f"{pascal(shared.stem)}Of{suffix}",
        meaning=f"{meant.meaning[:1].upper()}{meant.meaning[1:]}, of one attention.",
        ctype=meant.ctype,
        helpers=used_helpers(values),
        takes=_takes(values, inner),
        parameters=tuple(f"{ctype} {name}" for name, ctype in parameters),
        lines=tuple(line for item in shared.items for line in _assigned(item, inner)),
    )


def _calls(shared: SharedField, function: FieldFunction, spelling: Spelling) -> Iterator[tuple[str, str]]:
    """The call for the field of each attention."""
    for attention in shared.attentions:
        name = shared.stem + attention
        own = (spelling.names[tiling_field_ref(each).name] for each in shared.arguments(name) or ())
        yield name, f"{function.name}({', '.join((*function.takes, *own))})"


def _without(step: Step, names: frozenset[str]) -> Step:
    """A step without the assignments of some numbers."""
    if names.isdisjoint(item.name for case in step.cases for item in case.items):
        return step
    cases = (
        replace(case, items=tuple(item for item in case.items if item.name not in names))
        for case in step.cases
    )
    return replace(step, cases=tuple(cases))


def _inner(steps: Sequence[Step], step: Step) -> frozenset[str]:
    """The numbers of the host alone that nothing but their own case of a step needs."""
    found = set()
    for case in step.cases:
        outside = {
            name
            for each in steps
            for other in each.cases
            if other is not case
            for item in other.items
            for name in item.value.symbols()
        }
        own = (item for item in case.items if item.host_only)
        found |= {item.name for item in own if tiling_field_ref(item.name).name not in outside}
    return frozenset(found)


def _values(steps: Iterable[Step]) -> Iterator[tuple[Assigned | None, Expr]]:
    """The values of assignments, and what decides between them."""
    for step in steps:
        if step.switch is not None:
            yield None, step.switch
        for case in step.cases:
            yield from ((item, item.value) for item in case.items)
            if case.when is not None:
                yield None, case.when


def _lines(step: Step, inner: frozenset[str], spelling: Spelling) -> Iterator[str]:
    (first, *_) = step.cases
    if step.switch is None and first.when is None:
        for item in first.items:
            yield from _assigned(item, spelling)
        return
    if (chosen := _choice(step)) is not None:
        yield from _assigned(chosen, spelling)
        return
    own = {item.name for case in step.cases for item in case.items} & spelling.numbers_of_host.keys()
    for name in sorted(own - inner):
        number = spelling.numbers_of_host[name]
        yield f"{_ctype(number)} {name}{{}};  // {comment(number.meaning)}"
    if step.switch is None:
        yield from _branches(step.cases, inner, spelling)
    elif len(step.cases) == 1 and len(first.numbers) == 1:
        test = Compare("==", step.switch, Const(first.numbers[0]))
        yield from _branches([Case(first.items, test)], inner, spelling)
    else:
        yield from _switch(step, spelling)


def _choice(step: Step) -> Assigned | None:
    """One field of two values, neither of which is a choice itself, as an expression."""
    if step.switch is not None or len(step.cases) != 2 or step.cases[1].when is not None:
        return None
    (test, items), (_, others) = ((case.when, case.items) for case in step.cases)
    if test is None or len(items) != 1 or len(others) != 1:
        return None
    values = (items[0].value, others[0].value)
    if any(isinstance(node, Select) for value in values for node in value.walk()):
        return None
    if isinstance(test, Compare) and values[1].same(Const(True)):  # a truth
        opposite = Compare(OPERATORS[test.op].opposite, test.left, test.right)
        return replace(items[0], value=_either(opposite, values[0]))
    if values[0].same(Const(True)):
        return replace(items[0], value=_either(test, values[1]))
    return replace(items[0], value=select(test, *values))


def _either(first: Expr, second: Expr) -> Expr:
    """Whether one of two conditions holds."""
    return first if second.same(Const(False)) else Logic("or", first, second)


def _branches(cases: Iterable[Case], inner: frozenset[str], spelling: Spelling) -> Iterator[str]:
    """Alternatives by conditions."""
    head = "if"
    for case in cases:
        yield f"{head} ({spelling.text(case.when)}) {{" if case.when is not None else "} else {"
        for item in case.items:
            yield from (f"    {line}" for line in _assigned(item, spelling, define=item.name in inner))
        head = "} else if"
    yield "}"


def _switch(step: Step, spelling: Spelling) -> Iterator[str]:
    """Alternatives by a number that stands for a word."""
    assert step.switch is not None
    words = spelling.words.get(step.switch.name)
    yield f"switch ({spelling.text(step.switch)}) {{"
    for case in step.cases:
        for number in case.numbers:
            named = words.constant(number) if words is not None else None
            label = cxx_text(named, spelling.names) if isinstance(named, Named) else str(number)
            yield f"    case {label}:"
        for item in case.items:
            yield from (f"        {line}" for line in _assigned(item, spelling, define=False))
        yield "        break;"
    yield "    default:"
    yield "        break;"
    yield "}"


def _assigned(item: Assigned, spelling: Spelling, *, define: bool = True) -> Iterator[str]:
    """A field's value: one statement, or alternatives where its value is a choice of choices."""
    if (call := spelling.calls.get(item.name)) is not None:
        yield f"tiling.{item.name} = {call};"
        return
    value = _plain_first(item.value)
    nested = isinstance(value, Select) and any(isinstance(each, Select) for each in value.children()[1:])
    if item.name in spelling.numbers_of_host or not nested:
        yield _assignment(item, spelling, define=define)
        return
    head: str = "if"
    while isinstance(value, Select):
        yield f"{head} ({spelling.text(value.condition)}) {{"
        yield from (f"    {line}" for line in _assigned(replace(item, value=value.then), spelling))
        head, value = "} else if", _plain_first(value.otherwise)
    yield "} else {"
    yield from (f"    {line}" for line in _assigned(replace(item, value=value), spelling))
    yield "}"


def _plain_first(value: Expr) -> Expr:
    """A choice between a choice and a plain value, asked so that the plain one comes first."""
    if (
        not isinstance(value, Select)
        or not isinstance(value.then, Select)
        or isinstance(value.otherwise, Select)
    ):
        return value
    test = value.condition
    if not isinstance(test, Compare):
        return value
    return Select(Compare(OPERATORS[test.op].opposite, test.left, test.right), value.otherwise, value.then)


def _assignment(item: Assigned, spelling: Spelling, *, define: bool = False) -> str:
    """``tiling.field = value;``, or for a number of the host alone a variable, which it may ``define``."""
    value, own = spelling.text(item.value), spelling.numbers_of_host.get(item.name)
    if own is None:
        return f"return {value};" if item.name == spelling.returned else f"tiling.{item.name} = {value};"
    if not define:
        return f"{item.name} = {value};"
    meaning = f"  // {comment(own.meaning)}" if own.meaning else ""
    return f"const {_ctype(own)} {item.name} = {value};{meaning}"


def _ctype(number: TilingField) -> str:
    return "bool" if number.ctype == "bool" else "int64_t"
