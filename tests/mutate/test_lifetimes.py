"""Buffers that are never in use together may overlap; each has a near twin that may not."""

from __future__ import annotations

import pytest

from attndsl.mutate import data_rules, event_rules
from attndsl.mutate.defects import defects_of
from attndsl.mutate.instructions import EmittedText, Instructions
from attndsl.mutate.lifetimes import constants, may_overlap, splits_leave_one_item

SCHEDULE = """
constexpr int64_t kRows = 16, kBaseN = 128;
constexpr int64_t kBaseK = 64;
constexpr uint32_t
    kScoreSlotBytes = kRows * (kBaseN > kBaseK ? kBaseN : kBaseK) * 4,  // scores
    kSumOutSlotBytes = kRows * 8 * 4, kMergedMaxSlotBytes = kRows * 8 * 4;
constexpr int32_t kDoubleBuffer = 2;
constexpr uint32_t kScoreAt = 0, kSumOutAt = kScoreAt + kDoubleBuffer * kScoreSlotBytes,
    kResultAt = kSumOutAt + kDoubleBuffer * kSumOutSlotBytes, kMergedMaxAt = kResultAt + kScoreSlotBytes,
    kScratchAt = kMergedMaxAt + kMergedMaxSlotBytes, kTileMaxAt = kScratchAt + kMergedMaxSlotBytes,
    kUbEnd = kTileMaxAt + kMergedMaxSlotBytes;
"""
KERNEL = """
void Run()
{
    mergedMax_ = View<float>(ub_, kMergedMaxAt);
    scratch_ = View<float>(ub_, kScratchAt);
    tileMax_ = View<float>(ub_, kTileMaxAt);
    SoftmaxTile();
    WriteRows();
    MergePartials();
}
void SoftmaxTile()
{
    auto score = View<float>(ub_, kScoreAt);
    Max(tileMax_, score, score, 8);
}
void WriteRows()
{
    if (tiling_.splits == 1) {
        auto result = View<half>(ub_, kResultAt);
        Cast(result, score, 8);
    } else {
        auto sumOut = View<float>(ub_, kSumOutAt);
        Adds(sumOut, score, 0.0f, 8);
    }
}
void MergePartials()
{
    CrossCoreSetFlag<kAllCores, PIPE_MTE3>(kBeforeMergePartials);
    CrossCoreWaitFlag(kBeforeMergePartials);
    Max(mergedMax_, scratch_, mergedMax_, 8);
}
LocalTensor<float> mergedMax_, scratch_, tileMax_;
"""
PLAN = """
tiling.splits =
    problem.startTogether ? MaxOf(1, MinOf(problem.cores / MaxOf(tiling.tasks, 1), keyTiles)) : 1;
tiling.items = tiling.tasks * tiling.splits;
tiling.blocks = MaxOf(1, MinOf(tiling.items, problem.cores));
"""


def text_of(kernel: str = KERNEL, plan: str = PLAN) -> EmittedText:
    return EmittedText(kernel, Instructions({}), plan, None, SCHEDULE)


def test_constants_of_a_schedule() -> None:
    known = constants(SCHEDULE)
    assert (known["kScoreSlotBytes"], known["kSumOutAt"], known["kMergedMaxAt"]) == (8192, 16384, 25600)


@pytest.mark.parametrize(
    ("buffer", "distance", "harmless"),
    [
        ("kResultAt", "kDoubleBuffer * kSumOutSlotBytes", True),  # in the other branch
        ("kMergedMaxAt", "kMergedMaxSlotBytes", True),  # after all blocks have waited
        ("kMergedMaxAt", "kScoreSlotBytes", False),  # the third buffer behind is used before that
        ("kScratchAt", "kMergedMaxSlotBytes", False),  # both after it
        (
            "kSumOutAt",
            "kDoubleBuffer * kScoreSlotBytes",
            False,
        ),  # what stands behind is used with the scores, too
        ("kTileMaxAt", "kMergedMaxSlotBytes", True),
        ("kUbEnd", "kMergedMaxSlotBytes", False),
    ],
)
def test_buffers_that_may_overlap(buffer: str, distance: str, harmless: bool) -> None:
    assert may_overlap(text_of(), buffer, distance) is harmless


def test_both_branches_or_no_wait_of_all_blocks_make_a_defect() -> None:
    same_branch = KERNEL.replace("    } else {\n        auto sumOut", "        auto sumOut")
    assert not may_overlap(text_of(same_branch), "kResultAt", "kDoubleBuffer * kSumOutSlotBytes")
    no_wait = KERNEL.replace("    CrossCoreSetFlag<kAllCores, PIPE_MTE3>(kBeforeMergePartials);\n", "")
    assert not may_overlap(text_of(no_wait), "kTileMaxAt", "kMergedMaxSlotBytes")


def test_the_split_branch_comes_last_where_splits_leave_one_item() -> None:
    assert splits_leave_one_item(PLAN)
    assert not splits_leave_one_item(PLAN.replace("problem.cores / MaxOf(tiling.tasks, 1)", "splitsForAll"))
    fixed = "tiling.splits = kernel.fixedSplits;"
    assert not splits_leave_one_item(PLAN + fixed)
    told = "struct Kernel { int64_t ring = 0; int64_t fixedSplits = 0; };"
    told += "constexpr Kernel Of() { return {3, 1}; }"
    assert splits_leave_one_item(PLAN + fixed + told)
    assert not splits_leave_one_item(PLAN + fixed + told.replace("3, 1", "3, 2"))
    assert not splits_leave_one_item(PLAN.replace("tiling.items, problem", "tiling.tasks, problem"))


def test_an_operand_that_one_instruction_uses_may_be_one_that_none_does_then() -> None:
    def buffers(kernel: str) -> set[str]:
        source = text_of(kernel)
        return {f"{source.at(each.span)} {each.after}" for each in data_rules.wrong_buffers(source)}

    assert "scratch_ tileMax_" not in buffers(KERNEL)
    used_twice = KERNEL.replace(
        "Max(mergedMax_, scratch_", "Adds(scratch_, score, 0.0f, 8);\n    Max(mergedMax_, scratch_"
    )
    assert "scratch_ tileMax_" in buffers(used_twice)
    merged = KERNEL.replace("mergedMax_, scratch_, mergedMax_, 8", "mergedMax_, scratch_, tileMax_, 8")
    assert "scratch_ tileMax_" in buffers(merged)


STEPS = """
constexpr uint16_t kScoreReady = 0;
constexpr uint16_t kOutReady = 2;
void ScoreTile()
{
    CrossCoreSetFlag<kBlockCores, PIPE_FIX>(kScoreReady);
}
void WeightedTile()
{
    CrossCoreSetFlag<kBlockCores, PIPE_FIX>(kOutReady);
}
void SoftmaxTile()
{
    CrossCoreWaitFlag(kScoreReady);
}
void UpdateTile()
{
    CrossCoreWaitFlag(kOutReady);
}
void RunCube()
{
    if (tile < work.tiles) {
        ScoreTile();
    }
    if (begun_ > kPrefetch && earlier.tile < earlierWork.tiles) {
        WeightedTile();
    }
}
void RunVector()
{
    if (tile < work.tiles) {
        SoftmaxTile();
    }
    if (earlier.tile < earlierWork.tiles) {
        UpdateTile();
    }
}
"""


def numbers(text: str) -> list[str]:
    found = defects_of(EmittedText(text), [event_rules.misnumbered_events])
    return [each.after for each in found if each.after.isdigit()]


def test_flags_that_are_set_and_waited_for_in_turn_may_have_one_counter() -> None:
    assert numbers(STEPS) == []
    cube, vector = STEPS.split("void RunVector()")
    swapped = (
        vector.replace("SoftmaxTile", "Other")
        .replace("UpdateTile", "SoftmaxTile")
        .replace("Other", "UpdateTile")
    )
    assert numbers(f"{cube}void RunVector(){swapped}") == ["2", "0"]
    other_order = vector.replace("tile < work.tiles", "late").replace(
        "earlier.tile < earlierWork.tiles", "tile < work.tiles"
    )
    assert numbers(f"{cube}void RunVector(){other_order}") == ["2", "0"]
    inside = STEPS.replace(
        "CrossCoreWaitFlag(kOutReady);", "if (rows > 0) {\n CrossCoreWaitFlag(kOutReady);\n}"
    )
    assert numbers(inside) == ["2", "0"]


def test_flags_of_a_later_call_in_a_branch_are_in_turn_too() -> None:
    later = STEPS.replace("        ScoreTile();", "        LoadRows();\n        ScoreTile();")
    assert numbers(later) == [] and numbers(later.replace(".tiles", ".keySteps")) == []
    inner = STEPS.replace(
        "        ScoreTile();", "        if (rows > 0) {\n            ScoreTile();\n        }"
    )
    assert numbers(inner) == ["2", "0"]


RELEASED = """
constexpr uint16_t kProbReady = 0;
constexpr uint16_t kEndsReady = 1;
void RunVector()
{
    ReleaseEnds();
    for (int64_t turn = 0; turn < turns; ++turn) {
        SoftmaxTile();
    }
}
void RunCube()
{
    AwaitEnds();
    for (int64_t turn = 0; turn < turns; ++turn) {
        AwaitProbabilities();
    }
}
void ReleaseEnds()
{
    CrossCoreSetFlag<kBlockCores, PIPE_MTE3>(kEndsReady);
}
void SoftmaxTile()
{
    CrossCoreSetFlag<kBlockCores, PIPE_MTE3>(kProbReady);
}
void AwaitEnds()
{
    CrossCoreWaitFlag(kEndsReady);
}
void AwaitProbabilities()
{
    CrossCoreWaitFlag(kProbReady);
}
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "    CrossCoreWaitFlag(kEndsReady);",
            "    if (late) {\n        CrossCoreWaitFlag(kEndsReady);\n    }",
        ),
        ("    AwaitEnds();\n    for", "    for"),
        (
            "        AwaitProbabilities();\n    }\n",
            "        AwaitProbabilities();\n    }\n    AwaitEnds();\n",
        ),
        ("    ReleaseEnds();\n", "    SoftmaxTile();\n    ReleaseEnds();\n"),
    ],
)
def test_a_flag_before_all_of_another_may_have_its_counter(old: str, new: str) -> None:
    text = RELEASED.replace(old, new)
    assert text != RELEASED
    assert numbers(RELEASED) == [] and numbers(text) == ["1", "0"]


def test_events_of_different_branches_may_have_one_id() -> None:
    constants = "constexpr int32_t kResultReady = 0;\nconstexpr int32_t kSumReady = 1;\nvoid Stage()\n{\n"
    event = "SetFlag<HardEvent::V_MTE3>(k{0}Ready);\nExp(x, x, 8);\nWaitFlag<HardEvent::V_MTE3>(k{0}Ready);\n"
    result, sums = event.format("Result"), event.format("Sum")
    branches = f"if (tiling_.splits == 1) {{\n{result}}} else {{\n{sums}}}\n"
    assert numbers(f"{constants}{branches}}}") == []
    assert numbers(f"{constants}{branches.replace('splits == 1', 'steps == 1')}}}") == ["1", "0"]
    assert numbers(f"{constants}{branches}{sums}}}") == ["1", "0"]


def test_events_that_are_over_before_a_split_is_stored_may_have_its_ids() -> None:
    """Where splits leave one item: what the branch does comes last."""
    text = """constexpr int32_t kProbReady = 0;
constexpr int32_t kSumReady = 1;
void Softmax() {{
    SetFlag<HardEvent::V_MTE3>(kProbReady);
    {}
    WaitFlag<HardEvent::V_MTE3>(kProbReady);
}}
void Write() {{
    if (tiling_.splits == 1) {{
        Exp(x, x, 8);
    }} else {{
        SetAndWaitFlag<HardEvent::V_MTE3>(kSumReady);
    }}
}}
void Later() {{
    {}
}}
"""

    def ids(inside: str, later: str, plan: str) -> list[str]:
        source = EmittedText(text.format(inside, later), Instructions({}), plan)
        found = defects_of(source, [event_rules.misnumbered_events])
        return [each.after for each in found if each.after.isdigit()]

    assert ids("Exp(x, x, 8);", "", PLAN) == []
    assert ids("Exp(x, x, 8);", "", PLAN.replace("problem.cores / MaxOf(tiling.tasks, 1)", "4")) == ["1", "0"]
    assert ids("", "SetFlag<HardEvent::V_MTE3>(kProbReady);", PLAN) == ["1", "0"]
    wait, event = "WaitFlag<HardEvent::V_MTE3>(kProbReady);", "SetFlag<HardEvent::V_MTE3>(kProbReady);"
    assert ids("", f"{wait}\n{event}", PLAN) == ["1", "0"]  # one that is set ahead


WARMED = """
constexpr uint16_t kProbReady = 0;
constexpr uint16_t kScoreWarm = 1;
void RunVector()
{
    WarmScores();
    for (int64_t tile = 0; tile < work.steps; ++tile) {
        SoftmaxTile();
    }
}
void RunCube()
{
    for (int64_t tile = 0; tile < work.steps; ++tile) {
        if (stepsBegun_ <= kPrefetch) {
            AwaitSlot();
        } else if (earlier.tile < earlierWork.tiles) {
            AwaitProbabilities();
        }
    }
}
void WarmScores()
{
    for (int64_t warmStep = 1; warmStep < kPrefetch + 1; ++warmStep) {
        CrossCoreSetFlag<kBlockCores, PIPE_MTE3>(kScoreWarm);
    }
}
void SoftmaxTile()
{
    CrossCoreSetFlag<kBlockCores, PIPE_MTE3>(kProbReady);
}
void AwaitSlot()
{
    CrossCoreWaitFlag(kScoreWarm);
}
void AwaitProbabilities()
{
    CrossCoreWaitFlag(kProbReady);
}
"""


def test_a_flag_of_the_first_steps_may_have_the_counter_of_one_of_later_steps() -> None:
    assert numbers(WARMED) == []
    assert numbers(WARMED.replace("} else if (earlier.tile", "}\n        if (earlier.tile")) == ["1", "0"]
    begin, loop = "    WarmScores();\n", "        SoftmaxTile();\n    }\n"
    later = WARMED.replace(begin, "").replace(loop, loop + begin)
    assert numbers(later) == ["1", "0"]
