"""Options of several commands: given once, a device by its name, a scheduler and a journal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from attndsl.campaign import records
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


def test_copies_want_a_folder_of_their_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "held").mkdir()
    (tmp_path / "held" / "old.bin").touch()
    missing = ("emulate", str(tmp_path / "main.cpp"), "--copies")
    code, document = ran(capsys, *missing, str(tmp_path / "held"))
    assert code == 2 and "holds old.bin; give a new or an empty folder" in document["error"]
    for name in ("empty", "new"):
        code, document = ran(capsys, *missing, str(tmp_path / name))
        assert "--copies" not in document["error"], "what is left to say is that there is no program"


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
        (("verify", NAME, "--record", "--case", "1"), "leave out --case"),
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
    text = " ".join((tmp_path / NAME / "README.md").read_text().split())
    assert code == 0 and f"attndsl generate {NAME} --device ascend910b4" in text
    assert device("ascend910b4").aic == 20 != device(DEFAULT_DEVICE).aic


def test_cases_run_on_a_device_and_say_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The journal keeps what one device gave apart from what another one did."""
    journal = tmp_path / "cases.journal"
    common = ("verify", "relay_attention", "--case", "0", "--backend", "tile", "--journal", str(journal))
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
    if names == "nonsense":
        pytest.importorskip("distributed")  # without it no address is looked at
    monkeypatch.setattr("attndsl.campaign.cluster._CONNECT_SECONDS", 1)
    other = tmp_path / "other.txt"
    other.write_text("no journal\n")
    words = (each.format(folder=tmp_path, other=other) for each in arguments)
    code, document = ran(capsys, "verify", NAME, "--case", "0", "--backend", "tile", *words)
    assert code == 2 and names in document["error"]
    assert other.read_text() == "no journal\n"


def program(*arguments: str, **settings: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "attndsl", *arguments], text=True, check=False, **settings)


def closed(number: int) -> Callable[[], None]:
    return partial(os.close, number)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_standard_streams_may_be_closed(number: int) -> None:
    """Nothing that the command opens gets the number of a stream, and nothing is said to be a defect."""
    done = program("list", "--json", preexec_fn=closed(number), capture_output=True)
    assert done.returncode == 0 and not done.stderr
    assert bool(done.stdout) == (number != 1)
    wrong = program("show", "nothing", preexec_fn=closed(number), capture_output=True)
    assert wrong.returncode == 2


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("call.npz", b"\x80\x04\x95garbage", "it is no archive"),
        ("call.npz", b"", "it is no archive"),
        ("folder.npz", None, "is a folder"),
        ("missing.npz", b"", "is not there"),
    ],
)
def test_what_is_no_call(
    name: str, content: bytes | None, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    if content is None:
        path.mkdir()
    elif name != "missing.npz":
        path.write_bytes(content)
    code, document = ran(capsys, "run", NAME, str(path))
    assert code == 2 and says in document["error"] and "pickle" not in document["error"]


@pytest.mark.parametrize(
    ("variable", "value", "code"),
    [("ATTNDSL_CACHE_DIR", "{file}", 2), ("ATTNDSL_CACHE_BYTES", "many", 2), ("ATTNDSL_WORKERS", "many", 2)],
)
def test_wrong_variables_are_named(variable: str, value: str, code: int, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    stated = {"ATTNDSL_STORE_PROGRAMS": "1", "ATTNDSL_CACHE_DIR": str(tmp_path / "cache")}
    stated |= {variable: value.format(file=file)}
    cache = ("cache", "size", "--json")
    generate = ("generate", NAME, "--out", str(tmp_path / "out"), "--set", "D=32", "--json")
    command = cache if variable == "ATTNDSL_CACHE_DIR" else generate
    done = program(*command, env={**os.environ, **stated}, capture_output=True)
    document = json.loads(done.stdout)
    assert done.returncode == document["exit_code"] == code
    assert value.format(file=file) in document["error"]


def test_a_doctor_without_a_cache_tells_all_it_has_looked_at(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    done = program(
        "doctor", "--json", env={**os.environ, "ATTNDSL_CACHE_DIR": str(file)}, capture_output=True
    )
    rows = {row["name"]: row["ok"] for row in json.loads(done.stdout)["checks"]}
    assert done.returncode == 1
    assert (rows["packages"], rows["cache"], rows["emulator"]) == (True, False, False)


@pytest.mark.parametrize(
    "arguments", [("verify", NAME, "--seed", "9" * 20), ("generate", NAME, "--set", "D=" + "9" * 20)]
)
def test_a_number_beyond_the_largest_is_called_one(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """It is a whole number; what is wrong is its size."""
    code, document = ran(capsys, *arguments)
    assert code == 2 and f"to {2**63 - 1}, in digits 0 to 9" in document["error"]


@pytest.mark.parametrize(("stale", "code"), [({}, 0), ({"tile": ("judge", "tile programs")}, 1)])
def test_records_are_renewed_or_named_as_stale(
    stale: dict[str, tuple[str, ...]],
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(records, "renew", lambda name: asked.append(name) or stale)
    found, document = ran(capsys, "verify", NAME, "--renew-record")
    assert found == code and asked == [NAME] and document["ok"] == (not stale)
    assert document["stale"] == ({NAME: {"tile": ["judge", "tile programs"]}} if stale else {})
    assert run_command(cli, ("verify", NAME, "--renew-record")) == code
    said = capsys.readouterr().err
    assert said == (f"stale: {NAME} on tile by judge, tile programs\n" if stale else f"{NAME}: as recorded\n")


def test_renewing_a_record_runs_no_case(capsys: pytest.CaptureFixture[str]) -> None:
    code, document = ran(capsys, "verify", NAME, "--renew-record", "--cases", "3")
    assert code == 2 and "--renew-record runs no case; leave out --cases" in document["error"]
