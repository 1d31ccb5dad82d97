"""bench/peers.py: what public programs read, and that a wrong result of theirs is seen."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))
import peer_decodings
import peer_inputs
import peer_runs
import peers_atb
import peers_atb_caches
import peers_catlass
import public_programs

from attndsl.api.backends import run_checked
from attndsl.emulator.errors import CompileFailed
from attndsl.emulator.vendor_headers import VendorHeaders
from attndsl.target import DEFAULT_DEVICE, device


def test_blocks_of_keys_stand_where_the_table_says():
    rows = np.arange(300 * 2, dtype=np.float32).reshape(300, 1, 2)
    table = np.array([[3, 1], [0, 2]])
    pages = peer_inputs.pages(rows, [200, 100], table)
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
    noted = {"peer": replace(one.public["peer"], noted="its flags are its own")}
    assert not peer_runs.compare_problem(replace(one, public=noted)), "a note excuses no miss"
    assert "its flags" not in capsys.readouterr().out
    monkeypatch.setattr(peer_runs, "run_public", lambda *_: replace(good, findings=("racecheck",)))
    assert peer_runs.compare_problem(replace(one, public=noted))
    assert "explained: its flags" in capsys.readouterr().out
    monkeypatch.setattr(peer_runs, "run_ours", lambda call: replace(good, findings=("racecheck",)))
    monkeypatch.setattr(peer_runs, "run_public", lambda *_: good)
    assert not peer_runs.compare_problem(one), "a finding in ours"


def test_what_does_not_run_is_a_row_and_the_rest_runs(small, monkeypatch, capsys):
    problem, _ = small
    (values, *_), _ = run_checked(problem.call, backend="reference")
    good = peer_runs.Ran(values, (), 2.0)
    public = dict.fromkeys(("broken", "dead", "fine"), problem.public["catlass 23"])
    failures = [CompileFailed("a.cpp", "error: no such type"), RuntimeError("the core's stack is exhausted")]

    def run_next(*_):
        if failures:
            raise failures.pop(0)
        return good

    monkeypatch.setattr(peer_runs, "run_ours", lambda call: good)
    monkeypatch.setattr(peer_runs, "run_public", run_next)
    assert not peer_runs.compare_problem(replace(problem, public=public))
    _name, ours, broken, why, dead, fine = capsys.readouterr().out.splitlines()
    assert broken == "  broken      does not run: a.cpp does not compile:" and why.endswith("no such type")
    assert dead == "  dead        does not run: the core's stack is exhausted"
    assert ours.startswith("  ours        right") and fine.startswith("  fine        right")


@dataclass
class Copies:
    """A program that copies some numbers, and may die then."""

    numbers: int
    error: str | None = None
    path: Path = Path("copies")

    def run(self, arguments, *, knobs, copies, device):
        np.ones(self.numbers, np.float16).tofile(copies / "000.bin")
        return SimpleNamespace(launches=[{"cycles": 7}], error=self.error, stdout="", findings=[])


def test_a_copy_of_a_program_that_dies_or_of_another_size_is_no_result(small):
    problem, expected = small
    size = expected.plain.size

    def run(program):
        return peer_runs.run_public(replace(problem.public["catlass 23"], build=lambda: program), expected)

    assert run(Copies(size)).values.size == size
    with pytest.raises(RuntimeError, match="killed"):
        run(Copies(size, "killed"))
    with pytest.raises(RuntimeError, match=f"copied 3 numbers, not {size}"):
        run(Copies(3))


@pytest.fixture(scope="module")
def cached():
    atb = peers_atb.Atb(Path(), VendorHeaders(Path(), (), False))
    lengths = [20, 3]
    return {
        "paged": peers_atb_caches._paged(
            atb, peer_decodings.paged_decoding("20, 3 keys", lengths, 2, 1, "half", 16)
        ),
        "cached": peers_atb_caches._decoder(atb, "20, 3 keys", lengths, 2, 1, "half"),
        "prefix": peers_atb_caches._prefix(atb, [20, 1], [0, 1], 2, 1, "half", masked=True),
        "causal": peers_atb_caches._prefix(atb, [20, 1], [0, 1], 2, 1, "bf16", masked=False),
        "latent": peers_atb_caches._latent(atb, peer_inputs.latent("20, 3 keys", lengths, 2, "half")),
    }


@pytest.mark.parametrize(
    ("which", "file", "argument"),
    [
        ("paged", "table", "block_table"),
        ("paged", "q", "query"),
        ("cached", "k", "cacheK"),
        ("cached", "kv_seqlen", "tokenOffset"),
        ("prefix", "v", "value"),
        ("prefix", "seqlen", "seqLen"),
        ("prefix", "kv_seqlen", "kvSeqLen"),
        ("prefix", "mask", "mask"),
        ("latent", "table", "table"),
        ("latent", "kv_seqlen", "lengths"),
    ],
)
def test_kernels_over_caches_read_the_numbers_of_the_call(cached, which, file, argument):
    problem = cached[which]
    given = np.asarray(problem.call.arrays[argument])
    read = problem.public["ATB"].files[file]
    assert np.array_equal(read.ravel(), given.ravel(), equal_nan=read.dtype.kind == "f")


def test_names_say_what_is_solved(cached):
    assert (
        cached["prefix"].name
        == "prefix, 2 heads on 1, 20 after 0, 1 after 1 blocks, a tile of the mask, half"
    )
    assert "mask" not in cached["causal"].public["ATB"].files
    latent = cached["latent"]
    assert np.array_equal(latent.public["ATB"].files["q_rope"][1], latent.call.arrays["query"][1, :, 0, 512:])
    other = peers_catlass.latent_decoding(Path(), peer_inputs.latent("20, 3 keys", [20, 3], 2, "half"))
    assert list(peer_runs.joined([latent, other])[0].public) == ["ATB", "catlass 19"]
