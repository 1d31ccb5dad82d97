"""Draws, and a campaign of a few mutants."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from attndsl.base.errors import UserError
from attndsl.campaign.jobs import LocalThreads
from attndsl.mutate import runner
from attndsl.mutate.mutants import CLASS_SHARE, drawn
from attndsl.mutate.runner import Draw, mutate
from attndsl.spec.operator.loader import load

from .conftest import Subject


def test_names_of_mutants_tell_them_apart(subject: Subject) -> None:
    names = [each.name for group in subject.mutants.values() for each in group]
    assert len(names) == len(set(names)) > 500


def test_a_draw_is_that_of_its_seed_and_has_every_class(subject: Subject) -> None:
    every = [each for group in subject.mutants.values() for each in group]
    one, again, other = (list(drawn(every, 100, seed)) for seed in (3, 3, 4))
    assert one == again and one != other
    quotas, (count, rest) = one[:-1], one[-1]
    assert {kind: quota for quota, group in quotas for kind in {each.kind for each in group}} == (
        dict.fromkeys(subject.mutants, 100 // CLASS_SHARE)
    )
    assert count == 100 and Counter(each.kind for each in rest) == Counter(each.kind for each in every)


@pytest.fixture(scope="module")
def project(subject: Subject, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project of the small kernel in a folder."""
    out = tmp_path_factory.mktemp("project")
    subject.project.write(out)
    return out / subject.project.folder


def test_a_campaign_can_be_repeated_and_goes_on(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator, journal = load("incre_flash_attention"), tmp_path / "journal"
    draw, done = Draw(count=4, seed=1, cases=4), list[tuple[int, int]]()
    first = mutate(
        operator,
        draw,
        project=project,
        jobs=LocalThreads(1),
        journal=journal,
        progress=lambda *told: done.append(told),
    )
    assert done == [(1, 4), (2, 4), (3, 4), (4, 4)]
    told = first.to_json()
    assert told["mutants"] == 4 and told["killed"] + len(told["survivors"]) == 4
    assert json.loads(json.dumps(told)) == told
    assert sum(each["mutants"] for each in told["classes"].values()) == 4

    def refuse(*_: object) -> object:
        raise AssertionError("the journal has it")

    monkeypatch.setattr(runner, "try_mutant", refuse)
    monkeypatch.setattr(runner, "Bench", refuse)
    again = mutate(operator, draw, project=project, jobs=LocalThreads(1), journal=journal)
    assert again.to_json()["tried"] == told["tried"]


def test_one_mutant_by_its_name(project: Path, subject: Subject) -> None:
    mutant = next(each for each in subject.mutants["dropped cross-core flag"] if "Wait" in each.before)
    draw = Draw(count=1, seed=0, cases=2, only=(mutant.name,))
    found = mutate(load("incre_flash_attention"), draw, project=project, jobs=LocalThreads(1))
    (tried,) = found.tried
    assert tried.mutant == mutant and tried.outcome.status == "killed"
    assert f"--only {mutant.name}" in tried.command


def test_an_unknown_name_is_refused(project: Path) -> None:
    with pytest.raises(UserError, match="no mutant 0000 among"):
        mutate(load("incre_flash_attention"), Draw(count=1, seed=0, cases=2, only=("0000",)), project=project)
