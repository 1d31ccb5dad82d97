"""Events that others cover, each with a near twin that nothing covers."""

from __future__ import annotations

import pytest

from attndsl.mutate import event_rules
from attndsl.mutate.defects import Rule, defects_of
from attndsl.mutate.instructions import EmittedText, Helper, Instructions

KNOWN = Instructions(
    {"Load": Helper("MTE2", ()), "Store": Helper("MTE3", ()), "MergePartial": Helper("V", ())}
)
KERNEL = """
void RunVector()
{
    SetFlag<HardEvent::MTE3_V>(kResultFree);
    SetFlag<HardEvent::MTE3_MTE2>(kPartialFree);
    for (int64_t turn = 0; turn < turnsEnd; turn += 1) {
        WriteRows();
    }
    if (tiling_.splits > 1) {
        Merge();
    }
    WaitFlag<HardEvent::MTE3_V>(kResultFree);
    WaitFlag<HardEvent::MTE3_MTE2>(kPartialFree);
}
void WriteRows()
{
    if (tiling_.splits == 1) {
        for (int64_t r0 = 0; r0 < rows; r0 += 16) {
            SetFlag<HardEvent::V_MTE2>(kTaken);
            WaitFlag<HardEvent::V_MTE2>(kOther);
            WaitFlag<HardEvent::MTE3_MTE2>(kPartialFree);
            Load(partial, outRingGm_[r0], 16);
            SetAndWaitFlag<HardEvent::MTE2_V>(kPartialReady);
            WaitFlag<HardEvent::MTE3_V>(kResultFree);
            Cast(result, partial, 16);
            SetAndWaitFlag<HardEvent::V_MTE3>(kResultReady);
            Store(outGm_[r0], result, 16);
            SetFlag<HardEvent::MTE3_V>(kResultFree);
            SetFlag<HardEvent::MTE3_MTE2>(kPartialFree);
        }
    }
}
void Merge()
{
    CrossCoreSetFlag<kAllCores, PIPE_MTE3>(kBefore);
    CrossCoreWaitFlag(kBefore);
    for (int64_t unit = 0; unit < units; unit += 1) {
        MergeParts();
        WaitFlag<HardEvent::MTE3_V>(kResultFree);
        Cast(result, sums, 16);
        SetAndWaitFlag<HardEvent::V_MTE3>(kResultReady);
        Store(outGm_[unit], result, 16);
        SetFlag<HardEvent::MTE3_V>(kResultFree);
    }
}
void MergeParts()
{
    for (int64_t part = 0; part < tiling_.splits; ++part) {
        WaitFlag<HardEvent::MTE3_MTE2>(kPartialFree);
        Load(partial, partialGm_[part], 16);
        SetAndWaitFlag<HardEvent::MTE2_V>(kPartReady);
        MergePartial(sums, partial, 16);
        SetFlag<HardEvent::MTE3_MTE2>(kPartialFree);
    }
}
"""


def made(rule: Rule, text: str, wanted: str) -> list[str]:
    """The functions in which a rule changes what begins with some text."""
    source = EmittedText(text, KNOWN)
    found = (each.span for each in defects_of(source, [rule]))
    return [
        around.function
        for span in found
        if source.at(span).startswith(wanted) and (around := source.statement_at(span.start)) is not None
    ]


def swapped(old: str, new: str, wanted: str) -> list[str]:
    assert old in KERNEL
    return made(event_rules.swapped_events, KERNEL.replace(old, new), wanted)


def test_a_load_that_waits_for_the_store_covers_what_fills_the_buffer() -> None:
    assert made(event_rules.swapped_events, KERNEL, "Store(") == []
    assert made(event_rules.swapped_events, KERNEL, "WaitFlag<HardEvent::MTE3_V>") == []


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        # nothing is set behind the store
        ("PartialFree);\n        }\n    }\n}\nvoid M", "Else);\n        }\n    }\n}\nvoid M", "WriteRows"),
        # what fills does not wait for the load
        ("SetAndWaitFlag<HardEvent::MTE2_V>(kPartialReady)", "Load(other, otherGm_, 1)", "WriteRows"),
        # two slots of what is loaded, one of the result
        ("kPartialFree)", "kPartialFree + partialSlot_)", "WriteRows"),
        # a single part may be merged: its load waits for what came before the store
        ("if (tiling_.splits > 1)", "if (tiling_.splits > 0)", "Merge"),
        ("        MergeParts();\n", "", "Merge"),
    ],
)
def test_without_that_the_release_is_needed_where_it_stands(old: str, new: str, where: str) -> None:
    assert where in swapped(old, new, "Store(")


def test_two_pipes_set_and_wait_for_different_events_in_any_order() -> None:
    assert made(event_rules.swapped_events, KERNEL, "SetFlag<HardEvent::V_MTE2>") == []
    assert swapped("kOther", "kTaken", "SetFlag<HardEvent::V_MTE2>") == ["WriteRows"]


LOADS = """
void Weighted()
{
    for (int64_t k0 = 0; k0 < keys; k0 += 128) {
        LoadData(left, probL1, 1);
        SetAndWaitFlag<HardEvent::MTE1_M>(kLeftReady);
        {
            WaitFlag<HardEvent::M_MTE1>(kRightFree);
            LoadData(right, valueL1, 1);
            SetAndWaitFlag<HardEvent::MTE1_M>(kRightReady);
            Mmad(product, left, right, ProductParams(16, 16, 16, 0, false, true));
        }
        SetFlag<HardEvent::M_MTE1>(kLeftFree);
    }
}
"""


def dropped(old: str = "", new: str = "") -> list[str]:
    source = EmittedText(LOADS.replace(old, new) if old else LOADS, KNOWN)
    found = (source.at(each.span) for each in event_rules.dropped_events(source))
    return [each.partition("(")[2] for each in found if each.startswith("SetAndWait")]


def test_the_second_of_two_loads_covers_the_event_of_the_first() -> None:
    assert dropped() == ["kRightReady);"]
    both = ["kLeftReady);", "kRightReady);"]
    assert dropped("WaitFlag<HardEvent::M_MTE1>(kRightFree);", "Mmad(other, left, left, 1);") == both
    assert dropped("WaitFlag<HardEvent::M_MTE1>(kRightFree);", "SetFlag<HardEvent::M_FIX>(kDone);") == both
    assert dropped("        {\n", "        if (k0 > 0) {\n") == ["kRightReady);"]
    behind = "Mmad(other, left, left, 1);\n        SetFlag<HardEvent::M_MTE1>"
    assert dropped("SetFlag<HardEvent::M_MTE1>", behind) == ["kRightReady);"]
    behind = behind.replace("\n", "\n        ")
    ifs = LOADS.replace("        {\n", "        if (k0 > 0) {\n")
    source = EmittedText(ifs.replace("SetFlag<HardEvent::M_MTE1>", behind), KNOWN)
    assert len(list(event_rules.dropped_events(source))) == 4
