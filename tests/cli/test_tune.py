"""attndsl tune: a table or a document of schedules, the same errors as profile, and stored choices."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from attndsl.cli import schedule_text
from attndsl.cli import tune as tune_module
from attndsl.cli.cli import cli
from attndsl.cli.command_frame import run_command
from attndsl.emulator import find_compiler
from attndsl.spec.operator.loader import load_file
from tests.support.authored import with_schedule

SHAPE = ["--shape", "B=1,num_heads=8,num_key_value_heads=2,S=640,D=64"]
needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler")


class _Told:
    """What the emulator would report: rings of four slots are the fastest."""

    def __init__(self, launch, knobs):
        assert knobs.timing
        self.counters = {"microseconds": 90.0 if launch.compiled.schedule.ring == 4 else 100.0}

    def raise_for_findings(self) -> None:
        pass


@pytest.fixture
def spec(tmp_path, monkeypatch):
    monkeypatch.setattr(tune_module, "execute", _Told)
    """What it states leaves few schedules to compile; tests of tuning search among all."""
    return str(with_schedule(tmp_path, split_kv=1, max_rows=64, tile_k=512, base_n=128).file)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, [*arguments])


def test_the_document(spec):
    done = run("tune", spec, *SHAPE, "--top", "5", "--json")
    assert done.exit_code == 0, done.output
    document = json.loads(done.output)
    assert document["schema"] == 2 and document["command"] == "tune"
    assert document["operator"] == "incre_flash_attention" and document["device"] == "atlas-a2"
    assert document["kernel"] == "incre_flash_attention_float16_d64" and document["sizes"]["S"] == 640
    assert document["specialization"]["padded_head_size"] == 64 and len(document["model"]) == 12
    assert document["default_microseconds"] == 100.0 and document["best_microseconds"] == 90.0
    assert document["best_options"] == {"ring": 4}
    predicted = [each for each in document["candidates"] if each["ratio"] is not None]
    assert len(predicted) == 6 and predicted[0]["ratio"] == 0.9
    times = {f"{name}_microseconds" for name in ("bound", "bounds", "rank", "predicted")}
    assert predicted[0].keys() == {"options", "schedule", "limited_by", "ratio"} | times
    default = next(each for each in predicted if not each["options"])
    assert default["schedule"]["tile_k"] == 512 and default["schedule"]["max_rows"] == 64
    assert default["bound_microseconds"] == max(default["bounds_microseconds"].values())
    assert document["stored"] is None and document["written"] is None and document["unfit"] == []
    assert document["calibration_error"]["instructions"]["p95"] <= 0.1


def test_the_table(spec):
    done = run("tune", spec, *SHAPE, "--top", "5", "--device", "ascend910b4")
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert "on Ascend 910B4, model " in lines[1] and "6 of them predicted" in lines[1]
    (best,) = (line for line in lines if "<- best" in line)
    assert "90.0 us   0.900" in best and best.split("<- best")[0].rstrip().endswith("ring=4")
    assert any(line.endswith("  default") for line in lines)
    assert "on sizes left out of the fit" in done.output and "unknown: " in done.output


def test_the_best_is_written_used_and_taken_away(spec, monkeypatch):
    file = load_file_path(spec)
    assert run("tune", spec, *SHAPE, "--top", "1").exit_code == 0 and not file.exists()
    done = run("tune", spec, *SHAPE, "--top", "5", "--write", "--json")
    assert json.loads(done.output)["written"] == str(file)
    (row,) = json.loads(file.read_text())["schedules"]
    assert row["options"] == {"ring": 4} and row["shape"]["S"] == 640
    assert (row["predicted_microseconds"], row["default_microseconds"]) == (90.0, 100.0)
    shown = run("show", spec, "--set", "D=64", "--stage", "schedule")
    assert re.search(r"ring +4 +stored\n", shown.output), shown.output
    assert "stored: ring=4; predicted 90.0 us, 0.900 of the default's time, for B=1, " in shown.output
    assert "ring=4  (this one)" in shown.output and "default  (1.000 of this one's rank)" in shown.output
    again = json.loads(run("tune", spec, *SHAPE, "--top", "1", "--json").output)
    assert again["stored"]["options"] == {"ring": 4} and again["default_microseconds"] == 100.0
    monkeypatch.setattr(_Told, "__init__", lambda self, *_: setattr(self, "counters", {"microseconds": 5.0}))
    assert "no entry" in run("tune", spec, *SHAPE, "--top", "1", "--write").output
    assert json.loads(file.read_text())["schedules"] == []


def load_file_path(spec: str):
    file = load_file(Path(spec)).schedules_file
    assert file is not None
    return file


@pytest.mark.parametrize(
    "wrong",
    [
        ["--shape", "S"],
        ["--shape", "B=0.5"],
        ["--shape", "num_head=8"],
        ["--feature", "mask"],
        ["--dtype", "float64"],
        ["--set", "D=64"],
        ["--device", "ascend910b9"],
    ],
    ids=str,
)
def test_wrong_calls_are_told_as_profile_tells_them(wrong, capsys):
    said = []
    for command in ("profile", "tune"):
        assert run_command(cli, [command, "incre_flash_attention", *wrong]) == 2
        said.append(capsys.readouterr().err)
    assert said[0] == said[1] and said[0].startswith("attndsl: ")


@pytest.mark.parametrize("top", ["0", "65", "many"])
def test_top_is_from_1_to_64(top, capsys):
    assert run_command(cli, ["tune", "incre_flash_attention", "--top", top]) == 2
    assert f"'{top}' is no whole number from 1 to 64" in capsys.readouterr().err


def test_a_wrong_file_of_choices_is_the_users_error(spec, capsys):
    file = load_file_path(spec)
    file.write_text('{"schema": 1, "schedules": [3]}')
    assert run_command(cli, ["tune", spec, *SHAPE, "--json"]) == 2
    document = json.loads(capsys.readouterr().out)
    assert document["error_class"] == "StoredSchedulesError" and document["exit_code"] == 2
    assert f"{file.name}: entry 1 is 3" in document["error"]


def test_show_tells_bounds_of_other_schedules(spec):
    """Only where the schedule is asked for by name: the runners-up take a second."""
    shown = run("show", spec, "--set", "D=64", "--stage", "schedule").output
    assert "no choice is stored for this kernel: defaults but for what the spec states: " in shown
    assert "split_kv=1" in shown and "default  (this one)" in shown
    ranks = [float(line.split("(")[-1].split()[0]) for line in shown.splitlines() if "'s rank)" in line]
    assert 1 <= len(ranks) <= 5 and ranks == sorted(ranks) and "takes long" not in shown


def test_show_counts_work_for_a_few_seconds(spec, monkeypatch):
    """Of prompts the bounds of all runners-up took minutes; what is left out is told."""
    monkeypatch.setattr(schedule_text, "_MOST_COUNTED", 0)
    shown = run("show", spec, "--set", "D=64", "--stage", "schedule").output
    assert shown.count("'s rank)") <= 1
    assert re.search(r"\n  \d+ more schedules differ in one option; to count their work takes long", shown)


@needs_compiler
def test_the_emulator_predicts(tmp_path):
    """The real one, once: no bound is above its prediction by more than a little."""
    file = str(with_schedule(tmp_path, split_kv=1, max_rows=64).file)
    done = run("tune", file, *SHAPE, "--top", "1", "--json")
    assert done.exit_code == 0, done.output
    predicted = [each for each in json.loads(done.output)["candidates"] if each["ratio"] is not None]
    assert len(predicted) == 2
    for each in predicted:
        assert 0 < each["bound_microseconds"] <= 1.02 * each["predicted_microseconds"]
