"""Who may know whom, as docs/architecture.md tells it: held against the imports of the packages."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import attndsl
from attndsl.spec.loader import load_shipped

ROOT = Path(attndsl.__file__).parent
BASE = {"c_names", "errors", "source_line", "symbolic", "folds", "intervals", "array_expr", "resources"}
MAY_IMPORT = {
    "hardware": set(),
    "graph": BASE,
    "tile": BASE | {"hardware"},
    "spec": BASE | {"graph", "backends"},
    "schedule": BASE | {"hardware", "graph", "tile", "spec"},
    "interpret": BASE | {"hardware", "graph", "tile", "spec", "schedule"},
    "emulator": BASE | {"hardware"},
}
NAMELESS = ("graph", "tile", "schedule", "interpret", "codegen", "hardware")
"""Packages in which nothing is named after an operator."""
OPERATORS = ("incre_flash_attention", "nsa_compress_attention", "relay_attention", "self_attention")


def imported(source: str) -> Iterator[str]:
    """The parts of attndsl that a source imports."""
    for node in ast.walk(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "attndsl":
            names = [f"attndsl.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        yield from (name.split(".")[1] for name in names if name.startswith("attndsl."))


def known(package: str) -> set[str]:
    """The other parts of attndsl that a package imports."""
    sources = (ROOT / package).rglob("*.py")
    return {name for file in sources for name in imported(file.read_text())} - {package}


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_a_package_knows_only_what_it_may(package: str) -> None:
    assert known(package) <= MAY_IMPORT[package]


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("from attndsl.spec.call import Call", "spec"),
        ("import attndsl.tile.buffers", "tile"),
        ("from attndsl import verify", "verify"),
        ("def f():\n    from attndsl.codegen import kernel", "codegen"),
    ],
)
def test_every_form_of_an_import_is_seen(line: str, part: str) -> None:
    assert list(imported(line)) == [part]


@pytest.mark.parametrize("name", OPERATORS)
def test_nothing_behind_the_specs_is_named_after_an_operator(name: str) -> None:
    load_shipped(name)  # it is one
    files = [file for package in NAMELESS for file in (ROOT / package).rglob("*.py")]
    assert files and not [file for file in files if name in file.read_text().lower()]
