"""Draws, and a campaign of a few mutants."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from attndsl.base.errors import UserError
from attndsl.campaign import record_keys
from attndsl.campaign.jobs import LocalThreads
from attndsl.mutate import runner
from attndsl.mutate.bench import KernelFails, KernelFiles, MissedCase, Trial
from attndsl.mutate.mutants import CLASS_SHARE, Mutant, drawn
from attndsl.mutate.runner import Draw, mutate
from attndsl.mutate.trial_run import KILLED, NOT_REACHED, SURVIVED, TIMEOUT, Outcome
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


def test_other_mutants_of_one_kernel_leave_the_order_of_the_others(subject: Subject) -> None:
    """A change of one kernel's text draws its mutants anew, and no other's."""
    kinds = sorted(subject.mutants)
    every = [each for kind in kinds for each in subject.mutants[kind]]
    changed = {each.name for each in subject.mutants[kinds[0]]}
    others = [each for each in every if each.name not in changed]
    order, left = ([*drawn(each, 100, 3)][-1][1] for each in (every, others))
    assert changed and [each for each in order if each.name not in changed] == [*left]


def test_a_result_is_kept_as_long_as_what_decides_it(
    subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How the compiler arrives at a kernel decides nothing of its mutants; the emulator does."""
    files = subject.files
    here = runner._Campaign._key("mutant", files, "a name")
    other = replace(files, files={**files.files, files.header: files.files[files.header] + "// more"})
    assert runner._Campaign._key("mutant", other, "a name") != here
    for part, decides in (
        ("mutants", True),
        ("emulator", True),
        ("judge", True),
        ("tile interpreter", False),
    ):
        with monkeypatch.context() as changed:
            digests = {each: record_keys.source_digest(each) for each in record_keys.SOURCES} | {part: "x"}
            changed.setattr(record_keys, "source_digest", digests.__getitem__)
            changed.setattr(runner, "source_digest", digests.__getitem__)
            runner._sources.cache_clear()
            assert (runner._Campaign._key("mutant", files, "a name") != here) == decides
    runner._sources.cache_clear()


@pytest.fixture(scope="module")
def project(subject: Subject, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project of the small kernel in a folder."""
    out = tmp_path_factory.mktemp("project")
    subject.project.write(out)
    return out / subject.project.folder


def test_a_campaign_can_be_repeated_and_goes_on(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator, journal = [load("incre_flash_attention")], tmp_path / "journal"
    draw, done = Draw(count=4, seed=1, cases=4), list[tuple[int, int]]()
    first = mutate(
        operator,
        draw,
        project=project,
        jobs=LocalThreads(1),
        journal=journal,
        progress=lambda *told: done.append(told),
    )
    assert done[:4] == [(1, 4), (2, 4), (3, 4), (4, 4)] and done[-1] == (4, 4)
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
    found = mutate([load("incre_flash_attention")], draw, project=project, jobs=LocalThreads(1))
    (tried,) = found.tried
    assert tried.mutant == mutant and tried.outcome.status == "killed"
    assert f"incre_flash_attention --only {mutant.name}" in tried.command


def test_survivors_of_the_first_cases_run_on_the_others(
    project: Path, subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a kernel has none, its other cases are not looked for."""
    one, other = subject.mutants["stride"][:2]
    looked_for, tried = list[range](), list[tuple[str, int]]()

    def measure(files: object, cases: range, key: str) -> tuple[Trial, ...]:
        looked_for.append(cases)
        return subject.trials[cases.start : cases.stop]

    def run(mutant: Mutant, files: object, trials: Sequence[Trial]) -> Outcome:
        tried.append((mutant.name, len(trials)))
        status = SURVIVED if survives and mutant.name == other.name else KILLED
        return Outcome(status=status, cases=len(trials))

    monkeypatch.setattr(runner, "measure_kernel", measure)
    monkeypatch.setattr(runner, "run_mutant", run)
    operators, first = [load("incre_flash_attention")], runner.FIRST_CASES
    draw = Draw(count=2, seed=0, cases=8, only=(one.name, other.name))
    survives = False
    mutate(operators, draw, project=project, jobs=LocalThreads(1))
    assert looked_for == [range(first)] and {count for _, count in tried} == {first}
    looked_for.clear()
    tried.clear()
    survives = True
    found = mutate(operators, draw, project=project, jobs=LocalThreads(1))
    assert looked_for == [range(first), range(first, 8)]
    assert tried[2:] == [(other.name, 8 - first)]
    (survivor,) = found.survivors
    assert survivor.mutant == other and survivor.outcome.cases == 8


def test_what_further_cases_make_of_a_survivor() -> None:
    alive = Outcome(status=SURVIVED, cases=3)
    assert alive.then(Outcome(status=KILLED, by="value", case=5, cases=2)) == (
        Outcome(status=KILLED, by="value", case=5, cases=5)
    )
    assert alive.then(Outcome(status=NOT_REACHED)) == alive
    assert Outcome(status=TIMEOUT, cases=1).then(alive) == Outcome(status=TIMEOUT, cases=4)


def test_an_unknown_name_is_refused(project: Path) -> None:
    with pytest.raises(UserError, match="no mutant 0000 among"):
        mutate(
            [load("incre_flash_attention")], Draw(count=1, seed=0, cases=2, only=("0000",)), project=project
        )


def test_a_mutant_is_tried_with_a_kernel_whose_cases_reach_it(
    subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the kernels that share the changed file, and have mutants themselves."""
    mutant, another = subject.mutants["stride of the plan"][:2]
    files = subject.files
    nothing = tuple(replace(each, reached={}) for each in subject.trials)
    second = replace(files, listed=replace(files.listed, name="second"))
    changed = {**files.files, mutant.file: files.files[mutant.file] + "// changed\n"}

    def tried_with(other: KernelFiles, trials: Sequence[Trial]) -> str:
        cases = {files.kernel: nothing, "second": trials}
        monkeypatch.setattr(runner, "_kernels", lambda *_: [[files, other]])
        monkeypatch.setattr(runner, "mutants_of", lambda _: [mutant, replace(another, kernel="second")])
        monkeypatch.setattr(runner, "measure_kernel", lambda kernel, *_: cases[kernel.kernel])
        monkeypatch.setattr(runner, "run_mutant", lambda *_: Outcome(status=KILLED))
        draw = Draw(count=2, seed=0, cases=3)
        found = mutate([load("incre_flash_attention")], draw, jobs=LocalThreads(1))
        return next(each.mutant.kernel for each in found.tried if each.mutant.name == mutant.name)

    assert tried_with(second, subject.trials) == "second"
    assert tried_with(second, nothing) == files.kernel
    assert tried_with(replace(second, files=changed), subject.trials) == files.kernel


def test_a_kernel_that_misses_a_case_ends_the_campaign_after_the_others(
    subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant, another = subject.mutants["stride"][:2]
    second = replace(subject.files, listed=replace(subject.files.listed, name="second"))
    tried: list[str] = []

    def measure(kernel: KernelFiles, cases: range, key: str) -> tuple[Trial, ...] | MissedCase:
        if kernel.kernel == "second" and cases.start >= fails_from:
            return MissedCase(kernel="second", case=cases.start, message="a wrong value")
        return subject.trials[cases.start : cases.stop]

    def run(mutant: Mutant, files: object, trials: Sequence[Trial]) -> Outcome:
        tried.append(mutant.kernel)
        return Outcome(status=SURVIVED, cases=len(trials))

    monkeypatch.setattr(runner, "_kernels", lambda *_: [[subject.files, second]])
    monkeypatch.setattr(runner, "mutants_of", lambda _: [mutant, replace(another, kernel="second")])
    monkeypatch.setattr(runner, "measure_kernel", measure)
    monkeypatch.setattr(runner, "run_mutant", run)
    first = runner.FIRST_CASES
    for fails_from, expected in ((0, [0, 0]), (first, [0, 1, 0]), (first + 1, [0, 1, 0, 1])):
        tried.clear()
        campaign = partial(mutate, [load("incre_flash_attention")], jobs=LocalThreads(1))
        draw = Draw(count=2, seed=0, cases=first + 2)
        if fails_from > first:
            assert len(campaign(draw).survivors) == 2
        else:
            with pytest.raises(KernelFails, match=f"second fails case {fails_from} as it is.*a wrong value"):
                campaign(draw)
        assert [int(name == "second") for name in tried] == expected
