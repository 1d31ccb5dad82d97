"""What a plan is asked beside the calls of cases, and plans that only such questions show to be wrong."""

from __future__ import annotations

import pytest

from attndsl.compiler.prepare_launch import Launch, prepare
from attndsl.execute.user_project import UserProject
from attndsl.mutate.asked_plans import asked_launches, differing_plans
from attndsl.mutate.bench import Bench

from .conftest import Subject


@pytest.fixture(scope="module")
def launch(subject: Subject) -> Launch:
    """Of the first case: which is the cheapest, time decides."""
    first = min(subject.trials, key=lambda each: each.data.number)
    return prepare(first.data.case().call())


def project(subject: Subject, old: str = "", new: str = "") -> UserProject:
    bench = Bench(subject.files)
    text = subject.files.files[subject.files.plan]
    assert old in text
    changed = subject.files.changed(subject.files.plan, text.replace(old, new, 1) if old else text)
    return UserProject(bench.folder(changed.files), bench.mode)


def test_questions_have_tiling_data_of_the_compiled_program(subject: Subject, launch: Launch) -> None:
    asked, own = list(asked_launches(launch)), project(subject)
    assert len(asked) > 20
    assert {1, 2, 3} <= {int(each.tiling["splits"]) for each in asked}
    assert not list(differing_plans(own, own, launch))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tiling.blocks = 1;", "tiling.blocks = 2;"),  # of a call without work
        ("tiling.splits = 3;", "tiling.splits = 4;"),
        ("return tiling.splits > 1;", "return tiling.splits > 2;"),
        ("tiling.splits = 1;", "tiling.splits = 2;"),  # of blocks that do not start together
    ],
)
def test_plans_that_questions_show_to_be_wrong(subject: Subject, launch: Launch, old: str, new: str) -> None:
    before, after = project(subject), project(subject, old, new)
    assert not set(after.plan(launch).differing(launch)) - set(before.plan(launch).differing(launch))
    assert list(differing_plans(before, after, launch))


def test_a_plan_that_is_written_another_way_is_right(subject: Subject, launch: Launch) -> None:
    after = project(subject, "tiling.splits = 3;", "tiling.splits = 1 + 2;")
    assert not list(differing_plans(project(subject), after, launch))


@pytest.mark.parametrize(("old", "new"), [("problem.D > 112", "problem.D >= 112"), ("D <= 128", "D < 128")])
def test_both_edges_of_a_bucket_are_asked_for(subject: Subject, launch: Launch, old: str, new: str) -> None:
    size = launch.compiled.specialization.padded_head_size
    old, new = (each.replace("112", str(size - 16)).replace("128", str(size)) for each in (old, new))
    before, after = project(subject).keys_at_edges(launch), project(subject, old, new).keys_at_edges(launch)
    assert len(before) == 4 and sum(before[each] != after[each] for each in before) == 1
