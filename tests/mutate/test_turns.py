"""Buffers that are over before others begin may overlap these; each has a near twin that may not."""

from __future__ import annotations

import pytest

from attndsl.mutate.instructions import EmittedText, Instructions
from attndsl.mutate.lifetimes import may_overlap

SCHEDULE = """
constexpr uint32_t kLanesSlotBytes = 64, kProbSlotBytes = 64, kStatSlotBytes = 32, kWideSlotBytes = 64;
constexpr uint32_t kLanesAt = 0, kProbAt = kLanesAt + kLanesSlotBytes, kStatAt = kProbAt + kProbSlotBytes,
    kNewMaxAt = kStatAt + kStatSlotBytes, kWideAt = kNewMaxAt + kStatSlotBytes,
    kZeroAt = kWideAt + kWideSlotBytes, kUbEnd = kZeroAt + kWideSlotBytes;
"""
KERNEL = """
void Run()
{
    lanes_ = View<float>(ub_, kLanesAt);
    prob_ = View<half>(ub_, kProbAt);
    stat_ = View<float>(ub_, kStatAt);
    newMax_ = View<float>(ub_, kNewMaxAt);
    wide_ = View<float>(ub_, kWideAt);
    zero_ = View<half>(ub_, kZeroAt);
    RunVector();
}
void RunVector()
{
    SetFlag<HardEvent::MTE3_V>(kWideFree);
    ScaleQuery();
    ReleaseQuery();
    for (int64_t turn = 0; turn < turns; ++turn) {
        SoftmaxTile();
    }
    ZeroPadding();
}
void ScaleQuery()
{
    if (tiling_.scaled) {
        Muls(wide_, wide_, 2.0f, 16);
        SetAndWaitFlag<HardEvent::V_MTE3>(kWideReady);
        DataCopy(scaledGm_, wide_, 16);
    }
}
void ReleaseQuery()
{
    if (tiling_.scaled) {
        CrossCoreSetFlag<kAllCores, PIPE_MTE3>(kAllScale);
        CrossCoreWaitFlag(kAllScale);
    }
}
void SoftmaxTile()
{
    for (int64_t r0 = 0; r0 < rows; r0 += 8) {
        PipeBarrier<PIPE_V>();
        Duplicate(lanes_, 0.0f, 16);
        PipeBarrier<PIPE_V>();
        Adds(stat_, lanes_, 0.0f, 8);
        PipeBarrier<PIPE_V>();  // before the maxima
        Max(newMax_, rowMax_[r0], stat_, 8);
        PipeBarrier<PIPE_V>();
        Cast(prob_, newMax_, RoundMode::CAST_RINT, 8);
        PipeBarrier<PIPE_V>();
        Cast(score_, prob_, RoundMode::CAST_NONE, 8);
    }
}
void ZeroPadding()
{
    PipeBarrier<PIPE_V>();  // before zeros
    Duplicate(zero_, 0.0f, 32);
    SetAndWaitFlag<HardEvent::V_MTE3>(kZeroReady);
    DataCopy(outGm_, zero_, 32);
}
"""


def overlaps(buffer: str, distance: str, old: str = "", new: str = "") -> bool:
    text = KERNEL.replace(old, new) if old else KERNEL
    assert (text != KERNEL) == bool(old)
    return may_overlap(EmittedText(text, Instructions({}), "", None, SCHEDULE), buffer, distance)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Duplicate(lanes_, 0.0f, 16)", "Adds(lanes_, lanes_, 1.0f, 16)"),  # kept from turn to turn
        ("Duplicate(lanes_, 0.0f, 16);", "if (r0 == 0) {\nDuplicate(lanes_, 0.0f, 16);\n}"),
        ("Cast(score_, prob_", "Add(score_, lanes_, prob_"),  # still read
        ("        PipeBarrier<PIPE_V>();\n        Duplicate(lanes_", "        Duplicate(lanes_"),
        ("Cast(score_, prob_, RoundMode::CAST_NONE, 8)", "DataCopy(probGm_, prob_, 8)"),  # another pipe
        ("    ZeroPadding();", "    Adds(score_, lanes_, 0.0f, 8);"),  # used elsewhere
        (
            "Cast(prob_, newMax_, RoundMode::CAST_RINT, 8);",
            "if (whole) {\n            Cast(prob_, newMax_, RoundMode::CAST_RINT, 8);\n        }",
        ),
    ],
)
def test_one_buffer_of_a_turn_may_take_the_place_of_one_before(old: str, new: str) -> None:
    assert overlaps("kProbAt", "kLanesSlotBytes")
    assert not overlaps("kProbAt", "kLanesSlotBytes", old, new)


def test_a_branch_in_a_turn_may_hold_both_buffers() -> None:
    """All uses of both, and not the first of one alone."""
    loop = KERNEL[KERNEL.index("for (int64_t r0") : KERNEL.index("void ZeroPadding")]
    head, _, body = loop.partition("{\n")
    branch = f"{head}{{\n        if (above) {{\n{body.rstrip()}\n}}\n"
    assert overlaps("kProbAt", "kLanesSlotBytes", loop, branch)
    last = "        Cast(score_, prob_, RoundMode::CAST_NONE, 8);\n"
    behind = branch.replace(last, "").rstrip().removesuffix("}\n}") + "}\n" + last + "    }\n}\n"
    assert not overlaps("kProbAt", "kLanesSlotBytes", loop, behind)


def test_no_barrier_between_two_buffers_of_a_turn_makes_a_defect() -> None:
    start, barrier = "Adds(stat_, lanes_, 0.0f, 8);\n", "        PipeBarrier<PIPE_V>();"
    text = KERNEL.partition(start)[2]
    without = text.replace(barrier + "  // before the maxima\n", "").replace(barrier + "\n", "")
    assert not overlaps("kProbAt", "kLanesSlotBytes", text, without)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Max(newMax_, rowMax_[r0], stat_, 8)", "WholeReduceMax(newMax_, stat_, 8, 8)"),  # not lane by lane
        ("Cast(score_, prob_, RoundMode::CAST_NONE, 8)", "Add(score_, stat_, prob_, 8)"),
    ],
)
def test_a_result_may_stand_over_an_operand_that_is_over(old: str, new: str) -> None:
    assert overlaps("kNewMaxAt", "kStatSlotBytes")
    assert not overlaps("kNewMaxAt", "kStatSlotBytes", old, new)
    assert not overlaps("kNewMaxAt", "16")  # lanes of another place


@pytest.mark.parametrize(
    ("start", "overlapping"),
    [
        ("Duplicate(stat_, 0.0f, 8);", True),
        ("Adds(stat_, stat_, 1.0f, 8);", False),  # of what it held before
        ("if (whole) {\n            Duplicate(stat_, 0.0f, 8);\n        }", False),
        ("Duplicate(stat_, 0.0f, 8);\n        Adds(score_, newMax_, 0.0f, 8);", False),  # not over
    ],
)
def test_a_buffer_may_begin_again_in_a_turn(start: str, overlapping: bool) -> None:
    again = f"{start}\n        PipeBarrier<PIPE_V>();\n        Add(score_, stat_, prob_, 8);"
    old = "Cast(score_, prob_, RoundMode::CAST_NONE, 8);"
    assert overlaps("kNewMaxAt", "kStatSlotBytes", old, again) == overlapping


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    ReleaseQuery();\n", ""),  # nothing waits
        ("void ReleaseQuery()\n{\n    if (tiling_.scaled)", "void ReleaseQuery()\n{\n    if (tiling_.late)"),
        ("    ScaleQuery();\n", "    SoftmaxTile();\n    ScaleQuery();\n"),  # not the first
        ("        Cast(score_, prob_", "        Adds(score_, wide_, 0.0f, 8);\n        Cast(score_, prob_"),
        ("<HardEvent::V_MTE3>(kWideReady);", "<HardEvent::V_MTE2>(kWideReady);"),
    ],
)
def test_what_is_over_when_all_blocks_have_waited_first_leaves_its_place(old: str, new: str) -> None:
    assert overlaps("kWideAt", "kStatSlotBytes")
    assert not overlaps("kWideAt", "kStatSlotBytes", old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    PipeBarrier<PIPE_V>();  // before zeros\n", ""),
        (
            "        SoftmaxTile();\n    }\n    ZeroPadding();",
            "        ZeroPadding();\n        SoftmaxTile();\n    }",
        ),
        (
            "    DataCopy(outGm_, zero_, 32)",
            "    DataCopy(outGm_, zero_, 32);\n    Adds(score_, newMax_, 0.0f, 8)",
        ),
        ("Cast(prob_, newMax_, RoundMode::CAST_RINT, 8)", "DataCopy(maxGm_, newMax_, 8)"),
    ],
)
def test_what_a_core_does_last_may_take_the_place_of_what_is_over(old: str, new: str) -> None:
    assert overlaps("kZeroAt", "kWideSlotBytes + kStatSlotBytes")
    assert not overlaps("kZeroAt", "kWideSlotBytes + kStatSlotBytes", old, new)
