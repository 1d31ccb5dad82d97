"""What a contract states: a rule of the computation is left out where it does, and made where it does not."""

import pytest

from attndsl.expr import Expr, Load, Symbol, ceil_div, maximum, minimum, negation, select
from attndsl.expr.argument_facts import given
from attndsl.expr.reductions import Fold
from attndsl.spec.contract.constraint import Constraint
from attndsl.spec.contract.known_conditions import known_of
from attndsl.spec.contract.stated_rules import (
    StatedRules,
    bounds_number,
    covers_number,
    is_number,
    never_negative,
)

B, T, X = Symbol("b"), Symbol("T"), Symbol("x")
LENGTH = Load("lengths", B)
OTHER = Load("others", B)
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
        (LENGTH + 4 <= T, True),
        (LENGTH - 4 <= T, False),
        (LENGTH // 2 <= T, False),
        (LENGTH * -1 <= T, False),
        (maximum(LENGTH, X) <= T, True),
        (minimum(LENGTH, X) <= T, False),
        (LENGTH <= X, False),
        (LENGTH < T, False),
        (OTHER <= T, False),
        ((LENGTH <= T) & (X > 0), True),
        ((LENGTH <= T) | (X > 0), False),
    ],
)
def test_a_number_against_a_limit(condition: Expr, found: bool) -> None:
    """With a limit, what is compared with it is no less than the number."""
    assert stated(X > 3, condition).compares(("<=", "=="), covers_number(ROWS), T) is found


@pytest.mark.parametrize(
    ("number", "found"),
    [
        (minimum(LENGTH, X), True),
        (maximum(LENGTH, X), False),
        (select(X > 0, 0, LENGTH), True),
        (select(X > 0, OTHER, LENGTH), False),
        (LENGTH - 2, True),
        (LENGTH + 2, False),
        (ceil_div(LENGTH, 2), True),
        (LENGTH * 2, False),
    ],
)
def test_the_limit_of_an_element_as_that_of_a_number(number: Expr, found: bool) -> None:
    assert stated(LENGTH <= T).compares(("<=",), covers_number(number), T) is found


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        (ceil_div(LENGTH, X) <= T, True),
        (LENGTH % 128 <= 5, False),
        (LENGTH - X <= T, True),
        (LENGTH - OTHER <= T, False),
        (T - LENGTH <= 0, False),
        (OTHER + LENGTH <= T, True),
        (LENGTH * 2 - LENGTH <= T, False),
        (Fold("max", LENGTH, "b", X) <= T, True),
        (Fold("min", LENGTH, "b", X) <= T, False),
        (Load("table", LENGTH) <= T, False),
        (minimum(LENGTH, 4) <= T, False),
        ((LENGTH <= X) | (X > 0), False),
        ((X > 0) & (LENGTH <= X), True),
    ],
)
def test_a_number_with_an_upper_bound(condition: Expr, found: bool) -> None:
    """Without a limit, any expression that has no bound where the number has none."""
    assert stated(condition).compares(("<=", "<", "=="), bounds_number(ROWS)) is found


@pytest.mark.parametrize(
    ("number", "found"),
    [
        (LENGTH + X, True),
        (LENGTH + OTHER, False),
        (LENGTH - OTHER, True),
        (OTHER - LENGTH, False),
        (minimum(OTHER, LENGTH), True),
        (maximum(OTHER, LENGTH), False),
        (ceil_div(LENGTH, X), True),
        (Load("table", LENGTH), False),
    ],
)
def test_a_number_whose_element_has_an_upper_bound(number: Expr, found: bool) -> None:
    assert stated(LENGTH <= X).compares(("<=",), bounds_number(number)) is found


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        (LENGTH >= 0, True),
        ((LENGTH > 2) & (X > 0), True),
        ((LENGTH > 2) | (X > 0), False),
        (LENGTH <= T, False),
        (T - LENGTH >= 0, False),
    ],
)
def test_a_number_against_anything(condition: Expr, found: bool) -> None:
    """Without a limit, a comparison of the number that always holds; of ``T - length`` it is none."""
    assert stated(condition).compares((">=", ">"), is_number(LENGTH)) is found
    assert not stated(condition).compares((">=", ">"), is_number(X + 1))


DIFFERENCE = LENGTH - OTHER


@pytest.mark.parametrize(
    ("number", "condition", "found"),
    [
        (DIFFERENCE, OTHER >= 0, False),
        (DIFFERENCE, LENGTH >= 0, False),
        (DIFFERENCE, DIFFERENCE >= 0, True),
        (LENGTH - X, LENGTH >= X, True),
        (X - LENGTH, LENGTH >= 0, False),
        (LENGTH + OTHER, LENGTH >= 0, False),
        (LENGTH // 2, LENGTH >= 0, True),
        (maximum(LENGTH, OTHER), LENGTH >= 0, True),
        (minimum(LENGTH, OTHER), LENGTH >= 0, False),
    ],
)
def test_a_number_is_bounded_below_by_what_it_grows_with(number: Expr, condition: Expr, found: bool) -> None:
    assert stated(condition).compares((">=",), is_number(number)) is found


@pytest.mark.parametrize(
    ("number", "found"),
    [(maximum(DIFFERENCE, 0), True), (maximum(DIFFERENCE, X), False), (DIFFERENCE, False), (LENGTH, False)],
)
def test_a_number_that_is_never_negative(number: Expr, found: bool) -> None:
    assert never_negative(number) is found


GIVEN, RUNS = given("status"), Load("status", B)


@pytest.mark.parametrize(
    ("rule_when", "read_when", "found"),
    [
        (None, None, True),
        (X > 0, None, False),
        (X > 0, X > 0, True),
        (X > 0, (T > 2) & (X > 0), True),
        ((T > 2) & (X > 0), X > 0, False),
        (X > 0, X > 1, False),
        (X <= 0, negation(X > 0), True),
        (negation(X > 0), X <= 0, True),
        (negation(X > 0), X > 0, False),
        (X == 0, X != 0, False),
        (RUNS != 0, negation(RUNS == 0), True),
        (select(GIVEN, RUNS, 1) != 0, negation(GIVEN), True),
        (select(GIVEN, RUNS, 0) != 0, negation(GIVEN), False),
        (select(GIVEN, RUNS, 1) != 0, GIVEN & (RUNS != 0), True),
        (select(GIVEN, RUNS, 1) != 0, GIVEN, False),
        (given("lengths"), None, True),
        (given("others"), None, False),
    ],
)
def test_a_rule_with_a_condition_of_its_own_holds_where_that_is_known(
    rule_when: Expr | None, read_when: Expr | None, found: bool
) -> None:
    """What reads an argument need not be told that the argument is given."""
    rules = StatedRules([Constraint(LENGTH <= T, "must fit", when=rule_when)])
    assert rules.compares(("<=",), covers_number(LENGTH), T, known_of(read_when)) is found


@pytest.mark.parametrize(
    ("number", "found"),
    [
        (select(X > 0, LENGTH, 0), True),
        (minimum(select(X > 0, LENGTH, 0), OTHER), True),
        (select(X > 0, LENGTH, OTHER), False),
        (select(X > 1, LENGTH, 0), False),
        (select(X > 0, 0, LENGTH), False),
        (LENGTH, False),
    ],
)
def test_each_choice_of_a_number_may_have_a_rule_of_its_own(number: Expr, found: bool) -> None:
    rules = StatedRules([Constraint(LENGTH <= T, "must fit", when=X > 0)])
    assert rules.limits(number, T) is found


def test_a_rule_is_stated_unless_its_rows_are_read_under_a_condition() -> None:
    rule, contract = Constraint(LENGTH <= T, "must fit"), stated()
    assert contract.with_rule(rule, read_when=X > 0) is rule
    assert not contract.compares(("<=",), is_number(LENGTH), T)
    assert contract.with_rule(rule) is rule
    assert contract.compares(("<=",), is_number(LENGTH), T)


def test_a_rule_that_is_stated_for_the_same_calls_is_not_made_again() -> None:
    """One that is stated for other calls is."""
    rule, narrower = Constraint(LENGTH <= T, "must fit"), Constraint(LENGTH <= T, "must fit", when=X > 0)
    assert list(StatedRules([narrower]).unsaid([rule, rule])) == [rule]
    assert list(StatedRules([rule]).unsaid([narrower, rule])) == []
