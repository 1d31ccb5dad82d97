"""The steps of a skewed loop: which tile a stage has in each step, and what its guard says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from attndsl.expr import Named, Symbol, as_expr
from attndsl.target import Core
from attndsl.tile.pipeline_skew import guard, named_lag, ring_depth, tiles
from attndsl.tile.statements import Pipelined, Stage, seq


def skewed(*lags: int) -> Pipelined:
    stages = tuple(Stage(name=f"S{i}", core=Core.AIV, doc="", body=seq()) for i in range(len(lags)))
    return Pipelined(var=Symbol("tile"), extent=Symbol("tiles"), stages=stages, lags=lags)


@pytest.mark.parametrize(("lags", "slots"), [((), 1), ((0,), 1), ((0, 1), 2), ((0, 3, 1), 4)], ids=str)
def test_a_ring_has_a_slot_more_than_the_deepest_lag(lags, slots):
    assert ring_depth(skewed(*lags)) == slots


def test_a_stage_runs_as_many_steps_late_as_its_lag():
    assert tiles(0, 2, 3) == [0, 1, 2, None, None]
    assert tiles(1, 2, 3) == [None, 0, 1, 2, None]
    assert tiles(2, 2, 3) == [None, None, 0, 1, 2]


@pytest.mark.parametrize("extent", [0, 1, 4])
@pytest.mark.parametrize(("lag", "deepest"), [(0, 0), (0, 2), (1, 2), (2, 2)])
def test_the_guard_holds_where_the_stage_has_a_tile(lag, deepest, extent):
    for step in range(extent + deepest):
        condition = guard(as_expr(step), lag, deepest, extent)
        assert (condition is None or bool(condition.evaluate({}))) == (0 <= step - lag < extent)


@pytest.mark.parametrize("extent", [0, 1, 2, 5])
@pytest.mark.parametrize(("lag", "deepest"), [(0, 0), (0, 2), (1, 2), (2, 2), (1, 1), (3, 7)])
def test_a_stage_has_each_tile_once(lag, deepest, extent):
    found = tiles(lag, deepest, extent)
    assert [tile for tile in found if tile is not None] == list(range(extent))
    assert len(found) == extent + deepest


@pytest.mark.parametrize(
    ("lag", "text"),
    [(0, "step < tiles"), (1, "step >= 1 and step < tiles + 1"), (2, "step >= 2")],
)
def test_a_guard_leaves_out_what_the_loop_implies(lag, text):
    assert str(guard(Symbol("step"), lag, 2, Symbol("tiles"))) == text


def test_lags_are_named_where_they_have_a_name():
    """Also where both names have one value; 0 has none."""
    loop = replace(skewed(0, 1, 3), prefetch=Named(3, "prefetch"), lead=Named(1, "widenLead"))
    assert [str(named_lag(loop, lag)) for lag in loop.lags] == ["0", "widenLead", "prefetch"]
    assert str(named_lag(replace(loop, lead=Named(0, "widenLead")), 0)) == "0"


def test_a_loop_without_lags_needs_no_guard():
    assert guard(Symbol("step"), 0, 0, Symbol("tiles")) is None
