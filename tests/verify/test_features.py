"""What a case exercises, told by its call: each feature of data has a call that has it, and a near twin."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from attndsl import ops
from attndsl.graph.nodes import TopK
from attndsl.spec.binding.call import Call
from attndsl.verify.cases import features
from attndsl.verify.cases.case import Case
from attndsl.verify.cases.features import (
    declared_features,
    features_of,
    key_counts,
    named,
    possible_features,
    tile_of,
    work_of,
)
from tests.support.case_spaces import space_of
from tests.support.small_specs import DECODE_RESULT, DECODE_SCORES, decode_call, decode_spec

NO_CASE = cast("Case", None)
"""Features are read off the call."""


def zeros(*shape: int) -> Any:
    return np.zeros(shape, np.float16)


def shared(groups: list[int], lengths: list[int], keys: list[int], heads: int = 4, kv_heads: int = 2) -> Call:
    """Decoding of rows of which ``groups`` tells whose keys they share, ``keys`` counts all."""
    own, of_group = zeros(40, kv_heads * 16), zeros(30, kv_heads * 16)
    return ops.relay_attention.bind(
        query=zeros(len(groups), heads * 16),
        key=[own] * len(groups),
        value=[own] * len(groups),
        keyShare=[of_group] * len(lengths),
        valueShare=[of_group] * len(lengths),
        kvSeqLen=keys,
        kvShareMap=groups,
        kvShareLen=lengths,
        seqLen=[1] * len(groups),
        attentionMask=zeros(1),
        headNum=heads,
        kvHeadNum=kv_heads,
    )


def data_features(call: Call) -> set[str]:
    """The features that sizes and elements make."""
    return set(features_of(NO_CASE, call)) - declared_features(call)


GROUPED, SEVERAL = "grouped heads", "rows of several lengths"
SHARED = "group shared by several rows"


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        (shared([0, 1], [20, 20], [30, 30]), {GROUPED}),
        (shared([0, 1], [20, 20], [30, 30], 4, 4), set()),
        (shared([0, 0], [20], [30, 30]), {GROUPED, SHARED}),
        (
            shared([0, 0], [20, 20], [30, 31]),
            {GROUPED, SEVERAL, "group shared by several rows", "unused group"},
        ),
        (shared([0, -1], [20], [30, 30]), {GROUPED, "row without a group", "empty segment 1"}),
        (shared([-1, -1], [], [30, 30]), {GROUPED, "row without a group", "no groups", "empty segment 1"}),
        (shared([0, 1], [20, 20], [30, 20]), {GROUPED, SEVERAL, "empty segment 0"}),
        (shared([0, 1], [20, 0], [40, 20]), {GROUPED, SEVERAL, "empty segment 1"}),
    ],
)
def test_rows_that_share_keys(call: Call, wanted: set[str]) -> None:
    """A segment is empty where the row has keys in another one."""
    assert data_features(call) == wanted
    assert key_counts(call).shape == (2, 2)


def paged(table: list[list[int]], lengths: list[int], size: int = 16, pages: int = 8) -> Call:
    return ops.incre_flash_attention.bind(
        zeros(len(lengths), 2, 1, 16),
        key=[zeros(pages, 2, size, 16)],
        value=[zeros(pages, 2, size, 16)],
        actual_seq_lengths=np.array(lengths, np.int64),
        block_table=np.array(table, np.int32),
        block_size=size,
        num_heads=2,
        num_key_value_heads=2,
        input_layout="BNSD",
    )


@pytest.mark.parametrize(
    ("table", "lengths", "wanted"),
    [
        ([[0, 1], [2, 3]], [32, 32], set()),
        ([[0, 1], [2, 3]], [32, 31], {SEVERAL}),
        ([[0, 1], [2, 0]], [32, 16], {SEVERAL}),
        ([[0, 1], [2, 0]], [32, 17], {SEVERAL, "shared pages", "permuted pages"}),
        ([[0, 1], [1, 3]], [32, 32], {"shared pages"}),
        ([[1, 0], [2, 3]], [32, 32], {"permuted pages"}),
        ([[0, -1], [2, 3]], [16, 32], {SEVERAL, "-1 behind the pages"}),
        ([[0, 7], [2, 3]], [16, 32], {SEVERAL}),
        ([[-1, 7], [2, 3]], [0, 32], {SEVERAL, "row without keys", "-1 behind the pages"}),
        ([[0, 1]], [0], {"row without keys"}),
    ],
)
def test_pages(table: list[list[int]], lengths: list[int], wanted: set[str]) -> None:
    """Of the pages that rows use; what stands behind them is told where it names none."""
    assert data_features(paged(table, lengths)) == wanted


def test_values_of_another_size_and_rows_of_one_length(tmp_path: Path) -> None:
    operator = decode_spec(tmp_path, DECODE_SCORES, DECODE_RESULT)
    assert data_features(operator.bind(**decode_call(n=2, k=2))) == set()
    assert data_features(operator.bind(**decode_call(n=4, k=2))) == {GROUPED}
    call = ops.self_attention.bind(
        query=zeros(5, 2, 16), key=zeros(5, 2, 16), seqLen=[5], headNum=2, mlaVHeadSize=8,
        calcType="PA_ENCODER",
    )  # fmt: skip
    assert "values of another size" in data_features(call)


def test_packed_queries_may_leave_a_row_without_any() -> None:
    def prompts(lengths: list[int]) -> Call:
        rows = {name: zeros(sum(lengths), 2, 16) for name in ("query", "key", "value")}
        return ops.self_attention.bind(**rows, seqLen=lengths, headNum=2, calcType="PA_ENCODER")

    assert "row without queries" in data_features(prompts([5, 0]))
    assert "row without queries" not in data_features(prompts([5, 1]))


def test_features_are_named_with_their_mode() -> None:
    assert named("attention", "attention", "mask") == "mask"
    assert named("attention", "attention_prompt", "mask") == "prompt: mask"


def test_choices_layouts_and_presence_are_features() -> None:
    """A choice is told by the shortest of its names, a flag by its value; what has one layout by none."""
    call = paged([[0, 1]], [20])
    assert declared_features(call) >= {
        "dtype float16", "actual_seq_lengths", "block_table", "key as paged BNSD", "inner_precise=1",
    }  # fmt: skip
    assert not [
        each for each in declared_features(call) if each.startswith(("actual_seq_lengths as", "dtype b"))
    ]
    dense = ops.incre_flash_attention.bind(
        zeros(1, 2, 1, 16), key=[zeros(1, 2, 9, 16)], value=[zeros(1, 2, 9, 16)], num_heads=2,
        num_key_value_heads=2, input_layout="BNSD", inner_precise=0,
    )  # fmt: skip
    assert declared_features(dense) >= {"key as BNSD", "inner_precise=0"}
    assert not {"actual_seq_lengths", "block_table"} & declared_features(dense)


@pytest.mark.parametrize("name", ["relay_attention", "incre_flash_attention", "nsa_compress_attention"])
def test_each_declared_feature_is_possible_with_the_values_that_make_it(name: str) -> None:
    space = space_of(name)
    known = possible_features(space)
    for feature, pins in known.items():
        assert all(value in space.variables[variable] for variable, value in pins.items()), feature
    for spec in space.operator.tensors:
        if spec.optional:
            assert known[spec.name] == {f"given({spec.name})": True}
        for key in spec.layouts if len(spec.layouts) > 1 else ():
            wanted = {f"given({spec.name})": True} if spec.optional else {}
            wanted |= {f"layout({spec.name})": key}
            of_it = {k: v for k, v in wanted.items() if k in space.variables}
            assert known[f"{spec.name} as {key}"] == of_it
        if spec.split:
            assert known[f"{spec.name} as a list"][f"split({spec.name})"] is True
    several = {spec.name for spec in space.operator.tensors if len(spec.layouts) > 1}
    lists = {spec.name for spec in space.operator.tensors if spec.split}
    told = [each.split(" as ") for each in known if " as " in each]
    assert {name for name, key in told if key != "a list"} == several
    assert {name for name, key in told if key == "a list"} == lists
    assert {each.name for each in space.operator.tensors} & known.keys() == set(space.optional)
    main = space.operator.tensor(space.operator.outputs[0].like)
    assert {each for each in known if each.startswith("dtype ")} == {f"dtype {each}" for each in main.dtypes}
    for param in space.operator.params:
        several = param.type is bool or len(set(param.choices.values())) > 1
        count = sum(each.startswith(f"{param.name}=") for each in known)
        assert count == (len(set(space.variables[param.name])) if several else 0), param.name


@pytest.mark.parametrize(
    ("lengths", "tiles", "tasks", "edge"),
    [
        ([512, 3], 1, 4, True),
        ([513, 0], 2, 2, True),
        ([515, 1], 2, 4, False),
        ([0, 0], 0, 0, False),
        ([1030, 7], 3, 4, False),
    ],
)
def test_the_work_of_a_call(lengths: list[int], tiles: int, tasks: int, edge: bool) -> None:
    """Tasks are those of rows with keys; tiles those of the longest row."""
    space = space_of("incre_flash_attention")
    rows = [zeros(2, 2, 1100, 16)]
    call = ops.incre_flash_attention.bind(
        zeros(2, 2, 1, 16), key=rows, value=rows, actual_seq_lengths=np.array(lengths, np.int64),
        num_heads=2, num_key_value_heads=2, input_layout="BNSD",
    )  # fmt: skip
    work = work_of(space, call)
    assert (work.keys, work.tiles, work.tasks, work.edge) == (max(lengths), tiles, tasks, edge)
    assert work.cores == call.operator.device.aic and work.ring == space.edges[0][1]
    assert work.splits and work.least_tiles == tiles and not work.deep and tile_of(space, call) == 512
    assert work.pitch == 16 and not work.wide
    assert work.reach == call.operator.device.architecture.max_nd2nz_pitch


def test_rows_of_all_heads_are_as_far_apart_as_their_channels() -> None:
    call = shared([0], [20], [30], 4, 4)
    work = work_of(space_of("relay_attention"), call)
    assert work.pitch == 4 * 16 and work.least_tiles == 1
    assert work_of(space_of("relay_attention"), shared([-1], [20], [30])).least_tiles == 0


# Calls and spaces of which a part alone is told -------------------------------------------------------------


@pytest.fixture
def untold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(features, "new_state", lambda call, dtype: None)


def without_sums(*nodes: Any) -> Any:
    return SimpleNamespace(graph=SimpleNamespace(nodes=nodes), extents={"B": 3})


def test_calls_that_sum_no_values_have_no_rows(untold: None) -> None:
    assert features.query_counts(without_sums()).tolist() == [0, 0, 0]
    assert features._of_data(without_sums(), NO_CASE) == set()


@pytest.mark.parametrize("forced", [True, False])
def test_what_is_selected_may_be_forced(untold: None, forced: bool) -> None:
    node = object.__new__(TopK)
    object.__setattr__(node, "forced", "mask" if forced else None)
    assert features._of_data(without_sums(object(), node), NO_CASE) == (
        {"forced selection"} if forced else set()
    )


def test_the_shortest_name_of_a_choice_tells_it() -> None:
    choices = {1: 1, "LONGER": 1, "ONE": 1, 2: 2}
    found = [features._spelling(SimpleNamespace(choices=choices), value) for value in (1, 2)]
    assert found == ["ONE", "2"]


def test_flags_and_lists_are_features(tmp_path: Path) -> None:
    declared = 'wide = op.param("wide", bool, default=False)'
    scores = f"{DECODE_SCORES}; s = attend.when(wide == 0, s, s * 2.0)"
    operator = decode_spec(tmp_path, scores, DECODE_RESULT, declared=declared)
    for wide in (True, False):
        assert f"wide={wide}" in declared_features(operator.bind(**decode_call(), wide=wide))
    rows = [zeros(1, 2, 9, 16)] * 2
    listed = ops.incre_flash_attention.bind(
        zeros(2, 2, 1, 16), key=rows, value=rows, num_heads=2, num_key_value_heads=2, input_layout="BNSD",
    )  # fmt: skip
    assert {"key as a list", "value as a list"} <= declared_features(listed)
    whole = ops.incre_flash_attention.bind(
        zeros(2, 2, 1, 16), key=[zeros(2, 2, 9, 16)], value=[zeros(2, 2, 9, 16)], num_heads=2,
        num_key_value_heads=2, input_layout="BNSD",
    )  # fmt: skip
    assert not {"key as a list", "value as a list"} & declared_features(whole)


@pytest.mark.parametrize(
    ("keys", "split", "edge", "deep"),
    [(40, 1, False, True), (40, 0, False, False), (65, 1, True, True), (17, 1, True, True)],
)
def test_work_is_that_of_the_schedules_that_there_are(keys: int, split: int, edge: bool, deep: bool) -> None:
    """Rows end with a tile of any of these; keys that may be split are deep in the part of each core."""
    schedule = SimpleNamespace(max_rows=128, split_kv=split)
    space: Any = SimpleNamespace(edges=((16, 1), (64, 1)), tiles=(16, 64), schedule=schedule)
    rows = [zeros(2, 2, keys, 16)]
    call = ops.incre_flash_attention.bind(
        zeros(2, 2, 1, 16), key=rows, value=rows, num_heads=2, num_key_value_heads=2, input_layout="BNSD",
    )  # fmt: skip
    work = work_of(space, call)
    assert (work.edge, work.deep, work.splits) == (edge, deep, split != 1)


def test_rows_of_a_computation_with_a_tile_of_its_own_end_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(features, "_meant", lambda call: {"tile_k": 16})
    schedule = SimpleNamespace(max_rows=128, split_kv=1)
    space: Any = SimpleNamespace(edges=((64, 1),), tiles=(64,), schedule=schedule)
    for keys, edge in ((17, True), (64, False)):
        rows = [zeros(1, 1, keys, 16)]
        call = ops.incre_flash_attention.bind(
            zeros(1, 1, 1, 16), key=rows, value=rows, num_heads=1, num_key_value_heads=1, input_layout="BNSD",
        )  # fmt: skip
        assert (work_of(space, call).edge, tile_of(space, call)) == (edge, 16)
