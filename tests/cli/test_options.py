"""Options of several commands: given once, a device by its name, a scheduler and a journal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from attndsl.cli.cli import cli
from attndsl.cli.command_frame import run_command
from attndsl.target import DEFAULT_DEVICE, device

NAME = "incre_flash_attention"
EMULATOR = ("--backend", "emulator")
DEVICES = {
    "generate": ("generate", NAME, "--dry-run"),
    "show": ("show", NAME),
    "verify": ("verify", NAME),
    "profile": ("profile", NAME, "--shape", "B=1"),
    "emulate": ("emulate", "main.cpp"),
}


def ran(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    code = run_command(cli, (*arguments, "--json"))
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (("generate", NAME, "--feature", "attn_mask", "--feature", "attn_mask"), "--feature attn_mask"),
        (("generate", NAME, "--dtype", "float16", "--dtype", "float16"), "--dtype float16"),
        (("generate", NAME, NAME), f"the operator {NAME}"),
        (("generate", NAME, "--out", "a", "--out", "b"), "--out takes one value"),
        (("generate", NAME, "--device", "atlas-a3", "--device", "atlas-a2"), "--device takes one value"),
        (("verify", NAME, "--backend", "tile", "--backend", "tile"), "--backend tile"),
        (("verify", NAME, "--case", "3", "--case", "3"), "--case 3"),
        (("verify", NAME, "--seed", "1", "--seed", "1"), "--seed takes one value"),
        (("show", NAME, "--stage", "graph", "--stage", "graph"), "--stage graph"),
        (("profile", NAME, "--cores", "2", "--cores", "3"), "--cores takes one value"),
        (("emulate", __file__, "--timeout", "1", "--timeout", "2"), "--timeout takes one value"),
        (("verify", NAME, "--record", "--device", "atlas-a3"), "--record"),
    ],
)
def test_what_is_given_twice_is_refused(
    arguments: tuple[str, ...], names: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, document = ran(capsys, *arguments)
    assert code == 2 and names in document["error"]


@pytest.mark.parametrize("command", DEVICES)
def test_unknown_devices_are_refused_with_the_nearest(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("main.cpp").write_text("int main() { return 0; }\n")
    code, document = ran(capsys, *DEVICES[command], "--device", "atlas-a33")
    assert code == 2 and "did you mean 'atlas-a3'?" in document["error"]


def test_kernels_are_generated_for_a_device(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _ = ran(capsys, "generate", NAME, *("--feature", "none", "--dtype", "float16"),
                  *("--device", "ascend910b4", "--out", str(tmp_path)))  # fmt: skip
    text = (tmp_path / NAME / "README.md").read_text()
    assert code == 0 and f"attndsl generate {NAME} --device ascend910b4" in text
    assert device("ascend910b4").aic == 20 != device(DEFAULT_DEVICE).aic


def test_cases_run_on_a_device_and_say_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The journal keeps what one device gave apart from what another one did."""
    journal = tmp_path / "cases.journal"
    common = ("verify", NAME, "--case", "0", "--backend", "tile", "--journal", str(journal))
    code, document = ran(capsys, *common, "--device", "ascend910b4")
    assert code == 0
    (row,) = document["verifications"][0]["rows"]
    assert row["reproduce"].endswith("--device ascend910b4")
    lines = journal.read_bytes().count(b"\n")
    assert lines == 1 and ran(capsys, *common, "--device", "ascend910b4")[0] == 0
    assert journal.read_bytes().count(b"\n") == 1  # nothing ran again
    code, document = ran(capsys, *common)
    assert code == 0 and "--device" not in document["verifications"][0]["rows"][0]["reproduce"]
    assert journal.read_bytes().count(b"\n") == 2


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (("--journal", "{folder}"), "folder"),
        (("--journal", "{other}"), "journal"),
        (("--scheduler", "nonsense"), "nonsense"),
        (("--scheduler", "tcp://127.0.0.1:9", "--coverage", *EMULATOR), "--scheduler cannot be joined"),
    ],
)
def test_journals_and_schedulers_that_are_none(
    arguments: tuple[str, ...],
    names: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("attndsl.campaign.cluster._CONNECT_SECONDS", 1)
    other = tmp_path / "other.txt"
    other.write_text("no journal\n")
    words = (each.format(folder=tmp_path, other=other) for each in arguments)
    code, document = ran(capsys, "verify", NAME, "--case", "0", "--backend", "tile", *words)
    assert code == 2 and names in document["error"]
    assert other.read_text() == "no journal\n"
