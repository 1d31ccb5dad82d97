"""A case is made anew from its seed; another number, attempt or value of a variable makes another one."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from attndsl import ops
from attndsl.spec.operator.loader import load
from attndsl.verify.cases import case as module
from attndsl.verify.cases import changed_case as module_of_changes
from attndsl.verify.cases.case import Case, drawn_case, head_variable, kernel_key, kernel_variables
from attndsl.verify.cases.changed_case import WrongChange, changed, smaller, with_changes, work_of_case
from attndsl.verify.cases.shaped_call import _USUAL, call_of_shape
from attndsl.verify.data.integers import Integers
from attndsl.verify.space.solve import solve
from attndsl.verify.space.values import FILL, GROUP, MASK, WARNED, WORKLOAD
from tests.support.case_spaces import space_of

SPACE = space_of("incre_flash_attention")
OPTIONAL = {f"given({name})": False for name in SPACE.optional}
PINS = {
    **OPTIONAL, "given(actual_seq_lengths)": True, "given(pse_shift)": True, "dtype(key)": "float16",
    "split(key)": False, "fill(actual_seq_lengths)": "mixed", "S": 257, "B": 3, "D": 16, FILL: "normal",
    "layout(query)": "BNSD", GROUP: 1, "inner_precise": 0, WORKLOAD: "any",
}  # fmt: skip


@pytest.fixture(scope="module")
def case() -> Case:
    rng = np.random.default_rng(3)
    pins = {name: value for name, value in PINS.items() if name in SPACE.variables}
    assignment = solve(SPACE, rng, pins)
    assert assignment is not None
    drawn = drawn_case(ops.incre_flash_attention, SPACE, assignment, rng, seed=5, number=7, attempt=2)
    assert drawn is not None
    return drawn[0]


def queries(case: Case) -> Any:
    return case.arguments()["query"]


def test_a_case_is_the_same_each_time(case: Case) -> None:
    assert (case.seed, case.number, case.attempt) == (5, 7, 2)
    assert (queries(case) == queries(replace(case))).all()
    for other in (replace(case, seed=6), replace(case, number=8), replace(case, attempt=3)):
        assert (queries(case) != queries(other)).any(), "its own numbers"


def test_a_case_tells_what_it_passes(case: Case) -> None:
    assert set(case.features) == {"actual_seq_lengths", "pse_shift"} and case.data == "normal"
    assert case.kernel[0] == "incre_flash_attention" and dict(case.kernel[1:])["given(pse_shift)"] is True
    call = case.call()
    assert call.present >= set(case.features)
    assert case.largest_tensor() == max(each.size for each in call.arrays.values())
    assert case.outline().extents == call.extents


def test_what_decides_a_kernel() -> None:
    """The main dtype, the head size, presence, and parameters that specialize; no batch size."""
    found = kernel_variables(SPACE)
    assert {"dtype(query)", "D", "given(attn_mask)", "given(block_table)"} <= set(found)
    assert SPACE.operator.specialization_parameters <= set(found)
    assert not {"B", "S", GROUP, FILL, WORKLOAD} & set(found) and head_variable(SPACE) == "D"
    assert kernel_key(SPACE, {"D": 16, "B": 3}) == (("D", 16),)
    latent = space_of("mla_decode")
    assert head_variable(latent) in ("", *latent.variables)


def test_no_case_has_a_tensor_larger_than_sizes_tell(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lengths may make one that follows from them larger; a call that is none is no case."""

    def drawn() -> Any:
        rng = np.random.default_rng(0)
        return drawn_case(ops.incre_flash_attention, SPACE, case.assignment, rng)

    assert drawn() is not None
    for largest, found in ((1 << 21, True), ((1 << 21) + 1, False)):
        monkeypatch.setattr(module.Case, "largest_tensor", lambda _, largest=largest: largest)
        assert (drawn() is not None) is found
    monkeypatch.undo()
    monkeypatch.setattr(module.Integers, "solve", lambda _: None)
    assert drawn() is None


# Changed cases ----------------------------------------------------------------------------------------------


def test_a_changed_case_keeps_what_fits(case: Case) -> None:
    """And is the same for the same changes; None where it is no legal call."""
    fewer = changed(case, {"B": 2})
    assert fewer is not None and fewer.assignment["B"] == 2 and fewer.assignment[WORKLOAD] == "any"
    own, now = case.integers["actual_seq_lengths"], fewer.integers["actual_seq_lengths"]
    assert now.tolist() == own[:2].tolist() and fewer.call().extents["B"] == 2
    again = changed(case, {"B": 2})
    assert again is not None and (queries(again) == queries(fewer)).all()
    assert changed(case, {GROUP: 3}) is None, "query heads are no such multiple"
    shorter = changed(case, {"S": 33})
    assert shorter is not None and shorter.integers["actual_seq_lengths"].max() <= 33


def test_new_elements_of_changed_cases_differ_by_case(case: Case) -> None:
    """Rows that a case has more of are drawn by its seed, number and attempt."""
    others = [replace(case, seed=6), replace(case, number=8), replace(case, attempt=3)]
    drawn = []
    for each in (case, *others):
        more = changed(each, {"B": 27})
        assert more is not None
        drawn.append(more.integers["actual_seq_lengths"].tolist())
        assert drawn[-1][:3] == case.integers["actual_seq_lengths"].tolist()
    assert len({tuple(each) for each in drawn}) == 4


def test_changes_are_named_as_texts(case: Case) -> None:
    found = with_changes(case, {"B": "2"})
    assert found.assignment["B"] == 2
    for texts, told in (
        ({"Bs": "2"}, "has no variable 'Bs'"),
        ({"B": "4"}, "'B' is never '4' in a case; it is one of 1, 2, 3"),
        ({GROUP: "3"}, "is no legal call"),
    ):
        with pytest.raises(WrongChange, match=told):
            with_changes(case, texts)
    assert with_changes(case, {"S": str(case.assignment["S"])}).assignment["S"] == case.assignment["S"]


def test_smaller_cases_change_one_thing_at_a_time(case: Case) -> None:
    """Plainer data, fewer tensors, smaller numbers; those that keep the kernel come first."""
    odd = replace(case, assignment={**case.assignment, FILL: "ramp", MASK: "causal", WARNED: True})
    found = list(smaller(odd, {}))
    values = {name: [each[name] for each in found if name in each] for name in odd.assignment}
    assert values[FILL] == ["normal"] * len(values[FILL]) and values[FILL]
    assert set(values[MASK]) <= {"random"} and set(values[WARNED]) <= {False}
    assert set(values["B"]) == {1, 2} and max(values["S"]) < 257 and 0 not in values["S"]
    assert values["given(pse_shift)"] and not any(values["given(pse_shift)"])
    assert "full" in values["fill(actual_seq_lengths)"]
    kernel = set(kernel_variables(SPACE))
    touched = [bool(kernel & each.keys()) for each in found]
    assert touched == sorted(touched) and True in touched and False in touched
    assert not any(each.get(f"given({name})") for each in found for name in SPACE.optional)
    plain = replace(odd, assignment={**odd.assignment, FILL: "normal", MASK: "random", WARNED: False})
    assert not any({FILL, MASK, WARNED} & each.keys() for each in smaller(plain, {}))


def test_a_repair_passes_no_tensor_that_the_case_did_not(case: Case) -> None:
    """And leaves none out that it did."""
    every = {f"given({name})": True for name in SPACE.optional}
    left_out = module_of_changes._kept_absent(case, every)
    assert left_out == {name: False for name in every if not case.assignment[name]}
    assert "given(actual_seq_lengths)" not in left_out and "given(attn_mask)" in left_out
    assert module_of_changes._kept_absent(case, dict.fromkeys(every, False)) == {}


def test_how_large_a_call_is(case: Case) -> None:
    call = case.call()
    sizes = call.extents
    scores = sizes["B"] * sizes["N"] * sizes["T"]
    assert work_of_case(call) == (scores + sum(a.size for a in call.arrays.values()), len(call.arrays))
    rows = np.zeros((1, 2, 5, 16), np.float16)
    listed = ops.incre_flash_attention.bind(
        np.zeros((2, 2, 1, 16), np.float16), key=[rows] * 2, value=[rows] * 2, num_heads=2,
        num_key_value_heads=2, input_layout="BNSD",
    )  # fmt: skip
    assert work_of_case(listed) == (2 * 2 * 5 + 4 * rows.size + 64, 3)


# Calls of usual sizes ---------------------------------------------------------------------------------------


def test_usual_sizes() -> None:
    """What shapes leave open, the most usual first."""
    assert _USUAL == {
        "B": (1,), "K": (8, 4, 2, 1), "N": (32, 16, 8, 64), "Q": (128, 1, 1024),
        "T": (4096, 2048, 1024, 512), "D": (128, 64, 256), "E": (128, 64, 256), "P": (128, 256, 64, 32),
        "R": (128, 64), "W": (32, 16), "Y": (1, 2, 4),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("sigmoid", {"B": 1, "N": 32, "K": 8, "T": 4096, "D": 128}),
        ("documents", {"N": 32, "K": 8, "D": 128}),
        ("sinks", {"B": 1, "N": 32, "K": 8, "D": 128}),
    ],
)
def test_calls_of_no_stated_size_have_usual_ones(name: str, sizes: dict[str, int]) -> None:
    """Full rows of normal numbers."""
    call = call_of_shape(load(f"specs/variants/{name}.py"), {})
    found = {axis: call.extents[axis] for axis in sizes}
    assert {axis: found[axis] for axis in sizes if axis != "T"} == {
        a: s for a, s in sizes.items() if a != "T"
    }
    assert call.extents["T"] in {*_USUAL["T"], *_USUAL["Q"]}


def test_integers_of_cases_are_searched_anew_where_nothing_is_known() -> None:
    rng = np.random.default_rng(0)
    assignment = solve(
        SPACE, rng, {WORKLOAD: "any", **{k: v for k, v in PINS.items() if k in SPACE.variables}}
    )
    assert assignment is not None
    one, two = (Integers(SPACE, assignment, np.random.default_rng(seed)).solve() for seed in (1, 2))
    assert one is not None and two is not None
    assert one["actual_seq_lengths"].tolist() != two["actual_seq_lengths"].tolist()


@pytest.mark.parametrize(("name", "free"), [("S", {"length"}), ("layout", {"S", "length", "D"})])
def test_what_does_not_go_with_a_change_is_repaired_within_the_kernel(
    monkeypatch: pytest.MonkeyPatch, name: str, free: set[str]
) -> None:
    """Variables of the kernel are free only beside a change of one; what a stream asks for never is."""
    now: dict[str, Any] = {"S": 9, "layout": "BNSD", "D": 16, "length": 5, "idle": 1, WORKLOAD: "any"}
    broken = SimpleNamespace(variables=("S", "layout", "D", "length", WORKLOAD))
    given_space = SimpleNamespace(environment=dict, violated=lambda env: [broken], optional=())
    of_it: Any = SimpleNamespace(space=given_space, seed=0, number=0, attempt=0)
    pinned: dict[str, Any] = {}

    def solved(space: Any, rng: Any, pins: dict[str, Any], walks: int) -> None:
        pinned.update(pins)

    monkeypatch.setattr(module_of_changes, "solve", solved)
    assert module_of_changes._repaired(of_it, now, name, "other", {"layout", "D"}) is None
    assert now.keys() - pinned.keys() == free and pinned[name] == "other"


def test_changes_may_name_what_the_case_has_though_a_search_never_draws_it(case: Case) -> None:
    odd = replace(case, assignment={**case.assignment, "S": 256})
    assert 256 not in SPACE.variables["S"]
    found = with_changes(odd, {"S": "256", "B": "2"})
    assert (found.assignment["S"], found.assignment["B"]) == (256, 2)


def test_a_change_without_legal_elements_is_none(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module_of_changes.Integers, "solve", lambda _: None)
    assert changed(case, {"B": 2}) is None
