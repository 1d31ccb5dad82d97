"""The page about the emulator lists the APIs that the headers have, and no others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from attndsl.emulator import build
from attndsl.emulator.errors import CompileFailed

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "emulator.md").read_text()
HEADERS = sorted((ROOT / "attndsl" / "emulator" / "include" / "ascendc").glob("*.h"))
# found by no declaration of the shape that the test knows
NO_DECLARATION = {
    "printf", "assert", "ascendc_assert", "asc_dump_gm", "asc_dump_ubuf", "asc_dump_l1buf", "asc_dump_cbuf",
    "SliceInfo", "InitSpmBuffer", "Print", "ToFile", "Matmul", "MatmulType", "REGIST_MATMUL_OBJ",
    "SparseMatmulType", "MatmulCallBackFunc", "MatmulApiStaticTiling", "IterateBatch", "IterateNBatch",
    "GetBatchTensorC", "ICPU_RUN_KF", "ICPU_SET_TILING_KEY",
}  # fmt: skip


def _section(title: str) -> set[str]:
    return set(re.findall(r"`(\w+)`", PAGE.split(f"## {title}\n")[1].split("\n## ")[0]))


def _declared() -> set[str]:
    names: set[str] = set()
    for header in HEADERS:
        text = re.sub(r"(?ms)^namespace (?:\w+::)?detail \{.*?^\}  // namespace.*?$", "", header.read_text())
        names |= set(re.findall(r"(?m)^(?:inline |constexpr )*[\w:<>]+[*&]? ([A-Z]\w+)\(", text))
        names |= set(re.findall(r"(?m)^ATTNEMU_\w+\(([A-Z]\w+)[,)]", text))
        names |= set(re.findall(r"(?m)^class (\w+)", text))
        names |= set(re.findall(r"(?m)^  void ([A-Z]\w+)\(const LocalTensor", text)) - {"Name"}
    return {name for name in names if not name.startswith("ATTNEMU_")}


def test_the_table_is_what_the_headers_have() -> None:
    listed, declared = _section("Covered APIs"), _declared()
    assert len(declared) > 120
    assert declared - listed == set(), "covered, but not on the page"
    assert listed - declared == NO_DECLARATION, "on the page, but not covered"


def test_an_illegal_type_is_told_at_the_line_of_its_use() -> None:
    text = (
        '#include "kernel_operator.h"\nusing namespace AscendC;\n'
        "template <class T> void twice(T t) {\n  Add(t, t, t, 64);\n}\n"
        'extern "C" __global__ __aicore__ void k(GM_ADDR x) {\n  LocalTensor<int8_t> t;\n  Exp(t, t, 64);\n'
        "  twice(LocalTensor<bfloat16_t>());\n}\n"
    )
    with pytest.raises(CompileFailed) as failure:
        build(text, entry="k")
    told = str(failure.value).splitlines()[1:]
    wrong = "error: static assertion failed"
    assert [line.partition(" ")[0].split(":")[:2] for line in told if wrong in line] == [
        ["kernel.cpp", "8"],
        ["kernel.cpp", "4"],
    ], told
    assert "Exp: no such element type" in told[0] and "Add: no such element type" in told[1]


@pytest.mark.parametrize("root", [ROOT, "/opt/another"], ids=["here", "compiled elsewhere"])
def test_notes_behind_an_error_name_the_line_too(root: object) -> None:
    header = f"{root}/attndsl/emulator/include/ascendc/vector_arith.h"
    log = (
        f"{header}:30:5: error: static assertion failed: Add: no such element type\n"
        f"{header}:99:5: note: in instantiation of function template specialization 'A' requested here\n"
        "kernel.cpp:8:3: note: in instantiation of function template specialization 'B' requested here\n"
    )
    assert str(CompileFailed("k", log)).splitlines()[1].startswith("kernel.cpp:8:3: error: static assertion")


def test_a_compiler_that_is_too_old_is_told_from_a_kernel_that_is_wrong() -> None:
    log = "k.h:9:12: error: explicit specialization in non-namespace scope 'struct Tile'\n"
    assert "set CXX to a newer g++, to clang++" in str(CompileFailed("k", log))
    assert "CXX" not in str(CompileFailed("k", log.replace("non-namespace scope", "another namespace")))


def test_what_is_missing_does_not_compile_and_is_named() -> None:
    missing = _section("Missing APIs") - {"ArithProgression", "Sort", "Matmul", "DataCopy", "ICPU_RUN_KF"}
    assert not missing & _declared()
    names = sorted(missing)
    for first in range(0, len(names), 8):  # the exception keeps the first messages
        group = names[first : first + 8]
        uses = "".join(f"using AscendC::{name};\n" for name in group)
        text = (
            f'#include "kernel_operator.h"\n{uses}extern "C" __global__ __aicore__ void k(GM_ADDR x) {{}}\n'
        )
        with pytest.raises(CompileFailed) as failure:
            build(text, entry="k")
        assert [name for name in group if name not in str(failure.value)] == []
