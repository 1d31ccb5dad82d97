"""``attndsl show`` from the disk: the same text, and only as long as nothing has changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from attndsl.base import disk_cache
from attndsl.cli import stages
from attndsl.cli.show import stage_texts
from attndsl.codegen.kernel_set.request import KernelRequest
from attndsl.spec.operator.loader import load_file

SPEC = Path(__file__).parents[1] / "spec" / "my_window.py"
WANTED = ("contract", "graph")


@pytest.fixture
def described(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    monkeypatch.setenv("ATTNDSL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv(disk_cache.STORE_VARIABLE, "1")
    found: list[tuple[str, ...]] = []
    describe = stages.describe_stages
    monkeypatch.setattr(
        stages,
        "describe_stages",
        lambda op, req, names, explained: (
            found.append(names) or describe(op, req, names, explained=explained)
        ),
    )
    return found


def test_a_stored_answer_is_what_was_described(described: list[tuple[str, ...]]) -> None:
    first = stage_texts(load_file(SPEC), KernelRequest(), WANTED)
    assert stage_texts(load_file(SPEC), KernelRequest(), WANTED) == first
    assert described == [WANTED] and list(first) == list(WANTED) and all(first.values())


def test_other_stages_requests_and_specs_are_other_answers(
    described: list[tuple[str, ...]], tmp_path: Path
) -> None:
    other = tmp_path / "my_window.py"
    other.write_text(SPEC.read_text() + "\n# changed\n")
    stage_texts(load_file(SPEC), KernelRequest(), WANTED)
    stage_texts(load_file(SPEC), KernelRequest(), WANTED[:1])
    stage_texts(load_file(SPEC), KernelRequest(dtypes=("float16",)), WANTED)
    stage_texts(load_file(other), KernelRequest(), WANTED)
    assert len(described) == 4
