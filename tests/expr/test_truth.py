"""Conditions over ranges of indices: what is said always to hold does, and what never to hold does not."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from attndsl.expr import Const, Expr, Load, Symbol, select
from attndsl.expr.intervals import truth

J = Symbol("j")
FLAG = Load("flags", J)
FLAGS = np.array([0, 1, -2, 0, 5, 1, 1, 0, 3, 0])

numbers = st.recursive(
    st.sampled_from([J, FLAG, Const(0), Const(3), J - 4]),
    lambda each: st.builds(lambda a, b: a - b, each, each),
    max_leaves=3,
)
comparisons = st.builds(
    lambda op, a, b: getattr(a, op)(b),
    st.sampled_from(["__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"]),
    st.sampled_from([J, FLAG, J - 4]),  # what is not constant, so that it stays a comparison
    numbers,
)
conditions = st.recursive(
    st.one_of(comparisons, st.sampled_from([FLAG, J, J - 4])),
    lambda each: st.one_of(
        st.builds(lambda a, b: a & b, each, each),
        st.builds(lambda a, b: a | b, each, each),
        st.builds(select, each, each, each),
    ),
    max_leaves=5,
)
ranges = st.tuples(st.integers(0, 9), st.integers(0, 9)).map(sorted)


@given(conditions, ranges)
@example(FLAG & (J > 5), [6, 9])  # numbers beside truth values
@example(FLAG | (J > 5), [0, 3])
@example(select(FLAG, J > 5, J < 3), [6, 9])
def test_what_is_said_of_a_range_holds_of_each_index(condition: Expr, span: list[int]) -> None:
    first, last = span
    held = [bool(condition.evaluate({"j": j, "flags": FLAGS})) for j in range(first, last + 1)]
    always, ever = truth(condition, {"j": (first, last)}, {"flags": FLAGS})
    assert all(held) or not always
    assert ever or not any(held)


def test_what_bounds_can_tell_is_told() -> None:
    """A checker that never decides would pass the rest."""
    for condition, decided in [
        (J > 5, (True, True)),
        (J > 9, (False, False)),
        (J > 7, (False, True)),
        (J, (True, True)),
        (FLAG, (False, True)),
        (FLAG & (J > 9), (False, False)),
        (FLAG | (J > 5), (True, True)),
    ]:
        assert truth(condition, {"j": (6, 9)}, {"flags": FLAGS}) == decided, condition
