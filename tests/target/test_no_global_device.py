"""A device is passed: no module outside `attndsl.target` has one in a global, or imports its data."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import attndsl

ROOT = Path(attndsl.__file__).parent
GIVES = {
    "": {
        "Architecture", "Core", "Device", "Memory", "MemorySpace", "Pipe", "UnknownDeviceError", "device",
        "device_names", "DEFAULT_DEVICE",
    },
    "costs": {"Cost", "Rate", "cost_lines"},
}  # fmt: skip
"""Types, functions and names: what every module may import from the package and its modules."""
INSTRUCTION_SET = "tile/instructions/units.py"
"""The only module that is written for one architecture, and says why."""
RESOLVES_DEFAULT = {
    "spec/authoring/declared_names.py",
    "spec/operator/operator.py",
    "emulator/kernel.py",
    "emulator/program.py",
}
"""Operators have a target, and runs of foreign kernels a clock, where nobody names one."""


def global_devices(text: str, file: str = "some.py") -> Iterator[str]:
    """What a module imports of `attndsl.target` beside types, functions and names; devices at its import."""
    tree = ast.parse(text)
    finders = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name.startswith("attndsl.target"))
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("attndsl.target"):
            continue
        legal = set(GIVES.get((node.module or "").removeprefix("attndsl.target").lstrip("."), ()))
        legal |= {"DAV_2201"} if file == INSTRUCTION_SET else set()
        legal -= set() if file in RESOLVES_DEFAULT else {"DEFAULT_DEVICE"}
        yield from (each.name for each in node.names if each.name not in legal)
        finders |= {each.asname or each.name for each in node.names if each.name == "device"}
    for call in filter(_is_call, _at_import(tree)):
        if isinstance(call.func, ast.Name) and call.func.id in finders:
            yield f"a device at import, line {call.lineno}"


def _is_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Call)


def _at_import(node: ast.AST) -> Iterator[ast.AST]:
    """Everything that runs when a module is imported: defaults of functions, too, but not their bodies."""
    yield node
    for name, child in ast.iter_fields(node):
        if name == "body" and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        for each in child if isinstance(child, list) else [child]:
            if isinstance(each, ast.AST):
                yield from _at_import(each)


MODULES = sorted(path for path in ROOT.rglob("*.py") if ROOT / "target" not in path.parents)


def test_no_module_has_a_device_of_its_own() -> None:
    found = {
        file: names
        for path in MODULES
        if (names := list(global_devices(path.read_text(), file := path.relative_to(ROOT).as_posix())))
    }
    assert found == {}


def test_the_exceptions_need_to_be_ones() -> None:
    for file in (INSTRUCTION_SET, *RESOLVES_DEFAULT):
        assert list(global_devices((ROOT / file).read_text()))


@pytest.mark.parametrize(
    "planted",
    [
        "from attndsl.target import ATLAS_A2",
        "from attndsl.target.devices import _A2",
        "from attndsl.target.architecture import DAV_2201",
        "from attndsl.target.costs import COSTS",
        "from attndsl.target import DEFAULT_DEVICE",
        "import attndsl.target.devices as devices",
        "from attndsl.target import device\nDEVICE = device('atlas-a2')",
        "from attndsl.target import device as named\ndef run(cores=named('atlas-a2').aic): ...",
        "from attndsl.target import device\nclass Run:\n    device = device('atlas-a2')",
    ],
)
def test_a_planted_device_is_found(planted: str) -> None:
    assert len(list(global_devices(planted))) == 1


def test_a_device_that_is_asked_for_when_a_function_runs_is_legal() -> None:
    text = "from attndsl.target import Device, device\ndef run(name: str) -> Device: return device(name)"
    assert list(global_devices(text)) == []
