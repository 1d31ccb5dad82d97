"""The search: legal candidates, a fixed order, and never a schedule that is slower than the default."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields
from pathlib import Path

import pytest

from attndsl.compiler.compile import Compiled
from attndsl.lowering.errors import IllegalScheduleValue
from attndsl.lowering.match.schedule_options import Schedule
from attndsl.spec.binding.call import Call
from attndsl.spec.operator.loader import load
from attndsl.tuning.candidates import OF_ORDER, OF_WORK, Candidate, Candidates, same_kernel
from attndsl.tuning.search import Search, ranked, search
from attndsl.verify.cases.shaped_call import call_of_shape
from tests.support.authored import call_of, with_schedule

FEWER = dict[str, object](
    max_rows=128, rows=16, base_n=128, base_k=128, value_n=128, value_width=256, task_rows="even",
    value_source="memory", prob_layout="rows", key_copies="parts", sums="vector",
)  # fmt: skip
"""Options that a search is not to try: each that is left takes longer than what is looked at."""
_BOUNDED: dict[tuple[object, ...], Candidate | None] = {}
_COMPILED: dict[tuple[object, ...], Compiled | None] = {}


class Remembered(Candidates):
    """Each test searches for itself; what a schedule of one spec comes to is found once for all of them."""

    def __init__(self, call: Call, stated: dict[str, object]) -> None:
        super().__init__(call)
        self._stated = tuple(sorted(stated.items()))

    def _bounded(self, schedule: Schedule) -> Candidate | None:
        key = (self._stated, schedule)
        if key not in _BOUNDED:
            _BOUNDED[key] = super()._bounded(schedule)
        return _BOUNDED[key]

    def compiled(self, candidate: Candidate) -> Compiled | None:
        key = (self._stated, candidate.schedule)
        if key not in _COMPILED:
            _COMPILED[key] = super().compiled(candidate)
        return _COMPILED[key]


def candidates(folder: Path, **stated: object) -> Candidates:
    """Those of a small call of a kernel whose spec states these options."""
    return Remembered(call_of(with_schedule(folder, **stated), group=16, keys=2048, head_dim=64), stated)


def found(folder: Path, measure: Callable[[Compiled], float], top: int = 4, **stated: object) -> Search:
    return search(candidates(folder, tile_k=512, **FEWER, **stated), measure, top)


def test_the_fastest_is_chosen(tmp_path):
    """By what the emulator predicts, whatever the bounds say; here a deeper ring."""
    result = found(tmp_path, lambda compiled: 100.0 - 10 * (compiled.schedule.ring == 4), top=10)
    assert result.best.candidate.options == {"ring": 4}
    assert [trial.predicted for trial in result.trials] == sorted(trial.predicted for trial in result.trials)
    assert result.best.compiled.schedule == result.best.candidate.schedule
    assert result.default.predicted == 100.0


def test_the_default_stays_where_nothing_is_faster(tmp_path):
    result = found(tmp_path, lambda compiled: 100.0)
    assert result.best is result.default and result.best.candidate.options == {}
    slower = found(tmp_path, lambda compiled: 100.0 if not compiled.chosen else 99.95)
    assert slower.best is slower.default  # less than a thousandth is no reason for an entry


def test_top_bounds_the_number_of_predictions(tmp_path):
    for top in (1, 3):
        result = found(tmp_path, lambda compiled: 100.0, top=top)
        assert len(result.trials) == 1 + top


def test_two_searches_are_the_same(tmp_path):
    def measure(compiled: Compiled) -> float:
        return 100.0 + len(str(compiled.schedule)) % 7

    one = found(tmp_path, measure)
    _BOUNDED.clear()
    _COMPILED.clear()
    two = found(tmp_path, measure)
    assert [each.candidate for each in one.trials] == [each.candidate for each in two.trials]
    assert one.bounded == two.bounded


def test_what_cannot_be_faster_is_not_predicted(tmp_path):
    """A prediction below all bounds: nothing else can be better."""
    result = found(tmp_path, lambda compiled: 1e-3)
    assert [trial.candidate.options for trial in result.trials] == [{}]


def test_stored_options_are_tried_first(tmp_path):
    known = candidates(tmp_path, **FEWER)
    result = search(known, lambda compiled: 100.0 - (compiled.schedule.tile_k == 192), 1, {"tile_k": 192})
    assert result.best.candidate.options == {"tile_k": 192}


def test_what_the_author_states_stays(tmp_path):
    """And what the computation fixes: a selection's rows see all keys in one item."""
    stated = candidates(tmp_path, ring=3, tile_k=256)
    assert not {"ring", "tile_k"} & stated.open_options and "rows" in stated.open_options
    schedule = stated.default.schedule
    assert {each.tile_k for each in stated.neighbours(schedule, {**OF_WORK, **OF_ORDER})} == {256}
    with pytest.raises(IllegalScheduleValue, match="tile_k=512 must be 256, the spec states it"):
        stated.with_options({"tile_k": 512})
    assert stated.with_options({"tile_k": 256, "rows": 8}).rows == 8
    assert "split_kv" not in Candidates(call_of_shape(load("nsa_compress_attention"), {})).open_options


NOT_SEARCHED = {
    "cores": "a device has them all; who shares it states fewer",
    "score_dtype": "it changes results beyond their accuracy class: the author alone states it",
}


def untried(*tried: Iterable[str]) -> set[str]:
    """The schedule options that no search tries and nobody has left out for a reason."""
    return {each.name for each in fields(Schedule)} - {name for names in tried for name in names}


def test_a_search_tries_each_option_or_says_why_not() -> None:
    assert untried(OF_WORK, OF_ORDER, NOT_SEARCHED) == set()
    assert not {*OF_WORK} & {*OF_ORDER} and not NOT_SEARCHED.keys() & {*OF_WORK, *OF_ORDER}
    assert untried(OF_WORK, set(OF_ORDER) - {"ring"}, NOT_SEARCHED) == {"ring"}


def test_candidates_are_legal_and_fit(tmp_path):
    known = candidates(tmp_path)
    assert all(known.compiled(each) is not None for each in ranked(known, rounds=1)[:5])
    default = known.default.schedule
    (wide,) = (each for each in known.neighbours(default, {"base_n": (256,)}))
    assert known.candidate(wide) is None  # two slots of 256 keys in L0B are too much
    (narrow,) = (each for each in known.neighbours(default, {"base_n": (64,)}))
    assert known.candidate(narrow) is not None


def test_options_that_others_bound_follow_them(tmp_path):
    known = candidates(tmp_path)
    (fewer,) = known.neighbours(known.default.schedule, {"max_rows": (16,)})
    assert fewer.rows == 8
    (shallow,) = known.neighbours(known.default.schedule, {"ring": (2,)})
    assert shallow.widen_lead == 0
    assert known.candidate(fewer) is not None and known.candidate(shallow) is not None


def test_other_names_for_the_same_kernel_are_told(tmp_path):
    """Value columns of 128 are those of base_n; a ring of two slots is another kernel."""
    known = candidates(tmp_path)
    assert list(known.neighbours(known.default.schedule, {"value_n": (128,)})) == []
    by_name, shallow = (
        known.compiled(known.candidate(known.with_options(options)))
        for options in ({"pipeline": "continuous"}, {"ring": 2, "widen_lead": 0})
    )
    assert by_name.schedule != known.default.schedule and same_kernel(known.default, by_name)
    assert not same_kernel(known.default, shallow)
