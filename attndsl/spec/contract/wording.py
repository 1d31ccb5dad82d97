"""How messages and the printed contract call the symbols of constraints: ``given(x)`` is "x is passed"."""

from __future__ import annotations

import re
from typing import Any

from attndsl.expr.argument_facts import DTYPE, GIVEN, LAYOUT, ROWS, SPLIT, argument_of, kind_of

_OF_A_TENSOR = re.compile(rf"({DTYPE}|{LAYOUT}|{ROWS})\((\w+)\)")


def spoken(name: str) -> str:
    """Symbols and elements in words: ``dtype(x)`` is "dtype of x", ``rows(x)[2]`` is "rows of x[2]"."""
    return _OF_A_TENSOR.sub(r"\1 of \2", name)


def fact(name: str, value: Any) -> str:
    """What a call says: "input_layout is BSH", "block_table is absent"."""
    if kind_of(name) == GIVEN:
        return f"{argument_of(name)} is {'passed' if value else 'absent'}"
    if kind_of(name) == SPLIT:
        return f"{argument_of(name)} is {'a list of one tensor a batch row' if value else 'one tensor'}"
    return f"{spoken(name)} is {value}"


def condition_words(condition: object) -> str:
    """A condition with the presence, dtypes and layouts of arguments in words."""
    text = re.sub(r"given\((\w+)\) == False", r"\1 is absent", str(condition))
    text = re.sub(r"given\((\w+)\)", r"\1 is passed", text)
    text = re.sub(r"split\((\w+)\) == False", r"\1 is one tensor", text)
    text = re.sub(r"split\((\w+)\) == split\((\w+)\)", r"\1 is a list where \2 is", text)
    return re.sub(r"split\((\w+)\)", r"\1 is a list of one tensor a batch row", text)


def alternatives(texts: list[str]) -> str:
    """``a``, ``a or b``, ``a, b or c``."""
    *most, last = texts
    return f"{', '.join(most)} or {last}" if most else last
