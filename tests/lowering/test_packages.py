"""The packages of the lowering import downward only, in the order that its docstring tells."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import networkx as nx

import attndsl
from attndsl import lowering

ROOT = Path(attndsl.__file__).parent
ROOM = ROOT / "lowering"
_PREFIX = "attndsl.lowering."


def order() -> list[str]:
    """The packages and modules of the lowering, as its docstring lists them."""
    listed = re.findall(r"^    ((?:\w+, )*\w+)  ", str(lowering.__doc__), flags=re.MULTILINE)
    return list(chain.from_iterable(line.split(", ") for line in listed))


def imports(file: Path) -> Iterator[str]:
    """The modules of the lowering that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(_PREFIX):
            yield str(node.module).removeprefix(_PREFIX)


def edges() -> Iterator[tuple[str, str]]:
    for file in ROOM.rglob("*.py"):
        name = ".".join(file.relative_to(ROOM).with_suffix("").parts)
        yield from ((name, other) for other in imports(file))


def test_the_docstring_lists_every_package() -> None:
    packages = {path.name for path in ROOM.iterdir() if (path / "__init__.py").is_file()}
    assert packages and packages < set(order())


def test_packages_import_downward_only() -> None:
    place = {name: number for number, name in enumerate(order())}
    found = [
        (one, other)
        for one, other in edges()
        if (a := one.split(".")[0]) in place
        and (b := other.split(".")[0]) in place
        and a != b
        and place[a] > place[b]
    ]
    assert found == []


def test_no_circle_of_modules() -> None:
    graph = nx.DiGraph(edges())
    assert graph.number_of_edges() > 100
    assert [each for each in nx.strongly_connected_components(graph) if len(each) > 1] == []


def test_nothing_below_imports_the_lowering() -> None:
    below = ("base", "expr", "target", "graph", "spec", "tile", "reference")
    files = [file for part in below for file in (ROOT / part).rglob("*.py")]
    assert files and [file for file in files if any(imports(file))] == []
