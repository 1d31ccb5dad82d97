"""Which task a block takes in which turn: every one once, as much as others have, the smallest first."""

from __future__ import annotations

from itertools import product
from math import ceil
from typing import Any

import pytest

from attndsl.expr import Symbol
from attndsl.lowering import work_partition
from attndsl.lowering.attention.item_turns import turn_of
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.masks.visibility import later_positions_see_more
from attndsl.lowering.match.schedule_options import Schedule
from attndsl.lowering.signature.host_scalars import CORES, L2_BYTES, START_TOGETHER
from attndsl.lowering.work_partition import (
    add_work_fields,
    item_of_round,
    round_of_turn,
    there_and_back,
    with_item_order,
)
from attndsl.tile.program import BLOCK_COUNT, BLOCK_INDEX
from attndsl.tile.statements import Let
from tests.support.builders import PACKED, PADDED, Change, attention, context, masked

i, j, W = Symbol("i"), Symbol("j"), Symbol("W")
CAUSAL, WINDOW, BEFORE = masked(j > i), masked((j > i) | (j < i - W)), masked(j < i)
Task = tuple[int, int, int, int]
"""Batch row, first head, first position and number of positions."""


def prompts(*scores: Change, max_rows: int = 256, **options: Any) -> Context:
    made = context(attention(PADDED, scores=scores), positions=Symbol("Q"), max_rows=max_rows, **options)
    (ordered,) = with_item_order((made,))
    return ordered


def numbers(c: Context, **sizes: int) -> dict[str, Any]:
    """The tiling fields of a call of so many rows, heads and positions on so many cores."""
    add_work_fields((c,))
    known: dict[str, Any] = {"D": 128, "E": 128, "T": sizes["Q"], "K": sizes["N"], **sizes}
    known |= {CORES.name: sizes["cores"], L2_BYTES.name: sizes.get("l2", 192) << 20, START_TOGETHER.name: 1}
    for field in c.inventory.fields:
        known[field.name] = field.value.evaluate({**known, **{f"tiling.{k}": v for k, v in known.items()}})
    return known


def tasks(c: Context, known: dict[str, Any]) -> list[Task]:
    found = []
    for task in range(known["tasks"]):
        env = {**known, "task": task}
        for let in c.rows.enter(c):
            if isinstance(let, Let):
                env[let.symbol.name] = let.value.evaluate(env)
        found.append((env["batch"], env["firstHead"], env["firstQuery"], env["queries"]))
    return found


def turns(c: Context, known: dict[str, Any], block: int) -> list[int]:
    """The items of a block, in order."""
    return [item_of(c, known, block, turn) for turn in range(block, known["items"], known["blocks"])]


def item_of(c: Context, known: dict[str, Any], block: int, turn: int) -> int:
    env = {**known, BLOCK_INDEX.name: block, BLOCK_COUNT.name: known["blocks"], turn_of(c).name: turn}
    for let in round_of_turn(c):
        assert isinstance(let, Let)
        env[let.symbol.name] = let.value.evaluate(env)
    return int(item_of_round(c).evaluate(env))


@pytest.mark.parametrize("mask", [CAUSAL, BEFORE], ids=["longest first", "in turn"])
@pytest.mark.parametrize(
    ("batch", "heads", "positions", "cores"),
    [(1, 8, 4096, 24), (2, 3, 1300, 5), (1, 1, 513, 24), (3, 5, 255, 7), (1, 7, 2000, 20), (16, 8, 512, 24)],
)
def test_every_position_of_every_head_is_in_one_task(
    mask: Change, batch: int, heads: int, positions: int, cores: int
) -> None:
    c = prompts(mask)
    found = tasks(c, numbers(c, B=batch, N=heads, Q=positions, cores=cores))
    rows = [(b, n, first + at) for b, n, first, count in found for at in range(count)]
    assert len(rows) == batch * heads * positions
    assert set(rows) == set(product(range(batch), range(heads), range(positions)))


def test_small_tasks_even_out_the_cores() -> None:
    """128 tasks of 256 rows are six rounds of 24 cores; 120 and 16 small ones are five and a half."""
    c = prompts()
    known = numbers(c, B=1, N=8, Q=4096, cores=24)
    found = tasks(c, known)
    assert [count for _, _, _, count in found] == [256] * 120 + [128] * 16
    most = max(sum(found[item][3] for item in turns(c, known, block)) for block in range(24))
    assert most == 11 * 128
    assert known["rowsPerTask"] == 256


def test_tasks_are_alike_where_small_ones_gain_nothing_and_where_the_author_says_so() -> None:
    c = prompts()
    assert {count for *_, count in tasks(c, numbers(c, B=3, N=8, Q=512, cores=24))} == {256}
    stated = prompts(task_rows="most")
    assert {count for *_, count in tasks(stated, numbers(stated, B=1, N=8, Q=4096, cores=24))} == {256}


@pytest.mark.parametrize(("items", "blocks"), [(128, 24), (24, 24), (5, 24), (49, 24), (120, 24), (30, 7)])
def test_blocks_have_every_item_once(items: int, blocks: int) -> None:
    c = prompts(CAUSAL)
    known = {**numbers(c, B=1, N=1, Q=256, cores=24), "items": items, "blocks": min(items, blocks)}
    found = [item for block in range(known["blocks"]) for item in turns(c, known, block)]
    assert sorted(found) == list(range(items))


@pytest.mark.parametrize("blocks", [7, 24])
def test_where_bytes_tell_keys_rounds_and_positions_go_there_and_back(
    monkeypatch: pytest.MonkeyPatch, blocks: int
) -> None:
    """Three heads of 32 tasks: each comes once, the first positions of the last head in the last round."""
    monkeypatch.setattr(work_partition, "telling_mask", lambda context: context)
    c, known = prompts(), {"items": 96, "queryTiles": 32, "blocks": blocks}
    walked = there_and_back(c, Symbol("taken"))
    assert walked is not None

    def task(item: int) -> int:
        return int(walked.value.evaluate({**known, "taken": item}))

    taken = [turns(c, known, block) for block in range(blocks)]
    assert sorted(task(item) for mine in taken for item in mine) == list(range(96))
    assert [task(item) for item in (0, 31, 32, 63, 64, 95)] == [31, 0, 32, 63, 95, 64]
    assert [mine[:3] for mine in taken[:1]] == [[0, 2 * blocks - 1, 2 * blocks]]


def test_other_tasks_are_taken_as_they_are() -> None:
    assert there_and_back(prompts(), Symbol("taken")) is None


@pytest.mark.parametrize(
    ("mask", "taken"),
    [(CAUSAL, [[6, 5, 0], [4, 1], [3, 2]]), (BEFORE, [[6, 3, 0], [4, 1], [5, 2]])],
    ids=["longest first", "in turn"],
)
def test_three_blocks_take_seven_items_as_the_example_says(mask: Change, taken: list[list[int]]) -> None:
    """That of ``item_of_round``."""
    c = prompts(mask)
    known = {**numbers(c, B=1, N=1, Q=256, cores=3), "items": 7, "blocks": 3}
    assert [turns(c, known, block) for block in range(3)] == taken


@pytest.mark.parametrize("mask", [CAUSAL, BEFORE], ids=["longest first", "in turn"])
def test_blocks_begin_with_the_smallest_task_and_drain_with_one_that_exists(mask: Change) -> None:
    c = prompts(mask)
    known = numbers(c, B=1, N=8, Q=4096, cores=24)
    found = tasks(c, known)
    for block in range(24):
        mine = [found[item] for item in turns(c, known, block)]
        assert mine[0][3] == min(rows for *_, rows in mine)
        if c.longest_first:
            assert [first for _, _, first, _ in mine] == sorted(first for _, _, first, _ in mine)
        drains = block + ceil((known["items"] - block) / 24) * 24
        assert 0 <= item_of(c, known, block, drains) < known["items"]


@pytest.mark.parametrize("option", [{"item_order": "splits"}, {"max_rows": 128}, {"task_rows": "most"}])
def test_blocks_take_their_items_in_order_where_tasks_are_alike_or_the_author_says_so(option: Any) -> None:
    c = prompts(**option)
    known = numbers(c, B=1, N=8, Q=4096, cores=24)
    assert turns(c, known, 3) == list(range(3, known["items"], 24))


@pytest.mark.parametrize(("heads", "positions", "cores"), [(8, 4096, 24), (5, 4096, 20), (32, 2048, 24)])
def test_causal_work_differs_by_no_more_than_a_task_between_blocks(
    heads: int, positions: int, cores: int
) -> None:
    c = prompts(CAUSAL)
    known = numbers(c, B=1, N=heads, Q=positions, cores=cores)
    found = tasks(c, known)
    keys = [ceil((first + count) / 128) * count for _, _, first, count in found]
    blocks = [sum(keys[item] for item in turns(c, known, block)) for block in range(known["blocks"])]
    assert max(blocks) - min(blocks) <= max(keys)
    assert max(blocks) <= 1.07 * sum(keys) / len(blocks)
    in_turn = [sum(keys[block :: known["blocks"]]) for block in range(known["blocks"])]
    assert max(blocks) <= max(in_turn)


def test_heads_whose_keys_exceed_half_of_l2_come_in_groups() -> None:
    """48 heads of 16384 keys take 4 MiB each, without values: half of 192 MiB holds 12 with both.

    Of a part with 96 MiB, as 910B4 is, half holds 6.
    """
    c = prompts(CAUSAL)
    assert numbers(prompts(CAUSAL), B=1, N=48, Q=16384, cores=20, l2=96)["headsAtOnce"] == 6
    known = numbers(c, B=1, N=48, Q=16384, cores=24)
    assert known["headsAtOnce"] == 12
    heads = [head for _, head, *_ in tasks(c, known)]
    first = len(heads) // 4
    assert set(heads[:first]) == set(range(12))
    assert {count for *_, count in tasks(c, known)} == {256}


def test_the_longest_come_first_where_later_positions_see_more() -> None:
    assert [prompts(mask).longest_first for mask in (CAUSAL, WINDOW, BEFORE)] == [True, True, False]
    assert not prompts().longest_first and prompts(item_order="longest").longest_first
    assert not prompts(CAUSAL, item_order="splits").longest_first
    assert Schedule().item_order == "auto"
    decoding = context(attention(PADDED, scores=[CAUSAL]))  # one position a batch row
    assert later_positions_see_more(decoding) and not with_item_order((decoding,))[0].longest_first


def test_packed_prompts_have_the_same_order() -> None:
    c = context(attention(PACKED, scores=[CAUSAL]), positions=Symbol("Q"), max_rows=256)
    assert with_item_order((c,))[0].longest_first


def packed(*lengths: int, heads: int = 8, cores: int = 24) -> dict[str, Any]:
    """The tiling fields of packed prompts of these lengths."""
    c = context(attention(PACKED, scores=[CAUSAL]), positions=Symbol("Q"), max_rows=256)
    sizes = {"B": len(lengths), "N": heads, "Q": max(lengths), "S": sum(lengths)}
    return numbers(with_item_order((c,))[0], **sizes, cores=cores)


def filled(known: dict[str, Any], *lengths: int, positions: int = 256) -> int:
    return known["kvHeads"] * sum(ceil(length / positions) for length in lengths)


@pytest.mark.parametrize(("heads", "short"), [(3, (1,)), (2, (3, 300)), (2, (255, 255, 256))])
def test_uneven_prompts_are_cut_small_if_large_tasks_with_queries_leave_cores_idle(
    heads: int, short: tuple[int, ...]
) -> None:
    """Padded to the longest they have as many large tasks as cores, of which some have no query."""
    lengths = (5 * 256, *short)
    longest = [max(lengths)] * len(lengths)
    even, known = packed(*longest, heads=heads), packed(*lengths, heads=heads)
    assert filled(known, *lengths) < 24 <= filled(even, *longest)
    assert even["largeTasks"] > 0 == known["largeTasks"]


@pytest.mark.parametrize("short", [(1, 1), (700, 300)])
def test_uneven_prompts_have_large_tasks_if_those_with_queries_keep_all_cores(short: tuple[int, ...]) -> None:
    lengths = (5 * 256, *short)
    known = packed(*lengths, heads=5)
    assert filled(known, *lengths) >= 24
    assert known["largeTasks"] > 0


@pytest.mark.parametrize("positions", [1, 255, 256, 257, 1300])
@pytest.mark.parametrize("batch", [1, 2, 16])
def test_packed_prompts_of_one_length_are_cut_as_padded_ones(batch: int, positions: int) -> None:
    padded = numbers(prompts(CAUSAL), B=batch, N=8, Q=positions, cores=24)
    known = packed(*[positions] * batch)
    for name in ("largeTasks", "largeTiles", "queriesPerTask", "queryTiles", "tasks"):
        assert known[name] == padded[name]
