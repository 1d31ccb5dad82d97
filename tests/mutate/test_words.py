"""Rules read names in emitted text: each name, and each pattern, is in some project that is generated today.

A rule whose words the generator no longer writes finds nothing, and makes defects again that are none.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import attndsl.mutate
from attndsl.base.package_files import generated_dir
from attndsl.mutate.source_model import SourceModel

FOLDER = Path(attndsl.mutate.__file__).parent
RUNS = {"bench", "mutants", "results", "runner", "trial_run"}
"""Modules that make, run and judge mutants; their texts are for readers, or for what they compile."""
RULES = sorted(
    each.stem for each in FOLDER.glob("*.py") if each.stem not in RUNS and not each.stem.startswith("__")
)
PROJECTS = sorted(each.parent.name for each in generated_dir().glob("*/op_kernel"))
ELSEWHERE = {
    "SyncAll": "the wait of all blocks that is no flag; edited kernels may have it",
    "keyTestNumbers_": "specs/variants/block_sparse.py, whose keys are told by elements of a tensor",
    "fixedSplits": "attndsl/codegen/host/kernel_conditions.py, where kernels of one plan differ in it",
}
"""Words that no project has today."""
PATTERNS_ELSEWHERE = {
    ("plan_rules", "_MEMBER"): "codegen/host/dispatch_text.py, where kernels of one text differ in a member",
    ("guards", "_FIRST_TO_COLLECT"): "specs/variants/block_sparse.py, whose tiles are those that are seen",
    ("hidden_keys", "_END_OF_BLOCK"): "specs/variants/block_sparse.py, whose keys are told in blocks",
    ("data_rules", "_START"): "specs/variants/sigmoid.py, whose rows have no maximum",
}
_CODE = re.compile(r"[(<;={]|_\b|^k[A-Z]")
"""What tells a piece of C++, or of a pattern for it, from a word for readers."""


@cache
def texts() -> tuple[str, ...]:
    """The code of headers and plans, without comments."""
    files = (each for name in PROJECTS for each in sorted((generated_dir() / name).glob("op_*/*.h")))
    return tuple(SourceModel(each.read_text(encoding="utf-8")).code for each in files)


@cache
def words() -> str:
    return " ".join(sorted(set(re.findall(r"\w+", " ".join(texts())))))


def unknown(source: str) -> Iterator[str]:
    """The words of strings in a module, other than documents and messages, that no project has."""
    tree = ast.parse(source)
    told = {
        id(part)
        for each in ast.walk(tree)
        if isinstance(each, ast.Raise)
        or (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
        for part in ast.walk(each)
    }
    for each in ast.walk(tree):
        if not (isinstance(each, ast.Constant) and isinstance(each.value, str)) or id(each) in told:
            continue
        if _CODE.search(each.value):
            plain = re.sub(r"\\[a-zA-Z]", " ", each.value)
            yield from (word for word in re.findall(r"[A-Za-z_]\w{3,}", plain) if word not in words())


@pytest.mark.parametrize("rule", RULES)
def test_the_words_that_rules_read_are_written(rule: str) -> None:
    found = set(unknown((FOLDER / rule).with_suffix(".py").read_text(encoding="utf-8")))
    assert found - ELSEWHERE.keys() == set()


def test_a_word_that_is_written_nowhere_is_found() -> None:
    source = (
        'READ = re.compile(r"\\bProductParameters\\(kTileKeys, stepRows\\)")\n"""No kWord(document)."""\n'
    )
    assert set(unknown(source)) == {"ProductParameters"}


@pytest.mark.parametrize("rule", RULES)
def test_the_patterns_of_rules_are_found(rule: str) -> None:
    module = importlib.import_module(f"attndsl.mutate.{rule}")
    for name, value in vars(module).items():
        if isinstance(value, re.Pattern) and (rule, name) not in PATTERNS_ELSEWHERE:
            # the end of a statement is any place of a whole text
            pattern = re.compile(value.pattern.replace(r"\Z", ""), value.flags)
            found = any(pattern.search(each) for each in texts())
            assert found or any(pattern.search(" ".join(each.split())) for each in texts()), name


def test_words_that_come_back_are_no_exceptions() -> None:
    assert not [word for word in ELSEWHERE if word in words()]
