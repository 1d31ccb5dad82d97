"""Generated cases: legal, reproducible, and reaching what the declarations allow, for every operator."""

import collections
import itertools
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pytest

import attndsl.verify
from attndsl.api import ops
from attndsl.expr.argument_facts import split_of
from attndsl.reference import run as reference
from attndsl.spec.operator.loader import load, shipped_names
from attndsl.verify.cases import mode_search
from attndsl.verify.cases.case import Case
from attndsl.verify.cases.cases import Stream, spaces, stream_of
from attndsl.verify.cases.effects import effective_features
from attndsl.verify.cases.features import (
    declared_features,
    features_of,
    key_counts,
    possible_features,
    tile_of,
    work_of,
)
from attndsl.verify.cases.mode_search import ModeSearch, allowance
from attndsl.verify.data.integers import Integers
from attndsl.verify.space.solve import solve
from attndsl.verify.space.values import FILL, WIDE, WORKLOAD, WORKLOADS, Values

USER_SPEC = Path(__file__).parent.parent / "spec" / "my_window.py"
CASES = {
    "incre_flash_attention": 48,
    "relay_attention": 16,
    "nsa_compress_attention": 15,
    "self_attention": 30,
}


class Generated:
    """Cases of one operator with their features and work, which outlines of the calls tell."""

    def __init__(self, name):
        self.operator = getattr(ops, name)
        self.stream = stream_of(self.operator)
        self.cases = self.stream.take(CASES[name])
        self.outlines = [case.outline() for case in self.cases]
        pairs = [*zip(self.cases, self.outlines, strict=True)]
        self.features = [set(features_of(*pair)) for pair in pairs]
        self.works = [work_of(case.space, call) for case, call in pairs]

    @cached_property
    def calls(self):
        """Of every fourth case: tensors take longer than all that is told without them."""
        return {case.number: case.call() for case in self.cases[::4]}

    def seen(self):
        return set().union(*self.features)


_made = {}


@pytest.fixture(params=sorted(CASES))
def generated(request):
    return made(request.param)


def made(name):
    if name not in _made:
        _made[name] = Generated(name)
    return _made[name]


@pytest.fixture
def incre():
    return made("incre_flash_attention")


def same(first, second):
    if isinstance(first, np.ndarray):
        return first.tobytes() == second.tobytes() and first.dtype == second.dtype
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(map(same, first, second))
    return first == second


def test_every_shipped_operator_has_cases():
    assert set(CASES) == set(shipped_names())


def test_the_same_seed_gives_the_same_cases_however_many_are_asked_for(generated):
    again = Stream(generated.operator, seed=0).take(3)
    for case, other in zip(generated.cases, again, strict=False):
        assert case.assignment == other.assignment
        first, second = case.arguments(), other.arguments()
        assert first.keys() == second.keys()
        assert [name for name in first if not same(first[name], second[name])] == []


def test_lists_of_tensors_are_filled():
    spaces_with_lists = [
        (space, name)
        for operator in (ops.self_attention, ops.incre_flash_attention)
        for space in spaces(operator)
        for name in [spec.name for spec in space.operator.tensors if spec.split][:1]
    ]
    assert len(spaces_with_lists) == 2
    for space, name in spaces_with_lists:
        rng, found = np.random.default_rng(0), []
        for number in range(12):
            assignment = solve(space, rng, {split_of(name).name: True, WORKLOAD: "any", FILL: "normal"})
            integers = assignment and Integers(space, assignment, rng).solve()
            if integers and len(found) < 4:
                case = Case(space.operator, space, 0, number, assignment, integers)
                found.append(case.call())
        assert len(found) == 4
        for call in found:
            assert len(call.lists[name]) == call.extents["B"]
            assert f"{name} as a list" in declared_features(call)
            assert all(entry.any() for entry in call.lists[name] if entry.size > 40)


def test_lengths_stay_within_the_sizes_that_are_affordable():
    """Repairs may take another length, but none longer than the assignment says."""
    for case, call in zip(made("self_attention").cases, made("self_attention").outlines, strict=True):
        size = {**dict.fromkeys("BNQT", 1), **call.extents}
        assert size["B"] * size["N"] * size["Q"] * size["T"] <= Values.most_scores, case.number


def test_another_seed_gives_others():
    other = Stream(ops.relay_attention, seed=1).take(6)
    assert not any(
        a.assignment == b.assignment for a, b in zip(made("relay_attention").cases, other, strict=False)
    )


def test_every_case_is_a_legal_call_within_the_target(generated):
    for call in generated.calls.values():  # bound without an error
        call.check_target()
        assert max(array.size for array in call.arrays.values()) <= 2 * Values.most_elements


def test_a_third_of_the_work_is_long_plentiful_and_scarce(generated):
    """Rows longer than the ring in tiles, several tasks a core, split keys: of each mode."""
    modes = collections.defaultdict(list)
    for case, work in zip(generated.cases, generated.works, strict=True):
        modes[case.space.operator.name].append(work)
    for works in modes.values():
        assert 3 * sum(work.beyond_ring for work in works) >= len(works)
        assert 3 * sum(work.several_a_core for work in works) >= len(works)
        assert 3 * sum(work.few for work in works) >= len(works)
        assert 4 * sum(work.split for work in works) >= sum(work.splits for work in works)


def test_half_of_the_cases_have_several_key_tiles_in_each_segment(generated):
    """Of each mode; keys that a step of a kernel has alone show neither merges nor rings."""
    several, count = collections.Counter(), collections.Counter()
    for case in generated.cases:
        call, mode = case.outline(), case.space.operator.name
        rows = key_counts(call).max(axis=1, initial=0)
        several.update((mode, place) for place, keys in enumerate(rows) if keys > tile_of(case.space, call))
        count[mode] += 1
    assert several and all(2 * found >= count[mode] for (mode, _), found in several.items()), several


def test_rows_of_one_tile_are_among_the_first_cases():
    """Of a key less or more, too, in each mode: not left to chance."""
    found = collections.defaultdict(set)
    for case in made("self_attention").cases[:24]:
        found[case.space.operator.name] |= {int(keys) for keys in key_counts(case.outline()).reshape(-1)}
    for keys in found.values():
        assert keys & {511, 512, 513}, keys


def test_a_core_writes_ring_slots_again_in_each_segment(generated):
    """Where keys are split, rows beyond the ring give each core a tile or two: what waits for slots of the
    ring would never run, least of all for keys that rows share."""
    deep = collections.Counter(
        case.space.operator.name
        for case, work in zip(generated.cases, generated.works, strict=True)
        if work.deep
    )
    assert min(deep[case.space.operator.name] for case in generated.cases) >= 1


def test_shared_keys_are_deep_only_where_rows_read_them():
    relay = made("relay_attention")
    deep = [call for call, work in zip(relay.outlines, relay.works, strict=True) if work.deep]
    assert deep
    for call in deep:
        tile, ring = relay.cases[0].space.edges[0]
        group, length = call.arrays["kvShareMap"], call.arrays["kvShareLen"]
        assert max(length[each] for each in group if each >= 0) > tile * ring


def test_keys_lie_around_the_tiles_of_stored_schedules():
    """Of relay_attention kernels for heads of 128 have other tiles than its author states; of others none."""
    (relay, *_), (incre, *_) = spaces(ops.relay_attention), spaces(ops.incre_flash_attention)
    assert relay.schedule.tile_k == relay.tiles[0] == 512 and relay.tiles[1:] == (256,)
    assert {255, 257, 4 * 256 + 1, 511, 513, 3 * 512 + 1} <= set(relay.sizes_of("T"))
    assert incre.tiles == (512,) and 255 not in incre.sizes_of("T")


def test_rows_are_farther_apart_than_one_copy_can_express(generated):
    """Cubes then load row by row, by statements that no other case runs."""
    wide = [
        (case.space.operator.name, call)
        for case, call, work in zip(generated.cases, generated.outlines, generated.works, strict=True)
        if work.wide
    ]
    assert {name for name, _ in wide} == {case.space.operator.name for case in generated.cases}
    for _, call in wide:
        assert call.extents["K"] * max(call.extents["D"], call.extents["E"]) > 65535


@pytest.mark.parametrize("name", ["relay_attention", "nsa_compress_attention", "self_attention"])
def test_small_heads_are_farther_apart_than_one_copy_can_express(name):
    """Loads of up to 128 channels are written otherwise than those of more, which are cut. Every second turn
    of wide rows has them, in each mode that allows more than 256 key/value heads."""
    stream = Stream(getattr(ops, name), seed=0)
    for member in stream.members:
        member.prepare()
        turn = len(WORKLOADS) + WORKLOADS.index(WIDE)
        case = member.next(stream.operator, turn, turn)
        size = case.outline().extents
        small = [size[axis] for axis in "DE" if size[axis] <= 128]
        assert any(size["K"] * channels > 65535 for channels in small), (member.space.operator.name, size)


def test_more_query_heads_share_a_key_head_than_a_task_has_rows():
    relay = made("relay_attention")
    most = relay.cases[0].space.schedule.max_rows
    groups = [call.extents["N"] // call.extents["K"] for call in relay.outlines]
    assert max(groups) > most


def test_what_never_splits_keys_is_told():
    """Selections and statistics need final sums; steps of probabilities the maximum so far."""
    assert not any(work.splits or work.split for work in made("nsa_compress_attention").works)
    for name in ("incre_flash_attention", "relay_attention"):
        assert all(work.splits for work in made(name).works)
    given = {
        "quantType=QKV_OFFLINE" in features: work.splits
        for features, work in zip(made("self_attention").features, made("self_attention").works, strict=True)
    }
    assert given == {False: True, True: False}


def test_an_outline_tells_the_sizes_and_the_work_of_the_call(generated):
    for number, call in generated.calls.items():
        case, outline = generated.cases[number], generated.outlines[number]
        assert outline.extents == call.extents and outline.layouts == call.layouts
        assert features_of(case, outline) == features_of(case, call)
        assert work_of(case.space, outline) == work_of(case.space, call)


def test_probes_and_random_data_alternate(generated):
    """Probes are two in five candidates; which candidate becomes a case depends on what it covers, too."""
    kinds = collections.Counter(case.data for case in generated.cases)
    assert kinds["probe"] >= len(generated.cases) // 5 and len(kinds) >= 3


def test_all_modes_take_turns():
    modes = collections.Counter(call.operator.name for call in made("self_attention").outlines)
    assert modes == {
        "self_attention": 10,
        "self_attention_pa_encoder": 10,
        "self_attention_prefix_encoder": 10,
    }


def test_choices_are_spelled_as_numbers_and_as_names():
    kinds = collections.Counter(
        type(case.arguments()["calcType"]) for case in made("self_attention").cases[:8]
    )
    assert set(kinds) == {int, str}


@pytest.mark.parametrize(
    ("name", "features"),
    [
        (
            "relay_attention",
            {
                "group shared by several rows",
                "row without a group",
                "unused group",
                "empty segment 0",
                "empty segment 1",
                "key as S1 N D",
                "key as S1 (N D)",
                "keyShare as S2 N D",
                "grouped heads",
                "dtype float16",
                "dtype bfloat16",
            },
        ),
        (
            "incre_flash_attention",
            {
                "shared pages",
                "permuted pages",
                "-1 behind the pages",
                "key as paged",
                "key as paged BNSD",
                "key as BNSD",
                "antiquant_scale as BNSD",
                "quant_scale2 as per channel",
                "quant_offset2",
                "kv_padding_size",
                "inner_precise=0",
                "row without keys",
            },
        ),
        (
            "nsa_compress_attention",
            {"topk_mask", "atten_mask", "index_reading=op", "forced selection", "relaxed=True"},
        ),
        (
            "self_attention",
            {"key", "attentionMask", "mask", "value", "slopes", "logN", "batchStatus", "qkDescale"},
        ),
    ],
)
def test_features_occur(name, features):
    assert features - made(name).seen() == set()


def test_a_feature_that_no_case_has_is_asked_for_by_name(monkeypatch):
    """Once, when it is overdue; those that no legal call has are given up."""
    member = Stream(ops.self_attention, seed=0).members[0]
    rare, impossible = "maskType=SLIDING_WINDOW_COMPRESS", "maskType=CAUSAL_MASK"
    known = possible_features(member.space)
    monkeypatch.setattr(
        mode_search, "possible_features", lambda _: {name: known[name] for name in (impossible, rare)}
    )
    monkeypatch.setattr(mode_search, "_OVERDUE", 2)
    member.prepare()
    drawn = [member.next(ops.self_attention, number, number) for number in range(4)]
    assert [rare in declared_features(case.outline()) for case in drawn] == [False, False, True, False]


def test_what_matters_is_looked_for_once_something_asks_for_it(monkeypatch):
    """It takes longer than to find the first cases. Later ones are those found with a look after each."""
    operator, looked = load(USER_SPEC), []

    def looking(call, features, **how):
        looked.append(features)
        return effective_features(call, features, **how)

    def eager(self, *arguments):
        case = late_next(self, *arguments)
        self._settle()
        return case

    monkeypatch.setattr(mode_search, "_OVERDUE", 3)
    monkeypatch.setattr(mode_search, "effective_features", looking)
    late = Stream(operator)
    assert len(late.take(3)) == 3 and not looked
    late_next = ModeSearch.next
    assert len(late.take(7)) == 7 and looked
    monkeypatch.setattr(ModeSearch, "next", eager)
    early = Stream(operator).take(7)
    assert [each.assignment for each in early] == [each.assignment for each in late.take(7)]


def test_a_search_makes_no_environment_twice(monkeypatch):
    """They are most of the time that cases take, so that the one of a change that is made is kept. Values
    that a variable has twice, to be drawn more often, may be tried twice."""
    (space,) = spaces(ops.nsa_compress_attention)
    made = []

    def counted(self, assignment, integers=None):
        made.append(tuple(assignment.items()))
        return environment(self, assignment, integers)

    environment = type(space).environment
    monkeypatch.setattr(type(space), "environment", counted)
    assert solve(space, np.random.default_rng(0), {WORKLOAD: "long few"}) is not None
    again = sum(made[at] == made[at - 1] for at in range(1, len(made)))
    assert len(made) > 20 and again < len(made) / 20, (again, len(made))


def test_disabled_arguments_are_found_out_from_the_constraints(incre):
    assert incre.stream.excluded == ("dequant_scale1", "quant_scale1", "dequant_scale2")


def test_pairs_of_features_and_dtypes_are_covered(incre):
    items = (
        "given(attn_mask)",
        "given(actual_seq_lengths)",
        "given(pse_shift)",
        "dtype(query)",
        "input_layout",
    )
    for position, first in enumerate(items):
        for second in items[position + 1 :]:
            pairs = {(case.assignment[first], case.assignment[second]) for case in incre.cases}
            assert len(pairs) == 4, (first, second)


def test_sizes_reach_boundaries(incre):
    extents = [call.extents for call in incre.outlines]
    assert len({1, 16, 40, 64, 80, 100, 128, 256, 512} & {each["D"] for each in extents}) >= 8
    groups = {each["N"] // each["K"] for each in extents}
    assert 1 in groups and max(groups) > 128 and len(groups) >= 8
    keys = {each["T"] for each in extents}
    heads = collections.Counter(each["D"] for each in extents)
    assert 5 * sum(heads[size] for size in (128, 256, 512)) >= len(
        extents
    )  # small ones do not crowd them out
    (tile,) = incre.cases[0].space.tiles
    # the last tile of a row is whole, lacks one key, has one alone
    assert {size % tile for size in keys} >= {0, tile - 1, 1} and max(keys) >= 4095
    assert 1 in {each["B"] for each in extents} and max(each["B"] for each in extents) > 24


def test_rows_that_must_not_be_read_are_spoilt(incre):
    """In some fillings by NaN, in others by numbers that would show."""

    def looked_at(call):
        others = {"block_table", "kv_padding_size"} & call.present
        lengths = call.arrays.get("actual_seq_lengths")
        plain = "key" in call.arrays and call.arrays["key"].dtype != np.int8
        dense = lengths is not None and not others and plain
        return dense and lengths.min() < call.extents["T"]

    rng, space = np.random.default_rng(0), incre.cases[0].space
    pins = dict.fromkeys(map("given({})".format, space.optional), False)
    pins |= {"given(actual_seq_lengths)": True, "fill(actual_seq_lengths)": "mixed", "dtype(key)": "float16"}
    found = [solve(space, rng, {**pins, "B": 5, "longest(actual_seq_lengths)": 100}) for _ in range(12)]
    made = [(each, Integers(space, each, rng).solve()) for each in found if each is not None]
    drawn = [Case(incre.operator, space, 0, 0, *each) for each in made if each[1] is not None]
    picked = [case for case in drawn if looked_at(case.outline())][:2]
    assert picked
    kinds = collections.Counter()
    for case, attempt in itertools.product(picked, range(6)):  # filled anew in each attempt
        call = replace(case, attempt=attempt).call()
        for rows, length in zip(
            call.views["value"].astype(float), call.arrays["actual_seq_lengths"], strict=True
        ):
            for head in rows:
                if (tail := head[length:]).size:
                    inside = np.abs(head[:length]).max(initial=0.05)
                    kinds["nan" if np.isnan(tail).all() else "large"] += 1
                    assert np.isnan(tail).all() or (np.abs(tail) >= 3.9 * inside).all()
    assert len(kinds) == 2


def test_kernels_grow_slower_than_cases(incre):
    for count in (24, 48):
        kernels = {case.kernel for case in incre.cases[:count]}
        assert len(kernels) <= allowance(count) + 4  # a few where what is pinned has no legal call


def test_a_users_own_spec_has_cases_too():
    operator = load(USER_SPEC)
    calls = [case.call() for case in Stream(operator, seed=0).take(12)]
    assert {call.dtype for call in calls} == {"float16", "float32"}
    assert {"bias" in call.arrays for call in calls} == {True, False}


def test_no_operator_and_no_argument_is_named_in_the_package():
    folder = Path(attndsl.verify.__file__).parent
    text = "\n".join(path.read_text() for path in folder.glob("*.py"))
    text = text.replace("node.block_size", "")  # of the graph
    named = {
        spec.name
        for name in shipped_names()
        for each in (getattr(ops, name), *getattr(ops, name).modes)
        for spec in each.parameters
    }
    names = {*shipped_names(), *(name for name in named if len(name) > 5)}
    generic = {"query", "key", "value"}
    assert [name for name in sorted(names - generic) if name in text] == []


@pytest.mark.parametrize("name", sorted(CASES))
def test_elements_of_results_are_known_before_any_tensor_is_made(name):
    smallest = sorted(made(name).cases, key=lambda case: case.result_elements())[:2]
    for case in smallest:
        results = reference.run(case.call())
        assert sum(result.size for result in results) == case.result_elements()
