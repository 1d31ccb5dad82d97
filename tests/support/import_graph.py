"""Which module of a package imports which: every form of an import, wherever it stands."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import networkx as nx


@dataclass(frozen=True)
class ImportGraph:
    """The modules below ``root``, the folder of a package, and the edges from importer to imported.

    Imports in functions and those for type checking count. So does a string that is the dotted name of a
    module, with ``:object`` or not, and the beginning of such a string that is put together: these are given
    to functions that import.
    """

    root: Path

    @cached_property
    def modules(self) -> dict[str, Path]:
        """The file of each module by its dotted name; a package is the module of its ``__init__``."""
        found = {}
        for path in sorted(self.root.rglob("*.py")):
            parts = path.relative_to(self.root.parent).with_suffix("").parts
            found[".".join(parts[:-1] if path.stem == "__init__" else parts)] = path
        return found

    @cached_property
    def edges(self) -> frozenset[tuple[str, str]]:
        """Importer and imported module; the root itself, which anything may import, is left out."""
        return frozenset((name, target) for name in self.modules for target in self._imported(name))

    def circles(self) -> frozenset[frozenset[str]]:
        """The largest sets of modules each of which imports, over others, all of the set."""
        graph = nx.DiGraph(self.edges)
        return frozenset(frozenset(each) for each in nx.strongly_connected_components(graph) if len(each) > 1)

    def upward(self, layers: Sequence[Sequence[str]]) -> list[tuple[str, str]]:
        """The edges from a part (a package, or a module at the top) to one in a layer before its own; the
        first of ``layers`` is the top. A part that no layer names counts as before all of them."""
        rank = {part: position for position, layer in enumerate(layers) for part in layer}
        edges = ((a, b, rank.get(_part(a), -1), rank.get(_part(b), -1)) for a, b in self.edges)
        return sorted((a, b) for a, b, mine, other in edges if other < mine)

    def beside(self, package: str, known: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
        """The edges between the parts of a package that ``known``, the parts that each may import, lacks."""
        deep = package.count(".") + 1
        inside = [(a, b) for a, b in self.edges if all(_below(each, package) for each in (a, b))]
        named = [(a, b, a.split(".")[deep], b.split(".")[deep]) for a, b in inside]
        return sorted(
            (a, b) for a, b, mine, other in named if mine != other and other not in known.get(mine, ())
        )

    def _imported(self, name: str) -> set[str]:
        path = self.modules[name]
        package = name if path.stem == "__init__" else name.rpartition(".")[0]
        named = _named(ast.parse(path.read_text()), package, self.root.name)
        return {found for each in named if (found := self._module(each)) not in ("", name, self.root.name)}

    def _module(self, dotted: str) -> str:
        """The module that a name is, or is defined in."""
        while dotted and dotted not in self.modules:
            dotted = dotted.rpartition(".")[0]
        return dotted


def _named(tree: ast.Module, package: str, root: str) -> Iterator[str]:
    dotted = re.compile(rf"({root}(?:\.\w+)+)(?::\w+|\.)?")
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: package.count(".") + 2 - node.level] if node.level else []
            base = ".".join((*above, *([node.module] if node.module else [])))
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and (match := dotted.fullmatch(str(node.value))):
            yield match[1]


def _part(module: str) -> str:
    return module.split(".")[1]


def _below(module: str, package: str) -> bool:
    return module.startswith(f"{package}.")
