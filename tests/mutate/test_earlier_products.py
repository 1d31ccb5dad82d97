"""A slot whose wait a flag of the vector cores covers, each condition with a near twin that lacks it."""

from __future__ import annotations

import pytest

from attndsl.mutate import event_rules
from attndsl.mutate.instructions import EmittedText, Instructions

SCHEDULE = "constexpr int64_t kRing = 3, kWidenLead = 1, kPrefetch = kRing - 1;"
KERNEL = """
void RunCube()
{
    if (stepsBegun_ > kWidenLead) {
        if (earlier.tile < work.tiles) {
            ScoreTile(earlier);
        }
    }
    if (stepsBegun_ > kPrefetch) {
        WeightedTile(earlier);
    }
}
void ScoreTile()
{
    Mmad(product, left, right, ProductParams(16, 16, 16, true));
    CrossCoreSetFlag<kBlockCores, PIPE_FIX>(kScoreReady);
}
void WeightedTile()
{
    CrossCoreWaitFlag(kProbReady);
    {
        WaitFlag<HardEvent::MTE1_MTE2>(kProbL1Free + probL1Slot_);
        DataCopy(probL1, probGm_, 1);
        SetFlag<HardEvent::MTE1_MTE2>(kProbL1Free + probL1Slot_);
        probL1Slot_ = (probL1Slot_ + 1) % kDoubleBuffer;
    }
}
void SoftmaxTile()
{
    CrossCoreWaitFlag(kScoreReady);
    CrossCoreSetFlag<kBlockCores, PIPE_MTE3>(kProbReady);
}
"""


def waits_late(text: str, schedule: str = SCHEDULE) -> bool:
    """Whether some mutant waits for the slot behind what it loads there."""
    source = EmittedText(text, Instructions({}), "", None, schedule)
    found = (source.at(each.span) for each in event_rules.swapped_events(source))
    return any(each.startswith("WaitFlag<HardEvent::MTE1_MTE2>") for each in found)


def test_probabilities_of_a_later_product_cover_the_wait() -> None:
    assert not waits_late(KERNEL)
    assert not waits_late(
        KERNEL.replace("stepsBegun_ > kWidenLead", "tile < work.tiles"), "constexpr int64_t kPrefetch = 1;"
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "stepsBegun_ > kWidenLead",
            "tile < work.tiles",
        ),  # the product of the step itself: two steps are between
        ("stepsBegun_ > kWidenLead", "work.rows > 0 || isFirst"),  # nobody knows of which step
        ("stepsBegun_ > kWidenLead", "stepsBegun_ > kWidenLead + 1"),
        ("stepsBegun_ > kPrefetch", "stepsBegun_ > kDepth"),  # nobody knows by how many steps
        ("    CrossCoreWaitFlag(kProbReady);\n    {", "    {"),
        ("    {\n        WaitFlag", "    for (int64_t k0 = 0; k0 < keys; k0 += kBaseK) {\n        WaitFlag"),
        ("    CrossCoreWaitFlag(kScoreReady);\n", ""),
        (
            "    CrossCoreWaitFlag(kScoreReady);",
            "    if (rows > 0) {\n        CrossCoreWaitFlag(kScoreReady);\n    }",
        ),
        ("PIPE_FIX>(kScoreReady)", "PIPE_MTE2>(kScoreReady)"),  # set before the product
        (
            "void SoftmaxTile()\n{\n",
            "void SoftmaxTile()\n{\n    probL1Slot_ = (probL1Slot_ + 1) % kDoubleBuffer;\n",
        ),
        ("    ScoreTile(earlier);", "    Scores();"),
    ],
)
def test_what_it_rests_on(old: str, new: str) -> None:
    text = KERNEL.replace(old, new, 1)
    assert text != KERNEL and waits_late(text)
