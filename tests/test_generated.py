"""The committed operator projects are what the compiler writes today."""

import json
import re

import pytest

from attndsl.base.package_files import generated_dir
from attndsl.codegen.kernel_set.request import KernelRequest
from attndsl.codegen.project.files import MANIFEST
from attndsl.codegen.project.project import plan_project
from attndsl.spec.operator.loader import load, shipped_names
from attndsl.spec.operator.operator import Operator

EVERY = [each for name in shipped_names() for each in (load(name), *load(name).modes)]


@pytest.mark.parametrize("operator", EVERY, ids=lambda each: each.name)
def test_generated_is_in_step(operator: Operator) -> None:
    project = plan_project(operator, KernelRequest())
    files, folder = project.files(), generated_dir() / project.folder
    committed = {
        str(path.relative_to(folder)): path.read_text()
        for path in folder.rglob("*")
        if path.is_file() and path.parent.name != "__pycache__"  # of a wrapper that was imported
    }
    manifest = committed.pop(MANIFEST, None)
    assert sorted(committed) == sorted(files)
    assert not files or (manifest and list(json.loads(manifest)["files"]) == sorted(files))
    changed = [file for file in files if committed[file] != files[file]]
    assert not changed, "run: attndsl generate"


def test_no_tiling_field_is_called_by_a_number_alone() -> None:
    """What the host knows is named after what it is: sizes, pitches, what a layout was asked."""
    for header in sorted(generated_dir().glob("*/op_kernel/*_tiling.h")):
        assert re.findall(r"\bvalue\d+;", header.read_text()) == [], header.name


def test_storage_holds_every_buffer_of_the_map() -> None:
    """A kernel asks TPipe for all of its buffer map, gaps between aligned buffers with it."""
    kernels = [
        file for file in sorted(generated_dir().glob("*/op_kernel/*.h")) if "kUbEnd" in file.read_text()
    ]
    assert len(kernels) > 60
    for kernel in kernels:
        text = kernel.read_text()
        assert "TakeCubeMemories(pipe, kL1End, kL0aEnd, kL0bEnd, kL0cEnd);" in text, kernel.name
        assert "TakeVectorMemory(pipe, kUbEnd);" in text, kernel.name
        for space in ("L1", "L0a", "L0b", "L0c", "Ub"):
            last, slots = re.findall(rf"k{space}End = (\w+) \+ (?:(\d+) \* )?\1Slot;", text)[0]
            assert f"{slots} slots: " in text if slots else f"{last}Slot = " in text, kernel.name
            assert f"static_assert(k{space}End <= " in text, kernel.name


def test_member_templates_of_locals_with_a_deduced_type_carry_the_word() -> None:
    """In a class template, clang, and CANN's compiler with it, refuses ``slot.ReinterpretCast<U>()``."""
    calls = 0
    for kernel in sorted(generated_dir().glob("*/op_kernel/*.h")):
        text = kernel.read_text()
        for name in set(re.findall(r"\bauto (\w+) =", text)):
            found = re.findall(rf"\b{name}(?:\[[^\]]*\])?\.(template )?\w+<\w+>", text)
            assert all(found), f"{kernel.name}: {name}"
            calls += len(found)
    assert calls  # slots of nsa_compress_attention's selection
