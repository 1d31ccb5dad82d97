"""What is proved from masks over indices: intervals of keys, and which conditions show none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attndsl.graph import nodes
from attndsl.schedule.visibility import hidden_keys, visible_interval
from attndsl.symbolic import Compare, Const, Expr, Symbol, maximum, minimum

i, j, n, W = Symbol("i"), Symbol("j"), Symbol("n"), Symbol("W")
SCORES = nodes.Scores(query=nodes.Input(name="q", axes=("B", "N", "Q", "D")), keys=nodes.Rows(axes=()))


def masked(visible: Expr, value: float = float("-inf"), source: nodes.Node = SCORES) -> nodes.Replace:
    hidden = nodes.IndexCondition(condition=Compare("==", visible, Const(False)))
    return nodes.Replace(source=source, condition=hidden, value=value, axes=nodes.SCORE_AXES)


def shown(node: nodes.Replace, row: int, keys: int, **sizes: int) -> list[int]:
    interval = visible_interval(node)
    assert interval is not None
    env: dict[str, Any] = {"i": row, **sizes}
    begin = 0 if interval.begin is None else interval.begin.evaluate(env)
    end = keys if interval.end is None else interval.end.evaluate(env)
    return [key for key in range(keys) if begin <= key < end]


INTERVALS = {
    "causal": j <= i,
    "strictly causal": j < i,
    "with a prefix": j <= Const(7) - 3 + i,
    "anticausal": i <= j,
    "window": (j <= i) & (i - j < W),
    "both sides": (j - i < W) & (i - j < W),
    "the other way round": i - j >= 0,
    "from a key on": j > 2,
}


@pytest.mark.parametrize("name", INTERVALS)
def test_intervals_are_what_the_condition_says(name: str) -> None:
    condition = INTERVALS[name]
    for row in range(9):
        wanted = [key for key in range(12) if condition.evaluate({"i": row, "j": key, "W": 3})]
        assert shown(masked(condition), row, 12, W=3) == wanted


@pytest.mark.parametrize(
    "condition", [(j <= i) | (j == 0), j % 2 <= i, j * j <= i, i <= 3, j + j <= i], ids=str
)
def test_other_conditions_show_no_interval(condition: Expr) -> None:
    assert visible_interval(masked(condition)) is None


def test_only_masks_that_nothing_undoes_hide_keys() -> None:
    causal = masked(j <= i)
    window = masked(i - j < W, source=causal)
    added = nodes.Elementwise(op="add", inputs=(window, SCORES), axes=nodes.SCORE_AXES)
    assert len(hidden_keys((causal, window))) == 2
    assert len(hidden_keys((causal, added, window))) == 1
    assert hidden_keys((causal, added)) == ()
    assert hidden_keys((masked(j <= i, value=-1e4),)) == ()


def test_bounds_that_grow_with_the_query_are_taken_at_the_ends() -> None:
    from attndsl.schedule.visibility import _extreme

    ends = {"firstPosition": 4, "lastPosition": 9, "W": 3}
    for bound in (i + 1, i - W + 1, W - i, maximum(i, 6), minimum(i - 2, W + i)):
        values = [bound.evaluate({"i": row, "W": 3}) for row in range(4, 10)]
        low, high = _extreme(bound, low=True), _extreme(bound, low=False)
        assert low is not None and high is not None
        assert (low.evaluate(ends), high.evaluate(ends)) == (min(values), max(values))
    assert _extreme(i * i, low=True) is None
    assert _extreme(i + n, low=True) is None


def test_nothing_is_filled_where_all_rows_see_the_tile() -> None:
    """Tiles left of the diagonal take no mask instruction: the printed step asks first."""
    from attndsl import ops
    from attndsl.schedule.launch import prepare
    from attndsl.tile.instructions import FillInterval
    from attndsl.tile.statements import If

    from .test_self_attention_kernels import causal

    launch = prepare(ops.self_attention.bind(**causal(64)))
    program = launch.compiled.joint
    guarded = {
        id(inner)
        for item in program.body.walk()
        if isinstance(item, If) and "firstKey" in item.condition.symbols()
        for inner in item.walk()
        if isinstance(inner, FillInterval)
    }
    fills = [item for item in program.body.walk() if isinstance(item, FillInterval)]
    assert fills and all(id(item) in guarded for item in fills)
    assert np.isneginf(fills[0].value.evaluate({}))
