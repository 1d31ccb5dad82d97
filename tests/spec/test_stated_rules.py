"""What a contract states: a rule of the computation is left out where it does, and made where it does not."""

import pytest

from attndsl.expr import Expr, Load, Symbol, maximum
from attndsl.spec.contract.constraint import Constraint
from attndsl.spec.contract.stated_rules import StatedRules, has_number, is_number

B, T, X = Symbol("b"), Symbol("T"), Symbol("x")
LENGTH = Load("lengths", B)
ROWS = maximum(LENGTH, 1)
"""A number that is computed from a length."""


def stated(*conditions: Expr) -> StatedRules:
    return StatedRules(Constraint(condition, "must hold") for condition in conditions)


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        (LENGTH <= T, True),
        (ROWS <= T, True),
        (ROWS * 2 <= T, True),
        (LENGTH <= X, False),
        (LENGTH < T, False),
        (Load("others", B) <= T, False),
        ((LENGTH <= T) | (X > 0), False),
    ],
)
def test_a_number_against_a_limit(condition: Expr, found: bool) -> None:
    """With a limit, the whole condition is that comparison."""
    assert stated(X > 3, condition).compares(("<=", "=="), has_number(ROWS), T) is found


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        (LENGTH >= 0, True),
        ((LENGTH > 2) | (X > 0), True),
        (LENGTH <= T, False),
        (T - LENGTH >= 0, False),
    ],
)
def test_a_number_against_anything(condition: Expr, found: bool) -> None:
    """Without a limit, any comparison of the number in a condition will do; of ``T - length`` it is none."""
    assert stated(condition).compares((">=", ">"), is_number(LENGTH)) is found
    assert not stated(condition).compares((">=", ">"), is_number(X + 1))


def test_a_rule_is_stated_unless_its_rows_are_read_under_a_condition() -> None:
    rule, contract = Constraint(LENGTH <= T, "must fit"), stated()
    assert contract.with_rule(rule, read_when=X > 0) is rule
    assert not contract.compares(("<=",), is_number(LENGTH), T)
    assert contract.with_rule(rule) is rule
    assert contract.compares(("<=",), is_number(LENGTH), T)
