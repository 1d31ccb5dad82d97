"""Who may know whom: the order of the packages, held against every import of every module."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from types import ModuleType

import pytest

import attndsl
from attndsl.base.package_files import USERS_OF_KERNELS, generated_dir
from attndsl.campaign import records
from attndsl.campaign.records import FOLDER
from attndsl.codegen.project import finished
from attndsl.compiler import stored_programs
from attndsl.graph import nodes
from attndsl.lowering.keys import source_rules
from attndsl.reference.whole import RULES
from attndsl.spec.operator.loader import load, shipped_names
from attndsl.verify.data import row_locations
from tests.support.import_graph import ImportGraph

ROOT = Path(attndsl.__file__).parent
PAGE = ROOT.parent / "docs" / "architecture.md"
GRAPH = ImportGraph(ROOT)

LAYERS = (
    ("__main__",),
    ("cli",),
    ("mutate",),
    ("diagnosis",),
    ("campaign",),
    ("api", "ops", "packing"),
    ("profile",),
    ("tuning",),
    ("execute",),
    ("codegen",),
    ("verify",),
    ("tile_interpreter",),
    ("compiler",),
    ("passes",),
    ("reference",),
    ("lowering",),
    ("tile",),
    ("spec",),
    ("graph",),
    ("emulator",),
    ("target",),
    ("expr",),
    ("base",),
)
"""The packages, and the modules beside them; each imports none of a layer before its own."""
_LOWERING = (
    ("lower", "ways"),
    ("joint_items",),
    ("common_stages",),
    ("phases", "work_partition", "hoist_scalar_loads", "value_numbering", "preconditions"),
    ("axis_reads",),
    ("own_expressions",),
    ("results",),
    ("selection",),
    ("attention",),
    ("scores",),
    ("masks",),
    ("operands",),
    ("context",),
    ("keys",),
    ("rows",),
    ("emit",),
    ("match",),
    ("signature",),
    ("errors",),
)
INSIDE = {
    "attndsl.lowering": {
        part: tuple(below for layer in _LOWERING[place + 1 :] for below in layer)
        for place, parts in enumerate(_LOWERING)
        for part in parts
    },
    "attndsl.spec": {
        "loader": ("operator",),
        "operator": ("authoring", "binding", "contract", "errors"),
        "authoring": ("contract", "errors"),
        "binding": ("contract", "errors"),
        "contract": ("errors",),
        "errors": (),
    },
    "attndsl.verify": {"cases": ("data", "space", "judge"), "data": ("space",), "space": (), "judge": ()},
}
"""What the parts of a package may import of each other."""
NAMELESS = (
    "codegen",
    "compiler",
    "expr",
    "graph",
    "lowering",
    "passes",
    "reference",
    "target",
    "tile",
    "tile_interpreter",
    "tuning",
)
"""Packages in which nothing is named after an operator."""


def packages() -> dict[str, Path]:
    """The packages and those inside of them, by dotted name."""
    return {name: path for name, path in GRAPH.modules.items() if path.stem == "__init__"}


def tops() -> list[str]:
    """The packages at the top."""
    return sorted(name.removeprefix("attndsl.") for name in packages() if name.count(".") == 1)


# The tree ---------------------------------------------------------------------------------------------------


def test_every_package_has_a_place_in_the_order() -> None:
    placed = [part for layer in LAYERS for part in layer]
    beside = {path.stem for path in ROOT.glob("*.py")} - {"__init__"}
    assert sorted(placed) == sorted({*tops(), *beside})


def test_every_import_points_downward() -> None:
    assert GRAPH.upward(LAYERS) == []
    assert len(GRAPH.edges) > len(GRAPH.modules)


def test_no_circle_of_modules() -> None:
    assert GRAPH.circles() == frozenset()


@pytest.mark.parametrize("package", INSIDE)
def test_the_parts_of_a_package_point_downward(package: str) -> None:
    inside = {name.split(".")[2] for name in GRAPH.modules if name.startswith(f"{package}.")}
    assert inside == set(INSIDE[package])
    assert GRAPH.beside(package, INSIDE[package]) == []


def test_every_package_says_what_it_is() -> None:
    assert [name for name, path in packages().items() if not ast.get_docstring(_parsed(path))] == []
    folders = {path.parent for path in GRAPH.modules.values()}
    assert folders == {path.parent for path in packages().values()}


def test_the_page_has_a_row_for_every_package_in_this_order() -> None:
    """And each package has a page of its own, to which its row leads."""
    table = PAGE.read_text().split("## The packages")[1].split("\n## ")[0]
    rows = re.findall(r"^\| \[`(\w+)`\]\((packages/\w+\.md)\) \|", table, re.MULTILINE)
    assert [name for name, _ in rows] == [part for layer in LAYERS for part in layer if part in tops()]
    assert [link for name, link in rows if not (PAGE.parent / link).is_file()] == []


def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


# The checker ------------------------------------------------------------------------------------------------

PLANTED = (("top",), ("middle", "beside"), ("low",))


def planted(folder: Path, **texts: str) -> ImportGraph:
    """A package with an empty module ``one`` in each part of PLANTED, and with these texts."""
    files = {f"{part}/one": "" for layer in PLANTED for part in layer}
    files |= {f"{part}/__init__": "" for layer in PLANTED for part in layer} | {"__init__": ""}
    files |= {name.replace("__of__", "/"): text for name, text in texts.items()}
    for name, text in files.items():
        path = folder / "attndsl" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return ImportGraph(folder / "attndsl")


@pytest.mark.parametrize(
    "text",
    [
        "import attndsl.middle.one",
        "import os, attndsl.middle.one as other",
        "from attndsl.middle.one import name",
        "from attndsl.middle import one",
        "from ..middle import one",
        "from ..middle.one import name",
        "def f():\n    from attndsl.middle.one import name",
        "if TYPE_CHECKING:\n    from attndsl.middle.one import name",
        "importlib.import_module('attndsl.middle.one')",
        "TABLE = {'x': 'attndsl.middle.one:NAME'}",
        "patch('attndsl.middle.one.name')",
    ],
)
def test_every_form_of_an_upward_import_is_flagged(tmp_path: Path, text: str) -> None:
    graph = planted(tmp_path, low__of__two=text)
    assert graph.upward(PLANTED) == [("attndsl.low.two", "attndsl.middle.one")]


@pytest.mark.parametrize("text", ["from attndsl import middle", "import_module(f'attndsl.middle.{name}')"])
def test_the_import_of_a_package_is_flagged(tmp_path: Path, text: str) -> None:
    graph = planted(tmp_path, low__of__two=text)
    assert graph.upward(PLANTED) == [("attndsl.low.two", "attndsl.middle")]


@pytest.mark.parametrize(
    "text",
    [
        "from attndsl.low.one import name",
        "from .one import name",
        "from attndsl import __version__",
        "import attndsl",
        "'See :mod:`attndsl.middle.one`.'",
        "'attndsl.middle.one is above'",
        "'xattndsl.middle.one'",
        "'attndsl.nowhere'",
        "GROUP = 'attndsl'",
        "# from attndsl.middle import one",
        "from middle import one",
    ],
)
def test_what_is_no_upward_import_is_not_flagged(tmp_path: Path, text: str) -> None:
    graph = planted(tmp_path, low__of__two=text, top__of__two=text.replace("low", "middle"))
    assert graph.upward(PLANTED) == [] and graph.circles() == frozenset()


def test_parts_of_one_layer_may_know_each_other_but_in_no_circle(tmp_path: Path) -> None:
    text = "from attndsl.{}.two import name"
    assert planted(tmp_path, beside__of__two=text.format("middle")).upward(PLANTED) == []
    graph = planted(tmp_path, beside__of__two=text.format("middle"), middle__of__two=text.format("beside"))
    assert graph.upward(PLANTED) == []
    assert graph.circles() == {frozenset({"attndsl.beside.two", "attndsl.middle.two"})}


def test_a_part_without_a_place_is_above_all(tmp_path: Path) -> None:
    graph = planted(tmp_path, new__of__one="import attndsl.top.one", top__of__two="import attndsl.new.one")
    assert graph.upward(PLANTED) == [("attndsl.top.two", "attndsl.new.one")]


def test_a_circle_inside_a_package_is_flagged(tmp_path: Path) -> None:
    """Over three modules, one of them by a string; a fourth that only looks on is none of them."""
    graph = planted(
        tmp_path,
        low__of__a="from attndsl.low import b",
        low__of__b="def f():\n    from .c import name",
        low__of__c="load('attndsl.low.a:name')",
        low__of__d="from attndsl.low import a, b, c",
    )
    assert graph.circles() == {frozenset({"attndsl.low.a", "attndsl.low.b", "attndsl.low.c"})}
    assert graph.upward(PLANTED) == []


def test_a_chain_is_no_circle(tmp_path: Path) -> None:
    graph = planted(
        tmp_path,
        low__of__a="from attndsl.low import b, c",
        low__of__b="from .c import name",
        low__of__c="'attndsl.low.a and attndsl.low.b'",
    )
    assert graph.circles() == frozenset()


def test_a_part_of_a_package_that_knows_another(tmp_path: Path) -> None:
    graph = planted(
        tmp_path,
        low__of__a__of__one="from attndsl.low.b import one",
        low__of__b__of__one="from attndsl.low.a import two",
        low__of__a__of__two="from attndsl.low.a.three import name\nfrom attndsl.low.one import name",
    )
    upward = [("attndsl.low.b.one", "attndsl.low.a.two")]
    assert graph.beside("attndsl.low", {"a": ("b", "one"), "b": ()}) == upward
    aside = ("attndsl.low.a.two", "attndsl.low.one")
    assert graph.beside("attndsl.low", {"a": ("b",), "b": ("a",)}) == [aside]


# What else must be everywhere -------------------------------------------------------------------------------


def test_whatever_a_digested_source_imports_is_digested() -> None:
    """Records are stale as soon as code that decided them is another. Only these two know the
    emulator, whose errors end a run whatever the backend."""
    outside = {"campaign/judging.py", "campaign/runner.py"}
    for backend, beyond in (
        ("reference", records._EMITTING),
        ("tile", records._EMITTING),
        ("emulator", frozenset[str]()),
    ):
        files = {name for _, name in records._files(backend) if (ROOT / name).is_file()}
        digested = {name.split("/")[0].removesuffix(".py") for name in files}
        of_file = {path.relative_to(ROOT).as_posix(): name for name, path in GRAPH.modules.items()}
        sources = {of_file[name]: name for name in files if name in of_file}
        missing = {
            (sources[a], b.split(".")[1])
            for a, b in GRAPH.edges
            if a in sources and b.split(".")[1] not in digested
        }
        assert {"base", "expr", "verify", "lowering", "target"} <= digested
        assert {(name, part) for name, part in missing if part not in beyond or name not in outside} == set()
        assert files >= {path.relative_to(ROOT).as_posix() for path in (ROOT / "verify").rglob("*.py")}


def _imports_from(outside: frozenset[str]) -> list[tuple[str, str]]:
    """What modules of the other packages import from those."""
    inside = {name for name in GRAPH.modules if name.count(".") > 1 and name.split(".")[1] not in outside}
    return [(a, b) for a, b in GRAPH.edges if a in inside and b.split(".")[1] in outside]


@pytest.mark.parametrize("kept", [stored_programs, finished])
def test_what_is_kept_on_disk_is_made_without_what_its_key_leaves_out(kept: ModuleType) -> None:
    assert set(tops()) > kept._UNCONCERNED > USERS_OF_KERNELS > {"diagnosis", "tuning"}
    assert _imports_from(kept._UNCONCERNED) == []
    assert _imports_from(kept._UNCONCERNED | {"tile"})


@pytest.mark.parametrize("name", shipped_names())
def test_nothing_after_the_specs_is_named_after_an_operator(name: str) -> None:
    texts = {
        package: {file: file.read_text().lower() for file in (ROOT / package).rglob("*.py")}
        for package in NAMELESS
    }
    assert all(texts.values())
    assert not [file for each in texts.values() for file, text in each.items() if name in text]


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
    assert sources == set(RULES.rows) == set(source_rules.SOURCES)
    assert sources <= set(row_locations._BELOW)
