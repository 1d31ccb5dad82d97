"""Barriers that another covers on every path, each with a near twin that nothing covers."""

from __future__ import annotations

import pytest

from attndsl.mutate import event_rules
from attndsl.mutate.instructions import EmittedText

STEPS = """
void StartRows(int64_t itemSlot, int64_t rows)
{
    if (rows > 0) {
        PipeBarrier<PIPE_V>();  // start
        Duplicate(rowMax_[itemSlot * kRowsPerVector], float(kLowest), rows);
        Duplicate(rowSum_[itemSlot * kRowsPerVector], 0.0f, rows);
    }
}
void StartSums(int64_t rows)
{
    if (rows > 0) {
        PipeBarrier<PIPE_V>();
        Duplicate(accumulator_, 0.0f, rows);
    }
}
void Clear(int64_t rows)
{
    Duplicate(accumulator_, 0.0f, rows);
}
void UpdateTile(int64_t rows)
{
    PipeBarrier<PIPE_V>();
    Add(accumulator_, accumulator_, partial, 8);
}
void WriteRows(int64_t itemSlot, int64_t rows)
{
    if (tiling_.splits == 1) {
        for (int64_t r0 = 0; r0 < rows; r0 += kRowsPerStep) {
            PipeBarrier<PIPE_V>();  // write
            Maxs(rowSum_[r0 + itemSlot * kRowsPerVector], rowSum_[r0], float(kSmallest), 8);
            PipeBarrier<PIPE_V>();
            Div(accumulator_, accumulator_, rowSum_[r0], 8);
            PipeBarrier<PIPE_V>();
            Cast(result, accumulator_, RoundMode::CAST_RINT, 8);
        }
    } else {
        PipeBarrier<PIPE_V>();
        Adds(sumOut, rowSum_[itemSlot * kRowsPerVector], 0.0f, 8);
    }
}
void RunVector()
{
    StartRows(itemSlot, rows);
    if (earlier.tile == 0) {
        StartSums(earlier.rows);
    }
    if (earlier.tile < earlierWork.tiles) {
        UpdateTile(earlier.rows);
    }
    if (earlier.tile == earlierWork.steps - 1) {
        WriteRows(earlier.itemSlot, earlier.rows);
    }
}
"""
PLAN = """
tiling.splits =
    problem.startTogether ? MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), keyTiles)) : 1;
tiling.items = tiling.tasks * tiling.splits;
tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
"""
START, WRITE = "start", "write"


def left_out(text: str, plan: str = PLAN) -> set[str]:
    """Which of the two barriers with a name are left out in some mutant."""
    source = EmittedText(text, plan=plan)
    ends = (text[each.span.end :].partition("\n")[0] for each in event_rules.missing_barriers(source))
    return {end.strip(" /") for end in ends} - {""}


def test_what_starts_and_finishes_an_item_is_ordered_by_others() -> None:
    assert left_out(STEPS) == set()


@pytest.mark.parametrize(
    ("old", "new", "made"),
    [
        ("Add(accumulator_, accumulator_, partial, 8)", "Add(accumulator_, rowSum_, partial, 8)", {WRITE}),
        ("float(kSmallest), 8);", "float(kSmallest), 8);\n    Adds(rowSum_[0], x, 1.0f, 8);", set()),
        ("Maxs(rowSum_[r0 +", "Add(accumulator_, rowSum_[r0], accumulator_[r0 +", {WRITE}),
        ("Cast(result, accumulator_", "Cast(result, rowSum_[r0]", {START}),
        ("StartSums(earlier.rows);", "Clear(earlier.rows);", {WRITE}),
        ("if (earlier.tile == 0)", "if (earlier.tile == 1)", {START, WRITE}),
    ],
)
def test_a_barrier_that_nothing_covers_is_left_out(old: str, new: str, made: set[str]) -> None:
    text = STEPS.replace(old, new)
    assert text != STEPS and left_out(text) == made


def test_several_items_whose_keys_are_split_need_the_barrier_between() -> None:
    """One starts rows where the sums of another are read, with nothing between."""
    assert left_out(STEPS, PLAN.replace("problem.cores / MaxOf(tiling.tasks, 1)", "2")) == {START}


TILE = """
void SoftmaxTile(int64_t rows)
{
    for (int64_t r0 = 0; r0 < rows; r0 += kRowsPerStep) {
        auto score = View<float>(ub_, kScoreAt);
        Add(sumBlocks_[r0], score, score, 8);
        PipeBarrier<PIPE_V>();
        Cast(prob_, score, RoundMode::CAST_RINT, 8);
        SetAndWaitFlag<HardEvent::V_MTE3>(kProbReady);
    }
    CrossCoreSetFlag<kBlockCores, PIPE_MTE3>(kProbRingReady);
    if (rows > 0) {
        PipeBarrier<PIPE_V>();  // sums
        Add(tileSum_, sumBlocks_, sumBlocks_, 8);
        PipeBarrier<PIPE_V>();
        Add(rowSum_, rowSum_, tileSum_, 8);
    }
}
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Cast(prob_, score", "Add(sumBlocks_[r0], score, score, 8);\n        Cast(prob_, score"),
        ("if (rows > 0)", "if (keys > 0)"),
        ("r0 < rows;", "r0 < keys;"),
        (
            "        PipeBarrier<PIPE_V>();\n        Cast(prob_, score, RoundMode::CAST_RINT, 8);",
            "        if (whole) {\n            PipeBarrier<PIPE_V>();\n        }\n        Exp(prob_, x, 8);",
        ),
        ("    CrossCoreSet", "    Duplicate(sumBlocks_, 0.0f, 8);\n    CrossCoreSet"),
        ("Add(tileSum_, sumBlocks_, sumBlocks_, 8);", "Add(tileSum_, score, sumBlocks_, 8);"),
        ("        PipeBarrier<PIPE_V>();\n        Add(rowSum_", "        Add(rowSum_"),
    ],
)
def test_a_barrier_behind_a_loop_over_rows_that_has_one(old: str, new: str) -> None:
    text = TILE.replace(old, new)
    assert text != TILE
    assert ("sums" not in left_out(TILE)) and ("sums" in left_out(text))


UPDATE = """
void SoftmaxTile(int64_t rows)
{
    for (int64_t r0 = 0; r0 < rows; r0 += kRowsPerStep) {
        Sub(rescale_[r0], rowMax_[r0], newMax_, 8);
        PipeBarrier<PIPE_V>();
        Mul(score_, score_, score_, 8);
    }
}
void UpdateTile(int64_t rows)
{
    for (int64_t r0 = 0; r0 < rows; r0 += kRowsPerStep) {
        PipeBarrier<PIPE_V>();  // update
        Brcb(rowBlocks_, rescale_[r0], 1, 8);
        PipeBarrier<PIPE_V>();
        Mul(accumulator_, accumulator_, rowBlocks_, 8);
        PipeBarrier<PIPE_V>();
        Add(accumulator_, accumulator_, partial, 8);
    }
}
void WriteStatistics(int64_t rows)
{
    if (tiling_.splits == 1) {
        for (int64_t r0 = 0; r0 < rows; r0 += kRowsPerStep) {
            Add(statisticOut, statisticOut, rowBlocks_, 8);
        }
    }
}
void WriteRows(int64_t split, int64_t rows)
{
    if (tiling_.splits == 1) {
        for (int64_t r0 = 0; r0 < rows; r0 += kRowsPerStep) {
            PipeBarrier<PIPE_V>();  // write
            Cast(result, accumulator_, RoundMode::CAST_RINT, 8);
        }
    }
}
void RunVector()
{
    SoftmaxTile(rows);
    UpdateTile(earlier.rows);
    WriteStatistics(earlier.rows);
    WriteRows(earlier.split, earlier.rows);
}
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("        PipeBarrier<PIPE_V>();\n        Mul(score_", "        Mul(score_"),
        ("        PipeBarrier<PIPE_V>();\n        Add(accumulator_", "        Add(accumulator_"),
        (
            "        PipeBarrier<PIPE_V>();\n        Mul(score_",
            "        if (whole) {\n            PipeBarrier<PIPE_V>();\n        }\n        Mul(score_",
        ),
        ("    WriteRows(earlier.split, earlier.rows);", ""),
        ("    WriteRows(earlier.split, earlier.rows);", "    WriteRows(earlier.split, rows);"),
        ("{\n    if (tiling_.splits == 1) {\n        for (int64_t r0 = 0; r0 < rows; r0 += kRowsPerStep) {\n"
         "            Add", "{\n    if (tiling_.splits > 0) {\n        for (int64_t r0 = 0; r0 < rows; r0 += "
         "kRowsPerStep) {\n            Add"),
        ("    SoftmaxTile(rows);\n", "    SoftmaxTile(rows);\n    Adds(rowBlocks_, x, 1.0f, 8);\n"),
    ],
)  # fmt: skip
def test_a_barrier_of_what_has_others_behind_all_its_uses(old: str, new: str) -> None:
    text = UPDATE.replace(old, new)
    assert text != UPDATE
    assert "update" not in left_out(UPDATE) and "update" in left_out(text)


EARLIER = (
    STEPS[: STEPS.index("void RunVector")]
    + """void RunVector()
{
    if (tile == 0) {
        StartRows(itemSlot, rows);
    }
    if (earlier.tile < earlierWork.tiles) {
        UpdateTile(earlier.rows);
    }
    if (earlier.tile == earlierWork.steps - 1) {
        WriteRows(earlier.itemSlot, earlier.rows);
    }
}
Item items_[kRing];
"""
)


LAST = "PipeBarrier<PIPE_V>();\n            Cast("


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Item items_[kRing];", "Item items_[kPrefetch];"),
        (LAST, "Cast("),
        (LAST, "if (tile < work.tiles) { PipeBarrier<PIPE_V>(); }\n            Cast("),
        ("earlier.tile == earlierWork.steps - 1", "earlier.tile == 0"),
    ],
)
def test_rows_of_a_place_that_an_earlier_item_has_left(old: str, new: str) -> None:
    """Its last use is in front of a barrier, whatever is decided between the two."""
    assert START not in left_out(EARLIER)
    assert START not in left_out(EARLIER.replace(LAST, f"if (tile < work.tiles) {{ Load(x); }}\n{LAST}"))
    assert START not in left_out(EARLIER.replace("[itemSlot * kRows", "[taskHalf.halfSlot * kRows"))
    assert START in left_out(EARLIER.replace(old, new))


BEFORE = """
void SoftmaxTile(int64_t rows)
{
    const int64_t keys = 8;
    if (rows > 0) {
        PipeBarrier<PIPE_V>();  // growth
        Muls(grown_, tileStat_, -1.0f, 8);
        if (above) {
            Sub(rescale_, rowMax_, newMax_, 8);
            PipeBarrier<PIPE_V>();  // branch
            Exp(score_, score_, 8);
        }
    }
    if (rows > 0) {
        PipeBarrier<PIPE_V>();  // sums
        Mul(rowSum_, rowSum_, rescale_, 8);
        PipeBarrier<PIPE_V>();
        Add(rowSum_, rowSum_, tileSum_, 8);
    }
}
void Start(int64_t rows)
{
    Duplicate(rowSum_, 0.0f, 8);
}
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("        PipeBarrier<PIPE_V>();  // growth\n", ""),
        ("            PipeBarrier<PIPE_V>();  // branch\n", ""),
        # the earlier barrier stands in a branch that may not be taken
        ("    if (rows > 0) {", "    if (keys > 0) {"),
        ("    if (rows > 0) {", "    if (other) {\n    } else {"),
        ("        if (above) {", "        rows = 1;\n        if (above) {"),
        ("        PipeBarrier<PIPE_V>();  // growth", "        for (; i < 0;) { PipeBarrier<PIPE_V>(); }"),
        # a function in between may use the sums
        (
            "    if (rows > 0) {\n        PipeBarrier<PIPE_V>();  // sums",
            "    Start(rows);\n    if (rows > 0) {\n        PipeBarrier<PIPE_V>();  // sums",
        ),
        # another turn comes to the barrier without the earlier one
        (
            "    if (rows > 0) {\n        PipeBarrier<PIPE_V>();  // sums",
            "    for (; i < 2;) {\n        PipeBarrier<PIPE_V>();  // sums",
        ),
    ],
)
def test_a_barrier_behind_one_that_always_runs(old: str, new: str) -> None:
    def made(text: str) -> bool:
        source = EmittedText(text)
        ends = (each.span.end for each in event_rules.missing_barriers(source))
        return any(source.text.startswith("  // sums", end) for end in ends)

    assert not made(BEFORE)
    assert old in BEFORE
    assert made(BEFORE.replace(old, new, 1))


DRAINS = """
Item DecodeItem(int64_t turn)
{
    const int64_t roundOfTurn =
        MaxOf((tiling_.items - 1 - blockIndex_) / blockCount_ - turn / blockCount_, 0);
    return Item{roundOfTurn};
}
void StartRows(int64_t itemSlot, int64_t rows)
{
    if (rows > 0) {
        PipeBarrier<PIPE_V>();
        Duplicate(rowMax_[itemSlot * kRowsPerVector], float(kLowest), rows);
    }
}
void SoftmaxTile(int64_t rows)
{
    Add(rowMax_, rowMax_, tileMax_, rows);
}
void UpdateTile(int64_t rows)
{
    Duplicate(grown_, 0.0f, 8);
}
void WriteRows(int64_t itemSlot, int64_t rows)
{
    if (tiling_.splits == 1) {
        Maxs(rowMax_, rowMax_, 1.0f, 8);
    } else {
        PipeBarrier<PIPE_V>();  // split
        Adds(maxOut, rowMax_[itemSlot * kRowsPerVector], 0.0f, 8);
        SetAndWaitFlag<HardEvent::V_MTE3>(kMaxOutReady);
    }
}
void RunVector()
{
    for (int64_t turn = blockIndex_; turn < turnsEnd; turn += blockCount_) {
        for (int64_t tile = 0; tile < work.steps; ++tile) {
            if (tile == 0) {
                StartRows(itemSlot, rows);
            }
            if (tile < work.tiles) {
                SoftmaxTile(rows);
            }
            if (stepsBegun_ > kPrefetch) {
                const VectorStep &earlier = vectorSteps_[earlierSlot];
                if (earlier.tile < earlierWork.tiles) {
                    UpdateTile(earlier.rows);
                }
                if (earlier.tile == earlierWork.steps - 1) {
                    WriteRows(earlier.itemSlot, earlier.rows);
                }
            }
        }
    }
}
"""


def test_the_turn_that_drains_a_block_of_one_item_has_a_barrier() -> None:
    assert left_out(DRAINS) == set()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # another item's rows, which may be none
        ("MaxOf((tiling_.items - 1 - blockIndex_) / blockCount_ - turn / blockCount_, 0)", "turn"),
        ("        PipeBarrier<PIPE_V>();\n        Duplicate(rowMax_", "        Duplicate(rowMax_"),
        # used behind that barrier
        ("Duplicate(grown_, 0.0f, 8)", "Duplicate(rowMax_, 0.0f, 8)"),
        ("if (tiling_.splits == 1)", "if (tiling_.parts == 1)"),
        ("if (tile == 0) {\n                StartRows", "if (tile == 1) {\n                StartRows"),
    ],
)
def test_without_it_the_barrier_of_split_keys_is_left_out(old: str, new: str) -> None:
    text = DRAINS.replace(old, new)
    assert text != DRAINS and left_out(text) == {"split"}


def test_blocks_of_several_items_need_the_barrier_of_split_keys() -> None:
    assert left_out(DRAINS, PLAN.replace("problem.cores / MaxOf(tiling.tasks, 1)", "2")) == {"split"}
