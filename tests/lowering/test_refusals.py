"""Refusals of the lowering name what an author can write instead, wherever they are raised."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import attndsl

PACKAGE = Path(attndsl.__file__).parent
WITHOUT_A_NEXT_STEP = {
    # the words themselves say what is legal
    "the_cube_takes_the_io_dtype",
    "statistics_are_fp32",
    "repeated_statistics_have_a_block_of_copies",
    "results_have_the_io_dtype_or_fp32",
    "_check_depths",
    # about one operator's features that no other form has
    "padding_is_added_last",
    "tensors_of_a_list_tell_their_rows",
    "dequantized",
    "_check_host_knows",
    "_pitches",
    # caught by what asks, or replaced by another refusal
    "key_interval",
    # a graph has no such node
    "key_source",
    "zero_padding",
}


def raised(tree: ast.Module) -> Iterator[tuple[str, bool]]:
    """Each refusal by its function, and whether it has a next step."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "NotLowered":
                further = any(isinstance(each, ast.Starred) for each in node.args)
                yield function.name, len(node.args) > 2 or further
            of_rule = ast.unparse(function.returns or ast.Constant(0)) == "Iterator[Finding]"
            if of_rule and isinstance(node, ast.Yield) and isinstance(node.value, ast.Tuple):
                yield function.name, len(node.value.elts) > 2


def silent(text: str) -> set[str]:
    return {name for name, told in raised(ast.parse(text)) if not told}


def test_refusals_have_a_next_step() -> None:
    found = set[str]()
    for path in (*(PACKAGE / "lowering").rglob("*.py"), PACKAGE / "compiler" / "prepare_launch.py"):
        found |= silent(path.read_text(encoding="utf-8"))
    assert found == WITHOUT_A_NEXT_STEP


def test_the_scan_sees_a_refusal_without_one() -> None:
    rule = "def rule(c) -> Iterator[Finding]:\n    yield 'a', where{}\n"
    rule += "def lower():\n    raise NotLowered('b', where{})\n"
    assert silent(rule.format("", "")) == {"rule", "lower"}
    assert silent(rule.format(", 'c'", ", 'c'")) == set()
