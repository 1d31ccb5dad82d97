"""Cases for a kernel: the first of them have the data and the work that show most mistakes in kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attndsl.api import ops
from attndsl.base.package_files import generated_dir, specs_dir
from attndsl.execute.user_project import UserProject
from attndsl.spec.binding.call import Call
from attndsl.spec.operator.loader import load
from attndsl.spec.operator.operator import Operator
from attndsl.verify.cases.cases import Stream, spaces
from attndsl.verify.cases.features import work_of
from attndsl.verify.cases.kernel_demands import demands
from attndsl.verify.space.values import ANY, FEW, FILL, PROBE, RAMP, SLOPE, SUNK, WIDE
from tests.support.case_spaces import space_of

KERNELS = (
    ("incre_flash_attention", "incre_flash_attention", "incre_flash_attention_float16_d128"),
    (
        "self_attention",
        "self_attention_pa_encoder",
        "self_attention_pa_encoder_bfloat16_d128_e128_value_ma",
    ),
)


@pytest.mark.parametrize(("name", "project", "kernel"), KERNELS)
def test_first_cases_have_sunk_scores_rising_maxima_and_many_rows(
    name: str, project: str, kernel: str
) -> None:
    operator = getattr(ops, name)
    kernels = UserProject.at(generated_dir() / project, operator).kernels()
    wanted = next(each for each in kernels if each.name.startswith(kernel))
    sunk, ramp, many = Stream(operator, kernels=(wanted,)).take(3)
    assert [each.assignment[FILL] for each in (sunk, ramp, many)] == [SUNK, RAMP, PROBE]
    works = [work_of(each.space, each.call()) for each in (sunk, ramp, many)]
    assert works[0].few and works[0].tiles > 1
    assert works[1].tiles > 1
    assert works[2].several_a_core


def test_kernels_begin_with_different_data() -> None:
    operator = ops.incre_flash_attention
    kernels = UserProject.at(generated_dir() / operator.name, operator).kernels()[:3]
    found = [each.assignment[FILL] for each in Stream(operator, kernels=kernels).take(6)]
    assert found == [SUNK, RAMP, PROBE, RAMP, PROBE, SUNK]


def test_cases_of_no_kernel_are_as_they_were() -> None:
    """Records are of them: they begin with no data of their own."""
    found = [each.assignment[FILL] for each in Stream(ops.incre_flash_attention).take(3)]
    assert found != [SUNK, RAMP, PROBE]


SPLIT, SUNK_PARTS, MERGES, ONE_ROW = (
    "rows without keys whose keys are split",
    "parts of scores far below 0",
    "several items of split keys on a core",
    "tasks of one row",
)
LAST_ROW, ONE_ITEM = "a task of one row after larger ones", "a call of one item"
MANY_HEADS = "more heads than a task has rows"


def decoding(lengths: list[int], heads: int = 2, keys: int = 1600) -> Call:
    rows = np.zeros((len(lengths), 2, keys, 16), np.float16)
    query = np.zeros((len(lengths), heads, 1, 16), np.float16)
    return ops.incre_flash_attention.bind(
        query,
        key=[rows],
        value=[rows],
        actual_seq_lengths=np.array(lengths, np.int64),
        num_heads=heads,
        num_key_value_heads=2,
        input_layout="BNSD",
    )


@pytest.mark.parametrize(
    ("call", "met"),
    [
        ({"lengths": [1600, 0, 1500]}, {SPLIT, SUNK_PARTS, ONE_ROW}),
        ({"lengths": [1600, 1, 1500]}, {SUNK_PARTS, ONE_ROW}),  # no row without keys
        ({"lengths": [160, 0, 150]}, {ONE_ROW}),  # of one tile, which nothing splits
        ({"lengths": [160, 0], "heads": 2}, {ONE_ROW}),  # two key heads, and so two items
        ({"lengths": [1600] * 12, "heads": 64}, set()),  # 24 tasks: each core has one
        ({"lengths": [1600] * 13, "heads": 64}, {MERGES}),  # 26, which halves of keys even out
        ({"lengths": [1500] * 13, "heads": 64}, set()),  # of three tiles
        ({"lengths": [1600] * 13, "heads": 8}, set()),  # a step of the merge for each vector core at most
        (
            {"lengths": [160] * 2, "heads": 1026},
            {LAST_ROW, MANY_HEADS},
        ),  # 513 rows, the last in the fifth task
        ({"lengths": [160] * 2, "heads": 258}, set()),  # 129 rows: a core has first tasks or second ones
        ({"lengths": [160] * 2, "heads": 1028}, {MANY_HEADS}),
    ],
)
def test_whether_a_call_is_what_a_case_of_a_kernel_is_asked_for(call: dict[str, Any], met: set[str]) -> None:
    space = space_of("incre_flash_attention")
    assert {each.name for each in demands(space) if each.holds(decoding(**call))} == met


def test_cases_of_a_kernel_are_asked_for_it_in_turns_of_few_tasks() -> None:
    operator = ops.incre_flash_attention
    kernel = UserProject.at(generated_dir() / operator.name, operator).kernels()[0]
    (member,) = Stream(operator, kernels=(kernel,)).members
    asked = [demand.name if (demand := member._demand(turn)) else "" for turn in range(20)]
    wanted = [SPLIT, SUNK_PARTS, MERGES, MANY_HEADS, ONE_ROW, LAST_ROW, ONE_ITEM]
    assert [name for name in asked if name] == wanted
    found = [member._workload(turn, 0) for turn, name in enumerate(asked) if name]
    assert not any(asked[:3]) and found == [FEW, FEW, "several", ANY, FEW, "several many", ANY]
    (plain,) = Stream(operator).members
    assert not any(plain._demand(turn) for turn in range(20))
    assert member._workload(14, 0) == WIDE, "rows that one copy cannot load"


def test_blocks_are_selected_from_several_sorted_groups() -> None:
    """Of small steps between blocks alone: a tile of 512 keys has three groups of 32 then."""
    space = space_of("nsa_compress_attention")
    (demand,) = (each for each in demands(space) if each.name == "several groups of sorted blocks")
    steps = [demand.pins(np.random.default_rng(seed)) for seed in range(20)]
    assert {each["select_block_size"] // each["compress_stride"] for each in steps} <= {1, 2, 3, 4, 5}


def selecting(positions: int, blocks: int = 3) -> Call:
    rows, query = np.zeros((600, 1, 16), np.float16), np.zeros((positions, 136, 16), np.float16)
    lists = np.arange(blocks, dtype=np.int32)[None, None].repeat(positions, 0)
    ends = [np.array([each], np.int64) for each in (positions, 600)]
    return _selecting().bind(query, rows, rows, lists, *ends)


def _selecting() -> Operator:
    return load(specs_dir() / "variants/nsa_selection.py")


@pytest.mark.parametrize(
    ("call", "split"),
    [({"positions": 6}, True), ({"positions": 7}, False), ({"positions": 6, "blocks": 1}, False)],
)
def test_each_position_with_a_list_of_its_own_is_a_task(call: dict[str, int], split: bool) -> None:
    """Of two tiles of heads: of seven positions there are more than for half of the cores."""
    (space,) = spaces(_selecting())
    (demand,) = (each for each in demands(space) if each.name == SUNK_PARTS)
    assert demand.holds(selecting(**call)) is split
    sizes = [demand.pins(np.random.default_rng(seed)) for seed in range(20)]
    assert all(each["longest(query_ends)"] <= 3 and each["K"] == 1 < each["X"] for each in sizes)


def test_parts_rise_far_in_one_case_and_by_little_to_both_sides_in_another() -> None:
    """Either side of a merge is rescaled in some rows, and by less than what a result has of it."""
    space = space_of("incre_flash_attention")
    asked = {each.name: each.pins(np.random.default_rng(0)) for each in demands(space)}
    assert (asked[SUNK_PARTS][SLOPE], asked[MERGES][SLOPE]) == (1.0, -0.25)
