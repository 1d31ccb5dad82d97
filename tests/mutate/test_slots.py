"""Which slot is a wrong one: the other slot is none where one function takes the buffer each time."""

from __future__ import annotations

import pytest

from attndsl.mutate import data_rules
from attndsl.mutate.instructions import EmittedText, Helper, Instructions

KNOWN = Instructions({"Load": Helper("MTE2", ()), "Store": Helper("MTE3", ())})
KERNEL = """
void WidenKeys()
{
    for (int64_t k0 = 0; k0 < keys; k0 += 8) {
        auto rows = View<int8_t>(ub_, kRowsAt + rowsSlot_ * kRowsSlotBytes);
        WaitFlag<HardEvent::V_MTE2>(kRowsFree + rowsSlot_);
        Load(rows, keyGm_, 1);
        SetAndWaitFlag<HardEvent::MTE2_V>(kRowsReady + rowsSlot_);
        Cast(wide_, rows, RoundMode::CAST_NONE, 16);
        SetAndWaitFlag<HardEvent::V_MTE3>(kWideReady);
        Store(keyRingGm_, wide_, 1);
        SetFlag<HardEvent::V_MTE2>(kRowsFree + rowsSlot_);
        rowsSlot_ = (rowsSlot_ + 1) % kDoubleBuffer;
    }
    SetAndWaitFlag<HardEvent::MTE3_MTE2>(kKeysTaken);
}
void WidenValues()
{
    for (int64_t k0 = 0; k0 < keys; k0 += 8) {
        auto rows = View<int8_t>(ub_, kRowsAt + rowsSlot_ * kRowsSlotBytes);
        Load(rows, valueGm_, 1);
        Cast(wide_, rows, RoundMode::CAST_NONE, 16);
        SetAndWaitFlag<HardEvent::V_MTE2>(kValuesTaken);
        rowsSlot_ = (rowsSlot_ + 1) % kDoubleBuffer;
    }
}
void UpdateTile()
{
    for (int64_t r0 = 0; r0 < rows; r0 += 8) {
        auto sums = View<float>(ub_, kSumsAt + sumsSlot_ * kSumsSlotBytes);
        Load(sums, ringGm_, 1);
        Muls(sums, sums, 2.0f, 16);
        Store(ringGm_, sums, 1);
        sumsSlot_ = (sumsSlot_ + 1) % kDoubleBuffer;
    }
}
void WriteRows()
{
    for (int64_t r0 = 0; r0 < rows; r0 += 8) {
        auto sums = View<float>(ub_, kSumsAt + sumsSlot_ * kSumsSlotBytes);
        Load(sums, ringGm_, 1);
        Cast(result_, sums, RoundMode::CAST_RINT, 16);
        sumsSlot_ = (sumsSlot_ + 1) % kDoubleBuffer;
    }
}
"""
ROWS, SUMS = "(rowsSlot_ ^ 1)", "(sumsSlot_ ^ 1)"


def slots(old: str = "", new: str = "") -> dict[str, str]:
    """The slot that stands in the place of each function's."""
    assert old in KERNEL
    source = EmittedText(KERNEL.replace(old, new, 1) if old else KERNEL, KNOWN)
    found = [(source.statement_at(each.span.start), each.after) for each in data_rules.wrong_slots(source)]
    return {around.function: after for around, after in found if around is not None}


def test_a_slot_that_does_not_change_where_functions_order_more_than_slots() -> None:
    assert slots() == {"WidenKeys": "0", "WidenValues": "0", "UpdateTile": "0", "WriteRows": SUMS}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # keys are still read when values are loaded
        ("    SetAndWaitFlag<HardEvent::MTE3_MTE2>(kKeysTaken);\n", ""),
        ("        SetAndWaitFlag<HardEvent::V_MTE3>(kWideReady);\n", ""),
        (
            "    SetAndWaitFlag<HardEvent::MTE3",
            "    if (keys > 8) { SetAndWaitFlag<HardEvent::MTE3_MTE2>(0); }\n//",
        ),
        # the other way round
        ("        SetAndWaitFlag<HardEvent::V_MTE2>(kValuesTaken);\n", ""),
        # who reads does not fill
        ("        Load(rows, valueGm_, 1);\n", ""),
        ("        Load(rows, keyGm_, 1);\n", ""),
    ],
)
def test_the_other_slot_meets_what_another_function_has_left(old: str, new: str) -> None:
    found = slots(old, new)
    assert (found["WidenKeys"], found["WidenValues"]) == (ROWS, ROWS)


def test_turns_meet_in_a_branch_of_the_loop_too() -> None:
    _, start, body = KERNEL.partition("        auto sums")
    turn = body.partition("    }\n")[0]
    branch = f"        if (grew) {{\n{start}{turn}        }}\n"
    assert slots(start + turn, branch)["UpdateTile"] == "0"
    loop = "    for (int64_t r0 = 0; r0 < rows; r0 += 8) {\n"
    assert slots(loop + start + turn, "    if (grew) {\n" + start + turn)["UpdateTile"] == SUMS


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("        Store(ringGm_, sums, 1);\n", ""),
        ("        Load(sums, ringGm_, 1);\n        Muls(sums, sums,", "        Muls(sums, other_,"),
        ("1);\n        sumsSlot_ = (sumsSlot_ + 1) % kDoubleBuffer;", "1);"),
    ],
)
def test_turns_that_do_not_load_and_store_again_do_not_meet(old: str, new: str) -> None:
    assert slots(old, new)["UpdateTile"] == SUMS


FINISHES = """
void WeightedTile(int64_t tile)
{
    if (tile > 0 && band == 0) {
        CrossCoreWaitFlag(kOutRingRescaled);
    }
    CrossCoreSetFlag<kBlockCores, PIPE_FIX>(kOutRingReady);
}
void UpdateTile(int64_t tile)
{
    CrossCoreWaitFlag(kOutRingReady);
    if (tile < work.steps - 1) {
        WaitFlag<HardEvent::V_S>(kGrownReady);
        for (int64_t r0 = 0; r0 < rows; r0 += 8) {
            auto sums = View<float>(ub_, kSumsAt + sumsSlot_ * kSumsSlotBytes);
            Load(sums, ringGm_, 1);
            Muls(sums, sums, 2.0f, 16);
            Store(ringGm_, sums, 1);
            sumsSlot_ = (sumsSlot_ + 1) % kDoubleBuffer;
        }
        CrossCoreSetFlag<kBlockCores, PIPE_MTE3>(kOutRingRescaled);
    }
}
void WriteRows()
{
    for (int64_t r0 = 0; r0 < rows; r0 += 8) {
        auto sums = View<float>(ub_, kSumsAt + sumsSlot_ * kSumsSlotBytes);
        Load(sums, ringGm_, 1);
        Cast(result_, sums, RoundMode::CAST_RINT, 16);
        sumsSlot_ = (sumsSlot_ + 1) % kDoubleBuffer;
    }
}
void RunVector()
{
    if (earlier.tile < earlierWork.tiles) {
        UpdateTile(earlier.tile);
    }
    if (earlier.tile == earlierWork.steps - 1) {
        WriteRows();
    }
}
"""


def of_finish(old: str = "", new: str = "") -> str:
    """The slot that stands in the place of that of what finishes an item."""
    assert old in FINISHES
    source = EmittedText(FINISHES.replace(old, new, 1) if old else FINISHES, KNOWN)
    found = [(source.statement_at(each.span.start), each.after) for each in data_rules.wrong_slots(source)]
    return next(after for around, after in found if around is not None and around.function == "WriteRows")


def test_what_finishes_an_item_meets_nothing_that_the_cube_has_not_waited_for() -> None:
    assert of_finish() == "0"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # the cube adds what nobody has rescaled yet, or tells of it first
        ("        CrossCoreWaitFlag(kOutRingRescaled);\n", ""),
        ("    if (tile > 0 && band == 0) {\n", "    if (band == 0) {\n"),
        ("    CrossCoreWaitFlag(kOutRingReady);\n", ""),
        ("        CrossCoreSetFlag<kBlockCores, PIPE_MTE3>(kOutRingRescaled);\n", ""),
        # rescaled without a look at what has grown: the vector pipe may still read the slot
        ("        WaitFlag<HardEvent::V_S>(kGrownReady);\n", ""),
        # the sums of the last tile are rescaled, too
        ("    if (tile < work.steps - 1) {\n", "    if (tile < work.steps) {\n"),
        # halves: another one is rescaled in between
        (
            "    if (earlier.tile == earlierWork.steps - 1) {\n",
            "    if (earlier.tile >= earlierWork.last) {\n",
        ),
    ],
)
def test_what_finishes_an_item_may_meet_what_rescales(old: str, new: str) -> None:
    assert of_finish(old, new) == SUMS
