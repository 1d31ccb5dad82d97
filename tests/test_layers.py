"""Who may know whom, as docs/architecture.md tells it: held against the imports of the packages."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import attndsl
from attndsl.graph import nodes
from attndsl.interpret import rows as readers
from attndsl.resources import generated_dir
from attndsl.schedule import key_sources
from attndsl.spec.loader import load, shipped_names
from attndsl.verify import cells
from attndsl.verify.records import FOLDER

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


@pytest.mark.parametrize("name", shipped_names())
def test_nothing_behind_the_specs_is_named_after_an_operator(name: str) -> None:
    texts = {
        file: file.read_text().lower() for package in NAMELESS for file in (ROOT / package).rglob("*.py")
    }
    assert texts and not [file for file, text in texts.items() if name in text]


@pytest.mark.parametrize("name", shipped_names())
def test_whatever_a_shipped_operator_has_is_there(name: str) -> None:
    """A project for each mode, a record of what was verified, a row in the README: as the page on it says."""
    readme = (ROOT.parent / "README.md").read_text()
    assert re.search(rf"^\| `{name}` \|", readme, re.MULTILINE)
    assert (FOLDER / f"{name}.json").is_file()
    for operator in (load(name), *load(name).modes):
        folder = generated_dir() / operator.name
        assert (folder / "op_kernel").is_dir(), "run: attndsl generate"


def test_a_key_source_is_known_wherever_it_must_be() -> None:
    """The places that the page on a new one names: read by the reference, lowered, found by probes."""
    sources = {
        each for each in vars(nodes).values() if isinstance(each, type) and nodes.Rows in each.__mro__[1:]
    }
    assert nodes.Paged in sources
    assert sources == set(readers._SOURCES) == set(key_sources._SOURCES)
    assert sources <= set(cells._BELOW)
