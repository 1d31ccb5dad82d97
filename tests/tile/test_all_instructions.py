"""No instruction without tests: broken operands, a meaning held against another, its text on the emulator."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

import attndsl.emulator
from attndsl.tile.instructions import (
    Convert,
    Instruction,
    arithmetic,
    instruction_classes,
    masks,
    reductions,
)
from attndsl.tile.instructions.vector import VectorInstruction

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


# What the device reads beside its sources -------------------------------------------------------------------

EMULATOR = Path(attndsl.emulator.__file__).parent
LANES = (EMULATOR / "src" / "elementwise.cpp").read_text()
LANE_OPS = frozenset(
    re.findall(r"X\((\w+)\)", (EMULATOR / "include/attnemu/ops.h").read_text().split("VECTOR_OPS")[0])
)


def told_to_read(source: str) -> frozenset[str]:
    """The operations whose old destination the device model reads."""
    body = source.split("bool reads_destination(")[1].split("\n}")[0]
    return frozenset(re.findall(r"VectorOp::(\w+)", body))


def reading_unseen(source: str, instructions: Iterable[Instruction]) -> set[str]:
    """The operations that read their destination, by their arithmetic or by an instruction of the tile IR,
    and are not told to, or the other way round."""
    told = told_to_read(source)
    floats = source.split("void compute_float(")[1].split("\n}")[0]
    lines = re.findall(r"case VectorOp::(\w+): return each\(d, n, (.*)\);", floats)
    found = {name for name, meaning in lines if ("d[i]" in meaning) != (name in told)}
    for each in instructions:
        if isinstance(each, VectorInstruction) and each.cost_key in LANE_OPS:
            reads = any(region is each.dst for region in each.sources())
            found |= {each.cost_key} if reads != (each.cost_key in told) else set()
    return found


def test_the_device_reads_the_destination_where_an_instruction_does() -> None:
    assert {"Axpy", "Add", "Exp", "ShiftLeft"} <= LANE_OPS and "Convert" not in LANE_OPS
    assert reading_unseen(LANES, EMITTED) == set()


@pytest.mark.parametrize(
    ("text", "other", "flagged"),
    [
        (" || op == VectorOp::Axpy;", ";", {"Axpy"}),
        ("op == VectorOp::MulAddDst || ", "", {"MulAddDst"}),  # which no instruction of the tile IR uses
        (" || op == VectorOp::Axpy;", " || op == VectorOp::Axpy || op == VectorOp::Exp;", {"Exp"}),
    ],
)
def test_a_destination_that_is_read_and_not_told_of_would_be_noticed(
    text: str, other: str, flagged: set[str]
) -> None:
    assert LANES.count(text) == 1
    assert reading_unseen(LANES.replace(text, other), EMITTED) == flagged


def test_an_instruction_alone_tells_of_its_destination() -> None:
    """Whatever the arithmetic in fp32 says: integers have theirs elsewhere."""
    hidden = LANES.replace(" || op == VectorOp::Axpy;", ";").replace("a[i] * s + d[i]", "a[i] * s")
    assert reading_unseen(hidden, EMITTED) == {"Axpy"}
    assert reading_unseen(hidden, [each for each in EMITTED if each.api != "Axpy"]) == set()
