"""Which loops surely run: what is proved, and twins for which it does not follow."""

from __future__ import annotations

import itertools
import random

import pytest

from attndsl.expr import Const, Symbol, ceil_div, maximum, minimum
from attndsl.passes.events import trip_counts
from attndsl.passes.events.trip_counts import proved_to_run
from attndsl.target import Core
from attndsl.tile.statements import For, If, Let, Note, Statement, seq
from tests.support.specials import compiled

N, M, T, K, POSITION = (Symbol(name) for name in "nmtki")


def body() -> Note:
    return Note(text="work")


def inner(end, begin=0) -> For:
    return For(var=K, begin=Const(begin) if isinstance(begin, int) else begin, end=end, body=seq(body()))


def proved(*statements: Statement) -> list[str]:
    """Variables of the loops that are proved to run."""
    tree = seq(*statements)
    return [item.var.name for item in tree.walk() if isinstance(item, For) and item in proved_to_run(tree)]


def over(end, *statements: Statement, step=1) -> For:
    return For(var=POSITION, end=end, step=Const(step), body=seq(*statements))


CASES = {
    "constant": (inner(Const(3)), inner(Const(0))),
    "rest of a range": (over(N, inner(N - POSITION)), over(N, inner(N - POSITION - 1))),
    "a block of the rest": (
        over(N, Let(symbol=T, value=minimum(64, N - POSITION)), inner(T), step=64),
        over(N, Let(symbol=T, value=minimum(64, N - POSITION - 64)), inner(T), step=64),
    ),
    "blocks of the block": (
        over(N, Let(symbol=T, value=minimum(64, N - POSITION)), inner(ceil_div(T, 16)), step=64),
        over(N, Let(symbol=T, value=minimum(64, N - POSITION)), inner(T // 16), step=64),
    ),
    "guarded": (If(condition=N > 1, then=seq(inner(N - 1))), If(condition=N > 0, then=seq(inner(N - 1)))),
    "guarded twice": (
        If(condition=(N >= M) & (M > 2), then=seq(inner(N))),
        If(condition=(N >= M) & (M > -2), then=seq(inner(N))),
    ),
    "the other side": (
        If(condition=N > 0, then=seq(inner(N))),
        If(condition=N > 0, then=seq(body()), otherwise=seq(inner(N))),
    ),
    "a maximum": (inner(maximum(N, 1)), inner(maximum(N, 0))),
    "from a definition": (
        seq(Let(symbol=T, value=M + 1), If(condition=M >= 0, then=seq(inner(T)))),
        seq(If(condition=M >= 0, then=seq(Let(symbol=M, value=N))), inner(M)),
    ),
    "a scalar defined anew": (
        If(condition=N > 0, then=seq(inner(N), Let(symbol=N, value=M))),
        If(condition=N > 0, then=seq(Let(symbol=N, value=M), inner(N))),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_proved_and_what_is_not(name):
    runs, may_not = CASES[name]
    assert "k" in proved(runs)
    assert "k" not in proved(may_not)


def test_nothing_is_proved_that_is_false():
    """All small values of all scalars: a loop that is proved to run has an iteration wherever it is met."""

    def trips(statement, env, seen):
        if isinstance(statement, For):
            values = range(*(int(x.evaluate(env)) for x in (statement.begin, statement.end, statement.step)))
            seen.setdefault(statement, []).append(len(values))
            for value in values:
                trips(statement.body, {**env, statement.var.name: value}, seen)
        elif isinstance(statement, If):
            side = statement.then if statement.condition.evaluate(env) else statement.otherwise
            if side is not None:
                trips(side, env, seen)
        else:
            for child in statement.children():
                if isinstance(child, Let):
                    env = {**env, child.symbol.name: child.value.evaluate(env)}
                trips(child, env, seen)

    for tree in (tree for pair in CASES.values() for tree in pair):
        sure = proved_to_run(seq(tree))
        for n, m in itertools.product((-1, 0, 1, 2, 63, 64, 65, 130), (-3, -1, 0, 1, 2, 3)):
            seen: dict[For, list[int]] = {}
            trips(seq(tree), {"n": n, "m": m}, seen)
            assert all(min(counts) > 0 for loop, counts in seen.items() if loop in sure)


@pytest.mark.parametrize("core", list(Core), ids=lambda core: core.value)
def test_what_the_lowering_declares_follows_or_is_a_tiling_fact(core):
    """Loops that declare to run without a proof depend on a tiling field alone, which is at least one."""
    tree = compiled(128, "float16", "attn_mask", "pse_shift").program.cores[core]
    sure = proved_to_run(tree)
    declared = [item for item in tree.walk() if isinstance(item, For) and item.runs]
    assert {str(item.end) for item in declared if item not in sure} <= {"rowFractals"}
    assert any(str(item.end) == "keys" for item in sure)


def some_facts(seed: int) -> list[dict[str, int]]:
    """Facts over three scalars in a box."""
    rng = random.Random(seed)
    box = [fact for name in "xyz" for fact in ({name: 1}, {name: -1, "": 3})]
    some = [{**{name: rng.randint(-2, 2) for name in "xyz"}, "": rng.randint(-3, 3)} for _ in range(4)]
    return [{name: factor for name, factor in fact.items() if factor} for fact in (*box, *some)]


def test_elimination_agrees_with_a_search():
    """Contradictory where no point of the box suits; these seeds have solutions in quarters if any."""
    points = [dict(zip("xyz", at, strict=True)) | {"": 1} for at in itertools.product(QUARTERS, repeat=3)]

    def suits(facts: list[dict[str, int]], point: dict[str, float]) -> bool:
        return all(sum(factor * point[name] for name, factor in fact.items()) >= 0 for fact in facts)

    outcomes, place = [], {"": 0, "x": 1, "y": 2, "z": 3}
    for facts in map(some_facts, range(30)):
        contradictory = trip_counts._contradictory(
            tuple(tuple(sorted((place[name], factor) for name, factor in fact.items())) for fact in facts)
        )
        assert contradictory is not any(suits(facts, point) for point in points)
        outcomes.append(contradictory)
    assert {*outcomes} == {True, False}


QUARTERS = [number / 4 for number in range(13)]


def test_the_same_facts_are_looked_at_once():
    """A tree is analysed again with other events in it; a changed one is looked at anew."""

    def tree(rest: int) -> Statement:
        return over(N, Note(text="other each time"), inner(N - POSITION - rest))

    def eliminated(rest: int) -> int:
        before = trip_counts._contradictory.cache_info().misses
        proved_to_run(tree(rest))
        return trip_counts._contradictory.cache_info().misses - before

    trip_counts._contradictory.cache_clear()
    assert [bool(eliminated(rest)) for rest in (0, 0, 1, 0, 1)] == [True, False, True, False, False]
