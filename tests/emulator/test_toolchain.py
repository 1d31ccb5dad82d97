"""The emulator's own parts: a broken one is told from a kernel that does not compile."""

import shutil

import pytest

from attndsl.emulator import CompileFailed, build, find_compiler, toolchain
from attndsl.emulator.errors import EmulatorNotCompiled
from attndsl.emulator.toolchain import Compiler, link_flags

compiler = find_compiler()
gnu = pytest.mark.skipif(
    compiler is None or not compiler.is_gnu, reason="needs g++, which precompiles headers"
)


@gnu
def test_a_broken_header_is_no_fault_of_a_kernel(tmp_path, monkeypatch):
    broken = tmp_path / "include"
    shutil.copytree(toolchain.INCLUDE, broken)
    (broken / "kernel_operator.h").write_text("int x = ;\n")
    sources = tmp_path / "src"
    sources.mkdir()
    (sources / "one.cpp").write_text("int one;\n")
    monkeypatch.setattr(toolchain, "INCLUDE", broken)
    monkeypatch.setattr(toolchain, "SOURCES", sources)
    monkeypatch.setattr(toolchain, "own_sources_key", lambda: "broken")
    monkeypatch.setenv("ATTNDSL_CACHE_DIR", str(tmp_path / "cache"))
    for _ in range(2):  # nothing half made stays in the cache
        with pytest.raises(EmulatorNotCompiled, match=r"(?s)kernel_operator\.h does not compile.*reinstall"):
            toolchain.runtime(compiler)


@pytest.mark.skipif(compiler is None, reason="needs a compiler")
def test_a_kernel_that_does_not_compile_is_no_broken_emulator():
    source = '#include "kernel_operator.h"\nextern "C" __global__ __aicore__ void k(GM_ADDR out) { no }\n'
    with pytest.raises(CompileFailed) as caught:
        build(source, entry="k")
    assert not isinstance(caught.value, EmulatorNotCompiled)


@gnu
def test_an_empty_kernel_instantiates_little_of_the_headers(tmp_path):
    # what inline functions use that are no templates, each kernel instantiates again, called or not
    (tmp_path / "empty.cpp").write_text(f'#include "{toolchain.PRELUDE}"\n')
    flags = [*toolchain.KERNEL_FLAGS, *toolchain.runtime(compiler).include_flags]
    dump = ["-fdump-tree-original=functions.txt", "-S", "-o", "empty.s", "empty.cpp"]
    toolchain.run_compiler(compiler, [*flags, *dump], "an empty kernel", cwd=tmp_path)
    heads = [line for line in (tmp_path / "functions.txt").read_text().splitlines() if ";; Function" in line]
    assert len(heads) < 700, "the C++ library alone makes about 470"
    assert len([head for head in heads if "AscendC::" in head or "attnemu::" in head]) < 50, heads


NAMES = """
#include "kernel_operator.h"
int NOWHERE;
struct Sizes { static const int kRows = 5; };
extern "C" __global__ __aicore__ void k(GM_ADDR x) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  BODY
}
"""


def test_names_that_an_optimizer_takes_away_are_no_fault():
    """A constant that is bound to a reference has no definition, and needs none in the official build."""
    taken = NAMES.replace("int NOWHERE;", "").replace(
        "BODY", "if (std::min(Sizes::kRows, 7) != 5) { return; }"
    )
    assert build(taken, entry="k").executable.is_file()
    missing = NAMES.replace("int NOWHERE", "extern int NOWHERE").replace("BODY", "NOWHERE = 1;")
    with pytest.raises(CompileFailed, match="NOWHERE"):
        build(missing, entry="k")


def linked_with(tmp_path, name, answer, *stated):
    """The link flags for a compiler that gives this answer to the question for gold."""
    stand_in = tmp_path / name
    stand_in.write_text(f"#!/bin/sh\n{answer}\n")
    stand_in.chmod(0o755)
    return link_flags(Compiler((str(stand_in), *stated), "g++ 12"))


def test_gold_links_where_the_compiler_finds_it(tmp_path):
    """Nothing is asked of one that is told its linker."""
    assert "-fuse-ld=gold" in linked_with(tmp_path, "with", "echo 'GNU gold (Binutils)'")
    assert "-fuse-ld=gold" not in linked_with(tmp_path, "without", "echo cannot find ld >&2; exit 1")
    assert "-fuse-ld=gold" not in linked_with(tmp_path, "other", "echo 'GNU ld (Binutils)'")
    assert "-fuse-ld=gold" not in linked_with(tmp_path, "told", "echo 'GNU gold'", "-fuse-ld=bfd")


def test_what_is_optimized_in_full_stands_in_no_object_of_the_rest_and_is_linked_first():
    sources = sorted(toolchain.SOURCES.glob("*.cpp"))
    units = toolchain._units(sources)
    assert sorted(each for together in units.values() for each in together) == sources
    busy = [name for name in units if name.startswith("busy")]
    assert [*units][: len(busy)] == busy
    assert {each.stem for name in busy for each in units[name]} == toolchain._BUSY
