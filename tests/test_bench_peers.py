"""bench/peers.py: what public programs read, and that a wrong result of theirs is seen."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))
import peer_runs
import peers_atb
import peers_catlass
import public_programs

from attndsl.api.backends import run_checked
from attndsl.emulator.vendor_headers import VendorHeaders
from attndsl.target import DEFAULT_DEVICE, device


def test_blocks_of_keys_stand_where_the_table_says():
    rows = np.arange(300 * 2, dtype=np.float32).reshape(300, 1, 2)
    table = np.array([[3, 1], [0, 2]])
    pages = peers_catlass._pages(rows, [200, 100], table)
    assert np.array_equal(np.concatenate([pages[3], pages[1]])[:200], rows[:200])
    assert np.array_equal(pages[0][:100], rows[200:])
    assert np.isnan(pages[1][72:]).all() and np.isnan(pages[2]).all()


def test_problems_of_one_name_are_one_with_all_public_runs():
    atb = peers_atb.Atb(Path(), VendorHeaders(Path(), (), False))
    one = peers_atb._prompt(atb, [40, 7], 2, 1, "half", True)
    other = peers_catlass.prompt(Path(), [40, 7], 2, 1, "half", causal=True)
    third = peers_atb._prompt(atb, [40, 7], 2, 1, "bf16", True)
    joined = peer_runs.joined([one, other, third])
    assert [each.name for each in joined] == [one.name, third.name]
    assert list(joined[0].public) == ["ATB", "ATB precise", "catlass 23", "catlass 40"]
    assert list(joined[1].public) == ["ATB"]


def test_rows_of_relay_attention_read_the_numbers_of_the_call():
    atb = peers_atb.Atb(Path(), VendorHeaders(Path(), (), False))
    problem = peers_atb._relay(atb, "small", [3, 5], [1, -1], [2, 4], 2, 1, "half", size=16)
    files, call = problem.public["ATB"].files, problem.call
    assert files["kv_seqlen"].tolist() == [7, 5], "own and shared keys"
    for name, tensor in (("k1", call.lists["key"][1]), ("vs0", call.lists["valueShare"][0])):
        assert np.array_equal(files[name].ravel(), np.asarray(tensor).ravel())
    words = problem.public["ATB"].arguments
    assert words[1:7] == ("half", "2", "2", "2", "1", "16")


@pytest.fixture(scope="module")
def small():
    problem = peers_catlass.prompt(Path(), [40, 7], 2, 1, "half", causal=True)
    return problem, peer_runs.expected_of(problem.call)


def test_files_and_call_hold_the_same_numbers(small):
    problem, _ = small
    files = problem.public["catlass 23"].files
    assert np.array_equal(files["q"], problem.call.arrays["query"])
    assert np.array_equal(files["k"][files["block_table"][0, 0], :40], problem.call.arrays["key"][:40])
    assert files["mask"][3, 4] == 1 and files["mask"][4, 3] == 0


def test_the_judge_takes_the_reference_and_refuses_a_shifted_row(small):
    problem, expected = small
    (values, *_), _ = run_checked(problem.call, backend="reference")
    assert peer_runs.judged(expected, values).ok
    wrong = values.copy()
    wrong[41] = wrong[42]
    assert not peer_runs.judged(expected, wrong).ok


@dataclass
class Reads:
    """A program that launches one kernel if it finds its files, and copies one number."""

    path: Path = Path("reads")

    def run(self, arguments, *, knobs, copies, device):
        rows = np.fromfile("rows.bin", np.int32)
        found = rows.tolist() == [3, 6] and Path("mask.bin").read_bytes() == bytes(5)
        rows.tofile(copies / "000.bin")
        there = Path(arguments[1]).samefile(Path.cwd())
        launches = [{"cycles": 7}] if found and there else []
        return SimpleNamespace(launches=launches, error="no rows", stdout="")


def test_a_public_program_runs_among_its_files(tmp_path):
    on, files = device(DEFAULT_DEVICE), {"rows": np.array([[3, 5], [6, 8]], np.int32)[:, 0], "mask": 5}
    arguments = ("--datapath", public_programs.HERE)
    report = public_programs.run_with_files(Reads(), arguments, files, on, copies=tmp_path)
    assert report.launches == [{"cycles": 7}]
    assert [each.name for each in tmp_path.iterdir()] == ["000.bin"]
    with pytest.raises(RuntimeError, match="reads launched nothing: no rows"):
        public_programs.run_with_files(Reads(), arguments, {**files, "mask": 4}, on, copies=tmp_path)


def test_a_peer_that_misses_and_one_that_cannot_run_are_failures(small, monkeypatch, capsys):
    problem, _ = small
    (values, *_), _ = run_checked(problem.call, backend="reference")
    good = peer_runs.Ran(values, (), 2.0)
    one = replace(problem, public={"peer": problem.public["catlass 23"]})
    monkeypatch.setattr(peer_runs, "run_ours", lambda call: good)
    monkeypatch.setattr(peer_runs, "run_public", lambda run, expected: replace(good, microseconds=4.0))
    assert peer_runs.compare_problem(one)
    assert "4.0 us, ours 0.50 of it" in capsys.readouterr().out
    monkeypatch.setattr(peer_runs, "run_public", lambda *_: replace(good, values=-values))
    assert not peer_runs.compare_problem(one)
    excused = {"peer": replace(one.public["peer"], explained="no document has rows like these")}
    assert peer_runs.compare_problem(replace(one, public=excused))
    assert "explained: no document" in capsys.readouterr().out
    monkeypatch.setattr(peer_runs, "run_ours", lambda call: replace(good, findings=("racecheck",)))
    monkeypatch.setattr(peer_runs, "run_public", lambda *_: good)
    assert not peer_runs.compare_problem(one), "a finding in ours"
