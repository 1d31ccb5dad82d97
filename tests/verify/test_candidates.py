"""What candidates for a case are pinned to, for a kernel and without one, with searches that find them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from attndsl.verify.cases import mode_search
from attndsl.verify.cases.case import Case
from attndsl.verify.cases.kernel_demands import Demand
from attndsl.verify.cases.mode_search import ModeSearch
from attndsl.verify.cases.wanted_kernel import FIRST
from attndsl.verify.space.solve import solve
from attndsl.verify.space.values import (
    FEW,
    FEW_FORCED,
    FILL,
    GROUP,
    PROBE,
    RAMP,
    ROOMY,
    SLOPE,
    SUNK,
    WORKLOAD,
)
from tests.support.searches import OPERATOR, rng, search, stub_searches


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The pins of each search for an assignment."""
    return stub_searches(monkeypatch)


# Candidates -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attempt", "kernels", "rare"), [(0, 0, 1), (2, 11, 1), (3, 0, 0), (0, 12, 0), (0, 13, 0)]
)
def test_the_first_candidate_has_a_rare_pair_while_kernels_are_few(
    asked: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, attempt: int, kernels: int, rare: int
) -> None:
    member = search()
    monkeypatch.setattr(member, "_rare_pair", lambda rng: {"rare": True})
    monkeypatch.setattr(member, "_pins", lambda rng, turn, attempt: {})
    member._kernels = {(("D", size),): 1 for size in range(kernels)}
    found = list(member._candidates(rng(), 0, attempt))
    assert [place for _, place, pins in found if "rare" in pins] == [0] * rare and len(found) == 3


def candidates(member: ModeSearch, turn: int, attempt: int, seed: int = 0) -> list[dict[str, Any]]:
    return [found for _, _, found in member._candidates(rng(seed), turn, attempt)]


def test_candidates_of_a_kernel_have_its_values(asked: list[dict[str, Any]]) -> None:
    """The first all that are likely, the others most of them; sizes that suit it, variables alone."""
    member = search(
        kernels=1,
        pins={"D": 64, "unknown": 1},
        likely={"scale": 1.0, "mystery": 2},
        sizes={"S": (17, 63), "odd": (1,)},
    )
    drawn = [candidates(member, 3, 0, seed) for seed in range(20)]
    every = [pins for each in drawn for pins in each]
    assert all(pins["D"] == 64 and pins["S"] in (17, 63) for pins in every)
    assert {pins["S"] for pins in every} == {17, 63}
    assert not {"unknown", "mystery", "odd"} & set().union(*every)
    assert all(each[0].get("scale") == 1.0 for each in drawn)
    later = ["scale" in pins for each in drawn for pins in each[1:]]
    assert 20 < sum(later) < 40


def test_candidates_of_a_demand_have_sizes_that_are_whole(
    asked: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first of those that suit the kernel, and more room, where it asks for them."""
    member = search(kernels=1, sizes={"S": (17, 63)})
    for whole, roomy in ((True, False), (False, True)):
        asked.clear()
        demand = Demand("one", lambda rng: {"of": 1}, lambda call: True, FEW, whole=whole, roomy=roomy)
        monkeypatch.setattr(member, "_demand", lambda turn, attempt=0, demand=demand: demand)
        drawn = [pins for seed in range(10) for pins in candidates(member, 7, 0, seed)]
        assert {pins["S"] for pins in drawn} == ({17} if whole else {17, 63})
        assert all(pins["of"] == 1 and pins[WORKLOAD] == FEW for pins in drawn)
        assert {pins["most"] for pins in asked} == {ROOMY if roomy else member.space.values.most_elements}


@pytest.mark.parametrize(
    ("turn", "attempt", "walks", "data"),
    [
        (0, 0, 5, SUNK),
        (1, 9, 5, RAMP),
        (1, 10, 3, RAMP),
        (2, 14, 3, PROBE),
        (0, 15, 12, None),
        (3, 0, 3, None),
        (3, 15, 12, None),
        (6, 0, 5, ""),  # a demand
    ],
)
def test_first_cases_of_a_kernel_have_sizes_of_their_own_for_some_attempts(
    asked: list[dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
    turn: int,
    attempt: int,
    walks: int,
    data: str | None,
) -> None:
    member = search(kernels=1)
    told: list[str] = []
    monkeypatch.setattr(mode_search, "beyond_a_tile", lambda space: {})
    monkeypatch.setattr(
        mode_search, "first_sizes", lambda space, rng, data: told.append(data) or {"first": 1}
    )
    drawn = candidates(member, turn, attempt)
    assert {pins["walks"] for pins in asked} == {walks}
    assert [pins.get("first") for pins in drawn] == ([1] * 3 if walks == 5 else [None] * 3)
    assert told == ([data] if walks == 5 else [])
    assert not data or {pins[FILL] for pins in drawn} == {data}
    assert data is not None or {pins.get(FILL) for pins in drawn} <= {None, PROBE}


def test_a_search_that_finds_nothing_gives_no_candidate(
    asked: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mode_search, "solve", lambda *_, **__: None)
    assert not candidates(search(kernels=1), 0, 0) and not candidates(search(), 0, 0)


def test_scores_that_rise_have_a_slope_and_no_bounds(
    asked: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """1 where sizes of first cases say so, either otherwise; other data have none."""
    member = search(kernels=1)
    monkeypatch.setattr(mode_search, "beyond_a_tile", lambda space: {})
    assert {pins[SLOPE] for pins in candidates(member, 1, 0)} == {1.0}
    free = {pins[SLOPE] for seed in range(8) for pins in candidates(member, 1, 12, seed)}
    assert free == {-1.0, 1.0}
    assert all(pins.get("far") for pins in candidates(member, 1, 0))
    assert not any({"far", SLOPE} & pins.keys() for pins in candidates(member, 2, 0))


def test_rows_beyond_a_tile_are_asked_for_where_nothing_is_against_it(
    asked: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the first attempts with rising scores; what the kernel pins stays."""
    member = search(kernels=1, pins={"D": 64})
    monkeypatch.setattr(mode_search, "beyond_a_tile", lambda space: {"D": 1, "S": 513, "T": 600})
    monkeypatch.setattr(mode_search, "is_contradiction", lambda space, pins: "T" in pins)
    assert all((pins["D"], pins["S"], "T" in pins) == (64, 513, False) for pins in candidates(member, 1, 2))
    assert not any("S" in pins for pins in candidates(member, 1, 3))
    assert not any("S" in pins for pins in candidates(member, 0, 0))


def test_blocks_are_forced_at_random_in_every_eighth_case(asked: list[dict[str, Any]]) -> None:
    member = search(of="nsa_compress_attention", kernels=1)
    few = [turn for turn in range(3, 20) if candidates(member, turn, 25)[0].get(FEW_FORCED)]
    assert few == [turn for turn in range(3, 20) if turn % mode_search._RANDOMLY_FORCED]
    assert not any(FEW_FORCED in candidates(search(kernels=1), turn, 25)[0] for turn in range(3, 6))


def test_every_second_case_of_a_kernel_is_asked_for_a_situation(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first ones in every fourth; those alone that the kernel may have; for some attempts."""
    member = search(kernels=1, pins={"D": 64})
    monkeypatch.setattr(member, "_demand", lambda turn, attempt=0: None)
    member._situations = tuple(
        SimpleNamespace(name=name, pins=lambda rng, pins=pins: pins, holds=None, first=name == "first")
        for name, pins in (
            ("met", {"S": 1}), ("first", {"S": 2}), ("other", {"S": 3}), ("against", {"D": 16}),
        )
    )  # fmt: skip
    member._met, start = {"met"}, len(FIRST)

    def told(turn: int, attempt: int = 0) -> set[int | None]:
        return {member._of_situation(rng(seed), turn, attempt).get("S") for seed in range(20)}

    assert told(start) == {2} and told(start + 2) == {2, 3} and told(start + 4) == {2}
    assert told(start + 1) == told(start - 1) == told(start - 3) == {None}
    assert told(start, mode_search._PINNED - 1) == {2} and told(start, mode_search._PINNED) == {None}
    member._met = {"met", "first"}
    assert told(start) == told(start + 2) == {3}, "others where none of the first is left"
    member._met = {"met", "first", "other"}
    assert told(start) == {None}, "the kernel has another head size"
    member._met |= {"against"}
    assert told(start) == {None}


def test_numbers_that_the_contract_has_no_value_of_are_not_asked_for() -> None:
    """Defaults, too, of what follows from others."""
    member = search()
    legal = member.space.variables
    names = member._defaults.keys() - {FILL}
    assert names and all(member._defaults[name] in legal[name] for name in names)
    other = search()
    gone = next(iter(sorted(names)))
    variables = {name: values for name, values in legal.items() if name != gone}
    other.space.__dict__["variables"] = variables
    assert other._defaults.keys() == member._defaults.keys() - {gone}


def test_cases_of_no_kernel_have_the_data_of_their_turn() -> None:
    (place,) = {turn for turn in mode_search.RAMPS if turn == 3}
    assert search()._pins(rng(), place, 5)[FILL] == RAMP


def test_small_heads_whose_number_follows_from_others_are_left_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """And there are none that no call has."""
    member = search(of="nsa_compress_attention")
    extents = member.space.operator.axis_extents
    monkeypatch.setattr(
        type(member.space),
        "repairs",
        lambda self, symbols: ("a", "b") if symbols == extents["N"].symbols() else ("c",),
    )
    monkeypatch.setattr(mode_search, "solve", lambda *_, **__: {})
    found = search(of="nsa_compress_attention")
    assert found._many_small_heads == [], "an empty assignment is none"
    monkeypatch.setattr(mode_search, "solve", lambda space, rng, pins, walks: pins)
    assert member._many_small_heads
    assert all(pins.keys() == {member._head, GROUP, "c"} for pins in member._many_small_heads)


def test_pairs_are_of_what_a_search_may_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mode_search, "kernel_variables", lambda space: (GROUP, "scale", "absent"))
    assert all(search()._rare_pair(rng(seed)).keys() == {GROUP, "scale"} for seed in range(4))


def test_some_rare_pairs_leave_other_tensors_open() -> None:
    member = search(of="incre_flash_attention")
    every = {f"given({name})" for name in member.space.optional}
    drawn = [every <= member._rare_pair(rng(seed)).keys() for seed in range(30)]
    assert 5 < sum(drawn) < 25


def test_a_case_is_counted_for_its_kernel_and_its_situations() -> None:
    member = search()
    assignment = solve(member.space, rng(), {WORKLOAD: "any", GROUP: 1})
    assert assignment is not None
    drawn = mode_search.drawn_case(OPERATOR, member.space, assignment, rng())
    assert drawn is not None
    held: list[str] = []

    def situation(name: str, met: bool) -> Any:
        return SimpleNamespace(name=name, holds=lambda call: held.append(name) or met)

    member._situations = (situation("in", True), situation("out", False))
    for count in (1, 2):
        assert isinstance(member._taken(*drawn), Case)
        assert list(member._kernels.values()) == [count] and member._met == {"in"}
    assert held == ["in", "out", "out"], "one that a case has been in is not looked for"
    assert member._covered and len(member._unsettled) == 2
