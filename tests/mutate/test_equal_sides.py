"""Comparisons where both sides being equal makes no difference, each with a near twin where it does."""

from __future__ import annotations

import pytest

from attndsl.mutate import data_rules
from attndsl.mutate.defects import defects_of
from attndsl.mutate.instructions import EmittedText, Helper, Instructions
from attndsl.mutate.source_model import Span

FOLD = """if (kFolded * kBlockLanes > keys) {{
    PipeBarrier<PIPE_V>();
    Duplicate(lanes_, float(kLowest), stepRows * kFolded);
}}
PipeBarrier<PIPE_V>();
MaxOfBlocks(lanes_, score, stepRows, {}, kFolded, kTileKeys);"""
INTERVAL = """if (position + 1 < {} + keys) {{
    for (int64_t row = 1; row != stepRows; ++row) {{
        FillInterval(score[row * kTileKeys], MinOf(keys, MaxOf(0, position + 1 - firstKey)), keys, 0.0f);
    }}
}}"""
WAY_BACK = """for (; end_ < extent; ++end_) {{
    sum_ += lengths.GetValue(end_);
}}
while (end_ > {}) {{
    --end_;
}}"""
IDLE = """if (rows {}= 0) {{
    SetAndWaitFlag<HardEvent::MTE2_MTE3>(kScoreDone);
    SetAndWaitFlag<HardEvent::MTE3_MTE2>(kScoreTaken);
}}"""
FOLD_BY_REPEATS = """if (kFolded * kBlockLanes > keys) {{
    Duplicate(lanes_[r0 * kFolded], 0.0f, stepRows * kFolded);
}}
PipeBarrier<PIPE_V>();
for (int64_t c0 = 0; c0 < {}; c0 += kRepeatLanes) {{
    SumOfBlocks(lanes_[r0 * kFolded + c0 / kBlockLanes], score[c0], stepRows, kRepeatLanes, kFolded, 512);
}}"""
DIFFERENCE = """if (RoundUp(rows, kRowsPerStep) > rows) {{
    PipeBarrier<PIPE_V>();
    Duplicate(sums_[rows * kBlockLanes], 0.0f, (RoundUp({}, kRowsPerStep) - rows) * kBlockLanes);
}}"""
CLAMP = """if (work.tiles != 1 || kMost < keys) {{
    PipeBarrier<PIPE_V>();
    Maxs({}[r0], rowSum_[r0], float(kSmallest), stepRows);
}}"""
AGAIN = """if ({} || step < work.halves) {{
    LoadScores();
}}"""
NEW_ROWS = """if (cols > {}) {{
    PipeBarrier<PIPE_MTE2>();
    LoadNz(keyL1[cachedRows * 16], keyGm_[newTile], cols - cachedRows, columns, pitch);
}}"""
ZEROS = """if (tile < work.tiles) {{
    DataCopy(partial, outRingGm_[tile], stepRows * 8);
}}
if (tile >= work.tiles) {{
    Duplicate({}, 0.0f, stepRows * 8);
}}"""
HARMLESS = {
    "rows that are set to zero": (ZEROS, "partial", "rowsOut"),
    "an even difference": ("x = full > round && ({} - round) % 2 == 1;", "full", "fuller"),
    "a barrier alone": ("if (fractals < 10) {{\n    PipeBarrier<PIPE_M>();{}\n}}", "", " Exp(x, x, 8);"),
    "lanes that are written anyway": (FOLD, "keys", "keysBefore"),
    "no lanes to fill": (INTERVAL, "firstKey", "firstRow"),
    "a way back": (WAY_BACK, "extent", "other"),
    "a core that has read no row of the only one": (IDLE, "<", ">"),
    "lanes that repeats write anyway": (FOLD_BY_REPEATS, "keys", "keysBefore"),
    "no lanes behind the last row": (DIFFERENCE, "rows", "keys"),
    "sums that are no less in any case": (CLAMP, "rowSum_", "rowsOut_"),
    "a step again": (AGAIN, "aboveLimit", "isEarly"),
    "the larger of equal numbers": ("found = p == 0 || value > found ? {} : found;", "value", "seen"),
    "blocks of no tiles": (
        "const int64_t completedBlocks =\n    work.tiles > 0 ? MaxOf({}, endedBlocks) : 0;",
        "begunBlocks",
        "leastBlocks",
    ),
    "sums that are rescaled by 1": (
        "const bool grew = !({}.GetValue(r0 / kRowsPerStep * kBlockLanes) >= 0);",
        "grown_",
        "newMax_",
    ),
    "no rows to load": (NEW_ROWS, "cachedRows", "earlierRows"),
}


def bounds(statements: str) -> list[str]:
    """The texts that the rule of bounds makes of statements: around the change, what stands on its line."""
    text = f"void Stage()\n{{\n{statements}\n}}\n"
    found = []
    for each in defects_of(EmittedText(text), [data_rules.bounds]):
        changed = text[: each.span.start] + each.after + text[each.span.end :]
        found.append(changed[changed.rfind("\n", 0, each.span.start) + 1 :].partition("\n")[0])
    return found


@pytest.mark.parametrize("name", HARMLESS)
def test_equal_sides_make_no_difference(name: str) -> None:
    text, harmless, twin = HARMLESS[name]
    with_it, without = bounds(text.format(harmless)), bounds(text.format(twin))
    assert len(without) == len(with_it) + 1
    assert set(with_it) < {line.replace(twin, harmless) for line in without}


def test_a_barrier_less_is_a_defect() -> None:
    assert bounds("if (fractals <= 10) {\n    PipeBarrier<PIPE_M>();\n}") == ["if (fractals < 10) {"]


def test_a_limit_of_the_device_is_exceeded_instead() -> None:
    """Up to it there is another way, which does the same."""
    assert bounds("if (pitch <= kMaxNd2NzPitch) {}") == ["if (pitch <= kMaxNd2NzPitch + 1) {}"]
    assert bounds("if (pitch <= 65535) {}") == ["if (pitch <= 65535 + 1) {}"]
    assert bounds("if (pitch <= rows) {}") == ["if (pitch < rows) {}"]


def test_a_head_size_is_no_pitch_that_exceeds_a_limit() -> None:
    """Where the plan has kernels for sizes far below it alone."""

    def bounds_by(given: str, most: int) -> list[str]:
        plan = f"tiling.pitch = {given};\nif (problem.D > 112 && problem.D <= {most}) {{}}"
        source = EmittedText("void Run()\n{\nif (tiling_.pitch <= 65535) {}\n}\n", plan=plan)
        return [each.after for each in defects_of(source, [data_rules.bounds])]

    assert bounds_by("problem.D", 128) == []
    assert bounds_by("problem.D", 65536) == bounds_by("problem.N * problem.D", 128) == [" + 1"]


def test_a_step_before_the_first_is_a_defect() -> None:
    """Nobody has decoded the item that it is of."""
    ahead = "if (begun_ > kPrefetch && earlier.tile < work.tiles) {}"
    assert bounds(ahead) == [ahead.replace(">", ">="), ahead.replace("<", "<=")]


def test_a_fill_of_what_is_left() -> None:
    fill = "if (begin < end) {{\n    AscendC::Duplicate(row[begin], value, {});\n}}"
    assert bounds(fill.format("end - begin")) == []
    assert bounds(fill.format("end - begin + 1"))[0].startswith("if (begin <= end)")
    fewer = fill.format("end - begin").replace("begin < end", "begin > end")
    assert bounds(fewer)[0].startswith("if (begin >= end)")


@pytest.mark.parametrize(("prefetch", "made"), [(1, ">= tiling_.items - 1"), (2, "> tiling_.items")])
def test_an_item_less_where_one_step_drains_the_pipeline(prefetch: int, made: str) -> None:
    """The last item, which has no keys, has a step in any case."""
    steps = "found.steps = turn {} ? kPrefetch : MaxOf(found.tiles, 1);"
    text = f"void Run()\n{{\n{steps.format('>= tiling_.items')}\n}}\n"
    source = EmittedText(text, schedule=f"constexpr int64_t kPrefetch = {prefetch};")
    (found,) = defects_of(source, [data_rules.bounds])
    assert text[: found.span.start] + found.after + text[found.span.end :] == text.replace(
        ">= tiling_.items", made
    )


def test_a_turn_less_where_one_more_does_nothing() -> None:
    """Of vector cores the last step of an item writes its rows: a turn more would write them again."""
    turns = "for (int64_t turn = blockIndex_; turn < turnsEnd; turn += blockCount_) {{\n    {}\n}}"
    (found,) = bounds(turns.format("Steps(turn);"))
    assert found.startswith("for (int64_t turn = blockIndex_; turn < turnsEnd - blockCount_;")
    (found,) = bounds(turns.format("if (earlier.tile == work.steps - 1) { WriteRows(); }"))
    assert "turn <= turnsEnd;" in found
    places = "for (int64_t place = 0; place < placesEnd; ++place) {\n    Steps(turn);\n}"
    assert bounds(places)[-1] == places.partition("\n")[0].replace("placesEnd", "placesEnd - 1")


def tails(statement: str, plan: str = "") -> list[str]:
    helpers = {"StoreProduct": Helper("FIX", ()), "LoadNz": Helper("MTE2", ())}
    text = f"void Stage()\n{{\n{statement}\n}}\n"
    source = EmittedText(text, Instructions(helpers), plan)
    return [source.at(Span(each.span.start, each.span.end)) + each.after for each in data_rules.tails(source)]


def test_columns_of_a_product_are_stored_in_whole_fractals_or_not() -> None:
    assert tails("StoreProduct(ring, product, rows, RoundUp(cols, kFractal), kTile);") == []
    assert len(tails("LoadNz(ring, product, rows, RoundUp(cols, kFractal), kTile);")) == 1


def test_blocks_are_no_more_than_items_where_the_plan_says_so() -> None:
    end = "const int64_t end = MinOf(tiling_.items, blockCount_);"
    plan = "tiling.blocks = MaxOf(1, MinOf({}, problem.cores));"
    assert len(tails(end, plan.format("tiling.items"))) == 1
    assert len(tails(end, plan.format("tiling.tasks"))) == len(tails(end)) == 2


DRAINED = """const int64_t item = MinOf(turn, tiling_.items - 1);
found.split = item / tiling_.tasks;
const int64_t task = {} % tiling_.tasks;
found.keyEnd = turn >= tiling_.items ? {} : visibleEnd;"""


def test_the_turn_after_the_last_has_no_keys() -> None:
    assert tails(DRAINED.format("item", 0)) == ["MinOf(turn, tiling_.items - 1)(tiling_.items - 1)"]
    assert len(tails(DRAINED.format("(item + 1)", 0))) == 2
    assert len(tails(DRAINED.format("item", "visibleEnd"))) == 2
