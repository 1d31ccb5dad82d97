"""Cases for a kernel: the first of them have the data and the work that show most mistakes in kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attndsl.api import ops
from attndsl.base.package_files import generated_dir
from attndsl.execute.user_project import UserProject
from attndsl.spec.binding.call import Call
from attndsl.verify.cases.cases import Stream, spaces
from attndsl.verify.cases.features import work_of
from attndsl.verify.cases.kernel_demands import demands
from attndsl.verify.space.values import FEW, FILL, PROBE, RAMP, SLOPE, SUNK

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
    "several steps of a merge on a core",
    "tasks of one row",
)
LAST_ROW = "a task of one row after larger ones"


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
        ({"lengths": [1600] * 4, "heads": 96}, {SUNK_PARTS}),  # 48 steps, one for each vector core
        ({"lengths": [1600] * 5, "heads": 96}, {SUNK_PARTS, MERGES}),
        ({"lengths": [160] * 2, "heads": 258}, {LAST_ROW}),  # 129 rows
        ({"lengths": [160] * 2, "heads": 260}, set()),
    ],
)
def test_whether_a_call_is_what_a_case_of_a_kernel_is_asked_for(call: dict[str, Any], met: set[str]) -> None:
    (space,) = spaces(ops.incre_flash_attention)
    assert {each.name for each in demands(space) if each.holds(decoding(**call))} == met


def test_cases_of_a_kernel_are_asked_for_it_in_turns_of_few_tasks() -> None:
    operator = ops.incre_flash_attention
    kernel = UserProject.at(generated_dir() / operator.name, operator).kernels()[0]
    (member,) = Stream(operator, kernels=(kernel,)).members
    asked = [demand.name if (demand := member._demand(turn)) else "" for turn in range(16)]
    assert [name for name in asked if name] == [SPLIT, SUNK_PARTS, MERGES, ONE_ROW, LAST_ROW]
    found = [member._workload(turn, 0) for turn, name in enumerate(asked) if name]
    assert not any(asked[:3]) and found == [FEW] * 4 + ["several many"]
    (plain,) = Stream(operator).members
    assert not any(plain._demand(turn) for turn in range(16))


def test_blocks_are_selected_from_several_sorted_groups() -> None:
    """Of small steps between blocks alone: a tile of 512 keys has three groups of 32 then."""
    (space,) = spaces(ops.nsa_compress_attention)
    (demand,) = (each for each in demands(space) if each.name == "several groups of sorted blocks")
    steps = [demand.pins(np.random.default_rng(seed)) for seed in range(20)]
    assert {each["select_block_size"] // each["compress_stride"] for each in steps} <= {1, 2, 3, 4, 5}


def test_parts_rise_in_one_case_and_fall_in_another() -> None:
    """Either side of a merge is rescaled in one of them alone."""
    (space,) = spaces(ops.incre_flash_attention)
    asked = {each.name: each.pins(np.random.default_rng(0)) for each in demands(space)}
    assert (asked[SUNK_PARTS][SLOPE], asked[MERGES][SLOPE]) == (1.0, -1.0)
