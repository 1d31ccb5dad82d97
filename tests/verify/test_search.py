"""The search for assignments, step by step: what it may change, what it prefers, when it gives up."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from attndsl.verify.cases.cases import spaces
from attndsl.verify.space import solve as module
from attndsl.verify.space.clauses import Clause, measured
from attndsl.verify.space.solve import NoValue, is_contradiction, nearest, solve
from attndsl.verify.space.space import CaseSpace
from attndsl.verify.space.values import FILL, GROUP, MASK, WARNED, WORKLOAD, fill_of
from tests.support.case_spaces import space_of
from tests.support.small_specs import DECODE_RESULT, DECODE_SCORES, decode_spec


def incre() -> CaseSpace:
    return space_of("incre_flash_attention")


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@cache
def legal() -> Mapping[str, Any]:
    found = solve(incre(), rng(), {WORKLOAD: "any", "given(block_table)": False})
    assert found is not None
    return found


# Steps ------------------------------------------------------------------------------------------------------


def repaired(clause: Clause, pinned: Mapping[str, Any], seed: int) -> tuple[dict[str, Any], module._State]:
    """The assignment and the state after a repair of one clause."""
    space, assignment = incre(), dict(legal())
    env = space.environment(assignment)
    state = module._State(env, space.violated(env))
    after = module._repaired(space, rng(seed), assignment, state, clause, pinned)
    return assignment, after


def test_a_repair_changes_one_variable_of_the_clause() -> None:
    """To a value with which it holds, most of the time; sometimes to any. None that is pinned."""
    clause = Clause("many rows", ("B", "S"), lambda env: env["B"] > 5)
    met = 0
    for seed in range(40):
        now, after = repaired(clause, {}, seed)
        changed = {name for name in now if now[name] != legal()[name]}
        assert len(changed) <= 1 and changed <= {"B", "S"}
        assert after.env == incre().environment(now)
        assert [each.name for each in after.broken] == [each.name for each in incre().violated(after.env)]
        met += now["B"] > 5
    assert met > 25
    kept, state = repaired(clause, {"B": 1, "S": 1}, 0)
    assert kept == legal() and not state.broken
    assert {repaired(clause, {"B": legal()["B"]}, seed)[0]["B"] for seed in range(9)} == {legal()["B"]}


def test_a_repair_may_only_come_nearer() -> None:
    """Where the clause tells how far it is off."""
    far = measured("far", ("S",), lambda env: 100_000 - env["S"])
    sizes = [repaired(far, {}, seed)[0]["S"] for seed in range(30)]
    assert sum(size > legal()["S"] for size in sizes) > 15
    never = Clause("never", ("S",), lambda env: False)
    changed = sum(repaired(never, {}, seed)[0]["S"] != legal()["S"] for seed in range(30))
    assert 0 < changed < 12, "but for noise nothing helps"


def test_what_breaks_fewest_clauses_is_preferred() -> None:
    space = incre()
    good = space.environment(legal())
    bad = space.environment({**legal(), GROUP: 136, "B": 3})
    worse = space.environment({**legal(), GROUP: 136, WORKLOAD: "long few", "S": 1})
    counts = [len(space.violated(each)) for each in (good, bad, worse)]
    assert counts[0] == 0 < counts[1] < counts[2]
    for order, best in (
        ((bad, good), 1),
        ((worse, bad), 1),
        ((good, bad), 0),
        ((bad, bad), 0),
        ((worse, worse, bad), 2),
        ((good, good), 0),
        ((worse, bad, good), 2),
    ):
        picked, broken = module._least_broken(space, list(order))
        assert picked == best and [c.name for c in broken] == [c.name for c in space.violated(order[best])]


def test_what_must_be_passed_is_and_layouts_are_those_that_apply() -> None:
    """Unless they are pinned."""
    space = incre()
    pages = {**legal(), "given(block_table)": True, "given(actual_seq_lengths)": False, "split(key)": False}
    for pinned, forced in (({}, True), ({"given(actual_seq_lengths)": False}, False)):
        now = dict(pages)
        env = module._propagated(space, rng(), now, space.environment(now), pinned)
        assert now["given(actual_seq_lengths)"] is forced
        assert env == space.environment(now)
        broken = {each.name for each in space.violated(env)}
        assert "layout of key" not in broken and "layout of value" not in broken
    other = next(key for key in space.variables["layout(key)"] if "paged" not in key)
    now = {**pages, "layout(key)": other}
    module._propagated(space, rng(), now, space.environment(now), {"layout(key)": other})
    assert now["layout(key)"] == other


def test_optional_tensors_are_passed_less_often_than_not() -> None:
    drawn = [module._draw("given(x)", (False, True), rng(seed)) for seed in range(200)]
    assert 60 < sum(drawn) < 100 and set(map(type, drawn)) == {bool}
    assert {module._draw("x", (1, 2, 3), rng(seed)) for seed in range(30)} == {1, 2, 3}


# Results ----------------------------------------------------------------------------------------------------


def test_values_that_only_they_can_repair_contradict_each_other() -> None:
    space = incre()
    assert is_contradiction(space, {"given(dequant_scale1)": True})
    assert not is_contradiction(space, {"given(dequant_scale1)": False})
    assert not is_contradiction(space, {"given(quant_offset2)": True}), "another variable makes it legal"
    assert not is_contradiction(space, {})


def test_the_nearest_assignment_breaks_fewest_clauses() -> None:
    space = incre()
    found, broken = nearest(space, rng(), {"given(dequant_scale1)": True, WORKLOAD: "any"})
    assert found["given(dequant_scale1)"] is True and len(broken) == 1
    names = {each.name for each in space.violated(space.environment(found))}
    assert {each.name for each in broken} == names
    assert solve(space, rng(), {"given(dequant_scale1)": True, WORKLOAD: "any"}) is None


def test_a_size_without_any_value_is_told(tmp_path: Path) -> None:
    rule = 'op.require(B > 1000, "many")'
    (space,) = spaces(decode_spec(tmp_path, rule, DECODE_SCORES, DECODE_RESULT))
    with pytest.raises(NoValue, match="no value of 'B' keeps its constraints"):
        solve(space, rng(), {})


def test_drawn_assignments_have_every_variable_with_one_of_its_values() -> None:
    space = incre()
    for seed in range(4):
        found = solve(space, rng(seed), {"B": 3, WORKLOAD: "any"})
        assert found is not None and found.keys() == space.variables.keys() and found["B"] == 3
        assert all(value in space.variables[name] for name, value in found.items())
        assert not space.violated(space.environment(found))


# What an assignment means -----------------------------------------------------------------------------------


def test_variables_of_absent_tensors_and_sizes_that_none_shows_mean_nothing() -> None:
    space = incre()
    base = {**legal(), "given(block_table)": False, "given(pse_shift)": False}
    kept = space.canonical(base)
    assert "given(block_table)" in kept and kept["B"] == base["B"] and kept[FILL] == base[FILL]
    assert kept[MASK] == base[MASK] and WARNED in kept and "layout(query)" in kept
    shown = {name for spec in space.present(space.environment(base)) for layout in spec.layouts.values()
             for size in layout.shape() for name in size.symbols()}  # fmt: skip
    assert {name for name in space.dims if name in kept} <= shown | {"N"}
    pages = str(space.operator.axis_extents["P"])
    assert pages in base and pages not in kept
    assert not [
        name for name in kept if name.endswith(("(pse_shift)", "(block_table)")) and "given" not in name
    ]


def test_the_variables_behind_a_size() -> None:
    """A size that follows from others stands for what defines it."""
    prompt = space_of("self_attention_pa_encoder")
    assert prompt.repairs(["batch"]) == ("batch",)
    assert "longest(seqLen)" in prompt.repairs([str(prompt.operator.axis_extents["Q"])])
    assert prompt.repairs(["unknown"]) == ()
    tokens = prompt.repairs(["nTokens"])
    assert set(tokens) >= {"longest(seqLen)"} or "nTokens" in tokens


def test_a_list_needs_a_layout_with_rows_of_batch_rows() -> None:
    space = incre()
    rule = next(each for each in space.clauses if each.name == "rows of a list of key")
    for layout in space.variables["layout(key)"]:
        dense = "paged" not in layout
        assert rule.holds({"split(key)": True, "layout(key)": layout}) is dense
        assert rule.holds({"split(key)": False, "layout(key)": layout})


@pytest.mark.parametrize(("passed", "holds"), [(True, False), (False, True)])
def test_the_layout_of_a_tensor_that_is_passed_applies(passed: bool, holds: bool) -> None:
    space = incre()
    rule = next(each for each in space.clauses if each.name == "layout of query")
    names = space.variables["input_layout"]
    fits = [
        layout
        for layout in space.variables["layout(query)"]
        if rule.holds({"given(query)": True, "layout(query)": layout, "input_layout": names[0]})
    ]
    assert len(fits) == 1
    other = next(each for each in space.variables["layout(query)"] if each not in fits)
    assert rule.holds({"given(query)": passed, "layout(query)": other, "input_layout": names[0]}) is holds


def test_every_size_is_shown_by_sizes_and_presence() -> None:
    """Passing a tensor repairs a size that none shows."""
    space = incre()
    rule = next(each for each in space.clauses if each.name == "every size is shown")
    assert {f"given({name})" for name in space.optional} <= set(rule.variables)
    group = next(each for each in space.clauses if each.name == "group")
    assert GROUP in group.variables and "num_heads" in group.variables


def test_on_which_variables_little_rests() -> None:
    """An environment with another value of one of these is not made anew: extents follow alone."""
    space = space_of("relay_attention")
    fills = {fill_of(spec.name) for spec in space.integers}
    sizes = {"B", "BS", "D", "headNum", "kvHeadNum"}
    others = {GROUP, WORKLOAD, WARNED, "maskType", "qkScale", *fills}
    found = space._resting
    assert found.keys() >= sizes | others and not {"S1", "S2", FILL, MASK} & found.keys()
    axes = {name: {role for role, _ in found[name].axes} for name in sizes}
    assert axes == {"B": {"B"}, "BS": {"G"}, "D": {"D", "E"}, "headNum": {"N", "K"}, "kvHeadNum": {"K"}}
    assert not any(found[name].axes or found[name].sizes or found[name].integers for name in others)
    assert {name for name, each in found.items() if each.integers} == {"B", "BS"}


def test_what_a_mask_compares_a_number_with_is_drawn_more_often(tmp_path: Path) -> None:
    """As what chooses between computations: a window of 0 that is none."""
    declared = (
        'window = op.param("window", int, default=0, ge=0)\nother = op.param("other", int, default=0, ge=0)'
    )
    body = f"{DECODE_SCORES}; s = s.where((window == 0) | (j >= window + other))"
    (space,) = spaces(decode_spec(tmp_path, body, DECODE_RESULT, declared=declared))
    windows, others = space.variables["window"], space.variables["other"]
    assert windows.count(0) > 1 == others.count(0) and {windows.count(each) for each in windows if each} == {
        1
    }


def test_a_condition_on_what_is_not_there_does_not_hold() -> None:
    def asked(env: dict[str, Any]) -> bool:
        return bool(env["length"] > 3)

    assert module._true(asked, {"length": 4})  # type: ignore[arg-type]
    assert not module._true(asked, {"length": 3}) and not module._true(asked, {})  # type: ignore[arg-type]


# What a search does not do twice ----------------------------------------------------------------------------


def test_an_environment_is_made_anew_where_something_has_changed() -> None:
    """Not where nothing is forced and layouts apply, nor by a repair that leaves the value as it is."""
    space, now = incre(), dict(legal())
    env = space.environment(now)
    assert module._propagated(space, rng(), now, env, {}) is env and now == legal()
    now |= {"given(block_table)": True, "given(actual_seq_lengths)": False}
    layouts = {name: value for name, value in now.items() if name.startswith("layout(")}
    env = module._propagated(space, rng(), now, space.environment(now), layouts)
    assert now["given(actual_seq_lengths)"] is True and env == space.environment(now)


@pytest.mark.parametrize("clause", ["one value", "pinned", "never"])
def test_a_repair_that_changes_nothing_leaves_the_state(monkeypatch: pytest.MonkeyPatch, clause: str) -> None:
    space, now = incre(), dict(legal())
    state = module._State(space.environment(now), [])
    if clause == "one value":
        monkeypatch.setattr(module, "_NOISE", 1.0)
        monkeypatch.setattr(module, "_draw", lambda name, values, rng: now[name])
    else:
        monkeypatch.setattr(module, "_NOISE", 0.0)
    rule = Clause("never", ("S", "B"), lambda env: False)
    pinned = {"S": 1, "B": 1} if clause == "pinned" else {}
    assert module._repaired(space, rng(), now, state, rule, pinned) is state and now == legal()


def walk(monkeypatch: pytest.MonkeyPatch, broken: list[int], propagated: bool = False) -> tuple[Any, int]:
    """What a search finds whose steps break so many clauses, and how often it looked for these itself."""
    steps, looked = iter(broken), list[int]()
    rules = [Clause(str(number), ("a",), lambda env: False) for number in range(9)]

    def violated(env: Any) -> list[Clause]:
        looked.append(1)
        return rules[: next(steps)]

    def repaired(space: Any, rng: Any, assignment: Any, *_: Any) -> module._State:
        assignment["a"] += 1
        return module._State({"at": assignment["a"]}, rules[: next(steps)])

    def environment(space: Any, rng: Any, assignment: Any, env: Any, pinned: Any) -> Any:
        return dict(env) if propagated else env

    monkeypatch.setattr(module, "_repaired", repaired)
    monkeypatch.setattr(module, "_propagated", environment)
    space: Any = SimpleNamespace(variables={"a": (0,)}, environment=dict, violated=violated)
    monkeypatch.setattr(module, "_STEPS", 5)
    return nearest(space, rng(), {}, walks=1), len(looked)


def test_the_best_step_of_a_walk_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first of those that break fewest clauses; none is looked at beyond one that breaks none."""
    (found, broken), looked = walk(monkeypatch, [4, 2, 3, 2, 5, 1])
    assert (found, len(broken), looked) == ({"a": 1}, 2, 1)
    (found, broken), _ = walk(monkeypatch, [4, 2, 0, 1, 1, 1])
    assert (found, broken) == ({"a": 2}, ())


def test_clauses_are_asked_again_where_more_than_the_repair_has_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (found, broken), looked = walk(monkeypatch, [4, 2, 3, 2, 0, 9], propagated=True)
    assert (found, len(broken), looked) == ({"a": 2}, 0, 3)


def test_a_clause_that_tells_how_far_it_is_off_is_not_broken_further() -> None:
    """What comes no nearer is no help, unless the clause holds with it."""
    space, now = incre(), dict(legal())
    env = space.environment(now)
    sizes = space.variables["S"]
    far = measured("far", ("S",), lambda env: abs(env["S"] - 100_000))
    near = measured("near", ("S",), lambda env: 0 if env["S"] in (1, now["S"]) else env["S"], most=3)
    for clause, wanted in (
        (far, {size for size in sizes if size > now["S"]}),
        (near, {size for size in sizes if size <= 3 and size != now["S"]}),
        (Clause("some", ("S",), lambda env: env["S"] > 4000), {size for size in sizes if size > 4000}),
    ):
        found = {
            value
            for seed in range(9)
            for _, value, _ in module._helping(space, rng(seed), now, env, clause, ["S"])
        }
        assert found == wanted - {now["S"]}, clause.name
