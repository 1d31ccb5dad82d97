"""The files that a spec reads: all of them, whichever load was first, and none of an installation."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from attndsl.spec.operator.files_read import recorded_reads
from attndsl.spec.operator.loader import load_file

_SPEC = """
from attndsl.spec import Operator, attend
import numpy
import spec_helper_of_this_test
from pathlib import Path

(Path(__file__).parent / "numbers.txt").read_text()
op = Operator("small")
B, N, K, T, D = op.dims("B N K T D")
op.axes(B=B, N=N, K=K, Q=1, T=T, D=D, E=D)
q = op.input("q", "B N 1 D", dtype=("float16", "bfloat16"), axes="B N Q D")
k = op.input("k", "B K T D", dtype=q, axes="B K T D")
v = op.input("v", "B K T D", dtype=q, axes="B K T E")
op.output("out", attend.softmax(attend.scores(q, k)) @ v, like=q)
"""


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "spec_helper_of_this_test.py").write_text("import spec_helper_below\n")
    (tmp_path / "spec_helper_below.py").write_text("VALUE = 1\n")
    (tmp_path / "numbers.txt").write_text("1")
    (tmp_path / "spec.py").write_text(_SPEC)
    yield tmp_path / "spec.py"
    for name in ("spec_helper_of_this_test", "spec_helper_below"):
        sys.modules.pop(name, None)


def test_modules_and_files_are_found_at_every_load(spec: Path) -> None:
    wanted = {"spec.py", "numbers.txt", "spec_helper_of_this_test.py", "spec_helper_below.py"}
    first, second = (load_file(spec) for _ in range(2))
    assert {path.name for path in first.files_read} == wanted
    assert second.files_read == first.files_read and second.content_key == first.content_key


def test_a_change_below_is_another_content(spec: Path) -> None:
    first = load_file(spec).content_key
    (spec.parent / "spec_helper_below.py").write_text("VALUE = 2\n")
    assert load_file(spec).content_key != first


def test_nothing_is_recorded_outside_of_a_block(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    with recorded_reads() as found:
        pass
    (tmp_path / "a").read_text()
    assert found == set()


def test_blocks_inside_of_blocks_count_for_both(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    with recorded_reads() as outer, recorded_reads() as inner:
        (tmp_path / "a").read_text()
    assert inner == outer == {tmp_path / "a"}
