"""Block selection on small graphs: graph in, statements out, without a compiler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from attndsl.expr import Const, Expr
from attndsl.graph import nodes
from attndsl.lowering.attention.few_keys import rows_of_tile, with_rows_of_few_keys
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.context.make_context import attention_contexts
from attndsl.lowering.emit.inventory import Inventory
from attndsl.lowering.errors import IllegalScheduleValue
from attndsl.lowering.match.attention_pattern import recognize
from attndsl.lowering.match.schedule_options import Schedule
from attndsl.lowering.selection import (
    block_scores,
    block_selection,
    head_sums,
    selection_buffers,
    top_blocks,
)
from attndsl.tile.buffers import GlobalTensor
from attndsl.tile.statements import Let, Statement, seq
from tests.support.builders import PACKED, attention, lines, signature, tensor
from tests.support.devices import DEVICE


def selecting(
    *counts: int, step: int = 4, last: int = 7, forced: nodes.Input | None = None, **options: Any
) -> Context:
    """The context of an attention whose 16 best blocks are a result; ``counts``: of a block's window."""
    output = attention(PACKED)
    weighted = output.source
    assert isinstance(weighted, nodes.WeightedSum)
    numbers: tuple[Expr, ...] = tuple(map(Const, counts))
    sums = nodes.WindowSum(
        source=weighted.weights, step=Const(step), last=Const(last), counts=numbers, axes=("S", "N", "J")
    )
    grouped = nodes.GroupSum(source=sums, axes=("S", "K", "J"))
    best = nodes.TopK(source=grouped, count=Const(16), axes=("S", "K", "X"), forced=forced)
    selected = nodes.Output(name="selected", source=best, dtype="int32", axes=("S", "K", "X"))
    whole, other = signature(output), signature(selected)
    parameters = {each.name: each for each in (*whole.parameters, *other.parameters)}
    parameters["selected"] = GlobalTensor(name="selected", dtype="int32", role="output")
    taken = replace(
        whole,
        present=whole.present | other.present,
        parameters=tuple(parameters.values()),
        layouts={**other.layouts, **whole.layouts},
    )
    (made,) = attention_contexts(
        recognize((output, selected)), taken, Schedule(**{"tile_k": 128, **options}), DEVICE, Inventory()
    )
    return made


def test_each_lane_has_the_bytes_to_the_first_key_of_its_block() -> None:
    """A block every 4 keys; lanes after the blocks of a tile read the last key of the tile."""
    assert lines(block_scores.number_lanes(selecting(4, 2))) == [
        "V     ones[rowsPerStep] = Duplicate(1)",
        "V     laneNumber[blockScoreLanes] = 0 + lane numbers",
        "V     laneOffset[blockScoreLanes] = Muls(laneNumber[blockScoreLanes], 16)",
        "V     laneOffset[blockScoreLanes] = Mins(laneOffset[blockScoreLanes], (tileKeys - 1) * 4)",
    ]


def test_the_last_keys_of_a_tile_stay_in_front_of_the_next() -> None:
    assert lines(block_scores.next_window(selecting(4, 2))) == [
        "for position in 0..corePositions:",
        "V     window[position * windowRow + windowLead - windowBefore + windowBefore] = "
        "DataCopy(window[position * windowRow + windowLead + tileKeys - windowBefore + windowBefore])",
        "V     window[position * windowRow + windowLead + tileKeys] = Duplicate(0)",
    ]


@pytest.mark.parametrize(
    ("counts", "last", "before", "row", "tile_k"),
    [
        ((4, 2), 7, 8, 8 + 128 + 16, 128),
        ((9, 2), 7, 16, 16 + 128 + 16, 128),
        ((1,), 0, 8, 8 + 128 + 8, 128),
        ((4, 2), 20, 8, 8 + 128 + 24, 128),
        ((9, 2), 7, 16, 512 + 128, 512),  # 128 lanes are a row of banks
    ],
)
def test_rows_have_room_for_what_windows_read_around_a_tile(
    counts: tuple[int, ...], last: int, before: int, row: int, tile_k: int
) -> None:
    c = selecting(*counts, last=last, tile_k=tile_k)
    lead = before if tile_k == 128 else 128
    assert int(selection_buffers.before(c).value) == before
    assert int(selection_buffers.lead(c).value) == lead
    assert int(selection_buffers.pitch(c).value) == row
    assert (selection_buffers.selection_buffers(c).window.elements - lead) % row == 0


def evaluated(statements: Sequence[Statement], scalars: dict[str, int]) -> dict[str, int]:
    """The scalars after definitions."""
    for each in statements:
        assert isinstance(each, Let)
        scalars = {**scalars, each.symbol.name: each.value.evaluate(scalars)}
    return scalars


def taken_blocks(context: Context, tiles: int, total: int) -> list[tuple[int, int, int]]:
    """For each tile of an item, with keys or without, the blocks that are taken: tile, first, end."""
    size = int(context.tile_keys.value)
    rest = evaluated(block_scores.completed_blocks(context), {"tiles": tiles, "totalBlocks": total})
    found = []
    for tile in range(max(tiles, rest["selectionTiles"])):
        place = {**rest, "tile": tile, "firstKey": tile * size}
        make = block_scores.tile_blocks if tile < tiles else block_scores.rest_blocks
        taken = evaluated(make(context), place)
        found.append((tile, taken["firstBlock"], taken["endBlock"]))
    return found


@pytest.mark.parametrize("tiles", [0, 1, 2, 5])
@pytest.mark.parametrize(("step", "last"), [(4, 7), (4, 4), (4, 0), (3, 5), (1, 0), (8, 20), (5, -3)])
def test_every_block_is_taken_once_when_its_window_is_there(step: int, last: int, tiles: int) -> None:
    """Block j ends at key step * j + last. Keys after the last tile are zeros in the lanes after it."""
    context = selecting(4, 2, step=step, last=last)
    size, lanes = int(context.tile_keys.value), -(-int(context.tile_keys.value) // step // 32) * 32
    after = int(selection_buffers.limits(context).after)
    for total in (0, 1, tiles * size // step, tiles * size // step + 1, 3 * size):
        expected = 0
        for tile, first, end in taken_blocks(context, tiles, total):
            if end <= first:
                continue
            assert first == expected, "blocks follow each other, none twice"
            assert end - first <= lanes, "a position has a lane for each"
            readable = (tile + 1) * size + (after if tile + 1 >= tiles else 0)
            assert step * (end - 1) + last < readable
            furthest = step * first + last + min(step * (lanes - 1), size - 1)
            assert furthest < (tile + 1) * size + after, "lanes without a block read on chip, too"
            expected = end
        assert expected == total


def test_the_only_tile_of_an_item_takes_the_blocks_that_begin_in_it() -> None:
    """Blocks every 4 keys whose windows end a key later: 32 in a tile of 128, and no tile without keys."""
    assert taken_blocks(selecting(4, 2, last=4), tiles=1, total=32) == [(0, 0, 32)]


def test_probabilities_are_products_with_the_inverse_of_the_sum() -> None:
    found = lines(seq(*head_sums.divide_by_sums(selecting(4, 2))))
    assert "V     rowInverse[stepRows] = Div(ones[stepRows], rowSum[r0 + stepRows])" in found
    assert not any("= Div(score" in each for each in found)


def test_the_last_level_leaves_the_sums_of_positions() -> None:
    found = lines(seq(*head_sums.add_heads(selecting(4, 2))))
    place = "sums := (r0 + row) // heads * windowRow + windowLead"
    assert [line.strip() for line in found[-8:]] == [
        "if heads == addedRows and heads != 1:",
        "for row in 0..stepRows by addedRows:",
        place,
        "V     window[sums + keys] = Add(score[row * tileKeys + keys], score[(row + 1) * tileKeys + keys])",
        "else:",
        "for row in 0..stepRows by addedRows:",
        place,
        "V     window[sums + keys] = Add(window[sums + keys], score[row * tileKeys + keys])",
    ]


@pytest.mark.parametrize("heads", [*range(1, 21), 24, 32, 48, 64])
def test_the_levels_of_the_tree_add_each_row_once_and_meet_one_position(heads: int) -> None:
    """Rows of three positions, each its own power of two: their sums tell which rows were added."""
    context = selecting(4, 2)
    step = int(context.rows_per_step.value)
    total = 3 * heads
    sums = [0] * 3
    for r0 in range(0, total, step):
        rows_here = min(step, total - r0)
        rows = [1 << (r0 + row) for row in range(rows_here)]
        added = int(head_sums.rows_of_sums(context).evaluate({"heads": heads}))
        for apart in head_sums.levels(context):
            if heads % (2 * apart) or (apart == 1 and heads == added):
                continue
            for row in range(0, rows_here, added):
                for first in range(row, row + apart):
                    rows[first] += rows[first + apart]
        for row in range(0, rows_here, added):
            if heads == added and heads != 1:
                assert sums[(r0 + row) // heads] == 0, "a position's sums are there at once"
                sums[(r0 + row) // heads] = rows[row] + rows[row + 1]
            else:
                sums[(r0 + row) // heads] += rows[row]
    assert sums == [((1 << heads) - 1) << heads * position for position in range(3)]


def test_a_step_holds_the_mask_of_no_more_positions_than_a_core_has() -> None:
    context = selecting(4, 2)
    assert context.rows.whole_positions
    held = context.rows.positions_of_step(context).evaluate({})
    assert held == min(int(context.rows_per_step.value), 8)


@pytest.mark.parametrize(
    ("counts", "terms", "weight"),
    [
        ((4, 2), 5, "min(min(term + 1, 5 - term), 2)"),
        ((3, 3), 5, "min(min(term + 1, 5 - term), 3)"),
        ((6,), 6, ""),
    ],
)
def test_a_term_counts_as_often_as_its_windows_meet_it(
    counts: tuple[int, ...], terms: int, weight: str
) -> None:
    found = lines(block_scores.take_blocks(selecting(*counts)))
    loop = found.index(f"for term in 0..{terms} by 2:")
    added = (
        f"Axpy(blockTerm[usedLanes], {weight})"
        if weight
        else "Add(blockScore[usedLanes], blockTerm[usedLanes])"
    )
    assert found[loop + 1 : loop + 3] == [
        f"V     blockScore[usedLanes] = {added}",
        f"if term + 1 < {terms}:",
    ]
    assert found[loop + 5].startswith("V     blockScore[usedLanes] = ")
    assert "blockRecords[usedLanes]" in found[loop + 5]
    assert found[loop + 6] == f"if term + 2 < {terms}:"


def test_terms_are_gathered_to_two_places_by_turns() -> None:
    """No term goes to the place of the one that is added meanwhile."""
    found = lines(block_scores.take_blocks(selecting(4, 2)))
    gathers = [line for line in found if "Gather(" in line]
    expected = [("blockTerm", ""), ("blockRecords", " - (term + 1)"), ("blockTerm", " - (term + 2)")]
    assert gathers == [
        f"V     {place}[position * positionLanes + positionLanes] = "
        "Gather(window[(position0 + position) * windowRow + windowLead + windowRow], "
        f"bytes (4 * firstBlock + 7 - firstKey{term} + windowLead) * 4 + laneOffset[positionLanes])"
        for place, term in expected
    ]


def test_the_first_group_of_an_item_is_its_best_and_three_others_are_merged_at_once() -> None:
    found = lines(top_blocks.merge_into_best(selecting(4, 2)))
    at_first = found.index("if firstBlock == 0:")
    best = "best[(position0 + position) * sortGroup * recordLanes + sortGroup * recordLanes]"
    assert found[at_first + 1 : at_first + 3] == [
        "for position in 0..stepPositions:",
        f"V     {best} = "
        "DataCopy(blockRecords[position * positionLanes * recordLanes + sortGroup * recordLanes])",
    ]
    assert found[at_first + 3 : at_first + 5] == [
        "for part in 1 if firstBlock == 0 else 0..groups by 3:",
        "for position in 0..stepPositions:",
    ]
    merged = found[at_first + 5]
    assert f"MergeSorted({best}, blockRecords[" in merged or f"MrgSort({best}, blockRecords[" in merged
    assert found[at_first + 6 :] == [
        "for position in 0..stepPositions:",
        f"V     {best} = DataCopy(lanes[position * (4 * sortGroup) * recordLanes + sortGroup * recordLanes])",
    ]


@pytest.mark.parametrize(("tile_k", "loops"), [(256, False), (512, True)])
def test_as_many_positions_are_merged_at_once_as_the_place_of_folded_lanes_holds(
    tile_k: int, loops: bool
) -> None:
    """Four positions with 16 rows a step, of which a step has 4, or 8 with more blocks a tile."""
    context = selecting(4, 2, tile_k=tile_k)
    assert int(selection_buffers.merged_positions(context).value) == 4
    assert any("firstMerged" in each for each in lines(top_blocks.merge_into_best(context))) == loops


@pytest.mark.parametrize(
    ("key_end", "total", "scored"),
    [
        (0, 100, 16),  # windows reach from key 3 to key 7: none has a key
        (3, 100, 16),
        (4, 100, 17),
        (7, 100, 17),
        (8, 100, 18),
        (400, 100, 100),
        (8, 10, 10),
    ],
)
def test_blocks_behind_all_keys_are_scored_as_far_as_they_can_be_selected(
    key_end: int, total: int, scored: int
) -> None:
    """Blocks of five keys every 4, 16 of which are selected: those that begin before the end, and 16 more."""
    c = selecting(4, 2)
    assert block_scores.blocks_to_score(c, Const(total)).evaluate({"keyEnd": key_end}) == scored
    first_keys = [4 * j + 7 - 4 for j in range(total)]
    assert scored == min(total, sum(key < key_end for key in first_keys) + 16)


def test_all_blocks_are_scored_where_some_are_forced() -> None:
    c = selecting(4, 2, forced=tensor("mask", ("Q", "J"), "bool"))
    assert block_scores.blocks_to_score(c, Const(100)).evaluate({"keyEnd": 8}) == 100


def test_nan_is_below_every_number_before_blocks_are_forced() -> None:
    c = selecting(4, 2, forced=tensor("mask", ("Q", "J"), "bool"))
    nan, forced = lines(top_blocks.nan_lowest(c)), lines(top_blocks.forced_first(c))
    assert nan[1:] == [
        "V     blockBits[max(blockScoreLanes // 8, 32)] bits = "
        "blockScore[blockScoreLanes] EQ blockScore[blockScoreLanes]",
        "V     blockScore[blockScoreLanes] = Select(blockBits, blockScore[blockScoreLanes], lowest)",
    ]
    assert forced[2:] == [
        "MTE2  maskBytes[stepPositions x newBlocks pitch positionLanes] <- "
        "mask[(firstQuery + rowBegin // heads + position0) * maskStrideQ + firstBlock "
        "+ stepPositions x newBlocks pitch maskStrideQ]",
        "V     maskHalf[usedLanes] = Cast(maskBytes[usedLanes]) float16 CAST_NONE",
        "V     blockBits[max(blockScoreLanes // 8, 32)] bits = maskHalf[blockScoreLanes] EQ 0",
        "V     blockScore[blockScoreLanes] = Select(blockBits, blockScore[blockScoreLanes], inf)",
    ]
    whole = lines(block_scores.take_blocks(c))
    assert (
        whole.index(nan[-1])
        < whole.index(forced[-1])
        < whole.index("groups := ceil_div(newBlocks, sortGroup)")
    )


def test_nothing_is_forced_without_a_mask() -> None:
    assert top_blocks.forced_first(selecting(4, 2)) == []


def test_lanes_without_a_block_come_last() -> None:
    found = lines(top_blocks.merge_into_best(selecting(4, 2)))
    last_repeat = "position * positionLanes + newBlocks // repeatLanes * repeatLanes + repeatLanes"
    assert found[1:4] == [
        "if newBlocks % repeatLanes != 0:",
        "for position in 0..stepPositions:",
        f"V     blockScore[{last_repeat}] lanes newBlocks % repeatLanes..63 = Duplicate(-inf)",
    ]


def test_an_attention_selects_blocks_where_a_result_names_them() -> None:
    assert block_selection.selects_blocks(selecting(4, 2))
    assert block_selection.prepare_selection(selecting(4, 2)).name == "PrepareSelection"


_DOUBLE = {"tile_k": 256, "result_rows": 16, "few_keys": "double"}


def test_a_step_on_few_keys_of_an_only_tile_has_twice_the_rows() -> None:
    """Half a tile is few; whatever the rows, their scores fill a slot and no more."""
    (context,) = with_rows_of_few_keys((selecting(4, 2, **_DOUBLE),))
    rows, lanes = (each for each in rows_of_tile(context) if isinstance(each, Let))
    for tiles, keys, twice in ((1, 128, True), (1, 129, False), (2, 128, False)):
        found = [each.value.evaluate({"tiles": tiles, "keys": keys}) for each in (rows, lanes)]
        gap = 8  # rows eight apart lie in different halves of the groups of banks
        assert found == ([32, 128 + gap] if twice else [16, 256 + gap])
    assert context.most_rows.evaluate({}) == 32
    whole = replace(context, of_core=True)
    assert whole.most_rows is whole.rows_per_step, "rows of a core are no more"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"tile_k": 128}, "unless 2 .* rows divides the rows of a vector core, and 256 the keys of a tile"),
        ({"rows": 64}, "unless 2 .* rows divides the rows of a vector core"),
        ({"result_rows": "auto"}, "where results have steps as scores have"),
    ],
)
def test_where_rows_cannot_be_twice_as_many_the_schedule_is_refused(
    options: dict[str, Any], why: str
) -> None:
    with pytest.raises(IllegalScheduleValue, match=f'few_keys=.double. must be "same" or "auto" {why}'):
        with_rows_of_few_keys((selecting(4, 2, **{**_DOUBLE, **options}),))
    (left,) = with_rows_of_few_keys((selecting(4, 2, **{**_DOUBLE, **options, "few_keys": "auto"}),))
    assert not left.doubles_rows and left.score_pitch is not left.row_lanes
