"""The attributes and reserved inputs of an operator, as its project's README tells them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from attndsl.codegen.names.arguments import Argument, Names
from attndsl.codegen.names.identifiers import comment
from attndsl.spec.contract.arguments import ParamSpec

_TYPES = {int: "int", float: "float", bool: "bool", str: "string"}


@dataclass(frozen=True, slots=True)
class AttributeRow:
    """An attribute: its type, its default or that it is required, its legal values, what it means."""

    name: str
    type: str
    default: str
    values: str
    meaning: str

    @property
    def told(self) -> str:
        """All of it as an entry of a list."""
        first = f"{self.name} ({self.type}, {self.default})"
        rest = "; ".join(part for part in (self.values, self.meaning) if part)
        return f"{first}: {rest}." if rest else f"{first}."


def attribute_rows(names: Names) -> Iterator[AttributeRow]:
    """A row for each attribute of the operator's definition."""
    for item in names.params:
        spec = item.spec
        assert isinstance(spec, ParamSpec)
        default = _code(spec.default) if names.may_be_left_out(item) else "required"
        values = _choices(names, item, spec) if spec.choices else _range(spec)
        meaning = [item.meaning] if item.meaning else []
        if not spec.choices:  # of which the legal ones are listed
            meaning += (comment(rule.text) for rule in names.rules_of(item))
        yield AttributeRow(f"`{item.name}`", _TYPES[spec.type], default, values, "; ".join(meaning))


def reserved_inputs(names: Names) -> Iterator[str]:
    """A sentence for each input that nobody reads."""
    for item in names.tensors:
        if item.tensor is not None and not item.tensor.layouts:
            passed = "has to be passed" if item.tensor.required else "may be left out"
            yield f"`{item.name}` {passed}{': ' if item.meaning else ''}{item.meaning}."


def _choices(names: Names, item: Argument, spec: ParamSpec) -> str:
    """The values that the contract takes in some call, each with its first name."""
    words: dict[Any, str] = {}
    for spelling, value in spec.choices.items():
        if isinstance(spelling, str) and spec.type is not str and not spelling.lstrip("-").isdigit():
            words.setdefault(value, spelling)
    legal = [value for value in dict.fromkeys(spec.choices.values()) if names.takes(item, value)]
    return ", ".join(
        f"{value} = {comment(words[value])}" if value in words else _code(value) for value in legal
    )


def _range(spec: ParamSpec) -> str:
    """The bounds of a number: ``> 0``, ``0 to 8``."""
    if spec.ge is not None and spec.le is not None and spec.gt is None and spec.lt is None:
        return f"{spec.ge} to {spec.le}"
    return ", ".join(f"{bound.op} {bound.right}" for bound in spec.bounds())


def _code(value: Any) -> str:
    return f"`{comment(str(value))}`"
