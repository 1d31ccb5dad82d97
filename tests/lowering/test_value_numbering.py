"""Value numbering: a definition of a value that an earlier one of the same body has is left out."""

from __future__ import annotations

import pytest

from attndsl.expr import Const, Expr, Load, Named, Scope, Symbol, maximum
from attndsl.lowering.emit.loop_scalars import HEADS, TASK_ROWS
from attndsl.lowering.value_numbering import value_numbering
from attndsl.target import Core
from attndsl.tile.buffers import GlobalTensor, ScalarArray
from attndsl.tile.scalars import expressions
from attndsl.tile.statements import (
    Collect,
    Either,
    For,
    If,
    Let,
    PickTensor,
    Stage,
    Statement,
    as_seq,
    seq,
)

A, B, C, N = (Symbol(name) for name in "abcn")
STEPS, STEP = Symbol("stepsBegun", Scope.MEMBER), Symbol("step")
FIELD = Symbol("heads", Scope.TILING)
KEYS = GlobalTensor(name="keys", dtype="float16", role="input", listed=True)


def let(symbol: Symbol, value: Expr | int) -> Let:
    return Let(symbol=symbol, value=value if isinstance(value, Expr) else Const(value))


def use(value: Expr) -> If:
    return If(condition=value > 7, then=seq())


def named(*body: Statement) -> list[str]:
    """The definitions and conditions that are left."""
    found = []
    for item in value_numbering(as_seq(seq(*body))).walk():
        if isinstance(item, Let):
            found.append(f"{item.symbol} = {item.value}")
        elif isinstance(item, If | For | Collect):
            found += [str(each) for each in expressions(item)]
    return found


def test_another_name_of_a_scalar_is_that_scalar() -> None:
    assert named(let(A, N + 1), let(B, A), use(B * 2)) == [f"a = {N + 1}", str(A * 2 > 7)]
    assert named(let(B, FIELD), use(B + 1)) == [str(FIELD + 1 > 7)]


def test_what_is_computed_alike_is_computed_once() -> None:
    first = Load("lengths", N)
    assert named(let(A, maximum(first, 0)), let(B, maximum(first, 0)), use(A + B)) == [
        f"a = {maximum(first, 0)}",
        str(A + A > 7),
    ]
    assert named(let(A, N + 1), let(B, N + 2), use(A + B)) == [f"a = {N + 1}", f"b = {N + 2}", str(A + B > 7)]


def test_names_of_names_are_followed() -> None:
    assert named(let(A, N + 1), let(B, A), let(C, B * 3), use(C)) == [
        f"a = {N + 1}",
        f"c = {A * 3}",
        str(C > 7),
    ]


def test_zero_is_no_scalar_but_other_numbers_have_their_names() -> None:
    assert named(let(A, 0), use(N + A)) == [str(N > 7)]
    assert named(let(A, 1), use(N + A)) == ["a = 1", str(N + A > 7)]
    zero = Named(0, "zero")
    assert named(let(A, zero), use(N + A)) == ["a = zero", str(N + A > 7)]


@pytest.mark.parametrize("bound", [A, B])
def test_names_with_another_meaning_inside_stay(bound: Symbol) -> None:
    inside = For(var=N, end=Const(3), body=seq(let(bound, N), use(A + B)))
    assert f"b = {A}" in named(let(A, N + 1), let(B, A), inside)
    other = For(var=N, end=Const(3), body=seq(let(C, N + 5), use(A + B)))
    assert f"b = {A}" not in named(let(A, N + 1), let(B, A), other)


def test_loops_bind_their_variables() -> None:
    loop = For(var=B, end=A, body=seq(use(B)))
    assert named(let(A, N + 1), let(C, A), loop, use(C)) == [
        f"a = {N + 1}",
        *map(str, expressions(loop)),
        str(B > 7),
        str(A > 7),
    ]


def test_what_a_core_counts_changes() -> None:
    assert named(let(A, STEPS % 3), let(B, STEPS % 3), use(A + B)) == [
        f"a = {STEPS % 3}",
        f"b = {STEPS % 3}",
        str(A + B > 7),
    ]
    assert named(let(A, STEPS), use(A)) == [f"a = {STEPS}", str(A > 7)]


@pytest.mark.parametrize(
    "between",
    [
        PickTensor(tensor=KEYS, index=N),
        Collect(
            array=ScalarArray(name="seen", capacity=8), count=C, index=Symbol("i"), extent=N, condition=N > 0
        ),
    ],
)
def test_another_tensor_has_other_elements(between: Statement) -> None:
    element = Load("sizes", Const(1))
    found = named(let(A, element), between, let(B, element), use(A + B))
    assert f"a = {element}" in found and f"b = {element}" in found


def test_filling_an_array_leaves_what_is_not_read_from_it() -> None:
    array = ScalarArray(name="seen", capacity=8)
    fill = Collect(array=array, count=C, index=Symbol("i"), extent=N, condition=N > 0)
    assert f"b = {N + 1}" not in named(let(A, N + 1), fill, let(B, N + 1), use(A + B))
    assert f"b = {C + 1}" in named(fill, let(A, C + 1), fill, let(B, C + 1), use(A + B))


def test_rows_are_told_from_heads() -> None:
    assert named(let(HEADS, N + 1), let(TASK_ROWS, HEADS), use(TASK_ROWS)) == [
        f"heads = {N + 1}",
        f"taskRows = {HEADS}",
        str(TASK_ROWS > 7),
    ]


def test_a_tree_without_them_is_the_same_tree() -> None:
    tree = as_seq(seq(let(A, N + 1), For(var=B, end=A, body=seq(use(B)))))
    assert value_numbering(tree) is tree


def _stage(attention: str) -> Stage:
    return Stage(
        name=f"Stage{attention}", attention_name=attention, core=Core.AIV, doc="", body=seq(use(B + C))
    )


def test_stages_of_several_attentions_keep_the_names_that_they_share() -> None:
    assert named(let(B, A), _stage("Keys")) == [f"b = {A}", str(B + C > 7)]
    assert named(let(B, A), _stage("")) == [str(A + C > 7)]


@pytest.mark.parametrize("other", [N, A])
def test_scalars_that_are_one_in_the_items_of_all_attentions_become_one(other: Symbol) -> None:
    """Never what both are, which may be another scalar in each; a twin has them apart in one attention."""

    def items(attention: str, first: Expr, second: Expr) -> For:
        body = seq(let(B, first), let(C, second), _stage(attention))
        return For(var=Symbol("item"), end=Const(3), body=body, over_items=True)

    found = named(items("Keys", A, A), items("Shared", N, other))
    if other is N:
        assert found[-2:] == [f"b = {N}", str(B + B > 7)] and f"b = {A}" in found
        assert found.count(str(B + B > 7)) == 2 and not any(each.startswith("c = ") for each in found)
    else:
        assert found.count(str(B + C > 7)) == 2 and found.count(f"c = {A}") == 2


@pytest.mark.parametrize("calls", [1, 2])
def test_zero_stays_a_scalar_where_one_of_several_calls_of_a_function_takes_it(calls: int) -> None:
    """Else the function would have two texts."""

    def call() -> Stage:
        return Stage(name="Take", core=Core.AIV, doc="", body=as_seq(seq(use(A + N))))

    others = [If(condition=N > 9, then=seq(let(A, N + 1), call()))] * (calls - 1)
    found = named(If(condition=N > 8, then=seq(let(A, 0), call())), *others)
    assert ("a = 0" in found) == (calls > 1)
    assert (str(N > 7) in found) == (calls == 1)


def test_a_scalar_that_is_an_earlier_one_on_both_sides_of_a_choice_is_that_behind_it() -> None:
    """Not one that it is on one side alone."""
    stage = Stage(name="RunForKey", core=Core.AIC, doc="", body=seq(use(A + B + C)), attention_name="Key")
    either = Either(
        condition=N > 0,
        then=seq(let(A, N + 1), let(B, N + 1), let(C, N + 1)),
        otherwise=seq(let(A, N + 2), let(B, N + 2), let(C, N)),
        scalars=(A, B, C),
        attention_names=("Key", "Old"),
    )
    found = named(For(var=STEP, end=N, body=seq(either, stage), over_items=True))
    assert found[found.index(str(N > 0)) + 1 :] == [
        f"a = {N + 1}",
        f"c = {N + 1}",
        f"a = {N + 2}",
        f"c = {N}",
        str(A + A + C > 7),
    ]
