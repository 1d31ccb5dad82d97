"""Conditions are taken apart where they are joined by the operation that is asked for, and nowhere else."""

from __future__ import annotations

from attndsl.expr import Expr, Symbol
from attndsl.expr.conditions import conjuncts, joined_parts

A, B = Symbol("A"), Symbol("B")
FIRST, SECOND, THIRD = A > 2, B == 1, A < B


def texts(parts: tuple[Expr, ...]) -> list[str]:
    return [str(part) for part in parts]


def test_what_all_has_to_hold_comes_in_its_order_however_it_is_bracketed() -> None:
    wanted = texts((FIRST, SECOND, THIRD))
    assert texts(conjuncts((FIRST & SECOND) & THIRD)) == wanted
    assert texts(conjuncts(FIRST & (SECOND & THIRD))) == wanted


def test_alternatives_stay_one_condition() -> None:
    either = FIRST | SECOND
    assert texts(conjuncts(either & THIRD)) == texts((either, THIRD))
    assert texts(joined_parts(either & THIRD, "or")) == texts((either & THIRD,))
    assert texts(joined_parts(either, "or")) == texts((FIRST, SECOND))


def test_one_condition_is_its_own_part_and_none_has_no_parts() -> None:
    assert conjuncts(FIRST) == (FIRST,)
    assert conjuncts(None) == ()
