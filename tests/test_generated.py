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


LARGEST = {"self_attention", "self_attention_pa_encoder"}
"""Seven of ten kernels; `self_attention_prefix_encoder` of the same spec is checked in the fast suite."""


@pytest.mark.parametrize(
    "operator",
    [
        pytest.param(each, id=each.name, marks=pytest.mark.long if each.name in LARGEST else ())
        for each in EVERY
    ],
)
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
    schedules = sorted(generated_dir().glob("*/op_kernel/*_schedule.h"))
    lists = [json.loads(path.read_text()) for path in generated_dir().glob("*/kernels.json")]
    assert len(schedules) == len({row["file"] for each in lists for row in each["kernels"]}) > 0
    for schedule in schedules:
        kernel = schedule.with_name(schedule.name.replace("_schedule.h", ".h"))
        text = kernel.read_text()
        assert "TakeCubeMemories(pipe, kL1End, kL0aEnd, kL0bEnd, kL0cEnd);" in text, kernel.name
        assert "TakeVectorMemory(pipe, kUbEnd);" in text, kernel.name
        text = schedule.read_text()
        for space in ("L1", "L0a", "L0b", "L0c", "Ub"):
            end = rf"k{space}End = (\w+)At \+ (?:(kDoubleBuffer) \* )?\1SlotBytes;"
            last, slots = re.findall(end, text)[0]
            assert "// 2 slots: " in text if slots else f"{last}SlotBytes =" in text, kernel.name
            assert f"static_assert(k{space}End <= attndsl::k{space}Bytes" in text, kernel.name


_LONGEST_LINE = 100


def _is_one_name(line: str) -> bool:
    """A line that nothing can break: a name or a path, after a directive or a comment's sign."""
    words = line.split()
    return len(words) <= 3 and max(map(len, words)) > _LONGEST_LINE // 2


def test_no_line_is_over_100_columns() -> None:
    """Of sources and of prose; cases are data."""
    files = (path for path in sorted(generated_dir().rglob("*")) if "__pycache__" not in path.parts)
    texts = {path: path.read_text() for path in files if path.suffix in (".h", ".cpp", ".py", ".md", ".sh")}
    assert len(texts) > 200
    long = [
        f"{path.relative_to(generated_dir())}:{number} has {len(line)} columns"
        for path, text in texts.items()
        for number, line in enumerate(text.split("\n"), 1)
        if len(line) > _LONGEST_LINE and not _is_one_name(line)
    ]
    assert not long, "\n".join(long[:20])


_NARROW = re.compile(r"\bu?int(?:8|16|32)_t\b")


def _offsets(text: str) -> list[str]:
    """What stands in the brackets behind the names of global tensors."""
    found = []
    for start in re.finditer(r"\w+Gm_\[", text):
        end, depth = start.end(), 1
        while depth:
            depth += {"[": 1, "]": -1}.get(text[end], 0)
            end += 1
        found.append(text[start.end() : end - 1])
    return found


def _narrow_offsets(text: str) -> list[str]:
    return [offset for offset in _offsets(text) if _NARROW.search(offset)]


def test_offsets_into_global_memory_are_computed_in_int64() -> None:
    """Scalars are int64_t, elements of narrower tensors are widened: 32 bits would wrap at 4 GiB."""
    count = 0
    for kernel in sorted(generated_dir().glob("*/op_kernel/*.h")):
        text = kernel.read_text()
        count += len(_offsets(text))
        assert _narrow_offsets(text) == [], kernel.name
        lets = re.findall(r"const (\w+) \w+ =", text)
        structs = {"Half", "Item", "ItemOrder", "StageOperands"}  # whose numbers are int64_t
        assert set(lets) <= {"int64_t", "auto", "bool", *structs}, kernel.name
    assert count > 1000


def test_a_narrow_offset_is_found_and_its_twin_is_not() -> None:
    narrow = "DataCopy(x, keyGm_[static_cast<int32_t>(page) * tiling_.keyStrideP], n);"
    assert _narrow_offsets(narrow) == ["static_cast<int32_t>(page) * tiling_.keyStrideP"]
    assert _narrow_offsets(narrow.replace("int32_t", "int64_t")) == []
    assert _narrow_offsets("Gather(y, x, static_cast<uint32_t>(offset), keyGm_[first]);") == []
