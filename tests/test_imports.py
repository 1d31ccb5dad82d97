"""A test file stands alone: what several share is in ``tests/support`` or in a helper of their folder."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
FILES = {
    ".".join(path.relative_to(TESTS).with_suffix("").parts): path
    for path in TESTS.rglob("*.py")
    if path.name != "__init__.py"
}
"""The modules of the tests by dotted name, such as ``tile.bench``."""
STEMS = {name.rpartition(".")[2] for name in FILES}
FOLDERS = {name.partition(".")[0] for name in FILES if "." in name}
LOADERS = {"spec_from_file_location", "import_module", "run_path", "__import__"}


def violations(module: str, source: str) -> list[str]:
    """What a module of the tests imports and must not; ``module`` is its dotted name."""
    tree = ast.parse(source)
    folder = module.rpartition(".")[0]
    found = []
    for name in sorted({*_imported(tree, folder), *_loaded(tree)}):
        *parents, stem = name.split(".")
        if stem.startswith("test_"):
            found.append(f"{module} imports {name}: move what both need to tests/support")
        elif parents and parents != ["support"] and ".".join(parents) != folder:
            found.append(f"{module} imports {name}: a helper of another folder belongs in tests/support")
        elif not parents and name != "conftest":
            found.append(f"{module} imports {name} by its bare name: write from tests.FOLDER import {name}")
    return found


def _imported(tree: ast.AST, folder: str) -> Iterator[str]:
    """Modules of the tests that import statements name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            candidates = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            origin = (".".join(("tests", *folder.split("."))).rstrip("."), "tests")
            base = ".".join(filter(None, (origin[node.level - 1] if node.level else "", node.module or "")))
            candidates = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        else:
            continue
        for candidate in candidates:
            name = candidate.removeprefix("tests.")
            if name in FILES if candidate != name else name in STEMS:
                yield name


def _loaded(tree: ast.AST) -> Iterator[str]:
    """Test files that the text of a module names which loads others by path or name."""
    calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    names = {func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "") for func in calls}
    if not names & LOADERS:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (str(p.value) if isinstance(p, ast.Constant) else None for p in node.values)
            pattern = "".join(r"\w+" if part is None else re.escape(part) for part in parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            pattern = re.escape(node.value)
        else:
            continue
        for name in FILES:
            if name.rpartition(".")[2].startswith("test_") and re.fullmatch(
                pattern, f"{name.rpartition('.')[2]}.py"
            ):
                yield name


@pytest.mark.parametrize("module", FILES)
def test_a_file_imports_helpers_of_its_folder_and_support_alone(module: str) -> None:
    assert violations(module, FILES[module].read_text()) == []


@pytest.mark.parametrize(
    "source",
    [
        "from .test_int8_cube import LIMITS",
        "from . import test_int8_cube",
        "from tests.tile.test_int8_cube import LIMITS",
        "import tests.tile.test_int8_cube",
        "from tests.tile import test_int8_cube as cube",
        "def f():\n    from test_int8_cube import LIMITS",
        "from tests.passes.trees import ub",
        "from ..passes.trees import ub",
        "from bench import Bench",
        'importlib.util.spec_from_file_location("x", HERE / "test_int8_cube.py")',
        'importlib.util.spec_from_file_location("x", HERE / f"test_{name}_cube.py")',
    ],
    ids=lambda source: source.splitlines()[-1].strip(),
)
def test_a_planted_import_is_found(source: str) -> None:
    assert len(violations("tile.test_planted", source)) == 1


@pytest.mark.parametrize(
    "source",
    [
        "from .bench import Bench",
        "from . import bench",
        "from tests.tile.bench import Bench",
        "from tests.support.specials import compiled",
        "from tests.support import specials",
        "from attndsl.tile import program",
        'text = (HERE / "test_int8_cube.py").read_text()',
        'importlib.util.spec_from_file_location("x", project / "test_on_device.py")',
    ],
)
def test_helpers_and_other_packages_are_free(source: str) -> None:
    assert violations("tile.test_planted", source) == []


def test_every_folder_is_a_package_of_the_tests() -> None:
    """So that a helper is one module, however it is imported, and two files may share a name."""
    assert {"tile", "support", "passes"} <= FOLDERS
    assert [name for name in FOLDERS if not (TESTS / name / "__init__.py").is_file()] == []
