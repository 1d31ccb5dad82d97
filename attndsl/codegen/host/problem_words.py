"""Names for the numbers by which a host tells dtypes, layouts and words of parameters apart."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from attndsl.codegen.host.problem_members import counted, io_tensor, member_of
from attndsl.codegen.names.identifiers import capitalized, pascal
from attndsl.expr import Compare, Const, Expr, Named, Symbol
from attndsl.expr.argument_facts import dtype_of, layout_of
from attndsl.lowering.signature.host_scalars import layout_choice
from attndsl.spec.contract.contract import Contract

NAMESPACE = "values"


@dataclass(frozen=True, slots=True)
class Words:
    """The values of a ``member`` of the problem: a struct of constants, each a name and its number."""

    member: str
    name: str
    constants: tuple[tuple[str, int], ...]

    @property
    def spelled(self) -> dict[str, str]:
        """The constants by their names in expressions, as C++ has them."""
        return {f"{self.name}.{name}": f"{NAMESPACE}::{self.name}::{name}" for name, _ in self.constants}

    def constant(self, number: object) -> Named | None:
        """The constant for a number, if the number stands for a word."""
        for name, value in self.constants:
            if value == number:
                return Named(value, f"{self.name}.{name}")
        return None


def problem_words(operator: Contract) -> dict[str, Words]:
    """The words of an operator by the symbols that expressions of its hosts have for them."""
    found: dict[str, Words] = {}
    for symbol, values in _worded(operator):
        constants = tuple(_constants(values))
        if constants:
            found[symbol] = Words(member_of(symbol), pascal(member_of(symbol)), constants)
    return found


def _worded(operator: Contract) -> Iterator[tuple[str, Mapping[Any, int]]]:
    """Symbols with their words and numbers."""
    io = dtype_of(io_tensor(operator).name).name
    for spec in operator.tensors:
        if dtype_of(spec.name).name in {io, *operator.specialization_parameters}:
            yield dtype_of(spec.name).name, {each: i for i, each in enumerate(spec.dtypes)}
        layouts = {each: i for i, each in enumerate(spec.layouts)}
        if len(layouts) > 1:
            yield layout_of(spec.name).name, layouts
            yield layout_choice(spec.name).name, layouts
    for param in operator.params:
        if param.type is str:
            yield param.name, {each: i for i, each in enumerate(counted(operator, param.name))}
        elif param.type is int and param.choices:
            yield param.name, param.choices


def _constants(values: Mapping[Any, int]) -> Iterator[tuple[str, int]]:
    """Names and numbers, each number once; words that are numbers themselves have no other name."""
    names: set[str] = set()
    numbers: set[int] = set()
    for word, number in values.items():
        parts = re.findall(r"[A-Za-z0-9]+", word) if isinstance(word, str) else []
        name = "k" + "".join(capitalized(part) for part in parts)
        if not parts or number in numbers or (isinstance(word, str) and word.lstrip("-").isdigit()):
            continue
        if name in names:
            name = f"{name}{number}"
        names.add(name)
        numbers.add(number)
        yield name, number


def with_words(value: Expr, words: Mapping[str, Words]) -> Expr:
    """An expression in which comparisons with numbers that stand for words are with their constants."""

    def change(node: Expr) -> Expr | None:
        if not isinstance(node, Compare) or not isinstance(node.left, Symbol):
            return None
        known, other = words.get(node.left.name), node.right
        if known is None or not isinstance(other, Const) or isinstance(other, Named):
            return None
        constant = known.constant(other.value)
        return None if constant is None else Compare(node.op, node.left, constant)

    return value.mapped(change)
