"""What a search asks for and when it gives up, with searches that find what a test says."""

from __future__ import annotations

import itertools
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from attndsl import ops
from attndsl.base.package_files import specs_dir
from attndsl.cli.mutate_command import USUAL_CASES
from attndsl.spec.operator.loader import load, shipped_names
from attndsl.verify.cases import mode_search
from attndsl.verify.cases.cases import Stream, spaces
from attndsl.verify.cases.demand import Demand
from attndsl.verify.cases.kernel_demands import demands
from attndsl.verify.cases.mode_search import ModeSearch, NoCaseFound
from attndsl.verify.cases.prompt_demands import of_prompts
from attndsl.verify.cases.wanted_kernel import FIRST, WantedKernel
from attndsl.verify.space.values import (
    ANY,
    FEW,
    FILL,
    GROUP,
    PROBE,
    RAMP,
    WIDE,
    WORKLOAD,
    WORKLOADS,
)
from tests.support.searches import FOUND, OPERATOR, rng, search, stub_searches

SHELF = sorted(str(each) for each in (specs_dir() / "variants").glob("*.py"))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The pins of each search for an assignment."""
    return stub_searches(monkeypatch)


# What a search begins with ---------------------------------------------------------------------------------


def test_a_search_begins_with_what_no_call_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tensors that no legal call has; what decides about kernels; wide rows where no size makes them."""
    found: dict[str, Any] = {}
    monkeypatch.setattr(
        mode_search, "solve", lambda space, rng, pins, walks: found.get(next(iter(pins)), pins)
    )
    monkeypatch.setattr(mode_search, "situations", lambda space: ("one",))
    monkeypatch.setattr(mode_search, "situations_of_kernels", lambda space: ("layout",))
    for kernels, wide in ((0, True), (1, False)):
        monkeypatch.setattr(mode_search, "may_be_wide", lambda space, variables, wide=wide: wide)
        member = search(of="incre_flash_attention", kernels=kernels)
        monkeypatch.setitem(member.space.operator.__dict__, "specialization_parameters", frozenset())
        found["given(pse_shift)"] = None
        member.prepare()
        assert member.excluded == ("pse_shift",) and member._never == {"given(pse_shift)": False}
        assert member._situations == (("one", "layout") if kernels else ("one",))
        assert member._hopeless == (set() if wide else {WIDE})
    heavy = {"given(attn_mask)", "dtype(query)", "layout(key)", "split(key)", "input_layout", GROUP, FILL}
    assert heavy | {member._head} <= member._heavy and not {"S", "B", "scale_value"} & member._heavy
    plain = search()
    found.clear()
    monkeypatch.setitem(OPERATOR.__dict__, "specialization_parameters", frozenset({"scale"}))
    plain.prepare()
    assert "scale" in plain._heavy and "D" in plain._heavy and "S" not in plain._heavy


def test_modes_have_the_kernels_that_are_theirs() -> None:
    operator = ops.self_attention
    modes = operator.modes[:2]
    kernels = [
        WantedKernel(name=str(n), mode=mode, pins={}, likely={}, sizes={}, takes=lambda call: True)
        for n, mode in enumerate(modes)
    ]
    members = Stream(operator, kernels=kernels).members
    assert [(each.space.operator.name, [k.name for k in each._wanted]) for each in members] == [
        (mode.name, [str(n)]) for n, mode in enumerate(modes)
    ]


@pytest.mark.parametrize(
    ("pins", "may"),
    [
        ({"D": 64}, True),
        ({"D": 16}, False),
        ({"given(mask)": False}, False),
        ({"given(mask)": True, "S": 3}, True),
        ({"scale": 2.0}, True),
    ],
)
def test_what_calls_of_a_kernel_may_have(pins: dict[str, Any], may: bool) -> None:
    """All but other values than those pinned, and other tensors than most of them pass."""
    own: dict[str, Any] = {"pins": {"D": 64}, "likely": {"given(mask)": True, "scale": 1.0}, "sizes": {}}
    kernel = WantedKernel(name="k", mode=OPERATOR, takes=lambda call: True, **own)
    assert mode_search._may_have(kernel, pins) is may


def test_the_first_cases_of_a_kernel_have_work_of_their_own() -> None:
    """Of rising scores less than several tiles is asked for at once."""
    member = search(kernels=1)
    assert [member._workload(turn, 0) for turn in range(3)] == [work for _, work in FIRST]
    assert [member._workload(1, attempt) for attempt in (0, 5, 10, 29)] == ["several many", "several", "", ""]
    assert member._workload(3, 0) == WORKLOADS[6]


def test_demands_are_made_in_turns_of_few_tasks_and_of_any_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each once, after the first cases, for ten attempts; those of prompts in turns of many tasks."""
    demands = [Demand(str(n), lambda rng: {}, lambda call: True, FEW) for n in range(4)]
    many = [Demand(str(n), lambda rng: {}, lambda call: True, FEW) for n in range(4, 7)]
    monkeypatch.setattr(mode_search, "demands", lambda space: demands)
    monkeypatch.setattr(mode_search, "of_prompts", lambda space: many)
    for kernels in (1, 2):
        member = search(kernels=kernels)
        found = {turn: demand for turn in range(60) if (demand := member._demand(turn))}
        works = {turn: WORKLOADS[member._place(turn)] for turn in range(3 * kernels, 60)}
        asking = [turn for turn, work in works.items() if work in (FEW, ANY)]
        crowded = [
            turn for turn, work in works.items() if work in ("many", "long many", "deep many", "deep long")
        ]
        for kernel in range(kernels):
            own = [turn for turn in asking if turn % kernels == kernel][:4]
            assert [found.pop(turn) for turn in own] == demands
            own = [turn for turn in crowded if turn % kernels == kernel][:3]
            assert [found.pop(turn) for turn in own] == many
        assert not found
    turn = asking[0]
    assert member._demand(turn, 9) and not member._demand(turn, 10)
    assert {WORKLOADS[member._place(turn)] for turn in asking} == {FEW, ANY}
    assert search()._demand(turn) is None


@pytest.mark.parametrize("of", [*shipped_names(), *SHELF])
def test_every_demand_has_its_turn_among_the_usual_cases_of_a_kernel(of: str) -> None:
    """A demand behind the last turn that asks is asked for by nobody: ``USUAL_CASES`` then become more."""
    member = search(of="incre_flash_attention", kernels=1)
    for space in spaces(load(of)):
        member.space = space
        turns = [member._demand(turn) for turn in range(USUAL_CASES)]
        asked = {each.name for each in turns if each is not None}
        assert asked == {each.name for each in (*demands(space), *of_prompts(space))}


def test_without_demands_of_prompts_turns_of_many_tasks_are_asked_for_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mode_search, "demands", lambda space: [])
    monkeypatch.setattr(mode_search, "of_prompts", lambda space: ())
    member = search(kernels=1)
    assert not [turn for turn in range(60) if member._demand(turn)]


def test_tasks_of_two_halves_are_asked_of_the_kernel_where_a_demand_has_them() -> None:
    asked: list[Any] = []
    own: dict[str, Any] = {"pins": {}, "likely": {}, "sizes": {}, "takes": lambda call: call != "other"}
    kernel = WantedKernel(
        name="k", mode=OPERATOR, has_halves=lambda call: asked.append(call) or call == "cut", **own
    )
    plain = Demand("plain", lambda rng: {}, lambda call: True)
    halved = replace(plain, halves=True)
    taken = mode_search.ModeSearch._is_for
    assert taken(kernel, "whole", plain) and taken(kernel, "whole", None) and not asked
    assert taken(kernel, "cut", halved) and not taken(kernel, "whole", halved)
    assert asked == ["cut", "whole"] and not taken(kernel, "other", plain)


def test_a_demand_has_other_values_beside_after_five_attempts() -> None:
    """They replace what most calls of a kernel have, and nothing that all have."""
    demand = Demand("d", lambda rng: {}, lambda call: True, beside=lambda level: {"S": level})
    beside = mode_search.ModeSearch._beside
    assert [beside(demand, attempt)["S"] for attempt in (0, 4, 5, 9)] == [0, 0, 1, 1]
    assert beside(None, 7) == {}


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
    with pytest.raises(NoCaseFound, match=r"no legal case of k0|search for cases of k0"):
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
    monkeypatch.setattr(mode_search, "of_prompts", lambda space: ())
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
        assert not member._unsettled
    assert member._looked_at == {"a": 2, "b": 2, "c": mode_search._LOOKED_AT + 1}


def test_features_without_a_legal_call_are_not_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor those seen. What contradicts itself, or asks for what no call passes, is not searched for."""
    member = search()
    member._seen, member._never = {"seen"}, {"given(x)": False}
    known = {
        "seen": {"a": 1},
        "never": {"given(x)": True},
        "no": {"b": 1},
        "none": {"c": 1},
        "some": {"d": 1},
    }
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
    settled: list[int] = []
    monkeypatch.setattr(member, "_settle", lambda: settled.append(1))
    assert overdue(member, monkeypatch, {"b"}, {"b"}) == (None, []) and settled, (
        "what cases have is found first"
    )


def test_situations_that_no_case_has_been_in_are_asked_for(
    asked: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those in vain least often, the first ones before others; with a known kernel, then with any. Those of a
    workload are asked for in its turns alone, before all others."""

    def situation(name: str, met: bool, first: bool = False, workload: str = "") -> Any:
        return SimpleNamespace(
            name=name,
            pins=lambda rng: {"asked": name},
            holds=lambda call: met,
            first=first,
            workload=workload,
        )

    member = search()
    monkeypatch.setattr(member, "_known_kernel", lambda rng: {"kernel": 1})
    member._situations = tuple(
        situation(name, name == "late", name == "early") for name in ("met", "early", "late", "vain", "other")
    )
    member._met, member._vain["vain"], member._vain["other"] = {"met"}, mode_search._ASKED, 3
    member._vain["met"] = -1
    places = {WORKLOADS.index(FEW): PROBE, mode_search.RAMPS[0]: RAMP}
    for turn, data in places.items():
        asked.clear()
        member._vain["early"] = 0
        assert member._in_a_new_situation(rng(), OPERATOR, turn, turn) == FOUND
        told = [(pins["asked"], pins.get("kernel")) for pins in asked]
        assert told == [("early", 1), ("early", None), ("late", 1)] and member._vain["early"] == 1
        assert {pins[FILL] for pins in asked} == {data}
    own, others = situation("own", met=True, workload=FEW), member._situations
    member._situations = (*others, own)
    for turn, wanted in ((WORKLOADS.index(FEW), True), (WORKLOADS.index(ANY), False)):
        asked.clear()
        assert member._in_a_new_situation(rng(), OPERATOR, turn, turn) == FOUND
        assert [pins["asked"] == "own" for pins in asked][:1] == [wanted]
        assert wanted or all(pins["asked"] != "own" for pins in asked)
    member._situations = others
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
    before = dict(
        member._vain.update(dict.fromkeys(("early", "late", "other"), mode_search._ASKED)) or member._vain
    )
    assert member._in_a_new_situation(rng(), OPERATOR, 5, 5) is None and member._vain == before


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
