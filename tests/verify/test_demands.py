"""What cases of a kernel are pinned to: data, sizes and fills with which each place decides something."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from attndsl.verify.cases.case import drawn_case
from attndsl.verify.cases.demand import Demand
from attndsl.verify.cases.kernel_demands import demands
from attndsl.verify.cases.situations import situations
from attndsl.verify.cases.wanted_kernel import FIRST, first_sizes, own_pages
from attndsl.verify.space.solve import solve
from attndsl.verify.space.values import (
    ANY,
    FEW,
    FEW_FORCED,
    FILL,
    GAPS,
    GROUP,
    LOST,
    MASK,
    PROBE,
    RAMP,
    ROOMY,
    SLOPE,
    SUNK,
    WARNED,
    WORKLOAD,
    fill_of,
)
from tests.support.case_spaces import space_of


def demand(of: str, name: str) -> Demand:
    return next(each for each in demands(space_of(of)) if each.name == name)


def pins(of: str, name: str, seed: int = 0) -> dict[str, Any]:
    return dict(demand(of, name).pins(np.random.default_rng(seed)))


def size_of(of: str, axis: str) -> str:
    return str(space_of(of).operator.axis_extents[axis])


SPLIT, SUNK_PARTS, MERGES, ONE_ROW, LAST_ROW = (
    "rows without keys whose keys are split",
    "parts of scores far below 0",
    "several steps of a merge on a core",
    "tasks of one row",
    "a task of one row after larger ones",
)


LOST_ROWS = "rows without scores and blocks behind the last key"
MANY_HEADS = "more heads than a task has rows"
EVEN, ONE_ITEM = "several items of split keys on a core", "a call of one item"
FAR_HEADS = "heads of a position farther apart than a copy"
FAR_KEYS = "keys just farther apart than a copy"
WHOLE_TILE = "items of one whole tile whose last block ends behind it"


def test_which_demands_operators_have() -> None:
    """What selects of all keys of a row splits none; without lengths and masks no row is without keys. Where
    each batch row has one position, keys of more tasks than cores are split to even these out."""
    names = {of: [each.name for each in demands(space_of(of))] for of in (
        "incre_flash_attention", "relay_attention", "nsa_compress_attention", "sigmoid",
    )}  # fmt: skip
    decoding = [SPLIT, SUNK_PARTS, EVEN, MANY_HEADS, ONE_ROW, LAST_ROW, ONE_ITEM]
    assert names["incre_flash_attention"] == decoding and names["relay_attention"] == [*decoding, FAR_KEYS]
    selecting = [
        "several groups of sorted blocks",
        LOST_ROWS,
        WHOLE_TILE,
        MANY_HEADS,
        ONE_ROW,
        LAST_ROW,
        ONE_ITEM,
        FAR_KEYS,
    ]
    assert names["nsa_compress_attention"] == selecting
    assert names["sigmoid"] == [SUNK_PARTS, MERGES, MANY_HEADS, ONE_ROW, LAST_ROW, FAR_HEADS, ONE_ITEM]
    every = [each for of in names for each in demands(space_of(of))]
    others = (LAST_ROW, EVEN, ONE_ITEM, WHOLE_TILE, MANY_HEADS, LOST_ROWS, FAR_HEADS, FAR_KEYS)
    assert {each.workload for each in every if each.name not in others} == {FEW}
    assert {each.name for each in every if each.whole} == {
        SUNK_PARTS,
        MERGES,
        EVEN,
        LOST_ROWS,
        FAR_HEADS,
        FAR_KEYS,
    }
    assert {each.name for each in every if each.roomy} == {EVEN, FAR_HEADS, FAR_KEYS}
    assert [each.name for each in demands(space_of("self_attention"))][-2:] == [ONE_ITEM, FAR_KEYS]


def test_rows_are_without_keys_by_lengths_groups_and_masks() -> None:
    """Of keys of a row, of a group and of groups; of three batch rows at least."""
    found = pins("relay_attention", SPLIT)
    fills = {fill_of(name): GAPS for name in ("kvSeqLen", "kvShareLen", "kvShareMap")}
    batch = size_of("relay_attention", "B")
    assert found == {FILL: RAMP, SLOPE: 1.0, batch: found[batch], **fills} and found[batch] >= 3
    masked = pins("incre_flash_attention", SPLIT)
    assert masked[MASK] == "rows" and masked[fill_of("actual_seq_lengths")] == GAPS
    drawn = {pins("relay_attention", SPLIT, seed)[batch] for seed in range(20)}
    assert drawn == {3, 5}, "so few that keys are split"


def test_parts_are_sunk_with_a_short_last_tile() -> None:
    """Of less than the 64 lanes of a repeat, and pages of their own where keys are paged."""
    tile = space_of("incre_flash_attention").edges[0][0]
    keys = size_of("incre_flash_attention", "T")
    for seed in range(12):
        found = pins("incre_flash_attention", SUNK_PARTS, seed)
        assert (found[FILL], found[SLOPE]) == (SUNK, 1.0)
        assert found[keys] > tile and 0 < found[keys] % tile < 64
    pages, size, batch = (size_of("incre_flash_attention", axis) for axis in "PRB")
    assert found[pages] == 40 and found[batch] == 1 and found[pages] * found[size] >= tile + found[size]


def test_merges_of_many_rows_fall_or_rise_by_little_along_the_keys() -> None:
    """Twice as many positions as vector cores, each of which has two slots for results."""
    of = space_of("sigmoid")
    cores = of.operator.device.aic * of.operator.device.architecture.aiv_per_aic
    for seed in range(6):
        found = pins("sigmoid", MERGES, seed)
        assert (found[FILL], found[SLOPE]) == (RAMP, -0.25)
        assert found[size_of("sigmoid", "Q")] >= 2 * cores and GROUP not in found


def test_masks_hide_some_of_the_rows_of_a_merge() -> None:
    """Added ones, too, and in an operator whose rows are without keys in no other way."""
    assert pins("self_attention", MERGES)[MASK] == "rows"
    assert pins("sigmoid", MERGES)[MASK] == pins("block_sparse", MERGES)[MASK] == "none"


def test_tasks_are_a_few_more_than_cores_where_splits_even_them_out() -> None:
    """Of one key head with at least as many query heads as lanes, over rows of four tiles that are full; the
    busiest core saves a tenth of its work."""
    of = space_of("incre_flash_attention")
    cores, (tile, _) = of.operator.device.aic, of.edges[0]
    batch, keys = size_of("incre_flash_attention", "B"), size_of("incre_flash_attention", "T")
    for seed in range(6):
        found = pins("incre_flash_attention", EVEN, seed)
        tasks = found[batch]
        assert tasks > cores and 10 * -(-2 * tasks // cores) <= 18 * -(-tasks // cores)
        assert found[keys] == 3 * tile + 1 and (found[FILL], found[SLOPE]) == (RAMP, -0.25)
        assert 64 <= found[GROUP] <= of.schedule.max_rows
        assert found[fill_of("actual_seq_lengths")] == "full"
    assert pins("cascade", EVEN)[size_of("cascade", "K")] == 1  # more heads would be more tasks
    shared = pins("relay_attention", EVEN)
    assert all(shared[fill_of(name)] == "full" for name in ("kvSeqLen", "kvShareLen", "kvShareMap"))


def test_a_call_of_one_item_has_one_row_one_head_and_rising_scores() -> None:
    found = pins("sigmoid", ONE_ITEM)
    assert (found[FILL], found[SLOPE], found[GROUP], found[size_of("sigmoid", "B")]) == (RAMP, 1.0, 1, 1)
    assert 1 < found[size_of("sigmoid", "Q")] <= min(space_of("sigmoid").tiles)


@pytest.mark.parametrize(
    "of",
    [
        "incre_flash_attention",
        "relay_attention",
        "nsa_compress_attention",
        "sigmoid",
        "cascade",
        "mla_decode",
    ],
)
def test_demands_pin_variables_that_there_are(of: str) -> None:
    known = {*space_of(of).variables, SLOPE, LOST, FEW_FORCED}
    for each in demands(space_of(of)):
        for seed in range(4):
            assert set(each.pins(np.random.default_rng(seed))) <= known, each.name


@pytest.mark.parametrize(("queries", "heads", "holds"), [(5, 1, True), (5, 2, False), (600, 1, False)])
def test_a_call_of_one_item_has_one_task_of_one_tile(queries: int, heads: int, holds: bool) -> None:
    rows = np.zeros((1, heads, queries, 16), np.float16)
    call = space_of("sigmoid").operator.bind(rows, rows, rows)
    assert demand("sigmoid", ONE_ITEM).holds(call) is holds


@pytest.mark.parametrize(("positions", "heads", "holds"), [(520, 2, True), (511, 2, False), (520, 1, False)])
def test_heads_are_apart_by_all_positions_where_a_layout_has_them_first(
    positions: int, heads: int, holds: bool
) -> None:
    """Of 128 channels each: 511 positions are as far as one copy takes, and a single head has no next one."""
    rows = np.zeros((1, heads, positions, 128), np.float16)
    call = space_of("sigmoid").operator.bind(rows, rows[:, :1], rows[:, :1])
    assert demand("sigmoid", FAR_HEADS).holds(call) is holds
    found = pins("sigmoid", FAR_HEADS)
    assert found[GROUP] > 1 and found[size_of("sigmoid", "Q")] * 128 > 65535


@pytest.mark.parametrize(
    ("heads", "holds"), [(512, True), (511, False), (576, False)], ids=["one more", "one copy", "far more"]
)
def test_keys_are_just_farther_apart_than_a_copy(heads: int, holds: bool) -> None:
    """Heads of 128 channels: 511 are as far as a copy takes."""
    space = space_of("self_attention_prefix_encoder")
    asking = demand("self_attention_prefix_encoder", FAR_KEYS)
    wanted = {**asking.pins(np.random.default_rng(0)), "headNum": heads, "headSize": 128, WORKLOAD: ANY}
    roomy = replace(space, values=replace(space.values, most_elements=ROOMY))
    for seed in range(8):
        assignment = solve(roomy, np.random.default_rng(seed), wanted, walks=8)
        drawn = assignment and drawn_case(
            space.operator, roomy, assignment, np.random.default_rng(seed), seed=0, number=0, attempt=0
        )
        if drawn and "numBlocks blockSize (kvHeads headSize)" in drawn[1].layouts["key"]:
            assert asking.holds(drawn[1]) is holds
            return
    raise AssertionError("no call with keys that have all heads beside each other")


def test_few_positions_and_keys_lie_so_far_apart() -> None:
    """With 512 heads of each, tensors are large as it is."""
    for seed in range(8):
        found = pins("self_attention", FAR_KEYS, seed)
        assert 0 < found["qRows"] <= 3 and 1 < found["maxSeqLen"] <= 8 and found["batch"] == 1
        assert found["fill(seqLen)"] == found["fill(tokenOffset)"] == "full"


def test_kernels_of_fewer_heads_or_other_layouts_have_no_keys_so_far_apart() -> None:
    for of in ("incre_flash_attention", "sigmoid", "ring_step"):
        assert FAR_KEYS not in [each.name for each in demands(space_of(of))]


def test_tasks_of_one_row_have_one_head_and_one_position() -> None:
    found = pins("incre_flash_attention", ONE_ROW)
    assert found[GROUP] == 1 and found[size_of("incre_flash_attention", "B")] >= 3
    single = pins("sigmoid", ONE_ROW)
    assert single[size_of("sigmoid", "Q")] == 1 and single[GROUP] == 1


def test_the_last_task_has_one_row_more_than_whole_ones() -> None:
    """So many whole ones that the tasks of one row come round to each core."""
    of = space_of("sigmoid")
    most, cores = of.schedule.max_rows, of.operator.device.aic
    found = pins("sigmoid", LAST_ROW)
    rows = found[size_of("sigmoid", "Q")]
    assert rows % most == 1 and rows // most > 1 and found[GROUP] == 1
    assert np.gcd(rows // most + 1, cores) == 1
    heads = pins("incre_flash_attention", LAST_ROW)
    assert heads["num_heads"] == heads[GROUP] == rows, "of one position, heads are the rows"
    assert cores // 2 < heads[size_of("incre_flash_attention", "B")] <= cores
    assert demand("sigmoid", LAST_ROW).workload == "several many"


@pytest.mark.parametrize(
    ("workload", "level", "wanted"),
    [("long few", 0, "long few"), ("long few", 1, "several few"), ("several many", 1, "several many")],
)
def test_later_attempts_ask_for_less(workload: str, level: int, wanted: str) -> None:
    of = Demand("some", lambda rng: {}, lambda call: True, workload)
    assert of.workload_of(level) == wanted


@pytest.mark.parametrize("of", ["incre_flash_attention", "sigmoid"])
def test_more_heads_than_a_task_has_rows(of: str) -> None:
    """A few more: the last task has the rest."""
    found = pins(of, MANY_HEADS)
    assert found[GROUP] == 264 and found.get("N", found.get("num_heads")) == 264


@pytest.mark.parametrize(("heads", "holds"), [(264, True), (256, False), (512, False), (8, False)])
def test_heads_of_tasks_that_are_not_alike(heads: int, holds: bool) -> None:
    query, rows = np.zeros((1, heads, 2, 16), np.float16), np.zeros((1, 1, 2, 16), np.float16)
    call = space_of("gqa_prefill_lse").operator.bind(query, rows, rows)
    assert demand("gqa_prefill_lse", MANY_HEADS).holds(call) is holds


def test_weights_of_windows_stay_for_a_while() -> None:
    """Their counts differ by two; of plain numbers, as a ramp selects the same blocks with other weights."""
    for seed in range(8):
        found = pins("nsa_compress_attention", "several groups of sorted blocks", seed)
        stride = found["compress_stride"]
        assert found["select_block_size"] // stride >= found["compress_block_size"] // stride + 2
        assert (found[FILL], found[MASK]) == ("normal", "none") and SLOPE in found, "none is forced"


def test_steps_of_selected_blocks_are_small() -> None:
    found = [pins("nsa_compress_attention", "several groups of sorted blocks", seed) for seed in range(20)]
    steps = {each["select_block_size"] // each["compress_stride"] for each in found}
    assert min(steps) >= 1 and max(steps) <= 512 // (3 * 32) and len(steps) > 1


def test_blocks_reach_behind_the_keys_of_rows_without_scores() -> None:
    """Blocks do not end with a tile, whatever their number; no mask gives a hidden key a score."""
    keys, blocks = (f"longest(actual_{each}_seq_kvlen)" for each in ("cmp", "sel"))
    for seed in range(8):
        found = pins("nsa_compress_attention", LOST_ROWS, seed)
        step = found["select_block_size"] // found["compress_stride"]
        assert step in (3, 5, 7) and found["compress_stride"] % 16 == 0
        assert 512 < found[keys] <= 3 * 512 < found[blocks] * step - 512
        assert found[LOST] and found[FEW_FORCED] and found[WARNED] and found[MASK] == "none"


def test_the_last_block_of_a_whole_tile_has_most_of_its_keys_in_it() -> None:
    """Many are selected, none is forced, and the last keys have the largest scores."""
    for seed in range(12):
        found = pins("nsa_compress_attention", WHOLE_TILE, seed)
        step = found["select_block_size"] // found["compress_stride"]
        assert step // 2 < 512 % step < step
        assert found["longest(actual_cmp_seq_kvlen)"] == 512 and found["select_block_count"] == 32
        assert (found[FILL], found[MASK]) == (RAMP, "none") and found[SLOPE] > 1
        assert found[fill_of("actual_cmp_seq_kvlen")] == "full"


# The first cases of a kernel --------------------------------------------------------------------------------


def test_defaults_of_no_use_are_not_asked_for() -> None:
    """Bounds of 0, where a clamp is none, and what the contract has no value of."""
    found = first("self_attention", SUNK)
    legal = space_of("self_attention").variables
    floats = {each.name for each in space_of("self_attention").operator.params if each.type is float}
    asked = {name: value for name, value in found.items() if name in floats}
    assert asked and all(value and value in legal[name] for name, value in asked.items())


def test_the_first_cases_have_these_data() -> None:
    assert FIRST == ((SUNK, "long few"), (RAMP, "several many"), (PROBE, "many"))


def first(of: str, data: str, seed: int = 0) -> dict[str, Any]:
    return first_sizes(space_of(of), np.random.default_rng(seed), data)


def test_numbers_of_first_cases_are_their_defaults_but_for_zero() -> None:
    """As users have them: the scale of scores is no parameter to be varied there."""
    for data in (SUNK, RAMP, PROBE):
        found = first("incre_flash_attention", data)
        assert found["scale_value"] == 1.0 and "num_heads" not in found
        assert (found.get(SLOPE) == 1.0) is (data in (RAMP, SUNK))


def test_probes_have_many_rows_a_task() -> None:
    """So many positions, or query heads a key head where each batch row has one."""
    for seed in range(8):
        assert first("incre_flash_attention", PROBE, seed)[GROUP] >= 32
        assert first("sigmoid", PROBE, seed)[size_of("sigmoid", "Q")] >= 128
    assert GROUP not in first("sigmoid", PROBE)
    assert size_of("sigmoid", "Q") not in first("sigmoid", SUNK)
    assert GROUP not in first("relay_attention", SUNK)


def test_rows_of_paged_keys_have_pages_of_their_own() -> None:
    """Of sunk scores one row that is longer than the ring, of rising ones three of two tiles, with as many
    query heads as there may be."""
    of = space_of("incre_flash_attention")
    (tile, ring), names = of.edges[0], [size_of("incre_flash_attention", axis) for axis in "PRB"]
    pages, size, batch = names
    sunk, ramp = (first("incre_flash_attention", data) for data in (SUNK, RAMP))
    most = max(of.variables[pages])
    assert sunk[pages] == ramp[pages] == most == 40
    assert sunk[batch] == 1 and sunk[size] * most >= ring * tile + sunk[size]
    assert ramp[batch] == 3 and ramp[size] * most >= 3 * (tile + ramp[size])
    assert ramp[GROUP] == max(of.variables[GROUP]) and GROUP not in sunk
    for smaller in of.variables[size]:
        assert smaller >= ramp[size] or smaller * most < 3 * (tile + smaller)
    assert own_pages(of, 1000, 10**6) == {} and own_pages(space_of("sigmoid"), 1, 1) == {}
    assert not set(names) & first("incre_flash_attention", PROBE).keys()


# Situations -------------------------------------------------------------------------------------------------


def test_rows_without_keys_come_from_each_kind_of_length() -> None:
    """Half of the time without any workload; of one source among several with those of the others."""
    named = {each.name: each for each in situations(space_of("relay_attention"))}
    fills = {fill_of(name): GAPS for name in ("kvSeqLen", "kvShareLen", "kvShareMap")}
    for name in ("a row without keys among others", "a row with keys of one source and none of another"):
        drawn = [named[name].pins(np.random.default_rng(seed)) for seed in range(12)]
        assert all(each.items() >= fills.items() for each in drawn)
        assert {each.get(WORKLOAD) for each in drawn} == {None, "any"}
    edge = named["a row that ends at the edge of a tile"].pins(np.random.default_rng(0))
    assert edge == {WORKLOAD: "edge many"}


@pytest.mark.parametrize("name", [SUNK_PARTS, EVEN])
def test_merges_have_factors_that_differ_by_head(name: str) -> None:
    asked = demand("incre_flash_attention", name)
    own = {f"layout({each})": "per channel" for each in ("quant_scale2", "quant_offset2")}
    assert asked.beside(0) == own  # biases by head are so in each layout
    assert asked.beside(1) == {}
