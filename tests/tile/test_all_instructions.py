"""No instruction without tests: broken operands, a meaning held against another, its text on the emulator."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from attndsl.tile.instructions import (
    Convert,
    Instruction,
    arithmetic,
    instruction_classes,
    masks,
    reductions,
)

from . import emitted_cases, int8_limit_cases, lane_cases, limit_cases

CLASSES = instruction_classes()
BROKEN: tuple[Any, ...] = (
    *(limit.broken for limit in limit_cases.LIMITS),
    *limit_cases.WITHOUT_TWIN.values(),
    *(broken for broken, *_ in lane_cases.LIMITS.values()),
    *(broken for broken, *_ in int8_limit_cases.LIMITS.values()),
)
EMITTED = (*emitted_cases.VECTOR.values(), *emitted_cases.CUBE, *lane_cases.CASES.values())
# Sources whose functions hold a meaning against another; a test's helpers count with it.
MEANING = tuple(
    "\n".join((Path(__file__).parent / f"{name}.py").read_text() for name in names)
    for names in (
        ("test_vector_meaning",),
        ("test_cube_layouts",),
        ("test_int8_cube", "int8_limit_cases"),
        ("test_lanes_and_sorts", "lane_cases"),
    )
)

# what each row of a table of operations adds: the class, and the words that pick the row
TABLES: tuple[tuple[str, Iterable[str]], ...] = (
    ("Unary", arithmetic._UNARY),
    ("WithScalar", arithmetic._WITH_SCALAR),
    ("Binary", arithmetic._BINARY),
    ("ShiftBits", arithmetic._SHIFTS),
    ("RowReduce", reductions._REDUCTIONS),
    ("BlockReduce", reductions._REDUCTIONS),
    ("Bitwise", masks._LOGIC),
    ("CompareWithScalar", masks.COMPARISONS),
    ("CompareLanes", masks.COMPARISONS),
)
ROWS: list[tuple[str, ...]] = [
    *((name, operation) for name, table in TABLES for operation in table),
    *(("Convert", *pair, mode) for pair, modes in Convert._PAIRS.items() for mode in modes),
]


OF_INT8 = {"LoadDataWithTranspose"}
"""Names that texts of int8 alone have, which test_int8_cube.py runs."""


def row_of(item: Instruction) -> tuple[str, ...]:
    """The row of its table that an instruction is."""
    if isinstance(item, Convert):
        return ("Convert", item.src.buffer.dtype, item.dst.buffer.dtype, item.mode)
    return (type(item).__name__, getattr(item, "op", None) or getattr(item, "mode", ""))


def told_by(source: str, table: Mapping[str, Instruction]) -> list[frozenset[str]]:
    """For each function of a source what it makes, and the words in it and in its parameters."""
    found = []
    for each in ast.parse(source).body:
        if isinstance(each, ast.FunctionDef):
            words = {str(node.value) for node in ast.walk(each) if isinstance(node, ast.Constant)}
            taken = {word for name in words if name in table for word in row_of(table[name])}
            found.append(made_by(ast.unparse(each), table) | words | taken)
    return [frozenset(each) for each in found]


def made_by(source: str, table: Mapping[str, Instruction]) -> set[str]:
    """The instructions that the functions of a source make, or take from a table by name."""
    functions = [each for each in ast.parse(source).body if isinstance(each, ast.FunctionDef)]
    nodes = [node for each in functions for line in each.body for node in ast.walk(line)]
    calls = {node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    names = [str(node.value) for node in nodes if isinstance(node, ast.Constant)]
    return calls | {type(table[name]).__name__ for name in names if name in table}


def test_all_kinds_of_instructions_are_asked_for() -> None:
    assert {"Fill", "Mmad", "Fixpipe", "MergeSorted", "LoadRows"} <= set(CLASSES)
    assert "Instruction" not in CLASSES and "Machine" not in CLASSES


@pytest.mark.parametrize("name", CLASSES)
def test_a_broken_operand_of_it_is_flagged(name: str) -> None:
    assert any(type(each) is CLASSES[name] for each in BROKEN)


@pytest.mark.parametrize("name", CLASSES)
def test_its_meaning_is_held_against_another(name: str) -> None:
    assert any(name in made_by(source, lane_cases.CASES) for source in MEANING)


@pytest.mark.parametrize("name", CLASSES)
def test_its_text_runs_on_the_emulator(name: str) -> None:
    assert any(type(each) is CLASSES[name] for each in EMITTED)


@pytest.mark.parametrize("name", CLASSES)
def test_its_names_in_the_api_are_those_that_it_is_emitted_with(name: str) -> None:
    """Pages print them; an operation of a table that no name tells of would be missing there."""
    emitted = {each.api for each in EMITTED if type(each) is CLASSES[name]}
    assert emitted <= set(CLASSES[name].api_names()) <= emitted | OF_INT8


def test_tables_alone_are_no_tests_of_a_meaning() -> None:
    table: dict[str, Instruction] = {"numbers": lane_cases.CASES["numbers"]}
    assert made_by("X = Fill(1)\nY = T['numbers']\n", table) == set()
    assert made_by("def test():\n    Fill(1)\n", table) == {"Fill"}
    assert made_by("def test():\n    T['numbers']\n", table) == {"LaneNumbers"}


@pytest.mark.parametrize("row", ROWS, ids="-".join)
def test_the_text_of_a_row_of_a_table_runs_on_the_emulator(row: tuple[str, ...]) -> None:
    assert any(row_of(each) == row for each in EMITTED)


@pytest.mark.parametrize("row", ROWS, ids="-".join)
def test_the_meaning_of_a_row_of_a_table_is_held_against_another(row: tuple[str, ...]) -> None:
    told = (each for source in MEANING for each in told_by(source, lane_cases.CASES))
    assert any(each.issuperset(row) for each in told)


def test_a_row_that_no_test_speaks_of_would_be_noticed() -> None:
    source = "@each('Exp', 'Ln')\ndef test(op):\n    Unary(op)\n\ndef other():\n    Binary('Rsqrt')\n"
    (first, second) = told_by(source, {})
    assert first >= {"Unary", "Ln"} and not any(each >= {"Unary", "Rsqrt"} for each in (first, second))
