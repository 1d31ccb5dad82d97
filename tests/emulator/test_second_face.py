"""Launches on two faces: what counts as a difference, and how it is told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import pytest
from click.testing import CliRunner

from attndsl.cli.cli import cli
from attndsl.compiler.prepare_launch import Launch
from attndsl.emulator import NoHeaders, Report, VendorHeaders
from attndsl.execute import second_face
from attndsl.execute.second_face import SecondFace


@dataclass(frozen=True)
class FakeLaunch:
    """The part of a launch that the comparison looks at."""

    arguments: dict[str, Any] = field(default_factory=dict)


def report(instructions: dict[str, int], *rules: str) -> Report:
    counters = {"instructions": {"S": 0, "V": 0, **instructions}}
    return Report((), dict.fromkeys(rules, 1), counters, (), (1, 1, 2))


def faces(monkeypatch: pytest.MonkeyPatch, theirs: Report, value: float) -> tuple[SecondFace, FakeLaunch]:
    """A launch whose output CANN's headers leave at `value`, ours at 1; both read the cache as it was."""

    def execute(launch: FakeLaunch, knobs: object = None, *, headers: object = None) -> Report:
        cache, out = launch.arguments["cache"][0], launch.arguments["out"]
        assert cache[0] == 0, "one face's run is no input of the other's"
        cache[0], out[0] = 5, value if headers else 1
        return theirs if headers else report({"V": 3})

    monkeypatch.setattr(second_face, "execute", execute)
    face = SecondFace(cast(VendorHeaders, object()))
    launch = FakeLaunch({"cache": (np.zeros(2),), "out": np.zeros(2, np.float32), "mask": None})
    return face, launch


@pytest.mark.parametrize(
    ("theirs", "value", "told"),
    [
        (report({"V": 3}), 1.0, None),
        (report({"V": 5}), 1.0, "instructions on CANN's headers against ours: V +2"),
        (report({"V": 3}), np.nextafter(np.float32(1), np.float32(2)), "other bits in out"),
        (report({"V": 3}, "racecheck/x"), 1.0, "findings of one face: racecheck/x"),
    ],
)
def test_what_differs_is_told(
    monkeypatch: pytest.MonkeyPatch, theirs: Report, value: float, told: str | None
) -> None:
    face, launch = faces(monkeypatch, theirs, value)
    assert face.execute(cast(Launch, launch)) is theirs
    assert launch.arguments["out"][0] == value, "results are those of CANN's headers"
    assert face.to_json() == {"launches": 1, "differences": {told: 1} if told else {}}
    assert face.lines()[1:] == ([f"  1 x {told}"] if told else [])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--cann", "{}", "--backend", "tile"], "--cann speaks of what the emulator runs"),
        (["--cann", "{}", "--coverage"], "without --coverage, --project, --record"),
        (["--cann", "{}", "--journal", "{}/j"], "cannot be joined with --coverage, --project or --cann"),
    ],
)
def test_options_that_do_not_fit_are_refused(tmp_path: object, arguments: list[str], words: str) -> None:
    given = [argument.format(tmp_path) for argument in arguments]
    done = CliRunner().invoke(cli, ["verify", "relay_attention", "--cases", "1", *given])
    assert done.exit_code == 2 and words in " ".join(done.output.split()), done.output


@pytest.mark.parametrize("command", [["verify", "relay_attention"], ["emulate", __file__]])
def test_a_folder_without_headers_is_refused(tmp_path: object, command: list[str]) -> None:
    done = CliRunner().invoke(cli, [*command, "--cann", str(tmp_path)])
    assert isinstance(done.exception, NoHeaders)
