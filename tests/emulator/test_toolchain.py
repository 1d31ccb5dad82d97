"""The emulator's own parts: a broken one is told from a kernel that does not compile."""

import shutil

import pytest

from attndsl.emulator import CompileFailed, build, find_compiler, toolchain
from attndsl.emulator.errors import EmulatorNotCompiled

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
    monkeypatch.setattr(toolchain, "_own_files", lambda: "broken")
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
