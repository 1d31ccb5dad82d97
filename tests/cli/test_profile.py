"""attndsl profile: its document, its text, and wrong usage."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from attndsl.cli.cli import cli
from attndsl.emulator import find_compiler
from attndsl.spec.operator.loader import load
from attndsl.verify.cases.shaped_call import call_of_shape

SHAPE = {"B": 1, "num_heads": 8, "num_key_value_heads": 2, "S": 640, "D": 64}
needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler")


@pytest.fixture(scope="module")
def operator():
    return load("incre_flash_attention")


@needs_compiler
def test_the_command(operator, tmp_path):
    shape = ",".join(f"{name}={value}" for name, value in SHAPE.items())
    done = CliRunner().invoke(cli, ["profile", operator.name, "--shape", shape, "--json"])
    assert done.exit_code == 0, done.output
    document = json.loads(done.output)
    assert 0 < document["predicted_microseconds"] <= document["worst_microseconds"]
    error = document["calibration_error"]
    assert error["instructions"]["p95"] <= 0.1 and len(error["unknown"]) >= 3
    assert error["kernels"]["apart"]["duration"] <= 0.15
    assert sum(document["critical_path"].values()) == pytest.approx(document["predicted_microseconds"], 0.01)
    assert 0 < document["cube_utilization"] < 1 and document["schedule"]["tile_k"] > 0
    assert 0 < document["hbm_utilization"]["of_peak"] < document["hbm_utilization"]["of_r"] < 1
    assert document["hbm_utilization"]["r"] == pytest.approx(24 * 32 * 1.8e9)
    keys = 2 * 2 * 640 * 64 * 2  # and values, of two heads
    assert keys <= document["bytes"]["hbm_read"] <= document["bytes"]["l2_read"]
    assert sum(document["bytes"]["hbm_read_by_tensor"].values()) == document["bytes"]["hbm_read"]
    by_line = document["bank_conflict_cycles_by_line"].values()
    assert document["bank_conflict_cycles"] == pytest.approx(sum(by_line), abs=0.1)
    assert set(document["busy_share"]) == {"AIC", "AIV"}
    call = call_of_shape(operator, SHAPE)
    listed = {name for name in call.arrays if operator.tensor(name).sequence_of}
    arrays = {name + (".0" if name in listed else ""): array for name, array in call.arrays.items()}
    np.savez(
        tmp_path / "call.npz", **arrays, **{name: np.array(value) for name, value in call.params.items()}
    )
    done = CliRunner().invoke(cli, ["profile", operator.name, str(tmp_path / "call.npz")])
    assert done.exit_code == 0, done.output
    assert "us, at worst " in done.output and "busy AIV:" in done.output
    assert "on sizes left out of the fit" in done.output and "unknown: " in done.output
    for wrong in (["--shape", "S"], [str(tmp_path / "call.npz"), "--shape", "S=64"]):
        assert CliRunner().invoke(cli, ["profile", operator.name, *wrong]).exit_code == 2


def test_the_call_of_the_front_page():
    """Its sizes are those that the contract has."""
    page = (Path(__file__).parents[2] / "README.md").read_text()
    name, shape, setting = re.search(
        r"`attndsl profile (\w+) --shape (\S+) --set calcType=(\w+)`", page
    ).groups()
    sizes = {each: int(size) for each, size in (part.split("=") for part in shape.split(","))}
    call = call_of_shape(load(name).mode_named(setting), sizes)
    assert {each: call.env()[each] for each in sizes} == sizes


@needs_compiler
def test_a_long_call_is_extrapolated_and_says_so(operator, tmp_path):
    """In its document, its text and its page, of which only the simulated part is a timeline."""
    shape = ",".join(f"{name}={value}" for name, value in (SHAPE | {"S": 64000}).items())
    command = ["profile", operator.name, "--shape", shape]
    whole = json.loads(CliRunner().invoke(cli, [*command, "--json"]).output)
    assert whole["extrapolated"] is None
    part = [*command, "--most-core-cycles", "2000000"]
    found = json.loads(CliRunner().invoke(cli, [*part, "--json"]).output)
    assert 0.1 < found["extrapolated"]["simulated_share"] < 0.9 and found["extrapolated"]["spread"] < 0.1
    assert found["predicted_microseconds"] == pytest.approx(whole["predicted_microseconds"], rel=0.1)
    done = CliRunner().invoke(cli, [*part, "--html", str(tmp_path / "page.html")])
    assert done.exit_code == 0 and "extrapolated: " in done.output
    page = (tmp_path / "page.html").read_text()
    assert "simulated, the rest extrapolated" in page and "later instructions are left out" in page
