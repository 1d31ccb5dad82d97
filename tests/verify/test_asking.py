"""What a search asks for and when it gives up, with searches that find what a test says."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from attndsl.verify.cases import mode_search
from attndsl.verify.cases.case import Case
from attndsl.verify.cases.cases import Stream
from attndsl.verify.cases.kernel_demands import Demand
from attndsl.verify.cases.mode_search import ModeSearch, NoCaseFound
from attndsl.verify.cases.wanted_kernel import FIRST, WantedKernel
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
    WORKLOADS,
)
from tests.support.case_spaces import space_of

OPERATOR = space_of("sigmoid").operator
FOUND: Any = ("case", "call")


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def search(
    *, of: str = "sigmoid", kernels: int = 0, takes: Callable[[Any], bool] = lambda call: True, **more: Any
) -> ModeSearch:
    """A search of a mode, for so many kernels, that has begun."""
    operator = space_of(of).operator
    kernel: dict[str, Any] = {"pins": {}, "likely": {}, "sizes": {}, **more}
    wanted = [WantedKernel(name=f"k{n}", mode=operator, takes=takes, **kernel) for n in range(kernels)]
    (found,) = Stream(operator, kernels=wanted).members
    found._never, found._heavy = {}, set()
    return found


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The pins of each search for an assignment; each finds one, and a case with it that is affordable."""
    found: list[dict[str, Any]] = []

    def solved(space: Any, rng: Any, pins: dict[str, Any], **how: Any) -> dict[str, Any]:
        found.append({**pins, "walks": how.get("walks"), "most": space.values.most_elements})
        return dict(pins)

    monkeypatch.setattr(mode_search, "solve", solved)
    monkeypatch.setattr(mode_search, "is_contradiction", lambda space, pins: False)
    monkeypatch.setattr(mode_search, "drawn_case", lambda *_, **__: FOUND)
    monkeypatch.setattr(mode_search, "pairs", lambda assignment: set())
    monkeypatch.setattr(mode_search, "may_matter", lambda call, feature: True)
    monkeypatch.setattr(mode_search, "unbounded", lambda space, assignment: {**assignment, "far": True})
    monkeypatch.setattr(ModeSearch, "_is_affordable", lambda self, case, call, workload: True)
    monkeypatch.setattr(ModeSearch, "_taken", lambda self, case, call: (case, call))
    monkeypatch.setattr(type(space_of("sigmoid")), "canonical", lambda self, assignment: assignment)
    return found


# A case -----------------------------------------------------------------------------------------------------


def test_what_is_not_affordable_or_no_case_is_passed_over(
    asked: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = itertools.chain([None, FOUND, FOUND], itertools.repeat(FOUND))
    affordable = itertools.chain([False, True], itertools.repeat(True))
    drawn: list[Any] = []

    def draw(*_: Any, **__: Any) -> Any:
        drawn.append(next(answers))
        return drawn[-1]

    monkeypatch.setattr(mode_search, "drawn_case", draw)
    monkeypatch.setattr(ModeSearch, "_is_affordable", lambda *_: next(affordable))
    assert search().next(OPERATOR, 0, 0) == FOUND and drawn == [None, FOUND, FOUND]


def test_a_case_of_a_kernel_is_one_that_it_takes(asked: list[Any]) -> None:
    answers = itertools.chain([False, False, True], itertools.repeat(True))
    taken: list[bool] = []

    def takes(call: Any) -> bool:
        taken.append(next(answers))
        return taken[-1]

    member = search(kernels=1, takes=takes)
    member.prepare()
    assert member.next(OPERATOR, 0, 0) == FOUND and taken == [False, False, True]
    with pytest.raises(NoCaseFound, match="no legal case of k0|search for cases of k0"):
        search(kernels=1, takes=lambda call: False).next(OPERATOR, 0, 0)


def test_a_demand_holds_in_the_case_that_is_asked_for_it(
    asked: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = itertools.chain([False, False, True], itertools.repeat(True))
    held: list[bool] = []

    def holds(call: Any) -> bool:
        held.append(next(answers))
        return held[-1]

    demand = Demand("some", lambda rng: {}, holds, FEW)
    monkeypatch.setattr(mode_search, "demands", lambda space: (demand,))
    member = search(kernels=1)
    turn = next(turn for turn in range(3, 30) if member._demand(turn))
    assert member.next(OPERATOR, turn, turn) == FOUND and held == [False, False, True]


def test_work_that_a_kernel_does_not_have_others_may(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the cases of kernels nothing is hopeless."""
    for kernels, hopeless in ((1, set()), (0, {"many"})):
        member = search(kernels=kernels)
        monkeypatch.setattr(member, "_workload", lambda turn, attempt: "many" if attempt < 5 else "")
        monkeypatch.setattr(
            member, "_candidates", lambda rng, turn, attempt: [(1, 0, {})] if attempt >= 5 else []
        )
        monkeypatch.setattr(mode_search, "drawn_case", lambda *_, **__: FOUND)
        monkeypatch.setattr(member, "_is_affordable", lambda *_: True)
        monkeypatch.setattr(member, "_taken", lambda *drawn: drawn)
        assert member.next(OPERATOR, 0, 0) == FOUND and member._hopeless == hopeless


# What mattered in no case -----------------------------------------------------------------------------------


def test_nothing_is_computed_for_features_that_are_known_to_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """No outline for what was seen or looked at often enough; no call where nothing can matter."""
    made: list[str] = []
    case: Any = SimpleNamespace(outline=lambda: made.append("outline"), call=lambda: made.append("call"))
    monkeypatch.setattr(mode_search, "effective_features", lambda call, names, quick: frozenset(names))
    may = {"a"}
    monkeypatch.setattr(mode_search, "may_matter", lambda outline, name: name in may)
    monkeypatch.setattr(case, "outline", lambda: made.append("outline") or "outline")
    member = search()
    for declared, often, wanted, seen in (
        ({"a", "b"}, 0, ["outline", "call"], {"a"}),
        ({"a"}, 0, [], {"a"}),
        ({"b"}, 0, ["outline"], {"a"}),
        ({"c"}, mode_search._LOOKED_AT, [], {"a"}),
    ):
        made.clear()
        member._looked_at["c"] = often
        member._unsettled = [(case, frozenset(declared))]
        member._settle()
        assert (made, member._seen) == (wanted, seen), declared


def test_features_without_a_legal_call_are_not_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor those seen. What contradicts itself, or asks for what no call passes, is not searched for."""
    member = search()
    member._seen, member._never = {"seen"}, {"given(x)": False}
    known = {"seen": {"a": 1}, "never": {"given(x)": True}, "no": {"b": 1}, "none": {"c": 1}, "some": {"d": 1}}
    monkeypatch.setattr(mode_search, "possible_features", lambda space: known)
    monkeypatch.setattr(mode_search, "is_contradiction", lambda space, pins: "b" in pins)
    tried: list[dict[str, Any]] = []

    def solved(space: Any, rng: Any, pins: dict[str, Any], **how: Any) -> Any:
        tried.append(pins)
        return None if "c" in pins else pins

    monkeypatch.setattr(mode_search, "solve", solved)
    assert member._missing == {"some": {"d": 1}}
    assert [set(pins) & set("abcd") for pins in tried] == [{"c"}, {"d"}]


def overdue(member: ModeSearch, monkeypatch: pytest.MonkeyPatch, legal: set[str], matters: set[str]) -> Any:
    """The case for what is missing, where some features have calls and some of these matter in one."""
    tried: list[str] = []

    def dependent(rng: Any, name: str, operator: Any, number: int, workload: str) -> Any:
        tried.append(name)
        return (SimpleNamespace(call=lambda: name), name) if name in legal else None

    monkeypatch.setattr(member, "_dependent", dependent)
    monkeypatch.setattr(mode_search, "effective_features", lambda call, names, quick: call in matters)
    monkeypatch.setattr(member, "_taken", lambda case, call: call)
    return member._overdue(rng(), OPERATOR, 16, 16), tried


def test_a_feature_is_asked_for_until_it_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few calls of one; then of another where no call can depend on it, which counts twice."""
    member = search()
    member.__dict__["_missing"] = {"a": {}, "b": {}, "c": {}}
    member._asked.update({"a": 1, "b": 2, "c": 3})
    assert overdue(member, monkeypatch, {"a"}, {"a"}) == ("a", ["a"]) and member._seen == {"a"}
    found, tried = overdue(member, monkeypatch, {"b", "c"}, set())
    assert found is None and tried == ["b"] * mode_search._WISHES and member._asked["b"] == 3
    member._asked["c"] = 4
    found, tried = overdue(member, monkeypatch, {"c"}, {"c"})
    assert found == "c" and tried[:-1] == ["b"] * 2 and member._asked["b"] == 5, "in two workloads"
    member._asked["b"] = mode_search._ASKED
    assert overdue(member, monkeypatch, {"b"}, {"b"}) == (None, [])


def test_situations_that_no_case_has_been_in_are_asked_for(
    asked: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those in vain least often, the first ones before others; with a known kernel, then with any."""

    def situation(name: str, met: bool, first: bool = False) -> Any:
        return SimpleNamespace(
            name=name, pins=lambda rng: {"asked": name}, holds=lambda call: met, first=first
        )

    member = search()
    monkeypatch.setattr(member, "_known_kernel", lambda rng: {"kernel": 1})
    member._situations = tuple(
        situation(name, name == "late", name == "early") for name in ("met", "early", "late", "vain", "other")
    )
    member._met, member._vain["vain"], member._vain["other"] = {"met"}, mode_search._ASKED, 3
    places = {WORKLOADS.index(FEW): PROBE, mode_search.RAMPS[0]: RAMP}
    for turn, data in places.items():
        asked.clear()
        member._vain["early"] = 0
        assert member._in_a_new_situation(rng(), OPERATOR, turn, turn) == FOUND
        told = [(pins["asked"], pins.get("kernel")) for pins in asked]
        assert told == [("early", 1), ("early", None), ("late", 1)] and member._vain["early"] == 1
        assert {pins[FILL] for pins in asked} == {data}
    asked.clear()
    monkeypatch.setattr(mode_search, "is_contradiction", lambda space, pins: True)
    assert member._in_a_new_situation(rng(), OPERATOR, 5, 5) is None and not asked
    assert member._vain["late"] == 1
    monkeypatch.setattr(mode_search, "is_contradiction", lambda space, pins: False)
    for name, value in (("drawn_case", lambda *_, **__: None), ("solve", lambda *_, **__: None)):
        monkeypatch.setattr(mode_search, name, value)
        assert member._in_a_new_situation(rng(), OPERATOR, 5, 5) is None
    monkeypatch.setattr(ModeSearch, "_is_affordable", lambda *_: False)
    assert member._in_a_new_situation(rng(), OPERATOR, 5, 5) is None


def test_features_and_work_that_do_not_go_together_are_remembered(
    asked: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing beside them was asked for; then it is any work."""
    member = search()
    member.__dict__["_missing"] = {"a": {"own": 1}}
    beside: dict[str, Any] = {}
    monkeypatch.setattr(mode_search, "deciding_values", lambda space, own, rng: dict(beside))
    assert member._dependent(rng(), "a", OPERATOR, 0, "few") == FOUND
    assert (asked[-1][WORKLOAD], asked[-1]["own"]) == ("few", 1)
    assert member._dependent(rng(), "a", OPERATOR, 0, "") == FOUND and asked[-1][WORKLOAD] == "any"
    work: list[str] = []

    def unsolved(space: Any, rng: Any, pins: dict[str, Any]) -> None:
        work.append(pins[WORKLOAD])

    monkeypatch.setattr(mode_search, "solve", unsolved)
    beside["other"] = 2
    assert member._dependent(rng(), "a", OPERATOR, 0, "few") is None
    assert work == ["few"] * mode_search._DRAWN and not member._unmade
    beside.clear()
    assert member._dependent(rng(), "a", OPERATOR, 0, "few") is None
    assert work[6:] == ["few", *["any"] * 5] and member._unmade == {("a", "few")}
    monkeypatch.setattr(mode_search, "is_contradiction", lambda space, pins: True)
    assert member._dependent(rng(), "a", OPERATOR, 0, "few") is None and len(work) == 12


@pytest.mark.parametrize("refused", ["_is_affordable", "may_matter"])
def test_cases_in_which_a_feature_cannot_matter_are_passed_over(
    asked: list[Any], monkeypatch: pytest.MonkeyPatch, refused: str
) -> None:
    member = search()
    member.__dict__["_missing"] = {"a": {"own": 1}}
    monkeypatch.setattr(mode_search, "deciding_values", lambda space, own, rng: {})
    owner: Any = ModeSearch if refused == "_is_affordable" else mode_search
    monkeypatch.setattr(owner, refused, lambda *_: False)
    assert member._dependent(rng(), "a", OPERATOR, 0, "few") is None
    assert len(asked) == mode_search._DRAWN


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
    drawn = [candidates(member, 7, 0, seed) for seed in range(20)]
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
    assert all(
        (pins["D"], pins["S"], "T" in pins) == (64, 513, False) for pins in candidates(member, 1, 2)
    )
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
