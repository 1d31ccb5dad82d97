"""What the search for cases may cost: no arrays of billions, no walks where none can help, a quick look."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attndsl import ops
from attndsl.base.package_files import specs_dir
from attndsl.reference import run as reference
from attndsl.spec.binding.call import Call
from attndsl.spec.operator.loader import load
from attndsl.spec.operator.operator import Operator
from attndsl.verify.cases import effects, mode_search, other_calls
from attndsl.verify.cases.case import Case, drawn_case
from attndsl.verify.cases.cases import Stream, spaces
from attndsl.verify.cases.effects import effective_features
from attndsl.verify.cases.features import declared_features, possible_features
from attndsl.verify.cases.wanted_kernel import WantedKernel
from attndsl.verify.space.solve import is_contradiction, solve
from attndsl.verify.space.values import FILL, GROUP, WIDE, WORKLOAD
from tests.support.small_specs import DECODE_SCORES, decode_spec

PREFIX = spaces(ops.self_attention)[2]


@pytest.mark.parametrize("shape", [(7,), (3,), (2, 5), (4, 4, 5), (0, 3)])
def test_numbers_are_repeated_as_numpy_does(shape: tuple[int, ...]) -> None:
    array = np.arange(7.0)
    found = other_calls._again_and_again(array, shape)
    np.testing.assert_array_equal(found, np.resize(array, shape))


def decoding(batch: int, heads: int, keys: int, **more: Any) -> Call:
    rng = np.random.default_rng(0)
    query = rng.standard_normal((batch, heads, 1, 16)).astype(np.float16)
    key, value = (rng.standard_normal((batch, heads, keys, 16)).astype(np.float16) for _ in range(2))
    return ops.incre_flash_attention.bind(
        query, [key], [value], num_heads=heads, scale_value=0.25, input_layout="BNSD", **more
    )


@pytest.mark.parametrize(("most", "found"), [(1 << 23, True), (1 << 6, False)])
def test_a_layout_with_too_many_elements_is_none(
    monkeypatch: pytest.MonkeyPatch, most: int, found: bool
) -> None:
    """A mask by head of thousands of rows and columns has billions of elements."""
    call = decoding(2, 2, 40)
    spec = call.operator.tensor("pse_shift")
    monkeypatch.setattr(other_calls, "_MOST_ELEMENTS", most)
    passed = other_calls._with_some(call, spec)
    assert ("pse_shift" in passed.present) is found


@pytest.mark.parametrize(
    ("pins", "contradicts"),
    [
        ({"maskType": 0}, True),  # PREFIX_ENCODER needs a compressed mask
        ({"maskType": 3}, False),
        ({"isTriuMask": 0}, True),
        ({"isTriuMask": 1}, False),
    ],
)
def test_values_that_no_other_can_repair_need_no_walk(pins: dict[str, Any], contradicts: bool) -> None:
    assert is_contradiction(PREFIX, pins) is contradicts
    if contradicts:
        assert solve(PREFIX, np.random.default_rng(0), {**pins, WORKLOAD: "any"}, walks=1) is None


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """How many blocks of queries each run of the reference was asked for."""
    found: list[int | None] = []
    whole = effects._results

    def counted(call: Call, of: Call, tasks: int | None) -> Any:
        found.append(tasks)
        return whole(call, of, tasks)

    monkeypatch.setattr(effects, "_results", counted)
    return found


def test_a_quick_look_at_a_large_call_is_at_some_blocks(runs: list[int | None]) -> None:
    call = decoding(16, 16, 64, actual_seq_lengths=[40] * 16)
    assert effective_features(call, ["actual_seq_lengths"], quick=True) == {"actual_seq_lengths"}
    assert runs and None not in runs and max(filter(None, runs)) <= effects._SAMPLED


def test_a_quick_look_at_a_small_call_is_at_all_of_it(runs: list[int | None]) -> None:
    call = decoding(2, 2, 40, actual_seq_lengths=[30, 40])
    features = declared_features(call)
    quick = effective_features(call, features, quick=True)
    assert runs and set(runs) == {None}
    assert quick == effective_features(call, features)


def test_what_a_quick_look_cannot_tell_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Selections come from all blocks: of a large call nothing is told, of a small one all."""
    call = decoding(16, 16, 64, actual_seq_lengths=[40] * 16)
    monkeypatch.setattr(effects, "_can_sample", lambda call: False)
    assert not effective_features(call, ["actual_seq_lengths"], quick=True)
    assert effective_features(call, ["actual_seq_lengths"])


def test_a_case_with_a_tensor_too_large_is_refused_before_it_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (space,) = spaces(ops.incre_flash_attention)
    made: list[Case] = []
    outline = Case.outline

    def counted(self: Case) -> Call:
        made.append(self)
        return outline(self)

    monkeypatch.setattr(Case, "outline", counted)
    assignment = solve(space, np.random.default_rng(0), {WORKLOAD: "few", FILL: "normal"})
    assert assignment is not None
    rng = np.random.default_rng(1)
    drawn = drawn_case(space.operator, space, assignment, rng)
    assert drawn is not None and len(made) == 1
    case, call = drawn
    arrays = [*call.arrays.values(), *(each for entries in call.lists.values() for each in entries)]
    assert case.largest_tensor() == max(array.size for array in arrays)
    monkeypatch.setattr(Case, "largest_tensor", lambda self: space.values.most_elements + 1)
    assert drawn_case(space.operator, space, assignment, rng) is None and len(made) == 1


@pytest.fixture
def operator(tmp_path: Path) -> Operator:
    body = (DECODE_SCORES, 'op.output("out", attend.softmax(s) @ attend.rows(value), like=query)')
    return decode_spec(tmp_path, *body)


@pytest.mark.parametrize(("workload", "remembered"), [("long many", True), (WIDE, False)])
def test_a_workload_that_nothing_has_is_asked_for_in_one_turn(
    operator: Operator, monkeypatch: pytest.MonkeyPatch, workload: str, remembered: bool
) -> None:
    """Wide rows are asked for in two ways, of which one turn tries one."""
    asked: list[str] = []

    def some(space: Any, rng: np.random.Generator, pins: dict[str, Any], **how: Any) -> Any:
        asked.append(pins.get(WORKLOAD, ""))
        return None if pins.get(WORKLOAD) == workload else solve(space, rng, pins, **how)

    monkeypatch.setattr(mode_search, "solve", some)
    monkeypatch.setattr(mode_search, "WORKLOADS", (workload, "any"))
    (member,) = Stream(operator).members
    member.prepare()
    for turn in range(4):
        member.next(operator, turn, turn)
    tries = mode_search._PINNED * mode_search.CANDIDATES
    assert (asked.count(workload) == tries) is remembered and asked.count(workload) >= tries


class _Asked(Exception):
    """What a search asks for."""


@pytest.mark.parametrize(("turn", "rising"), [(1, True), (0, False)])
def test_rising_scores_of_a_kernel_are_asked_for_beyond_a_tile(
    monkeypatch: pytest.MonkeyPatch, turn: int, rising: bool
) -> None:
    """Of its second case, which begins with them."""

    def beyond(space: Any) -> Any:
        raise _Asked

    def solved(space: Any, rng: Any, pins: dict[str, Any], **how: Any) -> None:
        raise LookupError(pins[FILL])

    operator = load(specs_dir() / "variants" / "sigmoid.py")
    (space,) = spaces(operator)
    kernel = WantedKernel(
        name="kernel", mode=space.operator, pins={}, likely={}, sizes={}, takes=lambda call: True
    )
    member = Stream(operator, kernels=(kernel,)).members[0]
    member.prepare()
    monkeypatch.setattr(mode_search, "beyond_a_tile", beyond)
    monkeypatch.setattr(mode_search, "solve", solved)
    with pytest.raises(_Asked if rising else LookupError):
        member.next(operator, turn, turn)


def test_what_decides_about_a_kernel_weighs_more_in_a_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    """Presence, dtypes, layouts and choices, the head size, the group and the data; and wide rows are not
    asked for where no size makes them."""
    member = Stream(ops.incre_flash_attention).members[0]
    member.prepare()
    heavy = {"given(attn_mask)", "dtype(query)", "layout(key)", "split(key)", "input_layout", GROUP, FILL}
    assert heavy & member.space.variables.keys() | {member._head, GROUP, FILL} <= member._heavy
    assert not {"S", "B", "scale_value"} & member._heavy
    for may in (True, False):
        monkeypatch.setattr(mode_search, "may_be_wide", lambda space, variables, may=may: may)
        member = Stream(load(specs_dir() / "variants" / "sigmoid.py")).members[0]
        member.prepare()
        assert (WIDE in member._hopeless) is not may


def test_what_a_case_declares_is_looked_at_before_it_is_asked_for() -> None:
    """Of each case once; what matters in one is asked for no more."""
    member = Stream(ops.nsa_compress_attention).members[0]
    member.prepare()
    cases = [member.next(ops.nsa_compress_attention, turn, turn) for turn in range(2)]
    assert [case for case, _ in member._unsettled] == cases
    declared = [found for _, found in member._unsettled]
    assert declared == [frozenset(declared_features(case.call())) for case in cases]
    assert not member._seen
    member._settle()
    assert not member._unsettled and set() < member._seen <= set().union(*declared)


def test_a_feature_that_nothing_depends_on_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """No run of the reference is made for it, and it is asked for in few turns."""
    member = Stream(ops.incre_flash_attention).members[0]
    member.prepare()
    member._seen = set(possible_features(member.space)) - {"inner_precise=1"}
    ran: list[str] = []
    monkeypatch.setattr(reference, "run", lambda *arguments: ran.append("run"))
    for turn in range(20, 30):
        assert member._overdue(np.random.default_rng(turn), ops.incre_flash_attention, turn, turn) is None
    assert member._asked["inner_precise=1"] == mode_search._ASKED and not ran


@pytest.mark.parametrize(
    ("mode", "feature"),
    [(0, "cacheType=SWA"), (1, "logN"), (1, "slopes"), (2, "mask")],
)
def test_a_feature_that_mattered_in_no_case_gets_one_in_which_it_does(mode: int, feature: str) -> None:
    """A ring that a decoder reads; factors and slopes of prompts with several tokens; a mask by columns, as
    other compressed masks are computed from indices."""
    member = Stream(ops.self_attention).members[mode]
    member.prepare()
    member._seen = set(possible_features(member.space)) - {feature}
    turns = range(16, 16 + mode_search._ASKED)
    found = (member._overdue(np.random.default_rng(turn), ops.self_attention, turn, turn) for turn in turns)
    case = next(each for each in found if each is not None)
    assert effective_features(case.call(), [feature]) == {feature}


def test_a_search_that_finds_no_elements_names_their_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The spec may well be right: the search failed."""
    monkeypatch.setattr(mode_search, "_ATTEMPTS", 2)
    declared = (
        'lengths = op.lengths("lengths", "B", one_for_all=False)\n'
        'op.require(lengths[attend.BATCH] * lengths[attend.BATCH] == 7, "must be the root of 7",'
        ' over={attend.BATCH: B}, argument="lengths")'
    )
    keys = "attend.rows(key, length=lengths[b])"
    body = (
        f"s = attend.scores(query, {keys}) * 0.2",
        'out = attend.softmax(s) @ attend.rows(value, length=lengths[b])\nop.output("out", out, like=query)',
    )
    operator = decode_spec(tmp_path, *body, declared=declared)
    with pytest.raises(mode_search.NoCaseFound, match=r"search for cases of small_decode failed.*root of 7"):
        Stream(operator).take(1)


def test_calls_that_cannot_be_long_have_several_key_tiles() -> None:
    """Where queries are as many as keys, so many rows are too many tasks to be few."""
    words = ("long few", "several few", "several", "few", "")
    member = Stream(ops.relay_attention).members[0]
    assert tuple(member._workload(0, attempt) for attempt in range(0, 25, 5)) == words
    member._hopeless = {"long few", "several"}
    assert [member._workload(0, attempt) for attempt in (0, 5, 10, 29)] == ["several few", "few", "", ""]
