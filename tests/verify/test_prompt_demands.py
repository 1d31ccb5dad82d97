"""What cases of kernels of prompts are pinned to where rows have many key tiles: growing maxima, tasks of two
halves."""

from __future__ import annotations

from typing import Any

import numpy as np

from attndsl.spec.binding.call import Call
from attndsl.verify.cases.case import drawn_case
from attndsl.verify.cases.demand import Demand
from attndsl.verify.cases.prompt_demands import of_prompts
from attndsl.verify.space.solve import solve
from attndsl.verify.space.values import ANY, FILL, GROUP, RAMP, SLOPE, WORKLOAD
from tests.support.case_spaces import space_of

TILE, CORES = 512, 24


def asked(of: str) -> list[Demand]:
    return list(of_prompts(space_of(of)))


def test_prompts_have_them_and_one_position_and_selections_have_none() -> None:
    assert len(asked("sigmoid")) == len(asked("documents")) == 2
    assert not asked("incre_flash_attention") and not asked("nsa_compress_attention")


def test_maxima_grow_over_three_tiles_of_tasks_for_more_than_half_of_the_cores() -> None:
    growing, _ = asked("sigmoid")
    pins, beside = growing.pins(np.random.default_rng(0)), dict(growing.beside())
    assert pins == {FILL: RAMP, SLOPE: 2.0} and beside[GROUP] == 1
    sizes = space_of("sigmoid").operator.axis_extents
    rows = beside[str(sizes["Q"])]
    assert 2 * TILE < rows < 3 * TILE and 2 * beside[str(sizes["N"])] * -(-rows // 256) > CORES


def call_of(of: str, asking: Demand, **changed: Any) -> Call:
    space, rng = space_of(of), np.random.default_rng(1)
    wanted = {**asking.pins(rng), **asking.beside(), WORKLOAD: ANY, **changed}
    assignment = solve(space, rng, wanted)
    assert assignment is not None
    drawn = drawn_case(space.operator, space, assignment, rng, seed=0, number=0)
    assert drawn is not None
    return drawn[1]


def test_keys_of_fewer_heads_are_split_and_shorter_rows_have_two_tiles() -> None:
    growing, _ = asked("sigmoid")
    assert growing.holds(call_of("sigmoid", growing))
    assert not growing.holds(call_of("sigmoid", growing, K=1, N=1))
    assert not growing.holds(call_of("sigmoid", growing, S=2 * TILE))


def test_each_core_has_a_task_of_more_rows_than_a_step() -> None:
    _, long = asked("sigmoid")
    assert long.holds(call_of("sigmoid", long))
    assert not long.holds(call_of("sigmoid", long, S=256))
    assert not long.holds(call_of("sigmoid", long, K=CORES - 1, N=CORES - 1))
