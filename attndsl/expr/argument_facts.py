"""The symbols by which constraints, layouts and graphs ask about arguments, such as ``given(x)``.

The name of such a symbol is the kind of the question with the argument in brackets, as the printed contract
has it. Symbols without brackets are sizes, parameters, indices and what hosts or kernels know.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cache

from attndsl.expr.nodes import Symbol

GIVEN, DTYPE, LAYOUT, SPLIT, LONGEST, ROWS = "given", "dtype", "layout", "split", "longest", "rows"


@cache
def given(name: str) -> Symbol:
    """Whether the optional argument ``name`` is passed."""
    return Symbol(f"{GIVEN}({name})")


@cache
def dtype_of(name: str) -> Symbol:
    """The dtype name of tensor ``name``."""
    return Symbol(f"{DTYPE}({name})")


@cache
def layout_of(name: str) -> Symbol:
    """The key of the layout in which tensor ``name`` is passed."""
    return Symbol(f"{LAYOUT}({name})")


@cache
def split_of(name: str) -> Symbol:
    """Whether tensor ``name`` is passed as a list of one tensor a batch row."""
    return Symbol(f"{SPLIT}({name})")


@cache
def longest_of(name: str) -> Symbol:
    """The length of the longest batch row that the prefix sums ``name`` tell."""
    return Symbol(f"{LONGEST}({name})")


def rows_of(name: str) -> str:
    """The array of constraints that holds the rows of each tensor in the list ``name``, one a batch row."""
    return f"{ROWS}({name})"


@cache
def asks(symbol: str) -> tuple[str, str]:
    """What a symbol asks of which argument, ``("dtype", "query")``; ``("", name)`` of a size or parameter."""
    kind, _, argument = symbol.partition("(")
    return (kind, argument.removesuffix(")")) if argument else ("", symbol)


def kind_of(symbol: str) -> str:
    """What a symbol asks, such as ``"given"``; empty of a size or parameter."""
    return asks(symbol)[0]


def argument_of(symbol: str) -> str:
    """The argument that a symbol asks about; the size or parameter itself."""
    return asks(symbol)[1]


def passed(names: Iterable[str], present: Collection[str]) -> dict[str, bool]:
    """The values of ``given(name)`` for each of the ``names``, where ``present`` are passed."""
    return {given(name).name: name in present for name in names}


def presence(symbols: Iterable[str], present: Collection[str]) -> dict[str, bool]:
    """The values of those among ``symbols`` that ask whether an argument is passed, where ``present`` are."""
    return {name: argument_of(name) in present for name in symbols if kind_of(name) == GIVEN}
