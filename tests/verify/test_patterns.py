"""Masks of cases: each kind of pattern, and elements that keep what constraints say of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from attndsl.expr import Const, Load, Select, Symbol
from attndsl.expr.argument_facts import given
from attndsl.spec import errors
from attndsl.spec.contract.constraint import Constraint
from attndsl.spec.contract.layout import Array
from attndsl.verify.data.masks import HIDING, MaskFiller, few_forced, pattern

SEEDS = range(40)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


# Patterns ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["random", "rows", "causal", "first", "last", "all", "none"])
@pytest.mark.parametrize("shape", [(3, 0), (0, 5), (0,)])
def test_nothing_is_hidden_where_there_is_nothing(kind: str, shape: tuple[int, ...]) -> None:
    assert pattern(rng(), kind, shape).shape == shape
    assert not few_forced(rng(), shape, 3, np.array([1])).any()


def test_keys_are_hidden_one_by_one_or_in_runs() -> None:
    """About a third of them; in runs each row alike."""
    drawn = [pattern(rng(seed), "random", (2, 2000)) for seed in SEEDS]
    runs = [bool((each[0] == each[1]).all()) for each in drawn]
    assert 8 < sum(runs) < 32
    for each, run in zip(drawn, runs, strict=True):
        assert 0.2 < each.mean() < 0.4
        turns = int((np.diff(each[0].astype(int)) != 0).sum())
        assert (turns < 500) is run


def test_causal_masks_hide_what_lies_behind_a_row() -> None:
    """Or one or two keys later; one row has none."""
    rows, keys = np.indices((5, 9))
    offsets = set()
    for seed in SEEDS:
        hidden = pattern(rng(seed), "causal", (3, 5, 9))
        (offset,) = (each for each in range(5) if (hidden == (keys > rows + each)).all())
        offsets.add(offset)
        hidden[:] = True  # an array of its own
    assert offsets == {0, 1, 2}
    assert pattern(rng(), "causal", (9,)).any()


def test_rows_are_hidden_as_a_whole() -> None:
    """The first and the last but one, at least every other."""
    for shape, wanted in (((5, 50), [0, 4]), ((2, 50), [0]), ((1, 50), [0]), ((2, 3, 50), [0, 5])):
        hidden = pattern(rng(), "rows", shape).reshape(-1, 50)
        assert np.flatnonzero(hidden.all(axis=-1)).tolist() == wanted


def test_the_first_or_the_last_key_alone_is_seen() -> None:
    assert pattern(rng(), "all", (3, 600)).all() and not pattern(rng(), "none", (3, 600)).any()
    assert (~pattern(rng(), "first", (3, 6))).sum(axis=-1).tolist() == [1, 1, 1]
    readable = np.arange(6) < np.array([[4], [0], [6]])
    assert (~pattern(rng(), "first", (3, 6))).argmax(axis=-1).tolist() == [0, 0, 0]
    for valid, wanted in ((None, [5, 5, 5]), (readable, [3, 0, 5])):
        hidden = pattern(rng(), "last", (3, 6), valid)
        assert (~hidden).sum(axis=-1).tolist() == [1] * 3 and (~hidden).argmax(axis=-1).tolist() == wanted


# Elements ---------------------------------------------------------------------------------------------------

R, C = Symbol("r"), Symbol("c")
SHAPE = (4, 6)
ELEMENT = Load("mask", R * SHAPE[1] + C)
OVER = {"r": Const(SHAPE[0]), "c": Const(SHAPE[1])}
HIDDEN = np.indices(SHAPE)[1] > np.indices(SHAPE)[0]


def rule(condition: Any, **more: Any) -> Constraint:
    return Constraint(condition, "is so", **{"over": OVER, **more})


def filled(
    *rules: Constraint, seed: int = 0, env: Any = None, shape: tuple[int, ...] = SHAPE, **how: Any
) -> Array | None:
    operator: Any = SimpleNamespace(constraints=rules)
    filler = MaskFiller(operator, "mask", "float16", shape, {"n": 5, **(env or {})}, rng(seed))
    return filler.fill(how.pop("hidden", HIDDEN), **{"exact": True, **how})


def test_what_hides_is_what_masks_hold() -> None:
    """Any of these values; visible elements are 0, or biases unless weights shall be exact."""
    hiding, visible = set(), set()
    for seed in SEEDS:
        exact, free = filled(seed=seed), filled(seed=seed, exact=False)
        assert exact is not None and free is not None
        (value,) = np.unique(exact[HIDDEN])
        hiding.add(float(value))
        assert not exact[~HIDDEN].any()
        visible.add(bool(free[~HIDDEN].any()))
        assert (free[~HIDDEN] <= 0).all() and (free[~HIDDEN] > -3).all()
    assert hiding == {1.0, -10000.0, -np.inf, -65504.0} == set(HIDING) and visible == {True, False}


def test_rows_without_keys_show_nothing_in_a_probe() -> None:
    """Nothing infinite hides whole rows there."""
    hidden = HIDDEN.copy()
    hidden[2] = True
    for exact, infinite in ((True, False), (False, True)):
        found = [filled(hidden=hidden, exact=exact, seed=seed) for seed in SEEDS]
        assert any(np.isneginf(each).any() for each in found if each is not None) is infinite


def test_what_hides_leaves_nothing_behind_where_that_is_asked_for() -> None:
    for seed in SEEDS:
        found = filled(wholly=True, seed=seed)
        assert found is not None and np.isneginf(found[HIDDEN]).all()


DIAGONAL = Select(C > R, ELEMENT <= -10000, ELEMENT == 0)


@pytest.mark.parametrize(
    ("condition", "wanted"),
    [
        (ELEMENT == 0, lambda r, c: 0 * r),
        (ELEMENT == R - C, lambda r, c: r - c),
        (ELEMENT == C, lambda r, c: c),
        (ELEMENT >= 60000, lambda r, c: 60000 + 0 * r),
        (
            Select(R - C > 1, (ELEMENT > 1) & (ELEMENT < 2), Select(R > C, Const(1), Const(0)) == ELEMENT),
            lambda r, c: np.sqrt(np.maximum(r - c, 0)),
        ),
    ],
    ids=["zeros", "distances", "keys", "large", "roots"],
)
def test_compressed_masks_hold_distances(condition: Any, wanted: Any) -> None:
    """And their roots, numbers of keys, and what is beyond any score."""
    found = filled(rule(condition))
    assert found is not None
    assert np.allclose(found.astype(float), wanted(*np.indices(SHAPE)), rtol=1e-3)


def test_elements_are_repaired_where_they_are_wrong() -> None:
    """Two rules at once; what is legal stays."""
    found = filled(rule(Select(C > R, ELEMENT != 0, ELEMENT == 0)), rule(ELEMENT <= 0))
    assert found is not None and ((found != 0) == HIDDEN).all() and (found <= 0).all()
    other = filled(rule(DIAGONAL), hidden=~HIDDEN)
    assert other is not None and (other[HIDDEN] <= -10000).all() and not other[~HIDDEN].any()
    assert filled(rule(ELEMENT == 7)) is None
    only = rule(Select(C > R, ELEMENT == -10000, ELEMENT == 0))
    for hidden in (HIDDEN, ~HIDDEN):
        found = [filled(only, hidden=hidden, seed=seed) for seed in range(5)]
        assert all(each is not None and (each[HIDDEN] == -10000).all() for each in found)


def test_a_mask_of_keys_alone_is_repaired() -> None:
    hidden, over = np.arange(6) % 2 == 0, {"c": Const(6)}
    found = filled(rule(Load("mask", C) == 0, over=over), shape=(6,), hidden=hidden)
    assert found is not None and not found.any()
    assert filled(rule(Load("mask", C) == 7, over=over), shape=(6,), hidden=hidden) is None


def test_repairs_end_with_what_is_legal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken at first; legal with the first value of a palette; legal."""
    asked: list[int] = []
    own = MaskFiller._bad
    monkeypatch.setattr(MaskFiller, "_bad", lambda self, *of: asked.append(1) or own(self, *of))
    found = filled(rule(ELEMENT == 0))
    assert found is not None and not found.any() and len(asked) == 3


@pytest.mark.parametrize(
    ("broken", "applies"),
    [
        (rule(ELEMENT == 7), True),
        (rule(ELEMENT == 7, error=errors.ContractWarning), False),
        (rule(ELEMENT == 7, when=Symbol("n") > 5), False),
        (rule(ELEMENT == 7, when=Symbol("n") > 4), True),
        (rule(ELEMENT == 7, when=given("other")), False),
        (rule(ELEMENT == 7, when=given("one")), True),
        (rule(Load("other", R) == 7, over={"r": Const(2)}), False),
        (rule(Load("mask", Const(0)) == 7, over={}), True),
        (rule(Load("mask", Const(0)) + Symbol("unknown") == 7, over={}), False),
        (rule(Load("mask", Const(0)) == 7, over={}, when=Symbol("n") > 5), False),
    ],
)
def test_which_rules_a_mask_keeps(broken: Constraint, applies: bool) -> None:
    """Those that apply to it, and that what is known decides; no warnings."""
    env = {"given(other)": False, "given(one)": True, "other": np.zeros(2)}
    assert (filled(broken, env=env) is None) is applies


def test_rules_over_a_part_of_a_mask_are_kept_there() -> None:
    """Of its first rows and columns; the others are as they were drawn."""
    part = {"r": Const(2), "c": Const(6)}
    found = filled(rule(ELEMENT == 0, over=part))
    assert found is not None and not found[:2].any() and (found[2:][HIDDEN[2:]] != 0).all()
    columns = filled(rule(ELEMENT == C, over={"r": Const(4), "c": Const(2)}))
    assert columns is not None and (columns[:, 1] == 1).all() and (columns[:, 3:][HIDDEN[:, 3:]] != 3).all()
    rows = filled(rule(Load("mask", R) == 5, over={"r": Const(3)}))
    assert rows is None, "of a single index nothing tells which part"
