"""The helpers that save work between runs do not change what is tested."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from attndsl.emulator.toolchain import find_compiler
from tests.support.compile_once import compile_once
from tests.support.stable_folders import claimed

needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ATTNDSL_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def value_of(folder: Path, name: str, number: int) -> int:
    """What a library says that a header of its folder decides."""
    (folder / "number.h").write_text(f"#define NUMBER {number}\n")
    source, made = folder / "source.cpp", folder / f"{name}.so"
    source.write_text('#include "number.h"\nextern "C" int number() { return NUMBER; }\n')
    assert compile_once(["-shared", "-fPIC", source], made) == (0, "")
    return int(ctypes.CDLL(str(made)).number())


@needs_compiler
def test_a_header_that_changed_is_compiled_anew(tmp_path: Path, cache: Path) -> None:
    code = tmp_path / "code"
    code.mkdir()
    assert [value_of(code, f"made{i}", number) for i, number in enumerate((1, 2, 1, 2))] == [1, 2, 1, 2]
    assert len(list(cache.glob("test-*"))) == 2


@needs_compiler
@pytest.mark.parametrize(
    ("text", "code"), [("int f() { int unused; return 0; }", 0), ("int f() { return nothing; }", 1)],
    ids=["a warning", "an error"],
)  # fmt: skip
def test_what_the_compiler_says_is_said_each_time(text: str, code: int, tmp_path: Path, cache: Path) -> None:
    source = tmp_path / "source.cpp"
    source.write_text(text)
    for _ in range(2):
        found, said = compile_once(["-fsyntax-only", "-Wall", source])
        assert found == code and ("unused" in said or "nothing" in said)
    assert list(cache.glob("test-*")) == []


@needs_compiler
def test_options_tell_runs_apart(tmp_path: Path, cache: Path) -> None:
    source = tmp_path / "source.cpp"
    source.write_text("int f() { int unused; return 0; }")
    assert compile_once(["-fsyntax-only", source]) == (0, "")
    assert "unused" in compile_once(["-fsyntax-only", "-Wall", source])[1]


def test_a_folder_is_empty_has_its_path_again_and_one_owner() -> None:
    with claimed("a module", "a test") as first:
        assert first is not None and list(first.iterdir()) == []
        (first / "left").write_text("behind")
        with claimed("a module", "a test") as second:
            assert second is None
        with claimed("a module", "another test") as other:
            assert other is not None and other != first
    with claimed("a module", "a test") as again:
        assert again == first and list(again.iterdir()) == []
