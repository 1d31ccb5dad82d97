"""The parts of a plan's tiling function as C++ lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from attndsl.codegen.host.kernel_conditions import FORM
from attndsl.codegen.host.kernel_tilings import SCHEDULE, Assigned
from attndsl.codegen.host.problem_words import Words, with_words
from attndsl.codegen.host.tiling_function import Case, Part, Step
from attndsl.codegen.names.identifiers import comment
from attndsl.codegen.text.cxx_expressions import cxx_text
from attndsl.codegen.text.scalar_helpers import used_helpers
from attndsl.expr import Compare, Const, Expr, Named
from attndsl.tile.program import TilingField

_FUNCTIONS = {
    "work": (
        "PartitionWork",
        "Cuts the rows into tasks and their keys into splits; the blocks that share them.",
    ),
    "strides": ("SetStrides", "Elements between neighbours along the axes of tensors, by layout."),
    "": ("SetScalars", "Sizes and settings as kernels read them."),
    "workspace": ("PlaceWorkspace", "Puts the tensors of the workspace one after the other, in bytes."),
}
"""The name and the meaning of the function of each topic."""


@dataclass(frozen=True, slots=True)
class TilingPart:
    """A function that computes some fields. ``helpers``: what it calls; ``takes``: its inputs."""

    name: str
    meaning: str
    helpers: tuple[str, ...]
    takes: tuple[str, ...]
    lines: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Spelling:
    """How the names of values are spelled. ``names``: by symbol; ``words``: of numbers that stand for words;
    ``numbers_of_host``: what is no member of the struct."""

    names: Mapping[str, str]
    words: Mapping[str, Words]
    numbers_of_host: Mapping[str, TilingField]

    def text(self, value: Expr) -> str:
        """A value in C++."""
        return cxx_text(with_words(value, self.words), self.names)


def printed_part(part: Part, spelling: Spelling, suffix: str) -> TilingPart:
    """The function of a part; ``suffix``: what tells it from those of other kernels."""
    name, meaning = _FUNCTIONS[part.topic]
    values = list(_values(part.steps))
    names = {node.name for value in values for node in value.walk() if hasattr(node, "name")}
    takes = [] if all(spelling.names.get(each, "")[:8] != "problem." for each in names) else ["problem"]
    if any(each.startswith((SCHEDULE, FORM)) for each in names):
        takes.append("kernel")
    lines = tuple(line for step in part.steps for line in _lines(step, spelling))
    return TilingPart(f"{name}{suffix}", meaning, used_helpers(values), tuple(takes), lines)


def _values(steps: Iterable[Step]) -> Iterator[Expr]:
    for step in steps:
        if step.switch is not None:
            yield step.switch
        for case in step.cases:
            yield from (item.value for item in case.items)
            if case.when is not None:
                yield case.when


def _lines(step: Step, spelling: Spelling) -> Iterator[str]:
    (first, *_) = step.cases
    if step.switch is None and first.when is None:
        yield from (_assignment(item, spelling) for item in first.items)
        return
    own = {item.name for case in step.cases for item in case.items} & spelling.numbers_of_host.keys()
    for name in sorted(own):
        number = spelling.numbers_of_host[name]
        yield f"{_ctype(number)} {name}{{}};  // {comment(number.meaning)}"
    if step.switch is None:
        yield from _branches(step.cases, spelling)
    elif len(step.cases) == 1 and len(first.numbers) == 1:
        test = Compare("==", step.switch, Const(first.numbers[0]))
        yield from _branches([Case(first.items, test)], spelling)
    else:
        yield from _switch(step, spelling)


def _branches(cases: Iterable[Case], spelling: Spelling) -> Iterator[str]:
    """Alternatives by conditions."""
    head = "if"
    for case in cases:
        test = f" ({spelling.text(case.when)})" if case.when is not None else ""
        yield f"{head}{test} {{" if test or head == "if" else "} else {"
        yield from (f"    {_assignment(item, spelling, declared=True)}" for item in case.items)
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
        yield from (f"        {_assignment(item, spelling, declared=True)}" for item in case.items)
        yield "        break;"
    yield "    default:"
    yield "        break;"
    yield "}"


def _assignment(item: Assigned, spelling: Spelling, *, declared: bool = False) -> str:
    """``tiling.field = value;``, or for a number of the host alone a variable with its meaning."""
    value, own = spelling.text(item.value), spelling.numbers_of_host.get(item.name)
    if own is None:
        return f"tiling.{item.name} = {value};"
    if declared:
        return f"{item.name} = {value};"
    return f"const {_ctype(own)} {item.name} = {value};  // {comment(own.meaning)}"


def _ctype(number: TilingField) -> str:
    return "bool" if number.ctype == "bool" else "int64_t"
