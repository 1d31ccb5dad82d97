"""Which kernels a mutant of a plan is tried with: those for whose calls its place decides something."""

from __future__ import annotations

import pytest

from attndsl.mutate import plan_rules
from attndsl.mutate.instructions import EmittedText
from attndsl.mutate.source_model import Span

MEMBERS = """
struct Kernel {
    int64_t ring = 0;  // slots
    int64_t fixedSplits = 0;  // what it is always
};
namespace kernels {
constexpr Kernel OfComputed()
{
    namespace schedule = computed;
    return {schedule::kRing, 0};
}
constexpr Kernel OfFixed()
{
    return {0, 1};
}
}
bool SelectKernel(const Problem &problem, Choice &choice)
{
    if (problem.keySplit == 0) {
        choice.key = Key::kComputed;
        choice.kernel = kernels::OfComputed();
        return true;
    }
    if (problem.keySplit != 0) {
        choice.key = Key::kFixed;
        choice.kernel = kernels::OfFixed();
        return true;
    }
    return false;
}
void Lay(const Problem &problem, const Kernel &kernel, Tiling &tiling)
{
    tiling.splits = kernel.fixedSplits;
}
bool BlocksWait(const Problem &problem)
{
    return problem.maskGiven != 0;
}
"""


def test_what_a_plan_is_told_of_one_kernel_is_tried_with_it() -> None:
    source = EmittedText(MEMBERS)
    start = MEMBERS.index("kernel.fixedSplits;")
    used = plan_rules.used_members(source, Span(start, start + 1))
    told = plan_rules.members_of_kernels(source)
    assert [key for key, members in told.items() if used <= members] == ["kFixed"]
    waits = MEMBERS.index("problem.maskGiven")
    assert plan_rules.wanted_flags(source, Span(waits, waits + 1)) == {"maskGiven": True}


def test_what_a_plan_does_without_being_told_is_tried_with_a_kernel_it_is_not_told_of() -> None:
    text = MEMBERS.replace(
        "= kernel.fixedSplits;", "= kernel.fixedSplits > 0 ? kernel.fixedSplits : kernel.ring;"
    )
    source = EmittedText(text)

    def fitting(place: str) -> list[str]:
        start = text.index(place)
        span = Span(start, start + len(place))
        used, untold = plan_rules.used_members(source, span), plan_rules.untold_members(source, span)
        told = plan_rules.members_of_kernels(source)
        return [key for key, members in told.items() if used <= members and not untold & members]

    assert fitting("kernel.ring;") == ["kComputed"]
    # the other branch, and what decides, use both
    assert fitting("kernel.fixedSplits :") == fitting("kernel.fixedSplits > 0") == []


SWITCH = """
void Lay()
{
    switch (problem.queryLayout) {
        case 0:
            tiling.a = 1;
    }
    tiling.b = 2;
}
"""


def test_a_switch_is_tried_with_a_kernel_that_reads_what_its_cases_compute() -> None:
    def fields(place: str) -> frozenset[str]:
        start = SWITCH.index(place)
        return plan_rules.switched_fields(EmittedText(SWITCH), Span(start, start + 1))

    assert (fields("problem.queryLayout"), fields("tiling.b")) == ({"a"}, frozenset())


CASES = """
void SetStrides(const Problem &problem, Tiling &tiling)
{
    switch (problem.queryLayout) {
        case values::QueryLayout::kPacked:
            tiling.packed = 1;
            break;
        case values::QueryLayout::kPadded:
            tiling.padded = tiling.packed + 1;
    }
}
void Tile(const Problem &problem) { SetStrides(problem, tiling); }
void Tile2(const Problem &problem) { tiling.other = 2; }
struct Kernel {
    int64_t ring = 0;
    Tiling (*tile)(const Problem &problem, const Kernel &kernel) = nullptr;
};
constexpr Kernel OfTile()
{
    return {0, &Tile};
}
constexpr Kernel OfTile2()
{
    return {0,
        &Tile2};
}
bool SelectKernel(const Problem &problem, Choice &choice)
{
    if (problem.queryLayout == values::QueryLayout::kPacked) {
        choice.key = Key::kOfPacked;
        choice.kernel = kernels::OfTile();
        return true;
    }
    if (problem.queryLayout != values::QueryLayout::kPacked) {
        choice.key = Key::kOfOthers;
        choice.kernel = kernels::OfTile();
        return true;
    }
    if (problem.maskGiven != 0) {
        choice.key = Key::kMasked;
        choice.kernel = kernels::OfTile2();
        return true;
    }
    return false;
}
"""


@pytest.mark.parametrize(
    ("place", "of_case", "of_function"),
    [
        ("tiling.packed = 1", {"kOfPacked", "kMasked"}, {"kOfPacked", "kOfOthers"}),
        ("tiling.padded", {"kOfOthers", "kMasked"}, {"kOfPacked", "kOfOthers"}),
        ("tiling.other", None, {"kMasked"}),
        ("choice.key = Key::kMasked", None, None),
    ],
)
def test_a_place_of_a_plan_is_tried_with_a_kernel_that_it_plans_for(
    place: str, of_case: set[str] | None, of_function: set[str] | None
) -> None:
    source, start = EmittedText(CASES), CASES.index(place)
    at = Span(start, start + 1)
    assert plan_rules.kernels_of_case(source, at) == of_case
    assert plan_rules.kernels_of_function(source, at) == of_function
    assert [plan_rules.is_read(source, each) for each in ("packed", "padded")] == [True, False]


USUAL = """
bool SelectKernel(const Problem &problem, Choice &choice)
{
    const bool isUsual = problem.queryLayout == values::QueryLayout::kPacked &&
        problem.maskGiven == 0;
    if (isUsual && problem.biasGiven != 0) {
        choice.key = Key::kBiased;
        return true;
    }
    if (problem.maskGiven != 0) {
        choice.key = Key::kMasked;
        return true;
    }
    return false;
}
"""


def test_what_a_branch_asks_for_by_name_counts() -> None:
    assert plan_rules.selecting_flags(EmittedText(USUAL)) == {
        "kBiased": {"biasGiven": True, "maskGiven": False},
        "kMasked": {"maskGiven": True},
    }


MODE = """
bool BlocksWait(const Problem &problem)
{{
    return problem.maskGiven != 0{};
}}
void PlanLaunch(const Problem &problem)
{{
    plan.scheduleMode = BlocksWait(problem) ? kBatchMode : 0;
    plan.status = problem.empty;
}}
"""


def test_the_mode_of_a_launch_is_tried_with_a_kernel_whose_blocks_wait() -> None:
    def flags(text: str, place: str) -> dict[str, bool]:
        start = text.index(place)
        return plan_rules.wanted_flags(EmittedText(text), Span(start, start + 1))

    assert flags(MODE.format(""), "kBatchMode") == {"maskGiven": True}
    assert flags(MODE.format(""), "problem.empty") == {}
    assert flags(MODE.format(" || tiling.splits > 1"), "kBatchMode") == {}
