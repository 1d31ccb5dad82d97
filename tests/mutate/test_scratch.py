"""Buffers that hold nothing between blocks may have one place; each has a near twin that may not."""

from __future__ import annotations

import pytest

from attndsl.mutate.instructions import EmittedText, Helper, Instructions
from attndsl.mutate.lifetimes import may_overlap

SCHEDULE = """
constexpr uint32_t kBlocksSlotBytes = 64, kWideSlotBytes = 64;
constexpr uint32_t kBlocksAt = 0, kWideAt = kBlocksAt + kBlocksSlotBytes, kUbEnd = kWideAt + kWideSlotBytes;
"""
KERNEL = """
void Run()
{
    blocks_ = View<float>(ub_, kBlocksAt);
    wide_ = View<float>(ub_, kWideAt);
    RunVector();
}
void RunVector()
{
    for (int64_t turn = 0; turn < turns; ++turn) {
        SoftmaxTile();
        UpdateTile();
    }
}
void SoftmaxTile()
{
    for (int64_t r0 = 0; r0 < rows; r0 += 8) {
        if (heads == 1) {
            Cast(wide_, mask, RoundMode::CAST_NONE, 16);
        } else {
            for (int64_t row = 0; row < 8; ++row) {
                Cast(wide_[row], mask, RoundMode::CAST_NONE, 16);
            }
        }
        PipeBarrier<PIPE_V>();
        Add(score_, score_, wide_, 16);
        PipeBarrier<PIPE_V>();  // behind the mask
        Exp(score_, score_, 16);
    }
}
void UpdateTile()
{
    if (splits == 1) {
        for (int64_t r0 = 0; r0 < rows; r0 += 8) {
            Adds(blocks_, rescale_, 0.0f, 16);
            PipeBarrier<PIPE_V>();
            Mul(sums_, sums_, blocks_, 16);
            PipeBarrier<PIPE_V>();  // behind the sums
        }
    }
}
void Helper()
{
    Exp(score_, score_, 16);
}
"""


def overlaps(*changes: tuple[str, str]) -> bool:
    text = KERNEL
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    return may_overlap(
        EmittedText(text, Instructions({"Load": Helper("MTE2", ())}), "", None, SCHEDULE),
        "kWideAt",
        "kBlocksSlotBytes",
    )


BEHIND_MASK = ("        PipeBarrier<PIPE_V>();  // behind the mask\n", "")
BEHIND_SUMS = ("            PipeBarrier<PIPE_V>();  // behind the sums\n", "")
BEFORE_MASK = ("        if (heads", "        PipeBarrier<PIPE_V>();\n        if (heads")


def test_two_buffers_that_hold_nothing_between_their_blocks_may_have_one_place() -> None:
    assert overlaps()
    assert overlaps(BEFORE_MASK, BEHIND_SUMS, BEHIND_MASK) is False
    # one barrier in front of a use is as good as one behind the other buffer's last
    assert overlaps(BEFORE_MASK, BEHIND_SUMS)


@pytest.mark.parametrize(
    "change",
    [
        BEHIND_MASK,
        BEHIND_SUMS,
        # read before it is written, so that it keeps what an earlier turn has left
        ("Adds(blocks_, rescale_,", "Adds(blocks_, blocks_,"),
        ("            Adds(blocks_", "            Mul(sums_, sums_, blocks_, 16);\n            Adds(blocks_"),
        # written in one branch alone
        (
            "            Adds(blocks_, rescale_, 0.0f, 16);",
            "            if (r0 == 0) { Adds(blocks_, r, 0.0f, 16); }",
        ),
        ("Cast(wide_[row]", "Cast(other_[row]"),
        (" else {", " else if (heads == 2) {"),
        # another pipe takes it, or another function uses the other one meanwhile
        ("Adds(blocks_, rescale_, 0.0f, 16)", "Load(blocks_, rescaleGm_, 16)"),
        (
            "        Add(score_, score_, wide_, 16);",
            "        UpdateTile();\n        Add(score_, score_, wide_, 16);",
        ),
        # one block uses both
        ("        Exp(score_, score_, 16);", "        Adds(blocks_, score_, 0.0f, 16);"),
    ],
)
def test_without_that_they_overlap(change: tuple[str, str]) -> None:
    assert not overlaps(change)
