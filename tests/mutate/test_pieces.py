"""Where a tile is one piece, waits and barriers that order several are no defect; in a near twin they are."""

from __future__ import annotations

import pytest

from attndsl.mutate import event_rules
from attndsl.mutate.instructions import EmittedText, Instructions

SCHEDULE = "constexpr int64_t kTileKeys = 128, kBaseN = 128, kBaseK = 128, kRing = 3, kPrefetch = kRing - 1;"
KERNEL = """
void RunCube()
{
    const int64_t earlierSlot = (slot + kRing - kPrefetch) % kRing;
    if (stepsBegun_ > kPrefetch && earlier.tile < earlierWork.tiles) {
        AwaitProbabilities();
    }
    if (tile < work.tiles) {
        ScoreTile();
    }
    if (stepsBegun_ > kPrefetch && earlier.tile < earlierWork.tiles) {
        WeightedTile();
    }
}
void AwaitProbabilities()
{
    CrossCoreWaitFlag(kProbReady);
}
void ScoreTile()
{
    const int64_t keys = MinOf(kTileKeys, work.keyEnd - firstKey);
    WaitFlag<HardEvent::M_MTE1>(kLeftFree + leftSlot_);
    LoadData(left, queryL1, 1);
    for (int64_t n0 = 0; n0 < keys; n0 += kBaseN) {
        WaitFlag<HardEvent::MTE1_MTE2>(kKeyFree + keySlot_);
        DataCopy(keyL1, keyGm_, 1);
        WaitFlag<HardEvent::M_MTE1>(kRightFree + rightSlot_);
        LoadData(right, keyL1, 1);
        Mmad(product, left, right, ProductParams(16, 16, 16, true));
        SetFlag<HardEvent::M_MTE1>(kRightFree + rightSlot_);
        rightSlot_ = (rightSlot_ + 1) % kDoubleBuffer;
        SetFlag<HardEvent::MTE1_MTE2>(kKeyFree + keySlot_);
        keySlot_ = (keySlot_ + 1) % kDoubleBuffer;
    }
    SetFlag<HardEvent::M_MTE1>(kLeftFree + leftSlot_);
    leftSlot_ = (leftSlot_ + 1) % kDoubleBuffer;
    CrossCoreSetFlag<kBlockCores, PIPE_FIX>(kScoreReady);
}
void WeightedTile()
{
    const int64_t keys = MinOf(kTileKeys, work.keyEnd - firstKey);
    for (int64_t k0 = 0; k0 < keys; k0 += kBaseK) {
        WaitFlag<HardEvent::M_MTE1>(kLeftFree + leftSlot_);
        LoadData(left, probL1, 1);
        WaitFlag<HardEvent::M_MTE1>(kRightFree + rightSlot_);
        LoadData(right, valueL1, 1);
        if (rows < 10) {
            PipeBarrier<PIPE_M>();
        }
        Mmad(product, left, right, ProductParams(16, 16, 16, k0 == 0));
        SetFlag<HardEvent::M_MTE1>(kRightFree + rightSlot_);
        rightSlot_ = (rightSlot_ + 1) % kDoubleBuffer;
        SetFlag<HardEvent::M_MTE1>(kLeftFree + leftSlot_);
        leftSlot_ = (leftSlot_ + 1) % kDoubleBuffer;
    }
}
void SoftmaxTile()
{
    CrossCoreWaitFlag(kScoreReady);
    CrossCoreSetFlag<kBlockCores, PIPE_MTE3>(kProbReady);
}
"""
LEFT, RIGHT, KEY = "kLeftFree", "kRightFree", "kKeyFree"
LEFT_GOES_ON, RIGHT_GOES_ON = (
    f"{each}Slot_ = ({each}Slot_ + 1) % kDoubleBuffer;" for each in ("left", "right")
)


def late(old: str = "", new: str = "", schedule: str = SCHEDULE) -> list[str]:
    """The slots for which some mutant waits late."""
    source = text_of(old, new, schedule)
    found = (source.at(each.span) for each in event_rules.swapped_events(source))
    return [each.partition("(")[2].partition(" ")[0] for each in found if each.startswith("Wait")]


def early(old: str = "", new: str = "", schedule: str = SCHEDULE) -> list[str]:
    """The functions in which some mutant tells a slot free in front of its product."""
    source = text_of(old, new, schedule)
    found = [each.span for each in event_rules.swapped_events(source) if source.at(each.span)[:4] == "Mmad"]
    return [each.function for span in found if (each := source.statement_at(span.start)) is not None]


def text_of(old: str, new: str, schedule: str) -> EmittedText:
    text = KERNEL.replace(old, new) if old else KERNEL
    assert (text != KERNEL) == bool(old)
    return EmittedText(text, Instructions({}), "", None, schedule)


def test_one_piece_is_covered_by_waits_in_front() -> None:
    assert late() == [LEFT, LEFT]


@pytest.mark.parametrize(
    ("old", "new", "made"),
    [
        ("kBaseN = 128", "kBaseN = 64", [LEFT, KEY, RIGHT, LEFT, RIGHT]),  # several pieces
        ("kRing = 3", "kRing = 4", [LEFT, KEY, LEFT]),  # a tile between that no one waited for
        ("kRing = 3", "kRing = 2", [LEFT, KEY, LEFT]),
    ],
)
def test_another_schedule(old: str, new: str, made: list[str]) -> None:
    assert late(schedule=SCHEDULE.replace(old, new)) == made


@pytest.mark.parametrize(
    ("old", "new", "made"),
    [
        ("        AwaitProbabilities();", "        ;", [LEFT, KEY, LEFT]),
        ("    CrossCoreWaitFlag(kScoreReady);\n", "", [LEFT, KEY, LEFT]),
        (
            f"    SetFlag<HardEvent::M_MTE1>(kLeftFree + leftSlot_);\n    {LEFT_GOES_ON}\n    Cross",
            "    Cross",
            [LEFT, RIGHT, LEFT, RIGHT],
        ),
        (
            f"        SetFlag<HardEvent::M_MTE1>(kRightFree + rightSlot_);\n        {RIGHT_GOES_ON}\n"
            f"        SetFlag<HardEvent::M_MTE1>(kLeftFree + leftSlot_);\n        {LEFT_GOES_ON}",
            f"        SetFlag<HardEvent::M_MTE1>(kLeftFree + leftSlot_);\n        {LEFT_GOES_ON}\n"
            f"        SetFlag<HardEvent::M_MTE1>(kRightFree + rightSlot_);\n        {RIGHT_GOES_ON}",
            [LEFT, RIGHT, LEFT, RIGHT],
        ),
        (
            "void SoftmaxTile()\n{\n",
            "void SoftmaxTile()\n{\n    rightSlot_ = (rightSlot_ + 1) % kDoubleBuffer;\n",
            [LEFT, RIGHT, LEFT, RIGHT],
        ),
    ],
)
def test_nothing_covers_another_wait(old: str, new: str, made: list[str]) -> None:
    assert late(old, new) == made


def test_a_slot_whose_waits_are_covered_may_be_told_free_early() -> None:
    assert early() == []
    assert early(schedule=SCHEDULE.replace("kBaseN = 128", "kBaseN = 64")) == ["ScoreTile", "WeightedTile"]
    further = "    WaitFlag<HardEvent::M_MTE1>(kRightFree + rightSlot_);\n    LoadData(right, probL1, 1);\n"
    start = "void SoftmaxTile()\n{\n"
    assert early(start, start + further) == ["ScoreTile", "WeightedTile"]


def test_a_product_of_one_piece_needs_no_barrier() -> None:
    def made(old: str = "", new: str = "", schedule: str = SCHEDULE) -> int:
        return len(list(event_rules.missing_barriers(text_of(old, new, schedule))))

    assert made() == 0
    assert made(schedule=SCHEDULE.replace("kBaseK = 128", "kBaseK = 64")) == 1
    assert made("16, k0 == 0", "16, false") == 1


BANDS = """
void DecodeItem()
{
    const int64_t visibleEnd = MinOf(tiling_.keyCapacity, MaxOf(0, found.firstQuery + found.queries - 1 + 1));
    const int64_t tileTotal = found.taskRows == 0 ? 0 : CeilDiv(found.keyEnd, kTileKeys);
}
void ScoreTile()
{
    for (int64_t n0 = 0; n0 < keys; n0 += kBaseN) {
        WaitFlag<HardEvent::M_MTE1>(kRightFree + rightSlot_);
        LoadData(right, keyL1, 1);
        for (int64_t band = 0; band < work.taskRows; band += kRowsPerBand) {
            const int64_t bandKeys = MinOf(keys, RoundUp(MaxOf(1, MaxOf(0,
                work.firstQuery + (band + bandRows - 1) / work.heads + 1) - firstKey), kRepeatLanes));
            if (n0 < bandKeys) {
                WaitFlag<HardEvent::M_MTE1>(kLeftFree + leftSlot_);
                LoadData(left, queryL1, 1);
                Mmad(product, left, right, ProductParams(16, 16, 16, true));
                SetFlag<HardEvent::M_MTE1>(kLeftFree + leftSlot_);
                leftSlot_ = (leftSlot_ + 1) % kDoubleBuffer;
            }
        }
        SetFlag<HardEvent::M_MTE1>(kRightFree + rightSlot_);
        rightSlot_ = (rightSlot_ + 1) % kDoubleBuffer;
    }
}
void WeightedTile()
{
    for (int64_t k0 = 0; k0 < keys; k0 += kBaseK) {
        WaitFlag<HardEvent::M_MTE1>(kLeftFree + leftSlot_);
        LoadData(left, probL1, 1);
        WaitFlag<HardEvent::M_MTE1>(kRightFree + rightSlot_);
        LoadData(right, valueL1, 1);
        Mmad(product, left, right, ProductParams(16, 16, 16, k0 == 0));
        SetFlag<HardEvent::M_MTE1>(kRightFree + rightSlot_);
        rightSlot_ = (rightSlot_ + 1) % kDoubleBuffer;
        SetFlag<HardEvent::M_MTE1>(kLeftFree + leftSlot_);
        leftSlot_ = (leftSlot_ + 1) % kDoubleBuffer;
    }
}
"""


def of_bands(old: str = "", new: str = "") -> list[str]:
    text = BANDS.replace(old, new, 1) if old else BANDS
    assert (text != BANDS) == bool(old)
    source = EmittedText(text, Instructions({}), "", None, SCHEDULE)
    found = (source.at(each.span) for each in event_rules.swapped_events(source))
    return [each.partition("(")[2].partition(" ")[0] for each in found if each.startswith("Wait")]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("found.firstQuery + found.queries", "found.lastQuery + found.queries"),  # no band may see the end
        ("if (n0 < bandKeys)", "if (n0 < someKeys)"),
        ("found.taskRows == 0 ? 0 : ", ""),  # keys without rows
        (
            "                leftSlot_ = (leftSlot_ + 1) % kDoubleBuffer;",
            "                leftSlot_ ^= band > 0;",
        ),
        (
            "Mmad(product, left, right, ProductParams(16, 16, 16, k0 == 0));",
            "Mmad(a);\n        Mmad(b);",
        ),
    ],
)
def test_a_slot_for_each_product_covers_the_other_operand(old: str, new: str) -> None:
    assert of_bands() == [RIGHT, LEFT, LEFT]
    # of a task with rows each half has some
    assert of_bands("found.taskRows == 0", "rowsOfTask == 0") == [RIGHT, LEFT, LEFT]
    assert of_bands(old, new) == [RIGHT, LEFT, LEFT, RIGHT]
