"""Events that others cover, each with a near twin that nothing covers."""

from __future__ import annotations

import pytest

from attndsl.mutate import event_rules
from attndsl.mutate.covered_events import runs_with
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


FREE_AHEAD = """WaitFlag<HardEvent::MTE2_V>(kPartialTaken);
            Load(partial, outRingGm_[r0], 16);
            SetFlag<HardEvent::MTE2_V>(kPartialTaken);"""


def test_what_else_the_load_tells_first_hides_nothing() -> None:
    old = "Load(partial, outRingGm_[r0], 16);"
    assert swapped(old, FREE_AHEAD, "Store(") == []
    ready = "SetAndWaitFlag<HardEvent::MTE2_V>(kPartialReady)"
    # the only event is set ahead: its wait is for an earlier load
    ahead = KERNEL.replace(old, FREE_AHEAD).replace(ready, "WaitFlag<HardEvent::MTE2_V>(kPartialTaken)")
    assert "WriteRows" in made(event_rules.swapped_events, ahead, "Store(")
    # set after its wait once, before it elsewhere
    twice = KERNEL.replace(ready, "SetFlag<HardEvent::MTE2_V>(kDone);\nWaitFlag<HardEvent::MTE2_V>(kDone)")
    assert made(event_rules.swapped_events, twice, "Store(") == []


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


SHARED = """
void Weighted()
{
    if (halfOfTask == 0) {
        Load(valueL1_, valueGm_, 1);
        SetAndWaitFlag<HardEvent::MTE2_MTE1>(kValueReady);
    }
    for (int64_t k0 = 0; k0 < keys; k0 += 128) {
        Load(probL1_, probGm_, 1);
        SetAndWaitFlag<HardEvent::MTE2_MTE1>(kProbReady);
        LoadData(left, probL1_, 1);
        LoadData(right, valueL1_, 1);
    }
}
void Other()
{
    Load(probL1_, probGm_, 1);
    LoadData(right, probL1_, 1);
}
"""
IN_LOOP = SHARED[SHARED.index("    }\n") : SHARED.index("        LoadData(left")]
IN_OTHER_BRANCH = """    } else {
        SetAndWaitFlag<HardEvent::MTE2_MTE1>(kProbReady);
    }
    for (int64_t k0 = 0; k0 < keys; k0 += 128) {
"""


@pytest.mark.parametrize(
    ("old", "new", "is_made"),
    [
        ("", "", False),
        # a pipe works on the values before it is told of the probabilities
        (
            "        Load(probL1_, probGm_, 1);\n        Set",
            "        LoadData(right, valueL1_, 1);\n        Set",
            True,
        ),
        ("        SetAndWaitFlag<HardEvent::MTE2_MTE1>(kProbReady);\n", "", True),
        ("    for (", "    LoadData(right, valueL1_, 1);\n    for (", True),
        ("    if (halfOfTask", "    LoadData(left, valueL1_, 1);\n    if (halfOfTask", True),
        # the loop may have no turn, and another function reads the values
        ("LoadData(right, probL1_, 1)", "LoadData(right, valueL1_, 1)", True),
        (
            "    Load(probL1_, probGm_, 1);\n    LoadData(right, probL1_",
            "    Load(valueL1_, g, 1);\n    LoadData(right, valueL1_",
            False,
        ),
        # the second event comes in the other branch
        (IN_LOOP, IN_OTHER_BRANCH, True),
    ],
)
def test_values_that_halves_share_come_before_probabilities(old: str, new: str, is_made: bool) -> None:
    assert old in SHARED
    source = EmittedText(SHARED.replace(old, new, 1) if old else SHARED, KNOWN)
    found = [source.at(each.span) for each in event_rules.dropped_events(source)]
    assert any("kValueReady" in each for each in found) == is_made


def test_what_stands_in_an_else_does_not_run_with_what_follows() -> None:
    text = "void Stage()\n{\n    if (full) { One(); } else { Other(); Next(); }\n    Last();\n}\n"
    source = EmittedText(text, Instructions({}))
    _, one, other, beside, last = source.statements
    assert runs_with(source, other, beside) and runs_with(source, last, other)
    assert not runs_with(source, other, last)
    assert not runs_with(source, other, one) and not runs_with(source, one, other)
