"""What cases of kernels of prompts are pinned to where rows have many key tiles: growing maxima, tasks of two
halves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from attndsl.spec.binding.call import Call
from attndsl.verify.cases.case import drawn_case
from attndsl.verify.cases.demand import Demand
from attndsl.verify.cases.features import query_counts
from attndsl.verify.cases.prompt_demands import of_prompts, unlimited
from attndsl.verify.space.solve import solve
from attndsl.verify.space.space import CaseSpace
from attndsl.verify.space.values import (
    ANY,
    FILL,
    GROUP,
    RAMP,
    ROOMY,
    SCORES_OF_HALVES,
    SLOPE,
    SPIKED,
    UNEVEN,
    WORKLOAD,
    fill_of,
)
from tests.support.case_spaces import space_of

TILE, CORES = 512, 24


def asked(of: str) -> list[Demand]:
    return list(of_prompts(space_of(of)))


def test_prompts_have_them_and_one_position_and_selections_have_none() -> None:
    names = {
        of: [each.name for each in asked(of)]
        for of in ("sigmoid", "documents", "ring_step", "self_attention", "self_attention_prefix_encoder")
    }
    assert names["sigmoid"] == names["documents"] and len(names["sigmoid"]) == 4
    assert names["ring_step"] == [*names["sigmoid"], "a single row whose maxima grow"]  # with more keys
    assert names["self_attention"] == names["self_attention_prefix_encoder"]
    assert names["self_attention"] == [*names["ring_step"], "a batch row of one position beside longer ones"]
    assert not asked("incre_flash_attention") and not asked("nsa_compress_attention")


def test_maxima_grow_over_three_tiles_of_tasks_for_more_than_half_of_the_cores() -> None:
    growing, *_ = asked("sigmoid")
    pins, beside = growing.pins(np.random.default_rng(0)), dict(growing.beside(0))
    assert pins == {FILL: RAMP, SLOPE: SPIKED} and beside[GROUP] == 1
    sizes = space_of("sigmoid").operator.axis_extents
    rows = beside[str(sizes["Q"])]
    assert 2 * TILE < rows < 3 * TILE and 2 * beside[str(sizes["N"])] * -(-rows // 256) > CORES


def roomy(of: str) -> CaseSpace:
    space = space_of(of)
    return replace(space, values=replace(space.values, most_elements=ROOMY, most_scores=SCORES_OF_HALVES))


def call_of(of: str, asking: Demand, level: int = 0, **changed: Any) -> Call:
    space, rng = roomy(of), np.random.default_rng(1)
    wanted = {**asking.pins(rng), **asking.beside(level), WORKLOAD: ANY, **changed}
    assignment = solve(space, rng, wanted)
    assert assignment is not None
    drawn = drawn_case(space.operator, space, assignment, rng, seed=0, number=0)
    assert drawn is not None
    return drawn[1]


def test_keys_of_fewer_heads_are_split_and_shorter_rows_have_two_tiles() -> None:
    growing, *_ = asked("sigmoid")
    assert growing.holds(call_of("sigmoid", growing))
    assert not growing.holds(call_of("sigmoid", growing, K=1, N=1))
    assert not growing.holds(call_of("sigmoid", growing, S=2 * TILE))


def test_each_core_has_a_task_of_more_rows_than_a_step() -> None:
    _, long, *_ = asked("sigmoid")
    assert long.holds(call_of("sigmoid", long))
    assert not long.holds(call_of("sigmoid", long, S=256))
    assert not long.holds(call_of("sigmoid", long, K=CORES - 1, N=CORES - 1))


def test_rows_of_calls_of_one_position_grow_in_many_heads() -> None:
    """A kernel of decoders alone has no long rows of queries: what it is asked for next are heads for more
    than half of the cores, whose keys are not split."""
    growing, *_ = asked("self_attention")
    found = call_of("self_attention", growing, 1, calcType=2, maskType=0, isTriuMask=0, windowSize=0)
    assert found.extents["Q"] == 1 and 2 * found.extents["K"] > CORES and growing.holds(found)
    assert found.extents["T"] == 2 * TILE + TILE // 8


def test_halves_are_odd_and_fill_two_rounds_where_less_gives_none() -> None:
    _, long, uneven, *_ = asked("self_attention")
    few, many = (dict(long.beside(level)) for level in (0, 1))
    of_task = 2 * 231 - 1  # both vector cores have rows in the last of 8 steps of 16
    assert few["longest(seqLen)"] == of_task and few["longest(tokenOffset)"] == 2 * TILE + TILE // 8 + 1
    assert many["longest(seqLen)"] == many["longest(tokenOffset)"] == 256 + 2 * of_task - 1
    assert long.halves and uneven.halves and uneven.pins(np.random.default_rng(0))[SLOPE] == UNEVEN
    tied = {level: dict(asked("sigmoid")[1].beside(level))["S"] for level in (0, 1)}
    assert tied == {0: 1177, 1: 1177}


def test_choices_that_limit_lengths_are_made_otherwise() -> None:
    """The triangle of a mask: without it queries and keys are 128 at most."""
    assert unlimited(space_of("self_attention"), 1000) == {"isTriuMask": 1}
    assert unlimited(space_of("self_attention"), 128) == unlimited(space_of("sigmoid"), 1000) == {}


def test_parts_of_several_heads_have_several_positions() -> None:
    """Of several key/value heads where rows have more keys than positions."""
    parts = asked("ring_step")[3]
    found = call_of("ring_step", parts)
    assert (found.extents["K"], found.extents["N"], found.extents["Q"]) == (2, 6, 11) and parts.holds(found)
    assert not parts.holds(call_of("ring_step", parts, S=1)), "one position"
    assert not parts.holds(call_of("ring_step", parts, K=6, **{GROUP: 1})), "one head a task"
    assert not parts.holds(call_of("ring_step", parts, B=27)), "keys are not split"
    tied = asked("sigmoid")[3]
    found = call_of("sigmoid", tied)
    assert (found.extents["K"], found.extents["N"]) == (1, 2) and tied.holds(found)


def test_a_single_row_grows_where_rows_have_keys_of_their_own() -> None:
    *_, alone = asked("ring_step")
    found = call_of("ring_step", alone)
    assert (
        found.extents["Q"] == 1
        and alone.holds(found)
        and alone.pins(np.random.default_rng(0))[SLOPE] == SPIKED
    )
    assert not alone.holds(call_of("ring_step", alone, S=2))
    assert not alone.holds(call_of("ring_step", alone, T=TILE))
    assert all("single" not in each.name for each in asked("sigmoid"))


def test_rows_of_one_position_stand_before_and_behind_longer_ones() -> None:
    """Each batch row has a task for every core, so that one of a single row comes behind one of several."""
    *_, short = asked("self_attention_prefix_encoder")
    found = call_of("self_attention_prefix_encoder", short)
    counts = query_counts(found).tolist()
    assert counts == [1, 2 * 8 + 3, 1] and found.extents["K"] == CORES and short.holds(found)
    full = {fill_of("seqLen"): "full"}
    assert not short.holds(call_of("self_attention_prefix_encoder", short, **full)), "rows of equal length"


def test_pages_of_halves_are_no_larger_than_tensors_may_be() -> None:
    """Twice as many as keys need where there is room, which a task for each core leaves none for."""
    growing, halves, *_ = (dict(each.beside(0)) for each in asked("self_attention_prefix_encoder"))
    for found, shares in ((growing, 2), (halves, 1)):
        pages, keys = found["numBlocks"] * found["blockSize"], found["longest(kvSeqLen)"]
        assert pages >= shares * keys + found["blockSize"] and pages * found["headNum"] * 128 <= ROOMY
    assert (halves["longest(kvSeqLen)"] - halves["longest(seqLen)"]) % 64, "halves end within a repeat"
