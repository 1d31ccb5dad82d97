"""Finished projects on disk: the same files as generated ones, found only as long as nothing has changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from attndsl.base import disk_cache
from attndsl.base.disk_cache import cache_dir, entries
from attndsl.codegen.kernel_set.kernel_request import UnknownDtype
from attndsl.codegen.kernel_set.request import KernelRequest
from attndsl.codegen.project import finished
from attndsl.codegen.project.finished import all_finished_projects, finished_projects
from attndsl.spec.operator.loader import load_file
from tests.support.small_specs import DECODE_RESULT, DECODE_SCORES, decode_file

REQUEST = KernelRequest(dtypes=("float16",))


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ATTNDSL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv(disk_cache.STORE_VARIABLE, "1")
    return decode_file(tmp_path, DECODE_SCORES, DECODE_RESULT)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The operators whose projects are generated, not read."""
    found: list[str] = []
    generate = finished._made

    def noting(operators, *others):
        found.extend(each.name for each in operators)
        return generate(operators, *others)

    monkeypatch.setattr(finished, "_made", noting)
    return found


def test_a_stored_project_is_what_was_generated(spec: Path, made: list[str], tmp_path: Path) -> None:
    first = finished_projects(load_file(spec), REQUEST)
    assert finished_projects(load_file(spec), REQUEST) == first
    assert made == ["small_decode"] and first[0].files
    assert first[0].write(tmp_path / "out") and first[0].write(tmp_path / "out") == ()


def test_another_request_or_spec_is_another_project(spec: Path, made: list[str]) -> None:
    finished_projects(load_file(spec), REQUEST)
    finished_projects(load_file(spec), KernelRequest(dtypes=("float16",), head_sizes=(64,)))
    spec.write_text(spec.read_text() + "\n# changed\n")
    finished_projects(load_file(spec), REQUEST)
    assert len(made) == 3


def test_a_damaged_entry_is_generated_again(spec: Path, made: list[str]) -> None:
    first = finished_projects(load_file(spec), REQUEST)
    for entry in entries(cache_dir()):
        for file in entry.path.glob("projects.json"):
            file.write_text(file.read_text()[:-9])
    assert finished_projects(load_file(spec), REQUEST) == first and len(made) == 2


def test_what_the_disk_lacks_is_made_at_once(spec: Path, made: list[str], tmp_path: Path) -> None:
    """And is the same as what is made alone; what is there already is not made again."""
    others = []
    for name in ("second", "third"):
        (tmp_path / name).mkdir()
        others.append(decode_file(tmp_path / name, DECODE_SCORES, DECODE_RESULT))
        others[-1].write_text(others[-1].read_text().replace("small_decode", f"{name}_decode"))
    operators = [load_file(path) for path in (others[0], spec, others[1])]
    (alone,) = finished_projects(operators[1], REQUEST)
    turns: list[int] = []
    found = all_finished_projects(operators, REQUEST, turn=turns.append)
    assert made == ["small_decode", "second_decode", "third_decode"]
    assert [each.operator for each in found] == ["second_decode", "small_decode", "third_decode"]
    assert found[1] == alone and found[2].files and sorted(set(turns)) == [0, 1, 2]
    assert all_finished_projects(operators, REQUEST) == found and len(made) == 3


def test_failures_are_not_stored(spec: Path, made: list[str]) -> None:
    for _ in range(2):
        with pytest.raises(UnknownDtype):
            finished_projects(load_file(spec), KernelRequest(dtypes=("int8",)))
    assert len(made) == 2
