"""What authors and callers get wrong, each with all that they are told.

Where a message has one answer, the right spec with the words changed that it asks for lowers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attndsl.base.errors import UserError
from attndsl.cli.cli import cli
from attndsl.cli.command_frame import WRONG_USAGE, run_command
from attndsl.compiler.compile import compile_operator
from attndsl.lowering.signature.specialization import Specialization
from attndsl.spec.operator.loader import load_file
from tests.mistakes.bits import BITS
from tests.mistakes.calls import CALLS, PACKED_CALL, WrongCall
from tests.mistakes.commands import COMMANDS, WrongCommand
from tests.mistakes.decisions import DECISIONS
from tests.mistakes.demands import DEMANDS
from tests.mistakes.divisors import DIVISORS
from tests.mistakes.key_sources import KEYS
from tests.mistakes.layouts import LAYOUTS
from tests.mistakes.masks import MASKS, PADDED
from tests.mistakes.mistake import Mistake
from tests.mistakes.outputs import OUTPUTS
from tests.mistakes.scores import SCORES
from tests.support.right_specs import DENSE, PACKED, PAGED, changed

SPECS = (*DECISIONS, *MASKS, *BITS, *DIVISORS, *SCORES, *OUTPUTS, *LAYOUTS, *KEYS, *DEMANDS)
WITH_ONE_ANSWER = tuple(each for each in SPECS if each.instead)


def names(mistakes: tuple[Mistake, ...]) -> list[str]:
    return [each.name for each in mistakes]


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> str:
        """What a command that must be refused says."""
        assert run_command(cli, arguments) == WRONG_USAGE
        printed = capsys.readouterr()
        assert printed.out == "" and not list(tmp_path.glob("generated"))
        return printed.err.removeprefix("attndsl: ").rstrip("\n")

    return run


def compile_(text: str, folder: Path) -> None:
    (folder / "mine.py").write_text(text)
    compile_operator(load_file(folder / "mine.py"), Specialization(dtype="float16", padded_head_size=64))


@pytest.mark.parametrize("mistake", SPECS, ids=names(SPECS))
def test_a_wrong_spec_is_refused_with_the_way_out(mistake: Mistake, told, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(mistake.wrong_spec())
    assert told("generate", "mine.py", "--dry-run") == mistake.message


@pytest.mark.parametrize("right", [DENSE, PAGED, PACKED], ids=["dense", "paged", "packed"])
def test_the_specs_are_right_without_a_mistake(right: str, tmp_path: Path) -> None:
    compile_(right, tmp_path)


@pytest.mark.sweep(fast=12)
@pytest.mark.parametrize("mistake", WITH_ONE_ANSWER, ids=names(WITH_ONE_ANSWER))
def test_what_a_message_asks_for_lowers(mistake: Mistake, tmp_path: Path) -> None:
    compile_(mistake.mended_spec(), tmp_path)


@pytest.mark.parametrize("call", CALLS, ids=[each.name for each in CALLS])
def test_a_wrong_call_is_refused_with_the_way_out(call: WrongCall, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(call.right)
    with pytest.raises(UserError) as refused:
        load_file(tmp_path / "mine.py")(**call.arguments())
    assert str(refused.value) == call.message


@pytest.mark.parametrize("command", COMMANDS, ids=[each.name for each in COMMANDS])
def test_a_wrong_command_is_refused_with_the_way_out(command: WrongCommand, told, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(DENSE)
    assert told(*command.line.split()) == command.message


def test_each_mistake_stands_once() -> None:
    """The collection is as large as it is meant to be, and no message names a defect."""
    messages = [each.message for each in (*SPECS, *CALLS, *COMMANDS)]
    assert len(messages) >= 60 and len(set(names(SPECS))) == len(SPECS)
    assert not [each for each in messages if "defect" in each or "object at 0x" in each]
    assert all("mine.py:" in each.message for each in SPECS if each.name not in WITHOUT_A_LINE)


WITHOUT_A_LINE = {"no number is left"}
"""What no one line is at fault for."""


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"key_ends": [8, 11]}, "mine: key_ends: the last prefix sum must be U"),
        ({"valid": np.ones((2, 8), bool)}, "mine: valid: shape [2, 8] should be (B, M)"),
    ],
)
def test_wrong_sums_are_told_before_the_shapes_that_they_measure(
    tmp_path: Path, changes: dict[str, Any], told: str
) -> None:
    (tmp_path / "mine.py").write_text(changed(PACKED, PADDED))
    call = {**PACKED_CALL, "valid": np.ones((2, 7), bool), **changes}
    with pytest.raises(UserError, match=re.escape(told)):
        load_file(tmp_path / "mine.py")(**call)
