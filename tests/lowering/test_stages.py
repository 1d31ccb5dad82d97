"""Stages of an item: online softmax, the weighted sums, rows that leave, partials and their merge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from attndsl.expr import Const, Symbol
from attndsl.graph import nodes
from attndsl.lowering.attention.attention_loop import attention_loop
from attndsl.lowering.attention.continuous import all_continuous
from attndsl.lowering.attention.online_softmax import softmax_tile, start_rows, start_sums, update_tile
from attndsl.lowering.attention.scale_absorption import row_factors
from attndsl.lowering.attention.score_matmul import score_tile, with_query
from attndsl.lowering.attention.value_matmul import weighted_tile
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.context.modifiers import Modifiers, share_loads_across_attentions
from attndsl.lowering.emit.inventory import Inventory
from attndsl.lowering.emit.row_operations import with_row_statistic
from attndsl.lowering.emit.vector_buffers import vector_buffers
from attndsl.lowering.lower import lower
from attndsl.lowering.match.attention_pattern import recognize
from attndsl.lowering.match.schedule_options import Schedule
from attndsl.lowering.results.merge_partials import merge_partials
from attndsl.lowering.results.partials import may_split
from attndsl.lowering.results.scaled_sums import scale_sums, sums_integers
from attndsl.lowering.results.write_rows import write_rows
from attndsl.lowering.scores.score_rules import lower_modifier
from attndsl.target import MemorySpace
from attndsl.tile.instructions import Binary
from attndsl.tile.printer import print_program
from attndsl.tile.statements import Alloc, Pipelined, seq
from tests.support.builders import (
    PADDED,
    attention,
    context,
    contexts,
    dense,
    elementwise,
    lines,
    scalar,
    signature,
    tensor,
)
from tests.support.devices import DEVICE

AXES = ("B", "K", "T", "D")
POSITIONS = Symbol("Q")


def quantized(name: str, *, offset: bool = False) -> nodes.Dense:
    """int8 rows with a scale and an offset of each channel."""

    def of_channels(index: int) -> nodes.Take:
        numbers = tensor(f"{name}Numbers", ("C", "K", "D"))
        return nodes.Take(source=numbers, axis="C", index=index, axes=("K", "D"))

    stored = tensor(name, AXES, "int8")
    scale, zero = of_channels(0), of_channels(1) if offset else None
    return nodes.Dense(tensor=nodes.Dequantize(source=stored, scale=scale, offset=zero, axes=AXES), axes=AXES)


def modifiers(c: Context) -> Modifiers:
    return share_loads_across_attentions(
        [tuple(lower_modifier(c, node) for node in c.attention.modifiers)], c.where
    )[0]


def folded(op: str) -> str:
    """The last of the reductions by eights, to one number a row."""
    groups = "ceil_div(stepRows, blockLanes)"
    rows = f"rowBlocks[{groups} x repeatLanes pitch repeatLanes]"
    return f"V     tileStat[{groups} x blockLanes pitch blockLanes] = BlockReduce{op}({rows})"


def softmax(c: Context) -> list[str]:
    return lines(softmax_tile(c, modifiers(c)))


def merged_parts() -> nodes.Output:
    """Two attentions of one query."""
    query = tensor("query", ("B", "N", "D"))
    parts = tuple(attention(query, dense(key)).source for key in ("key", "otherKey"))
    return nodes.Output(
        name="out",
        source=nodes.LogSumExpMerge(parts=parts),
        dtype="query",
        axes=("B", "N", "Q", "E"),
    )


def test_the_joint_program_of_a_small_attention(golden: Callable[[str, str], None]) -> None:
    """Decoding with dense caches and a scale: what the lowering makes, whole."""
    output = attention(scores=[elementwise("multiply", scalar(Symbol("scale")))])
    program = lower(recognize((output,)), signature(output), Schedule(tile_k=128, split_kv=1), DEVICE)
    golden("small_attention.joint.txt", print_program(program) + "\n")


def test_rows_that_have_seen_no_key_start_from_the_lowest_number() -> None:
    some = "if rows > 0:"  # of one row the second vector core has none
    assert [line.strip() for line in lines(start_rows(context(attention())))[1:]] == [
        some,
        "V     rowMax[rows] = Duplicate(lowest)",
        "V     rowSum[rows] = Duplicate(0)",
    ]
    sums = "V     accumulator[rows * paddedHeadSize] = Duplicate(0)"
    assert [line.strip() for line in lines(start_sums(context(attention())))[1:]] == [some, sums]
    padded = context(attention(PADDED), positions=POSITIONS)
    assert lines(start_rows(padded))[1] == some


def test_a_score_is_modified_before_its_row_has_a_maximum() -> None:
    found = softmax(context(attention(scores=[elementwise("add", scalar(Symbol("c")))])))
    order = [
        found.index("V     score[span] = Adds(score[span], c)"),
        found.index(folded("Max")),
        found.index("V     score[span] = Exp(score[span])"),
        found.index(folded("Sum")),
        found.index("V     prob[span] = Cast(score[span]) float16 CAST_RINT"),
    ]
    assert order == sorted(order)


@pytest.mark.parametrize("copies", ["parts", "whole"])
def test_keys_of_several_multiplies_come_in_parts_or_at_once(copies: str) -> None:
    found = lines(score_tile(context(attention(), base_k=16, key_copies=copies)))
    load = next(at for at, each in enumerate(found) if "keyL1[" in each and "key[" in each)
    parts = max(at for at, each in enumerate(found) if each.strip().startswith("for d0 in"))
    assert (load < parts) is (copies == "whole")
    assert any("keyL1[d0 * " in each for each in found) is (copies == "whole")


def test_lanes_after_the_last_key_count_neither_for_the_maximum_nor_for_the_sum() -> None:
    fills = [line.split(" = ")[1] for line in softmax(context(attention())) if " lanes keys % " in line]
    assert fills == ["Duplicate(-inf)"]  # exponentials of which are 0


def test_the_rescaling_of_a_tile_is_kept_for_its_slot_of_the_ring() -> None:
    c = context(attention())
    kept = "rescale[slot * rowsPerVector + r0 + stepRows]"
    assert f"V     {kept} = Exp({kept})" in softmax(c)
    spread = "V     rowBlocks[copy + rowsPerStep // blockLanes x repeatLanes pitch 128] = "
    assert f"{spread}Brcb(rescale[slot * rowsPerVector + r0 + rowsPerStep])" in lines(
        update_tile(c, modifiers(c))
    )


def test_a_row_statistic_is_read_from_the_bank_groups_that_its_lanes_leave_free() -> None:
    """Columns begin at groups 0 and 8 of 16 in turn; eight rows' blocks lie in the other eight groups."""
    eight = "groupRows x blockLanes pitch blockLanes"
    beside = f"rowBlocks[r8 * (2 * blockLanes) + repeatLanes - c0 % (2 * repeatLanes) + {eight}]"
    column = "score[c0 + r8 * tileKeys + groupRows x repeatLanes pitch tileKeys]"
    assert f"V     {column} = Sub({column}, {beside})" in softmax(context(attention()))
    c = context(attention(), rows=8)  # one group: no loop over several
    assert not any("r8" in line for line in softmax(c))
    b = vector_buffers(c)
    for column, free in ((0, range(8, 16)), (64, range(8)), (128, range(8, 16))):
        part = b.score.region(column, 8, 64, 128)
        step = with_row_statistic(c, "Sub", part, b.row_blocks, Const(column))
        assert isinstance(step, Binary)
        first = int(step.second.offset.evaluate({})) // 8
        assert {(first + row) % 16 for row in range(8)} == set(free)


def test_the_maximum_that_a_tile_leaves_is_the_one_that_the_next_tile_compares_with() -> None:
    """Row statistics of items in flight have places of their own, read and written alike."""
    found = softmax(context(attention()))
    (compared,) = (line for line in found if line.startswith("V     newMax[stepRows] = Max("))
    (left,) = (line for line in found if line.endswith("= Adds(newMax[stepRows], 0)"))
    place = left.removeprefix("V     ").split(" = ")[0]
    assert compared == f"V     newMax[stepRows] = Max({place}, tileStat[stepRows])"


def test_lanes_of_a_short_tile_without_results_are_filled_before_they_are_reduced() -> None:
    def fills(tile_k: int) -> list[str]:
        found = softmax(context(attention(), tile_k=tile_k))
        at = [number for number, line in enumerate(found) if line.startswith("V     lanes[stepRows *")]
        return [found[number - 1] for number in at]

    assert fills(512) == ["if foldedLanes * blockLanes > keys:"] * 2
    assert not any(line.startswith("if ") for line in fills(256))  # 32 lanes of a row never have results


def test_tiles_of_more_than_512_keys_are_folded_to_one_repeat_a_row() -> None:
    found = softmax(context(attention(), tile_k=1024, rows=8))
    row = "lanes[stepRows x repeatLanes pitch foldedLanes]"
    assert f"V     {row} = Max({row}, lanes[c0 + stepRows x repeatLanes pitch foldedLanes])" in found
    assert f"V     {row} = Add({row}, lanes[c0 + stepRows x repeatLanes pitch foldedLanes])" in found


def test_query_rows_stay_in_l0a_for_the_keys_of_a_tile() -> None:
    """If it holds them twice; else each key block loads its part of them again."""

    def at(max_rows: int, start: str) -> int:
        found = lines(score_tile(context(attention(), max_rows=max_rows, base_k=16, tile_k=512)))
        return next(number for number, line in enumerate(found) if line.startswith(start))

    assert at(128, "MTE1  leftL0[") < at(128, "for n0 in")
    wide = context(attention(), max_rows=128, base_k=16)
    wide = replace(wide, signature=replace(wide.signature, padded_head_size=256, padded_value_size=256))
    found = lines(score_tile(wide))
    loads = [number for number, line in enumerate(found) if line.startswith("MTE1  leftL0[")]
    assert len(loads) == 1 and loads[0] > found.index("for n0 in 0..keys by baseN:")


def test_scores_and_weighted_sums_take_turns_in_l0c() -> None:
    c = context(attention(), max_rows=128)
    stages = (score_tile(c), weighted_tile(c))
    used = {b for each in stages for item in each.walk() if isinstance(item, Alloc) for b in item.buffers}
    (product,) = (buffer for buffer in used if buffer.space is MemorySpace.L0C)
    assert product.total_bytes == DEVICE.architecture.memory(MemorySpace.L0C).usable


def tiles_of(c: Context) -> Pipelined:
    """The loop over an item's tiles."""
    return next(item for item in attention_loop(c, modifiers(c), ()).body if isinstance(item, Pipelined))


def test_a_continuous_loop_has_the_first_and_the_last_stages_of_an_item() -> None:
    (c,) = all_continuous((context(attention()),))
    assert c.continuous
    loop = tiles_of(c)
    found = [
        (stage.name, lag, str(when))
        for stage, lag, when in zip(loop.stages, loop.lags, loop.when, strict=True)
    ]
    keyed = "tile < tiles"
    assert found == [
        ("StartRows", 0, "tile == 0"),
        ("ScoreTile", 0, keyed),
        ("SoftmaxTile", 0, keyed),
        ("WeightedTile", 2, keyed),
        ("StartSums", 2, "tile == 0"),
        ("UpdateTile", 2, keyed),
    ]
    with_last = attention_loop(c, modifiers(c), (write_rows(c),)).body
    (loop,) = (item for item in with_last if isinstance(item, Pipelined))
    last = (loop.stages[-1].name, loop.lags[-1], str(loop.when[-1]))
    assert last == ("WriteRows", 2, "tile == steps - 1")


def test_all_attentions_of_a_computation_are_continuous_or_none() -> None:
    """As the schedule says, a selection or not."""
    one, drained = context(attention()), context(attention(), pipeline="drained")
    selecting = replace(one, computation=replace(one.computation, selection=one.computation.output))
    assert all(each.continuous for each in all_continuous((one, selecting)))
    assert not any(each.continuous for each in all_continuous((drained, drained)))


def test_the_loop_runs_the_weighted_sums_behind_the_scores() -> None:
    c = context(attention(), ring=4)
    loop = tiles_of(c)
    lags = {stage.name: lag for stage, lag in zip(loop.stages, loop.lags, strict=True)}
    assert lags == {"ScoreTile": 0, "SoftmaxTile": 0, "WeightedTile": 3, "UpdateTile": 3}


@pytest.mark.parametrize(
    ("keys", "values", "names"),
    [
        (quantized("key"), None, ["WidenKeys", "ScoreTile", "SoftmaxTile", "WeightedTile", "UpdateTile"]),
        (None, quantized("value"), ["ScoreTile", "SoftmaxTile", "WidenValues", "WeightedTile", "UpdateTile"]),
    ],
)
def test_quantized_rows_are_widened_in_front_of_the_cube(
    keys: nodes.Rows | None, values: nodes.Rows | None, names: list[str]
) -> None:
    c = context(attention(keys=keys, values=values))
    assert [stage.name for stage in tiles_of(c).stages] == names


def test_a_window_of_quantized_rows_is_widened_too() -> None:
    start = tensor("starts", ("B",), "int64")
    window = nodes.Windowed(source=quantized("key"), start=start, axes=AXES)
    c = context(attention(keys=window))
    assert tiles_of(c).stages[0].name == "WidenKeys"


def test_queries_absorb_the_scale_of_keys_and_scores_their_offset() -> None:
    c = context(attention(keys=quantized("key", offset=True)))
    stages = {stage.name: lines(stage) for stage in tiles_of(c).stages}
    assert "if tile == 0:" in stages["WidenKeys"]  # once an item
    assert "# absorbed = query * scale / factor" in stages["WidenKeys"]
    assert "# shift = factor * sum(absorbed * offset)" in stages["WidenKeys"]
    assert any("<- absorbedQuery[" in line for line in stages["ScoreTile"])
    notes = [line for line in stages["SoftmaxTile"] if line.startswith("# score = score")]
    assert notes == ["# score = score * queryFactor", "# score = score + queryShift"]
    plain = seq()
    assert with_query(c, plain) is plain  # absorbed queries come with each tile
    assert with_query(context(attention()), plain) is not plain


def test_scale_and_offset_come_one_after_the_other() -> None:
    c = context(attention(keys=quantized("key", offset=True)))
    assert c.keys.quantization is not None
    found = lines(c.keys.quantization.with_factors(c, []))
    assert found[0] == "with keyScale (UB x1), keyOffset (UB x1):"
    assert [line for line in found if line.startswith("with ")][1:] == ["with channelNumbers (UB x1):"] * 2
    assert [line.split(" <- ")[1].split("[")[0] for line in found if " <- " in line] == ["keyNumbers"] * 2


def test_state_of_quantized_rows_is_that_of_an_item_in_flight() -> None:
    """Factors of rows and absorbed queries of the next item are there before this one is finished."""
    c = context(attention(keys=quantized("key", offset=True), values=quantized("value", offset=True)))
    (ahead,) = all_continuous((replace(c, inventory=Inventory()),))
    assert (c.continuous, ahead.continuous) == (False, True)
    rows = c.rows_per_vector.value
    assert [buffer.elements for buffer in row_factors(c)] == [rows] * 2
    assert [buffer.elements for buffer in row_factors(ahead)] == [3 * rows] * 2
    (score,) = (stage for stage in tiles_of(ahead).stages if stage.name == "ScoreTile")
    (load,) = (line for line in lines(score) if "<- absorbedQuery[" in line)
    assert "itemSlot * rowsPerTask" in load


def test_sums_of_quantized_values_are_dequantized_with_the_sum_of_rounded_probabilities() -> None:
    c = context(attention(values=quantized("value", offset=True)))
    assert sums_integers(c) and not sums_integers(context(attention()))
    found = softmax(c)
    rounded = found.index("V     prob[span] = Cast(score[span]) float16 CAST_RINT")
    assert found[rounded + 1] == "V     score[span] = Cast(prob[span]) float32 CAST_NONE"
    assert found.index("# rowSum = rowSum * rescale + row sum of the tile") > rounded
    notes = [line for line in lines(scale_sums(c)) if line.startswith("# ")]
    assert notes == ["# accumulator = accumulator + rowSum * offset", "# accumulator = accumulator * scale"]


def requantized(scale: nodes.Node | None) -> nodes.Output:
    output = attention()
    weighted = output.source
    assert isinstance(weighted, nodes.WeightedSum)
    steps = nodes.BlockRequantize(source=weighted.weights, block=Const(128), scale=scale)
    through = nodes.WeightedSum(weights=steps, values=weighted.values)
    return nodes.Output(name="out", source=through, dtype="query", axes=output.axes)


def test_probabilities_through_int8_have_steps_of_their_tile() -> None:
    c = context(requantized(None), dtype="int8")
    assert (c.cube_dtype, c.product_dtype) == ("int8", "int32")
    found = softmax(c)
    assert "# step = exp(row maximum of the tile - newMax) / 127" in found
    assert "# prob = clip(round(score / step), -128, 127)" in found
    assert "V     score[span] = Cast(wholeScore[span]) float32 CAST_RINT" in found
    assert "# partial = partial * step" in lines(update_tile(c, modifiers(c)))


def test_given_steps_are_read_row_by_row_and_zero_counts_as_one() -> None:
    c = context(requantized(tensor("steps", ("B", "N"), "float32")), dtype="int8")
    found = softmax(c)
    assert not [line for line in found if line.startswith("# step = ")]
    given = "steps[batch * stepsStrideB + head * stepsStrideN]"
    place = "row // 8 * 128 + row % 8 * blockLanes + copy"
    assert f"V     rowBlocks[{place} + blockLanes] = Duplicate(1.0 if {given} == 0 else {given})" in found


def test_an_unsplit_item_normalizes_its_rows_a_split_one_leaves_partials() -> None:
    whole = context(attention(), split_kv=1)
    assert not may_split(whole) and not any("partial" in line for line in lines(write_rows(whole)))
    c = context(attention())
    found = lines(write_rows(c))
    assert may_split(c) and found[1] == "if splits == 1:"
    partials = found[found.index("else:") :]
    assert [line.split("[")[0] for line in partials if line.startswith("MTE3")] == [
        "MTE3  partialMax",
        "MTE3  partialSum",
        "MTE3  partialOut",
    ]
    assert partials.count("partialRow := split * rowTotal + batch * queryHeads + head") == 1
    assert sum("partialRow * " in line for line in partials) == 3


def test_partials_are_merged_under_their_common_maximum() -> None:
    found = lines(merge_partials((context(attention()),)))
    assert found[0] == "if splits > 1:" and "for part in 0..splits:" in found
    part = found[found.index("for part in 0..splits:") :]
    newest, maxima, sums, scale, part_maxima, part_sums = (
        f"{name}[stepRows * blockLanes]"
        for name in ("newMaxBlocks", "mergedMax", "mergedSum", "mergedRescale", "partMax", "partSum")
    )
    steps = [
        f"V     {newest} = Max({maxima}, {part_maxima})",
        f"V     {scale} = Exp({scale})",
        f"V     {part_maxima} = Exp({part_maxima})",
        f"V     {sums} = Mul({sums}, {scale})",
        f"V     {part_sums} = Mul({part_sums}, {part_maxima})",
        f"V     {sums} = Add({sums}, {part_sums})",
        f"V     {sums} = Maxs({sums}, smallest)",
    ]
    order = [part.index(step) for step in steps]
    assert order == sorted(order)
    assert part[-1].startswith("MTE3  out[batch * outStrideB + head * outStrideN")


def test_several_attentions_always_leave_partials_and_are_merged_together() -> None:
    made = contexts(merged_parts())
    assert [c.attention_name for c in made] == ["Key", "OtherKey"]
    for c in made:
        assert may_split(c)
        assert lines(write_rows(c))[0] == f"stage WriteRowsFor{c.attention_name} on AIV:"
        assert not any(line.startswith("MTE3  out[") for line in lines(write_rows(c)))
    found = lines(merge_partials(made))
    assert found[0] == "stage MergePartials on AIV:"
    assert [line for line in found if line.startswith("for part")] == [
        "for part in 0..splitsKey:",
        "for part in 0..splitsOtherKey:",
    ]


def test_attentions_over_the_same_keys_are_numbered() -> None:
    query = tensor("query", ("B", "N", "D"))
    key = dense("key")
    parts = tuple(attention(query, key).source for _ in range(2))
    merged = nodes.LogSumExpMerge(parts=parts)
    output = nodes.Output(name="out", source=merged, dtype="query", axes=("B", "N", "Q", "E"))
    assert [c.attention_name for c in contexts(output)] == ["Key1", "Key2"]


def test_padded_positions_have_no_partials_to_merge() -> None:
    i, limit = Symbol("i"), Symbol("limit")
    hidden = nodes.IndexCondition(condition=i >= limit)

    def zeros(result: nodes.Node) -> nodes.Node:
        return nodes.Replace(source=result, condition=hidden, value=0.0, axes=("B", "N", "Q", "E"))

    padded = context(attention(PADDED, epilogue=[zeros]), positions=POSITIONS)
    assert "if limit > queryIndex:" in lines(merge_partials((padded,)))
    every = context(attention(PADDED), positions=POSITIONS)
    assert not [line for line in lines(merge_partials((every,))) if "queryIndex:" in line]
