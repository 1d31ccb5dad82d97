"""One tiling function for kernels whose hosts compute most fields alike."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from attndsl.codegen.host.tiling_function import Assigned, MergedFunction, merged
from attndsl.expr import Const, Expr, ExprLike, Symbol, as_expr
from attndsl.tile.program import tiling_field_ref

N, B = Symbol("n"), Symbol("b")


def tiling(**values: ExprLike) -> tuple[Assigned, ...]:
    return tuple(Assigned(name, as_expr(value)) for name, value in values.items())


def computed(function: MergedFunction, kernel: int, problem: Mapping[str, int]) -> dict[str, int]:
    """What the function gives for a kernel."""
    forms = dict(zip((form.name for form in function.forms), function.chosen[kernel], strict=True))
    env, found = dict(problem), dict[str, int]()
    for step in function.steps:
        number = forms[step.form] if step.form else 0
        for item in step.cases[number] if number < len(step.cases) else ():
            found[item.name] = env[tiling_field_ref(item.name).name] = item.value.evaluate(env)
    return found


def test_fields_that_all_compute_alike_are_assigned_once() -> None:
    function = merged([tiling(rows=N, tasks=N * B), tiling(rows=N, tasks=N * B)])
    assert function is not None and not function.forms
    (step,) = function.steps
    assert [item.name for item in step.cases[0]] == ["rows", "tasks"]


def test_a_field_that_only_some_have_is_computed_for_all() -> None:
    function = merged([tiling(rows=N), tiling(rows=N, window=B)])
    assert function is not None and not function.forms
    assert computed(function, 0, {"n": 3, "b": 5}) == {"rows": 3, "window": 5}


@pytest.mark.parametrize("divided", [N // B, N % B])
def test_what_could_divide_by_zero_is_computed_for_its_own_kernels_alone(divided: Expr) -> None:
    function = merged([tiling(rows=N), tiling(rows=N, part=divided)])
    assert function is not None
    assert "part" not in computed(function, 0, {"n": 7, "b": 0})
    assert computed(function, 1, {"n": 7, "b": 4})["part"] == divided.evaluate({"n": 7, "b": 4})
    safe = merged([tiling(rows=N), tiling(rows=N, part=N // 4)])
    assert safe is not None and not safe.forms


def test_fields_that_differ_alike_share_a_form() -> None:
    first = tiling(rows=N, stride=B, batch=B, pitch=N)
    second = tiling(rows=N * B, stride=B * 2, batch=B, pitch=N)
    third = tiling(rows=N, stride=B, batch=B)
    function = merged([first, second, third])
    assert function is not None
    assert [(form.name, form.fields) for form in function.forms] == [("rowsForm", ("rows", "stride"))]
    assert function.chosen == ((0,), (1,), (0,))
    for kernel, own in enumerate((first, second, third)):
        problem = {"n": 3, "b": 5}
        found = computed(function, kernel, problem)
        assert {item.name: found[item.name] for item in own} == {
            item.name: item.value.evaluate(problem) for item in own
        }


def test_fields_that_differ_otherwise_have_forms_of_their_own() -> None:
    function = merged([tiling(a=N, b=N), tiling(a=B, b=N), tiling(a=B, b=B)])
    assert function is not None
    assert function.chosen == ((0, 0), (1, 0), (1, 1))


def test_every_field_stands_behind_those_that_it_uses() -> None:
    end = tiling_field_ref("first") + Const(8)
    function = merged([tiling(last=Const(0)), tiling(first=N, last=end)])
    assert function is not None
    assert computed(function, 1, {"n": 4})["last"] == 12
    assert computed(function, 0, {"n": 4})["last"] == 0


def test_orders_that_exclude_each_other_have_no_common_function() -> None:
    one = tiling(a=N, b=tiling_field_ref("a") + Const(1))
    other = tiling(b=N, a=tiling_field_ref("b") + Const(1))
    assert merged([one, other]) is None
    assert merged([one]) is not None and merged([other]) is not None
