"""The parts that searches for cases are made of, each on its own: what follows from what, what a clause asks,
which work a case is, when one result is another."""

from __future__ import annotations

import collections
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from attndsl import ops
from attndsl.base.package_files import specs_dir
from attndsl.expr import Load, Symbol
from attndsl.expr.argument_facts import DTYPE, GIVEN, LAYOUT, given, kind_of, longest_of, split_of
from attndsl.spec import errors
from attndsl.spec.contract.arguments import Dim, ParamSpec
from attndsl.spec.contract.constraint import Constraint
from attndsl.spec.operator.loader import load
from attndsl.verify.cases.cases import Stream, spaces
from attndsl.verify.cases.effects import _is_another
from attndsl.verify.cases.features import Work
from attndsl.verify.cases.mode_search import allowance
from attndsl.verify.cases.other_calls import _changed
from attndsl.verify.space.clauses import keeps, taken_apart
from attndsl.verify.space.derived_variables import forced_presence
from attndsl.verify.space.resting_variables import RestingOn, resting_on
from attndsl.verify.space.solve import nearest, solve
from attndsl.verify.space.space import CaseSpace
from attndsl.verify.space.values import (
    EDGE,
    FILL,
    FILLS,
    LENGTH_FILLS,
    LONG_FILLS,
    MASK_FILLS,
    MULTIPLES,
    PROBE,
    RAMP,
    RAMPS,
    SLACK,
    WARNED,
    WORKLOAD,
    WORKLOADS,
    Values,
    longest_keys_of,
)
from attndsl.verify.space.work_clauses import WorkClauses, most_splits
from tests.support.right_specs import PACKED, changed

SPACES = {
    space.operator.name: space
    for name in ("relay_attention", "incre_flash_attention", "nsa_compress_attention", "self_attention")
    for space in spaces(getattr(ops, name))
}

# What follows from what -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "exact", "bounded", "always"),
    [
        ("relay_attention", "", "", ""),
        ("incre_flash_attention", "", "", ""),
        ("nsa_compress_attention", "head_num", "", "T1 T2"),
        ("self_attention", "", "maskRows maskCols maxLogN", ""),
        ("self_attention_pa_encoder", "", "maskRows maskCols maxLogN", ""),
        ("self_attention_prefix_encoder", "", "maskRows maskCols", "nTokens"),
    ],
)
def test_sizes_that_follow_from_lengths_are_not_chosen(
    name: str, exact: str, bounded: str, always: str
) -> None:
    """Tokens are the sum of lengths, or the last prefix sum; masks have at least a row for the longest."""
    derived, variables = SPACES[name].derived, SPACES[name].variables
    assert derived.exact == set(exact.split()) and derived.bounded == set(bounded.split())
    assert derived.always == set(always.split())
    assert not {*exact.split(), *always.split()} & variables.keys()
    assert all(variables[each] == SLACK for each in bounded.split())


def test_tokens_are_the_sum_of_lengths_where_queries_are_packed() -> None:
    derived = SPACES["self_attention"].derived
    shown = frozenset({"nTokens", "maskRows"})
    known = {"seqLen": np.array([3, 4]), "batch": 2, "given(attentionMask)": True, "calcType": 1}
    known |= {"layout(attentionMask)": "square", "layout(query)": "packed", "maskType": 1, "inputLayout": 0}
    packed = dict(known)
    derived.apply(packed, shown, {"maskRows": 5})
    assert packed["nTokens"] == 7 and packed["maskRows"] == 4 + 5
    padded = {**known, "layout(query)": "padded"}
    derived.apply(padded, shown, {"maskRows": 0})
    assert "nTokens" not in padded and padded["maskRows"] == 4
    hidden = dict(known)
    derived.apply(hidden, frozenset({"nTokens"}), {"maskRows": 5})
    assert "maskRows" not in hidden


def test_disabled_arguments_are_forbidden_and_needed_ones_demanded() -> None:
    forced = collections.defaultdict(set)
    for when, name, wanted in SPACES["incre_flash_attention"].forced:
        forced[name].add((wanted, when is None))
    for name in ("dequant_scale1", "quant_scale1", "dequant_scale2"):
        assert forced.pop(f"given({name})") == {(False, True)}
    assert forced == {
        f"given({name})": {(True, False)}
        for name in ("actual_seq_lengths", "antiquant_scale", "quant_scale2")
    }


def test_what_a_choice_needs_is_passed_with_it_and_never_without() -> None:
    when = {
        (name, wanted): condition
        for condition, name, wanted in SPACES["self_attention_pa_encoder"].forced
        if condition is not None
    }
    env = {"maskType": 0, "mlaVHeadSize": 0, "quantType": 0, "scaleType": 1}
    assert when["given(logN)", True](env) and not when["given(logN)", False](env)
    assert when["given(mask)", False](env) and not when["given(mask)", True](env)
    assert when["given(qkDescale)", False](env) and not when["given(qkDescale)", True](env)
    assert when["given(qkDescale)", True]({**env, "quantType": 2})


# Clauses ----------------------------------------------------------------------------------------------------

A, B = Symbol("A"), Symbol("B")


def rule(**more: Any) -> Constraint:
    return Constraint(**{"condition": (A % 4 == 0) & (B > 1), "text": "is so", **more})


def test_a_condition_is_taken_apart() -> None:
    parts = [each.condition for each in taken_apart(rule(when=A > 2))]
    assert [str(each) for each in parts] == [str(A % 4 == 0), str(B > 1)]
    assert all(str(each.when) == str(A > 2) for each in taken_apart(rule(when=A > 2)))
    assert len(taken_apart(rule(condition=A > 0))) == 1


@pytest.mark.parametrize(
    ("more", "env", "wanted"),
    [
        ({}, {"A": 4, "B": 2}, True),
        ({}, {"A": 4, "B": 1}, False),
        ({}, {"A": 5, "B": 2}, False),
        ({}, {"A": 4}, True),  # over what is absent
        ({"when": A > 2}, {"A": 1, "B": 0}, True),  # not asked
        ({"when": A > 2}, {"A": 3, "B": 0}, False),
        ({"when": A > 2}, {"A": 4, "B": 2}, True),
        ({"condition": B % A == 0}, {"A": 0, "B": 2}, False),  # of a size that is 0
        ({"condition": B % A == 0, "when": B > 1}, {"A": 0, "B": 2}, False),
        ({"error": errors.ContractWarning}, {"A": 5, "B": 2, WARNED: True}, True),
        ({"error": errors.ContractWarning}, {"A": 5, "B": 2, WARNED: False}, False),
        ({"error": errors.ContractWarning, "when": A > 9}, {"A": 5, "B": 2, WARNED: False}, True),
    ],
)
def test_when_a_constraint_is_kept(more: dict[str, Any], env: dict[str, Any], wanted: bool) -> None:
    assert keeps(rule(**more))(env) is wanted


def test_a_search_leaves_what_is_pinned_and_gives_up_what_is_illegal() -> None:
    space, rng = SPACES["relay_attention"], np.random.default_rng(0)
    found = solve(space, rng, {"D": 100, "B": 13, WORKLOAD: "any"})
    assert found is not None and found["D"] == 100 and found["B"] == 13
    assert found.keys() == space.variables.keys()
    assert not space.violated(space.environment(found))
    assert solve(space, rng, {"maskType": 1, WORKLOAD: "any"}) is None
    _, broken = nearest(space, rng, {"maskType": 1, WORKLOAD: "any"})
    assert broken and all("MASK_TYPE_UNDEFINED" in each.name for each in broken)


# The work of a case -----------------------------------------------------------------------------------------

WORK = Work(keys=2000, tiles=4, least_tiles=2, ring=4, tasks=12, cores=24, reach=65535, pitch=65535)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, "several few"),
        ({"tiles": 5}, "several few long"),
        ({"tiles": 5, "least_tiles": 1}, "few"),
        ({"least_tiles": 1}, "few"),
        ({"tasks": 13}, "several"),
        ({"tasks": 0}, "several"),
        ({"tasks": 47}, "several"),
        ({"tasks": 48}, "several many"),
        ({"tasks": 48, "tiles": 5}, "several many long"),
        ({"deep": True}, "several few deep"),
        ({"edge": True}, "several few edge"),
        ({"pitch": 65536}, "several few wide"),
        ({"pitch": 65536, "keys": 1}, "several few"),
    ],
)
def test_which_workload_a_case_is(change: dict[str, Any], words: str) -> None:
    work = replace(WORK, **change)
    every = ("few", "several", "long", "many", "deep", "wide", "edge")
    assert {each for each in every if work.keeps(each)} == set(words.split())
    assert work.keeps("any") and work.keeps("") and work.keeps(words)
    assert not work.keeps(" ".join(every))


@pytest.mark.parametrize(
    ("change", "split"),
    [({}, True), ({"tiles": 1}, False), ({"tasks": 13}, False), ({"splits": False}, False)],
)
def test_keys_of_few_tasks_are_split(change: dict[str, Any], split: bool) -> None:
    assert replace(WORK, **change).split is split


@pytest.mark.parametrize(
    ("tasks", "cores", "parts"), [(0, 24, 24), (1, 24, 24), (5, 24, 4), (24, 24, 1), (99, 24, 1)]
)
def test_keys_are_cut_into_a_part_for_each_core(tasks: int, cores: int, parts: int) -> None:
    assert most_splits(tasks, cores) == parts


def test_each_kind_of_work_comes_up_as_often_as_it_is_asked_for() -> None:
    """More than a third each of long, scarce and plentiful work; deep and wide rows in some."""
    words = collections.Counter(word for each in WORKLOADS for word in set(each.split()))
    assert all(3 * words[each] > len(WORKLOADS) for each in ("long", "few", "many"))
    assert words["wide"] >= 1 and words["deep"] >= 2 and words["any"] == 1
    assert WORKLOADS.index(EDGE) < 8, "each of three modes has rows of one tile among the first 24 cases"
    assert "deep long" in WORKLOADS and "long few" in WORKLOADS and "long many" in WORKLOADS


def test_scores_rise_or_fall_along_split_keys_in_some_cases() -> None:
    """Of one kernel alone, too, whose cases skip every other kind of work."""
    assert {WORKLOADS[place] for place in RAMPS} == {"long few"}
    stream = Stream(ops.relay_attention, seed=5)
    member = stream.members[0]
    rng = np.random.default_rng(0)
    drawn = [member._fill(rng, turn) for turn in range(200)]
    ramps = [turn for turn, each in enumerate(drawn) if each == {FILL: RAMP}]
    assert ramps[:4] == [3, 5, 16, 18]
    probes = sum(each == {FILL: PROBE} for each in drawn)
    assert 50 <= probes <= 80 and {} in drawn


def test_kinds_of_lengths_and_masks_that_are_drawn() -> None:
    assert set(LENGTH_FILLS) == {"mixed", "edges", "gaps", "full", "single", "zero", "one"}
    assert {"mixed", "edges", "gaps", "full"} == LONG_FILLS
    assert set(MASK_FILLS) >= {"random", "causal", "rows", "none", "last", "all"}
    assert set(SLACK) == {0, 1, 3, 17} and len(FILLS) == 7
    often = {kind: LENGTH_FILLS.count(kind) for kind in set(LENGTH_FILLS)}
    assert often == {"mixed": 3, "edges": 3, "gaps": 1, "full": 1, "single": 1, "zero": 1, "one": 1}


def test_keys_lie_around_tiles_rings_and_pages() -> None:
    keys = set(Values().of_role("T", 512, 4))
    assert {0, 1, 2, 15, 17, 33, 511, 512, 513, 1025, 2047, 2049, 3077, 4095, 4096, 8192} <= keys
    assert set(Values().of_role("U", 512, 4)) == keys
    assert {63, 64, 65, 127, 128, 129} <= set(Values().of_role("Q", 512, 4))
    assert {1, 16, 40, 64, 80, 100, 128, 256, 512} == set(Values().of_role("D", 512, 4))
    heads = Values().of_role("N", 512, 4)
    assert heads == tuple(sorted(heads)) and max(heads) == 1088 and 136 in heads
    assert Values().of_role("?", 512, 4) == Values().other


def test_kernels_grow_slower_than_cases() -> None:
    assert [allowance(turn) for turn in (0, 2, 3, 30)] == [12, 12, 13, 22]


# Another result ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("own", "found", "another"),
    [
        (1.0, 1.0, False),
        (1.0, 1.0 + 2**-9, False),
        (1.0, 1.0 + 2**-7, True),
        (1.0, 1.0 - 2**-7, True),
        (100.0, 100.25, False),  # in relation to large ones
        (100.0, 101.0, True),
        (0.0, 2**-9, False),
        (np.nan, np.nan, False),
        (np.nan, 1.0, True),
        (1.0, np.nan, True),
        (np.inf, np.inf, False),
        (np.inf, -np.inf, True),
        (np.inf, 1.0, True),
    ],
)
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32])
def test_one_number_is_another_beyond_the_tolerance(
    own: float, found: float, another: bool, dtype: type
) -> None:
    rows = [np.array([0.5, each, -2.0], dtype) for each in (own, found)]
    assert _is_another(*rows, 2**-8) is another


def test_integers_and_dtypes_are_compared_exactly() -> None:
    whole = np.arange(6)
    assert not _is_another(whole, whole.reshape(2, 3), 0.0)
    assert _is_another(whole, whole + 1, 0.0)
    assert _is_another(whole, whole[:5], 0.0)
    assert _is_another(whole.astype(np.float16), whole.astype(ml_dtypes.bfloat16), 9.0)


def test_other_values_differ_everywhere() -> None:
    assert _changed(np.array([True, False])).tolist() == [False, True]
    assert _changed(np.array([0, 1, 5, -1])).tolist() == [1, 0, 4, 0]
    assert _changed(np.array([-0.5, 0.0, 2.0], np.float16)).tolist() == [-0.5, 0.25, 3.25]
    assert _changed(np.zeros(2, np.int32)).dtype == np.int32


def test_spaces_of_modes_have_the_values_that_choose_them() -> None:
    chosen = {name: set(SPACES[name].variables["calcType"]) for name in SPACES if "self" in name}
    assert chosen == {
        "self_attention": {0, 1, 2},
        "self_attention_pa_encoder": {3},
        "self_attention_prefix_encoder": {4},
    }
    assert isinstance(SPACES["relay_attention"], CaseSpace)


CHANGED = (
    ops.relay_attention,
    ops.incre_flash_attention,
    ops.nsa_compress_attention,
    *ops.self_attention.modes,
    *(load(str(specs_dir() / "variants" / f"{name}.py")) for name in ("sigmoid", "cascade", "mla_decode")),
)


@pytest.mark.parametrize("operator", CHANGED, ids=str)
def test_a_change_of_one_variable_gives_the_environment_of_the_changed_assignment(
    operator: Any,
) -> None:
    space, rng = CaseSpace(operator), np.random.default_rng(0)
    assert space._resting
    for _ in range(4):
        assignment = {
            name: values[int(rng.integers(len(values)))] for name, values in space.variables.items()
        }
        env = space.environment(assignment)
        for name, values in space.variables.items():
            for value in dict.fromkeys(values):
                wanted = space.environment({**assignment, name: value})
                assert space.changed(env, assignment, name, value) == wanted, (name, value)


def test_what_decides_other_sizes_does_not_change_alone() -> None:
    """Nothing but extents rests on the sizes of a call without lengths; which tensors are passed decides
    which sizes there are."""
    plain = CaseSpace(load(str(specs_dir() / "variants" / "sigmoid.py")))
    assert {"B", "N", "K", "S", "D", "scale"} <= plain._resting.keys()
    packed = CaseSpace(ops.relay_attention)
    assert {"headNum", "kvHeadNum", "qkScale"} <= packed._resting.keys()
    derived = {each.name for each in CaseSpace(ops.self_attention.modes[0]).derived.variables}
    assert derived and derived.isdisjoint(CaseSpace(ops.self_attention.modes[0])._resting)
    assert not [name for name in packed._resting if kind_of(name) in (GIVEN, DTYPE, LAYOUT)]


def test_a_variable_has_its_other_values_once_they_are_asked_for() -> None:
    space = CaseSpace(ops.relay_attention)
    values = space.variables[WARNED]
    assert space.changes(WARNED, False) == ((WARNED, True),)
    assert space.changes(WARNED, True) == ((WARNED, False),) * values.count(False)


def test_a_list_of_one_tensor_is_the_whole_tensor():
    """Of one batch row no list can be told from a sequence that holds the tensor of all."""
    (space,) = spaces(ops.incre_flash_attention)
    assignment = solve(space, np.random.default_rng(0), {split_of("key").name: True, "B": 2})
    assert assignment is not None
    broken = space.violated(space.environment({**assignment, "B": 1}))
    assert "tensors of a list of key" in [each.name for each in broken]
    assert not space.violated(space.environment(assignment))


def test_lengths_whose_longest_is_the_keys_size_reach_several_key_tiles(tmp_path: Path) -> None:
    """``op.let(M, op.longest(...))``: one list of ends of queries and keys is as long as keys may be; one of
    queries alone is as long as queries are."""
    one_list = changed(
        PACKED,
        (
            ('op.let(M, op.longest("key_ends"))', 'op.let(M, op.longest("query_ends"))'),
            ('tokens = op.prefix_sums("key_ends", "B", total=U)', "tokens = queries"),
            ('"U K D", dtype=query, axes="U K D"', '"S K D", dtype=query, axes="U K D"'),
            ('"U K D", dtype=query, axes="U K E"', '"S K D", dtype=query, axes="U K E"'),
            ("U=U", "U=S"),
            ("S, U, D, C, M = op.dims", "S, D, C, M = op.dims"),
            ('"B N K S U D C M"', '"B N K S D C M"'),
        ),
    )
    most = {}
    for name, text in (("one", one_list), ("two", PACKED)):
        (tmp_path / f"{name}.py").write_text(text)
        space = CaseSpace(load(str(tmp_path / f"{name}.py")))
        most[name] = max(space.variables["longest(query_ends)"])
        assert name == "one" or max(space.variables["longest(key_ends)"]) > 2 * space.edges[0][0]
    assert most["one"] > 2 * 512 > max(Values().queries) == most["two"]


# What repairs a clause --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SPACES)
def test_layouts_that_do_not_go_together_are_repaired_by_the_layout_too(name: str) -> None:
    """Where it is one of several; and whether an optional tensor is passed."""
    space = replace(SPACES[name])
    of = {each.name: each.variables for each in space.clauses}
    for spec in space.operator.tensors:
        conditions = [each.when for each in spec.layouts.values() if each.when is not None]
        assert (f"layout of {spec.name}" in of) is bool(conditions), spec.name
        if conditions:
            read = set().union(*(each.symbols() for each in conditions)) & space.variables.keys()
            read |= {f"layout({spec.name})"} if len(spec.layouts) > 1 else set()
            read |= {f"given({spec.name})"} if spec.optional else set()
            assert read <= {*of[f"layout of {spec.name}"]}, spec.name


def test_lists_are_no_longer_than_a_sequence_where_one_stands_for_the_whole_tensor() -> None:
    """The number of tensors in a list is a size of each layout with batch rows."""
    lists = {
        name: [each for each in replace(space).clauses if each.name.startswith("tensors of a list of")]
        for name, space in SPACES.items()
    }
    assert {each.name for each in lists["incre_flash_attention"]} == {
        "tensors of a list of key", "tensors of a list of value",
    }  # fmt: skip
    others = lists.keys() - {"incre_flash_attention"}
    assert not any(lists[name] for name in others) and "self_attention" in others, "no sequence holds a cache"
    (of_key,) = (each for each in lists["incre_flash_attention"] if each.name.endswith("key"))
    assert of_key.holds({"split(key)": True, "B": 3}) and of_key.holds({"split(key)": False, "B": 1})
    assert not of_key.holds({"split(key)": True, "B": 1})


def test_lengths_that_have_a_row_of_queries_and_one_of_keys_are_as_long_as_either_may_be() -> None:
    """A row of lengths of each, the longest in all places; one row where the layout has one."""
    space = SPACES["self_attention_pa_encoder"]
    spec = next(each for each in space.integers if space._tells_keys_too(each))
    keys = next(key for key, layout in spec.layouts.items() if len(layout.shape()) == 2)
    assignment = {longest_of(spec.name).name: 5, longest_keys_of(spec.name): 9}
    env = collections.defaultdict(lambda: False, batch=3)
    env |= {given(spec.name).name: True, f"layout({spec.name})": keys}
    found = space._surrogates(assignment, env)
    assert found[spec.name] == [5, 5, 5, 9, 9, 9]


# What rests on a variable -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("follows", "rests"), [(False, True), (True, False)])
def test_nothing_rests_on_a_size_of_lengths_whose_elements_tell_other_sizes(
    follows: bool, rests: bool
) -> None:
    """A change of such a size alone would leave what the elements tell as it was."""
    length = SimpleNamespace(layouts={"": SimpleNamespace(shape=lambda: (Symbol("n"),))})
    default = Load("lengths", Symbol("one")) if follows else Symbol("one") + 1
    dims: Any = {"n": Dim("n"), "t": Dim("t", default=default)}
    derived: Any = SimpleNamespace(variables=())
    found = resting_on(["n"], dims, derived, [length], {"T": Symbol("t")}, lambda each: each.symbols())  # type: ignore[list-item]
    assert ("n" in found) is rests
    if rests:
        assert found["n"].integers and not found["n"].sizes


def test_heads_move_with_what_the_head_size_follows_from() -> None:
    def ten(env: Any) -> int:
        return 10

    assert not RestingOn((), (("B", ten), ("E", ten)), False).moves_heads
    assert RestingOn((), (("B", ten), ("D", ten)), False).moves_heads


@pytest.mark.parametrize("name", SPACES)
def test_what_every_space_asks_of_its_calls(name: str) -> None:
    """That each size is shown; of tensors that may be lists, that these have rows."""
    space = replace(SPACES[name])
    names = {each.name for each in space.clauses}
    split = {f"rows of a list of {spec.name}" for spec in space.operator.tensors if spec.split}
    assert {"every size is shown", "small enough to run"} <= names
    assert {each for each in names if each.startswith("rows of a list of")} == split


def test_lengths_are_no_large_tensors() -> None:
    large = WorkClauses(SPACES["relay_attention"], frozenset(), SPACES["relay_attention"].repairs)._large
    assert {spec.kind for spec in large} and "lengths" not in {spec.kind for spec in large}
    assert {"query", "key"} <= {spec.name for spec in large}


def test_rules_over_elements_force_no_tensor() -> None:
    """Of two that demand one, only that which looks at no elements is known beforehand."""
    plain, looking = (
        SimpleNamespace(condition=given("mask"), when=None, tensors=lambda seen=seen: seen, over={})
        for seen in (frozenset(), frozenset({"mask"}))
    )
    for rules, found in (([plain], [("given(mask)", True)]), ([looking], [])):
        told = forced_presence(SimpleNamespace(constraints=rules))  # type: ignore[arg-type]
        assert [each[1:] for each in told] == found


def test_tensors_that_are_absent_take_no_room() -> None:
    space = SPACES["incre_flash_attention"]
    large = WorkClauses(space, frozenset(), space.repairs)
    env: Any = collections.defaultdict(lambda: 1 << 12)
    env |= {given(spec.name).name: False for spec in space.operator.tensors}
    env |= {f"layout({spec.name})": next(iter(spec.layouts), "") for spec in space.operator.tensors}
    assert not list(large._elements(env))
    env |= {given("query").name: True, "layout(query)": "BNSD"}
    assert len(list(large._elements(env))) == 1


@pytest.mark.parametrize(
    ("bounds", "edges"),
    [
        ({"ge": 2, "le": 9}, {2, 9}),
        ({"gt": 2, "lt": 9}, {3, 8}),
        ({"gt": 2.5, "lt": 8.5}, {3, 8}),
        ({"ge": 0}, {0}),
    ],
)
def test_the_edges_of_a_range(bounds: dict[str, float], edges: set[int]) -> None:
    space = SPACES["incre_flash_attention"]
    assert set(space.range_edges(ParamSpec("count", int, **bounds))) == edges


def test_numbers_that_mean_no_size_are_plain_ones_and_multiples() -> None:
    space = SPACES["incre_flash_attention"]
    found = set(space.param_values(ParamSpec("count", int, ge=0)))
    assert {each for each in (*Values().plain, *MULTIPLES) if each >= 0} <= found
