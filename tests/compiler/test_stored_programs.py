"""Finished programs on disk: the same as compiled ones, and found only as long as nothing has changed."""

from __future__ import annotations

import pickle
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from attndsl.base import disk_cache
from attndsl.base.disk_cache import cache_dir, entries
from attndsl.codegen.samples.device_files import device_files
from attndsl.compiler import prepare_launch, stored_programs
from attndsl.compiler.compile import Compiled, compile_operator
from attndsl.compiler.prepare_launch import compiled_for
from attndsl.compiler.stored_programs import compiled_or_stored
from attndsl.lowering.signature.specialization import Specialization
from attndsl.spec import Operator
from attndsl.spec.operator.loader import load_file

SPEC = """
from attndsl.spec import Operator, attend
import json
from pathlib import Path

op = Operator("small")
B, N, K, T, D = op.dims("B N K T D")
op.axes(B=B, N=N, K=K, Q=1, T=T, D=D, E=D)
q = op.input("q", "B N 1 D", dtype=("float16", "bfloat16"), axes="B N Q D")
k = op.input("k", "B K T D", dtype=q, axes="B K T D")
v = op.input("v", "B K T D", dtype=q, axes="B K T E")
op.require(N % K == 0, "a multiple", argument="q")
factor = json.loads((Path(__file__).parent / "factor.json").read_text())
s = attend.scores(q, k) * factor
op.output("out", attend.softmax(s) @ v, like=q)
"""
SPECIAL = Specialization(dtype="float16", padded_head_size=64)


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ATTNDSL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv(disk_cache.STORE_VARIABLE, "1")
    (tmp_path / "factor.json").write_text("0.5")
    path = tmp_path / "small.py"
    path.write_text(SPEC)
    return path


def forbid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_programs, "compile_operator", lambda *_: pytest.fail("compiled again"))


def test_a_stored_program_is_what_was_compiled(spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = compiled_or_stored(load_file(spec), SPECIAL)
    files = device_files([first])  # those of its twin in bfloat16, too
    forbid(monkeypatch)
    again = compiled_or_stored(load_file(spec), SPECIAL)
    assert again is not first and device_files([again]) == files
    assert device_files([first]) == device_files([compile_operator(load_file(spec), SPECIAL)])


def test_threads_compile_one_after_the_other(spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twins share what ran their passes: it is no good while another thread uses it."""
    operator, begun, ended = load_file(spec), list[Specialization](), list[Specialization]()

    def slow(operator: Operator, special: Specialization, *rest: Any) -> Compiled:
        assert begun == ended
        begun.append(special)
        time.sleep(0.02)
        found = compiled_or_stored(operator, special, *rest)
        ended.append(special)
        return found

    monkeypatch.setattr(prepare_launch, "compiled_or_stored", slow)
    wanted = [SPECIAL, replace(SPECIAL, dtype="bfloat16")] * 2
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda special: compiled_for(operator, special), wanted))
    assert found[:2] == found[2:] and len(begun) == 2


@pytest.mark.parametrize("changed", ["small.py", "factor.json"])
def test_whatever_the_spec_reads_decides(spec: Path, changed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled_or_stored(load_file(spec), SPECIAL)
    path = spec.parent / changed
    path.write_text(path.read_text().replace("0.5", "0.25") + "\n")
    operator = load_file(spec)
    monkeypatch.setattr(
        stored_programs, "compile_operator", lambda *_: (_ for _ in ()).throw(KeyError("again"))
    )
    with pytest.raises(KeyError, match="again"):
        compiled_or_stored(operator, SPECIAL)


def test_a_damaged_entry_is_compiled_again(spec: Path) -> None:
    first = compiled_or_stored(load_file(spec), SPECIAL)
    for entry in entries(cache_dir()):
        (entry.path / "program.pickle").write_bytes(pickle.dumps(first.schedule)[:-3])
    assert device_files([compiled_or_stored(load_file(spec), SPECIAL)]) == device_files([first])


def test_an_operator_that_no_file_declares_is_not_stored() -> None:
    op = Operator("inline")
    assert op.content_key is None and stored_programs.entry_name(op, SPECIAL) is None


def test_a_changed_compiler_finds_nothing(spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    operator = load_file(spec)
    name = stored_programs.entry_name(operator, SPECIAL)
    monkeypatch.setattr(stored_programs, "sources_key", lambda _: "another compiler")
    assert stored_programs.entry_name(operator, SPECIAL) != name
