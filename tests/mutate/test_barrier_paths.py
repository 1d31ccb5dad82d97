"""Barriers that no way through a vector core's work needs, each with near twins of which one does."""

from __future__ import annotations

import pytest

from attndsl.mutate.barrier_paths import unneeded
from attndsl.mutate.instructions import EmittedText, Instructions

RUNTIME = """
class KernelBase {
    __aicore__ static inline void SpreadRows(const LocalTensor<float> &blocks,
        const LocalTensor<float> &numbers, int64_t rows)
    {
        AscendC::Brcb(blocks, numbers, rows, AscendC::BrcbRepeatParams(1, 8));
    }
    __aicore__ static inline void LoadRow(const LocalTensor<float> &local,
        const GlobalTensor<float> &global, int64_t columns)
    {
        AscendC::DataCopyPad(local, global, AscendC::DataCopyExtParams(1, columns, 0, 0, 0));
    }
    __aicore__ static inline void StoreRow(const GlobalTensor<float> &global,
        const LocalTensor<float> &local, int64_t columns)
    {
        AscendC::DataCopyPad(global, local, AscendC::DataCopyExtParams(1, columns, 0, 0, 0));
    }
};
"""
SCHEDULE = """
constexpr uint32_t kSumAt = 0, kScoreAt = 64, kBlocksAt = 192, kResultAt = 256, kUbEnd = 320;
"""
KERNEL = """
class Kernel {
void Run()
{
    rowSum_ = View<float>(ub_, kSumAt);
    blocks_ = View<float>(ub_, kBlocksAt);
    result_ = View<float>(ub_, kResultAt);
}
void RunVector()
{
    for (int64_t step = 0; step < steps; ++step) {
        Tile(step, rows);
        Finish(rows);
    }
}
void Tile(int64_t step, int64_t rows)
{
    for (int64_t r0 = 0; r0 < rows; r0 += 8) {
        auto score = View<float>(ub_, kScoreAt + scoreSlot_ * kScoreSlotBytes);
        WaitFlag<HardEvent::V_MTE2>(kScoreFree + scoreSlot_);
        LoadRow(score, scoreGm_[r0], 8);
        SetFlag<HardEvent::MTE2_V>(kScoreReady + scoreSlot_);
        WaitFlag<HardEvent::MTE2_V>(kScoreReady + scoreSlot_);
        Muls(score, score, 2.0f, 8);
        PipeBarrier<PIPE_V>();
        Add(rowSum_, rowSum_, score, 8);
        SetFlag<HardEvent::V_MTE2>(kScoreFree + scoreSlot_);
        scoreSlot_ = (scoreSlot_ + 1) % kDoubleBuffer;
        PipeBarrier<PIPE_V>();  // turn
    }
    if (rows > 0) {
        PipeBarrier<PIPE_V>();  // sums
        Adds(rowSum_, rowSum_, 1.0f, 8);
    }
}
void Finish(int64_t rows)
{
    if (rows > 0) {
        PipeBarrier<PIPE_V>();  // finish
        SpreadRows(blocks_, rowSum_, 8);
        WaitFlag<HardEvent::MTE3_V>(kResultFree);
        PipeBarrier<PIPE_V>();  // result
        Muls(result_, blocks_, 2.0f, 8);
        SetAndWaitFlag<HardEvent::V_MTE3>(kResultReady);
        StoreRow(resultGm_, result_, 8);
        SetFlag<HardEvent::MTE3_V>(kResultFree);
    }
}
LocalTensor<float> rowSum_, blocks_, result_;
};
"""


def needed(*changes: tuple[str, str], schedule: str = SCHEDULE) -> set[str]:
    """The barriers with a name that keep an order."""
    text = KERNEL
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    source = EmittedText(text, Instructions.of(RUNTIME), schedule=schedule)
    found = set[str]()
    for each in source.statements:
        name = text[each.span.end :].partition("\n")[0].strip(" /")
        if name and source.is_vector_barrier(each) and each.number not in unneeded(source):
            found.add(name)
    return found


def test_of_two_barriers_with_nothing_between_neither_keeps_anything() -> None:
    assert needed() == {"finish", "result"}


@pytest.mark.parametrize(
    "change",
    [
        # the loop may end without a barrier
        ("        PipeBarrier<PIPE_V>();  // turn\n", ""),
        ("        PipeBarrier<PIPE_V>();  // turn\n", "        if (last) { PipeBarrier<PIPE_V>(); }\n"),
        # the branch is not that of the rows that the loop has
        (
            "    if (rows > 0) {\n        PipeBarrier<PIPE_V>();  // sums",
            "    {\n        PipeBarrier<PIPE_V>();  // sums",
        ),
        # an instruction between them
        (
            "    if (rows > 0) {\n        PipeBarrier<PIPE_V>();  // sums",
            "    Duplicate(rowSum_, 0.0f, 8);\n    if (rows > 0) {\n        PipeBarrier<PIPE_V>();  // sums",
        ),
    ],
)
def test_a_way_around_the_other_barrier_needs_this_one(change: tuple[str, str]) -> None:
    assert "sums" in needed(change)


def test_reading_what_was_read_needs_no_order() -> None:
    spread = ("SpreadRows(blocks_, rowSum_, 8);", "SpreadRows(blocksOfOthers, rowSum_, 8);")
    assert "finish" in needed(spread)
    assert "finish" not in needed(
        spread, ("Adds(rowSum_, rowSum_, 1.0f, 8);", "Adds(blocks_, rowSum_, 1.0f, 8);")
    )


def test_buffers_that_share_bytes_are_one() -> None:
    apart = (
        ("SpreadRows(blocks_, rowSum_, 8);", "Duplicate(blocks_, 0.0f, 8);"),
        (
            "2.0f, 8);\n        SetAndWaitFlag",
            "2.0f, 8);\n        PipeBarrier<PIPE_V>();\n        SetAndWaitFlag",
        ),
    )
    assert "finish" not in needed(*apart)
    assert "finish" in needed(*apart, schedule=SCHEDULE.replace("kBlocksAt = 192", "kBlocksAt = 0"))


def test_events_order_what_another_pipe_worked_on() -> None:
    """The result of the last step has been stored when this one's is written."""
    filled = (
        ("        PipeBarrier<PIPE_V>();  // finish\n        SpreadRows(blocks_, rowSum_, 8);\n", ""),
        ("Muls(result_, blocks_, 2.0f, 8);", "Duplicate(result_, 2.0f, 8);"),
    )
    waits = "        WaitFlag<HardEvent::MTE3_V>(kResultFree);\n"
    stores = (
        "        SetAndWaitFlag<HardEvent::V_MTE3>(kResultReady);\n        StoreRow(resultGm_, result_, 8);\n"
    )
    assert "result" not in needed(*filled)
    assert "result" in needed(*filled, (waits, ""))
    assert "result" in needed(*filled, (stores, ""))
    assert "result" in needed(*filled, (waits, waits.replace("kResultFree", "kOtherFree")))
    assert "result" in needed(*filled, (waits, waits.replace("kResultFree", "kResultFree + resultSlot_")))


def test_the_scalar_unit_waits_for_all_that_came_before() -> None:
    told = "SetFlag<HardEvent::V_S>(kTold);\n    WaitFlag<HardEvent::V_S>(kTold);\n"
    assert "finish" not in needed(
        ("void Finish(int64_t rows)\n{\n", f"void Finish(int64_t rows)\n{{\n    {told}")
    )
    early = told.replace("    WaitFlag<HardEvent::V_S>(kTold);\n", "")
    assert "finish" in needed(
        ("void Finish(int64_t rows)\n{\n", f"void Finish(int64_t rows)\n{{\n    {early}")
    )


@pytest.mark.parametrize(
    "change",
    [
        (
            "    if (rows > 0) {\n        PipeBarrier<PIPE_V>();  // sums",
            "    if (step == 0) { return; }\n    if (rows > 0) {\n        PipeBarrier<PIPE_V>();  // sums",
        ),
        (
            "        SpreadRows(blocks_",
            "        LocalTensor<float> sums = rowSum_[8];\n        Muls(sums, sums, 2.0f, 8);\n"
            "        SpreadRows(blocks_",
        ),
        ("        Finish(rows);", "        Finish(rows);\n        RunVector();"),
        (
            "    if (rows > 0) {\n        PipeBarrier<PIPE_V>();  // sums",
            "    rows = 8;\n    if (rows > 0) {\n        PipeBarrier<PIPE_V>();  // sums",
        ),
        # one number of rows may be 0 where the other is not
        (
            "    if (rows > 0) {\n        PipeBarrier<PIPE_V>();  // sums",
            "    if (other.rows > 0) {\n        PipeBarrier<PIPE_V>();  // sums",
        ),
    ],
)
def test_of_what_is_not_understood_each_barrier_is_needed(change: tuple[str, str]) -> None:
    assert needed(change) == {"turn", "sums", "finish", "result"}
