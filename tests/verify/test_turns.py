"""What the turns of a stream ask for: work, data, kernels, pairs of features; each on its own."""

from __future__ import annotations

import collections
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attndsl import ops
from attndsl.verify.cases import mode_search
from attndsl.verify.cases.cases import Stream, stream_of
from attndsl.verify.cases.mode_search import ModeSearch, NoCaseFound, allowance, pairs
from attndsl.verify.space.solve import solve
from attndsl.verify.space.space import CaseSpace
from attndsl.verify.space.values import FILL, GROUP, PROBE, RAMP, WIDE, WORKLOAD, WORKLOADS, Values
from tests.support.small_specs import DECODE_RESULT, DECODE_SCORES, decode_spec

DECLARED = """
mask = op.input("mask", "B 1 1 T", dtype="bool", axes="B T", optional=True)
bias = op.input("bias", "B N 1 T", dtype=query, axes="B N Q T", optional=True)
scale = op.param("scale", float, default=0.125)
window = op.param("window", int, default=0, ge=0)
kind = op.param("kind", int, default=1, choices=(1, 2))
length = op.lengths("length", "B", one_for_all=False)
op.require(length[attend.BATCH] >= 0, "must not be negative", over={attend.BATCH: B}, argument="length")
"""
BODY = (
    "k, v = attend.rows(key, length=length), attend.rows(value, length=length)",
    "s = attend.scores(query, k) * scale",
    "s = attend.choose((bias, s + bias), otherwise=s)",
    "s = attend.choose((mask, s.where(~mask)), otherwise=s)",
    "s = s.where(j + window >= kind - 1)",
    'op.output("out", attend.softmax(s) @ v, like=query)',
)


@pytest.fixture(scope="module")
def operator(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return decode_spec(tmp_path_factory.mktemp("turns"), *BODY, declared=DECLARED)


@pytest.fixture
def member(operator: Any) -> ModeSearch:
    (found,) = Stream(operator).members
    found._never, found._heavy = {}, set()
    return found


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


LADDERS = {
    "long few": ["long few", "several few", "several", "few", ""],
    "many": ["many", "many", ""],
    "wide": ["wide", "wide", ""],
    "long many": ["long many", "long", "several many", "several", "many", ""],
    "edge many": ["edge many", "many", ""],
    "any": ["any", "any", ""],
    "deep many": ["deep many", "several many", "several", "many", ""],
    "deep long": ["deep long", "long", "several", ""],
}


@pytest.mark.parametrize("place", range(len(WORKLOADS)))
def test_later_attempts_ask_for_less_and_the_last_for_nothing(member: ModeSearch, place: int) -> None:
    """Five attempts each; what no call has is left out."""
    ladder = LADDERS[WORKLOADS[place]]
    for turn in (place, place + len(WORKLOADS)):
        assert [member._workload(turn, 5 * step) for step in range(len(ladder))] == ladder
        assert member._workload(turn, 4) == ladder[0]
        assert member._workload(turn, 29) == ladder[min(5, len(ladder) - 1)]
    member._hopeless.add(ladder[0])
    rest = [each for each in ladder if each != ladder[0]]
    assert [member._workload(place, 5 * step) for step in range(len(rest))] == rest


def test_data_of_turns(member: ModeSearch) -> None:
    """Probes in two of five; scores that rise where keys are split, in two turns of thirteen."""
    found = [member._fill(rng(turn), turn) for turn in range(26)]
    assert all(found[turn] == {FILL: RAMP} for turn in (3, 5, 16, 18))
    others = [each for turn, each in enumerate(found) if turn not in (3, 5, 16, 18)]
    assert {tuple(each.items()) for each in others} == {(), ((FILL, PROBE),)}


def test_the_second_case_has_all_numbers_at_their_defaults(member: ModeSearch) -> None:
    """Choices are features; data are no probe, which takes a scale of its own."""
    wanted = {FILL: RAMP, "scale": 0.125, "window": 0}
    assert member._defaults == wanted
    assert member._pins(rng(), 1, 9).items() >= wanted.items()
    assert "window" not in member._pins(rng(), 1, 10) and "window" not in member._pins(rng(), 2, 0)


def test_attempts_are_pinned_to_kernels_first(member: ModeSearch) -> None:
    """To a head size that few have; once there are as many as the turn allows, to one of these."""
    heads = [dict(member._pins(rng(seed), 4, 0)).get("D") for seed in range(12)]
    assert len(set(heads)) > 3 and None not in heads
    assert "D" not in member._pins(rng(), 4, 3), "from the fourth attempt on to none"
    kernel = (("dtype(query)", "float16"), ("D", 64), ("given(bias)", True), ("given(mask)", None))
    member._kernels = {kernel: 1, **{(("D", place),): 1 for place in range(allowance(4) - 1)}}
    drawn = [member._pins(rng(seed), 4, 0) for seed in range(40)]
    known = [each for each in drawn if each.get("dtype(query)")]
    assert known and all(each.items() >= dict(kernel[:3]).items() for each in known)
    assert not any("given(mask)" in each for each in drawn) and allowance(4) == 13


def test_kernels_that_few_cases_have_are_taken_most(member: ModeSearch) -> None:
    member._kernels = {(("D", 16),): 9, (("D", 64),): 1}
    drawn = collections.Counter(member._known_kernel(rng(seed))["D"] for seed in range(100))
    assert drawn[64] > 75 and drawn[16] > 2


def test_rare_head_sizes(member: ModeSearch) -> None:
    sizes = set(member.space.variables["D"])
    member._kernels = {(("D", size),): 5 for size in sizes - {40, 80}}
    assert {member._rare_head(rng(seed))["D"] for seed in range(20)} == {40, 80}
    member._kernels |= {(("D", 40),): 1}
    assert {member._rare_head(rng(seed))["D"] for seed in range(9)} == {80}
    member._head = ""
    assert member._rare_head(rng()) == {}


def test_pairs_that_no_case_has_together_are_asked_for_twice(member: ModeSearch) -> None:
    """Half of the time with no other optional tensor; not those that a case has, nor sizes of heads."""
    names = {"dtype(query)", "given(bias)", "given(mask)", "kind"}
    alone = 0
    for seed in range(400):
        found = member._rare_pair(rng(seed))
        if not found:
            break
        assert found.keys() <= names | {"given(mask)", "given(bias)"}
        alone += found.keys() >= {"given(mask)", "given(bias)"}
    tries = member._tries
    assert tries and set(tries.values()) == {2} and not member._rare_pair(rng())
    assert {name for key in tries for name in (key[0], key[2])} <= names and alone > 4
    (fresh,) = Stream(member.space.operator).members
    fresh._never = {"given(mask)": False}
    fresh._covered = {(("dtype(query)", one), ("given(bias)", other)) for one in ("float16", "bfloat16")
                      for other in ("True", "False")}  # fmt: skip
    for seed in range(100):
        fresh._rare_pair(rng(seed))
    pairs = {frozenset((key[0], key[2])) for key in fresh._tries}
    assert frozenset(("dtype(query)", "given(bias)")) not in pairs
    assert not any("given(mask)" in each for each in pairs)


def test_pairs_of_an_assignment() -> None:
    found = pairs({"b": 1, "a": "x", "c": True})
    wanted = {(("a", "x"), ("b", "1")), (("a", "x"), ("c", "True")), (("b", "1"), ("c", "True"))}
    assert found == wanted


def test_small_heads_are_many_where_rows_shall_be_wide() -> None:
    """Of 64 channels to a block of the cube, one query head a key head; other operators have none."""
    (member,) = Stream(ops.nsa_compress_attention).members
    member._never = {}
    found = member._many_small_heads
    sizes = {each[member._head] for each in found}
    assert sizes and min(sizes) >= 64 and max(sizes) <= member.space.schedule.base_k
    pitch = member.space.operator.device.architecture.max_nd2nz_pitch
    assert all(each[GROUP] == 1 for each in found) and pitch == 65535
    turn = len(WORKLOADS) + WORKLOADS.index(WIDE)
    pins = member._pins(rng(), turn, 0)
    assert pins[WORKLOAD] == WIDE and any(pins.items() >= each.items() for each in found)
    first = member._pins(rng(), WORKLOADS.index(WIDE), 0)
    assert not any(first.items() >= each.items() for each in found), "every second time"
    del member.space.variables[GROUP]
    member.__dict__.pop("_many_small_heads")
    assert member._many_small_heads == []


def test_candidates_are_scored_by_what_they_cover(
    member: ModeSearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three each; pairs of what is heavy count three times."""
    member._heavy = {"dtype(query)", "given(bias)"}
    assignment = solve(member.space, rng(), {WORKLOAD: "any"})
    monkeypatch.setattr(mode_search, "solve", lambda *_, **__: assignment)
    drawn = list(member._candidates(rng(), 4, 5))
    assert [position for _, position, _ in drawn] == [0, 1, 2]
    assert assignment is not None
    every = pairs(member.space.canonical(assignment))
    assert {score for score, _, _ in drawn} == {len(every) + 2}
    member._covered = set(every)
    assert {score for score, _, _ in member._candidates(rng(), 4, 5)} == {0}
    monkeypatch.setattr(mode_search, "solve", lambda *_, **__: None)
    assert not list(member._candidates(rng(), 4, 5))


def test_rules_that_no_sizes_decide_are_told(member: ModeSearch, monkeypatch: pytest.MonkeyPatch) -> None:
    told = member._rules_over_elements()
    assert "'length' must not be negative" in told and len(set(told)) == len(told)
    assert not any("a multiple" in each for each in told)
    with pytest.raises(NoCaseFound, match="must not be negative"):
        raise NoCaseFound("it", told)
    monkeypatch.setattr(mode_search, "drawn_case", lambda *_, **__: None)
    with pytest.raises(NoCaseFound, match="must not be negative"):
        member.next(member.space.operator, 0, 0)
    monkeypatch.setattr(mode_search, "solve", lambda *_, **__: None)
    with pytest.raises(NoCaseFound, match="no legal case of small_decode was found"):
        member.next(member.space.operator, 1, 1)


def test_half_a_search_is_not_continued(operator: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks again gets a stream that starts anew."""
    first = stream_of(operator, 9)
    assert stream_of(operator, 9) is first

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Stream, "_search", fail)
    with pytest.raises(KeyboardInterrupt):
        first.take(1)
    assert stream_of(operator, 9) is not first


def test_a_case_is_affordable_by_its_work_and_its_tensors(tmp_path: Path) -> None:
    plain = decode_spec(tmp_path, DECODE_SCORES, DECODE_RESULT)
    (own,) = Stream(plain).members
    rows = np.zeros((1, 1, 9, 16), np.float16)
    call = plain.bind(rows[:, :, :1], rows, rows)
    (case,) = Stream(plain).take(1)
    assert own._is_affordable(case, call, "few") and own._is_affordable(case, call, "any")
    assert not own._is_affordable(case, call, "long few") and not own._is_affordable(case, call, "many")
    for most, affordable in ((9 * 16 - 1, False), (9 * 16, True)):
        roomy = CaseSpace(plain, Values(most_elements=most))
        assert own._is_affordable(replace(case, space=roomy), call, "few") is affordable
