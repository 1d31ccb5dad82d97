"""Who may know whom, as docs/architecture.md tells it: held against the imports of the packages."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import attndsl
from attndsl.base.package_files import generated_dir
from attndsl.campaign import records
from attndsl.campaign.records import FOLDER
from attndsl.graph import nodes
from attndsl.lowering.keys import source_rules
from attndsl.reference import rows as readers
from attndsl.spec.operator.loader import load, shipped_names
from attndsl.verify.data import cells

ROOT = Path(attndsl.__file__).parent
PAGE = ROOT.parent / "docs" / "architecture.md"
NAMELESS = ("graph", "tile", "schedule", "interpret", "codegen", "hardware")
"""Packages in which nothing is named after an operator."""


@cache
def imported(source: str) -> tuple[str, ...]:
    """The parts of attndsl that a source imports."""
    return tuple(_imported(source))


def _imported(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "attndsl":
            names = [f"attndsl.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        yield from (name.split(".")[1] for name in names if name.startswith("attndsl."))


def parts() -> set[str]:
    """The parts of attndsl: packages and modules at its top."""
    return {path.stem for path in ROOT.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}


def known(part: str) -> set[str]:
    """The other parts of attndsl that a part imports."""
    sources = (ROOT / part).rglob("*.py") if (ROOT / part).is_dir() else [ROOT / f"{part}.py"]
    found = {name for file in sources for name in imported(file.read_text())}
    return (found & parts()) - {part}


def rows() -> dict[tuple[str, ...], set[str]]:
    """The page's table: the parts of each row, and what it says they import."""
    table = PAGE.read_text().split("## The packages")[1].split("\n\n")[1]
    found = {}
    for line in table.splitlines()[2:]:
        first, *_, last = line.strip("| ").split(" | ")
        of_row = tuple(
            name.removesuffix(".py").rpartition("/")[2] for name in re.findall(r"`([^`]+)`", first)
        )
        found[of_row] = set(re.findall(r"`(\w+)`", last))
    return found


def test_the_page_has_a_row_for_every_part() -> None:
    named = [part for row in rows() for part in row]
    assert len(named) == len(set(named)) and set(named) == parts() - {"__init__", "__main__"}


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_a_part_imports_what_the_page_says(row: tuple[str, ...]) -> None:
    """``base`` stands for the first two rows."""
    base = {part for each in list(rows())[:2] for part in each}
    found = {name for part in row for name in known(part)} - set(row)
    assert {"base" if name in base else name for name in found} == rows()[row]


def test_whatever_a_digested_source_imports_is_digested() -> None:
    """Records are stale as soon as code that decided them is another. Only the runner knows the
    emulator's errors, which end a run whatever the backend."""
    for backend, beyond in (
        ("reference", records._EMITTING),
        ("tile", records._EMITTING),
        ("emulator", set()),
    ):
        names = {name for _, name in records._files(backend) if (ROOT / name).is_file()}
        digested = {name.split("/")[0].removesuffix(".py") for name in names}
        missing = {
            (name, part)
            for name in names
            if name.endswith(".py")
            for part in imported((ROOT / name).read_text())
            if part in parts() - digested
        }
        assert {"intervals", "c_names", "verify", "schedule", "hardware"} <= digested
        assert {name for name, part in missing if part not in beyond or name != "campaign/runner.py"} == set()
        assert {name for name in names if name.endswith(".py")} >= {
            f"verify/{file.name}" for file in (ROOT / "verify").glob("*.py")
        }


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("from attndsl.spec.binding.call import Call", "spec"),
        ("import attndsl.tile.buffers", "tile"),
        ("from attndsl import verify", "verify"),
        ("def f():\n    from attndsl.codegen import kernel", "codegen"),
    ],
)
def test_every_form_of_an_import_is_seen(line: str, part: str) -> None:
    assert imported(line) == (part,)


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
    assert sources == set(readers._SOURCES) == set(source_rules._SOURCES)
    assert sources <= set(cells._BELOW)


def test_no_two_packages_import_each_other() -> None:
    packages = {part for part in parts() if (ROOT / part).is_dir()}
    assert {(a, b) for a in packages for b in known(a) & packages if a in known(b)} == set()
