"""Proofs about expressions: what is proved holds, and what should be provable is proved."""

from __future__ import annotations

import math
from itertools import product as combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attndsl.expr import (
    Const,
    Expr,
    Symbol,
    binary,
    ceil_div,
    maximum,
    minimum,
    round_up,
    select,
)
from attndsl.expr.proofs import Facts, Prover, common_factors, equal

A, B, C, D = (Symbol(name) for name in "abcd")
SIZES = (A, B, C, D)
NATURAL = Facts(dict.fromkeys(SIZES, (0, math.inf)))

leaves = st.one_of(st.sampled_from(SIZES), st.integers(0, 9).map(Const))
expressions = st.recursive(
    leaves,
    lambda each: st.one_of(
        st.builds(binary, st.sampled_from(["+", "-", "*", "min", "max"]), each, each),
        st.builds(
            lambda op, x, y: binary(op, x, maximum(y, 1)),
            st.sampled_from(["//", "%", "ceil_div", "round_up"]),
            each,
            each,
        ),
        st.builds(lambda x, y, z, w: select(x < y, z, w), each, each, each, each),
    ),
    max_leaves=8,
)
environments = st.fixed_dictionaries({name: st.integers(0, 12) for name in "abcd"})


def facts_of(env: dict[str, int]) -> Facts:
    """Facts that are true of an environment: some of single sizes, some of products alone."""
    known = NATURAL
    for expr in (A * B * C, C * D, A, D):
        known = known.bounded(expr, 0, expr.evaluate(env))
    for size in SIZES:
        known = known.given(size > 0) if env[size.name] > 0 else known
    padded = math.prod(max(env[name], 1) for name in "bcd")
    return Facts(known.ranges, sizes={B * C * D: padded}, multiples=frozenset({(A, Const(max(env["a"], 1)))}))


@settings(max_examples=300)
@given(expressions, environments)
def test_the_value_is_within_the_range(expr: Expr, env: dict[str, int]) -> None:
    for facts in (facts_of(env), NATURAL):
        low, high = Prover(facts).range(expr)
        assert low <= expr.evaluate(env) <= high


@settings(max_examples=200)
@given(expressions, environments)
def test_a_divisor_divides(expr: Expr, env: dict[str, int]) -> None:
    divisor, value = (
        Prover(facts_of({**env, "a": max(env["a"], 1)})).divisor(expr),
        expr.evaluate({**env, "a": max(env["a"], 1)}),
    )
    assert value == 0 if divisor == 0 else value % divisor == 0


@given(expressions, environments)
def test_a_definition_stands_for_its_value(expr: Expr, env: dict[str, int]) -> None:
    """Also where it is written out, in products."""
    facts = Facts({**facts_of(env).ranges}, definitions={"x": expr})
    for use in (Symbol("x") * A, Symbol("x") + B, A * B * maximum(Symbol("x"), 1)):
        low, high = Prover(facts).range(use)
        assert low <= use.evaluate({**env, "x": expr.evaluate(env)}) <= high


@given(expressions, expressions, environments)
def test_what_was_found_holds_for_names_defined_later(expr: Expr, other: Expr, env: dict[str, int]) -> None:
    """One prover that is told a name gives what a new one gives that knew it from the start."""
    facts, name = facts_of(env), Symbol("x")
    known = Facts(
        facts.bounded(name, *Prover(facts).range(expr)).ranges,
        facts.sizes,
        facts.multiples,
        definitions={"x": expr},
    )
    prover = Prover(facts)
    prover.range(select(A > 3, other, expr))
    prover.define(name, expr)
    for use in (name * A, select(A > 3, name * other, name + B), select(name < 5, other - name, other)):
        assert prover.range(use) == Prover(known).range(use)


GIVEN = NATURAL.given((B > 0) & (C > 0) & (D > 0)).bounded(A * B * C, 0, 1000)


@pytest.mark.parametrize(
    ("expr", "wanted"),
    [
        (A, (0, 1000)),
        (A * B, (0, 1000)),
        (A * B * 8 + 4, (4, 8004)),
        ((A + 1) * B, (1, math.inf)),
        (A * (B // maximum(D, 1)), (0, 1000)),
        (A * ceil_div(B, 16), (0, 1000)),
        (A * minimum(B, D), (0, 1000)),
        (A * maximum(1, Const(24) // maximum(A, 1)), (0, 1000)),
        (select(A == 0, Const(7), Const(100) // A), (0, 100)),
        (A * D, (0, math.inf)),
    ],
    ids=str,
)  # fmt: skip
def test_products_are_bounded_by_stated_ones(expr: Expr, wanted: tuple[float, float]) -> None:
    assert Prover(GIVEN).range(expr) == wanted


def test_conditions_are_facts() -> None:
    known = NATURAL.given((A % B == 0) & (A >= 1) & (B <= 16) & (C % 32 == 0))
    prover = Prover(known)
    assert prover.range(A // B)[0] == 1 and prover.range(B) == (1, 16)
    assert prover.divisor(C * 3 + 64) == 32 and prover.divisor(round_up(A, 512) * 2) == 1024
    assert Prover(known.given(A != 1)).range(A)[0] == 2
    assert Prover(known.given((A > 5) | (B > 3), holds=False)).range(A) == (1, 5)
    assert Prover(NATURAL.given(Symbol("scale") > 0)).range(Symbol("scale"))[0] == 1
    floating = Facts(floats=frozenset({"scale"})).given(Symbol("scale") > 0)
    assert Prover(floating).range(Symbol("scale"))[0] == 0


def test_strides_of_an_empty_tensor_are_bounded_too() -> None:
    assert Prover(NATURAL.bounded(A * B * C, 0, 1000)).range(B * C) == (0, math.inf)
    assert Prover(Facts(NATURAL.ranges, sizes={A * B * C: 1000})).range(B * C) == (0, 1000)
    assert common_factors([A * B * C, C * D * B]).same(B * C)


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (A * (B + C), A * B + A * C, True), (ceil_div(A, 4) * 4, round_up(A, 4), True),
        ((A + B) - B, A, True), (A + 1 > 0, A >= 0, True), (A % 4, A % 8, False), (A * B, A + B, False),
        (A > 0, A >= 0, False),
    ],
    ids=str,
)  # fmt: skip
def test_two_spellings(first: Expr, second: Expr, same: bool) -> None:
    assert equal(first, second) is same
    environments = (dict(zip("abc", values, strict=True)) for values in combinations(range(10), repeat=3))
    alike = all(first.evaluate(env) == second.evaluate(env) for env in environments)
    assert alike is same


def test_choices_under_equal_facts_are_proved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three sizes each is below 4, or not, or not decided yet: facts of 27 kinds, however many choices."""
    made, plain = list[Facts](), Prover.__init__

    def noting(self: Prover, facts: Facts, outermost: Prover | None = None) -> None:
        made.append(facts)
        plain(self, facts, outermost)

    monkeypatch.setattr(Prover, "__init__", noting)
    definitions: dict[str, Expr] = {"x0": A}
    for number in range(1, 19):
        before = Symbol(f"x{number - 1}")
        definitions[f"x{number}"] = select((A, B, C)[number % 3] < 4, before + 1, before + 2)
    assert Prover(Facts({**NATURAL.ranges, A: (0, 9)}, definitions=definitions)).range(Symbol("x18")) == (
        18,
        45,
    )
    assert len(made) <= 27
