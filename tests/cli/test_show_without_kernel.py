"""A spec that has no kernel: ``show`` says why, and ends as ``generate`` does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from attndsl.cli.cli import cli
from attndsl.cli.command_frame import OK, WRONG_USAGE, run_command
from tests.support.right_specs import DENSE

WITHOUT = DENSE.replace("out = p @ values", "out = (p + 1.0) @ values")


@pytest.fixture
def ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)

    def run(spec: str, *arguments: str) -> tuple[int, str]:
        """The exit code of a command about a spec, and what it prints."""
        (tmp_path / "mine.py").write_text(spec)
        code = run_command(cli, arguments)
        return code, capsys.readouterr().out

    return run


@pytest.mark.parametrize("stage", ["memory", "tile"])
def test_a_stage_that_there_is_not_is_a_wrong_spec(stage: str, ended) -> None:
    code, printed = ended(WITHOUT, "show", "mine.py", "--stage", "graph", "--stage", stage)
    assert code == WRONG_USAGE == ended(WITHOUT, "generate", "mine.py", "--dry-run")[0]
    assert "== graph" in printed and "no kernel yet: mine.py:21: 'add' of the probabilities" in printed


def test_stages_before_the_kernel_are_shown_of_any_spec(ended) -> None:
    assert ended(WITHOUT, "show", "mine.py", "--stage", "graph")[0] == OK
    assert ended(DENSE, "show", "mine.py", "--stage", "memory")[0] == OK


def test_a_document_has_what_there_is(ended) -> None:
    code, printed = ended(WITHOUT, "show", "mine.py", "--stage", "graph", "--stage", "tile", "--json")
    document = json.loads(printed)
    assert code == WRONG_USAGE and document["graph"] and document["tile"].startswith("no kernel yet: ")
