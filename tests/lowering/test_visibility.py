"""What is proved from masks over indices: intervals of keys, and which conditions show none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attndsl.expr import Compare, Const, Expr, Symbol, maximum, minimum
from attndsl.graph import nodes
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.masks.interval_bounds import extreme
from attndsl.lowering.masks.visibility import visible_intervals
from attndsl.lowering.masks.visible_interval import key_interval, visible_interval
from tests.support.self_attention_calls import causal
from tests.support.small_specs import (
    DECODE_RESULT,
    DECODE_SCORES,
    PACKED_RESULT,
    assert_computes,
    decode_call,
    decode_spec,
    packed_call,
    packed_spec,
)

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
    "up to a fraction": j < 2.5,
    "up to a fraction and with it": j <= i + 2.5,
    "from a fraction on": j > i - 2.5,
    "from a fraction on and with it": i - 0.25 <= j,
    "fractions of either sign": (j - i > -1.75) & (j - i < -0.25),
    "a fraction on the other side": i - j < 2.5,
    "the larger of two": j < maximum(i + 1, 2.5),
    "integers that are floats": (j >= i - 2.0) & (j < 5.0) & (j + i > 2.0),
    "causal, or in a prefix": (j <= i) | (j < W),
    "three of one side": (j <= i) | (j < W) | (j + i < 5),
    "from the first of two": (j > i) | (j >= W),
    "a union in a window": ((j <= i) | (j < W)) & (j >= i - 3),
    "not the hidden ones": ((j > i) & (j >= W)) == Const(False),
    "none of the hidden ones": ((j > i) | (j < i - 2)) == Const(False),
}


@pytest.mark.parametrize("name", INTERVALS)
def test_intervals_are_what_the_condition_says(name: str) -> None:
    condition = INTERVALS[name]
    for row in range(9):
        wanted = [key for key in range(12) if condition.evaluate({"i": row, "j": key, "W": 3})]
        assert shown(masked(condition), row, 12, W=3) == wanted


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        ((j <= i) | (j == 0), "'j == 0' bounds none"),
        (j % 2 <= i, "'j % 2 <= i' does not compare j or -j"),
        (j * j <= i, "does not compare j or -j"),
        (i <= 3, "does not compare j or -j"),
        (j + j <= i, "does not compare j or -j"),
        ((j <= i) | (j > W), "may leave a gap.*attend.merge"),
        (((j <= i) & (j > W)) | (j < 3), "joins intervals that may leave a gap"),
        (((j <= i) & (j > W)) == Const(False), "joins intervals that may leave a gap"),
        (j + i < Symbol("cap"), r"no integers\).*; declare parameters as int"),
        (j < i * 0.5, "no integers"),
        (j < W / Const(2), "no integers"),
        (j + 0.7 <= 1000000.7, "no integers"),
        (j <= i + (1 - 2.0**-50), "no integers"),
        (j < i + float("inf"), "no integers"),
    ],
    ids=str,
)
def test_other_conditions_show_no_interval(condition: Expr, why: str) -> None:
    floats = frozenset({"cap"})
    assert visible_interval(masked(condition), floats) is None
    with pytest.raises(NotLowered, match=f"no interval of keys .*{why}"):
        key_interval(masked(condition), floats)


def test_a_condition_that_shows_no_interval_is_told_what_will_do() -> None:
    with pytest.raises(NotLowered, match=r"declare a mask in bytes .* and pass it expanded; the reference"):
        key_interval(masked((j - i) % 2 == 0))


DECLARED = (
    'p = op.lengths("p", "B")\nw = op.param("w", int, default=20)\nf = op.param("f", float, default=20.5)'
)
MASKS = {
    "an integer parameter": "s = s.where(j + i < w)",
    "fractions of both signs": "s = s.where((j < i + 200.5) & (j > i - 2.5) & (j - i >= -1.75))",
    "integers that are floats": "s = s.where((j < i + 2.0) & (j >= -3.0))",
    "a prefix": "s = s.where((j <= i) | (j < p[b]))",
    "what a prefix hides": "s = s.replace(attend.condition((j > i) & (j >= p[b])), float('-inf'))",
    "what a prefix makes small": "s = s.replace(attend.condition((j > i) & (j >= p[b])), -5.0)",
    "all but a hole before": "s = s.where((j >= i) | (j >= p[b]))",
}


@pytest.mark.sweep(fast=4)
@pytest.mark.parametrize("name", MASKS)
def test_masks_of_prompts_on_the_tile_program(tmp_path: Path, name: str) -> None:
    op = packed_spec(tmp_path, MASKS[name], PACKED_RESULT, declared=DECLARED)
    assert_computes(op, "tile", **packed_call([37, 5], [300, 37]), p=[140, 3])


@pytest.mark.parametrize("backend", ["tile", "emulator"])
@pytest.mark.parametrize("change", ["s.where({}).replace(mask, inf)", "s.replace(mask, inf).where({})"])
def test_keys_are_skipped_beside_a_mask_in_bytes(tmp_path: Path, change: str, backend: str) -> None:
    """NaN far from the visible keys stays unread; a row whose visible keys the bytes hide is zero."""
    declared = 'p = op.lengths("p", "B")\nmask = op.input("mask", "B T", dtype="uint8")\ninf = float("-inf")'
    seen = change.format("(j < p[b] + 90) & (j >= p[b])")
    op = decode_spec(tmp_path, DECODE_SCORES, f"s = {seen}", DECODE_RESULT, declared=declared)
    mask = (np.random.default_rng(2).random((2, 1000)) < 0.5).astype(np.uint8)
    mask[1] = 1
    call = decode_call(t=1000) | {"mask": mask, "p": [450, 400]}
    assert_computes(op, backend, **call)
    holes = call | {name: call[name].copy() for name in ("key", "value")}
    for name in ("key", "value"):
        holes[name][:, :, :350], holes[name][:, :, 600:] = np.nan, np.nan
    np.testing.assert_array_equal(op(**holes, backend=backend), op(**call, backend=backend))


def test_a_bound_by_a_float_is_refused_by_name(tmp_path: Path) -> None:
    op = packed_spec(tmp_path, "s = s.where(j + i < f)", PACKED_RESULT, declared=DECLARED)
    with pytest.raises(NotLowered, match="'j \\+ i < f' compares with numbers that are no integers"):
        op(**packed_call([37, 5], [300, 37]), p=[140, 3], backend="tile")


def test_only_masks_that_nothing_undoes_hide_keys() -> None:
    causal = masked(j <= i)
    window = masked(i - j < W, source=causal)
    added = nodes.Elementwise(op="add", inputs=(window, SCORES), axes=nodes.SCORE_AXES)
    assert len(visible_intervals((causal, window))) == 2
    assert len(visible_intervals((causal, added, window))) == 1
    assert visible_intervals((causal, added)) == ()
    assert visible_intervals((masked(j <= i, value=-1e4),)) == ()
    in_bytes = nodes.Input(name="mask", axes=("B", "T"))
    hide = nodes.Replace(source=causal, condition=in_bytes, value=float("-inf"), axes=nodes.SCORE_AXES)
    small = nodes.Replace(source=causal, condition=in_bytes, value=-1e4, axes=nodes.SCORE_AXES)
    assert len(visible_intervals((causal, hide, window))) == 2
    assert len(visible_intervals((causal, hide))) == 1
    assert visible_intervals((causal, small)) == ()


def test_bounds_that_grow_with_the_query_are_taken_at_the_ends() -> None:

    ends = {"firstPosition": 4, "lastPosition": 9, "W": 3}
    for bound in (i + 1, i - W + 1, W - i, maximum(i, 6), minimum(i - 2, W + i)):
        values = [bound.evaluate({"i": row, "W": 3}) for row in range(4, 10)]
        low, high = extreme(bound, low=True), extreme(bound, low=False)
        assert low is not None and high is not None
        assert (low.evaluate(ends), high.evaluate(ends)) == (min(values), max(values))
    assert extreme(i * i, low=True) is None
    assert extreme(i + n, low=True) is None


def test_nothing_is_filled_where_all_rows_see_the_tile() -> None:
    """Tiles left of the diagonal take no mask instruction: the printed step asks first."""
    from attndsl.api import ops
    from attndsl.compiler.prepare_launch import prepare
    from attndsl.tile.instructions import FillInterval
    from attndsl.tile.statements import If

    launch = prepare(ops.self_attention.bind(**causal(64)))
    program = launch.compiled.joint
    guards = {
        id(inner): item.condition
        for item in program.body.walk()
        if isinstance(item, If) and "firstKey" in item.condition.symbols()
        for inner in item.walk()
        if isinstance(inner, FillInterval)
    }
    fills = [item for item in program.body.walk() if isinstance(item, FillInterval)]
    assert fills and all(id(item) in guards for item in fills)
    first_row = {"firstQuery": 127, "rowBegin": 0, "r0": 0, "heads": 2}
    for guard in guards.values():  # position 127 sees keys 0 to 127
        assert not guard.evaluate({**first_row, "firstKey": 64, "keys": 64})
        assert guard.evaluate({**first_row, "firstKey": 65, "keys": 64})
    assert np.isneginf(fills[0].value.evaluate({}))
