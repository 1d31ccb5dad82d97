"""bench/peers.py: what public programs read, and that a wrong result of theirs is seen."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))
import peers

from attndsl.api.backends import run_checked


def test_blocks_of_keys_stand_where_the_table_says():
    rows = np.arange(300 * 2, dtype=np.float32).reshape(300, 1, 2)
    table = np.array([[3, 1], [0, 2]])
    pages = peers._pages(rows, [200, 100], table)
    assert np.array_equal(np.concatenate([pages[3], pages[1]])[:200], rows[:200])
    assert np.array_equal(pages[0][:100], rows[200:])
    assert np.isnan(pages[1][72:]).all() and np.isnan(pages[2]).all()


@pytest.fixture(scope="module")
def small():
    problem = peers.prompt("small", [40, 7], 2, 1, "half", causal=True)
    return problem, peers.expected_of(problem.call)


def test_files_and_call_hold_the_same_numbers(small):
    problem, _ = small
    files = problem.public["catlass 23"].files
    assert np.array_equal(files["q"], problem.call.arrays["query"])
    assert np.array_equal(files["k"][files["block_table"][0, 0], :40], problem.call.arrays["key"][:40])
    assert files["mask"][3, 4] == 1 and files["mask"][4, 3] == 0


def test_the_judge_takes_the_reference_and_refuses_a_shifted_row(small):
    problem, expected = small
    (values, *_), _ = run_checked(problem.call, backend="reference")
    assert peers.judged(expected, values).ok
    wrong = values.copy()
    wrong[41] = wrong[42]
    assert not peers.judged(expected, wrong).ok


def test_a_peer_that_misses_and_one_that_cannot_run_are_failures(small, monkeypatch, capsys):
    problem, _ = small
    (values, *_), _ = run_checked(problem.call, backend="reference")
    good = peers.Ran(values, (), 2.0)
    one = replace(problem, public={"peer": problem.public["catlass 23"]})
    monkeypatch.setattr(peers, "run_ours", lambda call: good)
    monkeypatch.setattr(peers, "run_public", lambda run, checkout, expected: replace(good, microseconds=4.0))
    assert peers.compare_problem(one, Path())
    assert "4.0 us, ours 0.50 of it" in capsys.readouterr().out
    monkeypatch.setattr(peers, "run_public", lambda *_: replace(good, values=-values))
    assert not peers.compare_problem(one, Path())
    monkeypatch.setattr(peers, "run_ours", lambda call: replace(good, findings=("racecheck",)))
    monkeypatch.setattr(peers, "run_public", lambda *_: good)
    assert not peers.compare_problem(one, Path()), "a finding in ours"
